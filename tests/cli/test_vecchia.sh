# vecchia: every command, how close it is to the exact model, and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 500 --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.2)' --noise 0.02 -o all.csv
head -n 401 all.csv >train.csv
sed '2,401d' all.csv >test.csv
fixed=(--valid 0 --fix all --kernel 'matern32(variance=1,lengthscale=0.2)' --noise 0.02)

near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { print a, b; exit !((a - b) ^ 2 <= t ^ 2) }'; } # A B TOLERANCE
value() { anygp fit train.csv -q -o "$1.agp" --json "${@:2}" | json_number value; }
rmse() { anygp eval "$1.agp" test.csv --json | json_number rmse; }

it_fits_predicts_and_is_described() {
    fits train.csv --model vecchia --iters 8 --mean constant && anygp info fits.agp | grep -q 'model  *vecchia, [0-9]* rows in the posterior' || return 1
    anygp predict fits.agp test.csv --samples 3 >s.csv && finite s.csv && [ "$(wc -l <s.csv)" = 101 ]
}
it_is_close_to_the_exact_model() {
    near "$(value v --model vecchia "${fixed[@]}")" "$(value e --model exact "${fixed[@]}")" 1 && near "$(rmse v)" "$(rmse e)" 0.001
}
more_neighbours_come_closer() {
    local exact few many
    exact=$(value e --model exact "${fixed[@]}") few=$(value v --model vecchia "${fixed[@]}" --neighbors 3 --group no) many=$(value v --model vecchia "${fixed[@]}" --neighbors 40 --group no)
    awk -v e="$exact" -v f="$few" -v m="$many" 'BEGIN { print e, f, m; exit !((e - m) ^ 2 < (e - f) ^ 2 / 100) }'
}
every_order_fits() {
    local order
    for order in maximin random coordinate; do fits train.csv --model vecchia --iters 3 --order $order --neighbors 10 || return 1; done
}
text_columns_and_weights_are_taken() {
    awk -F, 'NR == 1 { print "place," $0 ",w" } NR > 1 { print "abc" substr("xyz", NR % 3 + 1, 1) "," $0 "," 1 + NR % 2 }' train.csv >mixed.csv
    fits mixed.csv --model vecchia --iters 3 --target y --weights w
}
equal_rows_and_one_row_fit() {
    awk 'NR == 1 { print } NR > 1 { print; print }' train.csv | head -n 100 >twice.csv && fits twice.csv --model vecchia --iters 3 --valid 0 && head -n 2 train.csv >one.csv && fits one.csv --model vecchia --valid 0
}
options_of_other_models_are_noted() { anygp fit train.csv -o m.agp --model sod --iters 1 --neighbors 5 2>&1 >/dev/null | grep -q -- '--neighbors has no effect on model sod'; }
as_many_neighbours_as_rows_are_refused() { refuses '--neighbors 400, but there are .* use fewer, or --model exact' fit train.csv -o m.agp --model vecchia --neighbors 400; }
no_neighbours_are_refused() { refuses 'neighbors' fit train.csv -o m.agp --model vecchia --neighbors 0; }
other_likelihoods_are_refused() { refuses 'vecchia' fit train.csv -o m.agp --model vecchia --likelihood studentt; }

check it_fits_predicts_and_is_described
check it_is_close_to_the_exact_model
check more_neighbours_come_closer
check every_order_fits
check text_columns_and_weights_are_taken
check equal_rows_and_one_row_fit
check options_of_other_models_are_noted
check as_many_neighbours_as_rows_are_refused
check no_neighbours_are_refused
check other_likelihoods_are_refused
finish
