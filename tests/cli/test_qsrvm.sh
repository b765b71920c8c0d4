# qsrvm, relevance vectors from samples: every command, and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 400 --inputs 2 --kernel 'rbf(variance=1,lengthscale=0.5)' --noise 0.05 -o all.csv
head -n 301 all.csv >train.csv
sed '2,301d' all.csv >test.csv
small=(--kernel rbf --iters 20 --batch 100 --valid 0 --threads 1)

it_fits_predicts_and_is_described() {
    local m
    for m in qsrvm 'qsrvm(batch=60)' 'qsrvm(basis=fourier)' 'qsrvm(dense=2,batch=64,control=20,steps=plain)' 'qsrvm(batch=100,basis=fourier,steps=adagrad)'; do
        fits train.csv --model "$m" "${small[@]}" --inducing 300 || { echo "model $m"; return 1; }
        anygp info fits.agp | grep -qF "$m, " || { echo "info of $m"; anygp info fits.agp; return 1; }
    done
}
the_vectors_are_listed_and_are_rows_of_the_data() {
    anygp fit train.csv -q -o v.agp --model qsrvm "${small[@]}" --batch 0 >/dev/null && anygp info v.agp --json >v.json || return 1
    local n listed
    n=$(anygp info v.agp | sed -n 's/^ *vectors *\([0-9]*\):.*/\1/p') listed=$(grep -c '"precision"' v.json)
    [ "$n" -gt 3 ] && [ "$n" -lt 100 ] && [ "$n" = "$listed" ] || { echo "$n vectors, $listed listed"; return 1; }
    anygp info v.agp | grep -q "qsrvm, $n rows in the posterior"
}
it_is_nearly_as_good_as_the_exact_model() {
    anygp fit train.csv -q -o e.agp --model exact --kernel rbf >/dev/null && anygp fit train.csv -q -o q.agp --model qsrvm "${small[@]}" --batch 0 >/dev/null || return 1
    local e q
    e=$(anygp eval e.agp test.csv --json | json_number rmse) q=$(anygp eval q.agp test.csv --json | json_number rmse)
    awk -v e="$e" -v q="$q" 'BEGIN { print e, q; exit !(q < 1.25 * e) }'
}
a_run_that_was_stopped_goes_on_to_the_same_bits() {
    local m long=(--kernel rbf --iters 40 --batch 100 --valid 0 --threads 1)
    for m in 'qsrvm(batch=60)' 'qsrvm(batch=64,control=20,dense=2,steps=plain)'; do
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
    awk -F, 'NR == 1 { print "a,b,c" } NR > 1 { print $1 "," $2 "," ($3 > 0.7 ? "up" : $3 > -0.7 ? "between" : "down") }' train.csv >three.csv
    awk -F, 'NR == 1 { print "a,b,y,z" } NR > 1 { print $1 "," $2 "," $3 "," $3 * $3 }' train.csv >two.csv
    fits class.csv --model qsrvm "${small[@]}" --likelihood bernoulli && anygp eval fits.agp class.csv --json | json_number accuracy | awk '{ print; exit !($1 > 0.85) }' &&
        anygp info fits.agp | grep -q vectors && fits three.csv --model qsrvm "${small[@]}" --likelihood softmax && fits train.csv --model qsrvm "${small[@]}" --likelihood laplace &&
        fits two.csv --model qsrvm "${small[@]}" --target y --target z
}
without_signal_there_is_no_vector() {
    awk 'BEGIN { srand(1); print "x,y"; for (i = 0; i < 100; i++) print i / 10 "," rand() }' >noise.csv
    anygp fit noise.csv -q -o n.agp --model qsrvm --kernel 'rbf(lengthscale=1)' --noise 100 --fix all --valid 0 --iters 5 --standardize none >/dev/null && anygp info n.agp | grep -q 'vectors *0$' || { anygp info n.agp; return 1; }
    anygp predict n.agp noise.csv | awk -F, 'NR > 1 && $1 != 0 { bad++ } END { exit bad }'
}
what_it_cannot_do_is_refused() {
    refuses 'qsrvm takes dense with steps=plain or steps=adagrad only' fit train.csv -o x.agp --model 'qsrvm(dense=2)' &&
        refuses 'qsrvm takes control with steps=plain or steps=adagrad only' fit train.csv -o x.agp --model 'qsrvm(control=20)' &&
        refuses 'qsrvm has 300 basis functions, and batch=301 asks for more' fit train.csv -o x.agp --model 'qsrvm(batch=301)' --valid 0 &&
        refuses 'linear has no spectral density' fit train.csv -o x.agp --model 'qsrvm(basis=fourier)' --kernel linear &&
        refuses "unknown option 'depth'" fit train.csv -o x.agp --model 'qsrvm(depth=2)' &&
        refuses 'studentt is not log-concave' fit train.csv -o x.agp --model qsrvm --likelihood studentt &&
        refuses 'mean: qsrvm takes no prior mean' fit train.csv -o x.agp --model qsrvm --mean linear
}

check it_fits_predicts_and_is_described
check the_vectors_are_listed_and_are_rows_of_the_data
check it_is_nearly_as_good_as_the_exact_model
check a_run_that_was_stopped_goes_on_to_the_same_bits
check other_likelihoods_and_several_targets_are_learned
check without_signal_there_is_no_vector
check what_it_cannot_do_is_refused
finish
