# Committees of experts: every command, their options, and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 300 --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.3)' --noise 0.02 -o all.csv
head -n 241 all.csv >train.csv
sed '2,241d' all.csv >test.csv
fixed=(--valid 0 --fix all --kernel 'matern32(variance=1,lengthscale=0.3)' --noise 0.02)
models=(poe gpoe 'gpoe(beta=entropy)' 'gpoe(beta=uniform)' bcm rbcm grbcm npae 'npae(levels=2)')

score() { anygp eval "$1.agp" test.csv --json | json_number "$2"; }
given() { anygp fit train.csv -q -o "$1.agp" --model "$2" "${fixed[@]}" "${@:3}" >/dev/null; }

every_committee_fits_and_predicts() {
    local model
    for model in "${models[@]}"; do
        fits train.csv --model "$model" --blocks 4 --iters 2 && anygp info fits.agp | grep -qF "$model, " || return 1
    done
}
one_expert_is_exact() {
    given e exact
    for model in poe grbcm npae; do # the others: test_experts.c
        given m $model --blocks 1
        awk -v a="$(score m mnlp)" -v b="$(score e mnlp)" 'BEGIN { print a, b; exit !((a - b) ^ 2 < 1e-10) }' || return 1
    done
}
# Parts at random overlap everywhere: independence is then most wrong.
covariances_make_honest_intervals() {
    given r rbcm --blocks 8 --partition random && given n npae --blocks 8 --partition random && given g grbcm --blocks 8 --partition random --communication 100
    awk -v r="$(score r mnlp)" -v n="$(score n mnlp)" -v g="$(score g mnlp)" 'BEGIN { print r, n, g; exit !(n < r && g < r) }'
}
parts_are_further_columns() {
    given m rbcm --blocks 3 && anygp predict m.agp test.csv >plain.csv && anygp predict m.agp test.csv --parts >parts.csv || return 1
    cut -d, -f1-4 parts.csv | cmp - plain.csv && head -n 1 parts.csv | grep -q '^mean,variance,lo95,hi95,mean_expert1,sd_expert1,weight_expert1,.*,weight_expert3$' && finite parts.csv
}
parts_of_other_models_are_refused() {
    given e exact && refuses 'parts: a model of the kind exact has no experts; those that have are .*rbcm' predict e.agp test.csv --parts &&
        given m rbcm --blocks 3 && refuses 'parts: draws' predict m.agp test.csv --parts --samples 2
}
a_mistake_in_an_expression_is_pointed_at() {
    refuses "unknown weights 'norn' at character" fit train.csv -o m.agp --model 'gpoe(beta=norn)' && refuses '3 is not a number of levels' fit train.csv -o m.agp --model 'npae(levels=3)' &&
        refuses 'beta is given twice' fit train.csv -o m.agp --model 'gpoe(norm,norm)'
}

only_bcm_and_npae_have_draws() {
    local model
    for model in bcm npae; do
        given m $model --blocks 4 && anygp predict m.agp test.csv --samples 3 >s.csv && finite s.csv && [ "$(wc -l <s.csv)" = 61 ] || return 1
    done
    for model in gpoe grbcm; do given m $model --blocks 4 && refuses "a model of the kind $model has no joint distribution" predict m.agp test.csv --samples 3 || return 1; done
}
# New rows help where they are; far away they open an expert.  What is written predicts the same.
new_rows_join_experts() {
    local model before
    awk 'NR == 1 { print } NR > 1 && NR < 20 { split($0, c, ","); printf "%g,%g,%g\n", 50 + 0.2 * c[1], 0.2 * c[2], 2 }' train.csv >far.csv
    for model in rbcm grbcm; do # the others: test_committee.c
        head -n 121 train.csv >half.csv && sed '2,121d' train.csv >later.csv
        anygp fit half.csv -q -o m.agp --model $model --blocks 4 "${fixed[@]}" >/dev/null && before=$(score m rmse) && anygp update m.agp later.csv >/dev/null || return 1
        awk -v a="$before" -v b="$(score m rmse)" 'BEGIN { print a, b; exit !(b < a) }' && anygp info m.agp | grep -q "$model, 240 rows in the posterior, in 4 blocks" || return 1
        anygp update m.agp far.csv >/dev/null && anygp info m.agp | grep -q "$model, 258 rows in the posterior, in 5 blocks" || return 1
        anygp predict m.agp far.csv | awk -F, 'NR > 1 && ($1 - 2) ^ 2 > 0.25 { print; bad = 1 } END { exit bad }' || return 1
    done
    refuses 'blocks-from: a committee finds the experts of new rows by itself' update m.agp far.csv -o n.agp --blocks-from <(seq 18)
}
small_and_equal_rows_fit() { # what is too small: test_local_models.sh
    local model
    head -n 3 train.csv >two.csv && head -n 31 train.csv >few.csv && seq 30 | awk '{ print int($1 / 2) % 15 }' >pairs.txt && awk 'NR == 1 { print } NR > 1 { print; print }' few.csv >twice.csv && awk -F, 'NR < 21 { print NR == 1 ? $0 : "1," NR % 2 "," $3 }' train.csv >equal.csv
    for model in gpoe grbcm npae; do
        fits two.csv --model "$model" --valid 0 && fits few.csv --model "$model" --blocks-from pairs.txt --valid 0 --iters 2 && fits twice.csv --model "$model" --blocks 3 --iters 2 && fits equal.csv --model "$model" --blocks 3 --iters 2 || return 1
    done
}
what_cannot_be_is_refused() {
    local model
    for model in gpoe npae; do
        refuses 'gaussian targets only' fit train.csv -o m.agp --model "$model" --likelihood studentt && refuses 'noise 0 is fixed' fit train.csv -o m.agp --model "$model" --noise 0 --fix noise || return 1
    done
    refuses 'communication: 400 rows are more than the 240 there are' fit train.csv -o m.agp --model grbcm --communication 400 --valid 0 &&
        refuses 'the grbcm model of 240 rows needs .* use --blocks [0-9]*' fit train.csv -o m.agp --model grbcm --blocks 1 --memory 500K --valid 0
}

a_committee_too_sure_of_itself_is_calibrated() { # poe, with 8 parts that all have an opinion
    anygp fit train.csv -q -o p.agp --model poe --partition random --blocks 8 "${fixed[@]}" >out && grep -q 'leave-one-out' out && given c poe --partition random --blocks 8 --calibrate loo || return 1
    awk -v p="$(score p mnlp)" -v c="$(score c mnlp)" 'BEGIN { print p, c; exit !(c < p - 0.1) }' &&
        anygp fit train.csv -q -o n.agp --model npae --partition random --blocks 8 "${fixed[@]}" --calibrate loo >out && grep -q 'leave-one-out' out && anygp info n.agp | grep -q calibrat &&
        refuses 'calibrate: lagp has no leave-one-out' fit train.csv -o n.agp --model lagp --calibrate loo
}

check every_committee_fits_and_predicts
check a_committee_too_sure_of_itself_is_calibrated
check one_expert_is_exact
check covariances_make_honest_intervals
check parts_are_further_columns
check parts_of_other_models_are_refused
check a_mistake_in_an_expression_is_pointed_at
check only_bcm_and_npae_have_draws
check new_rows_join_experts
check small_and_equal_rows_fit
check what_cannot_be_is_refused
finish
