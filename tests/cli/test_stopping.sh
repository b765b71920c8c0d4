# Training may be stopped at any moment and leaves a model that can be used.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 700 --inputs 3 -o train.csv
long=(--restarts 1000 --iters 100000) # hours, were it not stopped

usable() { anygp info "$1" >/dev/null && anygp predict "$1" train.csv >"$said/p" && finite "$said/p" && [ "$(wc -l <"$said/p")" = 701 ]; }

# Starts a long fit in the background, and waits until it catches SIGINT (bit 2 of the kernel's mask).
begin() { # MODEL
    local tries mask
    "$ANYGP" fit train.csv -o "$1" "${long[@]}" >"$said/out" 2>"$said/err" </dev/null &
    pid=$!
    for tries in $(seq 200); do
        mask=$(sed -n 's/^SigCgt:.*\(.\)$/\1/p' "/proc/$pid/status")
        [[ $mask == [2367abef] ]] && sleep 0.3 && return
        sleep 0.05
    done
    echo "does not catch SIGINT"
    return 1
}

time_limit_leaves_a_model() {
    anygp fit train.csv -o m.agp "${long[@]}" --time 0.5s >"$said/out" && grep -q 'time limit reached' "$said/out" && usable m.agp
}
time_limit_is_recorded() { anygp info m.agp --json | grep -q '"status": ".*time'; }
no_time_at_all_leaves_a_model() { anygp fit train.csv -q -o m.agp --time 0s >/dev/null && usable m.agp; }
no_iterations_leave_a_model() { anygp fit train.csv -q -o m.agp --iters 0 >/dev/null && usable m.agp; }
time_that_is_none_is_refused() { refuses 'time' fit train.csv -o n.agp --time soon; }
interrupt_gives_status_0_and_a_model() {
    begin i.agp
    kill -INT $pid
    wait $pid || { echo "status $?"; cat "$said/err"; return 1; }
    grep -q 'stopped; wrote the best model so far' "$said/out" && usable i.agp
}
terminate_gives_status_0_and_a_model() {
    begin t.agp
    kill -TERM $pid
    wait $pid || { echo "status $?"; return 1; }
    usable t.agp
}
second_interrupt_ends_at_once_and_leaves_no_half_model() {
    begin two.agp
    kill -INT $pid
    kill -INT $pid 2>/dev/null
    wait $pid
    # Either the first was already answered, and the model is there, or nothing is.
    [ -z "$(find . -name 'two.agp?*')" ] && { [ ! -e two.agp ] || usable two.agp; }
}
killed_program_leaves_the_old_model() {
    anygp fit train.csv -q -o k.agp --iters 1 >/dev/null && cp k.agp before.agp
    begin k.agp
    kill -KILL $pid
    wait $pid 2>/dev/null
    cmp k.agp before.agp
}
progress_is_quiet_when_not_a_terminal() {
    anygp fit train.csv -o m.agp --model exact --iters 3 2>"$said/err" >/dev/null && [ ! -s "$said/err" ]
}

check time_limit_leaves_a_model
check time_limit_is_recorded
check no_time_at_all_leaves_a_model
check no_iterations_leave_a_model
check time_that_is_none_is_refused
check interrupt_gives_status_0_and_a_model
check terminate_gives_status_0_and_a_model
check second_interrupt_ends_at_once_and_leaves_no_half_model
check killed_program_leaves_the_old_model
check progress_is_quiet_when_not_a_terminal
finish
