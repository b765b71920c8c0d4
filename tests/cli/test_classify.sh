# Targets that are classes or counts: labels and probabilities, scores, exposure, and what is refused.
. "$(dirname "$0")/lib.sh"
# Rows in the plane: inside a circle or not, by texts; three regions, by numbers; counts with an exposure.
awk 'function poisson(l,  p, k, u) { u = rand(); p = exp(-l); for (k = 0; u > p && k < 99; p *= l / k) { u -= p; k++ } return k }
     BEGIN {
         srand(1); print "a,b,circle" >"circle.csv"; print "a,b,region" >"region.csv"; print "a,time,count" >"count.csv"
         for (i = 0; i < 300; i++) {
             a = 4 * rand() - 2; b = 4 * rand() - 2; t = 0.5 + 2 * rand()
             print a "," b "," (a * a + b * b < 1.6 ? "in it" : "out") >"circle.csv"
             print a "," b "," (a < -0.5 ? 7 : b > 0 ? 10 : -1.5) >"region.csv"
             print a "," t "," poisson(t * exp(sin(2 * a))) >"count.csv"
         }
     }'
few=(--kernel 'rbf(variance=4,lengthscale=1)' --inducing 20 --iters 60 -q) # a start that needs few steps
fit() { anygp fit "$1" -o "$2" "${few[@]}" "${@:3}" >"$said/out" 2>"$said/err" || { cat "$said/err"; return 1; }; } # DATA MODEL
fit circle.csv circle.agp --likelihood bernoulli || exit 1
value() { sed -n "s/.*\"$1\": \([-0-9.e+]*\).*/\1/p"; } # NAME
above() { awk -v x="$1" -v y="$2" 'BEGIN { if (x == "" || !(x + 0 > y)) { print x " is not above " y; exit 1 } }'; }

labels_are_the_most_probable_class() {
    anygp predict circle.agp circle.csv >p.csv && [ "$(head -n 1 p.csv)" = 'label,"p_in it",p_out' ] && finite p.csv || return 1
    awk -F, 'NR > 1 && ($2 + $3 < 1 - 1e-12 || $2 + $3 > 1 + 1e-12 || $1 != ($3 > $2 ? "out" : "\"in it\"")) { print; wrong = 1 }
             END { exit wrong || NR != 301 }' p.csv
}
scores_are_those_of_the_predictions() {
    anygp eval circle.agp circle.csv --json >scores && anygp predict circle.agp circle.csv >p.csv || return 1
    above "$(value accuracy <scores)" 0.9 || return 1
    paste -d, circle.csv p.csv | awk -F, 'NR > 1 { gsub(/"/, "", $4); n++; right += $3 == $4; loss -= log($3 == "out" ? $6 : $5) }
        END { printf "%.10f\n%.10f\n%.10f\n", right / n, loss / n, loss / n }' >own
    { value accuracy <scores; value logloss <scores; value mnlp <scores; } >theirs
    close own theirs 1e-8
}
a_target_of_texts_is_a_class_without_being_told() {
    anygp fit circle.csv -o own.agp "${few[@]/-q/--threads=1}" >/dev/null 2>note && grep -q 'text, so it is taken as two classes: --likelihood bernoulli' note || return 1
    anygp predict circle.agp circle.csv >p.csv && anygp predict own.agp circle.csv >q.csv && close p.csv q.csv 1e-6 || return 1
    sed '5s/[^,]*$/3.5/' circle.csv >mixed.csv && refuses "target column 'circle' is text" fit mixed.csv -o x.agp &&
        refuses "target column 'circle' is text" fit circle.csv -o x.agp --likelihood gaussian
}
classes_have_scores_of_their_own() {
    anygp eval circle.agp circle.csv >scores && anygp predict circle.agp circle.csv >p.csv || return 1
    paste -d, circle.csv p.csv | tr -d '"' | awk -F, 'NR > 1 { rows[$3]++; as[$4]++; both[$4] += $3 == $4 }
        END { for (c in rows) { sum += both[c] / rows[c] / 2; printf "recall_%s %.6g\nprecision_%s %.6g\n", c, both[c] / rows[c], c, both[c] / as[c] } printf "balanced_accuracy %.6g\n", sum }' | sort >own
    grep -E 'recall|precision|balanced' scores | sed 's/  */ /g' | sort | diff - own
}
balanced_classes_are_rows_weighted_by_hand() {
    awk -F, -v OFS=, 'NR == FNR { n[$3]++; next } { print $0, FNR == 1 ? "w" : sprintf("%.17g", 300 / 2 / n[$3]) }' circle.csv circle.csv >weighted.csv
    fit weighted.csv by.agp --likelihood bernoulli --weights w --valid 0 && fit circle.csv balanced.agp --class-weight balanced --valid 0 || return 1
    anygp predict by.agp circle.csv >p.csv && anygp predict balanced.agp circle.csv >q.csv && close p.csv q.csv 1e-9 && ! cmp -s q.csv <(anygp predict circle.agp circle.csv) &&
        refuses 'class-weight: .*is not a class' fit count.csv -o x.agp --class-weight balanced
}
columns_may_stand_in_any_order_and_labels_may_be_missing() {
    awk -F, -v OFS=, '{ print (NR == 5 ? "" : $3), $2, $1 }' circle.csv >other.csv
    anygp predict circle.agp circle.csv >p.csv && anygp predict circle.agp other.csv >q.csv && cmp p.csv q.csv || return 1
    [ "$(anygp eval circle.agp other.csv --json | value n)" = 299 ]
}
numbers_are_classes_too() {
    fit region.csv region.agp --likelihood softmax && anygp predict region.agp region.csv >p.csv || return 1
    [ "$(head -n 1 p.csv)" = label,p_-1.5,p_7,p_10 ] || return 1
    [ "$(tail -n +2 p.csv | cut -d, -f1 | sort -u | tr '\n' ' ')" = "-1.5 10 7 " ] || return 1
    above "$(anygp eval region.agp region.csv --json | value accuracy)" 0.9 &&
        anygp info region.agp | grep -q '3: -1.5, 7, 10'
}
latent_functions_have_columns_of_their_own() {
    anygp predict circle.agp circle.csv --latent | head -n 1 | grep -qx mean,variance,lo95,hi95 || return 1
    fit region.csv region.agp --likelihood softmax &&
        anygp predict region.agp region.csv --latent | head -n 1 | grep -qx mean_1,variance_1,mean_2,variance_2,mean_3,variance_3
}
several_targets_prefix_their_columns() {
    awk -F, -v OFS=, '{ print $0, (NR == 1 ? "right" : ($1 > 0)) }' circle.csv >two.csv
    fit two.csv two.agp --likelihood bernoulli --target circle --target right &&
        anygp predict two.agp two.csv | head -n 1 | grep -qx 'circle_label,"circle_p_in it",circle_p_out,right_label,right_p_0,right_p_1' &&
        anygp eval two.agp two.csv --json | grep -q '"targets": {"circle": {"accuracy"'
}
tables_of_numbers_have_the_numbers_of_the_classes() {
    anygp predict circle.agp circle.csv -o p.npy 2>note && grep -q 'numbers of their classes' note && anygp convert p.npy q.csv || return 1
    anygp predict circle.agp circle.csv >p.csv
    paste -d, p.csv <(echo label; tail -n 300 q.csv) | awk -F, 'NR > 1 && $4 != ($1 == "out") { print; wrong = 1 } END { exit wrong || NR != 301 }'
}
draws_are_labels() {
    head -n 4 circle.csv >few.csv
    anygp predict circle.agp few.csv --samples 20 >p.csv && [ "$(tail -n +2 p.csv | tr ',' '\n' | sort -u | tr '\n' ' ')" = '"in it" out ' ]
}
a_label_the_model_does_not_know_is_named() {
    { cat circle.csv; echo 0,0,beside; } >more.csv
    refuses "row 301: .*'beside'" eval circle.agp more.csv
}
held_out_rows_are_scored_as_classes() {
    fit circle.csv held.agp --likelihood bernoulli --valid 0.3 --trace trace.csv && above "$(sed -n 's/.*accuracy \([0-9.]*\) %.*/\1/p' "$said/out")" 80 || return 1
    tail -n 1 trace.csv | awk -F, '$4 != "" || !($5 > 0) { print; exit 1 }'
}
counts_are_predicted_for_their_exposure() {
    fit count.csv count.agp --likelihood poisson --exposure time || return 1
    anygp predict count.agp count.csv >p.csv && cut -d, -f1 count.csv >alone.csv && anygp predict count.agp alone.csv >q.csv 2>note || return 1
    grep -q "no column of exposures 'time'" note && [ "$(wc -l <note)" = 1 ] && finite p.csv || return 1
    paste -d, count.csv p.csv q.csv | awk -F, 'NR > 1 { d = $4 - $2 * $8; if (d * d > 1e-20 * $4 * $4 || $6 != int($6) || $7 < $6) { print; wrong = 1 } } END { exit wrong }' || return 1
    above "$(anygp eval count.agp count.csv --json | value coverage95)" 0.9
}
counts_must_be_counts() {
    { cat count.csv; echo 0,1,2.5; } >half.csv
    refuses '301.*2\.5|2\.5.*301' fit half.csv -o x.agp --likelihood poisson --exposure time &&
        fit count.csv count.agp --likelihood poisson --exposure time && refuses 'row 301.*2\.5' eval count.agp half.csv
}
models_for_gaussian_noise_alone_say_so() {
    local m
    for m in exact sod dtc fitc pic; do refuses "$m .*gaussian.*svgp" fit count.csv -o x.agp --likelihood poisson --model $m || return 1; done
    refuses "did you mean 'poisson'" fit count.csv -o x.agp --likelihood poison
}
a_model_file_of_classes_is_checked() {
    local size
    size=$(wc -c <circle.agp)
    for cut in 20 500 $((size / 2)) $((size - 1)); do
        head -c $cut circle.agp >cut.agp
        refuses 'cut.agp' predict cut.agp circle.csv || return 1
    done
}

check labels_are_the_most_probable_class
check scores_are_those_of_the_predictions
check a_target_of_texts_is_a_class_without_being_told
check classes_have_scores_of_their_own
check balanced_classes_are_rows_weighted_by_hand
check columns_may_stand_in_any_order_and_labels_may_be_missing
check numbers_are_classes_too
check latent_functions_have_columns_of_their_own
check several_targets_prefix_their_columns
check tables_of_numbers_have_the_numbers_of_the_classes
check draws_are_labels
check a_label_the_model_does_not_know_is_named
check held_out_rows_are_scored_as_classes
check counts_are_predicted_for_their_exposure
check counts_must_be_counts
check models_for_gaussian_noise_alone_say_so
check a_model_file_of_classes_is_checked
finish
