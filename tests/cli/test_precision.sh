# --precision mixed: the accuracy of double, said in numbers, and double again where float is not enough.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 400 --inputs 3 --noise 0.05 -o all.csv
head -n 251 all.csv >train.csv
head -n 61 all.csv >few.csv # where it matters only that it runs
{ head -n 1 all.csv; tail -n 150 all.csv; } >test.csv
awk -F, -v OFS=, 'NR > 1 { $4 = ($4 > 0) + ($4 > 1) } 1' few.csv >labels.csv
steps=(--inducing 32 --batch 128 --iters 60 --valid 0 --threads 1)
passes=(--inducing 32 --iters 8 --valid 0 --threads 1)

# Scores and objective of d.agp and m.agp agree; what each says of its precision.
same() {
    anygp eval d.agp test.csv --json >d.eval && anygp eval m.agp test.csv --json >m.eval && anygp info d.agp --json >d.info && anygp info m.agp --json >m.info || return 1
    python3 - "$@" <<'END'
import json
d, m = ({**json.load(open(x + ".eval")), **json.load(open(x + ".info"))} for x in "dm")
values = [x["objective"]["value"] for x in (d, m)]
assert abs(d["rmse"] - m["rmse"]) < 0.005 and abs(d["mnlp"] - m["mnlp"]) < 0.02, (d["rmse"], m["rmse"], d["mnlp"], m["mnlp"])
assert abs(values[0] - values[1]) < 2, values
assert "precision" not in d and 0 < m["precision"]["error"] < 1e-3 and m["precision"]["left"] is False
END
}

# MODEL and options: fits d.agp and m.agp.
same_scores() {
    anygp fit train.csv -q -o d.agp --model "$@" --jitter 1e-6 >/dev/null && anygp fit train.csv -q -o m.agp --model "$@" --precision mixed >/dev/null && same || { echo "$1"; return 1; }
}

scores_of_steps_are_those_of_double() {
    local model
    for model in svgp solve odvgp ivsgpr; do same_scores $model "${steps[@]}" || return 1; done
}

# Their objective is computed in double in the end, at hyperparameters that are nearly the same.
scores_of_passes_are_those_of_double() {
    local model
    for model in sor dtc fitc fic pitc pic vfe pep 'pep(alpha=0.3)' solve_collapsed odvgp_collapsed; do same_scores "$model" "${passes[@]}" || return 1; done
    same_scores exact --iters 30 --valid 0 --threads 1 || return 1
    anygp info m.agp | grep -qE 'precision  +mixed; rounding moved the objective by [0-9.e-]+ nats per row at most$' || { anygp info m.agp; return 1; }
}

every_kernel_and_likelihood_runs() {
    local kernel model
    for kernel in rbf matern12 'matern32(iso)' rq periodic linear 'wendland2*matern52' 'rbf + linear' arccosine; do
        for model in svgp vfe exact; do
            anygp fit few.csv -q -o m.agp --kernel "$kernel" --model $model --inducing 20 --iters 4 --valid 0 --precision mixed >/dev/null &&
                anygp predict m.agp test.csv -o p.csv && ! grep -qi nan p.csv || { echo "$kernel"; return 1; }
        done
    done
    anygp fit labels.csv -q -o m.agp --likelihood softmax --model svgp --inducing 20 --iters 8 --valid 0 --precision mixed >/dev/null && anygp info m.agp | grep -q 'precision  *mixed'
}

# Inducing inputs that nearly coincide, hardly any noise, and no jitter to speak of.
where_float_is_not_enough_the_run_goes_on_in_double() {
    awk -F, -v OFS=, 'NR > 1 { $4 = sin(3 * $1) + cos(2 * $2) + 1e-5 * rand() } 1' train.csv >smooth.csv
    local rough=(--kernel 'rbf(lengthscale=3)' --inducing 100 --noise 1e-9 --jitter 1e-10 --valid 0 --precision mixed) model
    anygp fit smooth.csv -o s.agp --model svgp "${rough[@]}" --fix all --iters 30 >out 2>err || { cat err; return 1; }
    grep -q 'rounding to float moved the bound by more than 0.001 nats per row: from step [0-9]* on rows were in double' err || { cat err; return 1; }
    anygp info s.agp | tr -s ' \n' ' ' | grep -q 'which was too much: the run went on in double' && anygp predict s.agp test.csv -o p.csv && ! grep -qi nan p.csv || return 1
    for model in dtc fitc pitc vfe pep; do
        anygp fit smooth.csv -o s.agp --model $model "${rough[@]}" --fix kernel --iters 5 >out 2>err || { cat err; return 1; }
        grep -q 'rounding to float moved the objective by more than 0.001 nats per row: after iteration [0-9]* rows were in double' err || { echo $model; cat err; return 1; }
        anygp info s.agp | tr -s ' \n' ' ' | grep -q 'which was too much: the run went on in double' && anygp predict s.agp test.csv -o p.csv && ! grep -qi nan p.csv || { echo $model; return 1; }
    done
    anygp fit smooth.csv -o s.agp --model exact --kernel 'rbf(lengthscale=3)' --noise 1e-9 --fix kernel --iters 5 --valid 0 --precision mixed >out 2>err || { cat err; return 1; }
    grep -q 'rounding to float moved the objective by more than 0.001 nats per row: after iteration [0-9]* rows were in double' err || { echo exact; cat err; return 1; }
}

says() { anygp fit few.csv -o e.agp "${@:2}" --iters 2 --valid 0 --precision mixed 2>&1 >/dev/null | grep -q -e "$1" || { echo "not said of ${*:2}: $1"; return 1; }; }

other_models_say_that_it_has_no_effect() {
    local model
    for model in sod exact+ 'exact --solver cg' lma dtc+ ssgp 'combine(dtc=1)' vecchia vfe_tight deep; do says 'precision mixed has no effect on the model' --model $model || return 1; done
    says 'no effect on inducing variables of the kind' --model vfe --inducing 10 --kernel rbf --inducing-kind scaled &&
        says 'no effect where nothing is learned' --model dtc --inducing 10 --fix all &&
        says 'no effect where nothing is learned' --model exact --fix all &&
        refuses "precision: 'float32' is not one of: double mixed" fit train.csv -o e2.agp --precision float32
}

# MODEL and options: a run that is killed and resumed ends where one that was left alone does.
resumed_has_the_same_bits() {
    local run=(--model "$@" --valid 0 --threads 1 --precision mixed)
    anygp fit train.csv -q -o alone.agp "${run[@]}" >/dev/null && anygp predict alone.agp test.csv >alone.csv || return 1
    local pid tries
    for tries in 1 2 3 4 5 6 7 8; do # it may end before it is killed
        rm -f r.agp*
        "$ANYGP" fit train.csv -q -o r.agp "${run[@]}" --checkpoint 0s >/dev/null 2>&1 </dev/null &
        pid=$!
        while kill -0 $pid 2>/dev/null && [ ! -e r.agp.checkpoint ]; do sleep 0.01; done
        kill -KILL $pid 2>/dev/null
        wait $pid 2>/dev/null
        [ -e r.agp.checkpoint ] && break
    done
    [ -e r.agp.checkpoint ] || { echo "ended before it was killed"; return 1; }
    anygp fit train.csv -q -o r.agp "${run[@]}" --resume >/dev/null && anygp predict r.agp test.csv | cmp - alone.csv
}

resumed_runs_have_the_same_bits() {
    resumed_has_the_same_bits svgp --inducing 40 --batch 128 --iters 200 && resumed_has_the_same_bits vfe --inducing 40 --iters 60 &&
        resumed_has_the_same_bits pitc --inducing 40 --fix none --iters 60 && resumed_has_the_same_bits exact --restarts 3 --iters 60
}

check scores_of_steps_are_those_of_double
check scores_of_passes_are_those_of_double
check every_kernel_and_likelihood_runs
check where_float_is_not_enough_the_run_goes_on_in_double
check other_models_say_that_it_has_no_effect
check resumed_runs_have_the_same_bits
finish
