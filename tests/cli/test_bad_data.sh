# Bad data as it occurs in practice: one sentence and status 1, or a sensible fit.
. "$(dirname "$0")/lib.sh"

table() { printf "$1" >table.csv; } # rows with \n between
refuses_table() { # PATTERN ROWS
    table "$2"
    refuses "$1" fit table.csv -o m.agp
}
fits_table() {
    table "$1"
    fits table.csv
}

empty_file_is_refused() { refuses_table 'table.csv is empty' ''; }
empty_lines_only_are_refused() { refuses_table 'is empty' '\n\n\n'; }
header_only_is_refused() { refuses_table 'no data rows' 'x,y\n'; }
one_row_fits() { fits_table 'x,y\n1,2\n'; }
two_rows_fit() { fits_table 'x,y\n1,2\n2,3\n'; }
fewer_rows_than_columns_fit() { fits_table 'a,b,c,d,e,y\n1,2,3,4,5,6\n2,3,1,7,5,9\n4,1,1,2,2,3\n'; }
target_alone_fits() { fits_table 'y\n1\n2\n4\n'; }
short_row_is_named() { refuses_table 'line 3 .*1 cells where 2' 'x,y\n1,2\n3\n'; }
long_row_is_named() { refuses_table 'line 3 .*3 cells where 2' 'x,y\n1,2\n3,4,5\n'; }
text_in_an_input_is_named() { refuses_table "line 3 .*column 'x'.*'foo'" 'x,y\n1,2\nfoo,3\n4,5\n'; }
text_in_the_target_is_named() { refuses_table "line 3 .*column 'y'.*'foo'" 'x,y\n1,2\n3,foo\n4,5\n'; }
nan_in_an_input_is_a_missing_value() { refuses_table "row 2, column 'x'.*missing" 'x,y\n1,2\nnan,3\n4,5\n'; }
empty_input_is_a_missing_value() { refuses_table "row 2, column 'x'.*missing" 'x,y\n1,2\n,3\n4,5\n'; }
nan_in_the_target_drops_the_row() { fits_table 'x,y\n1,2\n2,nan\n4,5\n' && grep -q '1 row without a target was left out' "$said/err"; }
no_target_at_all_is_refused() { refuses_table 'no row is left' 'x,y\n1,\n2,\n'; }
infinite_input_is_named() { refuses_table "line 3 .*column 'x'.*'-inf'" 'x,y\n1,2\n-inf,1\n4,5\n'; }
infinite_target_is_named() { refuses_table "line 3 .*column 'y'.*'inf'" 'x,y\n1,2\n2,inf\n4,5\n'; }
number_beyond_the_range_is_named() { refuses_table "line 2 .*'1e400'" 'x,y\n1e400,2\n2,3\n'; }
huge_inputs_fit() { fits_table 'x,y\n1,2\n1e308,1\n4,5\n-1e308,4\n'; }
huge_targets_are_refused() { refuses_table 'row 1.*too large' 'x,y\n1,1e308\n2,-1e308\n4,5\n'; }
tiny_inputs_fit() { fits_table 'x,y\n1e-308,1\n2e-308,2\n4e-308,3\n3e-308,9\n'; }
tiny_targets_are_refused() { refuses_table 'target varies by only' 'x,y\n1,1e-308\n2,3e-308\n4,5e-308\n'; }
equal_targets_fit_with_a_warning() { fits_table 'x,y\n1,3\n2,3\n3,3\n' && grep -q 'warning: all targets are equal' "$said/err"; }
equal_inputs_fit_to_the_mean() {
    fits_table 'x,y\n1,3\n1,4\n1,5\n1,4\n' && [ "$(sed -n 2p "$said/predictions" | cut -d, -f1)" = 4 ]
}
nothing_to_predict_from_is_said() {
    fits_table 'y\n1\n2\n3\n' && grep -q 'warning: no column is an input, so all predictions will be the same' "$said/err" &&
        fits_table 'x,y\n7,3\n7,4\n7,6\n' && grep -q 'warning: no input varies, so all predictions' "$said/err"
}
constant_column_is_left_out_and_said() {
    fits_table 'x,c,y\n1,7,3\n2,7,4\n3,7,6\n' && grep -q "1 constant column is left out.*'c'" "$said/err"
}
a_million_equal_rows_fit() {
    yes 1,2,3 | head -n 1000000 >equal.csv
    fits equal.csv && grep -q 'each still counts: 1000000 rows, ' "$said/err"
}
a_hundred_thousand_columns_fit() {
    awk 'BEGIN { for (r = 0; r < 5; r++) { for (i = 0; i < 100000; i++) printf "%d,", (i * 7919 + r * 104729) % 1000; print r } }' >wide.csv
    fits wide.csv --iters 3
}
control_characters_are_refused() {
    head -c 3000 /dev/zero >table.csv
    refuses 'table.csv' fit table.csv -o m.agp
}
random_bytes_are_refused() {
    awk 'BEGIN { for (i = 0; i < 3000; i++) printf "%c", (i * i * 7 + 13 * i) % 255 + 1 }' >table.csv
    refuses '' fit table.csv -o m.agp && ! tr -d '\n' <"$said/err" | grep -q '[[:cntrl:]]'
}
column_name_of_two_lines_makes_one_line() {
    table 'x,"y\nz"\n1,a\n2,b\n'
    refuses 'y.z' fit table.csv -o m.agp
}
negative_weight_is_refused() {
    table 'x,w,y\n1,1,2\n2,-1,3\n'
    refuses 'row 2.*weight' fit table.csv --weights w -o m.agp
}
predicting_from_an_empty_file_is_refused() {
    table 'x,y\n1,2\n2,3\n4,4\n' && anygp fit table.csv -q -o good.agp || return 1
    table ''
    refuses 'is empty' predict good.agp table.csv -o p.csv
}
predicting_at_nan_is_refused() {
    table 'x\n1\nnan\n'
    refuses "row 2, column 'x'.*missing" predict good.agp table.csv -o p.csv
}
predicting_at_infinity_is_refused() {
    table 'x\n1\ninf\n'
    refuses "'inf'" predict good.agp table.csv -o p.csv
}
predicting_at_huge_inputs_is_finite() {
    table 'x\n1e308\n-1e308\n1e-308\n'
    anygp predict good.agp table.csv >p.csv && finite p.csv && [ "$(wc -l <p.csv)" = 4 ]
}
scoring_without_targets_is_refused() {
    table 'x,y\n1,\n2,\n'
    refuses 'target' eval good.agp table.csv
}

check empty_file_is_refused
check empty_lines_only_are_refused
check header_only_is_refused
check one_row_fits
check two_rows_fit
check fewer_rows_than_columns_fit
check target_alone_fits
check short_row_is_named
check long_row_is_named
check text_in_an_input_is_named
check text_in_the_target_is_named
check nan_in_an_input_is_a_missing_value
check empty_input_is_a_missing_value
check nan_in_the_target_drops_the_row
check no_target_at_all_is_refused
check infinite_input_is_named
check infinite_target_is_named
check number_beyond_the_range_is_named
check huge_inputs_fit
check huge_targets_are_refused
check tiny_inputs_fit
check tiny_targets_are_refused
check equal_targets_fit_with_a_warning
check equal_inputs_fit_to_the_mean
check constant_column_is_left_out_and_said
check nothing_to_predict_from_is_said
check a_million_equal_rows_fit
check a_hundred_thousand_columns_fit
check control_characters_are_refused
check random_bytes_are_refused
check column_name_of_two_lines_makes_one_line
check negative_weight_is_refused
check predicting_from_an_empty_file_is_refused
check predicting_at_nan_is_refused
check predicting_at_infinity_is_refused
check predicting_at_huge_inputs_is_finite
check scoring_without_targets_is_refused
finish
