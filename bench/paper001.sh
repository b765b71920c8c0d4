#!/bin/bash
# The experiment of 001 (section 4): svdgp, svi, ivsgpr, vsgpr and gpr after 2000 iterations, on a simulated arm with seven torques
# (arm.h; the mean over them, as in the paper), a noisy sinc, kin40k and flights.  Prints one table in Markdown.
#   paper001.sh ANYGP DATA [SET...]      DATA: the folder with kin40k and flights; SET: arm, sinc, kin40k, flights (all)
# The kernel is rbf with a length-scale for each input; inducing variables have learned widths (SCALED= for points: quicker).
# nmse: squared error over the variance of the targets; log density: mean over the test rows; bound: the held-out bound per training
# row, mell - KL / N (docs/scores.md), where N are all training rows also for vsgpr and gpr, which see a sample of them.
# In the environment, with defaults that take less than 15 minutes on two processors:
#   STEPS=2000 TIME=60s      iterations, and the time of a fit after which it ends all the same
#   ROWS=0                   training rows at most; 0: all.  ARM=20000, SINC=2000: rows that are simulated, and a tenth more to test
#   SVDGP=2048/128 SVI=256 IVSGPR=128 VSGPR=256 VSGPR_ROWS=2048 GPR=1024      sizes; BATCH=256 rows per step
#   ALGORITHMS="svdgp svi ivsgpr vsgpr gpr"      also svdgp-sga, the steps of the paper
# The paper's sizes, in hours: SVDGP=16384/128 SVI=1024 IVSGPR=256 VSGPR=1024 VSGPR_ROWS=4096 BATCH=1024 TIME=1h
set -eu
anygp=$1 data=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
STEPS=${STEPS:-2000} TIME=${TIME:-60s} ROWS=${ROWS:-0} ARM=${ARM:-20000} SINC=${SINC:-2000} BATCH=${BATCH:-256} SCALED=${SCALED-scaled}
SVDGP=${SVDGP:-2048/128} SVI=${SVI:-256} IVSGPR=${IVSGPR:-128} VSGPR=${VSGPR:-256} VSGPR_ROWS=${VSGPR_ROWS:-2048} GPR=${GPR:-1024}
read -ra algorithms <<<"${ALGORITHMS:-svdgp svi ivsgpr vsgpr gpr}"

# A random sample of N rows of standard input, with its header, in their order; 0 or too many: all of them.
sample() { # N TOTAL
    awk -v left="$1" -v total="$2" 'BEGIN { srand(1); if (left == 0 || left > total) left = total }
        NR == 1 { print; next } rand() * (total - NR + 2) < left { print; left-- }'
}
rows_of() { awk 'END { print NR - 1 }' "$1"; }

# train.csv and test.csv of a set, and `targets`.
cut_table() { head -n $(($2 + 1)) "$1" >"$folder/train.csv"; sed "2,$(($2 + 1))d" "$1" >"$folder/test.csv"; } # FILE TRAINING_ROWS
make_set() {
    targets=()
    case $1 in
        arm)
            "${CC:-cc}" -O2 -o "$folder/arm" "$here/arm.c" -lm && "$folder/arm" $((ARM + ARM / 10)) 1 >"$folder/all.csv"
            cut_table "$folder/all.csv" "$ARM"
            for j in 1 2 3 4 5 6 7; do targets+=(--target t$j); done ;;
        sinc)
            awk -v n=$((SINC + SINC / 10)) 'BEGIN { srand(1); print "x,y"; for (; n > 0; n--) { x = 20 * rand() - 10
                print x "," sin(x) / x + 0.1 * sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand()) } }' >"$folder/all.csv"
            cut_table "$folder/all.csv" "$SINC" ;;
        *) for part in train test; do gzip -dc "$data/$1/$part.csv.gz" >"$folder/$part.csv"; done ;;
    esac
    [ "$ROWS" = 0 ] || { mv "$folder/train.csv" "$folder/all.csv"; sample "$ROWS" "$(rows_of "$folder/all.csv")" <"$folder/all.csv" >"$folder/train.csv"; }
}

# What an algorithm of the paper is called here, with its size; `seen`: the rows it sees.
model_of() {
    local inducing=() kept=$total
    [ -z "$SCALED" ] || inducing=(--inducing-kind "$SCALED")
    case $1 in
        svdgp | svdgp-sga) options=(--model "$1" --inducing "$SVDGP" --batch "$BATCH") ;;
        svi) options=(--model svgp --inducing "$SVI" --batch "$BATCH" "${inducing[@]}") ;;
        ivsgpr) options=(--model ivsgpr --inducing "$IVSGPR" --batch "$BATCH" "${inducing[@]}") ;;
        vsgpr) options=(--model vfe --inducing "$VSGPR" "${inducing[@]}") kept=$VSGPR_ROWS ;;
        gpr) options=(--model exact) kept=$GPR ;;
        *) echo "paper001.sh: there is no algorithm $1" >&2; exit 1 ;;
    esac
    sample "$kept" "$total" <"$folder/train.csv" >"$folder/seen.csv"
    seen=$(rows_of "$folder/seen.csv")
}

# The mean over the targets of a score in scores.json; nothing: some have none.
mean_of() {
    grep -o "\"$1\": *[^,}]*" "$folder/scores.json" | awk -v want="$(grep -o '"rmse"' "$folder/scores.json" | wc -l)" '{ sum += $2 } END { if (NR == want) printf "%.17g", sum / NR }'
}

row() { # SET ALGORITHM
    local began
    model_of "$2"
    began=$(date +%s%N)
    if ! "$anygp" fit "$folder/seen.csv" -o "$folder/m.agp" -q --kernel rbf --valid 0 --iters "$STEPS" --time "$TIME" "${options[@]}" "${targets[@]}" >/dev/null 2>"$folder/said"; then
        echo "| $1 | $2 | $(tail -n 1 "$folder/said") |"
        return
    fi
    seconds=$((($(date +%s%N) - began) / 100000000))
    "$anygp" eval "$folder/m.agp" "$folder/test.csv" --json >"$folder/scores.json" 2>/dev/null
    awk -v set="$1" -v name="$2" -v model="${options[1]}${options[3]:+ ${options[3]}}" -v seen="$seen" -v total="$total" -v seconds="$seconds" \
        -v steps="$("$anygp" info "$folder/m.agp" --json | grep -o -m 1 '"iterations": [0-9]*')" -v rmse="$(mean_of rmse)" -v nmse="$(mean_of nmse)" \
        -v mnlp="$(mean_of mnlp)" -v mell="$(mean_of mell)" -v bound="$(mean_of bound)" 'BEGIN {
            held = bound == "" ? "-" : sprintf("%.4g", mell - (mell - bound) * seen / total)
            printf "| %s | %s | %s, %d rows | %d | %.4g | %.4g | %.4g | %s | %.1f |\n", set, name, model, seen, substr(steps, 15), rmse, nmse, -mnlp, held, seconds / 10 }'
}

echo "| data | algorithm | model, rows it sees | iterations | rmse | nmse | log density | bound | seconds |"
echo "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
[ $# -gt 0 ] || set -- arm sinc kin40k flights
for set in "$@"; do
    make_set "$set"
    total=$(rows_of "$folder/train.csv")
    for algorithm in "${algorithms[@]}"; do row "$set" "$algorithm"; done
done
