# Failures of the system are reported in one sentence, and leave nothing behind.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 3000 --inputs 5 -o train.csv
anygp simulate --rows 200000 --inputs 3 --features 10 -o long.csv
head -n 400 train.csv >small.csv
anygp fit small.csv -q -o m.agp --iters 2 >/dev/null

# The same as refuses(), for what a shell function sets up around the program.
fails() { # STATUS PATTERN FUNCTION...
    local wanted=$1 pattern=$2 status=0 before
    shift 2
    before=$(snapshot)
    "$@" >"$said/out" 2>"$said/err" </dev/null || status=$?
    cat "$said/err"
    [ $status = "$wanted" ] || { echo "status $status, not $wanted"; return 1; }
    [ "$(wc -l <"$said/err")" = 1 ] && grep -qE -e "$pattern" "$said/err" || { echo "not one line that matches: $pattern"; return 1; }
    [ "$before" = "$(snapshot)" ] || { echo "a file was written or left behind"; return 1; }
}

within_blocks() { ( ulimit -f "$1" && shift && "$ANYGP" "$@" ) }
file_size_limits_are_told() {
    local out
    for out in t.h5 t.npy t.csv t.csv.gz; do
        fails 1 'cannot be written: File too large; raise the limit' within_blocks 20 convert long.csv $out || return 1
    done
    fails 1 'File too large' within_blocks 20 predict m.agp train.csv -o p.csv && fails 1 'File too large' within_blocks 2 fit small.csv -q -o n.agp --iters 1 &&
        fails 1 'standard output cannot be written|File too large' to_limited_output
}
to_limited_output() { ( ulimit -f 20 && "$ANYGP" predict m.agp train.csv >"$said/limited" ); }

on_full_disk() { "$ANYGP" convert long.csv full/t.h5; }
full_disks_are_told() { # needs the right to mount
    mkdir full && mount -t tmpfs -o size=256k none full 2>/dev/null || return 0
    fails 1 'full/t.h5 cannot be written: No space left' on_full_disk
    local status=$?
    umount full
    return $status
}

# A warning goes to standard error, never into a file that took its number.
closed_standard_files_stay_apart() {
    awk -F, 'NR == 1 { print "k," $0; next } { print (NR % 2 ? "c," : "d,") $0 }' long.csv >all.csv && head -n 50 all.csv >text.csv
    anygp fit text.csv -q -o text.agp --iters 1 >/dev/null && { cat all.csv; tail -n 1 all.csv | sed 's/^[cd],/new,/'; } >unseen.csv || return 1
    anygp predict text.agp unseen.csv -o open.csv 2>"$said/err" && grep -q 'warning' "$said/err" || return 1
    "$ANYGP" predict text.agp unseen.csv -o closed.csv <&- 2>&- && cmp open.csv closed.csv &&
        "$ANYGP" predict text.agp unseen.csv -o closed.csv <&- >&- 2>&- && cmp open.csv closed.csv
}
closed_standard_input_is_told() { fails 1 'standard input cannot be read' reads_closed; }
reads_closed() { "$ANYGP" predict m.agp - -o p.csv <&-; }
closed_standard_output_is_told() { fails 1 'standard output cannot be written' writes_closed; }
writes_closed() { "$ANYGP" predict m.agp small.csv >&-; }

# OpenBLAS waits forever for address space it does not get.
in_address_space() { ( ulimit -v "$1" && shift && exec timeout -s KILL 60 "$ANYGP" "$@" ) }
address_space_limits_are_told() {
    [ "${ANYGP_BUILD:-release}" = asan ] && return 0 # which needs terabytes of it
    local megabytes status command
    local -x OMP_NUM_THREADS=2
    fails 1 '80 MB of address space are allowed.*threads of linear algebra need 684 MB.*raise the limit' in_address_space 81920 info m.agp || return 1
    fails 1 'set OMP_NUM_THREADS=1' in_address_space 409600 info m.agp || return 1
    for megabytes in 50 150 500 700 2000; do
        for command in 'fit small.csv -q -o v.agp --iters 1' 'predict m.agp small.csv -o v.csv' 'convert train.csv v.h5' 'fit train.csv -q -o v.agp --model dtc --inducing 50 --iters 1'; do
            status=0
            in_address_space $((1024 * megabytes)) $command >"$said/out" 2>"$said/err" || status=$?
            [ $status = 0 ] || [ $status = 1 ] || [ $megabytes -lt 80 ] || { echo "$megabytes MB: status $status: $command"; cat "$said/err"; return 1; }
            [ $status = 0 ] || [ "$(wc -l <"$said/err")" = 1 ] || { echo "$megabytes MB: no sentence: $command"; cat "$said/err"; return 1; }
        done
    done
    [ $status = 0 ]
}

# Runs the program on a pipe that delivers a part of the table and then nothing more, and stops it when that part was taken.
stopped_while_reading() { # SIGNAL STATUS ARGUMENTS...
    local signal=$1 wanted=$2 status=0 before
    shift 2
    rm -f "$said/pipe" && mkfifo "$said/pipe"
    before=$(snapshot)
    "$ANYGP" "$@" <"$said/pipe" >"$said/out" 2>"$said/err" &
    local pid=$!
    exec 9>"$said/pipe"
    cat long.csv >&9 & # more than a pipe holds: its end means that the program reads
    wait $!
    kill -"$signal" $pid
    wait $pid || status=$?
    exec 9>&-
    cat "$said/err"
    [ $status = "$wanted" ] || { echo "status $status, not $wanted: anygp $*"; return 1; }
    [ "$(wc -l <"$said/err")" = 1 ] && grep -q 'stopped before there was a result' "$said/err" || { echo "not one sentence: anygp $*"; return 1; }
    [ "$before" = "$(snapshot)" ] || { echo "a file was left behind: anygp $*"; return 1; }
}
reading_can_be_stopped() {
    anygp fit long.csv -q -o big.agp --model dtc --inducing 10 --iters 1 >/dev/null || return 1
    local out
    for out in t.h5 t.csv t.npy; do stopped_while_reading INT 130 convert - $out || return 1; done
    stopped_while_reading TERM 143 convert - t.csv && stopped_while_reading TERM 143 fit - -o n.agp && stopped_while_reading INT 130 fit - -o n.agp --model dtc &&
        stopped_while_reading INT 130 predict big.agp - -o p.csv && stopped_while_reading TERM 143 predict big.agp - -o p.csv &&
        stopped_while_reading INT 130 eval big.agp - && stopped_while_reading TERM 143 update big.agp - -o b2.agp && stopped_while_reading TERM 143 update big.agp -
}

# The same fit by every copy of the vector code that the processor has; what differs is rounding.
older_vector_code_can_be_chosen() {
    local level
    for level in avx512 avx2 baseline; do
        ANYGP_SIMD=$level anygp predict m.agp small.csv -o $level.csv || return 1
        paste -d, $level.csv avx512.csv | awk -F, 'NR > 1 && (($1 - $5) ^ 2 > 1e-14 * $2 || ($2 / $6 - 1) ^ 2 > 1e-12) { bad = 1 } END { exit bad || NR < 2 }' || return 1
    done
    ANYGP_SIMD=avx3 refuses 'ANYGP_SIMD=avx3 .*use avx512, avx2 or baseline' predict m.agp small.csv
}

check older_vector_code_can_be_chosen
check file_size_limits_are_told
check full_disks_are_told
check closed_standard_files_stay_apart
check closed_standard_input_is_told
check closed_standard_output_is_told
check address_space_limits_are_told
check reading_can_be_stopped
finish
