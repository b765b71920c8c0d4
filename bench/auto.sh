#!/bin/bash
# What --model auto comes to: scores on the test rows and seconds of plain fits, and whether it chooses the same again beside busy
# neighbours.
#   auto.sh fits ANYGP DATA       kin40k, protein, elevators and three regions of etopo5, folders of DATA, within the default five minutes each
#   auto.sh again ANYGP DATA      ten fits of kin40k in 10 s each, beside three busy loops
set -eu
what=$1 anygp=$2 data=$3
folder=$(mktemp -d)
busy=()
trap 'kill "${busy[@]}" 2>/dev/null || true; rm -rf "$folder"' EXIT
number() { grep -o -m 1 "\"$1\": *[^,}]*" "$2" | head -n 1 | sed "s/.*: *//"; }

# One fit and its scores: NAME TRAIN TEST OPTIONS...
fit() {
    local name=$1 train=$2 test=$3
    shift 3
    "$anygp" fit "$train" -o "$folder/m.agp" --json "$@" >"$folder/fit.json" 2>"$folder/said"
    "$anygp" eval "$folder/m.agp" "$test" --json >"$folder/scores.json"
    printf '%s: rmse %.4g, mnlp %.4g, %.0f s (%s iterations of the last fit); %s\n' "$name" "$(number rmse "$folder/scores.json")" \
        "$(number mnlp "$folder/scores.json")" "$SECONDS" "$(number iterations "$folder/fit.json")" "$(grep -m 1 'auto:' "$folder/said" || true)"
}

# Rows of etopo5 with longitudes and latitudes in these ranges: NAME WEST EAST SOUTH NORTH
region() {
    local part
    for part in train test; do
        zcat "$data/etopo5/$part.csv.gz" | awk -F, -v w="$2" -v e="$3" -v s="$4" -v n="$5" 'NR == 1 || ($1 >= w && $1 < e && $2 >= s && $2 < n)' >"$folder/$1-$part.csv"
    done
    SECONDS=0
    fit "$1, $(($(wc -l <"$folder/$1-train.csv") - 1)) rows" "$folder/$1-train.csv" "$folder/$1-test.csv"
}

if [ "$what" = fits ]; then
    for name in kin40k protein elevators; do
        SECONDS=0
        fit $name "$data/$name/train.csv.gz" "$data/$name/test.csv.gz"
    done
    region Europe-and-Africa 0 60 0 72
    region Pacific 210 270 -30 42
    region Eurasia 10 140 45 78
else
    for k in 1 2 3; do
        (while :; do :; done) &
        busy+=($!)
    done
    for k in 1 2 3 4 5 6 7 8 9 10; do
        SECONDS=0
        fit "run $k" "$data/kin40k/train.csv.gz" "$data/kin40k/test.csv.gz" --time 10s
    done
fi
