#!/bin/sh
# One batch pass of fitc over 1 and 2 processes of one thread each, in turn; seconds between the two rows of the trace.
#   ranks.sh ANYGP_BUILT_FOR_MPI [ROWS]        default 200000
set -eu
anygp=$1
rows=${2:-200000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$anygp" simulate --rows "$rows" --inputs 8 --features 50 --seed 1 -o "$folder/data.npy"
pass() {
    mpirun -n "$1" --bind-to core --allow-run-as-root "$anygp" fit "$folder/data.npy" -q -o "$folder/m.agp" --valid 0 --model fitc --inducing 512 --threads 1 \
        --fix all --kernel 'rbf(variance=1,lengthscale=0.5)' --noise 0.01 --trace "$folder/t.csv" >/dev/null
    awk -F, 'NR == 2 { before = $2 } END { print $2 - before }' "$folder/t.csv"
}
for k in 1 2 3; do
    one=$(pass 1)
    two=$(pass 2)
    echo "$one $two" | awk '{ printf "1 process %.3f s, 2 processes %.3f s, ratio %.2f\n", $1, $2, $1 / $2 }'
done
