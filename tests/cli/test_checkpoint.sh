# A run may be killed at any moment: it continues from its checkpoint to the same model, and the model file is complete.
. "$(dirname "$0")/lib.sh"
rounds=50 # of killing
[ "${ANYGP_BUILD:-release}" = release ] || rounds=12
anygp simulate --rows 1500 --inputs 3 -o train.csv
head -n 301 train.csv >few.csv
head -n 41 train.csv >test.csv
awk -F, -v OFS=, 'NR > 1 { $4 = sin(6 * $1) + $2 / 2 + $4 / 20 } 1' train.csv >uneven.csv # who is near whom depends on length-scales
steps=(--model fitc+ --inducing 60 --blocks 10)

# Less than so many milliseconds; RANDOM has been given a seed.
pause() {
    local k=$((RANDOM % $1))
    sleep "0.$(printf '%03d' $k)"
}

# Begins a fit and waits until it has written a checkpoint it did not find there, or is over.  It writes one whenever it can,
# which makes it slow enough to be killed in time on any machine.
begin() { # MODEL DATA OPTIONS...
    local before
    before=$(stat -c %i "$1.checkpoint" 2>/dev/null)
    "$ANYGP" fit "$2" -o "$1" --threads 1 --checkpoint 0s "${@:3}" >"$said/out" 2>"$said/err" </dev/null &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ "$(stat -c %i "$1.checkpoint" 2>/dev/null)" = "$before" ]; do sleep 0.01; done
}
# Kills it some time later; whether it was still there.
kill_later() { # MILLISECONDS
    local status=0
    pause "$1"
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null || status=$?
    [ $status = 0 ] || [ $status = 137 ] || { cat "$said/err"; exit 1; }
    [ $status = 137 ]
}

# The objective and the leave-one-out scores, digit by digit.
scored() { anygp info "$1" --json | sed -n '/"leave_one_out": {/,/}/p; /"value":/p'; } # MODEL
# Killed up to three times and resumed each time: the same bits and scores as of a run that was left alone.
killed_and_resumed_is_left_alone() { # DATA OPTIONS...
    local k most kills=0 resume=()
    RANDOM=20
    anygp fit "$1" -q -o alone.agp --threads 1 "${@:2}" >/dev/null && anygp predict alone.agp test.csv >alone.csv || return 1
    for most in 100 30 9 2; do # sooner where the run is over before it is killed
        rm -f r.agp r.agp.checkpoint
        for k in 1 2 3; do
            begin r.agp "$@" "${resume[@]}"
            kill_later $most || break
            [ -e r.agp.checkpoint ] || break # killed when all was written
            kills=$((kills + 1)) resume=(--resume)
        done
        [ $kills = 0 ] || break
    done
    [ $kills -gt 0 ] || { echo "ended before it was killed"; return 1; }
    [ $k = 3 ] && [ $kills = 3 ] && { anygp fit "$1" -q -o r.agp --threads 1 --resume "${@:2}" >/dev/null || return 1; }
    scored alone.agp >alone.scores && scored r.agp | diff - alone.scores && anygp predict r.agp test.csv | cmp - alone.csv && [ ! -e r.agp.checkpoint ]
}
left_out() { grep -q '"leave_one_out": {' alone.scores && grep -q '"rmse":' alone.scores || { echo "no leave-one-out scores"; return 1; }; } # the run above had such scores
batch_goes_on_to_the_same_bits() { killed_and_resumed_is_left_alone train.csv --model dtc --inducing 80 --restarts 6 --iters 80; }
learned_inducing_inputs_go_on_to_the_same_bits() { killed_and_resumed_is_left_alone train.csv --model pitc --inducing 30 --fix none --iters 40; }
steps_that_learn_go_on_to_the_same_bits() { killed_and_resumed_is_left_alone train.csv "${steps[@]}" --iters 900; }
steps_with_given_sizes_go_on_to_the_same_bits() { killed_and_resumed_is_left_alone train.csv --model pic+ --inducing 40 --optimizer sga --rho 1e-5 --fix all --iters 900; }
batch_and_then_steps_go_on_to_the_same_bits() { killed_and_resumed_is_left_alone train.csv "${steps[@]}" --learn batch --iters 400; }
directions_go_on_to_the_same_bits() { killed_and_resumed_is_left_alone train.csv --model exact+ --iters 30; }
iteration_goes_on_to_the_same_bits() { killed_and_resumed_is_left_alone few.csv --model exact --solver cg --restarts 2; }
exact_goes_on_to_the_same_bits() { killed_and_resumed_is_left_alone few.csv --model exact --restarts 3; }
# Neighbours are those of an earlier evaluation.
neighbours_go_on_to_the_same_bits() { killed_and_resumed_is_left_alone uneven.csv --model vecchia --neighbors 10 --inducing 20 --restarts 3 --iters 40; }
steps_over_neighbours_go_on_to_the_same_bits() { killed_and_resumed_is_left_alone uneven.csv --model vecchia+ --neighbors 10 --iters 300; }
variational_neighbours_go_on_to_the_same_bits() { killed_and_resumed_is_left_alone few.csv --model vnngp --likelihood studentt --neighbors 6 --iters 60; }
chains_of_blocks_go_on_to_the_same_bits() {
    killed_and_resumed_is_left_alone few.csv --model 'lma(order=2)' --inducing 20 --blocks 8 --restarts 2 --iters 60 && killed_and_resumed_is_left_alone few.csv --model lma+ --inducing 20 --blocks 8 --sample 3 --iters 400
}
levels_go_on_to_the_same_bits() {
    killed_and_resumed_is_left_alone few.csv --model hier --blocks 8 --restarts 2 --iters 40 && killed_and_resumed_is_left_alone few.csv --model hier+ --blocks 8 --sample 3 --iters 400
}
trees_go_on_to_the_same_bits() { killed_and_resumed_is_left_alone few.csv --model tree --inducing 40 --blocks 8 --restarts 2 --iters 60; }
patches_go_on_to_the_same_bits() { killed_and_resumed_is_left_alone few.csv --model patchwork --blocks 4 --restarts 2 --iters 40; }
nested_experts_go_on_to_the_same_bits() {
    killed_and_resumed_is_left_alone few.csv --model npae --blocks 8 --restarts 2 --iters 60 && killed_and_resumed_is_left_alone few.csv --model npae+ --blocks 8 --sample 3 --iters 300
}
experts_go_on_to_the_same_bits() { killed_and_resumed_is_left_alone train.csv --model nle --experts own --blocks 12 --iters 200; }
steps_over_experts_go_on_to_the_same_bits() { killed_and_resumed_is_left_alone few.csv --model rbcm+ --blocks 10 --sample 2 --iters 300; }
mixtures_go_on_to_the_same_bits() {
    killed_and_resumed_is_left_alone few.csv --model moe --blocks 3 --inducing 10 --batch 100 --iters 200 &&
        killed_and_resumed_is_left_alone few.csv --model 'moe(gate=gp)' --blocks 3 --inducing 10 --batch 100 --iters 100
}
# It merges experts at steps 20, 30 and 45.
merges_go_on_to_the_same_bits() { killed_and_resumed_is_left_alone few.csv --model 'moe(gate=stick)' --inducing 10 --batch 100 --iters 100; }
# Calibration too comes from these residuals.
leave_one_out_scores_go_on_with_the_run() {
    local m
    for m in vecchia nene nle rbcm; do killed_and_resumed_is_left_alone train.csv --model $m --neighbors 8 --blocks 8 --restarts 2 --iters 40 --calibrate loo && left_out || { echo "$m"; return 1; }; done
    for m in vecchia+ nene+ nle+ grbcm+; do killed_and_resumed_is_left_alone few.csv --model $m --neighbors 8 --blocks 8 --sample 3 --iters 300 --calibrate local && left_out || { echo "$m"; return 1; }; done
}

# One model file all the time, overwritten by run after run.  What the last kills left is gone after the next run.
model_file_is_whole_whenever_the_run_is_killed() {
    local k resume=()
    RANDOM=21
    rm -f k.agp k.agp.checkpoint
    for k in $(seq $rounds); do
        begin k.agp few.csv "${steps[@]}" --iters 100000000 --checkpoint 0.001s "${resume[@]}"
        kill_later 60 || { echo "round $k: not killed"; cat "$said/err"; return 1; }
        resume=(--resume)
        [ ! -e k.agp ] || { anygp info k.agp >/dev/null && anygp predict k.agp test.csv >p.csv && finite p.csv && [ "$(wc -l <p.csv)" = 41 ]; } || { echo "round $k"; return 1; }
    done
    [ -e k.agp ] || return 1
    begin k.agp few.csv "${steps[@]}" --iters 100000000 --resume && kill -INT $pid && wait $pid || return 1
    ls k.agp*
    [ "$(echo k.agp*)" = 'k.agp k.agp.checkpoint' ] && anygp info k.agp --json | grep -q '"status": "interrupted"'
}

checkpoint_is_gone_after_a_run_that_ended() {
    anygp fit few.csv -q -o e.agp --threads 1 "${steps[@]}" --iters 1200 --checkpoint 0.01s >/dev/null && [ "$(ls e.agp*)" = e.agp ]
}
# It can go on, also for longer than was said at first.
checkpoint_stays_after_a_run_that_was_stopped() {
    local resume
    for resume in '' --resume; do
        begin s.agp few.csv "${steps[@]}" --iters 100000000 $resume
        kill -INT $pid
        wait $pid && grep -q 'stopped; wrote' "$said/out" && [ -e s.agp.checkpoint ] || { cat "$said/err"; return 1; }
    done
    anygp fit few.csv -q -o s.agp "${steps[@]}" --iters 20 --resume >/dev/null && [ "$(ls s.agp*)" = s.agp ]
}

# A checkpoint to be refused, and the options of its run.
stopped() { # MODEL
    if [ ! -e saved ]; then
        "$ANYGP" fit few.csv -q -o saved.agp "${steps[@]}" --iters 100000000 --checkpoint 0s >"$said/out" 2>"$said/err" &
        while kill -0 $! 2>/dev/null && [ ! -e saved.agp.checkpoint ]; do sleep 0.02; done
        kill -INT $! && wait $! && cp saved.agp.checkpoint saved || return 1
    fi
    cp saved "$1.checkpoint"
}
no_checkpoint_is_said() { refuses 'none.agp.checkpoint cannot be opened; start without --resume' fit few.csv -q -o none.agp "${steps[@]}" --resume; }
checkpoint_of_another_run_is_refused() {
    stopped o.agp || return 1
    refuses 'other settings or other data' fit few.csv -q -o o.agp "${steps[@]}" --kernel rbf --resume && refuses 'other settings or other data' fit few.csv -q -o o.agp "${steps[@]}" --seed 4 --resume &&
        refuses 'other settings or other data' fit few.csv -q -o o.agp --model dtc --resume && refuses 'other settings or other data' fit train.csv -q -o o.agp "${steps[@]}" --resume &&
        refuses 'other settings or other data' fit few.csv -q -o o.agp --resume
}
checkpoint_of_other_targets_is_refused() {
    awk -F, -v OFS=, 'NR > 1 { $4 += NR % 2 } { print }' few.csv >other.csv
    stopped o.agp && refuses 'other settings or other data' fit other.csv -q -o o.agp "${steps[@]}" --resume
}
# In memory and out of core, models over blocks and exact: other cells, other rows, rows in another order, another category.
checkpoint_of_other_inputs_is_refused() {
    awk -F, -v OFS=, 'NR == 9 { $2 += 1e-9 } { print }' few.csv >other.csv
    awk 'NR == 3 { held = $0; next } { print } NR == 4 { print held }' few.csv >order.csv
    stopped o.agp && refuses 'other settings or other data' fit other.csv -q -o o.agp "${steps[@]}" --resume &&
        refuses 'other settings or other data' fit order.csv -q -o o.agp "${steps[@]}" --resume || return 1
    anygp simulate --rows 20000 --inputs 3 --features 50 -o big.csv && anygp convert big.csv big.npy || return 1
    awk -F, -v OFS=, 'NR == 15000 { $2 += 1e-9 } { print }' big.csv >change.csv && anygp convert change.csv change.npy || return 1
    begin b.agp big.npy "${steps[@]}" --iters 100000000 --memory 2M && kill -INT $pid && wait $pid || { cat "$said/err"; return 1; }
    refuses 'other settings or other data' fit change.npy -q -o b.agp "${steps[@]}" --memory 2M --resume || return 1
    anygp fit big.csv -q -o b.agp "${steps[@]}" --iters 1 --resume >/dev/null || return 1
    begin x.agp few.csv --model exact --restarts 1000 && kill -INT $pid && wait $pid || return 1
    refuses 'other settings or other data' fit other.csv -q -o x.agp --model exact --restarts 1000 --threads 1 --resume || return 1
    awk -F, -v OFS=, '{ print (NR == 1 ? "kind" : NR % 2 ? "red" : "blue"), $0 }' few.csv >text.csv
    sed 's/red/green/' text.csv >texts.csv
    begin t.agp text.csv "${steps[@]}" --iters 100000000 && kill -INT $pid && wait $pid || return 1
    refuses 'other settings or other data' fit texts.csv -q -o t.agp "${steps[@]}" --resume
}
damaged_checkpoint_is_refused() {
    local size k
    RANDOM=22
    stopped d.agp || return 1
    size=$(stat -c %s saved)
    : >d.agp.checkpoint && refuses 'd.agp.checkpoint is not a checkpoint' fit few.csv -q -o d.agp "${steps[@]}" --resume || return 1
    cp few.csv d.agp.checkpoint && refuses 'd.agp.checkpoint is not a checkpoint' fit few.csv -q -o d.agp "${steps[@]}" --resume || return 1
    for k in 1 2 3 4; do
        head -c $((RANDOM * 16 % (size - 20) + 20)) saved >d.agp.checkpoint && refuses 'd.agp.checkpoint is damaged' fit few.csv -q -o d.agp "${steps[@]}" --resume || return 1
        cp saved d.agp.checkpoint && printf '\377\376' | dd of=d.agp.checkpoint bs=1 seek=$((RANDOM * 16 % (size - 20) + 16)) conv=notrunc 2>/dev/null || return 1
        refuses 'd.agp.checkpoint is damaged' fit few.csv -q -o d.agp "${steps[@]}" --resume || return 1
    done
}
# No room for a checkpoint: said once, and the model is the one of a run without checkpoints.
checkpoint_that_cannot_be_written_is_said() { # what stands in its place
    anygp fit few.csv -q -o free.agp --threads 1 "${steps[@]}" --iters 300 >/dev/null || return 1
    anygp fit few.csv -q -o full.agp --threads 1 "${steps[@]}" --iters 300 --checkpoint 0s >/dev/null 2>"$said/err" || { cat "$said/err"; return 1; }
    cat "$said/err"
    [ "$(grep -c 'warning: training goes on without a checkpoint' "$said/err")" = 1 ] && [ "$(wc -l <"$said/err")" = 1 ] && grep -q "full.agp.checkpoint\|$1" "$said/err" || return 1
    anygp predict free.agp test.csv >p.csv && anygp predict full.agp test.csv | cmp - p.csv
}
directory_in_place_of_the_checkpoint_is_said() {
    mkdir full.agp.checkpoint && checkpoint_that_cannot_be_written_is_said full.agp.checkpoint && rmdir full.agp.checkpoint
}
full_disk_is_said() {
    [ -w /dev/full ] || return 0
    ln -s /dev/full full.agp.checkpoint && checkpoint_that_cannot_be_written_is_said /dev/full && rm -f full.agp.checkpoint
}
# The folder goes while a run of each kind is on, and comes back before it ends, or does not.
runs_outlive_their_folder() {
    local options=(--inducing 20 --iters 100000000 --checkpoint 0.01s -q) model status end
    for model in svgp svdgp solve odvgp ivsgpr fitc+ vfe; do
        for end in back gone; do
            [ $end = back ] || [[ $model = svgp || $model = fitc+ || $model = vfe ]] || continue
            rm -rf folder away && mkdir folder
            [ $model = vfe ] && options=(--inducing 100 --iters 100000 --restarts 1000 --checkpoint 0.01s -q)
            begin folder/m.agp few.csv --model $model "${options[@]}"
            mv folder away
            while kill -0 $pid 2>/dev/null && ! [ -s "$said/err" ]; do sleep 0.01; done
            [ $end = gone ] || mv away folder
            kill -INT $pid
            status=0
            wait $pid || status=$?
            echo "$model, $end: $status" && cat "$said/err"
            grep -q 'warning: training goes on without a checkpoint' "$said/err" || return 1
            if [ $end = back ]; then
                [ $status = 0 ] && [ "$(grep -vc 'the fit explains next to nothing' "$said/err")" = 1 ] && anygp predict folder/m.agp test.csv >p.csv && finite p.csv || return 1
            else
                [ $status = 1 ] && [ "$(wc -l <"$said/err")" = 2 ] && grep -q 'folder/m.agp cannot be written: No such file or directory; make its directory first' "$said/err" || return 1
            fi
        done
    done
}
# Two names for each of them.
checkpoint_holds_any_number_of_classes() {
    awk 'BEGIN { print "x,class"; for (i = 0; i < 520; i++) print i / 520 ",c" i }' >classes.csv
    anygp fit classes.csv -q -o c.agp --likelihood softmax --model svgp --inducing 3 --batch 32 --iters 3 --checkpoint 0s >"$said/out" 2>"$said/err" || { cat "$said/err"; return 1; }
    ! grep -q checkpoint "$said/err" && anygp info c.agp >/dev/null
}

# Also where the next one was not due for long; nothing is learned, so that no search for a start uses the time up.
a_run_out_of_time_leaves_a_checkpoint() {
    local options=(--model svgp --fix all --inducing 10 --batch 16 --iters 100000000 --time 0.3s --checkpoint 1h)
    anygp fit train.csv -q -o late.agp "${options[@]}" >/dev/null && [ -s late.agp.checkpoint ] &&
        anygp fit train.csv -q -o late.agp "${options[@]}" --resume >/dev/null && [ -s late.agp.checkpoint ] && anygp info late.agp >/dev/null
}

checkpoints_of_a_fit_with_nothing_to_learn() {
    anygp fit train.csv -q -o m.agp --model dtc --fix all --inducing 10 --checkpoint 0s >/dev/null && anygp info m.agp >/dev/null &&
        anygp fit train.csv -q -o m.agp --model 'combine(dtc=0.3,fitc=0.7)' --inducing 10 --checkpoint 0s >/dev/null && anygp info m.agp >/dev/null
}
check checkpoints_of_a_fit_with_nothing_to_learn
check batch_goes_on_to_the_same_bits
check learned_inducing_inputs_go_on_to_the_same_bits
check steps_that_learn_go_on_to_the_same_bits
check steps_with_given_sizes_go_on_to_the_same_bits
check batch_and_then_steps_go_on_to_the_same_bits
check directions_go_on_to_the_same_bits
check exact_goes_on_to_the_same_bits
check iteration_goes_on_to_the_same_bits
check neighbours_go_on_to_the_same_bits
check steps_over_neighbours_go_on_to_the_same_bits
check variational_neighbours_go_on_to_the_same_bits
check chains_of_blocks_go_on_to_the_same_bits
check levels_go_on_to_the_same_bits
check trees_go_on_to_the_same_bits
check patches_go_on_to_the_same_bits
check nested_experts_go_on_to_the_same_bits
check leave_one_out_scores_go_on_with_the_run
check experts_go_on_to_the_same_bits
check steps_over_experts_go_on_to_the_same_bits
check mixtures_go_on_to_the_same_bits
check merges_go_on_to_the_same_bits
check model_file_is_whole_whenever_the_run_is_killed
check checkpoint_is_gone_after_a_run_that_ended
check checkpoint_stays_after_a_run_that_was_stopped
check a_run_out_of_time_leaves_a_checkpoint
check no_checkpoint_is_said
check checkpoint_of_another_run_is_refused
check checkpoint_of_other_targets_is_refused
check checkpoint_of_other_inputs_is_refused
check damaged_checkpoint_is_refused
check directory_in_place_of_the_checkpoint_is_said
check full_disk_is_said
check runs_outlive_their_folder
check checkpoint_holds_any_number_of_classes
finish
