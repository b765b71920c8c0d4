# nle: its partitions, what it takes and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 240 --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.2)' --noise 0.02 -o all.csv
head -n 201 all.csv >train.csv
sed '2,201d' all.csv >test.csv
awk 'NR == 1 { print "part" } NR > 1 { print NR % 4 + 10 }' train.csv >parts.csv
awk 'NR == 1 { print "part" } NR > 1 { print NR % 4 + 10 }' test.csv >test_parts.csv
awk 'BEGIN { print "x,y"; srand(3); for (i = 0; i < 160; i++) { x = i / 80 - 1; r = rand() + rand() + rand() - 1.5; print x "," (x < 0 ? sin(4 * x) + 0.02 * r : sin(30 * x) + 0.5 * r) } }' >two.csv

every_partition_fits_and_is_scored_by_leave_one_out() {
    local how
    for how in kmeans kdtree random; do
        fits train.csv --model nle --blocks 4 --iters 2 --partition $how && grep -q 'leave-one-out' "$said/out" || return 1
    done
    anygp info fits.agp | grep -q 'nle, 200 rows in the posterior, in 4 blocks' && fits two.csv --model nle --partition tree --experts own && grep -q 'the evidence asked for 1 of the' "$said/err" && anygp info fits.agp | grep -q 'in 2 blocks'
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

moments() { awk -F, 'NR > 1 { print $1 + 10 "," $2 }'; } # means that are near 0 are not compared by their size
# Two regimes side by side: the expert of each half is the exact model of its rows.
experts_can_have_their_own_hyperparameters() {
    local half options=(-q --prior none --standardize none --noise 0.01)
    awk -F, 'NR == 1 { print "p" } NR > 1 { print ($1 < 0 ? 0 : 1) }' two.csv >halves.csv
    awk -F, 'NR == 1 || $1 < 0' two.csv >0.csv && awk -F, 'NR == 1 || $1 >= 0' two.csv >1.csv
    anygp fit two.csv -o own.agp --model nle --blocks-from halves.csv --experts own "${options[@]}" >/dev/null && anygp info own.agp | grep -q 'each has a kernel and noise of its own' || return 1
    for half in 0 1; do
        anygp fit $half.csv -o exact.agp --model exact "${options[@]}" >/dev/null && anygp predict exact.agp $half.csv | moments >e.csv && anygp predict own.agp $half.csv | moments >o.csv && close o.csv e.csv 1e-3 || return 1
    done
    anygp fit two.csv -o poe.agp --model poe+ --blocks 2 --iters 3 --experts own -q >/dev/null && anygp update poe.agp two.csv >/dev/null && anygp predict poe.agp two.csv --parts -o p.csv && finite p.csv
}
a_common_prior_is_needed_elsewhere() {
    refuses 'experts: grbcm needs a prior that all experts share' fit train.csv -o m.agp --model grbcm --experts own &&
        refuses 'restarts: experts with hyperparameters of their own' fit train.csv -o m.agp --model nle --experts own --restarts 2
}

# Rows far from all parts are an expert of their own, which predicts around them as the exact model of them does, after loading and a second update too.
new_rows_far_away_open_a_part() {
    local kernel=(--standardize none --valid 0 --fix all --kernel 'rbf(variance=1,lengthscale=1)' --noise 0.01) p
    awk 'BEGIN { srand(3); print "x1,y"; for (i = 0; i < 60; i++) { x = rand(); print x "," sin(5 * x) } }' >here.csv
    awk 'BEGIN { srand(4); print "x1,y"; for (i = 0; i < 9; i++) { x = 50 + rand() / 2; print x "," cos(4 * x) } }' >far.csv
    awk 'BEGIN { srand(5); print "x1,y"; for (i = 0; i < 7; i++) { x = 50 + rand() / 2; print x "," cos(4 * x) } }' >far2.csv
    awk 'BEGIN { print "x1"; for (i = 0; i < 11; i++) print i / 10; for (i = 0; i < 11; i++) print 50 + i / 20 }' >places.csv
    { cat far.csv; sed 1d far2.csv; } >both.csv
    for p in kmeans kdtree random; do
        anygp fit here.csv -q -o o.agp --model nle --blocks 3 --partition $p "${kernel[@]}" >/dev/null && anygp predict o.agp places.csv -o before.csv &&
            anygp update o.agp far.csv >"$said/out" 2>&1 && grep -q '1 expert was opened for new rows that no centre of an expert is near to' "$said/out" && anygp predict o.agp places.csv -o once.csv || { cat "$said/out"; return 1; }
        anygp fit far.csv -q -o e.agp --model exact "${kernel[@]}" >/dev/null && anygp predict e.agp places.csv -o exact.csv || return 1
        close <(sed -n '2,12p' once.csv) <(sed -n '2,12p' before.csv) 1e-12 && close <(sed -n '13,23p' once.csv) <(sed -n '13,23p' exact.csv) 1e-5 || { echo "$p: one update"; return 1; }
        anygp update o.agp far2.csv >"$said/out" 2>&1 && ! grep 'opened' "$said/out" && anygp predict o.agp places.csv -o twice.csv && anygp fit both.csv -q -o e.agp --model exact "${kernel[@]}" >/dev/null && anygp predict e.agp places.csv -o exact.csv || return 1
        close <(sed -n '2,12p' twice.csv) <(sed -n '2,12p' before.csv) 1e-12 && close <(sed -n '13,23p' twice.csv) <(sed -n '13,23p' exact.csv) 1e-5 || { echo "$p: two updates"; return 1; }
        anygp info o.agp | grep -q '4 blocks\|4 parts\|blocks *4' || { anygp info o.agp; return 1; }
    done
    refuses 'parts that an update opened' export o.agp -o o.c
}

check every_partition_fits_and_is_scored_by_leave_one_out
check parts_can_be_given
check one_part_is_the_exact_model
check new_rows_are_taken_and_text_and_weights_too
check experts_can_have_their_own_hyperparameters
check a_common_prior_is_needed_elsewhere
check draws_and_other_likelihoods_are_refused
check new_rows_far_away_open_a_part
finish
