# nle: its partitions, what it takes and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 240 --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.2)' --noise 0.02 -o all.csv
head -n 201 all.csv >train.csv
sed '2,201d' all.csv >test.csv
awk 'NR == 1 { print "part" } NR > 1 { print NR % 4 + 10 }' train.csv >parts.csv
awk 'NR == 1 { print "part" } NR > 1 { print NR % 4 + 10 }' test.csv >test_parts.csv

every_partition_fits_and_is_scored_by_leave_one_out() {
    local how
    for how in kmeans kdtree random; do
        fits train.csv --model nle --blocks 4 --iters 2 --partition $how && grep -q 'leave-one-out' "$said/out" || return 1
    done
    anygp info fits.agp | grep -q 'nle, 200 rows in the posterior, in 4 blocks'
}
parts_can_be_given() {
    anygp fit train.csv -q -o g.agp --model nle --iters 2 --blocks-from parts.csv >/dev/null && anygp predict g.agp test.csv -o a.csv && anygp predict g.agp test.csv --blocks-from test_parts.csv -o b.csv || return 1
    finite a.csv b.csv && ! cmp -s a.csv b.csv
}
one_part_is_the_exact_model() {
    local fixed=(--valid 0 --fix all --kernel 'matern32(variance=1,lengthscale=0.2)' --noise 0.02)
    anygp fit train.csv -q -o n.agp --model nle --blocks 1 "${fixed[@]}" >/dev/null && anygp fit train.csv -q -o e.agp --model exact "${fixed[@]}" >/dev/null || return 1
    anygp predict n.agp test.csv -o n.csv && anygp predict e.agp test.csv -o e.csv && close n.csv e.csv 1e-5
}
new_rows_are_taken_and_text_and_weights_too() {
    awk -F, 'NR == 1 { print "place," $0 ",w" } NR > 1 { print "abc" substr("xyz", NR % 3 + 1, 1) "," $0 "," (NR % 5 == 0 ? "1e-300" : 1) }' train.csv >mixed.csv
    fits mixed.csv --model nle --blocks 3 --iters 2 --mean linear --target y --weights w && fits train.csv --model nle --blocks 3 --iters 2 && anygp update fits.agp test.csv >/dev/null && anygp info fits.agp | grep -q 'nle, 240 rows in the posterior, in 3 blocks'
}
draws_and_other_likelihoods_are_refused() {
    anygp fit train.csv -q -o n.agp --model nle --blocks 4 --iters 1 >/dev/null && refuses 'nle has no joint distribution' predict n.agp test.csv --samples 2 && refuses 'nle' fit train.csv -o m.agp --model nle --likelihood studentt
}

check every_partition_fits_and_is_scored_by_leave_one_out
check parts_can_be_given
check one_part_is_the_exact_model
check new_rows_are_taken_and_text_and_weights_too
check draws_and_other_likelihoods_are_refused
finish
