#!/bin/sh
# 1 and 2 processes of one thread each, in turn.
#   ranks.sh ANYGP_BUILT_FOR_MPI [ROWS]            one batch pass of fitc: seconds between the two rows of the trace; default 200000
#   ranks.sh predict ANYGP_BUILT_FOR_MPI [ROWS]    predictions of vecchia (50000 rows) and rbcm (8 experts of 500 rows): seconds of
#                                                  the whole command, with the start of the processes; default 200000
set -eu
command=fit
[ "$1" != predict ] || { command=$1 && shift; }
anygp=$1
rows=${2:-200000}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fixed="--valid 0 --threads 1 --fix all --noise 0.01"
ranks() { # COUNT ARGUMENTS...
    count=$1
    shift
    mpirun -n "$count" --bind-to core --allow-run-as-root "$anygp" "$@" >/dev/null
}
fitc() { # PROCESSES
    ranks "$1" fit "$folder/data.npy" -q -o "$folder/m.agp" $fixed --model fitc --inducing 512 --kernel 'rbf(variance=1,lengthscale=0.5)' --trace "$folder/t.csv"
    awk -F, 'NR == 2 { before = $2 } END { print $2 - before }' "$folder/t.csv"
}
predictions() { # PROCESSES
    began=$(date +%s.%N)
    ranks "$1" predict "$folder/m.agp" "$folder/new.npy" --threads 1 -o "$folder/p.npy"
    echo "$began $(date +%s.%N)" | awk '{ print $2 - $1 }'
}
compare() { # WHAT FUNCTION
    for k in 1 2 3; do
        one=$($2 1)
        two=$($2 2)
        echo "$one $two" | awk -v what="$1" '{ printf "%s: 1 process %.3f s, 2 processes %.3f s, ratio %.2f\n", what, $1, $2, $1 / $2 }'
    done
}
learn() { # ROWS OPTIONS...
    "$anygp" simulate --rows "$1" --inputs 2 --features 50 --seed 1 -o "$folder/data.npy"
    shift
    "$anygp" fit "$folder/data.npy" -q -o "$folder/m.agp" $fixed --kernel 'matern32(variance=1,lengthscale=0.3)' "$@" >/dev/null
}
if [ $command = fit ]; then
    "$anygp" simulate --rows "$rows" --inputs 8 --features 50 --seed 1 -o "$folder/data.npy"
    compare fitc fitc
else
    "$anygp" simulate --rows "$rows" --inputs 2 --features 50 --seed 2 -o "$folder/new.npy"
    learn 50000 --model vecchia
    compare vecchia predictions
    learn 4000 --model rbcm --blocks 8
    compare rbcm predictions
fi
