# exact by iteration: --solver cg, its options, exact+, and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 500 --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.3)' --noise 0.05 -o all.csv
head -n 401 all.csv >train.csv
sed '2,401d' all.csv >test.csv
given=(--standardize none --kernel 'matern32(variance=1,lengthscale=0.3)' --noise 0.05 --fix all --valid 0)

# None is off by more than a hundredth of the noise's standard deviation, which is what docs/iterative.md promises.
as_promised() { paste -d, "$1" "$2" | awk -F, '{ gap = $1 - $2; if (gap < 0) gap = -gap; if (!(gap <= 0.01 * sqrt(0.05))) { print "line " NR ": " $0; exit 1 } n++ } END { exit !(n == 100) }'; }
means_are_those_of_the_factor() {
    local p
    anygp fit train.csv -q -o factor.agp --model exact --solver cholesky "${given[@]}" && anygp predict factor.agp test.csv | cut -d, -f1 | sed 1d >factor.csv || return 1
    for p in none jacobi pivoted fitc vecchia pivoted_small fitc_small auto; do
        anygp fit train.csv -q -o cg.agp --model exact --solver cg --precond $p "${given[@]}" && anygp predict cg.agp test.csv | cut -d, -f1 | sed 1d >cg.csv && as_promised factor.csv cg.csv || return 1
    done
}
a_kept_factor_has_the_exact_variances() {
    anygp fit train.csv -q -o factor.agp --model exact --solver cholesky "${given[@]}" && anygp fit train.csv -q -o kept.agp --model exact --solver cg --keep-factor "${given[@]}" || return 1
    anygp predict factor.agp test.csv -o factor.csv && anygp predict kept.agp test.csv -o kept.csv && close factor.csv kept.csv 1e-9
}
info_shows_the_bracket_and_the_exact_value_is_in_it() {
    anygp fit train.csv -q -o factor.agp --model exact --solver cholesky "${given[@]}" && anygp fit train.csv -q -o cg.agp --model exact --solver cg "${given[@]}" || return 1
    anygp info cg.agp | tr '\n' ' ' | grep -qE 'solver +conjugate gradients, preconditioner [a-z]+: at most [0-9]+ iterations, [0-9]+ probes; +log +evidence' || return 1
    exact=$(anygp info factor.agp --json | json_number value) && anygp info cg.agp --json >cg.json &&
        awk -v x="$exact" -v l="$(json_number lower <cg.json)" -v u="$(json_number upper <cg.json | tail -n 1)" 'BEGIN { print x, l, u; exit !(l <= x && x <= u) }'
}
info_says_where_variances_come_from() {
    anygp fit train.csv -q -o near.agp --model exact --solver cg --predict-neighbors 8 "${given[@]}" >/dev/null && anygp info near.agp | tr -s ' \n' ' ' | grep -qE 'variances given nearest rows, whose information counts [0-9.]+ times, as solves for 64 training rows' || return 1
    anygp info near.agp --json >near.json && [ "$(json_number gain <near.json | awk '{ print ($1 > 1) }')" = 1 ]
}
nearest_rows_that_tell_nothing_gain_nothing() { # 1/v - 1/k is rounding there, and 0 for some variances
    local v
    awk 'BEGIN { print "x,y"; for (i = 0; i < 200; i++) print i "," sin(i * i) }' >apart.csv
    for v in 1 1.77 1.93; do
        fits apart.csv --model exact --solver cg --standardize none --kernel "rbf(variance=$v,lengthscale=0.1635)" --noise 0.05 --fix all --valid 0 --predict-neighbors 8 && ! anygp info fits.agp | grep variances || { echo "variance $v"; return 1; }
    done
}
it_learns_scores_and_says_which_preconditioner() {
    anygp fit train.csv -o m.agp --model exact --solver cg --iters 3 --mean constant >out 2>err && grep -q 'leave-one-out' out && grep -q 'preconditioner [a-z]* (.*), which takes the least work' err
}
weights_repeated_rows_and_draws_are_taken() {
    awk -F, -v OFS=, 'NR == 1 { print $0, "w" } NR > 1 { print $0, 1 + NR % 3 } NR % 10 == 0 { print $0, 2 }' train.csv >weights.csv
    fits weights.csv --model exact --solver cg --target y --weights w --iters 2 && anygp predict fits.agp test.csv --samples 3 >draws.csv && finite draws.csv
}
few_rows_are_taken() {
    local n
    for n in 2 3 12; do head -n $n train.csv >few.csv && fits few.csv --model exact --solver cg --iters 2 --valid 0 && fits few.csv --model exact+ --valid 0 || return 1; done
}
cg_is_chosen_where_the_factor_does_not_fit() {
    anygp simulate --rows 4000 --inputs 1 -o many.csv && anygp fit many.csv -o m.agp --model exact --memory 100M --kernel rbf --iters 0 --valid 0 >/dev/null 2>err && anygp info m.agp | grep -q 'conjugate gradients' || { cat err; return 1; }
    refuses 'exact model of 4000 rows needs .* GB and --memory allows' fit many.csv -o n.agp --model exact --solver cholesky --memory 100M
}
stopped_early_exact_plus_is_a_model() {
    fits train.csv --model exact+ --iters 1 "${given[@]}" && anygp info fits.agp | grep -q 'model  *exact+, 400 rows in the posterior' && anygp info fits.agp | grep -q 'lower bound on the log evidence' || return 1
    anygp fit train.csv -q -o factor.agp --model exact --solver cholesky "${given[@]}" || return 1
    anygp fit train.csv -q -o long.agp --model exact+ "${given[@]}" || return 1
    anygp predict factor.agp test.csv -o factor.csv && anygp predict long.agp test.csv -o long.csv && close factor.csv long.csv 1e-5 && anygp predict long.agp test.csv --samples 2 >draws.csv && finite draws.csv
}
what_bounds_nothing_is_refused() {
    refuses 'noise 0 is fixed, but conjugate gradients' fit train.csv -o n.agp --model exact --solver cg --noise 0 --fix noise
    anygp fit train.csv -q -o n.agp --model exact --solver cg "${given[@]}" >/dev/null && refuses 'exact cannot be exported: its rows have no factor' export n.agp -o n.c || return 1
    anygp fit train.csv -q -o n.agp --model exact+ --iters 1 "${given[@]}" >/dev/null && refuses 'exact. cannot be exported: its rows have no factor' export n.agp -o n.json || return 1
    rm n.agp
    refuses 'keep-factor: the factor of 400 rows needs' fit train.csv -o n.agp --model exact --solver cg --keep-factor --memory 1M
}
a_tolerance_that_is_not_reached_is_said() {
    anygp fit train.csv -o m.agp --model exact --solver cg --tolerance 0.001 "${given[@]}" >/dev/null 2>err && grep -q 'warning: the standard error of the log evidence is .* with 60 probes, and --tolerance asks for 0.001; the value is between' err || { cat err; return 1; }
    anygp fit train.csv -o m.agp --model exact --solver cg --keep-factor --tolerance 0.001 "${given[@]}" >/dev/null 2>err && grep -q "tolerance asks for 0.001" err || { cat err; return 1; }
    anygp fit train.csv -o m.agp --model exact --solver cg --tolerance 100 "${given[@]}" >/dev/null 2>err && ! grep -q 'tolerance asks' err || { cat err; return 1; }
}
memory_too_small_for_the_vectors_is_refused() {
    refuses 'exact model of 4000 rows needs .* and --memory allows' fit many.csv -o n.agp --model exact --solver cg --memory 20M
}
# The rows are read once, whatever they come from, so that memory has to hold them (docs/decisions.md).
binary_files_give_the_same_model() {
    local form
    anygp fit train.csv -q -o text.agp --model exact --solver cg "${given[@]}" >/dev/null && anygp predict text.agp test.csv -o text.csv || return 1
    for form in npy h5; do
        anygp convert train.csv "rows.$form" && anygp convert test.csv "test.$form" && anygp fit "rows.$form" -q -o binary.agp --model exact --solver cg "${given[@]}" >/dev/null && anygp predict binary.agp "test.$form" -o binary.csv && close text.csv binary.csv 1e-12 || { echo "$form"; return 1; }
        refuses 'needs .* and --memory allows' fit "rows.$form" -o n.agp --model exact --solver cg --memory 1M || return 1
    done
}
options_without_effect_are_noted() { anygp fit train.csv -o m.agp --model vecchia --iters 1 --precond none 2>&1 >/dev/null | grep -q -- '--precond has no effect on model vecchia'; }

check means_are_those_of_the_factor
check a_kept_factor_has_the_exact_variances
check info_shows_the_bracket_and_the_exact_value_is_in_it
check info_says_where_variances_come_from
check nearest_rows_that_tell_nothing_gain_nothing
check it_learns_scores_and_says_which_preconditioner
check weights_repeated_rows_and_draws_are_taken
check few_rows_are_taken
check cg_is_chosen_where_the_factor_does_not_fit
check stopped_early_exact_plus_is_a_model
check what_bounds_nothing_is_refused
check a_tolerance_that_is_not_reached_is_said
check memory_too_small_for_the_vectors_is_refused
check binary_files_give_the_same_model
check options_without_effect_are_noted
finish
