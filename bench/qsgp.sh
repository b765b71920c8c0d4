#!/bin/bash
# qsgp by hand.  Times mean something on a quiet machine only; accuracies do anywhere.
#   qsgp.sh steps ANYGP             seconds of a step and resident memory at m = 10^4 .. 10^7 functions and n = 10^4 .. 10^7 rows, for samples of one size
#   qsgp.sh features ANYGP          features per second of one core, and the share of the matrix product (perf)
#   qsgp.sh fits ANYGP DATA         kin40k and protein, folders of DATA: m = 10^5, by blocks of rows, and the paper's steps
#   qsgp.sh mnist ANYGP DATA [M [I]]  odd or even digits: logistic, M functions (10^6), I steps of 1000 rows (60: one epoch)
#   qsgp.sh control ANYGP DATA      kin40k, samples of a tenth of the functions, with and without control rows
#   qsgp.sh variance ANYGP DATA     kin40k: variance of the estimate and of its gradient against the number of control rows (002, figure 1); bench_qsgp_variance is beside ANYGP
set -eu
what=$1 anygp=$(realpath "$2") data=${3:+$(realpath "$3")}
export LC_ALL=C OMP_NUM_THREADS=${OMP_NUM_THREADS:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
given=(--kernel 'rbf(lengthscale=[0.5,0.5])' --noise 0.05 --fix all --valid 0)

# Seconds of a step: a run of 40 steps less one of 10, the quickest of a few of each since the machine's clock is not steady, and the peak of the longer one.
step() { # FILE FUNCTIONS
    local turn
    for turn in 1 2 3 4 5 6; do
        "$anygp" fit "$1" -q -o s.agp --model 'qsgp(batch=10000,control=500,steps=plain)' --inducing "$2" "${given[@]}" --batch 500 --iters 10 --trace few.csv >/dev/null
        /usr/bin/time -f %M -o peak "$anygp" fit "$1" -q -o s.agp --model 'qsgp(batch=10000,control=500,steps=plain)' --inducing "$2" "${given[@]}" --batch 500 --iters 40 --trace many.csv >/dev/null
        echo "$(tail -n 1 few.csv | cut -d, -f2) $(tail -n 1 many.csv | cut -d, -f2) $(tail -n 1 peak)"
    done | awk -v m="$2" -v f="$1" 'NR == 1 || $1 < a { a = $1 } NR == 1 || $2 < b { b = $2 } $3 > peak { peak = $3 } END { printf "%-14s m %8d   %.4f s per step   %6.0f MB\n", f, m, (b - a) / 30, peak / 1024 }'
}
rows() { # N: a file that is read block by block
    "$anygp" simulate --rows "$1" --inputs 2 --features 50 --threads 2 --kernel 'rbf(variance=1,lengthscale=0.5)' --noise 0.05 -o "n$1.npy" >/dev/null
}
fit() { # NAME TRAIN TEST OPTIONS...
    local name=$1 train=$2 test=$3 began
    shift 3
    began=$(date +%s.%N)
    "$anygp" fit "$train" -q -o f.agp --valid 0 "$@" >/dev/null
    awk -v name="$name" -v t="$(echo "$(date +%s.%N) - $began" | bc)" -v s="$("$anygp" eval f.agp "$test" | tr -s ' \n' ' ')" 'BEGIN { n = split(s, w, " "); for (i = 1; i < n; i++) if (w[i] ~ /^(rmse|mnlp|accuracy|coverage95)$/) line = line "  " w[i] " " w[i + 1]; printf "%-40s %7.1f s%s\n", name, t, line }'
}

case $what in
steps)
    rows 10000
    for m in 20000 100000 1000000 10000000; do step n10000.npy $m; done
    for n in 100000 1000000 10000000; do rows $n && step n$n.npy 100000 && rm n$n.npy; done
    ;;
features)
    rows 10000
    perf record -q -o perf.data "$anygp" fit n10000.npy -q -o s.agp --model 'qsgp(steps=plain)' --inducing 100000 "${given[@]}" --batch 256 --iters 100 --trace t.csv >/dev/null
    awk -F, 'END { printf "%.3g features per second\n", 2 * 256 * 1e5 * $1 / $2 }' t.csv
    perf report -i perf.data --stdio 2>/dev/null | grep -v '^#' | grep -v '^$' | head -n 12
    ;;
fits)
    for name in kin40k protein; do
        for m in 20000 100000; do
            fit "$name, $m, blocks, 400 steps" "$data/$name/train.csv.gz" "$data/$name/test.csv.gz" --model qsgp --inducing $m --kernel rbf --batch 500 --iters 400
        done
        fit "$name, 100000, dense=100, 400 steps" "$data/$name/train.csv.gz" "$data/$name/test.csv.gz" --model 'qsgp(dense=100)' --inducing 100000 --kernel rbf --batch 500 --iters 400
        fit "$name, 100000, the paper's, 10000 steps" "$data/$name/train.csv.gz" "$data/$name/test.csv.gz" --model 'qsgp(batch=10000,control=500,steps=adagrad)' --inducing 100000 --kernel rbf --batch 500 --iters 10000
        fit "$name, svgp 512" "$data/$name/train.csv.gz" "$data/$name/test.csv.gz" --model svgp --inducing 512 --kernel rbf
    done
    ;;
mnist)
    python3 - "$data/mnist" <<'EOF'
import array, gzip, struct, sys
for name, out in (('train', 'train'), ('t10k', 'test')):
    x = gzip.open('%s/%s-images-idx3-ubyte.gz' % (sys.argv[1], name)).read()[16:]
    y = gzip.open('%s/%s-labels-idx1-ubyte.gz' % (sys.argv[1], name)).read()[8:]
    header = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, 785), }" % len(y)
    header += ' ' * (63 - (10 + len(header)) % 64) + '\n'
    with open(out + '.npy', 'wb') as f:
        f.write(b'\x93NUMPY\x01\x00' + struct.pack('<H', len(header)) + header.encode())
        for i in range(len(y)):
            r = array.array('f', [b / 255 for b in x[i * 784:(i + 1) * 784]])
            r.append(y[i] % 2)
            f.write(r.tobytes())
EOF
    fit "odd or even, ${4:-1000000}" train.npy test.npy --model "qsgp(batch=${4:-1000000},basis=hadamard)" --inducing "${4:-1000000}" --likelihood bernoulli --kernel 'rbf(variance=10,lengthscale=5)' --standardize none --fix all --batch 1000 --iters "${5:-60}"
    ;;
control)
    for p in 0 100 500 2000; do
        fit "kin40k, control=$p" "$data/kin40k/train.csv.gz" "$data/kin40k/test.csv.gz" --model "qsgp(batch=10000,control=$p)" --inducing 100000 --kernel rbf --batch 500 --iters 2000
    done
    ;;
variance)
    # the kernel that a run of qsgp(basis=kernel) starts with
    gzip -cd "$data/kin40k/train.csv.gz" | "$(dirname "$anygp")/bench/bench_qsgp_variance" 'rbf(variance=1.929,lengthscale=[3.328,2.992,1.551,1.737,1.819,1.416,1.39,2.068])'
    ;;
*) echo "qsgp.sh steps|features|fits|mnist|control|variance ANYGP [DATA]" >&2 && exit 1 ;;
esac
