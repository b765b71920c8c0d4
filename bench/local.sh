#!/bin/bash
# Local models on kin40k and protein, folders of DATA: rmse, mnlp, the share of rows that 95 % intervals cover, seconds of the fit and of
# the predictions.  Accuracies mean something anywhere, times on a quiet machine only.
#   local.sh ANYGP DATA [OPTIONS...]     default: every model below; OPTIONS: those of one fit, such as --model vecchia
# The committees have one objective, the evidence of their experts: rbcm learns, and the others take its kernel and noise.
set -eu
anygp=$(realpath "$1") data=$(realpath "$2")
shift 2
export LC_ALL=C OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
iters=15

now() { date +%s.%N; }
line() { # SET NAME BEGAN FITTED
    "$anygp" eval f.agp "$data/$1/test.csv.gz" >scores
    awk -v set="$1" -v name="$2" -v fit="$(echo "$4 - $3" | bc)" -v predict="$(echo "$(now) - $4" | bc)" '
        { score[$1] = $2 }
        END { printf "%-8s %-34s rmse %-9s mnlp %-9s 95 %% cover %-7s fit %7.1f s   predict %7.1f s\n", set, name, score["rmse"], score["mnlp"], score["coverage95"], fit, predict }' scores
}
fit() { # SET NAME OPTIONS...
    local set=$1 name=$2 began fitted
    shift 2
    began=$(now)
    "$anygp" fit "$data/$set/train.csv.gz" -q -o f.agp --valid 0 "$@" >/dev/null
    fitted=$(now)
    line "$set" "$name" "$began" "$fitted"
}
committees() { # SET
    local model
    fit "$1" rbcm --model rbcm --iters $iters
    "$anygp" info f.agp --json >info.json
    given=(--fix all --kernel "$(python3 -c 'import json; m = json.load(open("info.json")); print(m.get("kernel") or m["targets"][0]["kernel"])')"
        --noise "$(python3 -c 'import json; m = json.load(open("info.json")); print(m.get("noise") or m["targets"][0]["noise"])')")
    for model in poe gpoe 'gpoe(beta=entropy)' 'gpoe(beta=uniform)' bcm 'rbcm --aggregate y' grbcm 'grbcm --communication 2000' 'npae --near 8' 'npae(levels=2)' npae; do
        # shellcheck disable=SC2086 # a model and its options
        fit "$1" "$model" --model $model "${given[@]}"
    done
}

for set in kin40k protein; do
    if [ $# -gt 0 ]; then
        fit "$set" "$*" "$@" # with all options
    else
        committees "$set"
        fit "$set" vecchia --model vecchia
    fi
done
