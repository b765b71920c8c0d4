# One run over several processes: who speaks, who writes, how it ends, and that the numbers are those of
# one.  For the MPI build; on others there is nothing.
. "$(dirname "$0")/lib.sh"
[ "${ANYGP_BUILD:-mpi}" = mpi ] || finish

ANYGP=${ANYGP/release/mpi} # where this file is run by itself
unset OMP_WAIT_POLICY # so that the program starts itself again, before MPI
anygp simulate --rows 200 --inputs 2 -o train.csv
anygp simulate --rows 700 --inputs 3 -o long.csv
long=(--model exact --restarts 1000 --iters 100000) # hours, were it not stopped

ranks() { # COUNT COMMAND...
    mpirun --oversubscribe --allow-run-as-root --timeout 300 -n "$@" >"$said/out" 2>"$said/err" </dev/null
}
# Rank 0 speaks to rank0.err.  mpirun kills at once after SIGTERM, so that of a run it ends rank 0 says its sentence or nothing.
cat >speaks.sh <<'END'
[ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec "$@" 2>rank0.err
exec "$@"
END
lost='^anygp: another process of the run ended'
said_at_most() { # PATTERN: only rank 0 printed, and at most one sentence, of this pattern
    [ "$(sentences)" = 0 ] && [ "$(grep -c '^anygp: ' rank0.err)" = "$(grep -c "$1" rank0.err)" ] && [ "$(grep -c "$1" rank0.err)" -le 1 ] && return
    cat "$said/err" rank0.err
    return 1
}
sentences() { grep -c '^anygp: ' "$said/err"; } # mpirun adds paragraphs of its own

# All processes end with status 1 and rank 0's sentence alone, and no file is made.
fails_once() { # PATTERN COUNT COMMAND...
    local pattern=$1 status=0 before
    shift
    before=$(snapshot)
    ranks "$@" || status=$?
    cat "$said/err"
    [ $status = 1 ] && [ "$(sentences)" = 1 ] && grep -q "^anygp: $pattern" "$said/err" && [ ! -s "$said/out" ] &&
        [ "$before" = "$(snapshot)" ]
}

# Begins a long fit of two, and waits until rank 0 catches SIGTERM (bit 15 of the kernel's mask); $rank0, $rank1.
begin() { # MODEL OPTIONS...
    local tries pid mask
    ranks 2 bash speaks.sh "$ANYGP" fit long.csv -o "$@" "${long[@]}" &
    run=$!
    rank0='' rank1=''
    for tries in $(seq 200); do
        for pid in $(pgrep -f "^$ANYGP fit long.csv -o $1 "); do
            mask=$(sed -n 's/^SigCgt:.*\(....\)$/\1/p' "/proc/$pid/status")
            case $(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=//p') in
                0) [[ $mask == [4567cdef]??? ]] && rank0=$pid ;;
                1) rank1=$pid ;;
            esac
        done
        [ -n "$rank0" ] && [ -n "$rank1" ] && sleep 0.3 && return
        sleep 0.05
    done
    echo "rank 0 does not catch SIGTERM"
    return 1
}

version_is_printed_once() { ranks 2 "$ANYGP" --version && [ "$(wc -l <"$said/out")" = 1 ] && [ ! -s "$said/err" ]; }
help_is_printed_once() { ranks 2 "$ANYGP" fit --help && [ "$(grep -c '^usage' "$said/out")" = 1 ]; }
program_runs_alone_without_mpirun() { anygp fit train.csv -o alone.agp --iters 5 >"$said/out" && [ "$(wc -l <"$said/out")" = 2 ]; }

rank_0_alone_writes_and_reports() {
    mkdir w && ranks 3 "$ANYGP" fit train.csv --model exact -o w/m.agp --trace w/t.csv --iters 5 || return 1
    [ "$(ls w | tr '\n' ' ')" = "m.agp t.csv " ] && [ "$(grep -c '^wrote' "$said/out")" = 1 ] && [ ! -s "$said/err" ]
}
model_is_that_of_one_process() {
    local m
    for m in w/m.agp alone.agp; do anygp predict $m train.csv >"$m.csv" || return 1; done
    close w/m.agp.csv alone.agp.csv 1e-10
}
# Ends of intervals may be near 0: differences count against the target's spread, which is about 1.
predict_around_ten() { anygp predict "$1" train.csv | awk -F, -v OFS=, -v CONVFMT=%.17g 'NR > 1 { for (i = 1; i <= NF; i++) $i += 10 } 1'; }
groups_of_neighbours_are_shared_out() {
    local n
    anygp fit train.csv --model vecchia --mean constant -o v1.agp --iters 4 --neighbors 10 >/dev/null && predict_around_ten v1.agp >v1.csv || return 1
    for n in 2 3; do
        ranks $n "$ANYGP" fit train.csv --model vecchia --mean constant -o v.agp --iters 4 --neighbors 10 && [ "$(sentences)" = 0 ] && predict_around_ten v.agp >v.csv && close v.csv v1.csv 1e-10 || return 1
    done
}
# Rank 0 cuts for all, and each expert has hyperparameters that some rank alone sees the rows of.
parts_by_evidence_and_their_own_hyperparameters_are_shared_out() {
    local options=(--model nle --partition tree --experts own --blocks 3 --iters 4)
    anygp fit train.csv "${options[@]}" -o n1.agp >/dev/null 2>&1 && predict_around_ten n1.agp >n1.csv || return 1
    ranks 2 "$ANYGP" fit train.csv "${options[@]}" -o n.agp && [ "$(sentences)" = 1 ] && grep -q '^anygp: the evidence asked for' "$said/err" && predict_around_ten n.agp >n.csv && close n.csv n1.csv 1e-10
}
# Rank 1 works in a directory of its own, where what it writes would show.
other_ranks_open_no_output() {
    cat >apart.sh <<'END'
[ "$OMPI_COMM_WORLD_RANK" = 0 ] && exec "$@"
mkdir -p apart && cd apart && ln -sf ../train.csv . && exec "$@"
END
    ranks 2 bash apart.sh "$ANYGP" fit train.csv -o m.agp --trace t.csv --iters 5 && [ -e m.agp ] && [ -e t.csv ] &&
        [ "$(ls apart)" = train.csv ]
}
predictions_are_written_once() {
    ranks 2 "$ANYGP" predict w/m.agp train.csv && [ "$(wc -l <"$said/out")" = 201 ] && [ ! -s "$said/err" ]
}
# Each rank has its share of every block, also where blocks are short, rows are bad, or have given blocks.
rows_to_predict_are_shared_out() {
    local n
    { cat long.csv; printf 'bad,1,2,3\n'; sed 1d long.csv; } >rows.csv
    anygp fit long.csv --model rbcm -o r.agp --iters 2 --blocks 4 >/dev/null 2>&1 && anygp predict r.agp rows.csv --parts --bad skip --keep x2 >one.csv 2>one.err && grep -q 'warning: 1 row' one.err || return 1
    for n in 2 3; do
        ranks $n "$ANYGP" predict r.agp rows.csv --parts --bad skip --keep x2 --memory 1M -o shared.csv && [ "$(sentences)" = 1 ] && close shared.csv one.csv 1e-9 || return 1
    done
    awk -F, -v OFS=, 'NR > 1 { $3 = $3 > 0 ? "warm" : "cold" } 1' train.csv >labels.csv
    anygp fit labels.csv --model svgp --inducing 10 --iters 20 -o labels.agp >/dev/null 2>&1 && anygp predict labels.agp labels.csv >one.csv && ranks 3 "$ANYGP" predict labels.agp labels.csv -o shared.csv && close shared.csv one.csv 1e-9
}
grids_and_draws_are_those_of_one_process() {
    anygp predict w/m.agp --grid 9x7 >one.csv && ranks 3 "$ANYGP" predict w/m.agp --grid 9x7 -o shared.csv && close shared.csv one.csv 1e-9 || return 1
    anygp predict w/m.agp train.csv --samples 2 >one.csv && ranks 2 "$ANYGP" predict w/m.agp train.csv --samples 2 -o shared.csv && cmp shared.csv one.csv
}
# The row is rank 1's; the sentence is said once, and nothing is written.
row_that_cannot_be_predicted_ends_all() {
    { head -n 151 train.csv; printf ',1,0\n%.0s' $(seq 50); } >gap.csv
    fails_once "row 151, column 'x1': the input is missing" 2 "$ANYGP" predict w/m.agp gap.csv -o gap.out
}

# Every likelihood, with exposures, texts, weights, missing targets, a transform, several targets, parts.  One function of the plane, seen in
# many ways; the last block of 151 rows is short, and has fewer rows than ranks.
awk 'BEGIN { srand(4); print "a,b,hours,w,real,count,two,three,grade,positive"
             for (i = 0; i < 151; i++) {
                 a = 4 * rand() - 2; b = 4 * rand() - 2; f = sin(2 * a) + b / 2; e = 0.5 + rand(); r = rand() + rand() + rand() - 1.5
                 print a "," b "," e "," (i % 7 ? 1 + i % 3 : 0) "," (i % 11 ? f + 0.2 * r : "") "," int(e * exp(1 + f + r / 3)) "," (f + r / 2 > 0 ? "yes" : "no") "," \
                     (f > 0.4 ? "red" : f < -0.4 ? "dark blue" : "green") "," int(2.5 + 1.2 * f) "," exp(f + 0.2 * r)
             } }' >seen.csv
# Names and values of the scores, one a line.
scores() { tr -d ' "{}' | tr ',:' '\n,'; }
scored_alike() { # RANKS TARGET OPTIONS...
    local n
    anygp fit seen.csv -q -o s.agp --target "$2" --inputs a,b --seed 1 "${@:3}" >/dev/null && anygp eval s.agp seen.csv --json --memory 1M 2>one.err | scores >one || return 1
    for n in $1; do
        ranks "$n" "$ANYGP" eval s.agp seen.csv --json --memory 1M && cmp -s one.err "$said/err" && scores <"$said/out" | close - one 1e-10 || { echo "$n ranks: $*"; cat "$said/err"; return 1; }
    done
    [ "$(wc -l <one)" -gt 5 ]
}
steps=(--model svgp --inducing 9 --batch 60 --iters 15)
scores_are_those_of_one_process() {
    scored_alike '1 2 3 4' real --model exact --iters 3 && scored_alike 3 real --model rbcm --blocks 3 --iters 3 --weights w && scored_alike 2 real --model moe --blocks 2 --inducing 9 --batch 60 --iters 10 &&
        scored_alike 3 positive --model exact --iters 3 --transform log
}
scores_of_every_likelihood_are_those_of_one_process() {
    local l seen=$(anygp likelihoods | awk 'NR > 1 && $1 != "gaussian" { print $1 }' | sort | tr '\n' ' ')
    for l in laplace studentt heteroscedastic; do scored_alike '2 3' real --likelihood $l "${steps[@]}" || return 1; done
    for l in poisson negbin; do scored_alike '2 3' count --likelihood $l --exposure hours "${steps[@]}" || return 1; done
    for l in bernoulli 'bernoulli(probit)'; do scored_alike '2 4' two --likelihood "$l" --weights w "${steps[@]}" || return 1; done
    for l in softmax robustmax; do scored_alike '2 3' three --likelihood $l "${steps[@]}" || return 1; done
    scored_alike '2 4' grade --likelihood ordinal "${steps[@]}" || return 1
    [ "$seen" = 'bernoulli heteroscedastic laplace negbin ordinal poisson robustmax softmax studentt ' ] # no likelihood is left out here
}
# The row is rank 1's.
row_that_cannot_be_scored_ends_all() {
    { head -n 151 train.csv; printf ',1,0\n%.0s' $(seq 50); } >gap.csv
    fails_once "row 151, column 'x1': the input is missing" 2 "$ANYGP" eval w/m.agp gap.csv
}
scores_of_a_pipe_are_those_of_rank_0() {
    anygp eval w/m.agp train.csv >one && mpirun --oversubscribe --allow-run-as-root --timeout 300 -n 3 "$ANYGP" eval w/m.agp - <train.csv | cmp - one
}

missing_file_ends_all_with_one_sentence() { fails_once 'gone.csv cannot be opened' 3 "$ANYGP" fit gone.csv -o g.agp; }
wrong_option_ends_all_with_one_sentence() { fails_once 'unknown option' 2 "$ANYGP" fit train.csv -o g.agp --iter 5; }
standard_input_is_refused() { fails_once 'standard input reaches only one of the 2 processes' 2 "$ANYGP" fit - -o g.agp; }

# A file that one machine lacks: the others are hours away from noticing.
failure_of_one_rank_ends_the_others() {
    local status=0
    cat >lacks.sh <<'END'
[ "$OMPI_COMM_WORLD_RANK" = 1 ] && mkdir -p empty && cd empty
exec "$@"
END
    ranks 2 bash lacks.sh "$ANYGP" fit long.csv -o l.agp "${long[@]}" || status=$?
    cat "$said/err"
    [ $status = 1 ] && grep -q '^anygp: rank 1: long.csv cannot be opened' "$said/err" && [ ! -e l.agp ]
}
killed_rank_ends_the_run() {
    begin k.agp || return 1
    kill -KILL "$rank1"
    wait $run && return 1
    said_at_most "$lost" && [ -z "$(ls k.agp* 2>/dev/null)" ]
}
# As mpirun would end it, but without the kill that follows.
ended_run_says_why() {
    begin e.agp || return 1
    kill -TERM "$rank0"
    wait $run && return 1
    said_at_most "$lost.*no model was written" && grep -q "$lost" rank0.err && [ -z "$(ls e.agp* 2>/dev/null)" ]
}
# mpirun's SIGCONT may be one that it passes on.
suspended_run_goes_on() {
    begin s.agp || return 1
    kill -STOP "$rank0" && sleep 0.2 && kill -CONT "$rank0" && sleep 0.2 || return 1
    kill -USR1 "$(ps -o ppid= -p "$rank0")"
    wait $run || { cat "$said/err" rank0.err; return 1; }
    ! grep -q '^anygp: ' rank0.err && anygp info s.agp >/dev/null
}
request_ends_training_on_all_ranks() {
    begin u.agp || return 1
    kill -USR1 "$(ps -o ppid= -p "$rank0")"
    wait $run || { cat "$said/err"; return 1; }
    grep -q 'stopped; wrote the best model so far' "$said/out" && [ "$(sentences)" = 0 ] && ! grep -q '^anygp: ' rank0.err && anygp info u.agp >/dev/null
}
# Nobody else can have died: SIGTERM is Ctrl-C, as without mpirun.
run_of_one_is_interrupted_in_order() {
    local tries pid=''
    ranks 1 "$ANYGP" fit long.csv -o i.agp "${long[@]}" &
    run=$!
    for tries in $(seq 200); do
        pid=$(pgrep -f "^$ANYGP fit long.csv -o i.agp ")
        [ -n "$pid" ] && grep -q '^SigCgt:.*[4567cdef]...$' "/proc/$pid/status" && break
        sleep 0.05
    done
    sleep 0.3
    kill -TERM "$pid"
    wait $run && grep -q 'stopped; wrote the best model so far' "$said/out" && anygp info i.agp >/dev/null
}

# ------------------------------------------------------------------------------------- sparse models

anygp simulate --rows 2000 --inputs 3 -o rows.npy

# Two files of predictions: mean and bounds to the relative tolerance $3, or that share of the standard deviation.
agree() {
    paste -d, "$1" "$2" | awk -F, -v tolerance="$3" '
        NR == 1 { half = NF / 2; next }
        { sd = sqrt($2)
          for (i = 1; i <= half; i++) {
              scale = ($i < 0 ? -$i : $i) + (i == 2 ? 0 : sd); gap = $i - $(i + half); if (gap < 0) gap = -gap
              if (!(gap <= tolerance * scale)) { print "line " NR ": " $0; exit 1 }
          } }
        END { exit !(NR == 2001) }'
}
# The same model on 1, 2, 3 and 4 ranks.
ranks_agree() { # TOLERANCE OPTIONS...
    local r
    for r in 1 2 3 4; do
        ranks $r "$ANYGP" fit rows.npy -q -o r$r.agp --inducing 30 --json "${@:2}" || { cat "$said/err"; return 1; }
        json_number value <"$said/out" >r$r.value && anygp predict r$r.agp rows.npy >r$r.csv || return 1
        close r1.value r$r.value "$1" && agree r1.csv r$r.csv "$1" || { echo "$r ranks"; return 1; }
    done
}
batch_on_any_number_of_ranks_agrees() { ranks_agree 1e-10 --model fitc --iters 3 && ranks_agree 1e-10 --model pic --iters 3 && ranks_agree 1e-8 --model ssgp --iters 2 --fix none && ranks_agree 1e-8 --model vfe --target 3 --target 2 --iters 3; }
# Each rank has its share of the tiles; the preconditioner is chosen, hyperparameters are learned, variances are corrected.
iteration_on_any_number_of_ranks_agrees() { ranks_agree 1e-6 --model exact --solver cg --iters 2; }
steps_on_any_number_of_ranks_agree() { ranks_agree 1e-10 --model dtc+ --iters 100 --fix all --blocks 20 --sample 5 && ranks_agree 1e-10 --model 'qsgp(batch=10,control=20)' --iters 20 --fix all --batch 200; }
learning_steps_on_any_number_of_ranks_agree() { ranks_agree 1e-6 --model pic+ --iters 60 --blocks 20 --sample 5 --valid 0.1; }
variational_models_on_any_number_of_ranks_agree() {
    ranks_agree 1e-6 --model svgp --iters 40 --batch 200 && ranks_agree 1e-6 --model solve --inducing 20+10 --likelihood studentt --iters 40 --batch 200 &&
        ranks_agree 1e-6 --model svdgp --inducing 100/20 --iters 20 --batch 200
}

choices_are_made_for_all_ranks() {
    ranks 3 "$ANYGP" fit train.csv -o c.agp --model auto --iters 5 && grep -q 'auto: exact, since 200 distinct rows' "$said/err" && anygp info c.agp | grep -q exact || { cat "$said/err"; return 1; }
    ranks_agree 1e-6 --model vfe --inducing auto --iters 2
}

# Whatever moment rank 0's clock says: all ranks end, and with a model.
time_limit_ends_all_ranks() {
    local limit m
    for m in pic pic+; do
        for limit in 0s 0.05s 0.4s; do
            ranks 3 "$ANYGP" fit rows.npy -o t.agp --model $m --inducing 30 --restarts 1000 --iters 100000000 --time $limit || { echo "$m $limit"; cat "$said/err"; return 1; }
            grep -q 'time limit reached' "$said/out" && anygp info t.agp >/dev/null || return 1
        done
    done
}

# Begins a long fit of rows.npy on three ranks; $rank1 and $run, once there is a checkpoint.
begin_steps() { # MODEL OPTIONS...
    local tries pid
    ranks 3 bash speaks.sh "$ANYGP" fit rows.npy -o "$@" --checkpoint 0.02s &
    run=$!
    rank1=''
    for tries in $(seq 400); do
        kill -0 $run 2>/dev/null || break
        if [ -e "$1.checkpoint" ]; then
            for pid in $(pgrep -f "^$ANYGP fit rows.npy -o $1 "); do
                tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qx OMPI_COMM_WORLD_RANK=1 && rank1=$pid
            done
            [ -n "$rank1" ] && return
        fi
        sleep 0.02
    done
    echo "no checkpoint"
    return 1
}
# As if it had not been killed: to the last bit on as many ranks, to rounding on others.
killed_run_resumes() { # OPTIONS...
    local r killed=no
    ranks 3 "$ANYGP" fit rows.npy -q -o whole.agp "$@" && anygp predict whole.agp rows.npy >whole.csv || { cat "$said/err"; return 1; }
    for _ in 1 2 3 4 5; do # it may have ended before it is killed
        rm -f k.agp k.agp.checkpoint
        begin_steps k.agp "$@" && kill -KILL "$rank1"
        wait $run || { [ -e k.agp.checkpoint ] && killed=yes && break; }
    done
    [ $killed = yes ] || { echo "it ended by itself"; return 1; }
    said_at_most "$lost.*--resume" || return 1
    anygp info k.agp >/dev/null && cp k.agp.checkpoint kept || return 1
    for r in 3 1 2; do
        cp kept k.agp.checkpoint
        ranks $r "$ANYGP" fit rows.npy -q -o k.agp "$@" --resume || { echo "$r ranks"; cat "$said/err"; return 1; }
        anygp predict k.agp rows.npy >k.csv && agree whole.csv k.csv 1e-6 && [ ! -e k.agp.checkpoint ] || { echo "$r ranks"; return 1; }
        [ $r != 3 ] || cmp whole.csv k.csv || return 1
    done
}
killed_batch_resumes_on_any_number_of_ranks() { killed_run_resumes --model fitc --inducing 30 --restarts 6 --iters 25 --fix none; }
killed_steps_resume_on_any_number_of_ranks() { killed_run_resumes --model dtc+ --inducing 30 --blocks 20 --sample 5 --iters 5000 --fix all; }

# Rank 1 has a copy of the data of its own, which is cut short while the run is under way and reads it.
error_of_one_rank_ends_the_run() {
    local status=0
    anygp simulate --rows 20000 --inputs 3 -o rows.npy && mkdir -p own && cp rows.npy own/rows.npy || return 1
    cat >own.sh <<'END'
[ "$OMPI_COMM_WORLD_RANK" = 1 ] && cd own
exec "$@"
END
    ranks 3 bash own.sh "$ANYGP" fit rows.npy -o "$work/c.agp" --model dtc+ --inducing 30 --blocks 20 --sample 5 --iters 100000000 --memory 1M --checkpoint 0.05s &
    run=$!
    for _ in $(seq 400); do [ -e c.agp.checkpoint ] && break; sleep 0.02; done
    : >own/rows.npy
    wait $run || status=$?
    cat "$said/err"
    [ $status = 1 ] && [ "$(sentences)" = 1 ] && grep -q '^anygp: rows.npy ' "$said/err"
}

check version_is_printed_once
check help_is_printed_once
check program_runs_alone_without_mpirun
check rank_0_alone_writes_and_reports
check model_is_that_of_one_process
check groups_of_neighbours_are_shared_out
check parts_by_evidence_and_their_own_hyperparameters_are_shared_out
check other_ranks_open_no_output
check predictions_are_written_once
check rows_to_predict_are_shared_out
check grids_and_draws_are_those_of_one_process
check row_that_cannot_be_predicted_ends_all
check scores_are_those_of_one_process
check scores_of_every_likelihood_are_those_of_one_process
check row_that_cannot_be_scored_ends_all
check scores_of_a_pipe_are_those_of_rank_0
check missing_file_ends_all_with_one_sentence
check wrong_option_ends_all_with_one_sentence
check standard_input_is_refused
check failure_of_one_rank_ends_the_others
check killed_rank_ends_the_run
check ended_run_says_why
check suspended_run_goes_on
check request_ends_training_on_all_ranks
check run_of_one_is_interrupted_in_order
check batch_on_any_number_of_ranks_agrees
check iteration_on_any_number_of_ranks_agrees
check steps_on_any_number_of_ranks_agree
check learning_steps_on_any_number_of_ranks_agree
check variational_models_on_any_number_of_ranks_agree
check choices_are_made_for_all_ranks
check time_limit_ends_all_ranks
check killed_batch_resumes_on_any_number_of_ranks
check killed_steps_resume_on_any_number_of_ranks
check error_of_one_rank_ends_the_run
finish
