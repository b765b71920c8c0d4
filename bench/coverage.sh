#!/bin/bash
# Shares of test rows within the 50, 80, 90, 95 and 99 % intervals of every local model on every data set, folders of DATA, as fitted and with
# --calibrate loo.  Some of the rows, so that a run takes half an hour; shares mean something anywhere, and there are no times here.
#   coverage.sh ANYGP DATA [ROWS [TEST [SETS [MODELS]]]]     default: 10000 rows to learn from, 3000 to predict; SETS and MODELS: lists of
#                                                            words that name some of them, "npae" or "rbcm nle"
# The committees have one objective, the evidence of their experts: rbcm learns, and the others take its kernel and noise.
set -eu
anygp=$(realpath "$1") data=$(realpath "$2") rows=${3:-10000} test=${4:-3000}
sets=${5:-kin40k protein elevators flights flights3m coads_slp etopo5 heaton_simulated energy concrete jura sound co2} models=${6:-}
export LC_ALL=C OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

table() { # FILE: of jura the places, the two categories and one of the metals
    if [[ $1 == */jura/* ]]; then gzip -cd "$1" | cut -d, -f1-5; else gzip -cd "$1"; fi
}
some() { # FILE ROWS: the header and so many rows at random, always the same
    table "$1" | awk -v want="$2" -v all="$(gzip -cd "$1" | wc -l)" 'BEGIN { srand(1); left = all - 1 } NR == 1 { print; next } { if (rand() * left < want) { print; want-- } left-- }'
}
scores() { # LABEL
    "$anygp" eval f.agp test.csv >scores
    awk -v label="$1" '{ score[$1] = $2 }
        END { printf "| %s | %.4g | %.3f |", label, score["rmse"], score["mnlp"]; split("50 80 90 95 99", c, " "); for (i = 1; i <= 5; i++) printf " %.1f |", 100 * score["coverage" c[i]]; print "" }' scores
}
fit() { # NAME OPTIONS...
    local name=$1
    shift
    [[ -z $models || " $models " == *" ${name%% *} "* || $name == "$learner" ]] || return 0
    "$anygp" fit train.csv -q -o f.agp --valid 0 "$@" >/dev/null 2>err || { echo "| $name | $(head -n 1 err) |" && return; }
    [[ -z $models || " $models " == *" ${name%% *} "* ]] || return 0 # it learned for others
    scores "$name"
    "$anygp" fit train.csv -q -o f.agp --valid 0 "$@" --calibrate loo >/dev/null 2>err || return 0 # has no leave-one-out
    scores "$name, calibrated"
}
learned() { # the options of a fit that takes over the hyperparameters of f.agp
    "$anygp" info f.agp --json | python3 -c 'import json, sys; t = json.load(sys.stdin); t = t if "kernel" in t else t["targets"][0]; print(t["kernel"] + "\n" + repr(t["noise"]))' >given
    given=(--fix all --kernel "$(sed -n 1p given)" --noise "$(sed -n 2p given)")
}

for set in $sets; do
    some "$data/$set/train.csv.gz" "$rows" >train.csv
    some "$data/$set/test.csv.gz" "$test" >test.csv
    printf '\n%s\n\n| | rmse | mnlp | 50 %% | 80 %% | 90 %% | 95 %% | 99 %% |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n' "$set"
    learner=vecchia
    fit vecchia --model vecchia
    learned
    fit nene --model nene "${given[@]}"
    fit lagp --model lagp "${given[@]}"
    fit vnngp --model vnngp "${given[@]}"
    learner=rbcm
    fit rbcm --model rbcm --iters 15
    learned
    for model in nle poe gpoe bcm grbcm 'npae --near 8'; do
        # shellcheck disable=SC2086 # a model and its options
        fit "$model" --model $model "${given[@]}"
    done
    learner=
    fit pic --model pic --inducing 200 --iters 15
    fit 'lma(order=2)' --model 'lma(order=2)' --inducing 200 --iters 15
    fit hier --model hier --inducing 200 --iters 15
    fit tree --model tree --iters 15
    case $set in coads_slp | heaton_simulated | sound | etopo5 | co2) fit patchwork --model patchwork --iters 15 ;; esac
    fit moe --model moe --iters 500
done
