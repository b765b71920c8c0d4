# Columns by name or number, weights, missing values, categories, several targets.
. "$(dirname "$0")/lib.sh"
fixed=(--kernel 'rbf(variance=1,lengthscale=0.7)' --noise 0.1 --fix all)

# A small table made by formula: x, z, y, the row repeated w times.
awk 'BEGIN { print "x,z,w,y"; for (i = 0; i < 30; i++) { x = i / 10; z = (i * 7 % 11) / 5; print x "," z "," i % 4 "," x * x - z + (i * 5 % 7) / 20 } }' >weighted.csv
awk -F, 'NR == 1 { print "x,z,y"; next } { for (k = 0; k < $3; k++) print $1 "," $2 "," $4 }' weighted.csv >repeated.csv
awk -F, 'NR == 1 || $3 > 0 { print $1 "," $2 "," $4 }' weighted.csv >plain.csv
awk -F, '{ print $1 "," $2 }' plain.csv >at.csv

predicts_alike() { # MODEL MODEL TOLERANCE
    anygp predict "$1" at.csv >a.csv && anygp predict "$2" at.csv >b.csv && close a.csv b.csv "$3"
}

weights_are_repeated_rows() {
    anygp fit weighted.csv -q --weights w "${fixed[@]}" -o w.agp >/dev/null && anygp fit repeated.csv -q "${fixed[@]}" -o r.agp >/dev/null &&
        predicts_alike w.agp r.agp 1e-8
}
evidence_of_weights_is_that_of_repeated_rows() {
    anygp info w.agp --json | json_number value >a.txt && anygp info r.agp --json | json_number value >b.txt && close a.txt b.txt 1e-8
}
scores_with_weights_are_those_of_repeated_rows() {
    anygp eval w.agp weighted.csv --weights w | grep -v '^n ' | awk '{ print $2 }' >a.txt
    anygp eval r.agp repeated.csv | grep -v '^n ' | awk '{ print $2 }' >b.txt
    close a.txt b.txt 1e-4
}
learning_with_weights_is_learning_from_repeated_rows() {
    anygp fit weighted.csv -q --weights w -o lw.agp >/dev/null && anygp fit repeated.csv -q -o lr.agp >/dev/null && predicts_alike lw.agp lr.agp 1e-4
}
weight_0_is_absence() {
    awk -F, -v OFS=, 'NR > 1 { $3 = $3 > 0 } { print }' weighted.csv >zero_one.csv
    anygp fit zero_one.csv --weights w "${fixed[@]}" -o z.agp >/dev/null 2>"$said/err" && anygp fit plain.csv -q "${fixed[@]}" -o p.agp >/dev/null &&
        predicts_alike z.agp p.agp 1e-10 && grep -q '8 rows of weight 0' "$said/err"
}
all_weights_0_are_refused() {
    printf 'x,w,y\n1,0,2\n2,0,3\n' >none.csv
    refuses 'no row is left' fit none.csv --weights w -o m.agp
}
target_by_name_number_and_from_the_end_agree() {
    anygp fit plain.csv -q "${fixed[@]}" --target y -o a.agp >/dev/null && anygp fit plain.csv -q "${fixed[@]}" --target 2 -o b.agp >/dev/null &&
        anygp fit plain.csv -q "${fixed[@]}" --target=-1 -o c.agp >/dev/null && predicts_alike a.agp b.agp 0 && predicts_alike a.agp c.agp 0
}
target_may_stand_first() {
    awk -F, '{ print $3 "," $1 "," $2 }' plain.csv >first.csv
    anygp fit first.csv -q "${fixed[@]}" --target y -o f.agp >/dev/null && predicts_alike f.agp p.agp 1e-12
}
columns_are_matched_by_name_in_any_order() {
    awk -F, 'NR == 1 { print "extra,z,y,x"; next } { print "9," $2 "," $3 "," $1 }' plain.csv >shuffled.csv
    anygp predict p.agp shuffled.csv >a.csv && anygp predict p.agp plain.csv >b.csv && cmp a.csv b.csv
}
column_that_is_missing_is_named() {
    printf 'x\n1\n' >narrow.csv
    refuses "no column 'z'" predict p.agp narrow.csv -o q.csv
}
files_without_header_are_matched_by_position() {
    sed 1d plain.csv >bare.csv && sed 1d at.csv >bare_at.csv
    anygp fit bare.csv -q "${fixed[@]}" -o bare.agp >/dev/null && anygp predict bare.agp bare_at.csv >a.csv && anygp predict bare.agp bare.csv >b.csv &&
        cmp a.csv b.csv && anygp predict p.agp plain.csv >c.csv && cmp a.csv c.csv
}
wrong_number_of_columns_is_refused() {
    printf '1,2,3,4,5\n' >five.csv
    refuses '5 columns' predict bare.agp five.csv -o q.csv
}
several_targets_prefix_their_columns() {
    awk -F, 'NR == 1 { print "x,z,a,b"; next } { print $1 "," $2 "," $3 "," 2 * $3 + 1 }' plain.csv >two.csv
    anygp fit two.csv -q "${fixed[@]}" --target a --target b -o two.agp >/dev/null && anygp predict two.agp two.csv >t.csv || return 1
    head -n 1 t.csv | grep -q '^a_mean,a_variance,a_lo95,a_hi95,b_mean,b_variance,b_lo95,b_hi95$' || { head -n 1 t.csv; return 1; }
    anygp eval two.agp two.csv --json | is_json && anygp eval two.agp two.csv --json | grep -q '"a":.*"b":'
}
each_of_several_targets_is_its_own_fit() {
    awk -F, '{ print $1 "," $2 "," $3 }' two.csv >only_a.csv
    anygp fit only_a.csv -q "${fixed[@]}" -o only_a.agp >/dev/null && anygp predict only_a.agp two.csv | sed 1d >a.csv && sed 1d t.csv | cut -d, -f1-4 >b.csv && close a.csv b.csv 1e-12
}
missing_inputs_take_the_mean() {
    printf 'x,y\n1,1\n2,2\n,3\n6,4\n' >gap.csv && printf 'x,y\n1,1\n2,2\n3,3\n6,4\n' >filled.csv
    printf 'x\n1\n3\n7\n' >x.csv
    anygp fit gap.csv -q --missing mean "${fixed[@]}" -o g.agp >/dev/null && anygp fit filled.csv -q "${fixed[@]}" -o h.agp >/dev/null &&
        anygp predict g.agp x.csv >a.csv && anygp predict h.agp x.csv >b.csv && close a.csv b.csv 1e-8
}
missing_inputs_of_a_prediction_take_the_training_mean() {
    printf 'x\n\n' >hole.csv && printf 'x,other\n,1\n' >hole.csv && printf 'x\n3\n' >mean.csv
    anygp predict g.agp hole.csv --missing mean >a.csv && anygp predict g.agp mean.csv >b.csv && close a.csv b.csv 1e-12
}
rows_without_a_target_are_dropped_and_counted() {
    awk -F, 'NR == 1 { print; next } { print; print $1 "," $2 + 3 "," }' plain.csv >holes.csv
    anygp fit holes.csv "${fixed[@]}" -o holes.agp >/dev/null 2>"$said/err" && predicts_alike holes.agp p.agp 1e-10 &&
        grep -q '22 rows without a target were left out' "$said/err"
}
text_columns_become_categories() {
    awk 'BEGIN { print "colour,x,y"; for (i = 0; i < 40; i++) { c = i % 2 ? "red" : "blue"; print c "," i / 40 "," (i % 2 ? 5 : -5) + i / 40 } }' >colour.csv
    anygp fit colour.csv -q -o colour.agp >/dev/null && printf 'x,colour\n0.5,red\n0.5,blue\n' >c.csv && anygp predict colour.agp c.csv >p.csv &&
        awk -F, 'NR == 2 { red = $1 } NR == 3 { blue = $1 } END { exit !(red > 4.5 && blue < -4) }' p.csv
}
unseen_category_is_a_new_level_with_one_warning() {
    printf 'x,colour\n0.5,green\n0.6,green\n0.5,violet\n' >c.csv
    anygp predict colour.agp c.csv >p.csv 2>"$said/err" && [ "$(wc -l <"$said/err")" = 1 ] && grep -q "warning: column 'colour'" "$said/err" && finite p.csv
}
quiet_keeps_warnings_and_drops_notes() {
    anygp fit holes.csv "${fixed[@]}" -q -o q.agp 2>"$said/err" >/dev/null && [ ! -s "$said/err" ] &&
        anygp predict colour.agp c.csv -q 2>"$said/err" >/dev/null && [ -s "$said/err" ]
}
numbers_where_text_was_are_refused() {
    printf 'x,colour\n0.5,3\n' >c.csv
    anygp predict colour.agp c.csv >p.csv 2>"$said/err"
    # A category may look like a number; it is then one that has not been seen.
    finite p.csv
}
quoted_names_and_cells_are_read() {
    printf '"length, m","y"\r\n"1","2"\r\n"2","3"\r\n"4","7"\r\n' >quoted.csv
    fits quoted.csv && anygp info fits.agp --json | grep -q '"length, m"'
}
active_dimensions_go_by_name_and_number() {
    anygp fit plain.csv -q --kernel 'rbf(dims=[x],variance=1,lengthscale=0.7)' --noise 0.1 --fix all -o n.agp >/dev/null &&
        anygp fit plain.csv -q --kernel 'rbf(dims=[0],variance=1,lengthscale=0.7)' --noise 0.1 --fix all -o m.agp >/dev/null && predicts_alike n.agp m.agp 0
}

# Names and categories are found by hashing: where the time grows with the square of their number these take minutes.
many_columns_of_one_name_are_told_apart() {
    awk 'BEGIN { for (j = 1; j <= 200000; j++) printf "%sx", (j > 1 ? "," : ""); print ""; for (j = 1; j <= 200000; j++) printf "%s%d", (j > 1 ? "," : ""), j; print "" }' >same.csv
    timeout 60 "$ANYGP" convert same.csv distinct.csv --header yes && head -n 1 distinct.csv | tr , '\n' | tail -n 1 | grep -qx x_200000
}
many_categories_are_found_again() {
    awk 'BEGIN { print "k,x,y"; for (i = 0; i < 100000; i++) print "cat" i "," i % 7 "," i % 5 }' >cats.csv
    anygp fit cats.csv -q -o cats.agp --model sod --inducing 50 --iters 1 >/dev/null && timeout 60 "$ANYGP" predict cats.agp cats.csv -o p.csv 2>"$said/err" &&
        [ ! -s "$said/err" ] && [ "$(wc -l <p.csv)" = 100001 ]
}
many_columns_in_another_order_are_found() {
    awk 'BEGIN { n = 60000; for (r = 0; r < 4; r++) for (j = 1; j <= n; j++) printf "%s%s", r ? (j == 7 || j == n ? r * r : 1) : "c" j, j < n ? "," : "\n" }' >wide.csv
    awk -F, '{ for (j = NF; j >= 1; j--) printf "%s%s", $j, (j > 1 ? "," : "\n") }' wide.csv >turned.csv
    anygp fit wide.csv -q -o wide.agp --iters 1 >/dev/null && timeout 60 "$ANYGP" predict wide.agp wide.csv >a.csv && timeout 60 "$ANYGP" predict wide.agp turned.csv >b.csv && cmp a.csv b.csv
}

check weights_are_repeated_rows
check evidence_of_weights_is_that_of_repeated_rows
check scores_with_weights_are_those_of_repeated_rows
check learning_with_weights_is_learning_from_repeated_rows
check weight_0_is_absence
check all_weights_0_are_refused
check target_by_name_number_and_from_the_end_agree
check target_may_stand_first
check columns_are_matched_by_name_in_any_order
check column_that_is_missing_is_named
check files_without_header_are_matched_by_position
check wrong_number_of_columns_is_refused
check several_targets_prefix_their_columns
check each_of_several_targets_is_its_own_fit
check missing_inputs_take_the_mean
check missing_inputs_of_a_prediction_take_the_training_mean
check rows_without_a_target_are_dropped_and_counted
check text_columns_become_categories
check unseen_category_is_a_new_level_with_one_warning
check quiet_keeps_warnings_and_drops_notes
check numbers_where_text_was_are_refused
check quoted_names_and_cells_are_read
check active_dimensions_go_by_name_and_number
check many_columns_of_one_name_are_told_apart
check many_categories_are_found_again
check many_columns_in_another_order_are_found
finish
