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
# 60 000 rows take longer to arrange than this waits; whatever the fit is doing, there is a model.
interrupted_while_rows_are_put_in_order_there_is_a_model() {
    anygp simulate --rows 60000 --inputs 2 -o order.npy || return 1
    anygp simulate --rows 50 --inputs 2 -o near.csv
    local pid tries mask
    "$ANYGP" fit order.npy -o o.agp --model vecchia --valid 0 --kernel matern32 --fix all --threads 1 >"$said/out" 2>"$said/err" </dev/null &
    pid=$!
    for tries in $(seq 400); do
        mask=$(sed -n 's/^SigCgt:.*\(.\)$/\1/p' "/proc/$pid/status")
        [[ $mask == [2367abef] ]] && break
        sleep 0.02
    done
    sleep 0.1
    kill -INT $pid
    wait $pid && anygp predict o.agp near.csv >"$said/p" && finite "$said/p" || { cat "$said/err"; return 1; }
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

# No time: every model of neighbours, parts and experts ends soon, with a model and a sentence on what was cut.
anygp simulate --rows 9000 --inputs 2 --kernel 'matern32(lengthscale=0.1)' -o many.csv
many_usable() { anygp predict "$1" train2.csv >"$said/p" && finite "$said/p"; }
learns_from_some_rows() { # MODEL
    anygp fit many.csv -o m.agp --model "$1" --time 0.2s --valid 0 >"$said/out" 2>"$said/err" &&
        grep -q 'there was time .* of the 9000 distinct rows only' "$said/err" && many_usable m.agp
}
models_of_neighbours_learn_from_the_rows_there_is_time_for() {
    learns_from_some_rows vecchia && learns_from_some_rows vecchia+ && learns_from_some_rows vnngp && learns_from_some_rows vnngp+ && learns_from_some_rows nene
}
experts_make_their_factors_later() {
    anygp fit many.csv -o m.agp --model rbcm --time 0.01s --valid 0 >"$said/out" 2>"$said/err" && many_usable m.agp && grep -q 'no time for leave-one-out' "$said/err"
}
patchwork_has_fewer_places_on_borders() {
    anygp fit many.csv -o m.agp --model patchwork --time 0s --valid 0 >"$said/out" 2>"$said/err" && many_usable m.agp && grep -q 'borders of cells have' "$said/err"
}
parts_without_time_know_more_than_the_mean() { # a brief look at length-scales, and some rows of every part
    local model
    for model in nle poe tree patchwork; do
        anygp fit many.csv -q -o m.agp --model $model --time 0s --valid 0 >/dev/null 2>&1 || return 1
        anygp eval m.agp many.csv | awk -v name=$model '$1 == "nmse" { print name, $2; good = $2 < 0.3 } END { exit !good }' || return 1
    done
}
no_objective_is_not_0() {
    anygp fit many.csv -q -o m.agp --model rbcm --time 0.01s --valid 0 >/dev/null 2>&1 &&
        anygp info m.agp | grep -q 'objective  *none: the run ended before the log evidence' &&
        anygp info m.agp --json | grep -q '"value": null' && anygp update m.agp train2.csv -o u.agp >/dev/null && anygp info u.agp >/dev/null
}
head -n 20 many.csv >train2.csv

check models_of_neighbours_learn_from_the_rows_there_is_time_for
check experts_make_their_factors_later
check patchwork_has_fewer_places_on_borders
check parts_without_time_know_more_than_the_mean
check no_objective_is_not_0
check time_limit_leaves_a_model
check time_limit_is_recorded
check no_time_at_all_leaves_a_model
check no_iterations_leave_a_model
check time_that_is_none_is_refused
check interrupt_gives_status_0_and_a_model
check interrupted_while_rows_are_put_in_order_there_is_a_model
check terminate_gives_status_0_and_a_model
check second_interrupt_ends_at_once_and_leaves_no_half_model
check killed_program_leaves_the_old_model
check progress_is_quiet_when_not_a_terminal
finish
