# The state of a model with very many weights: on disk where the memory is too small; checkpoints of it hold what has changed.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 300 --inputs 2 -o train.csv
large=(--inducing 20000 --batch 50 --iters 6 --fix all --valid 0 --threads 1)

same_on_disk() { # MEMORY MODEL
    anygp fit train.csv -o memory.agp --model "$2" "${large[@]}" >/dev/null 2>memory.txt &&
        anygp fit train.csv -o disk.agp --model "$2" "${large[@]}" --memory "$1" >/dev/null 2>disk.txt || { cat disk.txt; return 1; }
    anygp predict memory.agp train.csv >memory.csv && anygp predict disk.agp train.csv | cmp - memory.csv || return 1
    grep -q 'on disk' memory.txt && return 1
    grep -c '^anygp: the state of qsgp.* GB, is on disk, in scratch files in /.*: --memory allows ' disk.txt | grep -qx 1 || { cat disk.txt; return 1; }
}
on_disk_it_is_the_same_model_to_the_bit() {
    same_on_disk 900k 'qsgp(batch=200)' && same_on_disk 900k 'qsgp(batch=200,steps=adagrad)' && same_on_disk 2600k 'qsgp(dense=1)' && same_on_disk 40k 'qsgp(basis=kernel)'
}
a_full_disk_is_a_sentence() { ( ulimit -f 100; refuses 'the weights: a scratch file of .* cannot be made in .*; name a directory on a larger disk in TMPDIR' fit train.csv -o x.agp --model 'qsgp(batch=200)' "${large[@]}" --memory 900k -q ) }
a_directory_that_is_not_there_is_a_sentence() { TMPDIR=$work/none refuses 'cannot be made in .*/none: No such file' fit train.csv -o x.agp --model 'qsgp(batch=200)' "${large[@]}" --memory 900k -q; }
what_a_step_itself_takes_is_refused_with_advice_for_this_model() {
    refuses 'the qsgp\(batch=10000\) model of 300 rows needs .* besides what can be on disk and --memory allows 0.0006 GB; use --memory [0-9.]*[kM], or smaller samples: --batch, and batch in --model' fit train.csv -o x.agp --model 'qsgp(batch=10000)' "${large[@]}" --memory 600k
}

# A run that saves after every step is killed once its log has some records. It is halted while one looks: logs come and go within a millisecond.
killed() { # MODEL_FILE OPTIONS...
    "$ANYGP" fit "$data" -q -o "$1" "${long[@]}" --checkpoint 0s "${@:2}" >/dev/null 2>"$said/err" &
    local pid=$!
    while kill -STOP $pid 2>/dev/null; do
        [ "$(stat -c %s "$1.checkpoint.log" 2>/dev/null || echo 0)" -gt 40000 ] && break
        kill -CONT $pid 2>/dev/null
        sleep 0.01
    done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ -s "$1.checkpoint.log" ] || { cat "$said/err"; echo 'it has no log'; return 1; }
}
long=(--model 'qsgp(batch=200,control=20,steps=adagrad)' --inducing 20000 --batch 50 --iters 300 --kernel 'rbf(lengthscale=0.3)' --noise 0.1 --fix all --valid 0 --threads 1)
data=train.csv
resumed_is_whole() { # MODEL_FILE OPTIONS...
    anygp fit "$data" -q -o "$1" "${long[@]}" --resume "${@:2}" >/dev/null && anygp predict "$1" train.csv | cmp - whole.csv && [ ! -e "$1.checkpoint" ] && [ ! -e "$1.checkpoint.log" ]
}
a_log_of_changes_goes_on_to_the_same_bits_wherever_it_ends() {
    local size cut
    anygp fit train.csv -q -o whole.agp "${long[@]}" >/dev/null && anygp predict whole.agp train.csv >whole.csv && killed part.agp || return 1
    size=$(stat -c %s part.agp.checkpoint.log)
    for cut in $((size / 2)) 30; do
        cp part.agp.checkpoint cut.agp.checkpoint && head -c $cut part.agp.checkpoint.log >cut.agp.checkpoint.log && resumed_is_whole cut.agp || return 1
    done
    cp part.agp.checkpoint cut.agp.checkpoint && cp part.agp.checkpoint.log cut.agp.checkpoint.log && resumed_is_whole cut.agp --memory 900k && resumed_is_whole part.agp
}
coefficients_of_very_many_rows_are_saved_by_their_changes_too() {
    local data=many.csv long=(--model qsgp --inducing 100 --batch 50 --iters 2000 --kernel 'rbf(lengthscale=0.3)' --noise 0.1 --fix all --valid 0 --threads 1)
    anygp simulate --rows 10000 --inputs 2 --features 20 -o many.csv && anygp fit many.csv -q -o whole.agp "${long[@]}" >/dev/null && anygp predict whole.agp train.csv >whole.csv && killed rows.agp && resumed_is_whole rows.agp
}
a_damaged_log_is_refused() {
    killed broken.agp || return 1
    printf x | dd of=broken.agp.checkpoint.log bs=1 seek=3000 conv=notrunc 2>/dev/null
    refuses 'the checkpoint broken.agp.checkpoint is damaged: a checksum of its log does not match; start without it' fit train.csv -o broken.agp "${long[@]}" --resume
}
bytes_of_a_checkpoint_do_not_grow_with_the_functions() {
    local few many
    killed few.agp && killed many.agp --inducing 400000 || return 1
    few=$(od -An -t u8 -j 24 -N 8 few.agp.checkpoint.log) many=$(od -An -t u8 -j 24 -N 8 many.agp.checkpoint.log)
    echo "$few and $many bytes"
    [ $((many * 10)) -lt $((few * 11)) ]
}

check on_disk_it_is_the_same_model_to_the_bit
check a_full_disk_is_a_sentence
check a_directory_that_is_not_there_is_a_sentence
check what_a_step_itself_takes_is_refused_with_advice_for_this_model
check a_log_of_changes_goes_on_to_the_same_bits_wherever_it_ends
check coefficients_of_very_many_rows_are_saved_by_their_changes_too
check a_damaged_log_is_refused
check bytes_of_a_checkpoint_do_not_grow_with_the_functions
finish
