#!/bin/bash
# Rough maps: vecchia and auto beside a random forest of scikit-learn (PYTHON in the environment: a python3 that has it), one thread each, processor seconds.
#   rough_maps.sh ANYGP DATA [SET...]     default: coads_slp, two windows of etopo5 and etopo5 itself, folders of DATA
# LIMIT (120s) in the environment: time limit of auto.  TREES (100): trees of the forest.
set -eu
here=$(dirname "$(realpath "$0")")
anygp=$(realpath "$1") data=$(realpath "$2")
shift 2
[ $# -gt 0 ] || set -- coads_slp Eurasia Pacific etopo5
export LC_ALL=C OMP_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

window() { # FOLDER WEST EAST SOUTH NORTH: its rows in these ranges of the two inputs
    for part in train test; do gzip -cd "$data/$1/$part.csv.gz" | awk -F, -v w="$2" -v e="$3" -v s="$4" -v n="$5" 'NR == 1 || ($1 >= w && $1 < e && $2 >= s && $2 < n)' >$part.csv; done
}
fit() { # NAME OPTIONS...
    local name=$1
    shift
    /usr/bin/time -q -f %U -o clock "$anygp" fit train.csv -o f.agp --threads 1 "$@" >/dev/null 2>said
    "$anygp" eval f.agp test.csv --threads 1 >scores
    awk -v name="$name" -v t="$(tail -n 1 clock)" '{ s[$1] = $2 }
        END { printf "  %-14s rmse %.4g  mnlp %.3f  95 %% cover %.1f  fit %.0f s", name, s["rmse"], s["mnlp"], 100 * s["coverage95"], t }' scores
    echo "  $(grep -o 'auto: .*' said | head -n 1 | cut -c 1-120 || true)"
}

for set in "$@"; do
    case $set in
    Eurasia) window etopo5 10 140 45 78 ;;
    Pacific) window etopo5 210 270 -30 42 ;;
    *) for part in train test; do gzip -cd "$data/$set/$part.csv.gz" >$part.csv; done ;;
    esac
    echo "$set, $(($(wc -l <train.csv) - 1)) rows"
    fit vecchia --model vecchia --valid 0
    fit auto --time "${LIMIT:-120s}"
    echo "  random forest  $("${PYTHON:-/usr/bin/python3}" "$here/rough_maps.py" train.csv test.csv "${TREES:-100}")"
done
