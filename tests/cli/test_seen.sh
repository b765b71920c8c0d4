# Rows that the model has learned from are told from new ones: their scores are better than what is to be expected.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 90 --inputs 2 --noise 0.1 -o numbers.csv
awk -F, -v OFS=, 'NR == 1 { print "place", $0, "other"; next } { print (NR % 3 ? "a" : "b"), (NR % 10 ? $1 : ""), $2, $3, $1 * $2 }' numbers.csv >train.csv
awk -F, -v OFS=, 'NR == 50 { $4 += 1e-9 } { print }' train.csv >changed.csv
awk -F, -v OFS=, 'NR == 50 { $3 += 1e-9 } { print }' train.csv >moved.csv
sed 50d train.csv >fewer.csv
awk -F, -v OFS=, '{ print $5, $4, $3, $2, $1 }' train.csv >turned.csv
note='the model has learned from the rows of .*: on new rows its scores will be worse$'
fit=(--missing mean --model vfe --inducing 10 --iters 3)
anygp fit train.csv -q "${fit[@]}" --target y --drop other -o m.agp >/dev/null
anygp fit train.csv -q "${fit[@]}" --target y --target other -o two.agp >/dev/null

says() { # COMMAND...: it notes that the rows are known; a verdict is no failure
    anygp "$@" >"$said/out" 2>"$said/err"
    cat "$said/err"
    grep -qE "$note" "$said/err"
}
eval_and_check_know_the_rows_in_any_order_of_rows_and_columns() {
    local m t
    for m in m two; do
        for t in train turned; do says eval $m.agp $t.csv && says check $m.agp $t.csv || { echo "$m $t"; return 1; }; done
    done
    anygp fit numbers.csv -q -o n.agp --iters 1 >/dev/null && { head -n 1 numbers.csv && tail -n +2 numbers.csv | sort; } >sorted.csv && says eval n.agp sorted.csv && says eval n.agp - <numbers.csv
}
a_row_more_or_less_or_changed_is_another_table() {
    local t
    for t in changed moved fewer; do
        ! says eval m.agp $t.csv && [ -s "$said/out" ] && ! says check m.agp $t.csv && [ -s "$said/out" ] || { echo "$t"; return 1; }
    done
}
a_report_says_it_on_the_page() {
    local m
    for m in m two; do
        anygp report $m.agp train.csv -o r.html >/dev/null && grep -q 'These are the rows that the model was fitted to' r.html || return 1
        anygp report $m.agp moved.csv -o r.html >/dev/null && ! grep -q 'These are the rows that the model was fitted to' r.html || return 1
    done
}
rows_of_an_update_are_known_after_it() {
    sed 20q train.csv >more.csv && ! says eval m.agp more.csv && anygp update m.agp more.csv -o u.agp --missing mean >/dev/null 2>"$said/err" && ! grep 'learned from' "$said/err" && says eval u.agp more.csv && says eval u.agp train.csv
}
fits_say_nothing_of_their_own_rows() {
    anygp fit numbers.csv --iters 1 --valid 0.2 --report r.html -o n.agp >"$said/out" 2>"$said/err" && anygp compare numbers.csv --models vfe --inducing 5 --iters 2 >>"$said/out" 2>>"$said/err" && ! grep 'learned from' "$said/err" r.html
}

check eval_and_check_know_the_rows_in_any_order_of_rows_and_columns
check a_row_more_or_less_or_changed_is_another_table
check a_report_says_it_on_the_page
check rows_of_an_update_are_known_after_it
check fits_say_nothing_of_their_own_rows
finish
