# --transform: positive targets, in every command.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 240 --inputs 2 --kernel 'matern52(variance=1,lengthscale=[0.3,0.6])' --noise 0.05 -o normal.csv
column() { awk -F, -v OFS=, "NR > 1 { \$3 = $1 } 1" normal.csv; } # EXPRESSION of $3
column 'exp(1 + 1.5 * $3)' >lognormal.csv
column '(4 + $3)^2' >squares.csv
column '10 + $3' >plain.csv
column '$3 > 0 ? $3 : 0' >zeros.csv
for f in lognormal squares plain; do
    head -n 161 $f.csv >$f.train.csv
    { head -n 1 $f.csv; tail -n 80 $f.csv; } >$f.test.csv
done
score() { anygp eval "$1" "$2" | awk -v name="$3" '$1 == name { print $2 }'; } # MODEL DATA NAME
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }
fit() { anygp fit "$@" >"$said/out" 2>"$said/err" || { cat "$said/err"; return 1; }; }

log_beats_none_on_lognormal_data() {
    fit lognormal.train.csv -o none.agp && fit lognormal.train.csv -o log.agp --transform log &&
        less "$(score log.agp lognormal.test.csv mnlp)" "$(score none.agp lognormal.test.csv mnlp) - 0.5" &&
        less "$(score log.agp lognormal.test.csv crps)" "$(score none.agp lognormal.test.csv crps)" &&
        less 0.87 "$(score log.agp lognormal.test.csv coverage95)"
}
exponent_of_squares_is_learned() {
    fit squares.train.csv -o b.agp --transform boxcox && cat "$said/err" && anygp info b.agp --json >"$said/info" &&
        less 0.2 "$(grep -o '"lambda": *[0-9.]*' "$said/info" | tail -n 1 | sed 's/.*: *//')" &&
        less "$(grep -o '"lambda": *[0-9.]*' "$said/info" | tail -n 1 | sed 's/.*: *//')" 0.8
}
auto_says_what_it_chose() {
    fit lognormal.train.csv -o a.agp --transform auto && grep -q 'transform: log; log density of' "$said/err" &&
        fit plain.train.csv -o a.agp --transform auto && grep -q 'transform: none; ' "$said/err" &&
        fit zeros.csv -o a.agp --transform auto && grep -q 'transform: none, since the target of row [0-9]* is not above 0' "$said/err"
}
a_search_without_time_ends() {
    fit lognormal.train.csv -o a.agp --transform auto --time 1ms && grep -q 'transform: none, since --time is too short to compare' "$said/err" &&
        fit lognormal.train.csv -o a.agp --transform boxcox --time 1ms && grep -q 'transform: log, since --time is too short to compare' "$said/err"
}
scores_on_the_way_are_those_of_eval() { # the score of held-out rows is what eval says of the same rows in a file
    fit lognormal.train.csv -o v.agp --transform 'boxcox(0.2)' --valid lognormal.test.csv --model fitc --inducing 30 &&
        rmse=$(sed -n 's/.*validation: rmse \([0-9.e+-]*\),.*/\1/p' "$said/out") &&
        awk -v a="$rmse" -v b="$(score v.agp lognormal.test.csv rmse)" 'BEGIN { exit !((a - b) ^ 2 < 1e-6 * a ^ 2) }'
}
intervals_are_transformed_quantiles() {
    fit lognormal.train.csv -o log.agp --transform log &&
        anygp predict log.agp lognormal.test.csv >p.csv && anygp predict log.agp lognormal.test.csv --latent >f.csv &&
        paste -d, p.csv f.csv | awk -F, 'NR > 1 { if ($3 >= $1 || $1 >= $4 || $3 <= 0 || $7 >= log($4) || $7 <= log($3)) bad = 1 } END { exit bad }'
}
every_command_takes_the_model() {
    fit lognormal.train.csv -o m.agp --model fitc --inducing 20 --transform 'boxcox(lambda=0.1)' --report r.html && grep -q '<svg' r.html &&
        anygp info m.agp | grep -q '  transform  *boxcox(lambda=0.1)' &&
        anygp check m.agp lognormal.test.csv >c.txt && anygp plot m.agp lognormal.test.csv --what effects -o e.svg &&
        anygp predict m.agp lognormal.test.csv --samples 3 >s.csv && finite s.csv p.csv &&
        anygp update m.agp lognormal.test.csv >"$said/out" 2>&1 && anygp predict m.agp lognormal.test.csv >u.csv && finite u.csv &&
        refuses 'transformed by boxcox with a gaussian likelihood cannot be exported as C' export m.agp -o m.c
}
update_is_the_fit_of_all_rows() { # with the same hyperparameters and scales
    cut -d, -f1,2 lognormal.csv | head -n 21 >z.csv
    fit lognormal.train.csv -o u.agp --transform log --model dtc --inducing-from z.csv --standardize none --valid 0 --fix all --kernel 'rbf(variance=2,lengthscale=0.5)' --noise 0.1 &&
        anygp update u.agp lognormal.test.csv >"$said/out" 2>&1 &&
        fit lognormal.csv -o w.agp --transform log --model dtc --inducing-from z.csv --standardize none --valid 0 --fix all --kernel 'rbf(variance=2,lengthscale=0.5)' --noise 0.1 &&
        anygp predict u.agp plain.test.csv >a.csv && anygp predict w.agp plain.test.csv >b.csv &&
        paste -d, a.csv b.csv | awk -F, 'NR > 1 && ($1 - $5) ^ 2 > 1e-12 * $1 ^ 2 { bad = 1 } END { exit bad }'
}
targets_have_transforms_of_their_own() {
    paste -d, lognormal.csv <(cut -d, -f3 plain.csv | sed '1s/.*/z/') >two.csv
    fit two.csv -o two.agp --target y --target z --transform auto && grep -q "transform of 'y': log" "$said/err" && grep -q "transform of 'z': none" "$said/err" &&
        anygp predict two.agp two.csv >t.csv && finite t.csv && head -n 1 t.csv | grep -q 'y_mean.*z_mean'
}
on_disk_as_in_memory() {
    anygp convert lognormal.csv d.h5 && fit lognormal.csv -o d1.agp --model dtc --inducing 20 --transform boxcox && fit d.h5 -o d2.agp --memory 100M --model dtc --inducing 20 --transform boxcox &&
        less "$(score d1.agp lognormal.csv mnlp)" "$(score d2.agp lognormal.csv mnlp) + 0.05"
}
wrong_targets_and_names_are_refused() {
    refuses "row [0-9]*, column 'y': the target .* is not above 0, which --transform log needs" fit zeros.csv -o x.agp --transform log &&
        refuses "row [0-9]*, column 'y': the target .* is not above 0, which --transform boxcox needs" fit zeros.csv -o x.agp --transform boxcox &&
        refuses 'there is no such transform' fit plain.csv -o x.agp --transform sqrt &&
        refuses 'lambda must be from 0 to 2' fit plain.csv -o x.agp --transform 'boxcox(3)' &&
        refuses 'only targets with the likelihood gaussian are transformed' fit plain.csv -o x.agp --transform log --likelihood studentt &&
        fit lognormal.csv -o log.agp --transform log --model fitc --inducing 20 && refuses 'is not above 0' eval log.agp zeros.csv && refuses 'is not above 0' update log.agp zeros.csv
}

check log_beats_none_on_lognormal_data
check exponent_of_squares_is_learned
check auto_says_what_it_chose
check a_search_without_time_ends
check scores_on_the_way_are_those_of_eval
check intervals_are_transformed_quantiles
check every_command_takes_the_model
check update_is_the_fit_of_all_rows
check targets_have_transforms_of_their_own
check on_disk_as_in_memory
check wrong_targets_and_names_are_refused
finish
