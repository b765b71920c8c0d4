# Collapsed variational bounds: every command, what they equal, how bounds lie around the evidence, sets of inducing inputs.
. "$(dirname "$0")/lib.sh"
models='vfe pep vfe_tight solve_collapsed odvgp_collapsed'
anygp simulate --rows 300 --inputs 2 -o all.csv
head -n 241 all.csv >train.csv
sed '2,241d' all.csv >test.csv
cut -d, -f1,2 train.csv >inputs.csv
head -n 21 inputs.csv >first.csv
sed -n '1p;22,31p' inputs.csv >second.csv
(cat first.csv && sed 1d second.csv) >both.csv
fixed=(--valid 0 --fix all --kernel 'matern32(variance=1,lengthscale=0.3)' --noise 0.05 --prior none)

# A fit without learning, its predictions at other rows and its objective: NAME.p and NAME.value.
fit_fixed() { # NAME OPTIONS...
    anygp fit train.csv -q -o "$1.agp" "${fixed[@]}" --json "${@:2}" >"$1.json" || return 1
    json_number value <"$1.json" >"$1.value" && anygp predict "$1.agp" test.csv >"$1.p"
}
quietly() { "$ANYGP" "$@" >"$said/out" 2>"$said/err" </dev/null || { cat "$said/err"; return 1; }; }
same_model() { close "$1.value" "$2.value" "$3" && close "$1.p" "$2.p" "$3"; } # NAME NAME TOLERANCE
# Numbers in the files named rise by more than rounding.
rising() { cat "$@" | awk 'NR > 1 && !($1 > last) { print last, $1; exit 1 } { last = $1 }'; }

every_model_fits_and_is_used() {
    local m
    for m in $models vfe+ pep+ 'pep(alpha=0.3)' 'pep(alpha=0.3)+'; do
        fits train.csv --model "$m" --inducing 24 --iters 8 || { echo "model $m"; return 1; }
        anygp info fits.agp | grep -qF "$m, 24 inducing inputs" || { echo "info of $m"; return 1; }
        anygp eval fits.agp test.csv --json >e.json && finite e.json && awk -v e="$(json_number rmse <e.json)" 'BEGIN { exit !(e < 0.5) }' || { echo "eval of $m"; cat e.json; return 1; }
        anygp predict fits.agp test.csv --samples 3 >s.csv && finite s.csv && [ "$(wc -l <s.csv)" = 61 ] || { echo "predict of $m"; return 1; }
    done
}
inducing_inputs_are_learned_unless_they_are_fixed() {
    local m
    for m in vfe pep vfe_tight 'pep(alpha=0.2)'; do
        anygp fit train.csv -q -o a.agp --model "$m" --inducing 10 --prior none --fix inducing --json | json_number value >a.txt &&
            anygp fit train.csv -q -o b.agp --model "$m" --inducing 10 --prior none --json | json_number value >b.txt || return 1
        paste a.txt b.txt | awk '{ print; exit !($2 > $1 + 1) }' || { echo "model $m"; return 1; }
    done
}
objective_never_falls() {
    local m
    for m in $models; do
        anygp fit train.csv -q -o a.agp --model $m --inducing 12 --prior none --iters 60 --trace t.csv >/dev/null || return 1
        awk -F, 'NR > 2 && $3 < last { print; exit 1 } NR > 1 { last = $3 }' t.csv || { echo "model $m"; return 1; }
    done
}
text_columns_keep_their_levels() {
    awk 'BEGIN { print "a,t,y"; for (i = 0; i < 90; i++) print i / 10 "," substr("uvw", i % 3 + 1, 1) "," sin(i / 10) + i % 3 }' >text.csv
    local m
    for m in vfe pep solve_collapsed; do fits text.csv --model $m --inducing 12 --iters 30 && anygp eval fits.agp text.csv --json | json_number rmse | awk '{ print; exit !($1 < 0.2) }' || { echo "model $m"; return 1; }; done
}
ends_of_pep_are_vfe_and_fitc() {
    fit_fixed vfe --model vfe --inducing 15 && fit_fixed zero --model 'pep(alpha=0)' --inducing 15 && same_model vfe zero 1e-12 &&
        fit_fixed fitc --model fitc --inducing 15 && fit_fixed one --model 'pep(1)' --inducing 15 && same_model fitc one 1e-12 &&
        fit_fixed half --model 'pep(alpha=.5)' --inducing 15 && fit_fixed pep --model pep --inducing 15 && same_model half pep 1e-12 &&
        rising vfe.value half.value fitc.value && anygp info half.agp | grep -qF 'pep(alpha=0.5), 15 inducing'
}
vfe_predicts_as_dtc() { fit_fixed vfe --model vfe --inducing 15 && fit_fixed dtc --model dtc --inducing 15 && close vfe.p dtc.p 1e-12; }
one_epoch_of_steps_is_the_batch_model() {
    local m
    for m in vfe pep; do fit_fixed batch --model $m --inducing 20 --blocks 8 && fit_fixed steps --model $m+ --inducing 20 --blocks 8 && close batch.p steps.p 1e-6 || { echo "model $m"; return 1; }; done
}
inducing_inputs_at_all_rows_give_the_exact_model() {
    local m
    fit_fixed exact --model exact || return 1
    for m in $models; do
        fit_fixed $m --model $m --inducing-from inputs.csv --inducing 240 --jitter 1e-12 || return 1
        case $m in *_collapsed) continue ;; esac
        same_model exact $m 1e-6 || { echo "model $m"; return 1; }
    done
}
bounds_lie_in_their_order_around_the_evidence() {
    fit_fixed exact --model exact && fit_fixed first --model vfe --inducing-from first.csv && fit_fixed odvgp --model odvgp_collapsed --inducing-from both.csv --inducing 20+10 &&
        fit_fixed solve --model solve_collapsed --inducing-from both.csv --inducing 20+10 && fit_fixed both --model vfe --inducing-from both.csv &&
        fit_fixed tight --model vfe_tight --inducing-from both.csv && json_number upper <both.json >upper.value &&
        rising first.value odvgp.value solve.value both.value tight.value exact.value upper.value || return 1
    json_number tighter <both.json >a && close a tight.value 1e-9 && json_number upper <solve.json >b && close b upper.value 1e-9
}
info_says_how_far_the_evidence_can_be() {
    fit_fixed vfe --model vfe --inducing 15 && anygp info vfe.agp | grep -q 'log evidence  *between -*[0-9.]* and -*[0-9.]* at these parameters' &&
        anygp info vfe.agp --json | json_number upper >a && json_number upper <vfe.json >b && cmp a b || return 1
    fit_fixed pep --model pep --inducing 15 && ! anygp info pep.agp | grep -q 'log evidence  *between' && anygp info pep.agp --json | grep -q '"upper": null'
}
one_set_is_vfe_and_more_sets_change_the_variance_alone() {
    fit_fixed vfe --model vfe --inducing-from both.csv && fit_fixed one --model solve_collapsed --inducing-from both.csv --inducing 30+1 && same_model vfe one 1e-9 || return 1
    fit_fixed solve --model solve_collapsed --inducing-from both.csv --inducing 1e1+10+10 && fit_fixed less --model solve_collapsed --inducing-from both.csv --inducing 10+10+2 && same_model less solve 1e-12 || return 1
    cut -d, -f1 vfe.p >a && cut -d, -f1 solve.p >b && close a b 1e-9 && ! close vfe.p solve.p 1e-6 >/dev/null
}
new_rows_can_be_added() {
    local m
    (head -n 1 train.csv && sed -n '202,241p' train.csv) >more.csv
    for m in vfe 'pep(alpha=0.3)' solve_collapsed odvgp_collapsed; do
        anygp fit train.csv -q -o all.agp --model "$m" --inducing-from both.csv "${fixed[@]}" --standardize none --json | json_number value >a.value &&
            head -n 201 train.csv >some.csv && anygp fit some.csv -q -o some.agp --model "$m" --inducing-from both.csv "${fixed[@]}" --standardize none >/dev/null && anygp update some.agp more.csv -q -o new.agp >/dev/null &&
            anygp info new.agp --json | json_number value >b.value && close a.value b.value 1e-8 || { echo "value of $m"; return 1; }
        anygp predict all.agp test.csv >a.p && anygp predict new.agp test.csv >b.p && close a.p b.p 1e-7 || { echo "model $m"; return 1; }
    done
    anygp info all.agp --json | json_number upper >a && anygp info new.agp --json | json_number upper >b && close a b 1e-7
}
memory_does_not_grow_with_the_rows() {
    anygp simulate --rows 60000 --inputs 2 -o long.npy && anygp fit long.npy -q -o a.agp --model vfe --inducing 32 --iters 2 --memory 20M --valid 0 >/dev/null && anygp info a.agp | grep -q '60000 rows'
}
two_targets() { awk -F, -v OFS=, '{ print $0, (NR == 1 ? "z" : 5 - 30 * $3 * $1) }' train.csv >two.csv && pair=(--target y --target z); }
targets_share_kernel_and_inducing_inputs() {
    two_targets
    quietly fit two.csv -o two.agp "${pair[@]}" --model vfe --inducing 20 --iters 10 && anygp info two.agp | sed -n 's/.*lengthscale/lengthscale/p' | sort | uniq -c | grep -q '^ *2 ' || return 1
    awk -F, -v OFS=, '{ print $0, (NR == 1 ? "z" : 5 - 3 * $3) }' train.csv >two.csv
    quietly fit two.csv -o two.agp --model vfe --inducing 20 --iters 40 "${pair[@]}" || return 1
    anygp predict two.agp inputs.csv >p.csv && head -n 1 p.csv | grep -qx y_mean,y_variance,y_lo95,y_hi95,z_mean,z_variance,z_lo95,z_hi95 || return 1
    awk -F, 'NR > 1 { d = $5 - (5 - 3 * $1); if (d * d > 1e-8) { print; exit 1 } }' p.csv || return 1 # the same function, in other units
    [ "$(anygp info two.agp | grep -c 'log evidence  *between')" = 2 ] && anygp eval two.agp two.csv --json >e.json && finite e.json
}
targets_at_given_values_are_those_of_models_apart() {
    local t c how
    two_targets
    for how in none both; do # model units that are the same for both, and that are not
        anygp fit two.csv -q -o two.agp "${pair[@]}" --model vfe --inducing-from both.csv "${fixed[@]}" --standardize $how --json >two.json && anygp predict two.agp inputs.csv >two.p || return 1
        for t in y z; do
            [ $t = y ] && c=3 || c=4
            cut -d, -f1,2,$c two.csv >one.csv && anygp fit one.csv -q -o one.agp --model vfe --inducing-from both.csv "${fixed[@]}" --standardize $how --json >one.json && anygp predict one.agp inputs.csv >a || return 1
            cut -d, -f$((4 * c - 11))-$((4 * c - 8)) two.p >b && close a b 1e-9 || { echo "$how, predictions of $t"; return 1; }
            for key in value tighter upper; do grep "\"$key\"" two.json | sed -n "$((c - 1))p" | json_number $key >b && json_number $key <one.json >a && close a b 1e-9 || { echo "$how, $key of $t"; return 1; }; done
        done
    done
}
noise_that_is_given_is_in_the_units_of_each_target() {
    two_targets
    quietly fit two.csv -o two.agp "${pair[@]}" --model vfe --inducing 12 --iters 5 --noise 0.3 --fix noise && [ "$(anygp info two.agp | grep -c 'noise  *variance 0.3 ')" = 2 ]
}
targets_come_from_disk_weights_count_and_new_rows_can_be_added() {
    two_targets
    sed 1d two.csv >plain.csv && anygp convert plain.csv two.npy && sed 1d inputs.csv >x.csv || return 1
    quietly fit two.npy -o disk.agp --target 2 --target 3 --model vfe --inducing 12 --iters 15 --memory 1M && quietly fit two.npy -o table.agp --target 2 --target 3 --model vfe --inducing 12 --iters 15 || return 1
    anygp predict disk.agp x.csv >a && anygp predict table.agp x.csv >b && close a b 1e-9 || { echo disk; return 1; }
    awk -F, -v OFS=, '{ print $0, (NR == 1 ? "w" : 1 + NR % 3) }' two.csv >weighted.csv
    awk -F, 'NR == 1 { print; next } { for (k = 0; k <= NR % 3; k++) print }' two.csv >repeated.csv
    local o=(-q "${pair[@]}" "${fixed[@]}" --standardize none --inducing-from both.csv --model vfe)
    anygp fit weighted.csv -o w.agp --weights w "${o[@]}" >/dev/null && anygp fit repeated.csv -o r.agp "${o[@]}" >/dev/null && anygp predict w.agp inputs.csv >a && anygp predict r.agp inputs.csv >b && close a b 1e-8 || { echo weights; return 1; }
    head -n 201 two.csv >some.csv && (head -n 1 two.csv && sed '1,201d' two.csv) >more.csv
    anygp fit two.csv -o all.agp "${o[@]}" >/dev/null && anygp fit some.csv -o new.agp "${o[@]}" >/dev/null && anygp update new.agp more.csv -q >/dev/null && anygp predict all.agp inputs.csv >a && anygp predict new.agp inputs.csv >b && close a b 1e-7 || { echo update; return 1; }
}
runs_of_two_targets_are_resumed_with_the_same_bits() {
    two_targets
    local o=(two.csv "${pair[@]}" --model vfe --inducing 16 --iters 60 --threads 1)
    rm -f r.agp*
    quietly fit "${o[@]}" -o alone.agp || return 1
    "$ANYGP" fit "${o[@]}" -o r.agp --checkpoint 0s >"$said/out" 2>"$said/err" &
    while kill -0 $! 2>/dev/null && [ ! -e r.agp ]; do sleep 0.01; done
    { kill -KILL $! && wait $!; } 2>/dev/null
    [ -e r.agp.checkpoint ] && [ ! -e r.agp.checkpoint-1 ] && anygp predict r.agp inputs.csv >a && finite a && head -n 1 a | grep -q z_mean && quietly fit "${o[@]}" -o r.agp --resume || return 1
    anygp predict r.agp inputs.csv >a && anygp predict alone.agp inputs.csv >b && cmp a b
}
inducing_inputs_grow_for_two_targets() {
    two_targets
    anygp fit two.csv "${pair[@]}" -o g.agp --model vfe --inducing auto --iters 10 --valid 0.2 >"$said/out" 2>"$said/err" && grep -q 'inducing auto: it stops at' "$said/err" && grep -q '^z, validation: rmse' "$said/out" "$said/err" || return 1
    sed -n 's/.*inputs, objective \([^ ]*\) per row.*/\1/p' "$said/err" | tail -n 1 >a # what decides is the bound per row and target
    anygp info g.agp | awk '$1 == "objective" { sum += $4; rows += $6 } END { printf "%.4g\n", sum / rows }' >b && close a b 2e-3
}
what_makes_no_sense_is_refused() {
    refuses 'is not a whole number such as 512' fit train.csv -o no.agp --model solve_collapsed --inducing 8+ &&
        refuses 'is not a whole number such as 512' fit train.csv -o no.agp --model solve_collapsed --inducing 8+0 &&
        refuses 'vfe has one set of inducing inputs' fit train.csv -o no.agp --model vfe --inducing 8+8 &&
        refuses 'is not of the form pep.alpha=0.5.' fit train.csv -o no.agp --model 'pep(alpha)' &&
        refuses 'from 0 .vfe. to 1 .fitc.' fit train.csv -o no.agp --model 'pep(alpha=2)' &&
        refuses 'has no anytime variant' fit train.csv -o no.agp --model solve_collapsed+ &&
        refuses "'solve_collapsed' cannot be part" fit train.csv -o no.agp --model 'combine(solve_collapsed=1)' &&
        refuses "'vfe_tight' cannot be part" fit train.csv -o no.agp --model 'combine(vfe_tight=1)'
}

check every_model_fits_and_is_used
check inducing_inputs_are_learned_unless_they_are_fixed
check objective_never_falls
check text_columns_keep_their_levels
check ends_of_pep_are_vfe_and_fitc
check vfe_predicts_as_dtc
check one_epoch_of_steps_is_the_batch_model
check inducing_inputs_at_all_rows_give_the_exact_model
check bounds_lie_in_their_order_around_the_evidence
check info_says_how_far_the_evidence_can_be
check one_set_is_vfe_and_more_sets_change_the_variance_alone
check new_rows_can_be_added
check memory_does_not_grow_with_the_rows
check targets_share_kernel_and_inducing_inputs
check targets_at_given_values_are_those_of_models_apart
check noise_that_is_given_is_in_the_units_of_each_target
check targets_come_from_disk_weights_count_and_new_rows_can_be_added
check runs_of_two_targets_are_resumed_with_the_same_bits
check inducing_inputs_grow_for_two_targets
check what_makes_no_sense_is_refused
finish
