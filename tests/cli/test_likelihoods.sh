# Every likelihood with every model that learns by steps, from file to scores, and new rows; labels of every kind; what is refused.
. "$(dirname "$0")/lib.sh"
# One function of the plane, seen in many ways.
awk 'function poisson(l,  p, k, u) { u = rand(); p = exp(-l); for (k = 0; u > p && k < 99; p *= l / k) { u -= p; k++ } return k }
     BEGIN {
         srand(3); print "a,b,y" >"real.csv"; print "a,b,far" >"far.csv"; print "a,b,noisy" >"noisy.csv"; print "a,b,hours,count" >"count.csv"
         print "a,b,two" >"two.csv"; print "a,b,three" >"three.csv"; print "a,b,grade" >"grade.csv"
         for (i = 0; i < 240; i++) {
             a = 4 * rand() - 2; b = 4 * rand() - 2; e = 0.5 + rand(); f = sin(2 * a) + b / 2; r = rand() + rand() + rand() - 1.5; at = a "," b ","
             print at f + 0.2 * r >"real.csv"; print at f + 0.1 * r + (i % 20 ? 0 : 9 - 18 * (i % 40 > 0)) >"far.csv"; print at f + r * exp(a - 1) >"noisy.csv"
             print at e "," poisson(e * exp(1 + f)) >"count.csv"
             print at (f > 0 ? "yes" : "no") >"two.csv"; print at (f > 0.4 ? "red" : f < -0.4 ? "dark blue" : "green") >"three.csv"
             print at int(2.5 + 1.2 * f) >"grade.csv"
         }
     }'
steps=(--inducing 16 --batch 120 --iters 60 --kernel 'rbf(variance=2,lengthscale=1)' -q)
few() { head -n 201 "$1" >some.csv && (head -n 1 "$1" && sed '1,201d' "$1") >more.csv; } # DATA
quietly() { "$ANYGP" "$@" >"$said/out" 2>"$said/err" </dev/null || { cat "$said/err"; return 1; }; }
score() { anygp eval "$1" "$2" --json | json_number "$3"; } # MODEL DATA NAME
at_most() { awk -v x="$1" -v y="$2" 'BEGIN { if (x == "" || !(x + 0 <= y)) { print x " is above " y; exit 1 } }'; }

# Fits some of the rows and scores the others below LIMIT.
learns() { # MODEL LIKELIHOOD DATA SCORE LIMIT OPTIONS...
    few "$3"
    quietly fit some.csv -o m.agp --model "$1" --likelihood "$2" "${steps[@]}" "${@:6}" && finite "$said/out" || { echo "$1, $2: fit"; return 1; }
    at_most "$(score m.agp more.csv "$4")" "$5" || { echo "$1, $2: $4"; return 1; }
}
# The same; then takes them in, and scores them no worse.
updates() { # MODEL LIKELIHOOD DATA SCORE LIMIT OPTIONS...
    local before
    learns "$@" && before=$(score m.agp more.csv "$4") && quietly update m.agp more.csv && at_most "$(score m.agp more.csv "$4")" "$before" || { echo "$1, $2: update"; return 1; }
    anygp predict m.agp more.csv >p.csv && finite p.csv && [ "$(wc -l <p.csv)" = 41 ] && anygp info m.agp | grep -qF "${2%%(*}" || { echo "$1, $2: predict"; return 1; }
}
every_model() { updates svgp "$@" && learns solve "$@" && learns odvgp "$@" && learns ivsgpr "$@"; } # LIKELIHOOD DATA SCORE LIMIT OPTIONS...

numbers_are_learned_with_laplace() { every_model laplace real.csv rmse 0.3; }
numbers_are_learned_with_studentt() { every_model studentt real.csv rmse 0.3; }
numbers_are_learned_with_heteroscedastic() { every_model heteroscedastic real.csv rmse 0.3; }
counts_are_learned_with_poisson() { every_model poisson count.csv mnlp 2.6 --exposure hours && updates odvgp poisson count.csv mnlp 2.6 --exposure hours; }
counts_are_learned_with_negbin() { every_model negbin count.csv mnlp 2.6 --exposure hours; }
classes_are_learned_with_bernoulli() { every_model bernoulli two.csv logloss 0.4 && learns svgp 'bernoulli(probit)' two.csv logloss 0.4; }
classes_are_learned_with_softmax() { every_model softmax three.csv logloss 0.8 && updates solve softmax three.csv logloss 0.8 && learns svgp softmax two.csv logloss 0.4; }
classes_are_learned_with_robustmax() { every_model 'robustmax(epsilon=0.01)' three.csv logloss 0.8; }
classes_are_learned_with_ordinal() { every_model ordinal grade.csv logloss 1.2; }

outliers_move_a_robust_fit_less() {
    local l
    (head -n 1 far.csv && sed 1d real.csv) >clean.csv
    for l in gaussian studentt laplace; do quietly fit far.csv -o $l.agp --model svgp --likelihood $l "${steps[@]}" --iters 150 && score $l.agp clean.csv rmse >$l.rmse || return 1; done
    cat gaussian.rmse studentt.rmse laplace.rmse | awk 'NR == 1 { gaussian = $1 } NR > 1 && !($1 < 0.7 * gaussian) { print $1, gaussian; exit 1 }'
}
noise_that_depends_on_the_inputs_is_found() {
    quietly fit noisy.csv -o m.agp --likelihood heteroscedastic "${steps[@]}" --iters 200 && printf 'a,b\n-1.5,0\n1.5,0\n' >ends.csv && anygp predict m.agp ends.csv | awk -F, 'NR == 2 { quiet = $2 } NR == 3 && !($2 > 10 * quiet) { print quiet, $2; exit 1 }'
}
twice_the_exposure_is_twice_the_rate() {
    quietly fit count.csv -o m.agp --likelihood poisson --exposure hours "${steps[@]}" && printf 'a,b,hours\n0.5,0,1\n0.5,0,2\n' | anygp predict m.agp - | awk -F, 'NR == 2 { once = $1 } NR == 3 && ($1 / once - 2) ^ 2 > 1e-20 { print once, $1; exit 1 }'
}
labels_need_no_header() {
    sed 1d three.csv >plain.csv && quietly fit plain.csv -o m.agp --likelihood softmax "${steps[@]}" && anygp predict m.agp plain.csv >p.csv && [ "$(head -n 1 p.csv)" = 'label,"p_dark blue",p_green,p_red' ] &&
        [ "$(sed 1d p.csv | cut -d, -f1 | tr -d '"' | sort -u | tr '\n' ' ')" = "dark blue green red " ]
}
many_classes_fit() {
    awk 'BEGIN { print "x,c"; for (i = 0; i < 300; i++) print i / 300 ",k" i % 100 }' >many.csv
    quietly fit many.csv -o m.agp --likelihood softmax --inducing 5 --batch 100 --iters 5 && head -n 3 many.csv | anygp predict m.agp - | awk -F, 'NR > 1 { s = 0; for (k = 2; k <= NF; k++) s += $k; if (NF != 101 || (s - 1) ^ 2 > 1e-18) { print NF, s; exit 1 } }'
}
targets_of_classes_and_counts_may_be_several() {
    paste -d, count.csv <(cut -d, -f4 count.csv | sed 's/count/again/') >counts.csv
    quietly fit counts.csv -o m.agp --likelihood poisson --exposure hours --target count --target again "${steps[@]}" && anygp predict m.agp counts.csv >p.csv && cut -d, -f1-4 p.csv | sed 1d >a && cut -d, -f5-8 p.csv | sed 1d >b && close a b 1e-9 || return 1
    paste -d, two.csv <(cut -d, -f3 three.csv) >classes.csv
    quietly fit classes.csv -o m.agp --likelihood softmax --target two --target three "${steps[@]}" && [ "$(anygp predict m.agp classes.csv | head -n 1)" = 'two_label,two_p_no,two_p_yes,three_label,"three_p_dark blue",three_p_green,three_p_red' ]
}
what_cannot_be_is_refused() {
    sed '2,$s/[^,]*$/same/' two.csv >one.csv && refuses "class 'same' in every row" fit one.csv -o no.agp --likelihood bernoulli &&
        refuses 'bernoulli takes at most 2 classes; the target has 3' fit three.csv -o no.agp --likelihood bernoulli &&
        refuses "'two' is text" fit two.csv -o no.agp --likelihood poisson || return 1
    sed '9s/[^,]*$/-2/' count.csv >odd.csv && refuses "row 8, column 'count': the target -2 is not a count" fit odd.csv -o no.agp --likelihood poisson &&
        awk -F, -v OFS=, 'NR == 9 { $3 = "" } 1' count.csv >odd.csv && refuses "row 8, column 'hours'" fit odd.csv -o no.agp --likelihood poisson --exposure hours &&
        awk -F, -v OFS=, 'NR == 9 { $3 = 0 } 1' count.csv >odd.csv && refuses "row 8, column 'hours'" fit odd.csv -o no.agp --likelihood negbin --exposure hours &&
        refuses "no column 'minutes'" fit count.csv -o no.agp --likelihood poisson --exposure minutes || return 1
    quietly fit two.csv -o m.agp --likelihood bernoulli "${steps[@]}" && sed '5s/[^,]*$/perhaps/' two.csv >odd.csv && refuses "row 4: .*'perhaps'" eval m.agp odd.csv && refuses "row 4: .*'perhaps'" update m.agp odd.csv
}

white_terms_count_once_in_what_is_observed() {
    printf 'a,b\n900,900\n' >x.csv # where only the prior speaks
    quietly fit real.csv -o w.agp --model svgp --likelihood 'laplace(scale=0.3)' --kernel 'rbf(variance=1,lengthscale=1) + white(variance=0.5)' --fix all --standardize none --inducing 16 --iters 20 -q &&
        { anygp predict w.agp x.csv --latent && anygp predict w.agp x.csv; } | grep -v mean | cut -d, -f2 >variance && printf '1\n1.68\n' >expected && close variance expected 1e-9
}

# E[log p] is at most log E[p], the latter by another integral; draws may miss either by a little.
below_jensen() { score file.agp "$1" mell | awk -v nlp="$(score file.agp "$1" mnlp)" '!NF || !($1 <= 0.02 - nlp) || !($1 > -1000) { print "mell " $1 ", mnlp " nlp; exit 1 } END { exit !NR }'; }
readable() { # DATA LIKELIHOOD: its file says what was given, and predicts
    local m
    for m in svgp solve odvgp ivsgpr svdgp svdgp-sga; do
        quietly fit "$1" -o file.agp --model $m --likelihood "$2" --inducing 16 --batch 120 --iters 2 --step 0.01 --fix all -q "${@:3}" && anygp predict file.agp "$1" >p.csv && finite p.csv && below_jensen "$1" || { echo "$m, $2"; return 1; }
        case $2 in *=-*) given=${2#*(} && anygp info file.agp | grep -qF -e "${given%)}" || { anygp info file.agp; return 1; } ;; esac
    done
}
files_of_every_likelihood_and_model_are_read_with_parameters_below_zero() {
    readable real.csv gaussian && readable real.csv 'laplace(scale=0.1)' && readable far.csv 'studentt(scale=0.1)' && readable noisy.csv 'heteroscedastic(offset=-3)' &&
        readable count.csv 'poisson(offset=-1)' --exposure hours && readable count.csv 'negbin(offset=-1)' --exposure hours && readable two.csv bernoulli &&
        readable three.csv softmax && readable three.csv robustmax && readable grade.csv 'ordinal(threshold=-1)'
}
rows_out_of_proportion_leave_a_model() {
    local m
    awk 'BEGIN { srand(2); print "x,w,c"; for (i = 0; i < 80; i++) { x = 4 * rand(); print x "," (i % 5 ? 1 : 1000000) "," int(3 + 2 * sin(3 * x) + 6 * rand()) } }' >heavy.csv
    for m in svgp odvgp ivsgpr solve; do
        quietly fit heavy.csv -o m.agp --likelihood poisson --weights w --model $m --inducing 20 --iters 120 && anygp predict m.agp heavy.csv >p.csv && finite p.csv || { echo $m; return 1; }
        cut -d, -f1 p.csv | paste -d, heavy.csv - | awk -F, 'NR > 1 && $2 > 1 { n++; e += ($4 - $3) ^ 2 } END { if (!(e / n < 16)) { print e / n; exit 1 } }' || { echo $m; return 1; }
    done
}
rates_at_the_bound_are_warned_of() {
    awk 'BEGIN { srand(2); print "x,c"; for (i = 0; i < 80; i++) print i / 20 "," (i == 40 ? 1e9 : int(6 * rand())) }' >peak.csv
    anygp fit peak.csv -o m.agp --likelihood poisson --model svgp --inducing 20 --kernel 'rbf(variance=400,lengthscale=1)' --fix all --valid 0 >/dev/null 2>note && grep -q 'warning: at .* rows the rate is at the bound' note && anygp predict m.agp peak.csv >p.csv && finite p.csv &&
        ! anygp fit count.csv -o m.agp --likelihood poisson --exposure hours --model svgp "${steps[@]}" 2>&1 | grep -q 'at the bound'
}
a_surprising_count_is_learned() {
    quietly fit count.csv -o m.agp --likelihood poisson --exposure hours --model svgp "${steps[@]}" && printf 'a,b,hours,count\n0.5,0,1,100000\n-0.5,0,1,0\n' >big.csv && quietly update m.agp big.csv &&
        anygp predict m.agp big.csv | awk -F, 'NR == 2 && !($1 > 5e4 && $1 < 2e5) { print; exit 1 }'
}
many_degrees_of_freedom_are_the_gaussian() {
    local l fixed=(--model svgp --kernel 'rbf(variance=1,lengthscale=1)' --fix all --standardize none --inducing 30 --iters 60 -q)
    quietly fit real.csv -o g.agp --likelihood gaussian --noise 0.04 "${fixed[@]}" && anygp predict g.agp real.csv >g.csv || return 1
    for l in 1e15 1e9; do quietly fit real.csv -o t.agp --likelihood "studentt(scale=0.2,df=$l)" "${fixed[@]}" && anygp predict t.agp real.csv >t.csv && sed 1d g.csv >a && sed 1d t.csv >b && close a b 1e-5 || return 1; done
}
exposures_without_sense_are_refused() {
    awk -F, -v OFS=, 'NR == 9 { $3 = "" } 1' count.csv >odd.csv && refuses "row 8, column 'hours': the exposure is missing" fit odd.csv -o no.agp --likelihood poisson --exposure hours || return 1
    quietly fit count.csv -o m.agp --likelihood poisson --exposure hours "${steps[@]}" && refuses "row 8, column 'hours': the exposure is missing" predict m.agp odd.csv || return 1
    awk -F, -v OFS=, 'NR == 9 { $3 = "1e300" } 1' count.csv >odd.csv && refuses "row 8, column 'hours': the exposure is outside 1e-100 to 1e100" fit odd.csv -o no.agp --likelihood poisson --exposure hours &&
        refuses "row 8, column 'hours': the exposure is outside" eval m.agp odd.csv && refuses "row 8, column 'hours': the exposure is outside" update m.agp odd.csv
}
settings_of_another_likelihood_are_named() {
    local m
    for m in exact dtc svgp auto; do refuses 'gaussian takes no exposure' fit count.csv -o no.agp --model $m --exposure hours || return 1; done
    anygp fit count.csv -o m.agp --likelihood poisson --noise 0.1 "${steps[@]/-q/--threads=1}" >/dev/null 2>note
    grep -q -e '--noise has no effect on likelihood poisson' note && ! anygp fit real.csv -o m.agp --noise 0.1 --iters 3 2>&1 | grep -q 'has no effect'
}
labels_may_be_numbers_and_words() {
    awk -F, -v OFS=, 'NR > 1 { $3 = $3 == "red" ? 2 : $3 == "green" ? 10 : "x" } 1' three.csv | sed '2,8s/x$/2/' >mixed.csv
    quietly fit mixed.csv -o m.agp --likelihood softmax "${steps[@]}" && anygp info m.agp | grep -q '3: 10, 2, x' && at_most "$(score m.agp mixed.csv logloss)" 0.9 || return 1
    sed 1d mixed.csv >plain.csv && quietly fit plain.csv -o m.agp --likelihood softmax "${steps[@]}" && at_most "$(score m.agp plain.csv logloss)" 0.9 || return 1
    sed '20s/^[^,]*/here/' mixed.csv >odd.csv && refuses "line 20 .*column 'a': 'here' is not a number" fit odd.csv -o no.agp --likelihood softmax
}
sets_are_asked_for_by_their_own_sign() {
    refuses "solve takes M\+M2" fit real.csv -o no.agp --model solve --inducing 8/8 && refuses "odvgp takes M\+M2" fit real.csv -o no.agp --model odvgp --inducing 8/0 && refuses "svdgp takes M/M2" fit real.csv -o no.agp --model svdgp --inducing 8+8
}
sentences_are_english() {
    refuses "did you mean 'poisson'\? The likelihoods are" fit count.csv -o no.agp --likelihood poison && refuses "likelihood 'studentt\(df=4': expected , or \) at character 14$" fit count.csv -o no.agp --likelihood 'studentt(df=4' &&
        sed '5s/[^,]*$//' real.csv >hole.csv && anygp fit hole.csv -o m.agp --iters 3 2>&1 | grep -q '1 row without a target was left out'
}

check white_terms_count_once_in_what_is_observed
check rows_out_of_proportion_leave_a_model
check rates_at_the_bound_are_warned_of
check a_surprising_count_is_learned
check many_degrees_of_freedom_are_the_gaussian
check exposures_without_sense_are_refused
check settings_of_another_likelihood_are_named
check labels_may_be_numbers_and_words
check sets_are_asked_for_by_their_own_sign
check sentences_are_english
check numbers_are_learned_with_laplace
check numbers_are_learned_with_studentt
check numbers_are_learned_with_heteroscedastic
check counts_are_learned_with_poisson
check counts_are_learned_with_negbin
check classes_are_learned_with_bernoulli
check classes_are_learned_with_softmax
check classes_are_learned_with_robustmax
check classes_are_learned_with_ordinal
check outliers_move_a_robust_fit_less
check noise_that_depends_on_the_inputs_is_found
check twice_the_exposure_is_twice_the_rate
check labels_need_no_header
check many_classes_fit
check targets_of_classes_and_counts_may_be_several
check files_of_every_likelihood_and_model_are_read_with_parameters_below_zero
check what_cannot_be_is_refused
finish
