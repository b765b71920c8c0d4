# A fit ends with what to try next, where there is something; whoever follows it gets a fit, and is not told the same again.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 150 --inputs 2 --noise 0.1 -o train.csv
narrow=(--model exact --fix all --kernel 'rbf(variance=1,lengthscale=1)' --noise 0.003)

advises() { # PATTERN OPTIONS...: a fit that ends with it, after "wrote"
    anygp fit train.csv -o m.agp "${@:2}" >"$said/out" 2>"$said/err" || { cat "$said/err"; return 1; }
    tail -n 1 "$said/out" | grep -qE "^try next: $1" || { cat "$said/out"; return 1; }
}
follow() { # OPTIONS...: those of before, and what was advised
    local advised
    advised=$(sed -n 's/^try next: \(.*\), since .*/\1/p' "$said/out")
    # shellcheck disable=SC2086
    anygp fit train.csv -o m.agp "$@" $advised >"$said/followed" 2>"$said/err" || { cat "$said/err"; return 1; }
    ! grep -F "try next: $advised" "$said/followed"
}
advised_and_followed() { advises "$@" && follow "${@:2}"; }

narrow_intervals_are_calibrated() { advised_and_followed '--calibrate loo, since the 95 % intervals cover only [0-9.]* %$' "${narrow[@]}"; }
loose_bound_gets_more_inducing_inputs() { advised_and_followed '--inducing 6, since 3 leave the bound (at least|up to) ' --model vfe --inducing 3 --fix noise --noise 0.01; }
run_that_its_time_ended_gets_more() { advised_and_followed '--time 10s, since the time limit ended the run$' --model vfe --inducing 20 --time 1ms; }
run_with_a_checkpoint_goes_on_from_there() {
    local long=(--model fitc+ --inducing 8 --blocks 3 --checkpoint 0s --time 2s)
    advises '--time 10s --resume, since the time limit ended the run, which can go on' "${long[@]}" --iters 1000000000 && follow "${long[@]}" --iters 5 && [ ! -e m.agp.checkpoint ]
}
nothing_is_advised_without_need_or_where_it_is_quiet() {
    anygp fit train.csv -o m.agp --model exact >"$said/out" && anygp fit train.csv -q -o m.agp "${narrow[@]}" >"$said/quiet" &&
        ! grep 'try next' "$said/out" "$said/quiet"
}

# What the values of a target suggest, beside targets that are nearly alike.
target() { # AWK EXPRESSION of the target y, its row i and a normal z: such a table
    awk -F, -v OFS=, 'NR == 1 { print; next } { i = NR; y = $3; z = sqrt(-2 * log((i * 0.7548776662 % 1) + 1e-9)) * cos(6.2831853 * (i * 0.5698402910 % 1)); $3 = '"$1"'; print }' train.csv >values.csv
}
suggests() { # OPTIONS and why, EXPRESSION
    local options=${1%%, since*}
    target "$2"
    anygp fit values.csv -o m.agp --iters 2 >"$said/out" 2>"$said/err" || { cat "$said/err"; return 1; }
    [ "$(grep -c '^try next' "$said/out")" = 1 ] && grep -qE "^try next: $1" "$said/out" || { echo "$2"; cat "$said/out"; return 1; }
    # shellcheck disable=SC2086
    anygp fit values.csv -o m.agp --iters 2 $options >"$said/followed" 2>"$said/err" || { cat "$said/err"; return 1; }
    ! grep -E 'try next: --(likelihood|transform)' "$said/followed"
}
a_target_of_two_values_suggests_classes() { suggests '--likelihood bernoulli, since the target is only ever 0 or 1' 'y > 0'; }
small_whole_numbers_suggest_counts() { suggests '--likelihood poisson, since the target has only whole numbers from 0 to [0-9]+ \(negbin' 'int(exp(0.7 * y))'; }
skewed_positive_targets_suggest_a_logarithm() { suggests '--transform log, since the target is above 0 and skewed' 'exp(3 + z)'; }
other_targets_and_other_choices_suggest_nothing() {
    local what
    # halves, whole numbers below 0, large ones, a skewed target that goes below 0, one with a symmetric tail, one that is skewed to the left
    for what in 'y > 0 ? 1 : 0.5' '(y > 0) - 1' '1000 + int(30 * y)' 'exp(3 + z) - 5' '30 + y' '10 - log(1 + exp(z))'; do
        target "$what"
        anygp fit values.csv -o m.agp --iters 2 >"$said/out" 2>"$said/err" && ! grep -E 'try next: --(likelihood|transform)' "$said/out" || { echo "$what"; return 1; }
    done
    target 'y > 0'
    for what in '--model exact' '--likelihood gaussian' '--transform none' '--noise 0.1' -q; do
        # shellcheck disable=SC2086
        anygp fit values.csv -o m.agp --iters 2 $what >"$said/out" 2>"$said/err" && ! grep -E 'try next: --(likelihood|transform)' "$said/out" || { echo "$what"; cat "$said/err"; return 1; }
    done
}

# A model that does not fit --memory: each of the ways out that are named fits.
each_way_out_of_too_little_memory_works() {
    local model memory text way tried=0
    anygp simulate --rows 2000 --inputs 2 --noise 0.1 -o more.csv || return 1
    for model in nle grbcm pic 'lma(order=2)' hier tree patchwork moe svgp solve exact vecchia auto; do
        for memory in 400k 1M 3M; do
            set -- fit more.csv -q -o m.agp --model "$model" --iters 0 --valid 0 --threads 1
            anygp "$@" --memory $memory >/dev/null 2>"$said/err" && continue
            text=$(sed -n 's/.*GB; //p;s/.*are allowed; //p' "$said/err")
            [[ $text =~ --memory ]] || { echo "$model, $memory: $(cat "$said/err")"; return 1; }
            for way in "$(grep -oE -- '--memory [0-9.]+[kMG]' <<<"$text")" "$(grep -oE -- '(--model [^ ]+ )?--(blocks|inducing) [0-9]+' <<<"$text") --memory $memory"; do
                [ "$way" = " --memory $memory" ] && continue
                tried=$((tried + 1))
                # shellcheck disable=SC2086 # options and their values
                anygp "$@" $way >/dev/null 2>"$said/err" || { echo "$model, $memory: $text, but $way: $(cat "$said/err")"; return 1; }
            done
        done
    done
    [ $tried -gt 40 ]
}

check narrow_intervals_are_calibrated
check loose_bound_gets_more_inducing_inputs
check run_that_its_time_ended_gets_more
check run_with_a_checkpoint_goes_on_from_there
check a_target_of_two_values_suggests_classes
check small_whole_numbers_suggest_counts
check skewed_positive_targets_suggest_a_logarithm
check other_targets_and_other_choices_suggest_nothing
check each_way_out_of_too_little_memory_works
check nothing_is_advised_without_need_or_where_it_is_quiet
finish
