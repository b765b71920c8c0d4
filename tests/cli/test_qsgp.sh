# qsgp, weights of many basis functions: every command, and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 400 --inputs 2 --kernel 'rbf(variance=1,lengthscale=0.3)' --noise 0.01 -o all.csv
head -n 301 all.csv >train.csv
sed '2,301d' all.csv >test.csv
small=(--kernel rbf --inducing 400 --iters 30 --batch 100 --valid 0)

it_fits_predicts_and_is_described() {
    local m
    for m in qsgp 'qsgp(dense=3,batch=64,control=20)' 'qsgp(batch=100,steps=adagrad)' 'qsgp(batch=100,steps=plain)' 'qsgp(basis=kernel)' 'qsgp(batch=128,control=20,basis=hadamard)'; do
        fits train.csv --model "$m" "${small[@]}" || { echo "model $m"; return 1; }
        anygp info fits.agp | grep -qF "$m, " || { echo "info of $m"; anygp info fits.agp; return 1; }
    done
    anygp info fits.agp | grep -q 'running estimate' || { echo "a sampled bound"; return 1; }
    fits train.csv --model qsgp "${small[@]}" && anygp info fits.agp >info && grep -q 'qsgp, 400 basis functions, rows in' info && ! grep -q 'running estimate' info
}
it_is_as_good_as_the_exact_model() { # whose mean it has, but for the random waves
    anygp fit train.csv -q -o e.agp --model exact --kernel rbf && anygp fit train.csv -q -o q.agp --model qsgp --kernel rbf --inducing 4000 --batch 100 --iters 60 --valid 0 || return 1
    local e q
    e=$(anygp eval e.agp test.csv --json | json_number rmse) q=$(anygp eval q.agp test.csv --json | json_number rmse)
    awk -v e="$e" -v q="$q" 'BEGIN { print e, q; exit !(q < 1.15 * e) }'
}
the_same_seed_gives_the_same_bits_and_another_one_does_not() {
    local s
    for s in 1 1 2; do anygp fit train.csv -q -o s.agp --model qsgp "${small[@]}" --seed $s >/dev/null && anygp predict s.agp test.csv; done >s.csv
    awk 'NR <= 101 { a[NR] = $0 } NR > 101 && NR <= 202 && a[NR - 101] != $0 { bad++ } NR > 203 && a[NR - 202] == $0 { equal++ } END { exit bad || equal }' s.csv
}
a_run_that_was_killed_goes_on_to_the_same_bits() {
    local m long=(--kernel rbf --inducing 400 --iters 300 --batch 100 --valid 0 --threads 1)
    for m in qsgp 'qsgp(batch=64,control=20,dense=2)'; do
        rm -f part.agp*
        anygp fit train.csv -q -o whole.agp --model "$m" "${long[@]}" >/dev/null || return 1
        "$ANYGP" fit train.csv -q -o part.agp --model "$m" "${long[@]}" --checkpoint 0s >/dev/null 2>&1 &
        local pid=$!
        while kill -0 $pid 2>/dev/null && [ ! -e part.agp.checkpoint ]; do sleep 0.01; done
        kill -9 $pid 2>/dev/null
        wait $pid 2>/dev/null
        [ -e part.agp.checkpoint ] || [ -e part.agp ] || { echo 'neither a checkpoint nor a model'; return 1; }
        if [ -e part.agp.checkpoint ]; then anygp fit train.csv -q -o part.agp --model "$m" "${long[@]}" --checkpoint 0s --resume >/dev/null || return 1; fi
        anygp predict whole.agp test.csv >whole.csv && anygp predict part.agp test.csv | cmp - whole.csv || { echo "model $m"; return 1; }
    done
}
other_likelihoods_and_several_targets_are_learned() {
    awk -F, 'NR == 1 { print "a,b,c" } NR > 1 { print $1 "," $2 "," ($3 > 0 ? "up" : "down") }' train.csv >class.csv
    awk -F, 'NR == 1 { print "a,b,y,z" } NR > 1 { print $1 "," $2 "," $3 "," $3 * $3 }' train.csv >two.csv
    fits class.csv --model qsgp "${small[@]}" --likelihood bernoulli --iters 200 && anygp eval fits.agp class.csv --json | json_number accuracy | awk '{ print; exit !($1 > 0.9) }' &&
        fits train.csv --model qsgp "${small[@]}" --likelihood laplace && fits two.csv --model qsgp "${small[@]}" --target y --target z
}
draws_are_made_jointly() { anygp fit train.csv -q -o d.agp --model qsgp "${small[@]}" && anygp predict d.agp test.csv --samples 3 >d.csv && [ "$(wc -l <d.csv)" = 101 ] && finite d.csv; }
what_it_cannot_do_is_refused() {
    anygp fit train.csv -q -o r.agp --model qsgp "${small[@]}" || return 1
    refuses 'linear has no spectral density' fit train.csv -o x.agp --model qsgp --kernel linear &&
        refuses 'qsgp has 100 basis functions, and batch=101 asks for more' fit train.csv -o x.agp --model 'qsgp(batch=101)' --inducing 100 &&
        refuses 'qsgp has 100 basis functions, and dense=101' fit train.csv -o x.agp --model 'qsgp(dense=101)' --inducing 100 &&
        refuses 'control=301 asks for more control rows than the 300 rows' fit train.csv -o x.agp --model 'qsgp(batch=20,control=301)' --inducing 100 --valid 0 &&
        refuses "'0' is not a whole number" fit train.csv -o x.agp --model qsgp --inducing 0 &&
        refuses 'studentt is not log-concave' fit train.csv -o x.agp --model qsgp --likelihood studentt &&
        refuses 'dense columns of the covariance are for gaussian targets' fit train.csv -o x.agp --model 'qsgp(dense=2)' --likelihood laplace &&
        refuses "unknown option 'depth'" fit train.csv -o x.agp --model 'qsgp(depth=2)' &&
        refuses 'batch is given twice' fit train.csv -o x.agp --model 'qsgp(batch=2,batch=3)' &&
        refuses 'expected fourier, kernel or hadamard' fit train.csv -o x.agp --model 'qsgp(basis=waves)' &&
        refuses 'basis=hadamard is for one of rbf' fit train.csv -o x.agp --model 'qsgp(basis=hadamard)' --kernel 'rbf*matern32' &&
        refuses 'are orthogonal by their making' fit train.csv -o x.agp --model 'qsgp(basis=hadamard)' --kernel rbf --select random &&
        refuses '0.5 is no whole number' fit train.csv -o x.agp --model 'qsgp(dense=0.5)' &&
        refuses 'mean: qsgp takes no prior mean' fit train.csv -o x.agp --model qsgp --mean linear &&
        refuses 'qsgp' update r.agp test.csv
}
rows_of_a_step_are_what_takes_memory() { # not those of the file
    anygp simulate --rows 20000 --inputs 2 --features 20 -o many.npy
    anygp fit many.npy -q -o m.agp --model 'qsgp(steps=plain)' --inducing 200 --batch 50 --iters 3 --fix all --valid 0 --memory 20M >/dev/null
}
transforms_keep_no_frequencies() { # whose 20000 x 40 numbers alone would not fit
    anygp simulate --rows 100 --inputs 40 --features 20 -o wide.csv
    anygp fit wide.csv -q -o w.agp --model 'qsgp(basis=hadamard)' --kernel rbf --inducing 20000 --batch 50 --iters 2 --fix all --valid 0 --memory 8M >/dev/null
}

check it_fits_predicts_and_is_described
check it_is_as_good_as_the_exact_model
check the_same_seed_gives_the_same_bits_and_another_one_does_not
check a_run_that_was_killed_goes_on_to_the_same_bits
check other_likelihoods_and_several_targets_are_learned
check draws_are_made_jointly
check what_it_cannot_do_is_refused
check rows_of_a_step_are_what_takes_memory
check transforms_keep_no_frequencies
finish
