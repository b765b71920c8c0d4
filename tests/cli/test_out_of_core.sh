# Rows that stay in their file: the same models, and memory that does not grow with the rows.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 160000 --inputs 8 --features 50 -o large.npy
anygp simulate --rows 40000 --inputs 8 --features 50 -o small.npy
anygp simulate --rows 500 --inputs 8 --features 50 --seed 1 -o asked.npy
options=(--inducing 30 --threads 1 --memory 10M)

# The most kilobytes that a fit had resident, while it can be seen; those of its last moments are.
resident() { # DATA OPTIONS...
    local pid most='' now
    "$ANYGP" fit "$1" -q -o m.agp "${options[@]}" "${@:2}" >"$said/out" 2>"$said/err" </dev/null &
    pid=$!
    while now=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$pid/status 2>/dev/null) && kill -0 $pid 2>/dev/null; do
        most=${now:-$most}
        sleep 0.01
    done
    wait $pid && echo "$most"
}
# By more than a tenth.
memory_does_not_grow_with_the_rows() { # OPTIONS...
    local few many
    few=$(resident small.npy "$@") && many=$(resident large.npy "$@") || { cat "$said/err"; return 1; }
    echo "$few kB and $many kB"
    [ "$many" -lt $((few + few / 10)) ] && [ "$many" -lt 60000 ]
}
memory_of_steps_does_not_grow() { memory_does_not_grow_with_the_rows --model dtc+ --iters 300; }
memory_of_batch_does_not_grow() { memory_does_not_grow_with_the_rows --model fitc --iters 2; }
file_and_table_give_one_model() {
    local m
    for m in fitc pic dtc+; do
        anygp fit small.npy -q -o file.agp --model $m "${options[@]}" --iters 3 >/dev/null && anygp fit small.npy -q -o table.agp --model $m "${options[@]}" --memory 1G --iters 3 >/dev/null || return 1
        anygp predict file.agp asked.npy >a.csv && anygp predict table.agp asked.npy >b.csv && close a.csv b.csv 1e-7 || { echo "model $m"; return 1; }
    done
}
model_that_holds_its_rows_says_what_it_needs() { refuses 'the pic model of 160000 rows needs .*; use --model dtc --inducing [0-9]*, or --memory [0-9.]*M$' fit large.npy -q -o p.agp --model pic+ --partition kdtree --valid 0 "${options[@]}"; }


# The most kilobytes of its own that a command has, while it can be seen: without the pages of scratch files.
own_memory() { # COMMAND...
    local pid most=0 now
    "$ANYGP" "$@" >"$said/out" 2>"$said/err" </dev/null &
    pid=$!
    while now=$(sed -n 's/^RssAnon:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$pid/status 2>/dev/null) && kill -0 $pid 2>/dev/null; do
        [ "${now:-0}" -gt "$most" ] && most=$now
        sleep 0.01
    done
    wait $pid && echo "$most"
}
factors_of_experts_stay_below_the_memory() { # 3 of 1200 rows have 34 MB of them
    local own
    anygp simulate --rows 3600 --inputs 2 --features 50 -o parts.npy && anygp fit parts.npy -q -o parts.agp --model nle --partition kdtree --blocks 3 --valid 0 --fix all --kernel 'rbf(variance=1,lengthscale=0.3)' --noise 0.1 --threads 1 >/dev/null &&
        anygp simulate --rows 200 --inputs 2 --features 50 --seed 1 -o places.npy && anygp predict parts.agp places.npy --threads 1 -o free.csv || return 1
    own=$(own_memory predict parts.agp places.npy --threads 1 --memory 10M -o little.csv) || { cat "$said/err"; return 1; }
    echo "$own kB"
    cmp free.csv little.csv && { [ "${ANYGP_BUILD:-release}" = asan ] || [ "$own" -lt 30000 ]; }
}
factors_of_blocks_stay_below_the_memory() { # those of pic have 34 MB, those of lma, whose windows have up to 3600 rows, 230 MB
    local own model
    anygp simulate --rows 3600 --inputs 2 --features 50 -o parts.npy && anygp simulate --rows 700 --inputs 2 --features 50 --seed 1 -o places.npy || return 1
    for model in 'pic 3' 'lma(order=1) 3' 'lma(order=1) 9'; do
        # shellcheck disable=SC2086 # a model and its blocks
        set -- $model
        anygp fit parts.npy -q -o parts.agp --model "$1" --blocks "$2" --partition kdtree --inducing 20 --valid 0 --fix all --kernel 'rbf(variance=1,lengthscale=0.3)' --noise 0.1 --threads 1 >/dev/null &&
            anygp predict parts.agp places.npy --threads 2 -o free.csv || return 1
        own=$(own_memory predict parts.agp places.npy --threads 2 --memory 10M -o little.csv) || { cat "$said/err"; return 1; }
        echo "$model: $own kB"
        cmp free.csv little.csv && { [ "${ANYGP_BUILD:-release}" = asan ] || [ "$own" -lt 30000 ]; } || return 1
    done
}
committees_learn_and_predict_below_the_memory() { # 20 experts of 400 rows have 26 MB of factors, twice that with a communication expert; npae takes fewer rows at a time
    local own model
    anygp simulate --rows 8000 --inputs 2 --features 50 -o parts.npy && anygp simulate --rows 300 --inputs 2 --features 50 --seed 1 -o places.npy || return 1
    for model in poe rbcm grbcm 'npae --near 2'; do
        # shellcheck disable=SC2086 # a model and its options
        set -- fit parts.npy -q --model $model --blocks 20 --partition kdtree --valid 0 --fix all --kernel 'rbf(variance=1,lengthscale=0.3)' --noise 0.1 --threads 1
        anygp "$@" -o free.agp >/dev/null && anygp predict free.agp places.npy --threads 1 -o free.csv || return 1
        own=$(own_memory "$@" -o little.agp --memory 8M) || { cat "$said/err"; return 1; }
        echo "$model: fit $own kB"
        [ "${ANYGP_BUILD:-release}" = asan ] || [ "$own" -lt 15000 ] || return 1
        own=$(own_memory predict little.agp places.npy --threads 1 --memory 8M -o little.csv) || { cat "$said/err"; return 1; }
        echo "$model: predict $own kB"
        close free.csv little.csv 1e-9 && { [ "$model" = 'npae --near 2' ] || cmp free.csv little.csv; } && { [ "${ANYGP_BUILD:-release}" = asan ] || [ "$own" -lt 15000 ]; } || return 1
    done
}

if [ "${ANYGP_BUILD:-release}" != asan ]; then # the sanitizers keep what was freed
    check memory_of_steps_does_not_grow
    check memory_of_batch_does_not_grow
fi
check factors_of_experts_stay_below_the_memory
check factors_of_blocks_stay_below_the_memory
check committees_learn_and_predict_below_the_memory
check file_and_table_give_one_model
check model_that_holds_its_rows_says_what_it_needs
finish
