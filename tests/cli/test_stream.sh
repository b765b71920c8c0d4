# Rows as they come: predictions through a pipe, bad rows, updates one after the other.
. "$(dirname "$0")/lib.sh"
awk 'BEGIN { print "x,z,y"; for (i = 0; i < 60; i++) print i / 10 "," i * 7 % 11 "," sin(i / 10) + (i * 5 % 7) / 20 }' >train.csv
awk 'BEGIN { print "x,z,y"; for (i = 0; i < 20; i++) print i / 9 "," i * 3 % 11 "," sin(i / 9) + (i * 5 % 7) / 20 }' >more.csv
anygp fit train.csv -q --model fitc --inducing 5 --iters 3 --valid 0.2 -o m.agp >/dev/null || exit 1

# Each answer is read before the next row is written: a program that waits for more rows would never end.
a_row_is_answered_before_the_next_one_comes() {
    mkfifo rows answers && "$ANYGP" predict m.agp - <rows >answers 2>"$said/err" &
    local program=$!
    until [ -p answers ]; do sleep 0.01; done
    exec 3>rows 4<answers
    printf 'x,z\n1,2\n' >&3 && read -r -t 60 header <&4 && read -r -t 60 first <&4 && printf '2,3\n' >&3 && read -r -t 60 second <&4 &&
        printf '3,4\n4,5\n' >&3 && read -r -t 60 third <&4 && exec 3>&- && read -r -t 60 fourth <&4
    local status=$?
    exec 3>&- 4<&-
    wait $program || status=$?
    printf 'x,z\n1,2\n2,3\n3,4\n4,5\n' >at.csv && anygp predict m.agp at.csv >want.csv && printf '%s\n' "$header" "$first" "$second" "$third" "$fourth" >got.csv
    cat "$said/err"
    [ $status = 0 ] && close got.csv want.csv 1e-10
}
bad_rows_are_skipped_on_request() {
    printf 'x,z\n1,2\n2,\n3,oops\n3,4,5\n4,5\n' >bad.csv
    anygp predict m.agp bad.csv --bad skip >bad.out 2>bad.err && anygp predict m.agp at.csv >want.csv || return 1
    cat bad.out bad.err
    [ "$(wc -l <bad.out)" = 6 ] && [ "$(sed -n '3,5p' bad.out | sort -u)" = nan,nan,nan,nan ] && grep -q "warning: 3 rows could not be predicted and are nan; the first: row 2, column 'z': the input is missing" bad.err &&
        sed -n '1p;2p;6p' bad.out >got.csv && sed -n '1p;2p;5p' want.csv >some.csv && close got.csv some.csv 1e-10
}
bad_rows_stop_a_prediction_otherwise() {
    refuses "line 4 .*'oops' is not a number" predict m.agp bad.csv -o out.csv
    refuses 'bad: rows cannot be skipped with --samples' predict m.agp at.csv --bad skip --samples 2
}
rows_before_a_bad_one_are_answered() { # from a pipe and from a file, whatever is wrong with it
    printf 'x,z\n1,2\n2,3\n' >good.csv && anygp predict m.agp good.csv >want.csv || return 1
    for bad in '3,oops' '3,' '3,4,5'; do
        { cat good.csv; printf '%s\n4,5\n' "$bad"; } >some.csv
        anygp predict m.agp - <some.csv >file.out 2>file.err && return 1
        cat some.csv | anygp predict m.agp - >pipe.out 2>pipe.err && return 1
        close file.out want.csv 1e-10 && close pipe.out want.csv 1e-10 && cmp file.err pipe.err && grep -q 'row 3' file.err && [ "$(wc -l <file.err)" = 1 ] || { cat file.out file.err; return 1; }
    done
    { cat good.csv; printf ',\n4,5\n'; } | anygp predict m.agp - --missing mean >filled.out && [ "$(wc -l <filled.out)" = 5 ] # a row without a cell is not a damaged one
}
a_table_that_is_added_twice_is_noticed() {
    cp m.agp u.agp && anygp update u.agp more.csv >one.out 2>one.err && anygp update u.agp train.csv >two.out 2>two.err && anygp update u.agp more.csv >three.out 2>three.err || return 1
    cat one.err two.err three.err
    grep -q '20 rows before they were added: rmse' one.out && ! grep -q 'learned from' one.err && grep -q 'warning: the model has learned from the rows of train.csv before: they count twice now' two.err && grep -q 'warning: the model has learned from the rows of more.csv before: they count twice now' three.err
}
rows_unlike_those_of_the_fit_raise_the_alarm() {
    awk -F, -v OFS=, 'NR > 1 { $3 += 9 } { print }' more.csv >drifted.csv
    cp m.agp d.agp && anygp update d.agp drifted.csv >d.out 2>d.err && cat d.err && grep -q 'warning: the new rows were predicted much worse than those of the fit (mnlp .*may have drifted' d.err
}
updates_at_once_are_made_one_after_the_other() {
    cp m.agp both.agp && head -n 11 more.csv >a.csv && { head -n 1 more.csv; tail -n 10 more.csv; } >b.csv
    exec 5<both.agp && flock 5 # as an update that takes its time
    anygp update both.agp a.csv >"$said/a" 2>a.err 5<&- &
    local first=$!
    anygp update both.agp b.csv >"$said/b" 2>b.err 5<&- &
    local second=$!
    until [ -s a.err ] && [ -s b.err ]; do sleep 0.02; done
    exec 5<&-
    wait $first && wait $second && cat a.err b.err && grep -q 'another update of both.agp is under way; this one waits for it' a.err &&
        [ "$(anygp info both.agp --json | json_number rows)" = "$(anygp info u.agp --json | json_number rows | awk '{ print $1 - 80 }')" ]
}

check a_row_is_answered_before_the_next_one_comes
check bad_rows_are_skipped_on_request
check bad_rows_stop_a_prediction_otherwise
check rows_before_a_bad_one_are_answered
check a_table_that_is_added_twice_is_noticed
check rows_unlike_those_of_the_fit_raise_the_alarm
check updates_at_once_are_made_one_after_the_other
finish
