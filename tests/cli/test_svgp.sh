# Variational models that learn by steps: every command, what they equal, sets, targets, ends of runs, small and odd data.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 360 --inputs 2 -o all.csv
head -n 301 all.csv >train.csv
sed '2,301d' all.csv >test.csv
cut -d, -f1,2 train.csv >inputs.csv
head -n 21 inputs.csv >first.csv
head -n 31 inputs.csv >both.csv
fixed=(--fix all --kernel 'matern32(variance=1,lengthscale=0.3)' --noise 0.05 --prior none)
steps=(--batch 100 --iters 40)
sets() { case $1 in solve | odvgp) echo 12+8 ;; *) echo 20 ;; esac } # MODEL
quietly() { "$ANYGP" "$@" >"$said/out" 2>"$said/err" </dev/null || { cat "$said/err"; return 1; }; }

# A fit without learning, its predictions at other rows and its objective: NAME.p and NAME.value.
fit_fixed() { # NAME OPTIONS...
    anygp fit train.csv -q -o "$1.agp" "${fixed[@]}" --json "${@:2}" >"$1.json" || return 1
    json_number value <"$1.json" >"$1.value" && anygp predict "$1.agp" test.csv >"$1.p"
}
same_model() { close "$1.value" "$2.value" "$3" && close "$1.p" "$2.p" "$3"; } # NAME NAME TOLERANCE

every_model_fits_and_is_used() {
    local m
    for m in svgp svi solve odvgp ivsgpr; do
        fits train.csv --model $m --inducing "$(sets $m)" --batch 100 --iters 150 || { echo "model $m"; return 1; }
        ! grep -v 'inducing inputs were chosen by' "$said/err" && anygp info fits.agp | grep -qF "${m/svi/svgp}, 20 inducing inputs" || { echo "info of $m"; cat "$said/err"; return 1; }
        anygp eval fits.agp test.csv --json | json_number rmse | awk '{ print; exit !($1 < 0.3) }' || { echo "eval of $m"; return 1; }
        anygp predict fits.agp test.csv --samples 3 >s.csv && finite s.csv && [ "$(wc -l <s.csv)" = 61 ] || { echo "predict of $m"; return 1; }
    done
}
a_step_over_all_rows_is_the_batch_model() {
    fit_fixed vfe --model vfe --inducing-from both.csv && fit_fixed svgp --model svgp --inducing-from both.csv --batch 0 && same_model vfe svgp 1e-7 &&
        fit_fixed ivsgpr --model ivsgpr --inducing-from both.csv --batch 0 && same_model vfe ivsgpr 1e-7 || return 1
    fit_fixed batch --model solve_collapsed --inducing-from both.csv --inducing 20+10 && fit_fixed solve --model solve --inducing-from both.csv --inducing 20+10 --batch 0 --iters 400 && same_model batch solve 1e-4
}
a_mean_goes_with_the_first_set() {
    fit_fixed batch --model solve_collapsed --inducing-from both.csv --inducing 20+10 --mean linear && fit_fixed solve --model solve --inducing-from both.csv --inducing 20+10 --mean linear --batch 0 --iters 600 && same_model batch solve 1e-4
}
bounds_of_sets_lie_between_those_of_one() {
    fit_fixed first --model svgp --inducing-from first.csv --batch 0 && fit_fixed solve --model solve --inducing-from both.csv --inducing 20+10 --batch 0 --iters 150 &&
        fit_fixed both --model svgp --inducing-from both.csv --batch 0 && cat first.value solve.value both.value | awk 'NR > 1 && !($1 > last) { print last, $1; exit 1 } { last = $1 }'
}
targets_share_kernel_and_inducing_inputs() {
    awk -F, -v OFS=, '{ print $1, $2, $3, (NR == 1 ? "z" : 5 - 3 * $3) }' train.csv >two.csv
    quietly fit two.csv -o two.agp --model svgp --inducing 20 "${steps[@]}" --target y --target z && anygp info two.agp | sed -n 's/.*lengthscale/lengthscale/p' | sort | uniq -c | grep -q '^ *2 ' || return 1
    cut -d, -f1,2 two.csv >x.csv && anygp predict two.agp x.csv >p.csv && head -n 1 p.csv | grep -qx y_mean,y_variance,y_lo95,y_hi95,z_mean,z_variance,z_lo95,z_hi95 || return 1
    awk -F, 'NR > 1 { d = $5 - (5 - 3 * $1); if (d * d > 1e-8) { print; exit 1 } }' p.csv # the same function, in other units
}
runs_end_as_they_are_told() {
    quietly fit train.csv -o a.agp --model solve --inducing 8+8 --batch 50 --iters 100000000 --time 2s --trace t.csv --valid 0.2 && anygp info a.agp | grep -q 'ended by' || return 1
    awk -F, 'NR > 2 && !($2 >= last && $4 > 0) { print; exit 1 } { last = $2 } END { exit NR < 5 }' t.csv || return 1
    "$ANYGP" fit train.csv -q -o b.agp --model svgp --inducing 8 --batch 50 --iters 100000000 --checkpoint 0s >"$said/out" 2>"$said/err" &
    while kill -0 $! 2>/dev/null && [ ! -e b.agp.checkpoint ]; do sleep 0.02; done
    kill -INT $! && wait $! && grep -q 'stopped; wrote' "$said/out" && anygp predict b.agp test.csv >p.csv && finite p.csv
}
resumed_runs_have_the_same_bits() {
    local m options
    for m in svgp odvgp ivsgpr; do
        options=(train.csv --model $m --inducing "$(sets $m)" --batch 60 --threads 1 --iters 300)
        rm -f r.agp*
        quietly fit "${options[@]}" -o alone.agp || return 1
        "$ANYGP" fit "${options[@]}" -o r.agp --checkpoint 0s >"$said/out" 2>"$said/err" &
        while kill -0 $! 2>/dev/null && [ ! -e r.agp ]; do sleep 0.01; done
        { kill -KILL $! && wait $!; } 2>/dev/null
        [ -e r.agp.checkpoint ] && anygp predict r.agp test.csv >a && finite a && quietly fit "${options[@]}" -o r.agp --resume || { echo "model $m"; return 1; }
        anygp predict r.agp test.csv >a && anygp predict alone.agp test.csv >b && cmp a b || { echo "model $m"; return 1; }
    done
}
files_on_disk_give_the_same_model() {
    local m
    sed 1d train.csv >plain.csv && anygp convert plain.csv train.npy && sed 1d test.csv >plain.csv || return 1
    for m in svgp solve odvgp; do
        quietly fit train.npy -o disk.agp --model $m --inducing "$(sets $m)" --batch 60 --iters 30 --memory 1M && quietly fit train.npy -o table.agp --model $m --inducing "$(sets $m)" --batch 60 --iters 30 || return 1
        anygp predict disk.agp plain.csv >a && anygp predict table.agp plain.csv >b && close a b 1e-9 || { echo "model $m"; return 1; }
    done
}
weights_count_rows() {
    awk -F, -v OFS=, '{ print $0, (NR == 1 ? "w" : 1 + NR % 3) }' train.csv >weighted.csv
    awk -F, 'NR == 1 { print; next } { for (k = 0; k <= NR % 3; k++) print }' train.csv >repeated.csv
    local o=(-q --valid 0 "${fixed[@]}" --standardize none --inducing-from both.csv --batch 0)
    anygp fit weighted.csv -o w.agp --target y --weights w --model svgp "${o[@]}" >/dev/null && anygp fit repeated.csv -o r.agp --model svgp "${o[@]}" >/dev/null &&
        anygp predict w.agp test.csv >a && anygp predict r.agp test.csv >b && close a b 1e-8
}
new_rows_equal_a_fit_of_all() {
    local o=(-q --valid 0 "${fixed[@]}" --standardize none --inducing-from both.csv --batch 0 --model svgp)
    head -n 201 train.csv >some.csv && (head -n 1 train.csv && sed '1,201d' train.csv) >more.csv
    anygp fit train.csv -o all.agp "${o[@]}" >/dev/null && anygp fit some.csv -o new.agp "${o[@]}" >/dev/null && anygp update new.agp more.csv -q >/dev/null &&
        anygp predict all.agp test.csv >a && anygp predict new.agp test.csv >b && close a b 1e-7 && anygp info new.agp | grep -q 'rows *300'
}
small_and_odd_tables_fit() {
    local m n
    awk -F, -v OFS=, 'NR == 1 { print; next } { print 1, 2, $3 }' train.csv >constant.csv
    for m in svgp solve odvgp ivsgpr; do
        for n in 1 2 7; do
            head -n $((n + 1)) train.csv >few.csv
            fits few.csv --model $m --iters 20 -q || { echo "$m, $n rows"; return 1; }
        done
        fits constant.csv --model $m --inducing 8 "${steps[@]}" -q || { echo "$m, constant inputs"; return 1; }
        fits train.csv --model $m --inducing "$(sets $m)" --batch 1000000 --iters 10 -q || { echo "$m, a large batch"; return 1; }
        fits train.csv --model $m --inducing "$(sets $m)" --batch 1 --iters 60 -q || { echo "$m, a batch of one"; return 1; }
    done
}
sets_have_no_more_places_than_there_are_rows() {
    local m l
    awk 'BEGIN { srand(1); print "h,y"; for (i = 0; i < 200; i++) print i % 12 "," sin(i % 12) + rand() / 9 }' >hours.csv # 12 distinct inputs, which white terms do not merge
    for m in solve odvgp; do
        for l in steps batch; do
            [ $l = batch ] && l=(--learn batch) || l=("${steps[@]}")
            fits hours.csv --kernel 'rbf + white' --model $m --inducing 16+16 "${l[@]}" -q && fits hours.csv --kernel 'rbf + white' --model $m --inducing 8+16 "${l[@]}" -q || { echo "$m ${l[*]}"; return 1; }
        done
    done
}
fixed_hyperparameters_do_not_end_a_run_early() { # one step arrives only where q has one factor
    fit_fixed few --model solve --inducing-from both.csv --inducing 20+10 && fit_fixed many --model solve --inducing-from both.csv --inducing 20+10 --batch 0 --iters 2000 && close few.value many.value 1e-3
}
several_targets_all_have_a_say_in_the_start() { # each of them depends on an input of its own
    awk 'BEGIN { srand(4); print "a,b,y1,y2"; for (i = 0; i < 600; i++) { a = rand(); b = rand(); print a "," b "," sin(5 * a) + rand() / 50 "," cos(7 * b) + rand() / 50 } }' >own.csv
    quietly fit own.csv -o own.agp --model svgp --inducing 60 --batch 200 --iters 300 --target y1 --target y2 && anygp eval own.agp own.csv --json >own.json || return 1
    grep -o '"rmse": *[0-9.e-]*' own.json | awk -F': *' '{ print; n++; if (!($2 < 0.1)) bad = 1 } END { exit n != 2 || bad }'
}
what_makes_no_sense_is_refused_or_noted() {
    refuses 'svgp has one set of inducing inputs' fit train.csv -o no.agp --model svgp --inducing 8+8 &&
        refuses 'ivsgpr has one set of inducing inputs' fit train.csv -o no.agp --model ivsgpr --inducing 8+8 &&
        refuses 'svgp has no anytime variant' fit train.csv -o no.agp --model svgp+ && refuses 'not a whole number' fit train.csv -o no.agp --model solve --inducing 8+0+4 && refuses 'up to 8 of them' fit train.csv -o no.agp --model solve --inducing 1+1+1+1+1+1+1+1+1 || return 1
    quietly fit train.csv -o a.agp --model svgp --inducing 8 --iters 5 --tau 2 && grep -q -e '--tau has no effect on model svgp$' "$said/err" || return 1
    quietly fit train.csv -o a.agp --model svgp --inducing 8 --iters 5 --learn batch && ! grep -v 'inducing inputs were chosen by' "$said/err" && anygp info a.agp | grep -q 'vfe, 8 inducing'
}

rows_by_the_thousand_are_predicted_as_single_ones() {
    local m
    anygp simulate --rows 5000 --inputs 2 --seed 3 -o many.csv && { head -n 1 many.csv && tail -n 20 many.csv; } >tail.csv || return 1
    for m in vfe svgp solve odvgp; do
        quietly fit train.csv -o a.agp --model $m --inducing "$(sets $m)" "${steps[@]}" --mean linear && anygp predict a.agp many.csv | tail -n 20 >together.p && anygp predict a.agp tail.csv | tail -n 20 >alone.p &&
            close together.p alone.p 1e-9 || { echo "model $m"; return 1; }
    done
}

# Two more with each step: as good as all of them from the start, better than the first few, and info has the final number.
inducing_inputs_join_a_run_and_help() {
    anygp simulate --rows 300 --inputs 1 --kernel 'rbf(variance=1,lengthscale=0.05)' --noise 0.01 --seed 7 -o grow.csv 2>"$said/err" || { cat "$said/err"; return 1; }
    local m k o=(-q --batch 100 --iters 60 --valid 0 --json)
    for m in svgp ivsgpr; do
        for k in points scaled; do
            anygp fit grow.csv -o few.agp "${o[@]}" --model $m --kernel rbf --inducing-kind $k --inducing 5 >few.json && anygp fit grow.csv -o grown.agp "${o[@]}" --model $m --kernel rbf --inducing-kind $k --inducing 25 --grow 5 >grown.json &&
                anygp info grown.agp | grep -qF "$m, 25 inducing inputs" && json_number value <few.json >few.value && json_number value <grown.json >grown.value &&
                paste few.value grown.value | awk '{ if (!($2 > $1 + 50)) { print; exit 1 } }' || { echo "model $m, $k"; return 1; }
        done
    done
    quietly fit grow.csv -o short.agp --model svgp --inducing 25 --grow 5 --iters 3 && grep -qF 'the run ended with 15 of 25 inducing inputs' "$said/err" && grep -qF 'the first 5 inducing inputs were chosen by' "$said/err" && anygp info short.agp | grep -qF 'svgp, 15 inducing inputs' || return 1
    quietly fit grow.csv -o all.agp --model svgp --inducing 25 --grow 1 --fix all --batch 0 && anygp info all.agp | grep -qF 'svgp, 25 inducing inputs' # one step would do for 1 of them
}
a_growing_run_out_of_time_goes_on() {
    local m o=(--inducing 100000 --grow 1 --batch 50 --iters 100000000 --fix kernel,noise --time 0.3s --checkpoint 1h)
    for m in svgp svdgp-sga; do
        rm -f late.agp*
        quietly fit train.csv -o late.agp --model $m "${o[@]}" --step 0.02 && [ -s late.agp.checkpoint ] && quietly fit train.csv -o late.agp --model $m "${o[@]}" --step 0.02 --resume && anygp info late.agp | grep -q "$m, [0-9]* inducing" || return 1
    done
}

check inducing_inputs_join_a_run_and_help
check a_growing_run_out_of_time_goes_on
check every_model_fits_and_is_used
check rows_by_the_thousand_are_predicted_as_single_ones
check a_step_over_all_rows_is_the_batch_model
check a_mean_goes_with_the_first_set
check bounds_of_sets_lie_between_those_of_one
check targets_share_kernel_and_inducing_inputs
check runs_end_as_they_are_told
check resumed_runs_have_the_same_bits
check files_on_disk_give_the_same_model
check weights_count_rows
check new_rows_equal_a_fit_of_all
check small_and_odd_tables_fit
check sets_have_no_more_places_than_there_are_rows
check fixed_hyperparameters_do_not_end_a_run_early
check several_targets_all_have_a_say_in_the_start
check what_makes_no_sense_is_refused_or_noted
finish
