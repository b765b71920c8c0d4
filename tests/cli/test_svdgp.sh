# The decoupled model: data that make its covariance singular, new rows, bases and time that are kept, what is told.
. "$(dirname "$0")/lib.sh"
awk 'BEGIN {
    srand(5); print "a,b,y" >"smooth.csv"; print "a,b,y" >"twice.csv"; print "a,b,y" >"constant.csv"; print "a,count" >"count.csv"
    for (i = 0; i < 300; i++) {
        a = rand(); b = rand(); y = sin(6 * a) + 0.03 * (rand() + rand() + rand() - 1.5)
        print a "," b "," y >"smooth.csv"; print "2,-1," y >"constant.csv"; print a "," int(3 * (1 + sin(5 * a)) * rand() + 0.5) >"count.csv"
        if (i < 50) for (k = 0; k < 4; k++) print a "," b "," y + 0.01 * k >"twice.csv"
    }
}'
both() { "$@" --model svdgp && "$@" --model svdgp-sga --step 0.02; }
quietly() { "$ANYGP" "$@" >"$said/out" 2>"$said/err" </dev/null || { cat "$said/err"; return 1; }; }
score() { anygp eval "$1" "$2" --json | json_number "$3"; } # MODEL DATA NAME
at_most() { awk -v x="$1" -v y="$2" 'BEGIN { if (x == "" || !(x + 0 <= y)) { print x " is above " y; exit 1 } }'; }

smooth_data_fit_without_an_option() { quietly fit smooth.csv -o m.agp --model svdgp && at_most "$(score m.agp smooth.csv rmse)" 0.02; }
one_smooth_input_fits() {
    anygp simulate --inputs 1 --rows 200 --kernel 'rbf(lengthscale=0.3)' --noise 0.01 --seed 3 -o t.csv 2>"$said/err" || { cat "$said/err"; return 1; }
    both fits t.csv --iters 60 --kernel rbf
}
rows_that_coincide_fit() { both fits twice.csv --iters 60; }
constant_inputs_fit() { both fits constant.csv --iters 60; }
linear_kernels_fit() { both fits smooth.csv --iters 60 --kernel linear; }
counts_fit() { both fits count.csv --iters 60 --likelihood poisson; }

takes_new_rows() { # OPTIONS...
    head -n 201 smooth.csv >some.csv && (head -n 1 smooth.csv && sed '1,201d' smooth.csv) >more.csv
    quietly fit some.csv -o u.agp --iters 100 --inducing 200/60 --valid 0 "$@" && local before && before=$(score u.agp more.csv rmse) &&
        quietly update u.agp more.csv && at_most "$(score u.agp more.csv rmse)" "$before" && anygp predict u.agp more.csv >p.csv && finite p.csv && grep -q 'moved the process by [0-9.]* nats' "$said/err" || return 1
    anygp info u.agp | grep -q 'svdgp.*, 360 inducing inputs' && quietly update u.agp some.csv && anygp info u.agp | grep -q 'svdgp.*, 560 inducing inputs' || { anygp info u.agp; return 1; }
}
smooth_models_take_new_rows() { both takes_new_rows && both takes_new_rows --kernel rbf; }

the_mean_has_the_bases_asked_for() { quietly fit smooth.csv -o m.agp --model svdgp --inducing 200/20 --iters 20 && anygp info m.agp | grep -qF 'svdgp, 200 inducing inputs'; }

the_held_out_bound_is_in_the_trace_and_among_the_scores() {
    quietly fit smooth.csv -o m.agp --model svdgp --iters 30 --valid 0.2 --trace t.csv && anygp info m.agp --json >i.json && tail -n 1 t.csv | cut -d, -f6 >last && json_number mell <i.json >told && close last told 1e-9
}

# Rounding has the better of the covariance's step at the jitter asked for: more is taken, and told.
little_jitter_grows_until_the_covariance_moves() {
    anygp simulate --inputs 2 --rows 500 --kernel 'rbf(lengthscale=0.3)' --noise 0.01 --seed 3 -o s.csv 2>"$said/err" || { cat "$said/err"; return 1; }
    local j o=(--model svdgp --inducing 200/400 --kernel 'rbf(variance=1,lengthscale=0.3)' --noise 0.01 --fix kernel,noise --standardize none --valid 0 --batch 0 --iters 4)
    for j in 1e-10 1e-8; do anygp fit s.csv -q -o $j.agp "${o[@]}" --jitter $j --json >$j.json || return 1; done
    json_number value <1e-8.json >a && json_number value <1e-10.json >b && close a b 1e-3
}

# 200 given places of the mean, 20 of the covariance behind them: the mean is that of dtc on the 200.
given_places_have_the_mean_of_dtc() {
    cut -d, -f1,2 smooth.csv | head -n 221 >both.csv && head -n 201 both.csv >first.csv
    local o=(-q --kernel 'matern52(variance=1,lengthscale=0.3)' --noise 0.01 --fix all --standardize none --valid 0)
    anygp fit smooth.csv -o s.agp --model svdgp --inducing 200/20 --inducing-from both.csv "${o[@]}" --batch 100 --iters 60 >/dev/null && anygp fit smooth.csv -o d.agp --model dtc --inducing-from first.csv --jitter 1e-12 "${o[@]}" >/dev/null &&
        anygp predict s.agp both.csv | cut -d, -f1 >a && anygp predict d.agp both.csv | cut -d, -f1 >b && close a b 1e-6
}

# 001, algorithm 1 as printed: all moves from the first step on, in steps that do not depend on how many there will be.
simulated() { anygp simulate --inputs 2 --rows 400 --kernel 'rbf(variance=1,lengthscale=0.3)' --noise 0.01 --seed 3 -o s.csv 2>"$said/err" || { cat "$said/err"; return 1; }; }
sga=(--model svdgp-sga --kernel rbf --valid 0 --batch 100 --inducing 60/20)
sga_moves_all_from_the_first_step_to_the_last() {
    simulated && for n in 12 24; do quietly fit s.csv -o m$n.agp "${sga[@]}" --step 0.05 --iters $n --trace t$n.csv || return 1; done
    cut -d, -f1,3 t24.csv | head -n 14 >a && cut -d, -f1,3 t12.csv | head -n 14 >b && cmp a b || return 1
    for n in 0.05 0.06; do quietly fit s.csv -o m.agp "${sga[@]}" --step $n --iters 1 && anygp info m.agp | grep kernel >k$n || return 1; done
    ! cmp -s k0.05 k0.06
}
bases_grow_by_as_many_as_asked() {
    simulated && for n in 1 3; do quietly fit s.csv -o m$n.agp "${sga[@]}" --step 0.05 --grow 7 --iters $n && anygp info m$n.agp | grep -qF "svdgp-sga, $((7 * n)) inducing inputs" || return 1; done
}
default_steps_of_sga_reach_a_sane_bound() { # above that of the mean of the targets alone, which is n log N(0 | 0, 1)
    simulated && anygp fit s.csv -q -o m.agp "${sga[@]}" --grow 10 --iters 150 --json >m.json && json_number value <m.json >v && awk '{ if (!($1 > -567)) { print; exit 1 } }' v && at_most "$(score m.agp s.csv rmse)" 0.3
}
a_mean_that_was_shortened_is_a_warning() { simulated && anygp fit s.csv -o m.agp "${sga[@]}" --step 2 --iters 4 2>&1 >/dev/null | grep -q 'warning: the mean had gone far beyond the targets'; }

check sga_moves_all_from_the_first_step_to_the_last
check bases_grow_by_as_many_as_asked
check default_steps_of_sga_reach_a_sane_bound
check a_mean_that_was_shortened_is_a_warning
check little_jitter_grows_until_the_covariance_moves
check given_places_have_the_mean_of_dtc
check the_held_out_bound_is_in_the_trace_and_among_the_scores
check the_mean_has_the_bases_asked_for
check smooth_data_fit_without_an_option
check one_smooth_input_fits
check rows_that_coincide_fit
check constant_inputs_fit
check linear_kernels_fit
check counts_fit
check smooth_models_take_new_rows
finish
