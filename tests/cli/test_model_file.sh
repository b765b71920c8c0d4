# Model files that are damaged, foreign or hostile give an error; good ones always give the same bits.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 80 --inputs 2 -o train.csv
anygp fit train.csv -q -o good.agp >/dev/null
size=$(stat -c %s good.agp)

# A copy of the model with the byte at offset $1 turned over.
flip() {
    local byte
    cp good.agp bad.agp
    byte=$(od -An -tu1 -j "$1" -N 1 good.agp)
    printf "$(printf '\\x%02x' $((255 - byte)))" | dd of=bad.agp bs=1 seek="$1" conv=notrunc status=none
}
refuses_bad() { refuses 'bad.agp' info bad.agp && refuses 'bad.agp' predict bad.agp train.csv -o p.csv && refuses 'bad.agp' eval bad.agp train.csv; }

truncated_anywhere_is_refused() {
    local n
    for n in 0 1 7 8 9 100 $((size / 2)) $((size - 8)) $((size - 1)); do
        head -c $n good.agp >bad.agp
        refuses_bad || { echo "cut at $n"; return 1; }
    done
}
trailing_bytes_are_refused() { { cat good.agp; echo; } >bad.agp && refuses_bad; }
flipped_length_is_refused() {
    local at
    for at in 0 3 7; do flip $at; refuses_bad || { echo "byte $at"; return 1; }; done
}
flipped_header_is_refused() {
    local at
    for at in 8 9 30 200; do flip $at; refuses_bad || { echo "byte $at"; return 1; }; done
}
flipped_arrays_are_refused() {
    local at
    for at in $((size - 1)) $((size - 100)) $((size - 4000)) $((size / 2)); do flip $at; refuses_bad || { echo "byte $at"; return 1; }; done
}
every_hundredth_byte_flipped_never_crashes() {
    local at status
    for ((at = 0; at < size; at += size / 40)); do
        flip $at
        anygp info bad.agp >/dev/null 2>"$said/err"
        status=$?
        [ $status = 1 ] || { echo "byte $at: status $status"; return 1; }
    done
}
empty_model_is_refused() { : >bad.agp && refuses_bad; }
zeros_are_refused() { head -c 4096 /dev/zero >bad.agp && refuses_bad; }
table_as_a_model_is_refused() { cp train.csv bad.agp && refuses_bad; }
program_as_a_model_is_refused() { head -c 100000 "$ANYGP" >bad.agp && refuses_bad; }
foreign_safetensors_is_refused() {
    local header='{"weights":{"dtype":"F64","shape":[2],"data_offsets":[0,16]}}'
    { printf '\x3d\0\0\0\0\0\0\0%s' "$header"; head -c 16 /dev/zero; } >bad.agp
    refuses_bad
}
huge_header_length_is_refused() { printf '\xff\xff\xff\xff\xff\xff\xff\x7f{}' >bad.agp && refuses_bad; }
missing_model_is_refused() { refuses 'nowhere.agp' info nowhere.agp; }
directory_as_a_model_is_refused() { refuses 'not a model file' info .; }

model_is_found_again_after_moving() {
    mkdir -p elsewhere && cp good.agp elsewhere/other.name
    anygp predict good.agp train.csv >a.csv && anygp predict elsewhere/other.name train.csv >b.csv && cmp a.csv b.csv
}
refit_replaces_the_model_whole() {
    cp good.agp again.agp
    anygp fit train.csv -q -o again.agp --kernel rbf >/dev/null && anygp info again.agp | grep -q 'rbf(' &&
        [ -z "$(find . -name '*.tmp' -o -name 'again.agp.*')" ]
}
interrupted_write_leaves_the_old_model() {
    cp good.agp again.agp
    ! anygp fit train.csv -q -o again.agp --kernel nonsense 2>/dev/null && cmp good.agp again.agp
}
same_seed_same_file_but_for_the_clock() {
    local a b
    anygp fit train.csv -q -o again.agp >/dev/null
    a=$(anygp info good.agp --json | without_clock) b=$(anygp info again.agp --json | without_clock)
    [ "$a" = "$b" ] || { diff <(echo "$a") <(echo "$b"); return 1; }
    anygp predict good.agp train.csv >a.csv && anygp predict again.agp train.csv >b.csv && cmp a.csv b.csv
}
# Seconds stand alone, and in the trace as a list.
without_clock() { awk '/"seconds": \[/ { skip = 1 } !skip && !/"seconds"/ { print } /\]/ { skip = 0 }'; }
info_is_json_with_the_promised_names() {
    local name
    anygp info good.agp --json >info.json && is_json <info.json || return 1
    for name in model objective log_prior kernel noise inducing jitter seed rows seconds rmse mae nmse smse mnlp msll crps coverage95; do
        grep -q "\"$name\":" info.json || { echo "missing: $name"; return 1; }
    done
}

# Files of every schema so far, with the predictions of the version that wrote them.
older_files_are_read() {
    local name
    for name in schema1 schema1-targets schema2; do
        anygp predict "$here/../files/$name.agp" "$here/../files/rows.csv" -o p.csv && close p.csv "$here/../files/$name.csv" 1e-9 || { echo "$name"; return 1; }
    done
}
# Targets that are fitted together have one set of inducing inputs and one factor.
shared_arrays_are_stored_once() {
    local targets=(--target y --target z) both=(--model vfe --inducing 6 --iters 3 --seed 2)
    awk -F, 'NR == 1 { print "a,b,y,z"; next } { print $1 "," $2 "," $3 "," 2 * $3 + $1 }' train.csv >two.csv
    anygp fit two.csv -q -o two.agp "${targets[@]}" "${both[@]}" >/dev/null || return 1
    grep -a -q '"schema": "3"' two.agp && grep -a -q '\\"1/Z\\":\\"0/Z\\"' two.agp && ! grep -a -q '"1/Z": {' two.agp || return 1
    anygp predict two.agp two.csv -o p.csv && finite p.csv && [ "$(wc -l <p.csv)" = "$(wc -l <two.csv)" ]
}
what_is_not_shared_keeps_the_first_schema() { grep -a -q '"schema": "1"' good.agp; }

check older_files_are_read
check shared_arrays_are_stored_once
check what_is_not_shared_keeps_the_first_schema
check truncated_anywhere_is_refused
check trailing_bytes_are_refused
check flipped_length_is_refused
check flipped_header_is_refused
check flipped_arrays_are_refused
check every_hundredth_byte_flipped_never_crashes
check empty_model_is_refused
check zeros_are_refused
check table_as_a_model_is_refused
check program_as_a_model_is_refused
check foreign_safetensors_is_refused
check huge_header_length_is_refused
check missing_model_is_refused
check directory_as_a_model_is_refused
check model_is_found_again_after_moving
check refit_replaces_the_model_whole
check interrupted_write_leaves_the_old_model
check same_seed_same_file_but_for_the_clock
check info_is_json_with_the_promised_names
finish
