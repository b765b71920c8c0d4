# lagp: its designs from the command line, what it takes and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 200 --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.2)' --noise 0.02 -o all.csv
head -n 161 all.csv >train.csv
sed '2,161d' all.csv >test.csv
few=(--iters 2 --neighbors 12 --valid test.csv)

every_design_fits_and_is_the_same_after_loading() {
    local design said
    for design in alc mspe nn ray 'alc,start=3,close=40,local=yes,scale=integrated'; do
        said=$(anygp fit train.csv -q -o m.agp --json --model "lagp(design=$design)" "${few[@]}" | json_number rmse)
        [ "$said" = "$(anygp eval m.agp test.csv --json | json_number rmse)" ] || { echo "$design: $said"; return 1; }
    done
    anygp info m.agp | grep -q 'lagp(start=3,close=40,local=yes,scale=integrated), 160 rows'
}
text_columns_weights_and_a_mean_are_taken() {
    awk -F, 'NR == 1 { print "place," $0 ",w" } NR > 1 { print "abc" substr("xyz", NR % 3 + 1, 1) "," $0 "," (NR % 5 == 0 ? "1e-300" : NR % 7 == 0 ? "1e15" : 1) }' train.csv >mixed.csv
    fits mixed.csv --model lagp --iters 2 --neighbors 12 --mean linear --target y --weights w
}
new_rows_equal_a_fit_to_all_rows() {
    local fixed=(--valid 0 --standardize none --fix all --kernel 'matern32(variance=1,lengthscale=0.2)' --noise 0.02 --neighbors 12)
    awk 'NR == 1 || NR <= 100' train.csv >early.csv && awk 'NR == 1 || NR > 100' train.csv >late.csv && sed -n '5,9p' train.csv >>late.csv
    { cat early.csv; sed 1d late.csv; } >both.csv
    anygp fit early.csv -q -o u.agp --model 'lagp(design=ray)' "${fixed[@]}" >/dev/null && anygp update u.agp late.csv >/dev/null && anygp fit both.csv -q -o b.agp --model 'lagp(design=ray)' "${fixed[@]}" >/dev/null || return 1
    anygp predict u.agp test.csv -o u.csv && anygp predict b.agp test.csv -o b.csv && close u.csv b.csv 1e-8 && anygp info u.agp | grep -q 'lagp(design=ray), 160 rows'
}
sizes_that_do_not_fit_together_are_refused() {
    refuses 'lagp\(start=60\), but a design has 50 rows' fit train.csv -o m.agp --model 'lagp(start=60)' && refuses 'lagp\(close=20\), but a design has 50 rows' fit train.csv -o m.agp --model 'lagp(close=20)' &&
        refuses '--neighbors 160, but there are 160 distinct rows' fit train.csv -o m.agp --model lagp --neighbors 160 --valid 0
}
unknown_designs_and_options_are_refused() {
    refuses 'expected alc, mspe, nn or ray' fit train.csv -o m.agp --model 'lagp(design=best)' && refuses 'lagp takes design, start, close, local and scale' fit train.csv -o m.agp --model 'lagp(end=3)' &&
        refuses '0 is no whole number' fit train.csv -o m.agp --model 'lagp(start=0)' && refuses 'lagp' fit train.csv -o m.agp --model lagp --likelihood studentt
}

# t with 12 degrees of freedom: 2.178813 scales, each of sqrt(10/12) standard deviations, and its density.
an_integrated_scale_predicts_students_t() {
    anygp fit train.csv -q -o t.agp --model 'lagp(scale=integrated)' "${few[@]}" >/dev/null && anygp predict t.agp test.csv -o t.csv && anygp eval t.agp test.csv >scores || return 1
    awk -F, 'NR > 1 { a = ($4 - $1) / sqrt($2); b = ($1 - $3) / sqrt($2); if (a < 1.98896 || a > 1.98898 || b < 1.98896 || b > 1.98898) bad++ } END { exit !(NR > 30 && !bad) }' t.csv || { head -n 3 t.csv; return 1; }
    paste -d, t.csv test.csv | awk -F, 'BEGIN { while ((getline line <"scores") > 0) { split(line, word, /  */); if (word[1] == "mnlp") said = word[2] }; ratio = log(11 * 9 * 7 * 5 * 3 / 64) + 0.5 * log(3.14159265358979) - log(120) }
        NR > 1 { scale = sqrt($2 * 10 / 12); z = ($7 - $1) / scale; sum -= ratio - 0.5 * log(12 * 3.14159265358979) - log(scale) - 6.5 * log(1 + z * z / 12); n++ }
        END { print sum / n, said; exit !((sum / n - said) ^ 2 < 1e-10) }'
}
a_level_region_has_a_variance() { # where all targets of a design are the mean
    awk -F, -v OFS=, 'NR == 1 || $1 < 0.5 { print $1, $2, NR == 1 ? $3 : 0; next } { print }' train.csv >level.csv
    fits level.csv --model 'lagp(scale=integrated)' --neighbors 12 --standardize none --iters 2 --valid 0 || return 1
    anygp predict fits.agp level.csv | awk -F, 'NR > 1 && !($2 > 0 && $4 > $3) { print; bad = 1 } END { exit bad }'
}

check every_design_fits_and_is_the_same_after_loading
check an_integrated_scale_predicts_students_t
check a_level_region_has_a_variance
check text_columns_weights_and_a_mean_are_taken
check new_rows_equal_a_fit_to_all_rows
check sizes_that_do_not_fit_together_are_refused
check unknown_designs_and_options_are_refused
finish
