# Linear combinations of sparse models: what they equal, how they are named, what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 600 --inputs 2 -o train.csv
anygp simulate --rows 50 --inputs 2 --seed 5 -o new.csv
given=(--kernel 'matern52(variance=1,lengthscale=[0.3,0.4])' --noise 0.02 --inducing 25)

predictions() { # NAME MODEL OPTIONS...
    anygp fit train.csv -q -o "$1.agp" --model "$2" "${given[@]}" "${@:3}" >/dev/null && anygp predict "$1.agp" new.csv >"$1.csv"
}
each_model_alone_with_coefficient_one_is_that_model() {
    local model
    for model in sor dtc fitc fic pitc pic; do
        predictions a "combine($model=1)" && predictions b $model --fix all && close a.csv b.csv 1e-10 || { echo "$model"; return 1; }
        anygp info a.agp --json | json_number value >a.txt && anygp info b.agp --json | json_number value >b.txt && close a.txt b.txt 1e-12 || return 1
    done
}
one_step_with_all_blocks_is_the_batch_result() {
    predictions a 'combine(dtc=0.3,fitc=0.9,pitc=0.2)' --blocks 6 &&
        predictions b 'combine(dtc=0.3,fitc=0.9,pitc=0.2)+' --blocks 6 --sample 6 --rho 1 --iters 1 && close a.csv b.csv 1e-10
}
an_epoch_of_one_block_a_step_is_the_batch_result() {
    predictions b 'combine(dtc=0.3,fitc=0.9,pitc=0.2)+' --blocks 6 && close a.csv b.csv 1e-10
}
combination_lies_between_its_models() {
    predictions a dtc --fix all && predictions b 'combine(dtc=0.3,fitc=0.7)' && predictions c fitc --fix all || return 1
    paste -d, a.csv b.csv c.csv | awk -F, 'NR > 1 && !(($2 - $6) * ($10 - $6) <= 1e-12) { exit 1 }'
}
name_is_in_normal_form_and_survives_the_file() {
    anygp fit train.csv -q -o m.agp --model 'combine( fitc=0.70, dtc = .3 )+' "${given[@]}" >/dev/null &&
        anygp info m.agp | grep -qF 'combine(dtc=0.3,fitc=0.7)+, 25 inducing inputs' &&
        anygp info m.agp --json | grep -qF '"model": "combine(dtc=0.3,fitc=0.7)+"' && anygp info m.agp | grep -q 'combined bound' &&
        anygp eval m.agp new.csv >/dev/null
}
nothing_is_learned_and_one_note_says_so() {
    anygp fit train.csv -o m.agp --model 'combine(dtc=0.3,fitc=0.7)' --kernel rbf --inducing 25 >/dev/null 2>"$said/err" &&
        [ "$(grep -c 'learns nothing' "$said/err")" = 1 ] && anygp predict m.agp new.csv >a.csv && finite a.csv || return 1
    anygp fit train.csv -o m.agp --model 'combine(dtc=0.3,fitc=0.7)' "${given[@]}" >/dev/null 2>"$said/err" && ! grep -q 'learns nothing' "$said/err"
}
several_targets_and_validation_work() {
    awk -F, 'NR == 1 { print $0 ",z"; next } { print $0 "," $1 }' train.csv >two.csv
    anygp fit two.csv -q -o m.agp --target y --target z --model 'combine(dtc=1,pitc=0.5)+' "${given[@]}" --valid 0.1 --json | is_json && anygp predict m.agp two.csv >a.csv && finite a.csv
}
what_cannot_be_combined_is_refused() {
    refuses 'dtc and fic cannot be combined' fit train.csv -o no.agp --model 'combine(dtc=1,fic=1)' &&
        refuses 'named twice' fit train.csv -o no.agp --model 'combine(dtc=1,dtc=1)' &&
        refuses "'exact' cannot be part" fit train.csv -o no.agp --model 'combine(exact=1)' &&
        refuses 'is not a combination' fit train.csv -o no.agp --model 'combine(dtc=1;fitc=1)' &&
        refuses 'not positive definite' fit train.csv -o no.agp --model 'combine(dtc=-1)' "${given[@]}" &&
        refuses 'not positive definite' fit train.csv -o no.agp --model 'combine(dtc=-1)+' "${given[@]}"
}

check each_model_alone_with_coefficient_one_is_that_model
check one_step_with_all_blocks_is_the_batch_result
check an_epoch_of_one_block_a_step_is_the_batch_result
check combination_lies_between_its_models
check name_is_in_normal_form_and_survives_the_file
check nothing_is_learned_and_one_note_says_so
check several_targets_and_validation_work
check what_cannot_be_combined_is_refused
finish
