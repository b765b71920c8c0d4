#!/bin/bash
# Jumps of the mean of the local models on one simulated map: the largest one, and the root of the sum of their squares per unit of
# length, both in units of the sd of the exact mean.
#   borders.sh ANYGP [MODEL...]     default: every model below; a MODEL may have options: 'vecchia --inducing 64'
# Eight lines cross the map, in steps of 0.001.  A jump is what the mean changes in a step, less the median change of the five steps
# around it: where the mean is continuous next to nothing is left.  All models have the kernel and noise that the map was simulated with,
# 12 blocks by a kd-tree, or 30 neighbours; hier and moe, which have more to learn, learn everything.
set -eu
anygp=$(realpath "$1")
shift
export LC_ALL=C OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
given=(--kernel 'matern32(variance=1,lengthscale=0.3)' --noise 0.01)
if [ $# -eq 0 ]; then
    blocks='--blocks 12 --partition kdtree'
    set -- exact nene lagp vecchia 'vecchia --inducing 64' vnngp "lma $blocks" "nle $blocks" 'patchwork --blocks 12' "tree $blocks --inducing 600"
    for model in pitc pic hier; do set -- "$@" "$model $blocks --inducing 64"; done
    for model in poe gpoe bcm rbcm grbcm npae; do set -- "$@" "$model $blocks"; done
    set -- "$@" moe
fi

means() { # NAME OPTIONS...: the mean along the lines into the file NAME
    local name=$1
    shift
    "$anygp" fit map.csv -q -o f.agp --valid 0 "$@" >/dev/null
    "$anygp" predict f.agp lines.csv -q -o predictions.csv >/dev/null
    tail -n +2 predictions.csv | cut -d, -f1 >"$name"
}

"$anygp" simulate --rows 3000 --inputs 2 "${given[@]}" -o map.csv >/dev/null
awk 'BEGIN { print "x1,x2"
    for (k = split("0.15 0.4 0.6 0.85", at, " "); k > 0; k--)
        for (turned = 0; turned < 2; turned++)
            for (i = 0; i <= 1000; i++) print turned ? at[k] "," i / 1000 : i / 1000 "," at[k] }' >lines.csv
means exact --model exact "${given[@]}" --fix all
printf '%-52s %10s %10s\n' model largest 'root sum'
for model in "$@"; do
    # shellcheck disable=SC2086 # a model and its options
    case $model in
    hier* | moe*) means mean --model $model ;;
    *) means mean --model $model "${given[@]}" --fix all ;;
    esac
    paste -d' ' exact mean | awk -v name="$model" '
        function median(i,    j, k, w, v) { # of step[i - 2] .. step[i + 2]
            for (j = -2; j <= 2; j++) { v = step[i + j]; for (k = j + 2; k > 0 && w[k - 1] > v; k--) w[k] = w[k - 1]; w[k] = v }
            return w[2]
        }
        function ends(    i, jump) { # of a line
            for (i = 3; i <= n - 2; i++) {
                jump = step[i] - median(i); squares += jump * jump
                if (jump * jump > largest * largest) largest = jump < 0 ? -jump : jump
            }
        }
        NR % 1001 == 1 { if (NR > 1) ends(); n = 0 }
        NR % 1001 != 1 { step[++n] = $2 - mean }
        { mean = $2; sum += $1; sum2 += $1 * $1 }
        END { ends(); sd = sqrt(sum2 / NR - (sum / NR) ^ 2)
            printf "%-52s %10.4f %10.4f\n", name, largest / sd, sqrt(squares / 8) / sd }'
done
