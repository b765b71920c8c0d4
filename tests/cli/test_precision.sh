# --precision mixed: the accuracy of double, said in numbers, and double again where float is not enough.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 3000 --inputs 3 --noise 0.05 -o all.csv
head -n 2501 all.csv >train.csv
{ head -n 1 all.csv; tail -n 499 all.csv; } >test.csv
awk -F, -v OFS=, 'NR > 1 { $4 = ($4 > 0) + ($4 > 1) } 1' train.csv >labels.csv
sparse=(--inducing 64 --batch 256 --iters 150 --valid 0 --threads 1)

score() { anygp eval "$1" test.csv --json | python3 -c "import json, sys; print(json.load(sys.stdin)['$2'])"; }
near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a - b; exit !(d <= t && d >= -t) }' || { echo "$1 and $2 differ by more than $3"; return 1; }; }

scores_are_those_of_double() {
    local model
    for model in svgp solve odvgp ivsgpr; do
        anygp fit train.csv -q -o d.agp --model $model "${sparse[@]}" >/dev/null &&
            anygp fit train.csv -q -o m.agp --model $model "${sparse[@]}" --precision mixed >/dev/null || return 1
        near "$(score d.agp rmse)" "$(score m.agp rmse)" 0.005 && near "$(score d.agp mnlp)" "$(score m.agp mnlp)" 0.02 || return 1
        anygp info m.agp | grep -qE 'precision  +mixed; rounding moved the bound by [0-9.e-]+ nats per row at most$' || { anygp info m.agp; return 1; }
        anygp info d.agp | grep -q precision && { echo "double speaks of precision"; return 1; }
    done
    anygp info m.agp --json | python3 -c 'import json, sys; p = json.load(sys.stdin)["precision"]; assert 0 < p["error"] < 1e-3 and p["left"] is False'
}

every_kernel_and_likelihood_runs() {
    local kernel
    for kernel in rbf matern12 'matern32(iso)' rq periodic linear 'wendland2*matern52' 'rbf + linear' arccosine; do
        anygp fit train.csv -q -o m.agp --kernel "$kernel" --model svgp --inducing 30 --iters 20 --valid 0 --precision mixed >/dev/null &&
            anygp predict m.agp test.csv -o p.csv && ! grep -qi nan p.csv || { echo "$kernel"; return 1; }
    done
    anygp fit labels.csv -q -o m.agp --likelihood softmax --model svgp --inducing 30 --iters 20 --valid 0 --precision mixed >/dev/null && anygp info m.agp | grep -q 'precision  *mixed'
}

# Inducing inputs that nearly coincide, hardly any noise, and no jitter to speak of.
where_float_is_not_enough_the_run_goes_on_in_double() {
    awk -F, -v OFS=, 'NR > 1 { $4 = sin(3 * $1) + cos(2 * $2) + 1e-5 * rand() } 1' train.csv >smooth.csv
    anygp fit smooth.csv -o s.agp --model svgp --kernel 'rbf(lengthscale=3)' --inducing 200 --noise 1e-9 --fix all --jitter 1e-10 --iters 100 --valid 0 --precision mixed >out 2>err || { cat err; return 1; }
    grep -q 'rounding to float moved the bound by more than 0.001 nats per row: from step [0-9]* on rows were in double' err && anygp info s.agp | tr -s ' \n' ' ' | grep -q 'which was too much: the run went on in double' || { cat err; anygp info s.agp; return 1; }
    anygp predict s.agp test.csv -o p.csv && ! grep -qi nan p.csv
}

other_models_say_that_it_has_no_effect() {
    anygp fit train.csv -o e.agp --model dtc --inducing 20 --iters 2 --valid 0 --precision mixed 2>&1 >/dev/null | grep -q 'precision mixed has no effect on the model dtc' &&
        refuses "precision: 'float32' is not one of: double mixed" fit train.csv -o e2.agp --precision float32
}

resumed_runs_have_the_same_bits() {
    local run=(--model svgp --inducing 40 --batch 256 --iters 400 --valid 0 --threads 1 --precision mixed) k
    anygp fit train.csv -q -o alone.agp "${run[@]}" >/dev/null && anygp predict alone.agp test.csv >alone.csv || return 1
    "$ANYGP" fit train.csv -q -o r.agp "${run[@]}" --checkpoint 0s >/dev/null 2>&1 </dev/null &
    local pid=$!
    while kill -0 $pid 2>/dev/null && [ ! -e r.agp.checkpoint ]; do sleep 0.02; done
    sleep 0.2
    kill -KILL $pid 2>/dev/null
    wait $pid 2>/dev/null
    [ -e r.agp.checkpoint ] || { echo "ended before it was killed"; return 1; }
    anygp fit train.csv -q -o r.agp "${run[@]}" --resume >/dev/null && anygp predict r.agp test.csv | cmp - alone.csv
}

check scores_are_those_of_double
check every_kernel_and_likelihood_runs
check where_float_is_not_enough_the_run_goes_on_in_double
check other_models_say_that_it_has_no_effect
check resumed_runs_have_the_same_bits
finish
