# ssgp, the sparse spectrum model: every command and every way to run, what its frequencies are, and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 400 --inputs 2 --kernel 'rbf(variance=1,lengthscale=0.3)' --noise 0.01 -o all.csv
head -n 301 all.csv >train.csv
sed '2,301d' all.csv >test.csv
fixed=(--valid 0 --fix all --kernel 'rbf(variance=1,lengthscale=0.3)' --noise 0.01 --inducing 60)

value() { json_number value <"$1.json"; }
fit() { # NAME DATA OPTIONS...
    anygp fit "$2" -q -o "$1.agp" --json "${@:3}" >"$1.json" && anygp predict "$1.agp" test.csv >"$1.p"
}
below() { awk -v a="$1" -v b="$2" 'BEGIN { print a, b; exit !(a < b) }'; }

it_fits_predicts_and_is_described() {
    local m
    for m in ssgp ssgp+; do
        fits train.csv --model $m --inducing 40 --kernel 'rbf + matern32' --iters 8 || { echo "model $m"; return 1; }
        anygp info fits.agp | grep -q "model  *$m, 40 frequencies, rows in" && [ "$(json_number inducing <"$said/info")" = 40 ] || { echo "info of $m"; return 1; }
        below "$(anygp eval fits.agp test.csv --json | json_number rmse)" 0.3 || return 1
        anygp predict fits.agp test.csv --samples 3 >s.csv && finite s.csv && [ "$(wc -l <s.csv)" = 101 ] || { echo "samples of $m"; return 1; }
    done
}
many_frequencies_come_close_to_the_exact_model() {
    fit e train.csv --model exact --valid 0 --fix all --kernel 'rbf(variance=1,lengthscale=0.3)' --noise 0.01 && fit m train.csv --model ssgp "${fixed[@]}" --inducing 600 || return 1
    below "$(anygp eval m.agp test.csv --json | json_number rmse)" "$(anygp eval e.agp test.csv --json | awk -v e="$(anygp eval e.agp test.csv --json | json_number rmse)" 'BEGIN { print 1.1 * e }')"
}
learned_frequencies_raise_the_evidence() {
    fit a train.csv --model ssgp --inducing 8 --iters 20 --prior none && fit b train.csv --model ssgp --inducing 8 --iters 20 --prior none --fix none && below "$(value a)" "$(value b)"
}
one_frequency_is_in_the_singular() { fits train.csv --model ssgp --inducing 1 --iters 2 && anygp info fits.agp | grep -q 'ssgp, 1 frequency, rows'; }
random_and_orthogonal_frequencies_differ_and_so_do_seeds() {
    fit a train.csv --model ssgp "${fixed[@]}" && fit b train.csv --model ssgp "${fixed[@]}" --select orthogonal && fit c train.csv --model ssgp "${fixed[@]}" --select random && fit d train.csv --model ssgp "${fixed[@]}" --seed 1 || return 1
    cmp a.p b.p && ! cmp -s a.p c.p && ! cmp -s a.p d.p
}
there_may_be_more_frequencies_than_rows() { head -n 21 train.csv >few.csv && fits few.csv --model ssgp --inducing 50 --iters 3 && [ "$(json_number inducing <"$said/info")" = 50 ]; }
a_file_on_disk_and_an_update_give_the_same_model() {
    anygp convert train.csv train.npy && fit a train.csv --model ssgp "${fixed[@]}" --standardize none && fit b train.npy --model ssgp "${fixed[@]}" --standardize none --target 2 && close a.p b.p 1e-9 || return 1
    head -n 201 train.csv >first.csv && (head -n 1 train.csv && tail -n 100 train.csv) >more.csv || return 1
    fit c first.csv --model ssgp "${fixed[@]}" --standardize none && anygp update c.agp more.csv -o d.agp && anygp predict d.agp test.csv >d.p && close a.p d.p 1e-7
}
steps_with_nothing_to_learn_end_at_the_batch_result() {
    fit a train.csv --model ssgp "${fixed[@]}" && fit b train.csv --model ssgp+ "${fixed[@]}" --blocks 5 && close a.p b.p 1e-8
}
their_number_grows_by_itself() {
    anygp fit train.csv -o g.agp --model ssgp --inducing auto --iters 2 --time 60s 2>g.txt >/dev/null && cat g.txt && grep -q "inducing auto: [0-9]* frequencies" g.txt
}
what_it_cannot_take_is_refused() {
    refuses 'kernel: linear has no spectral density' fit train.csv -o x.agp --model ssgp --kernel 'rbf + linear' &&
        refuses 'kernel: white alone' fit train.csv -o x.agp --model ssgp --kernel white &&
        refuses 'inducing: the kernel has 3 terms, and 2 frequencies are fewer' fit train.csv -o x.agp --model ssgp --inducing 2 --kernel 'rbf + rq + matern12' &&
        refuses 'select: ssgp draws its frequencies, orthogonal or random; greedy is for rows' fit train.csv -o x.agp --model ssgp --select greedy &&
        refuses 'select: orthogonal is for models that draw frequencies, --model ssgp' fit train.csv -o x.agp --model fitc --select orthogonal &&
        refuses 'select: orthogonal is for models' fit train.csv -o x.agp --select orthogonal &&
        refuses 'inducing-from: ssgp draws its frequencies' fit train.csv -o x.agp --model ssgp --inducing-from test.csv &&
        refuses 'inducing-kind: ssgp has frequencies of its own' fit train.csv -o x.agp --model ssgp --inducing-kind scaled &&
        refuses "'ssgp' cannot be part of a combination" fit train.csv -o x.agp --model 'combine(ssgp=1)' &&
        refuses 'likelihood: ssgp is for gaussian targets' fit train.csv -o x.agp --model ssgp --likelihood laplace
}
inputs_that_are_all_constant_leave_a_constant() { awk 'BEGIN { print "x,y"; for (i = 0; i < 30; i++) print "1," i % 3 }' >flat.csv && fits flat.csv --model ssgp --inducing 4 --iters 3; }

check it_fits_predicts_and_is_described
check many_frequencies_come_close_to_the_exact_model
check learned_frequencies_raise_the_evidence
check one_frequency_is_in_the_singular
check random_and_orthogonal_frequencies_differ_and_so_do_seeds
check there_may_be_more_frequencies_than_rows
check a_file_on_disk_and_an_update_give_the_same_model
check steps_with_nothing_to_learn_end_at_the_batch_result
check their_number_grows_by_itself
check what_it_cannot_take_is_refused
check inputs_that_are_all_constant_leave_a_constant
finish
