#!/bin/bash
# Every local model on fixed splits, folders of DATA, beside sparse models at equal time: rmse, mnlp, the share of test rows in 95 % intervals,
# and processor seconds of the fit and of the predictions, as rows of a table.  One thread each, one after the other: processor seconds
# hardly depend on what else the machine does.  Accuracies mean something anywhere.
#   local_models.sh ANYGP DATA [SET...]     default: kin40k protein elevators flights
# LIMIT (60s) in the environment: the time limit of each fit that learns.  MODELS: a regular expression; only models that match are run,
# and those they learn from.  Learning is shared where the objective is the same or stands in for another: vecchia learns for nene, lagp and
# vnngp, rbcm for the committees and nle; their rows give the seconds of taking over a kernel.  Slow predictions are made for SLOW (1000)
# test rows drawn at random, which the name says.
set -eu
anygp=$(realpath "$1") data=$(realpath "$2")
shift 2
[ $# -gt 0 ] || set -- kin40k protein elevators flights
export LC_ALL=C
limit=${LIMIT:-60s} models=${MODELS:-.} slow=${SLOW:-1000}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

some() { # FILE ROWS: the header and so many rows at random, always the same
    awk -v want="$2" -v all="$(wc -l <"$1")" 'BEGIN { srand(1); left = all - 1 } NR == 1 { print; next } { if (rand() * left < want) { print; want-- } left-- }' "$1"
}
clocked() { # NAME COMMAND...: the processor seconds of the command into the file NAME
    local name=$1
    shift
    /usr/bin/time -q -f %U -o "$name" "$@"
}
fit() { # NAME TEST OPTIONS...: a row of the table
    local name=$1 test=$2
    shift 2
    clocked fitted "$anygp" fit train.csv -q -o f.agp --valid 0 --threads 1 "$@" >/dev/null 2>err || { echo "| $name | $(head -n 1 err) |" && return; }
    clocked predicted "$anygp" eval f.agp "$test" --threads 1 >scores 2>err || { echo "| $name | $(head -n 1 err) |" && return; }
    awk -v name="$name" -v fit="$(tail -n 1 fitted)" -v predict="$(tail -n 1 predicted)" '{ score[$1] = $2 }
        END { printf "| %s | %.4g | %.3f | %.1f %% | %.1f | %.1f |\n", name, score["rmse"], score["mnlp"], 100 * score["coverage95"], fit, predict }' scores
}
try() { # as fit, if the name is asked for
    if grep -qE "$models" <<<"$1"; then fit "$@"; fi
}
learned() { # the options of a fit that takes over the kernel and noise of f.agp
    "$anygp" info f.agp --json | python3 -c 'import json, sys; t = json.load(sys.stdin); t = t if "kernel" in t else t["targets"][0]; print(t["kernel"] + "\n" + repr(t["noise"]))' >given
    given=(--fix all --kernel "$(sed -n 1p given)" --noise "$(sed -n 2p given)")
}
asked() { # whether one of these models is asked for
    printf '%s\n' "$@" | grep -qE "$models"
}
neighbours() {
    asked vecchia nene vnngp "lagp, $slow rows" "lagp(design=nn), $slow rows" || return 0
    fit vecchia test.csv --model vecchia --time "$limit"
    learned
    try nene test.csv --model nene "${given[@]}"
    try vnngp test.csv --model vnngp "${given[@]}"
    try "lagp, $slow rows" some.csv --model lagp "${given[@]}"
    try "lagp(design=nn), $slow rows" some.csv --model 'lagp(design=nn)' "${given[@]}"
}
committees() {
    local model
    asked rbcm nle poe gpoe bcm grbcm 'grbcm --communication 2000' "npae --near 8, $slow rows" || return 0
    fit rbcm test.csv --model rbcm --time "$limit"
    learned
    for model in nle poe gpoe bcm grbcm 'grbcm --communication 2000'; do
        # shellcheck disable=SC2086 # a model and its options
        try "$model" test.csv --model $model "${given[@]}"
    done
    try "npae --near 8, $slow rows" some.csv --model npae --near 8 "${given[@]}"
}

for set in "$@"; do
    for part in train test; do gzip -cd "$data/$set/$part.csv.gz" >$part.csv; done
    some test.csv "$slow" >some.csv
    rows=$(($(wc -l <train.csv) - 1))
    printf '\n%s, %d rows, limit %s\n\n| | rmse | mnlp | 95 %% intervals cover | fit, s | predict, s |\n| --- | --- | --- | --- | --- | --- |\n' "$set" "$rows" "$limit"
    neighbours
    try 'vecchia --inducing 100 --neighbors 15' test.csv --model vecchia --inducing 100 --neighbors 15 --time "$limit"
    committees
    try 'nle --partition tree' test.csv --model nle --partition tree --time "$limit"
    try 'lma --inducing 200' test.csv --model lma --inducing 200 --time "$limit"
    try 'hier' test.csv --model hier --time "$limit"
    try 'tree, 20 inducing inputs per part' test.csv --model tree --inducing $((rows * 20 / 500)) --time "$limit"
    try 'moe' test.csv --model moe --time "$limit"
    try 'pic --inducing 256, 2000 rows per block' test.csv --model pic --inducing 256 --blocks $((rows / 2000)) --time "$limit"
    try 'vfe --inducing 512' test.csv --model vfe --inducing 512 --time "$limit"
    try 'svgp --inducing 512' test.csv --model svgp --inducing 512 --time "$limit"
    try 'solve --inducing 512' test.csv --model solve --inducing 512 --time "$limit"
    try 'sod --inducing 4000' test.csv --model sod --inducing 4000 --time "$limit"
    case $set in coads_slp | etopo5 | heaton_simulated) try 'patchwork' test.csv --model patchwork --time "$limit" ;; esac
done
