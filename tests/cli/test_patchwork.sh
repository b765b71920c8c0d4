# patchwork: no jumps at borders, and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 260 --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.3)' --noise 0.01 -o all.csv
head -n 201 all.csv >train.csv
sed '2,201d' all.csv >test.csv
fixed=(--valid 0 --fix all --kernel 'matern32(variance=1,lengthscale=0.3)' --noise 0.01)
awk 'BEGIN { print "x1,x2"; for (i = 0; i <= 1000; i++) print i / 1000 ",0.3" }' >line.csv

largest_step() { anygp predict "$1" line.csv | awk -F, 'NR > 2 { d = $1 - m; if (d < 0) d = -d; if (d > most) most = d } { m = $1 } END { print most }'; }

moments() { awk -F, 'NR > 1 { print $1 + 10 "," $2 }'; } # means that are near 0 are not compared by their size
it_jumps_less_than_its_cells_alone() {
    anygp fit train.csv -q -o p.agp --model 'patchwork(points=9)' --blocks 6 "${fixed[@]}" >/dev/null && anygp fit train.csv -q -o n.agp --model nle --partition kdtree --blocks 6 "${fixed[@]}" >/dev/null || return 1
    awk -v p="$(largest_step p.agp)" -v n="$(largest_step n.agp)" 'BEGIN { print p, n; exit !(p < 0.4 * n) }'
}
one_cell_is_the_exact_model() {
    anygp fit train.csv -q -o p.agp --model patchwork --blocks 1 "${fixed[@]}" >/dev/null && anygp fit train.csv -q -o e.agp --model exact "${fixed[@]}" >/dev/null || return 1
    anygp predict p.agp test.csv | moments >p.csv && anygp predict e.agp test.csv | moments >e.csv && close p.csv e.csv 1e-6
}
it_learns_over_one_and_three_inputs_and_cuts_by_evidence() {
    cut -d, -f1,3 train.csv >one.csv && anygp simulate --rows 120 --inputs 3 -o three.csv && fits one.csv --model patchwork --blocks 4 --iters 2 && fits three.csv --model 'patchwork(points=2)' --blocks 5 --iters 2 --partition tree
}
what_it_cannot_do_is_refused() {
    anygp simulate --rows 50 --inputs 4 -o four.csv && refuses 'patchwork takes at most 3 inputs' fit four.csv -o m.agp --model patchwork && refuses 'patchwork has no anytime variant' fit train.csv -o m.agp --model patchwork+ || return 1
    refuses 'partition: patchwork needs cells with borders' fit train.csv -o m.agp --model patchwork --partition random && refuses 'mean: patchwork takes no prior mean' fit train.csv -o m.agp --model patchwork --mean linear || return 1
    awk -F, 'NR == 1 { print "site," $1 "," $3 } NR > 1 { print substr("xyz", NR % 3 + 1, 1) "," $1 "," $3 }' train.csv >mixed.csv
    refuses 'patchwork takes numbers only' fit mixed.csv -o m.agp --model patchwork
}
draws_are_finite() {
    anygp predict p.agp test.csv --samples 2 -o draws.csv && [[ $(wc -l <draws.csv) == "$(wc -l <test.csv)" ]] && finite draws.csv
}
new_rows_join_their_cells() {
    anygp update p.agp test.csv >/dev/null && anygp info p.agp | grep -q 'rows  *260' && anygp info p.agp | grep -q 'log evidence .* over 260 rows' && anygp predict p.agp test.csv >/dev/null
}

check it_jumps_less_than_its_cells_alone
check one_cell_is_the_exact_model
check it_learns_over_one_and_three_inputs_and_cuts_by_evidence
anygp fit train.csv -q -o p.agp --model patchwork --blocks 4 "${fixed[@]}" >/dev/null
check what_it_cannot_do_is_refused
check draws_are_finite
check new_rows_join_their_cells
finish
