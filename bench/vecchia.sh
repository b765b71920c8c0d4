#!/bin/bash
# vecchia by hand.  Times mean something on a quiet machine only.
#   vecchia.sh fits ANYGP DATA      kin40k, protein, elevators, coads_slp and heaton_simulated, folders of DATA: seconds and scores, with defaults
#   vecchia.sh heaton ANYGP DATA    heaton_simulated on one core without priors, with the log evidence in the units of the data
#   vecchia.sh rows ANYGP           seconds and processor seconds of an evaluation with its gradient at n = 10^4 to 10^6 rows of two inputs (ROWS in the environment:
#                                   others), 20 neighbours
# OMP_NUM_THREADS (2) in the environment.
set -eu
what=$1 anygp=$(realpath "$2") data=${3:+$(realpath "$3")}
export LC_ALL=C OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

fit() { # SET OPTIONS...
    local set=$1 began
    shift
    began=$(date +%s.%N)
    "$anygp" fit "$data/$set/train.csv.gz" -q -o f.agp --valid 0 --model vecchia "$@" >/dev/null
    awk -v name="$set" -v t="$(echo "$(date +%s.%N) - $began" | bc)" -v e="$("$anygp" info f.agp | sed -n 's/.* \([0-9]*\) evaluations.*/\1/p')" -v s="$("$anygp" eval f.agp "$data/$set/test.csv.gz" | tr -s ' \n' ' ')" \
        'BEGIN { n = split(s, w, " "); for (i = 1; i < n; i++) if (w[i] ~ /^(rmse|mae|mnlp|coverage95)$/) line = line "  " w[i] " " w[i + 1]; printf "%-18s %6.1f s %4d evaluations%s\n", name, t, e, line }'
}

case $what in
fits)
    for set in kin40k protein elevators coads_slp; do fit $set; done
    fit heaton_simulated --kernel 'matern12(iso)' --mean constant
    ;;
heaton)
    export OMP_NUM_THREADS=1
    fit heaton_simulated --kernel 'matern12(iso)' --mean constant --prior none
    "$anygp" info f.agp --json | awk -F'[:,]' '/"value"/ { v = $2 } /"n"/ && !n { n = $2 } /"sd"/ { s = $2 } END { printf "log evidence %.1f\n", v - n * log(s) }'
    ;;
rows)
    for n in ${ROWS:-10000 100000 1000000}; do
        "$anygp" simulate --rows "$n" --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.1)' --noise 0.05 -o n.npy >/dev/null
        for steps in 2 10; do
            /usr/bin/time -f '%U %M' -o clock "$anygp" fit n.npy -q -o f.agp --valid 0 --model vecchia --neighbors 20 --kernel matern32 --iters $steps >/dev/null
            "$anygp" info f.agp | sed -n 's/.* \([0-9]*\) evaluations, \([0-9.]*\) s.*/\1 \2/p' | paste -d' ' - clock >took.$steps
        done
        paste -d' ' took.2 took.10 | awk -v n="$n" '{ e = $5 - $1; if (e <= 0) { printf "n %8d   both runs ended by themselves after %d evaluations: no difference to divide\n", n, $1; next }; wall = ($6 - $2) / e; own = ($7 - $3) / e
            printf "n %8d   %.3f s per evaluation, %.3f of a processor   %.2f of a processor per million rows   %.1f before the first   %.0f MB\n", n, wall, own, own / n * 1e6, $3 - own * $1, $8 / 1024 }'
    done
    ;;
*) echo "vecchia.sh fits|heaton|rows ANYGP [DATA]" >&2 && exit 1 ;;
esac
