# The numbers themselves, against formulas worked out here by other means.
. "$(dirname "$0")/lib.sh"
plain=(--standardize none --prior none --fix all)

# Two rows (0, y1), (1, y2) and one test place x = t, with k(r) given at r = 1, t and 1 - t.  With a = k(0) + noise,
# c = k(1) the 2 x 2 inverse is written down at once.  Prints mean, variance of y, variance of f, log evidence.
two_rows() { # K0 K1 KT KU NOISE Y1 Y2
    awk -v k0="$1" -v c="$2" -v kt="$3" -v ku="$4" -v s="$5" -v y1="$6" -v y2="$7" 'BEGIN {
        a = k0 + s; det = a * a - c * c
        mean = (kt * (a * y1 - c * y2) + ku * (a * y2 - c * y1)) / det
        f = k0 - (a * kt * kt - 2 * c * kt * ku + a * ku * ku) / det
        evidence = -0.5 * (a * (y1 * y1 + y2 * y2) - 2 * c * y1 * y2) / det - 0.5 * log(det) - log(2 * atan2(0, -1))
        printf "%.15g,%.15g,%.15g,%.15g\n", mean, f + s, f, evidence }'
}
# The same four from the program.
program() { # KERNEL NOISE T
    printf 'x,y\n0,1\n1,3\n' >two.csv && printf 'x\n%s\n' "$3" >at.csv
    anygp fit two.csv -q "${plain[@]}" --kernel "$1" --noise "$2" -o two.agp >/dev/null || return 1
    printf '%s,%s,%s\n' "$(anygp predict two.agp at.csv | sed 1d | cut -d, -f1,2)" "$(anygp predict two.agp at.csv --latent | sed 1d | cut -d, -f2)" \
        "$(anygp info two.agp --json | json_number value)"
}
two_rows_agree() { # KERNEL NOISE T K0 K1 KT KU
    program "$1" "$2" "$3" >a.txt && two_rows "$4" "$5" "$6" "$7" "$2" 1 3 >b.txt && close a.txt b.txt 1e-11
}
value() { awk "BEGIN { printf \"%.17g\", $1 }"; }

rbf_on_two_rows_is_the_formula() {
    two_rows_agree 'rbf(variance=2,lengthscale=1.5)' 0.1 0.3 2 "$(value '2*exp(-1/4.5)')" "$(value '2*exp(-0.09/4.5)')" "$(value '2*exp(-0.49/4.5)')"
}
matern52_on_two_rows_is_the_formula() {
    m() { value "(1+sqrt(5)*$1+5*$1*$1/3)*exp(-sqrt(5)*$1)"; }
    two_rows_agree 'matern52(variance=1,lengthscale=1)' 0.25 0.5 1 "$(m 1)" "$(m 0.5)" "$(m 0.5)"
}
matern12_on_two_rows_is_the_formula() {
    two_rows_agree 'matern12(variance=3,lengthscale=2)' 0.01 0.8 3 "$(value '3*exp(-0.5)')" "$(value '3*exp(-0.4)')" "$(value '3*exp(-0.1)')"
}
sum_of_kernels_on_two_rows_is_the_formula() {
    two_rows_agree 'rbf(variance=1,lengthscale=1) + constant(variance=2)' 0.1 0.5 3 "$(value 'exp(-0.5)+2')" "$(value 'exp(-0.125)+2')" "$(value 'exp(-0.125)+2')"
}
intervals_are_mean_and_196_standard_deviations() {
    anygp predict two.agp two.csv | awk -F, 'NR > 1 { s = 1.959963984540054 * sqrt($2); d = $1 - s - $3; e = $1 + s - $4
        if (d * d > 1e-18 || e * e > 1e-18) exit 1; n++ } END { exit n != 2 }'
}
scores_are_their_definitions() {
    anygp simulate --rows 80 --inputs 2 -o train.csv && anygp fit train.csv -q -o m.agp >/dev/null && anygp predict m.agp train.csv | sed 1d >p.csv || return 1
    sed 1d train.csv | cut -d, -f3 | paste -d, - p.csv | awk -F, '{ r = $1 - $2; q += r * r; a += r < 0 ? -r : r; v = $3
        l += 0.5 * log(2 * atan2(0, -1) * v) + r * r / (2 * v); in95 += $1 >= $4 && $1 <= $5 }
        END { printf "%.10g\n%.10g\n%.10g\n%.10g\n", sqrt(q / NR), a / NR, l / NR, in95 / NR }' >a.txt
    anygp eval m.agp train.csv --json >scores.json && is_json <scores.json || return 1
    for name in rmse mae mnlp coverage95; do json_number $name <scores.json; done >b.txt
    close a.txt b.txt 1e-8
}
leave_one_out_of_two_rows_is_prediction_from_one() {
    printf 'x,y\n0,1\n1,3\n' >two.csv
    anygp fit two.csv -q "${plain[@]}" --kernel 'rbf(variance=2,lengthscale=1.5)' --noise 0.1 -o two.agp >/dev/null
    # From the other row alone: mean c / a times its y.
    value 'sqrt(((1-3*2*exp(-1/4.5)/2.1)^2+(3-2*exp(-1/4.5)/2.1)^2)/2)' >a.txt && echo >>a.txt
    anygp info two.agp --json | json_number rmse >b.txt && close a.txt b.txt 1e-11
}
given_hyperparameters_are_in_the_units_of_the_data() {
    # Scaling x inside and stating the length-scale in data units changes nothing.
    local k=(--prior none --fix all --kernel 'rbf(variance=2,lengthscale=[0.3,0.4])' --noise 0.1)
    anygp fit train.csv -q "${k[@]}" --standardize none -o n.agp >/dev/null && anygp fit train.csv -q "${k[@]}" --standardize x -o x.agp >/dev/null &&
        anygp predict n.agp train.csv >a.csv && anygp predict x.agp train.csv >b.csv && close a.csv b.csv 1e-8 &&
        anygp info x.agp | grep -q 'rbf(variance=2,lengthscale=\[0.3,0.4\])'
}
scaling_the_target_scales_the_predictions() {
    awk -F, -v OFS=, 'NR > 1 { $3 = 1000 * $3 - 70 } { print }' train.csv >scaled.csv
    anygp fit scaled.csv -q -o s.agp >/dev/null && anygp predict m.agp train.csv | sed 1d | awk -F, '{ printf "%.12g,%.12g\n", 1000 * $1 - 70, 1e6 * $2 }' >a.csv &&
        anygp predict s.agp train.csv | sed 1d | cut -d, -f1,2 >b.csv && close a.csv b.csv 1e-4
}
draws_are_joint_and_follow_the_seed() {
    printf 'x1,x2\n0.5,0.5\n0.5,0.5\n0.9,0.1\n' >at.csv
    anygp predict m.agp at.csv --samples 3 --latent --seed 5 >a.csv && anygp predict m.agp at.csv --samples 3 --latent --seed 5 >b.csv &&
        anygp predict m.agp at.csv --samples 3 --latent --seed 6 >c.csv && cmp a.csv b.csv && ! cmp -s a.csv c.csv || return 1
    # f at one place twice is one number, to the root of the jitter.
    [ "$(head -n 1 a.csv)" = sample1,sample2,sample3 ] &&
        awk -F, 'NR == 2 { split($0, f, ",") } NR == 3 { for (i = 1; i <= 3; i++) { d = $i - f[i]; if (d * d > 1e-6) exit 1 } }' a.csv
}
draws_have_the_predicted_moments() {
    printf 'x1,x2\n0.5,0.5\n' >at.csv
    anygp predict m.agp at.csv --samples 20000 | sed 1d | awk -F, '{ for (i = 1; i <= NF; i++) { s += $i; q += $i * $i } m = s / NF; print m "," q / NF - m * m }' >a.csv
    anygp predict m.agp at.csv | sed 1d | awk -F, 'NR == FNR { split($0, a, ","); next } { e = ($1 - a[1]) / sqrt($2 / 20000); v = a[2] / $2 - 1; exit !(e * e < 25 && v * v < 0.0025) }' a.csv -
}
simulated_data_follow_the_seed() {
    anygp simulate --rows 500 --inputs 3 --seed 4 >a.csv && anygp simulate --rows 500 --inputs 3 --seed 4 -o b.csv && anygp simulate --rows 500 --inputs 3 --seed 5 >c.csv &&
        cmp a.csv b.csv && ! cmp -s a.csv c.csv && finite a.csv && [ "$(wc -l <a.csv)" = 501 ]
}
simulated_data_have_the_given_moments() {
    anygp simulate --rows 20000 --inputs 1 --kernel 'rbf(variance=4,lengthscale=0.001)' --noise 1 --seed 2 | sed 1d | awk -F, '{ s += $2; q += $2 * $2 }
        END { v = q / NR; exit !(v > 4.2 && v < 5.8) }'
}

check rbf_on_two_rows_is_the_formula
check matern52_on_two_rows_is_the_formula
check matern12_on_two_rows_is_the_formula
check sum_of_kernels_on_two_rows_is_the_formula
check intervals_are_mean_and_196_standard_deviations
check scores_are_their_definitions
check leave_one_out_of_two_rows_is_prediction_from_one
check given_hyperparameters_are_in_the_units_of_the_data
check scaling_the_target_scales_the_predictions
check draws_are_joint_and_follow_the_seed
check draws_have_the_predicted_moments
check simulated_data_follow_the_seed
check simulated_data_have_the_given_moments
finish
