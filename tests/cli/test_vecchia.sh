# vecchia: every command, how close it is to the exact model, and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 500 --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.2)' --noise 0.02 -o all.csv
head -n 401 all.csv >train.csv
sed '2,401d' all.csv >test.csv
fixed=(--valid 0 --fix all --kernel 'matern32(variance=1,lengthscale=0.2)' --noise 0.02)

near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { print a, b; exit !((a - b) ^ 2 <= t ^ 2) }'; } # A B TOLERANCE
value() { anygp fit train.csv -q -o "$1.agp" --json "${@:2}" | json_number value; }
rmse() { anygp eval "$1.agp" test.csv --json | json_number rmse; }

# Ordinary kriging where there are gaps to be filled; what the user says counts.
maps_have_a_constant_mean() {
    anygp simulate --rows 5200 --inputs 2 -o map.csv && sed '2,252d' map.csv >fewer.csv
    local now=(--model vecchia --kernel matern12 --neighbors 5 --iters 1 --valid 0 -q)
    mean_is() { anygp info m.agp --json | grep -q "\"mean\": \"$1\"" || { anygp info m.agp; return 1; }; }
    anygp fit map.csv -o m.agp "${now[@]}" >/dev/null && mean_is constant && anygp info m.agp | grep -q '^  mean  *constant, its coefficients integrated out' &&
        anygp fit map.csv -o m.agp "${now[@]}" --mean zero >/dev/null && mean_is zero && ! anygp info m.agp | grep -q '^  mean' &&
        anygp fit fewer.csv -o m.agp "${now[@]}" >/dev/null && mean_is zero
}

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
equal_rows_fit() {
    awk 'NR == 1 { print } NR > 1 { print; print }' train.csv | head -n 100 >twice.csv && fits twice.csv --model vecchia --iters 3 --valid 0
}
it_ends_with_a_leave_one_out_score() {
    local exact near
    near=$(anygp fit train.csv -o v.agp --model vecchia "${fixed[@]:2}" | sed -n 's/.*leave-one-out: rmse \([0-9.]*\),.*cover.*/\1/p')
    exact=$(anygp fit train.csv -o e.agp --model exact "${fixed[@]:2}" | sed -n 's/.*leave-one-out: rmse \([0-9.]*\),.*cover.*/\1/p')
    near "$near" "$exact" 0.001
}
the_smoothness_is_found_where_no_kernel_is_given() {
    anygp simulate --rows 1200 --inputs 2 --kernel 'matern12(variance=1,lengthscale=0.5)' --noise 0.001 -o rough.csv >/dev/null && anygp fit rough.csv -o r.agp --model vecchia --iters 5 --valid 0 >/dev/null 2>said &&
        tr -s ' \n' ' ' <said | grep -q 'kernel: matern12, since' && anygp info r.agp | grep -q 'kernel  *matern12(' || return 1
    anygp fit rough.csv -o r.agp --model vecchia --iters 2 --valid 0 --kernel matern52 >/dev/null 2>said && ! grep -q 'kernel:' said && anygp info r.agp | grep -q 'kernel  *matern52(' || return 1
    anygp simulate --rows 1200 --inputs 2 --kernel 'matern52(variance=1,lengthscale=0.5)' --noise 0.01 -o smooth.csv >/dev/null && anygp fit smooth.csv -o s.agp --model vecchia --iters 2 --valid 0 >/dev/null 2>said && ! grep -q 'kernel: matern12' said
}
# The definition: each row predicted by a fit to the others.
calibration_makes_the_mean_squared_residual_one() {
    local settings=(--valid 0 --fix all --standardize none --kernel 'matern32(variance=0.3,lengthscale=0.2)' --noise 0.02 -q) factor i
    head -n 13 train.csv >few.csv && anygp fit few.csv -o c.agp --model exact --calibrate loo "${settings[@]}" >/dev/null && anygp fit few.csv -o p.agp --model exact "${settings[@]}" >/dev/null || return 1
    factor=$(anygp info c.agp --json | json_number calibration) && anygp info c.agp | grep -q 'calibration  *the variance of f is multiplied by' && ! anygp info p.agp | grep -q calibration || return 1
    for i in $(seq 2 13); do
        sed "${i}d" few.csv >others.csv && sed -n "1p;${i}p" few.csv >left.csv && anygp fit others.csv -o o.agp --model exact "${settings[@]}" >/dev/null && paste -d, <(sed -n 2p left.csv) <(anygp predict o.agp left.csv --latent | sed -n 2p) || return 1
    done | awk -F, -v c="$factor" '{ s += ($3 - $4) ^ 2 / (c * $5 + 0.02); n++ } END { print s / n; exit !(n == 12 && (s / n - 1) ^ 2 < 1e-16) }' || return 1
    paste -d, <(anygp predict c.agp test.csv --latent) <(anygp predict p.agp test.csv --latent) | awk -F, -v c="$factor" 'NR > 1 && ($2 / $6 / c - 1) ^ 2 > 1e-20 { exit 1 }'
}
calibration_is_for_models_with_leave_one_out() { refuses 'calibrate: vfe has no leave-one-out predictions to calibrate by; leave --calibrate out, or use --model exact, sod, vecchia' fit train.csv -o m.agp --model vfe --calibrate loo; }
it_can_be_calibrated() { fits train.csv --model vecchia --iters 3 --calibrate loo && anygp predict fits.agp test.csv --samples 2 >s.csv && finite s.csv; }
# Rows at the end of a given order are what an update adds.
rows_of_an_update_come_last() {
    local apart=("${fixed[@]}" --standardize none --group no)
    head -n 301 train.csv >first.csv && { sed -n 1p train.csv; sed 1,301d train.csv; } >later.csv && seq 0 399 >order.csv && seq 0 299 >begin.csv || return 1
    anygp fit first.csv -q -o f.agp --model vecchia "${apart[@]}" --order-from begin.csv >/dev/null && anygp update f.agp later.csv >/dev/null || return 1
    near "$(anygp info f.agp --json | json_number value)" "$(value g --model vecchia "${apart[@]}" --order-from order.csv)" 1e-8 && anygp info f.agp | grep -q '  rows  *400' || return 1
    anygp predict f.agp test.csv >a.csv && anygp predict g.agp test.csv >b.csv && close a.csv b.csv 1e-8
}
orders_that_are_none_are_refused() {
    seq 0 398 >short.csv && { seq 0 398; echo 7; } >twice.csv && seq 1 400 >one.csv && seq 0 399 >order.csv || return 1
    refuses 'short.csv has 399 rows and 1 columns; it needs one column and 400 rows' fit train.csv -o m.agp --model vecchia --order-from short.csv &&
        refuses 'twice.csv, row 400: row 7 of the data was there before, in row 8' fit train.csv -o m.agp --model vecchia --order-from twice.csv &&
        refuses 'one.csv, row 400: 400 is not the number of a row, from 0 to 399' fit train.csv -o m.agp --model vecchia --order-from one.csv &&
        refuses 'order-from: the order is that of the file' fit train.csv -o m.agp --model vecchia --order-from order.csv --order random
}
equal_places_have_a_factor() { # also where a white kernel keeps them apart, and with next to no noise
    awk 'BEGIN { print "a,b,y"; for (i = 0; i < 60; i++) print i % 4 "," i % 3 "," i % 7 }' >grid.csv
    fits grid.csv --model vecchia --iters 3 --neighbors 20 --kernel 'matern52 + white' && fits grid.csv --model vecchia --iters 3 --neighbors 5 --kernel 'rbf(lengthscale=100)' --noise 1e-12 --fix noise
}
one_input_and_very_many_fit() {
    awk 'BEGIN { print "a,y"; for (i = 0; i < 40; i++) print i "," sin(i / 5) }' >line.csv && fits line.csv --model vecchia --iters 3 --neighbors 3 || return 1
    awk 'BEGIN { srand(1); for (i = 0; i < 40; i++) { for (j = 0; j < 784; j++) printf "%.3f,", rand(); print i % 5 } }' >wide.csv && fits wide.csv --model vecchia --iters 1 --neighbors 4 --kernel 'rbf(iso)'
}
sums_and_products_of_kernels_fit() { fits train.csv --model vecchia --iters 2 --neighbors 6 --kernel 'matern32 * periodic(period=0.5) + linear + constant' && fits train.csv --model vecchia --iters 2 --neighbors 6 --kernel linear; }
weights_may_be_of_any_size() {
    awk -F, 'BEGIN { split("1e-300 1e-30 1 1e5 1e15", w, " ") } NR == 1 { print $0 ",w" } NR > 1 && NR < 62 { print $0 "," w[NR % 5 + 1] }' train.csv >sizes.csv
    fits sizes.csv --model vecchia --iters 2 --neighbors 6 --target y --weights w && sed 's/1e15/1e300/' sizes.csv >large.csv && refuses 'weight 1e.300; weights must be' fit large.csv -o m.agp --model vecchia --target y --weights w
}
the_file_is_enough_to_predict() { fits train.csv --model vecchia --iters 1 && mkdir -p apart && cp fits.agp apart && (cd apart && anygp predict fits.agp ../test.csv --samples 2 >s.csv && finite s.csv); }
negative_neighbours_are_refused() { refuses 'neighbors' fit train.csv -o m.agp --model vecchia --neighbors -3; }
rows_beyond_the_memory_are_refused() { refuses 'vecchia model of 400 rows needs .* GB and --memory allows .* GB; use --model sod --inducing' fit train.csv -o m.agp --model vecchia --memory 250k --threads 2; }
# The mean's coefficients need a pass over the rows, for which there is no time.
stopped_before_a_pass_ends_there_is_a_model() {
    anygp simulate --rows 5000 --inputs 2 -o long.csv && anygp fit long.csv -q -o long.agp --model vecchia --mean constant --time 0.02s >/dev/null && anygp predict long.agp long.csv | awk -F, 'NR > 1 && !($2 > 0) { bad = 1 } END { exit bad || NR != 5001 }'
}
# Where length-scales move far apart, the first climb is not made to its end: the iterations of the trace begin again soon.
neighbours_follow_length_scales_on_the_way() {
    anygp simulate --rows 300 --inputs 2 --kernel 'matern52(variance=1,lengthscale=[0.1,3])' --noise 0.01 -o far.csv && anygp fit far.csv -o far.agp --model vecchia --neighbors 5 --kernel 'matern52(variance=1,lengthscale=[0.5,0.5])' --noise 0.01 --trace far.trace.csv >/dev/null 2>far.said || return 1
    grep -q '^anygp: neighbours were found again' far.said && anygp fit far.csv -o far.agp --model vecchia --neighbors 5 --fix all --trace far2.csv >/dev/null 2>near.said && ! grep 'found again' near.said || { cat far.said; return 1; }
    awk -F, 'NR > 2 && $1 == 1 { first = NR - 2; exit } END { print first; exit !(first > 0 && first <= 5) }' far.trace.csv
}
# Few neighbours alone are far from the exact model; with inducing inputs they are close to it.
inducing_inputs_help_few_neighbours() {
    local exact few full
    exact=$(value e --model exact "${fixed[@]}") few=$(value v --model vecchia "${fixed[@]}" --neighbors 5 --inducing 0) full=$(value f --model vecchia "${fixed[@]}" --neighbors 5 --inducing 40)
    awk -v e="$exact" -v f="$few" -v m="$full" 'BEGIN { print e, f, m; exit !((e - m) ^ 2 < (e - f) ^ 2 / 25) }' && near "$(rmse f)" "$(rmse e)" 0.002
}
inducing_inputs_are_learned_described_and_updated() {
    fits train.csv --model vecchia --inducing 9 --fix none --iters 3 --neighbors 4 --mean constant && anygp info fits.agp | grep -q 'model  *vecchia, [0-9]* rows and 9 inducing inputs in the posterior' || return 1
    anygp update fits.agp test.csv >/dev/null && anygp info fits.agp | grep -q 'rows and 9 inducing inputs' && anygp predict fits.agp test.csv --samples 2 >s.csv && finite s.csv
}
inducing_inputs_of_a_file_are_taken() { printf 'x1,x2\n0.1,0.2\n0.5,0.6\n' >places.csv && fits train.csv --model vecchia --inducing-from places.csv --iters 1 --neighbors 4 && anygp info fits.agp | grep -q 'and 2 inducing inputs'; }
# With the hyperparameters as they are, an epoch of steps leads to the batch result; and steps learn.
steps_with_inducing_inputs() {
    local fixed=(--kernel 'matern32(lengthscale=0.3)' --noise 0.1 --fix all --neighbors 5 --inducing 9)
    anygp fit train.csv -q -o b.agp --model vecchia "${fixed[@]}" && anygp fit train.csv -q -o s.agp --model vecchia+ --sample 40 "${fixed[@]}" && anygp predict b.agp test.csv >b.csv && anygp predict s.agp test.csv >s.csv && paste -d, b.csv s.csv | awk -F, 'NR > 1 { for (i = 1; i <= NF / 2; i++) if (($i - $(i + NF / 2)) ^ 2 > 1e-12) { print; exit 1 } }' || return 1
    fits train.csv --model vecchia+ --inducing 9 --neighbors 4 --mean constant --iters 30 --sample 30 && anygp info fits.agp | grep -q 'model  *vecchia+, [0-9]* rows and 9 inducing inputs in the posterior'
}
sets_of_inducing_inputs_are_refused() { refuses 'one set of inducing inputs' fit train.csv -o m.agp --model vecchia --inducing 9+9 && refuses "inducing: '0' is not a whole number" fit train.csv -o m.agp --model vfe --inducing 0; }
options_of_other_models_are_noted() { anygp fit train.csv -o m.agp --model sod --iters 1 --neighbors 5 2>&1 >/dev/null | grep -q -- '--neighbors has no effect on model sod'; }
as_many_neighbours_as_rows_are_refused() { refuses '--neighbors 400, but there are .* use fewer, or --model exact' fit train.csv -o m.agp --model vecchia --neighbors 400; }
no_neighbours_are_refused() { refuses 'neighbors' fit train.csv -o m.agp --model vecchia --neighbors 0; }
other_likelihoods_are_refused() { refuses 'vecchia' fit train.csv -o m.agp --model vecchia --likelihood studentt; }

check it_fits_predicts_and_is_described
check it_is_close_to_the_exact_model
check more_neighbours_come_closer
check every_order_fits
check text_columns_and_weights_are_taken
check equal_rows_fit
check it_ends_with_a_leave_one_out_score
check the_smoothness_is_found_where_no_kernel_is_given
check calibration_makes_the_mean_squared_residual_one
check calibration_is_for_models_with_leave_one_out
check it_can_be_calibrated
check rows_of_an_update_come_last
check orders_that_are_none_are_refused
check equal_places_have_a_factor
check one_input_and_very_many_fit
check sums_and_products_of_kernels_fit
check weights_may_be_of_any_size
check the_file_is_enough_to_predict
check negative_neighbours_are_refused
check rows_beyond_the_memory_are_refused
check stopped_before_a_pass_ends_there_is_a_model
check neighbours_follow_length_scales_on_the_way
check inducing_inputs_help_few_neighbours
check inducing_inputs_are_learned_described_and_updated
check inducing_inputs_of_a_file_are_taken
check steps_with_inducing_inputs
check sets_of_inducing_inputs_are_refused
check options_of_other_models_are_noted
check as_many_neighbours_as_rows_are_refused
check no_neighbours_are_refused
check maps_have_a_constant_mean
check other_likelihoods_are_refused
finish
