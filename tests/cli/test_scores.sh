# What a fit says of itself at its end: scores of every model, and whether they are better than the mean's.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 400 --inputs 2 -o train.csv
anygp simulate --rows 400 --inputs 2 --noise 4 -o noisy.csv
awk 'BEGIN { srand(1); print "x,y"; for (i = 0; i < 600; i++) print rand() "," rand() + rand() + rand() }' >chance.csv
awk 'BEGIN { srand(1); print "x,c"; for (i = 0; i < 600; i++) print rand() "," (rand() < 0.7 ? "a" : "b") }' >chance_classes.csv
awk -F, 'NR == 1 { print "x1,x2,c"; next } { print $1 "," $2 "," (NR == 50 ? "rare" : $1 > 0.5 ? "right" : "left") }' train.csv >rare.csv
head -n 31 train.csv >few.csv
few=(--inducing 12 --iters 5)
ends() { # PATTERN DATA OPTIONS...
    anygp fit "$2" -q -o m.agp "${@:3}" >"$said/out" 2>"$said/err" && grep -q "$1" "$said/out" || { cat "$said/out" "$said/err"; return 1; }
}
score_of() { anygp fit "$1" -q -o m.agp --json "${@:3}" 2>/dev/null | sed -n '/"valid"/,$p' | json_number "$2"; } # DATA NAME OPTIONS...

every_model_ends_with_a_score() {
    local m
    for m in sor fic pitc pic vfe pep vfe_tight svgp solve odvgp svdgp 'combine(dtc=0.5,fitc=0.5)' fitc+ pic+; do
        ends '^y, [0-9][0-9] rows held out: rmse [0-9.]*, mnlp' train.csv --model "$m" "${few[@]}" || { echo "model $m"; return 1; }
    done
    ends '^y, leave-one-out: rmse' train.csv --model exact --iters 2 && ends '^y, leave-one-out: rmse' train.csv --model sod --iters 2
}
targets_files_and_classes_have_scores() {
    awk -F, -v OFS=, '{ print $0, NR == 1 ? "z" : 2 * $3 }' train.csv >two.csv && anygp convert train.csv train.npy || return 1
    ends '^z, [0-9]* rows held out: rmse' two.csv --target y --target z --model vfe "${few[@]}" && grep -q '^y, [0-9]* rows held out' "$said/out" &&
        ends '^[0-9]* rows held out: rmse' train.npy --model fitc --memory 1M "${few[@]}" && ends '^c, [0-9]* rows held out: accuracy' chance_classes.csv --likelihood bernoulli "${few[@]}"
}
scores_are_in_the_model() {
    ends 'rows held out' train.csv --model vfe "${few[@]}" && anygp info m.agp | grep -q '^  validation  *rmse' && [ "$(anygp info m.agp --json | json_number rows)" -lt 400 ]
}
few_rows_are_scored_as_what_they_are() { ends '^y, 30 rows it was fitted on: rmse' few.csv --model vfe --inducing 5 && anygp info m.agp | grep -q '^  training rows  rmse'; }
nothing_is_held_out_on_request() {
    local none
    for none in 0 none; do ends '^wrote' train.csv --model vfe "${few[@]}" --valid $none && [ "$(wc -l <"$said/out")" = 1 ] && anygp info m.agp | grep -q '^  rows  *400' || return 1; done
}
a_class_is_not_lost_to_the_score() {
    local seed
    for seed in 0 1 2 3 4 5 6 7 8 9 10 11; do
        anygp fit rare.csv -q -o m.agp --likelihood softmax --inducing 5 --iters 1 --seed $seed >/dev/null && anygp info m.agp | grep -q 'classes  *3: ' || return 1
    done
}
a_fit_that_explains_nothing_is_told() {
    local m
    for m in exact vfe svgp fitc+; do ends . chance.csv --model $m --iters 20 && grep -q "warning: the fit explains next to nothing of the target 'y'" "$said/err" || { echo "model $m"; return 1; }; done
    ends . chance_classes.csv --likelihood bernoulli --inducing 10 --iters 20 && grep -q 'where the frequencies of the classes have' "$said/err"
}
a_fit_that_explains_something_is_not() { ends . train.csv --model vfe --inducing 40 && [ ! -s "$said/err" ] && ends . train.csv --model exact --iters 20 && [ ! -s "$said/err" ]; }
a_run_stopped_at_once_is_no_worse_than_the_mean() {
    local m steps
    anygp simulate --rows 5000 --inputs 2 --kernel 'matern52(variance=1,lengthscale=[0.3,0.5])' --noise 2 -o loud.csv || return 1
    for m in fitc pic; do
        for steps in 1 3; do score_of loud.csv smse --model $m+ --iters $steps --inducing 60 | awk '{ exit !($1 < 1) }' || { echo "$steps steps of $m+"; return 1; }; done
    done
}

text_is_no_number_to_score_against() {
    awk -F, -v OFS=, 'NR > 1 { $3 = NR % 2 ? "a" : "b" } 1' train.csv >text.csv && ends . train.csv --model vfe "${few[@]}" --valid text.csv &&
        grep -q "no validation scores: text.csv has no target column 'y' of numbers" "$said/err" && refuses "text.csv has no target column 'y' of numbers to score against" eval m.agp text.csv &&
        refuses "text.csv has no target column 'y' of numbers to learn from" update m.agp text.csv
}

# The held-out bound of a row is mell - KL / rows; files from before the KL was kept have neither.
bound_is_mell_less_the_kl_per_row() {
    local m
    for m in svgp vfe svdgp exact; do
        anygp fit train.csv -q -o m.agp --model $m --valid 0.2 --iters 5 --inducing 50 >/dev/null 2>&1 && anygp info m.agp --json >info && anygp eval m.agp noisy.csv --json >scores || return 1
        echo "$(json_number kl <info) $(json_number rows <info) $(json_number mell <scores) $(json_number bound <scores)" >numbers
        awk '{ gap = $3 - $1 / $2 - $4; exit !($1 > 0 && $2 > 300 && gap * gap < 1e-18 * $4 * $4) }' numbers || { echo "model $m"; cat numbers; return 1; }
        sed -n '/"valid"/,$p' info | grep -q '"bound":' || return 1
    done
}
update_has_a_kl_of_its_own() {
    ends . train.csv --model vfe "${few[@]}" && anygp update m.agp noisy.csv -o u.agp >/dev/null 2>&1 && anygp info m.agp --json | json_number kl >before && anygp info u.agp --json | json_number kl >after && [ -s after ] && ! cmp -s before after
}
files_without_a_kl_are_read() {
    local old=$here/../files
    awk -v OFS=, '{ print $0, NR == 1 ? "y" : NR % 3 }' "$old/rows.csv" >old.csv && anygp info "$old/schema1.agp" --json | grep -q '"kl": null' && anygp eval "$old/schema1.agp" old.csv >scores && grep -q '^mell' scores && ! grep -q '^bound' scores
}
models_without_a_kl_have_no_bound() { ends . train.csv --model pic "${few[@]}" && anygp info m.agp --json | grep -q '"kl": null' && anygp eval m.agp noisy.csv | awk '$1 == "bound" { exit 1 }'; }

for t in every_model_ends_with_a_score targets_files_and_classes_have_scores scores_are_in_the_model few_rows_are_scored_as_what_they_are nothing_is_held_out_on_request \
    a_class_is_not_lost_to_the_score a_fit_that_explains_nothing_is_told a_fit_that_explains_something_is_not a_run_stopped_at_once_is_no_worse_than_the_mean text_is_no_number_to_score_against \
    bound_is_mell_less_the_kl_per_row update_has_a_kl_of_its_own files_without_a_kl_are_read models_without_a_kl_have_no_bound; do check $t; done
finish
