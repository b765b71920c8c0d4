# The trace is in its file while the run goes on, and whole lines are left of it however the run ends.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 300 -o train.csv
steps=(--model svgp --inducing 8 --batch 30 --valid 0.2 --threads 1)

# Lines of six numbers, some of which may be missing, whose iterations grow; the last one is $2 if that is given.
is_a_trace() { # FILE [LAST]
    awk -F, -v last="${2-}" 'NR == 1 { if ($0 != "iteration,seconds,objective,rmse,mnlp,mell") exit bad = 1; next }
        NF != 6 || (NR > 2 && $1 <= before) { print NR ": " $0; exit bad = 1 } { before = $1 }
        END { if (!bad && NR < 2 || last != "" && before != last) { print "ends at " before; bad = 1 } exit bad }' "$1"
}

trace_grows_while_the_run_goes_on() {
    local pid
    "$ANYGP" fit train.csv -q -o live.agp "${steps[@]}" --iters 100000000 --checkpoint 0s --trace live.csv >/dev/null 2>"$said/err" </dev/null &
    pid=$!
    while kill -0 $pid 2>/dev/null && { [ ! -s live.agp.checkpoint ] || [ "$(wc -l <live.csv 2>/dev/null || echo 0)" -lt 6 ]; }; do sleep 0.01; done
    [ "$(wc -l <live.csv)" -ge 6 ] && kill -KILL $pid || { cat "$said/err"; return 1; }
    wait $pid 2>/dev/null
    is_a_trace live.csv
}
resumed_run_goes_on_in_the_trace() {
    local first last
    first=$(sed -n 2,4p live.csv) last=$(tail -n 1 live.csv | cut -d, -f 1)
    printf '%s' "$((last + 1)),0.5,-" >>live.csv # a line that was cut short
    anygp fit train.csv -q -o live.agp "${steps[@]}" --iters $((last + 20)) --checkpoint 0s --resume --trace live.csv >/dev/null || return 1
    [ "$first" = "$(sed -n 2,4p live.csv)" ] && is_a_trace live.csv $((last + 20))
}
new_run_begins_a_new_trace() {
    anygp fit train.csv -q -o new.agp "${steps[@]}" --iters 3 --trace live.csv >/dev/null && is_a_trace live.csv 3 && [ "$(wc -l <live.csv)" = 5 ]
}
# Of several sizes that were tried the trace is that of the one that was kept.
trace_in_the_end_is_that_of_the_model() {
    anygp fit train.csv -q -o grown.agp --model vfe --inducing auto --iters 3 --time 5s --trace grown.jsonl >/dev/null || return 1
    { anygp info grown.agp --json | tr -d ' \n'; echo; } | sed 's/.*"trace":{"iteration":\[\([0-9,]*\)\].*/\1/' | tr , '\n' | sed '/^$/d' | diff - <(sed 's/.*"iteration": \([0-9]*\).*/\1/' grown.jsonl)
}
fit_that_fails_leaves_no_trace() { refuses 'there is no column' fit train.csv -o no.agp --target nothing --trace no.csv; }
trace_that_cannot_be_written_is_said() {
    [ -w /dev/full ] || return 0
    anygp fit train.csv -o full.agp --model exact --iters 2 --trace /dev/full >/dev/null 2>"$said/err" && grep -q 'warning: the trace is not complete: /dev/full cannot be written: No space' "$said/err"
}

check trace_grows_while_the_run_goes_on
check resumed_run_goes_on_in_the_trace
check new_run_begins_a_new_trace
check trace_in_the_end_is_that_of_the_model
check fit_that_fails_leaves_no_trace
check trace_that_cannot_be_written_is_said
finish
