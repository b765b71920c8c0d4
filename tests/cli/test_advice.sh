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
check each_way_out_of_too_little_memory_works
check nothing_is_advised_without_need_or_where_it_is_quiet
finish
