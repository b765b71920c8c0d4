# The sparse models and their anytime variants: every command, limits in which they are another model, how they stop, and
# data and options that leave them nothing to work with.
. "$(dirname "$0")/lib.sh"
batch='sor dtc fitc fic pitc pic'
anytime='sor+ dtc+ fitc+ fic+ pitc+ pic+'
anygp simulate --rows 300 --inputs 2 -o all.csv
head -n 241 all.csv >train.csv
sed '2,241d' all.csv >test.csv
cut -d, -f1,2 train.csv >inputs.csv
fixed=(--valid 0 --fix all --kernel 'matern32(lengthscale=0.3)' --noise 0.05)

# A fit without learning, its predictions at other rows and its evidence: NAME.p and NAME.value.
fit_fixed() { # NAME OPTIONS...
    anygp fit train.csv -q -o "$1.agp" "${fixed[@]}" --json "${@:2}" >"$1.json" || return 1
    json_number value <"$1.json" >"$1.value" && anygp predict "$1.agp" test.csv >"$1.p"
}
same_model() { # NAME NAME TOLERANCE
    close "$1.value" "$2.value" "$3" && close "$1.p" "$2.p" "$3"
}
column() { cut -d, -f"$1" "$2"; }
# Root mean square error on test.csv.
error_of() { anygp eval "$1" test.csv --json | json_number rmse; }

# ------------------------------------------------------------------------------------ every command

every_model_fits_and_is_used() { # MODELS...
    local m
    for m in "$@"; do
        fits train.csv --model "$m" --inducing 25 --iters 8 || { echo "model $m"; return 1; }
        anygp info fits.agp | grep -q "model  *$m, 25 inducing inputs, rows in [0-9]* block" || { echo "info of $m"; return 1; }
        is_json <"$said/info" && grep -q "\"model\": \"$m\"" "$said/info" && [ "$(json_number inducing <"$said/info")" = 25 ] || { echo "json of $m"; return 1; }
        anygp eval fits.agp test.csv --json >e.json && finite e.json && awk -v e="$(json_number rmse <e.json)" 'BEGIN { exit !(e < 0.5) }' || { echo "eval of $m"; cat e.json; return 1; }
        anygp predict fits.agp test.csv --latent >l.csv && anygp predict fits.agp test.csv --samples 3 >s.csv && finite l.csv s.csv && [ "$(wc -l <s.csv)" = 61 ] || { echo "predict of $m"; return 1; }
    done
}
batch_models_fit_predict_and_are_described() { every_model_fits_and_is_used $batch; }
anytime_models_fit_predict_and_are_described() { every_model_fits_and_is_used $anytime; }
anytime_objective_is_called_an_estimate() {
    anygp fit train.csv -q -o a.agp --model dtc+ --inducing 20 --json | grep -q '"exact": false' && anygp info a.agp | tr -s ' \n' ' ' | grep -q 'a running estimate' &&
        anygp fit train.csv -q -o a.agp --model dtc --inducing 20 --iters 3 --json | grep -q '"exact": true'
}
other_places_for_inducing_inputs_and_blocks_work() {
    local how m
    for how in random kmeans greedy; do fits train.csv --model fitc --inducing 20 --select $how --iters 3 || return 1; done
    for m in pitc pic pic+; do
        for how in kmeans kdtree random; do fits train.csv --model $m --inducing 20 --blocks 6 --partition $how --iters 3 || { echo "$m $how"; return 1; }; done
    done
}
text_columns_keep_their_levels_as_inducing_inputs() {
    awk 'BEGIN { print "a,t,y"; for (i = 0; i < 90; i++) print i / 10 "," substr("uvw", i % 3 + 1, 1) "," sin(i / 10) + i % 3 }' >text.csv
    local m
    for m in dtc fitc pic fitc+ pic+; do fits text.csv --model $m --inducing 12 --select kmeans --iters 10 || { echo "model $m"; return 1; }; done
    awk 'BEGIN { print "t,y"; for (i = 0; i < 60; i++) print substr("uvw", i % 3 + 1, 1) "," i % 3 + i % 7 / 50 }' >levels.csv
    for m in dtc pic fitc+; do fits levels.csv --model $m --iters 10 && [ "$(json_number inducing <"$said/info")" = 3 ] || return 1; done
}
learned_inducing_inputs_raise_the_evidence() {
    anygp fit train.csv -q -o a.agp --model fitc --inducing 10 --json --iters 60 --prior none | json_number value >a.txt
    anygp fit train.csv -q -o b.agp --model fitc --inducing 10 --json --iters 60 --prior none --fix none | json_number value >b.txt
    paste a.txt b.txt | awk '{ print; exit !($2 > $1 + 1) }'
}
weights_count_rows() {
    awk -F, -v OFS=, 'NR == 1 { print $0, "w" } NR > 1 { print $0, NR % 3 + 1 }' train.csv >weighted.csv
    awk -F, 'NR == 1 { print } NR > 1 { for (k = 0; k <= NR % 3; k++) print }' train.csv >repeated.csv
    local m
    for m in dtc fitc; do
        anygp fit weighted.csv -q --weights w -o a.agp --model $m --inducing-from inputs.csv "${fixed[@]}" --standardize none --json | json_number value >a.value &&
            anygp fit repeated.csv -q -o b.agp --model $m --inducing-from inputs.csv "${fixed[@]}" --standardize none --json | json_number value >b.value && close a.value b.value 1e-7 || return 1
        anygp predict a.agp test.csv >a.p && anygp predict b.agp test.csv >b.p && close a.p b.p 1e-7 || return 1
    done
}
several_targets_are_several_models() { anygp fit train.csv -q -o t.agp --model pic --inducing 10 --iters 3 --target x1 --target y >/dev/null && anygp predict t.agp test.csv >t.p && finite t.p; }

# ------------------------------------------------------------------------------------------- limits

# K_uu = K and Q = K: nothing is lost.  sor has no variance besides that of u, so it is exact in the mean only.
inducing_inputs_at_all_rows_give_the_exact_model() {
    local m
    fit_fixed exact --model exact || return 1
    for m in $batch; do
        fit_fixed $m --model $m --inducing-from inputs.csv --jitter 1e-12 || return 1
        close exact.value $m.value 1e-7 || { echo "evidence of $m"; return 1; }
        column 1 exact.p >a && column 1 $m.p >b && close a b 1e-6 || { echo "mean of $m"; return 1; }
        [ $m = sor ] || close exact.p $m.p 1e-6 || { echo "variance of $m"; return 1; }
    done
}
pic_of_one_block_is_the_exact_model() { fit_fixed exact --model exact && fit_fixed one --model pic --inducing 15 --blocks 1 && same_model one exact 1e-7; }
pitc_of_blocks_of_one_row_is_fitc() {
    seq 240 >each.csv
    fit_fixed each --model pitc --inducing 15 --blocks-from each.csv && fit_fixed fitc --model fitc --inducing 15 && same_model each fitc 1e-9 &&
        fit_fixed each --model pitc --inducing 15 --blocks 240 --partition random && [ "$(json_number blocks <each.json)" = 240 ] && same_model each fitc 1e-9
}
fic_differs_from_fitc_in_joint_draws_only() {
    fit_fixed fic --model fic --inducing 15 && fit_fixed fitc --model fitc --inducing 15 && same_model fic fitc 1e-12 || return 1
    anygp predict fic.agp test.csv --samples 2 --latent >a.csv && anygp predict fitc.agp test.csv --samples 2 --latent >b.csv && ! close a.csv b.csv 1e-3 >/dev/null
}
sor_and_dtc_have_equal_means_and_sor_less_variance() {
    fit_fixed sor --model sor --inducing 15 && fit_fixed dtc --model dtc --inducing 15 && close sor.value dtc.value 1e-12 || return 1
    column 1 sor.p >a && column 1 dtc.p >b && close a b 1e-10 || return 1
    paste -d, sor.p dtc.p | awk -F, 'NR > 1 { if ($2 > $6 * (1 + 1e-9)) exit 1; if ($2 < $6) less++ } END { exit !(less > 50) }'
}
pitc_and_pic_have_one_evidence() { fit_fixed pitc --model pitc --inducing 15 --blocks 5 && fit_fixed pic --model pic --inducing 15 --blocks 5 && close pitc.value pic.value 1e-12; }

# ------------------------------------------------------------------------------------------ anytime

# Steps of size 1/t over an epoch without replacement are a mean over blocks.
one_epoch_is_the_batch_model() {
    local m
    for m in $batch; do
        fit_fixed batch --model $m --inducing 20 --blocks 8 --seed 3 && fit_fixed steps --model $m+ --inducing 20 --blocks 8 --seed 3 || return 1
        close batch.p steps.p 1e-6 || { echo "model $m"; return 1; }
        [ "$(json_number iterations <steps.json)" -ge 8 ] || return 1
    done
}
one_epoch_of_pairs_is_the_batch_model() {
    fit_fixed batch --model fitc --inducing 20 --blocks 8 && fit_fixed steps --model fitc+ --inducing 20 --blocks 8 --sample 2 && close batch.p steps.p 1e-6
}
one_step_over_all_blocks_is_the_batch_model() {
    fit_fixed batch --model pic --inducing 20 --blocks 5 && fit_fixed steps --model pic+ --inducing 20 --blocks 5 --sample 1000 --iters 1 && same_model batch steps 1e-8
}
draws_with_replacement_come_near() {
    fit_fixed batch --model dtc --inducing 20 --blocks 8 && fit_fixed steps --model dtc+ --inducing 20 --blocks 8 --replace --iters 4000 || return 1
    paste -d, batch.p steps.p | awk -F, 'NR > 1 { d = $1 - $5; s += d * d; v += $2 } END { print s, v; exit !(s < 0.02 * v) }'
}
steps_learn_nearly_as_well_as_batch() {
    anygp fit train.csv -q -o a.agp --model fitc --inducing 30 >/dev/null && anygp fit train.csv -q -o b.agp --model fitc+ --inducing 30 --blocks 6 >/dev/null || return 1
    awk -v a="$(error_of a.agp)" -v b="$(error_of b.agp)" 'BEGIN { print a, b; exit !(b < 1.15 * a) }'
}
learning_in_batch_before_the_steps_is_batch_learning() {
    anygp fit train.csv -q -o a.agp --model fitc --inducing 20 --blocks 6 --iters 12 >/dev/null && anygp fit train.csv -q -o b.agp --model fitc+ --learn batch --inducing 20 --blocks 6 --iters 12 >/dev/null || return 1
    anygp predict a.agp test.csv >a.p && anygp predict b.agp test.csv >b.p && close a.p b.p 1e-6
}
plain_gradient_steps_improve() {
    fit_fixed few --model dtc+ --optimizer sga --rho 1e-4 --inducing 20 --blocks 8 --iters 2 && fit_fixed many --model dtc+ --optimizer sga --rho 1e-4 --inducing 20 --blocks 8 --iters 800 || return 1
    awk -v a="$(error_of few.agp)" -v b="$(error_of many.agp)" 'BEGIN { print a, b; exit !(b < 0.9 * a) }'
}
# At the default sizes the printed step carries the mean away, and the bound far below that of the prior: it must end above it.
plain_gradient_steps_of_default_size_raise_the_bound() {
    local o=(--model dtc+ --optimizer sga --inducing 3 --blocks 8 --kernel 'rbf(variance=1,lengthscale=0.3)' --noise 0.01)
    fit_fixed first "${o[@]}" --iters 1 && fit_fixed last "${o[@]}" --iters 400 && paste first.value last.value | awk '{ if (!($2 > $1)) { print; exit 1 } }'
}
a_plain_gradient_that_cannot_move_is_a_warning() {
    anygp fit train.csv -o m.agp --model dtc+ --optimizer sga --inducing 40 --kernel 'rbf(variance=1,lengthscale=3)' --noise 0.01 --fix all --iters 20 2>&1 >/dev/null | grep -q 'warning: the model has hardly left its prior (by .* nats).*--optimizer natural'
}
same_seed_gives_the_same_bytes_and_another_seed_does_not() {
    local k
    for k in 1 1 2; do anygp fit train.csv -q -o s.agp --model pic+ --inducing 15 --blocks 6 --iters 60 --seed $k --threads 1 >/dev/null && anygp predict s.agp test.csv >s.$k.csv.new || return 1
        [ ! -e s.$k.csv ] || cmp s.$k.csv s.$k.csv.new || return 1
        mv s.$k.csv.new s.$k.csv
    done
    ! cmp -s s.1.csv s.2.csv
}

# --------------------------------------------------------------------------------------- trace, end

trace_of_steps_has_scores_on_the_rows_held_out() {
    anygp fit train.csv -q -o m.agp --model fitc+ --inducing 20 --blocks 6 --iters 80 --valid test.csv --trace t.csv >/dev/null && [ "$(head -n 1 t.csv)" = iteration,seconds,objective,rmse,mnlp,mell ] &&
        finite t.csv && awk -F, 'NR == 2 && $1 != 0 { exit 1 } # when the steps begin
                                 NR > 2 { if (NF != 6 || $1 <= last || $2 < before || $4 == "" || $5 == "" || $6 == "") exit 1; last = $1; before = $2; rmse = $4 }
                                 END { exit !(NR > 20 && last == 80 && rmse < 0.5) }' t.csv
}
trace_of_batch_has_a_row_per_iteration() {
    anygp fit train.csv -q -o m.agp --model pic --inducing 20 --iters 6 --trace t.csv >/dev/null && awk -F, 'NR > 1 && ($1 != NR - 1 || NF != 6 || $3 == "") { exit 1 } END { exit !(NR >= 4) }' t.csv
}
iterations_bound_the_steps() {
    anygp fit train.csv -q -o m.agp --model dtc+ --inducing 20 --iters 7 --json >m.json && [ "$(json_number iterations <m.json)" = 7 ] &&
        anygp fit train.csv -q -o m.agp --model dtc+ --inducing 20 --iters 0 --json >m.json && [ "$(json_number iterations <m.json)" = 1 ]
}
usable() { anygp info "$1" >/dev/null && anygp predict "$1" test.csv >"$said/p" && finite "$said/p" && [ "$(wc -l <"$said/p")" = 61 ]; }
time_limit_leaves_a_model() {
    local m
    for m in dtc pic dtc+ pic+; do
        anygp fit train.csv -o m.agp --model $m --inducing 30 --iters 100000000 --restarts 1000 --time 0.3s >"$said/out" && grep -q 'time limit reached' "$said/out" && usable m.agp || { echo "model $m"; return 1; }
        anygp fit train.csv -q -o m.agp --model $m --inducing 30 --time 0s >/dev/null && usable m.agp || { echo "$m without time"; return 1; }
    done
}
interrupt_leaves_a_model() {
    local m pid tries
    for m in pic dtc+; do
        rm -f i.agp
        "$ANYGP" fit train.csv -o i.agp --model $m --inducing 30 --iters 100000000 --restarts 1000 >"$said/out" 2>"$said/err" </dev/null &
        pid=$!
        for tries in $(seq 200); do grep -q '^SigCgt:.*[2367abef]$' /proc/$pid/status && break; sleep 0.05; done
        sleep 0.3
        kill -INT $pid
        wait $pid || { echo "status $? of $m"; cat "$said/err"; return 1; }
        grep -q 'stopped; wrote the best model so far' "$said/out" && usable i.agp || return 1
    done
}

# ------------------------------------------------------------------------------- wrong words, poor data

models_that_are_none_are_refused() {
    refuses "no model 'fict'.*did you mean 'fi.*The models are" fit train.csv -o m.agp --model fict && refuses "no model 'none\+'" fit train.csv -o m.agp --model none+ &&
        refuses 'sod has no anytime variant' fit train.csv -o m.agp --model sod+
}
bad_inducing_inputs_are_refused() {
    column 1 inputs.csv >narrow.csv
    : >empty.csv
    printf 'x1,x2\n' >head.csv
    sed '5s/.*/a,b/' inputs.csv >words.csv
    sed '5s/.*/,/' inputs.csv >holes.csv
    refuses "narrow.csv has no column 'x2'" fit train.csv -o m.agp --model dtc --inducing-from narrow.csv && refuses 'empty.csv is empty' fit train.csv -o m.agp --model dtc --inducing-from empty.csv &&
        refuses 'head.csv has no data rows' fit train.csv -o m.agp --model fitc+ --inducing-from head.csv && refuses "words.csv, line 5.*'a' is not a number" fit train.csv -o m.agp --model pic --inducing-from words.csv &&
        refuses 'input is missing' fit train.csv -o m.agp --model pic --inducing-from holes.csv && refuses 'gone.csv cannot be opened' fit train.csv -o m.agp --model dtc --inducing-from gone.csv
}
bad_blocks_are_refused() {
    seq 239 >short.csv
    seq 240 | sed '3s/.*/1.5/' >half.csv
    seq 240 | sed '3s/.*/a/' >word.csv
    seq 240 | sed '3s/.*/1e17/' >large.csv
    local m
    for m in pic fitc+; do
        refuses 'short.csv has 239 rows .* needs one column and 240 rows' fit train.csv -o m.agp --model $m --blocks-from short.csv && refuses 'row 3: 1.5 is not a block' fit train.csv -o m.agp --model $m --blocks-from half.csv &&
            refuses "'a' is not a number" fit train.csv -o m.agp --model $m --blocks-from word.csv && refuses 'row 3: 1e\+17 is not a block' fit train.csv -o m.agp --model $m --blocks-from large.csv &&
            refuses 'gone.csv cannot be opened' fit train.csv -o m.agp --model $m --blocks-from gone.csv || return 1
    done
}
bad_numbers_are_refused() {
    refuses 'sample: 0 is not' fit train.csv -o m.agp --model dtc+ --sample 0 && refuses 'rho: 0 is not' fit train.csv -o m.agp --model dtc+ --rho 0 && refuses 'blocks: 0 is not' fit train.csv -o m.agp --model pic --blocks 0 &&
        refuses "inducing: '0' is not" fit train.csv -o m.agp --model pic --inducing 0 && refuses 'noise 0 is fixed, but svgp needs noise' fit train.csv -o m.agp --model svgp --noise 0 --fix noise && refuses 'noise 0 is fixed, but dtc needs noise' fit train.csv -o m.agp --model dtc --noise 0 --fix noise &&
        refuses 'noise 0 is fixed, but pic needs noise' fit train.csv -o m.agp --model pic+ --noise 0 --fix all
}
memory_that_does_not_suffice_is_said() { refuses 'the dtc model of 240 rows needs .*--memory allows' fit train.csv -o m.agp --model dtc --memory 10k --valid 0; }
# Whatever the data: a model with finite numbers.
poor_data_give_a_model() {
    printf 'a,y\n1,2\n' >one.csv
    printf 'a,y\n1,2\n1,2\n' >twice.csv
    printf 'a,y\n1,2\n1,3\n' >differ.csv
    awk 'BEGIN { print "a,y"; for (i = 0; i < 40; i++) print i / 10 ",5" }' >target.csv
    awk 'BEGIN { print "a,b,y"; for (i = 0; i < 40; i++) print "1,2," sin(i) }' >inputs1.csv
    awk 'BEGIN { print "y"; for (i = 0; i < 40; i++) print sin(i) }' >none.csv
    local m data
    for m in $batch $anytime; do
        for data in one twice differ target inputs1 none; do fits $data.csv --model "$m" --iters 6 || { echo "$m on $data.csv"; return 1; }; done
    done
}
constant_target_is_a_warning() { anygp fit target.csv -o m.agp --model fitc --iters 3 2>&1 >/dev/null | grep -q 'warning: all targets are equal to 5'; }
more_inducing_inputs_than_rows_are_as_many_as_rows() {
    local m
    for m in dtc fitc pic dtc+ pic+; do fits test.csv --model $m --inducing 500 --iters 4 && [ "$(json_number inducing <"$said/info")" -le 60 ] && grep -q 'only [0-9]* different places' "$said/err" || { echo "model $m"; return 1; }; done
}
extreme_steps_give_a_model() {
    fits test.csv --model dtc+ --rho 1e12 --iters 100 && fits test.csv --model dtc+ --rho 1e-12 --iters 100 && fits test.csv --model dtc+ --optimizer sga --rho 1e12 --iters 30 &&
        fits test.csv --model fitc+ --step 10 --iters 150 --blocks 4 && fits test.csv --model fitc+ --kappa 0 --iters 30 --blocks 4 && fits test.csv --model pic+ --fix none --step 1 --iters 150 --blocks 4 &&
        fits test.csv --model dtc --noise 1e-300 --iters 5 && fits test.csv --model dtc+ --noise 1e-300 --fix all && fits test.csv --model fitc --jitter 0 --iters 5
}
kernels_of_low_rank_fit() { fits train.csv --model fitc --kernel linear --inducing 30 --iters 5 && fits train.csv --model pic+ --kernel 'constant + linear' --inducing 30 --iters 30; }
means_are_integrated_out() {
    local m
    for m in dtc pic fitc+; do fits train.csv --model $m --mean linear --inducing 20 --iters 5 || { echo "model $m"; return 1; }; done
    fit_fixed exact --model exact --mean linear && fit_fixed one --model pic --blocks 1 --inducing 15 --mean linear && same_model one exact 1e-6
}

check batch_models_fit_predict_and_are_described
check anytime_models_fit_predict_and_are_described
check anytime_objective_is_called_an_estimate
check other_places_for_inducing_inputs_and_blocks_work
check text_columns_keep_their_levels_as_inducing_inputs
check learned_inducing_inputs_raise_the_evidence
check weights_count_rows
check several_targets_are_several_models
check inducing_inputs_at_all_rows_give_the_exact_model
check pic_of_one_block_is_the_exact_model
check pitc_of_blocks_of_one_row_is_fitc
check fic_differs_from_fitc_in_joint_draws_only
check sor_and_dtc_have_equal_means_and_sor_less_variance
check pitc_and_pic_have_one_evidence
check one_epoch_is_the_batch_model
check one_epoch_of_pairs_is_the_batch_model
check one_step_over_all_blocks_is_the_batch_model
check draws_with_replacement_come_near
check steps_learn_nearly_as_well_as_batch
check learning_in_batch_before_the_steps_is_batch_learning
check plain_gradient_steps_improve
check plain_gradient_steps_of_default_size_raise_the_bound
check a_plain_gradient_that_cannot_move_is_a_warning
check same_seed_gives_the_same_bytes_and_another_seed_does_not
check trace_of_steps_has_scores_on_the_rows_held_out
check trace_of_batch_has_a_row_per_iteration
check iterations_bound_the_steps
check time_limit_leaves_a_model
check interrupt_leaves_a_model
check models_that_are_none_are_refused
check bad_inducing_inputs_are_refused
check bad_blocks_are_refused
check bad_numbers_are_refused
check memory_that_does_not_suffice_is_said
check poor_data_give_a_model
check constant_target_is_a_warning
check more_inducing_inputs_than_rows_are_as_many_as_rows
check extreme_steps_give_a_model
check kernels_of_low_rank_fit
check means_are_integrated_out
finish
