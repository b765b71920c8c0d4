# Tables as people have them: dates, percentages, money, yes and no, row numbers, ids, signs for missing values; look.
. "$(dirname "$0")/lib.sh"
fixed=(--kernel 'rbf(variance=1,lengthscale=9)' --noise 0.1 --fix all --model exact)

# messy.csv as a spreadsheet writes it, clean.csv the same in plain numbers; made by formula.
awk 'BEGIN {
    print ",id,when,day,share,price,ok,note,y" >"messy.csv"; print "when,day,share,price,ok,y" >"clean.csv"
    for (i = 0; i < 40; i++) {
        d = i % 28 + 1; p = 900 + 37 * i; b = i * 7 % 3 > 0; y = sin(i) + b
        dollars = p < 1000 ? "$" p : "\"$1," sprintf("%03d", p % 1000) "\""; if (p >= 2000) dollars = "\"$2," sprintf("%03d", p % 1000) "\""
        printf "%d,C%d,2024-03-%02dT12:00:00Z,%02d/03/2024,%d%%,%s,%s,see %d,%.4f\n", i + 1, 1000 + i * 13 % 97, d, d, i * 5 % 11, dollars, b ? "Yes" : "no", i, y >"messy.csv"
        printf "%.1f,%d,%d,%d,%d,%.4f\n", 19783 + d - 1 + 0.5, 19783 + d - 1, i * 5 % 11, p, b, y >"clean.csv"
    } }'

messy_table_fits_as_its_plain_numbers_do() {
    anygp fit messy.csv "${fixed[@]}" -o m.agp >m.out 2>m.err && anygp fit clean.csv -q "${fixed[@]}" -o c.agp >c.out &&
        anygp predict m.agp messy.csv >m.csv && anygp predict c.agp clean.csv >c.csv && cmp m.csv c.csv || { cat m.err; return 1; }
}
each_treatment_is_noted_with_its_first_cell() {
    cat m.err
    grep -q "column 0 numbers the rows and is left out" m.err && grep -q "'id' is left out: 40 of its 40 texts differ ('C1000' in row 1).*--categories id" m.err &&
        grep -q "'when' becomes days since 1970-01-01 ('2024-03-01T12:00:00Z' in row 1)" m.err && grep -q "'day' becomes.*the day first" m.err &&
        grep -q "'share' is read without the sign: 10% is 10" m.err && grep -q "'price' is read without the currency sign" m.err && grep -q "'ok' becomes 1 for yes" m.err
}
other_files_are_read_as_the_first_was() { # their own rows would not show that 01/03 has the day first, nor that a lone yes is a number
    sed -n '1p;2p;5p' messy.csv >two.csv && anygp predict m.agp two.csv >two.out && sed -n '1p;2p;5p' c.csv >want.out && cmp two.out want.out &&
        anygp eval m.agp messy.csv >a.txt && anygp eval c.agp clean.csv >b.txt && cmp a.txt b.txt
}
a_number_where_the_model_knows_dates_is_refused() {
    sed 's/2024-03-02T12:00:00Z/19783/' messy.csv >numbers.csv
    refuses "line 3 .*'when': '19783' is not a date" predict m.agp numbers.csv
}
all_missing_columns_are_named_at_once() {
    printf 'when,share\n2024-03-01,1%%\n' >narrow.csv
    refuses "no columns 'day', 'price', 'ok', which the model" predict m.agp narrow.csv
}
options_choose_columns() {
    anygp fit messy.csv -q "${fixed[@]}" --inputs 'when, day,share' -o a.agp >/dev/null && anygp fit messy.csv -q "${fixed[@]}" --drop ok,id --drop price,note -o b.agp >/dev/null &&
        anygp predict a.agp messy.csv >a.csv && anygp predict b.agp messy.csv >b.csv && cmp a.csv b.csv && anygp info a.agp | grep -q 'inputs *3 (3 numbers'
}
columns_that_do_not_exist_are_refused() {
    refuses "no column 'shar'; did you mean 'share'" fit messy.csv --drop shar -o x.agp
    refuses "column 8 is the target" fit messy.csv --inputs when,y -o x.agp
}
categories_are_kept_as_they_stand() {
    anygp fit messy.csv -q "${fixed[@]}" --inputs id,ok --categories id,ok -o k.agp >/dev/null 2>&1; anygp fit messy.csv -q --iters 0 --inputs id,ok --categories id,ok -o k.agp >/dev/null &&
        anygp info k.agp | grep -q 'inputs *2 (0 numbers, 2 categories'
}
european_table_is_read_by_its_signs() {
    printf '# station 7\n# 2024\nx;y\n1,5;2,0\n# pause\n2,5;3,25\n3,5;1.000,5\n' >eu.csv
    anygp look eu.csv --comment '#' --json >eu.json && [ "$(json_number rows <eu.json)" = 3 ] && grep -q '"max": 1000.5' eu.json && grep -q '"notation": "comma"' eu.json &&
        anygp look eu.csv --skip 2 --comment '#' --decimal , --json >eu2.json && grep -q '"max": 1000.5' eu2.json
}
what_a_model_remembers_holds_for_all_commands() { # the comment sign, the sign for missing values, commas, dates, categories
    awk 'BEGIN { print "# station 7\nwhen;x;c;y"; for (i = 0; i < 40; i++) printf "%02d/%02d/2023;%s;%s;%d,%02d\n%s", i % 28 + 1, i % 3 + 1, i % 9 == 4 ? -99 : i ",25", i % 3 ? "red" : "blue", i % 5, i * 37 % 100, i == 9 ? "# pause\n" : "" }' >euro.csv
    anygp fit euro.csv -q --comment '#' --na -99 --missing mean --iters 1 --model exact -o e.agp >/dev/null || return 1
    { sed -n 1,2p euro.csv; printf '01/02/2023;-99;red;1,5\n# pause\n'; } >more.csv # which alone would not show the order of the day, nor the comma in x
    for command in 'eval e.agp more.csv' 'check e.agp more.csv --json' 'report e.agp euro.csv -o r.html' 'plot e.agp euro.csv --what observed -o p.svg' 'update e.agp more.csv -o u.agp'; do
        anygp $command >c.out 2>c.err || [ $? = 3 ] || { echo "$command"; cat c.err; return 1; }
    done
    [ "$(anygp info u.agp --json | json_number rows)" = 41 ] && anygp predict e.agp more.csv --missing mean --keep all | sed -n 2p | grep -q '^2023-02-01,nan,red,1.5,'
}
codes_are_asked_about() {
    awk 'BEGIN { print "place,soil,rooms,t,y"; srand(5); for (i = 0; i < 90; i++) print rand() "," 1 + i % 4 "," i % 3 "," i "," rand() }' >codes.csv
    anygp look codes.csv >codes.txt && grep -q 'note: some inputs have only a few whole numbers.*: --categories soil,rooms$' codes.txt &&
        anygp look codes.csv --categories soil,rooms >named.txt && ! grep -q 'whole numbers' named.txt
}
# gaps.csv has empty cells where signs.csv has signs for them: a number, a text in a column of numbers, a category.
awk 'BEGIN {
    print "a,b,c,d,y" >"gaps.csv"; print "a,b,c,d,y" >"signs.csv"
    for (i = 0; i < 60; i++) {
        a = i * 7 % 13; b = i * 5 % 11; c = i % 3 ? "red" : "blue"; d = 2020 - i * 4 % 9; y = sin(a) + b / 9
        none = i % 6
        printf "%s,%s,%s,2021-03-%02d,%.4f\n", none == 1 ? "" : a, none == 2 ? "" : b, none == 4 ? "" : c, i % 28 + 1, y >"gaps.csv"
        printf "%s,%s,%s,2021-03-%02d,%.4f\n", none == 1 ? "-99" : a, none == 2 ? "Unknown" : b, none == 4 ? "-99" : c, i % 28 + 1, y >"signs.csv"
    } }'
signs_for_missing_values_are_empty_cells() {
    anygp fit gaps.csv -q "${fixed[@]}" --missing mean -o gaps.agp >/dev/null && anygp fit signs.csv -q "${fixed[@]}" --missing mean --na -99 --na unknown -o signs.agp >/dev/null &&
        anygp predict gaps.agp gaps.csv --missing mean >ga.csv && anygp predict signs.agp gaps.csv --missing mean >gb.csv && cmp ga.csv gb.csv &&
        anygp predict signs.agp signs.csv --missing mean >gc.csv && cmp ga.csv gc.csv && anygp eval gaps.agp gaps.csv >a.txt && anygp eval signs.agp signs.csv >b.txt && cmp a.txt b.txt
}
signs_for_missing_values_in_arrays() { # and in a file that stays on disk
    awk 'BEGIN { print "x,z,y" >"full.csv"; print "x,z,y" >"holes.csv"; for (i = 0; i < 9000; i++) { x = i % 97; printf "%s,%d,%.3f\n", i % 50 ? x : -99, i % 13, sin(i) >"full.csv"
        printf "%s,%d,%.3f\n", i % 50 ? x : "", i % 13, sin(i) >"holes.csv" } }'
    local few=(--model fitc --inducing 5 --iters 1 --valid 0 --missing mean -q)
    anygp convert full.csv full.npy && anygp convert full.csv full.h5 && anygp fit holes.csv "${few[@]}" -o h.agp >/dev/null && anygp predict h.agp holes.csv --missing mean >want.csv || return 1
    for file in full.npy full.h5; do
        anygp fit $file "${few[@]}" --na -99 --memory 300k -o f.agp >/dev/null && anygp predict f.agp $file >got.csv && close got.csv want.csv 1e-6 || { echo "$file"; return 1; }
    done
}
error_names_the_option_for_such_a_sign() {
    awk -F, 'NR % 6 == 2 { sub(/^[^,]*/, "-inf") } { print }' gaps.csv >infinite.csv && awk -F, 'NR % 6 == 2 { sub(/^[^,]*/, "") } { print }' gaps.csv >empty.csv
    refuses "'-inf' is not a finite number.*--na -inf" fit infinite.csv --missing mean -o x.agp || return 1
    anygp fit infinite.csv -q "${fixed[@]}" --missing mean --na -inf -o x.agp >/dev/null && anygp predict x.agp infinite.csv --missing mean >a.csv && anygp fit empty.csv -q "${fixed[@]}" --missing mean -o x.agp >/dev/null && anygp predict x.agp empty.csv --missing mean >b.csv && cmp a.csv b.csv || return 1
    refuses "'Unknown' is not a number.*--na Unknown" fit signs.csv --missing mean --na -99 -o x.agp
    anygp look signs.csv --na unknown | grep -q "'a': -99 occurs 10 times.*use --na -99$" && ! anygp look signs.csv --na unknown,-99 | grep -q 'occurs'
}
labels_of_rows_are_left_out() { # what is left of row numbers where rows were taken out or shuffled
    awk 'BEGIN { print ",x,y"; for (i = 0; i < 40; i++) print 3 * i + i % 2 "," sin(i) "," cos(i) }' >kept.csv
    awk 'BEGIN { print "Unnamed: 0,x,y"; for (i = 0; i < 40; i++) print i * 17 % 41 "," sin(i) "," cos(i) }' >shuffled.csv
    awk 'BEGIN { print "Unnamed: 0,x,y"; for (i = 0; i < 40; i++) print i * 17 % 39 "," sin(i) "," cos(i) }' >twice.csv # one number occurs twice
    awk 'BEGIN { print ",y"; for (i = 0; i < 40; i++) print 3 * i "," cos(i) }' >alone.csv                          # nothing else would be left
    awk 'BEGIN { print "X,x,y"; for (i = 0; i < 40; i++) print 3 * i "," sin(i) "," cos(i) }' >place.csv
    for file in kept shuffled; do anygp look $file.csv | grep -qE '^ +0 .*left out .*names the rows' || { anygp look $file.csv; return 1; }; done
    for file in twice alone place; do ! anygp look $file.csv | grep -q 'left out' || { anygp look $file.csv; return 1; }; done
}
look_shows_the_columns_and_what_may_be_wrong() {
    awk -F, -v OFS=, 'NR == 5 || NR == 9 { $2 = "2024-01-01T00:00:00Z" } NR == 7 { $NF = 1e12 } NR % 8 == 2 { $4 = -9999 } { print }' clean.csv >odd.csv
    anygp look messy.csv >look.txt && anygp look odd.csv --drop when,day >odd.txt && cat look.txt odd.txt
    grep -qE '^ +0 .*left out +number .*numbers the rows' look.txt && grep -qE "^ +2 +when +input +date +0 +28 +2024-03-01 +2024-03-1[0-9] +2024-03-28 +'2024-03-01T12:00' is day 19783.5" look.txt &&
        grep -qE "^ +8 +y +target +number" look.txt && grep -q "'price': -9999 occurs 5 times (first in row 1)" odd.txt && grep -q "'y', row 6: 1e+12 lies" odd.txt &&
        [ "$(grep -v ^note look.txt | wc -L)" -le 120 ] && anygp look messy.csv --json | is_json
}
doubtful_dates_are_said_to_be_so() {
    printf 'when,x,y\n01/03/2024,1,2\n02/03/2024,2,3\n03/04/2024,3,5\n' >us.csv
    anygp look us.csv >us.txt && grep -q "'when' looks like dates but is read as categories: '01/03/2024'.*--dates" us.txt && anygp look us.csv --dates mdy | grep -q '2024-03-04'
}
out_of_core_and_in_memory_leave_the_same_columns_out() {
    awk 'BEGIN { print "index,x,y"; for (i = 0; i < 9000; i++) print i "," sin(i) "," cos(i) }' >rows.csv
    local few=(--model fitc --inducing 5 --iters 1 --valid 0) # in 300 kB the 216 kB of the table stay in the file
    anygp convert rows.csv rows.h5 && anygp fit rows.h5 "${few[@]}" --memory 300k -o f.agp >/dev/null 2>f.err && anygp fit rows.h5 "${few[@]}" -o g.agp >/dev/null 2>g.err || return 1
    cat f.err g.err
    grep -q "'index' numbers the rows" f.err && cmp f.err g.err && anygp info f.agp | grep -q 'inputs *1 ' && anygp info g.agp | grep -q 'inputs *1 ' || return 1
    local twice
    for twice in -1 5; do # shuffled labels; one of them twice
        awk -v twice=$twice 'BEGIN { print "index,x,y"; for (i = 0; i < 9000; i++) print (i + (i == twice)) * 17 % 9001 "," sin(i) "," cos(i) }' >rows.csv && anygp convert rows.csv rows.h5 || return 1
        anygp fit rows.h5 "${few[@]}" --memory 300k -o f.agp >/dev/null 2>f.err && anygp fit rows.h5 "${few[@]}" -o g.agp >/dev/null 2>g.err && cmp f.err g.err || return 1
        grep "'index' is left out: it names the rows" f.err && named=1 || named=0
        [ $named = $((twice < 0)) ] || { cat f.err; return 1; }
    done
}

# Lines above the table, which have as many cells as its rows, or fewer, or one.
lines_above_a_table_are_named_as_the_cause() {
    local what='(where lines of text precede the table, use --skip or --comment)' top
    sed 's/^/m,/; 1s/^m/kind/' clean.csv >table.csv && anygp fit table.csv -q "${fixed[@]}" -o t.agp >/dev/null || return 1
    for top in '# a,b,c,d,e,f,g' 'Sales,,,,,,' 'Sales' '# made by hand' 'Sales, in all'; do
        { echo "$top" && cat table.csv; } >top.csv
        refuses 'line 2 .*\(where lines of text precede the table, use --skip or --comment\)' fit top.csv -q "${fixed[@]}" -o x.agp || { echo "$top"; return 1; }
        refuses '\(where lines of text precede the table, use --skip or --comment\)' predict t.agp top.csv || { echo "$top"; return 1; }
        anygp fit top.csv -q "${fixed[@]}" --skip 1 -o x.agp >/dev/null && anygp predict t.agp top.csv --skip 1 >/dev/null || { echo "$top"; return 1; }
    done
    # a damaged cell is another matter, as is a table without some of the columns
    sed '4s/,[^,]*$/,bad/' table.csv >bad.csv && refuses "line 4 .*'bad' is not a number; correct it" fit bad.csv -q -o x.agp && ! grep -F -e "$what" "$said/err" || return 1
    cut -d, -f1-3 table.csv >narrow.csv && refuses 'has no columns' predict t.agp narrow.csv && ! grep -F -e "$what" "$said/err"
}

# three decimals in every cell: only 0,... shows that the comma is a decimal sign, and it stands in one column
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 30; i++) printf "%.3f,%.3f,%.3f\n", 1.25 + i / 8, i / 8 + 0.125, 2.5 + i * 7 % 11 / 8 }' >point.csv
tr ',.' ';,' <point.csv >comma.csv
one_column_shows_the_decimal_sign_of_a_file() {
    anygp fit point.csv -q "${fixed[@]}" -o p.agp >/dev/null && anygp predict p.agp point.csv >p.csv || return 1
    anygp fit comma.csv "${fixed[@]}" -o c.agp >/dev/null 2>c.err && anygp predict c.agp comma.csv >q.csv && cmp p.csv q.csv || { cat c.err; return 1; }
    grep -q "'y' is read with a decimal comma ('2,500' in row 1)" c.err || { cat c.err; return 1; }
    cut -d';' -f1,3 comma.csv >two.csv && anygp look two.csv >two.txt && grep -q "column 'y' is taken for text: the comma of '2,500' may be" two.txt || { cat two.txt; return 1; }
    cut -d';' -f1,3 comma.csv | sed 's/$/;0.5/;1s/0.5/z/' >three.csv # a point elsewhere: these are thousands
    anygp look three.csv --json | grep -q '"max": 4875.0' || { anygp look three.csv; return 1; }
}
columns_without_values_are_left_out() {
    anygp fit point.csv -q "${fixed[@]}" -o p.agp >/dev/null && anygp predict p.agp point.csv >p.csv || return 1
    sed 's/$/,/' point.csv >end.csv; sed '2,$s/$/,/' point.csv >rows.csv; sed 's/,/,,/;1s/,,/,none,/' point.csv >middle.csv
    for file in end.csv rows.csv middle.csv; do
        anygp fit $file "${fixed[@]}" -o e.agp >/dev/null 2>e.err && anygp predict e.agp $file >e.csv && cmp p.csv e.csv || { echo $file; cat e.err; return 1; }
        grep -q 'is left out: all its cells are empty or missing' e.err || { cat e.err; return 1; }
    done
    anygp look middle.csv --json | grep -q '"left_out": "no values"' && refuses "'none': the input is missing" fit middle.csv "${fixed[@]}" --inputs a,none,b -o x.agp
}
labels_without_a_name_come_before_the_names() { # as R's write.table has it
    anygp fit point.csv -q "${fixed[@]}" -o p.agp >/dev/null && anygp predict p.agp point.csv >p.csv || return 1
    awk -F, -v OFS=' ' 'NR == 1 { print "\"a\"", "\"b\"", "\"y\""; next } { print "\"" NR * 3 "\"", $1, $2, $3 }' point.csv >quoted.txt
    awk -F, -v OFS=, 'NR == 1 { print; next } { print NR - 1, $0 }' point.csv >numbers.csv
    awk -F, -v OFS=, 'NR == 1 { print; next } { print "site " NR, $0 }' point.csv >texts.csv
    for file in quoted.txt numbers.csv texts.csv; do
        anygp fit $file -q "${fixed[@]}" -o l.agp >/dev/null && anygp predict l.agp $file >l.csv && cmp p.csv l.csv || { echo $file; return 1; }
    done
    awk -F, -v OFS=, 'NR == 1 { print; next } { print $1 / 7, $0 }' point.csv >wide.csv # these may be anything
    refuses '4 cells where 3 are expected' fit wide.csv -o x.agp && refuses '4 cells where 3 are expected' predict p.agp wide.csv
}
columns_that_do_not_exist_are_named_together() {
    refuses "there are no columns 'c', 'd', 'z'. The columns are: a, b, y" fit point.csv --inputs a,c,d --target z -o x.agp
    refuses "there are no columns 'c', 'd'" fit point.csv --drop c --drop d -o x.agp
}
title_with_empty_cells_is_named_as_the_cause() {
    { echo 'Measurements 2024,,'; echo ',,'; cat point.csv; } >title.csv
    refuses "'a' is not a number \(where lines of text precede the table, use --skip or --comment\)" fit title.csv -o x.agp &&
        anygp fit title.csv -q "${fixed[@]}" --skip 2 -o x.agp >/dev/null
}
few_codes_are_not_signs_for_missing_values() {
    awk 'BEGIN { print "zone,rest,y"; for (i = 0; i < 80; i++) print substr("03071240", 1 + 2 * (i % 4), 2) + 0 "," (i % 5 ? i % 4 : 999) "," sin(i) }' >zones.csv
    anygp look zones.csv >z.txt && ! grep "'zone': 40 occurs" z.txt && grep -q "'rest': 999 occurs 16 times" z.txt || { cat z.txt; return 1; }
}

check one_column_shows_the_decimal_sign_of_a_file
check columns_without_values_are_left_out
check labels_without_a_name_come_before_the_names
check columns_that_do_not_exist_are_named_together
check title_with_empty_cells_is_named_as_the_cause
check few_codes_are_not_signs_for_missing_values
check messy_table_fits_as_its_plain_numbers_do
check lines_above_a_table_are_named_as_the_cause
check signs_for_missing_values_are_empty_cells
check signs_for_missing_values_in_arrays
check error_names_the_option_for_such_a_sign
check labels_of_rows_are_left_out
check each_treatment_is_noted_with_its_first_cell
check other_files_are_read_as_the_first_was
check a_number_where_the_model_knows_dates_is_refused
check all_missing_columns_are_named_at_once
check options_choose_columns
check columns_that_do_not_exist_are_refused
check categories_are_kept_as_they_stand
check european_table_is_read_by_its_signs
check what_a_model_remembers_holds_for_all_commands
check codes_are_asked_about
check look_shows_the_columns_and_what_may_be_wrong
check doubtful_dates_are_said_to_be_so
check out_of_core_and_in_memory_leave_the_same_columns_out
finish
