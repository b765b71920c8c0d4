# nene: what it takes and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 300 --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.2)' --noise 0.02 -o all.csv
head -n 251 all.csv >train.csv
sed '2,251d' all.csv >test.csv

it_fits_scores_leave_one_out_and_predicts() {
    fits train.csv --model nene --iters 5 --mean constant && anygp info fits.agp | grep -q 'model  *nene, 250 rows in the posterior' || return 1
    anygp info fits.agp | grep -q 'log pseudo-likelihood' && anygp fit train.csv -o m.agp --model nene --iters 2 | grep -q 'leave-one-out'
}
text_columns_and_weights_from_tiny_to_huge_are_taken() {
    awk -F, 'NR == 1 { print "place," $0 ",w" } NR > 1 { print "abc" substr("xyz", NR % 3 + 1, 1) "," $0 "," (NR % 5 == 0 ? "1e-300" : NR % 7 == 0 ? "1e15" : 1) }' train.csv >mixed.csv
    fits mixed.csv --model nene --iters 3 --target y --weights w
}
new_rows_equal_a_fit_to_all_rows() {
    local fixed=(--valid 0 --standardize none --fix all --kernel 'matern32(variance=1,lengthscale=0.2)' --noise 0.02 --neighbors 12)
    awk 'NR == 1 || NR <= 150' train.csv >early.csv && awk 'NR == 1 || NR > 150' train.csv >late.csv && sed -n '5,9p' train.csv >>late.csv
    { cat early.csv; sed 1d late.csv; } >both.csv
    anygp fit early.csv -q -o u.agp --model nene "${fixed[@]}" >/dev/null && anygp update u.agp late.csv >/dev/null && anygp fit both.csv -q -o b.agp --model nene "${fixed[@]}" >/dev/null || return 1
    anygp predict u.agp test.csv -o u.csv && anygp predict b.agp test.csv -o b.csv && close u.csv b.csv 1e-8 || return 1
    for m in u b; do anygp info $m.agp --json | json_number value; done >values && close <(sed -n 1p values) <(sed -n 2p values) 1e-8
}
# Lists and blocks in scratch files, which are written again where neighbours are found again.
little_memory_gives_the_same_bits() {
    local model few=(--threads 1 --iters 3 --valid 0)
    anygp simulate --rows 800 --inputs 2 --kernel 'matern32(variance=1,lengthscale=[0.05,0.5])' --noise 0.02 -o more.csv
    for model in nene 'vecchia --mean constant' 'vecchia --group no' vnngp vnngp+; do
        # shellcheck disable=SC2086 # a model and its options
        anygp fit more.csv -o large.agp --model $model "${few[@]}" 2>/dev/null >/dev/null && anygp fit more.csv -o small.agp --model $model "${few[@]}" --memory 300K 2>err >/dev/null || return 1
        grep -q "the state of ${model%%[ +]*}, .* is on disk, in scratch files" err && anygp predict large.agp test.csv -o large.csv && anygp predict small.agp test.csv -o small.csv && cmp large.csv small.csv || { cat err; return 1; }
    done
    refuses 'the nene model of 800 rows needs .* GB and --memory allows .* GB; use --model sod --inducing' fit more.csv -o m.agp --model nene --threads 1 --memory 150K
}
options_without_effect_are_noted() { anygp fit train.csv -o m.agp --model nene --iters 1 --order random 2>&1 >/dev/null | grep -q -- '--order has no effect on model nene'; }
too_many_or_no_neighbours_are_refused() {
    refuses '--neighbors 250, but there are 250 distinct rows; use fewer' fit train.csv -o m.agp --model nene --neighbors 250 && refuses 'neighbors' fit train.csv -o m.agp --model nene --neighbors 0 && refuses 'neighbors' fit train.csv -o m.agp --model nene --neighbors -3
}
noise_of_zero_and_equal_rows_are_refused() {
    awk 'NR == 1 { print } NR > 1 { print; print }' train.csv >twice.csv
    refuses 'noise 0 is fixed' fit twice.csv -o m.agp --model nene --noise 0 --fix noise
}
draws_and_other_likelihoods_are_refused() {
    anygp fit train.csv -q -o n.agp --model nene --iters 1 && refuses 'nene has no joint distribution' predict n.agp test.csv --samples 2 && refuses 'nene' fit train.csv -o m.agp --model nene --likelihood studentt
}

check it_fits_scores_leave_one_out_and_predicts
check text_columns_and_weights_from_tiny_to_huge_are_taken
check new_rows_equal_a_fit_to_all_rows
check little_memory_gives_the_same_bits
check options_without_effect_are_noted
check too_many_or_no_neighbours_are_refused
check noise_of_zero_and_equal_rows_are_refused
check draws_and_other_likelihoods_are_refused
finish
