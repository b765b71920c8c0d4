#!/bin/bash
# Models stopped early on very many rows of two inputs: rmse on 1000 others as a share of their sd.  1 is the mean's; more is worse than no
# model.  Time limits are wall time, so a busy machine makes the test harder.
#   early.sh ANYGP [LIMIT [ROWS [MODEL...]]]     default: 5s, 1000000 rows and every model below; a MODEL may have options
set -eu
anygp=$(realpath "$1") limit=${2:-5s} rows=${3:-1000000}
shift $(($# < 3 ? $# : 3))
export LC_ALL=C OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
if [ $# -eq 0 ]; then
    set -- poe gpoe bcm rbcm rbcm+ grbcm grbcm+ 'npae --near 8' nle nle+ 'nle --partition tree' pic pic+ pitc+ fitc+ lma lma+ hier hier+ tree patchwork moe vfe svgp solve \
        lagp vecchia vecchia+ 'vecchia --inducing 100' 'vecchia+ --inducing 100' vnngp vnngp+ nene nene+
fi

"$anygp" simulate --rows $((rows + 1000)) --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.1)' --noise 0.05 -o all.csv >/dev/null
head -n $((rows + 1)) all.csv >train.csv
(head -n 1 all.csv && tail -n 1000 all.csv) >test.csv
rm all.csv
for model in "$@"; do
    # shellcheck disable=SC2086 # a model and its options
    /usr/bin/time -q -f '%e %U %M' -o clock "$anygp" fit train.csv -q -o f.agp --valid 0 --time "$limit" --model $model >/dev/null 2>err || { printf '%-26s %s\n' "$model" "$(head -n 1 err)" && continue; }
    "$anygp" eval f.agp test.csv >scores 2>err || { printf '%-26s %s\n' "$model" "$(head -n 1 err)" && continue; }
    awk -v name="$model" -v clock="$(tail -n 1 clock)" '{ s[$1] = $2 }
        END { split(clock, c, " "); share = sqrt(s["nmse"])
            printf "%-26s rmse %.4f of the sd   95 %% cover %5.1f   %5.1f s, %5.1f of a processor, %5.0f MB%s\n", name, share, 100 * s["coverage95"], c[1], c[2], c[3] / 1024, (share > 1 ? "   worse than the mean" : "") }' scores
done
