# tree: one part is exact, rows from a file, and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 260 --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.3)' --noise 0.01 -o all.csv
head -n 201 all.csv >train.csv
sed '2,201d' all.csv >test.csv
fixed=(--valid 0 --fix all --kernel 'matern32(variance=1,lengthscale=0.3)' --noise 0.01)
evidence() { anygp info "$1" | sed -n 's/.*log evidence \([-0-9.]*\).*/\1/p'; }

one_part_has_the_exact_evidence() {
    anygp fit train.csv -q -o t.agp --model tree --blocks 1 --inducing 20 "${fixed[@]}" >/dev/null && anygp fit train.csv -q -o e.agp --model exact "${fixed[@]}" >/dev/null || return 1
    awk -v t="$(evidence t.agp)" -v e="$(evidence e.agp)" 'BEGIN { print t, e; d = t - e; exit !(t != "" && d * d < 1e-4) }'
}
rows_from_a_file_give_the_same_model() {
    anygp fit train.csv -q -o t.agp --model tree --blocks 5 --inducing 40 --iters 2 --valid 0 >/dev/null && anygp convert train.csv train.npy && anygp fit train.npy -q -o f.agp --memory 4M --model tree --blocks 5 --inducing 40 --iters 2 --valid 0 >/dev/null || return 1
    anygp predict t.agp test.csv >t.csv && anygp predict f.agp test.csv >f.csv && close t.csv f.csv 1e-6
}
draws_are_consistent_and_new_rows_are_learned_from() {
    anygp predict t.agp test.csv --samples 2 -o draws.csv && [ "$(wc -l <draws.csv)" = 61 ] || return 1
    anygp eval t.agp test.csv >before && anygp update t.agp test.csv >/dev/null && anygp eval t.agp test.csv >after && anygp info t.agp | grep -q 'rows  *260' || return 1
    awk '$1 == "rmse" { rmse[NR > FNR] = $2 } END { print rmse[0], rmse[1]; exit !(rmse[1] < rmse[0]) }' before after
}
what_it_cannot_do_is_refused() {
    refuses 'tree has no anytime variant' fit train.csv -o m.agp --model tree+ && refuses 'mean: tree takes no prior mean' fit train.csv -o m.agp --model tree --mean linear
}

check one_part_has_the_exact_evidence
check rows_from_a_file_give_the_same_model
check draws_are_consistent_and_new_rows_are_learned_from
check what_it_cannot_do_is_refused
finish
