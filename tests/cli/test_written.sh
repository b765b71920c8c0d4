# Numbers as people write them: times of day, months by name, thousands separators, parentheses, units; each column beside the
# same in plain numbers.
. "$(dirname "$0")/lib.sh"
fixed=(--kernel 'rbf(variance=1,lengthscale=9)' --noise 0.1 --fix all --model exact)

# written.csv has each column written in its way, plain.csv the same numbers by formula. 2023-01-01 is day 19358.
awk -v nbsp=$'\302\240' 'BEGIN {
    split("Jan Feb Mar Apr", name, " "); split("0 31 59 90", before, " ")
    print "hour;day;us;month;franc;space;debt;mass;rate;y" >"written.csv"; print "hour,day,us,month,franc,space,debt,mass,rate,y" >"plain.csv"
    for (i = 0; i < 48; i++) {
        h = i * 7 % 24; m = i * 13 % 60; d = i % 28 + 1; k = i % 4 + 1; n = 1 + i % 9; r = (i * 37) % 1000; y = sin(i) + i / 40
        day = 19358 + before[k] + d - 1
        printf "%d:%02d;%d %s 2023;%s %d, 2023;2023-%02d;%d\047%03d.5;%d%s%03d;%s;%.1f kg;%d km/h;%.4f\n", h, m, d, name[k], name[k], d, k, n, r, n, nbsp, r, i % 3 ? i : "(" i ".5)", i / 2, i * 5 % 17, y >"written.csv"
        printf "%.17g,%d,%d,%d,%d%03d.5,%d%03d,%.1f,%.1f,%d,%.4f\n", h + m / 60, day, day, 19358 + before[k], n, r, n, r, i % 3 ? i : -i - 0.5, i / 2, i * 5 % 17, y >"plain.csv"
    } }'

numbers_mean_the_same_however_they_are_written() {
    anygp fit written.csv "${fixed[@]}" -o w.agp >w.out 2>w.err && anygp fit plain.csv -q "${fixed[@]}" -o p.agp >p.out || { cat w.err; return 1; }
    anygp predict w.agp written.csv >w.csv && anygp predict p.agp plain.csv >p.csv && close w.csv p.csv 1e-9
}
each_way_is_noted_with_a_cell_and_its_value() {
    cat w.err
    grep -q "'hour' becomes hours since midnight ('0:00' in row 1 is 0)" w.err && grep -q "'day' becomes days since 1970-01-01 ('1 Jan 2023' in row 1)" w.err &&
        grep -q "'month' becomes .* of the first day of the month ('2023-01' in row 1)" w.err && grep -q "'franc' is read without its thousands separators ('1'000.5' in row 1 is 1000.5)" w.err &&
        grep -q "'debt' is read with parentheses as minus signs ('(0.5)' in row 1 is -0.5)" w.err && grep -q "'mass' is read without its unit ('0.0 kg' in row 1)" w.err &&
        [ "$(grep -c '^anygp: column' w.err)" = 9 ]
}
a_model_knows_the_units_of_its_columns() {
    sed '5s/ kg/ g/' written.csv >grams.csv && sed 's/ kg//; s, km/h,,' written.csv >bare.csv
    refuses "line 5 .*'mass': '1.5 g' is not a number with that unit .kg." predict w.agp grams.csv || return 1
    anygp predict w.agp bare.csv >bare.out && cmp bare.out w.csv || return 1 # a number without its unit is the same number
    sed '3s/km.h/mph/' written.csv >mph.csv
    refuses "line 3 .*'rate': .*mph' is not a number with that unit .km/h." fit mph.csv -o x.agp
}
several_units_are_not_guessed() {
    awk 'BEGIN { print "mass,y"; for (i = 0; i < 18; i++) print i % 6 (i % 2 ? " kg," : " g,") i }' >two.csv
    anygp look two.csv >two.txt && grep -q "'mass' is read as categories: '0 g' and '1 kg' have different units" two.txt
}
names_that_begin_with_a_number_stay_names() {
    awk 'BEGIN { split("4WD 2WD 2nd 1st", w, " "); print "drive,gear,y"; for (i = 0; i < 40; i++) print w[i % 2 + 1] "," w[i % 2 + 3] "," i }' >names.csv
    anygp look names.csv --json >names.json && [ "$(grep -o '"kind": "category"' names.json | wc -l)" = 2 ]
}
a_few_cells_with_a_unit_among_plain_numbers_are_refused() {
    sed '9s/\(.*,\)\([0-9.]*\),\(.*,.*\)/\1\2 kg,\3/' plain.csv >few.csv && ! cmp -s few.csv plain.csv || return 1
    refuses "line 9 .*'mass': '.* kg' is not a number" fit few.csv -o x.agp
}
look_shows_the_cell_it_speaks_of() { # not the first cell of the column
    printf 'a,b,y\n7,x,1\n8,x,2\n"(1,250)",z,3\n' >third.csv && anygp look third.csv >third.txt && grep -q "'(1,250)' is -1250" third.txt || { cat third.txt; return 1; }
    awk 'BEGIN { print "id,note,y"; for (i = 0; i < 30; i++) print "K" i "," i % 3 "," i }' >ids.csv && anygp look ids.csv --json | grep -q '"left_out": "nearly all texts differ"'
}
dates_and_times_come_back_as_such() {
    anygp predict w.agp written.csv --keep hour,day,us,month >kept.csv || return 1
    sed 1d written.csv | while IFS=';' read -r hour day us month rest; do
        echo "$(date -u -d "$hour" +%H:%M),$(date -u -d "$day" +%F),$(date -u -d "$day" +%F),$month"
    done >want.csv
    sed 1d kept.csv | cut -d, -f1-4 | diff - want.csv | head -3 && sed 1d kept.csv | cut -d, -f1-4 | cmp - want.csv || return 1
    paste -d';' want.csv <(sed 1d written.csv | cut -d';' -f5-) | sed '1,$s/,/;/g' >rows.csv && { head -n 1 written.csv; cat rows.csv; } >again.csv
    anygp predict w.agp again.csv >again.out && cmp again.out w.csv # what is written is read again as the same
}
awk 'BEGIN { print "when,at,y"; for (i = 0; i < 40; i++) printf "%02d/%02d/2023 06:00,%02d:%02d,%.3f\n", i % 28 + 1, i % 3 + 1, i % 24, i * 7 % 60, sin(i) }' >visits.csv
grids_have_dates() { # the limits too; between them are four equal steps
    anygp fit visits.csv -q --iters 0 -o v.agp >/dev/null && anygp predict v.agp --grid 5x2:2023-01-01,2023-01-03,6:30,18:00 >g.csv || return 1
    printf '2023-01-01,06:30\n2023-01-01 12:00,06:30\n2023-01-02,06:30\n2023-01-02 12:00,06:30\n2023-01-03,06:30\n' >want.csv
    sed 's/,06:30/,18:00/' want.csv >evening.csv && sed 1d g.csv | cut -d, -f1,2 | cmp - <(cat want.csv evening.csv) || { cat g.csv; return 1; }
    { echo when,at; cat want.csv evening.csv; } >places.csv && anygp predict v.agp places.csv >p.csv && cut -d, -f3- g.csv | cmp - p.csv || return 1
    anygp predict v.agp --grid 2x2 | sed -n '2p;5p' | cut -d, -f1,2 | tr '\n' ' ' | grep -qx '2023-01-01 06:00,00:00 2023-03-27 06:00,23:41 ' || return 1
    refuses "grid '5x2:4,5,6:30,18:00': expected a date.* at character 5; write it as 2024-03-01" predict v.agp --grid 5x2:4,5,6:30,18:00 &&
        refuses 'expected a time of day at character 27; write it as 14:30' predict v.agp --grid 5x2:2023-01-01,2023-02-01,6,7
}
arrays_have_days_and_a_note_says_so() {
    anygp predict v.agp visits.csv --keep when,at -o kept.npy 2>kept.err && grep -q 'kept.npy can hold numbers only: dates are days' kept.err || { cat kept.err; return 1; }
    anygp convert kept.npy kept.csv && sed -n 2p kept.csv | awk -F, '{ exit !($1 == 19390.25 && $2 > 1.116666 && $2 < 1.116667) }' # 2 February 2023, 01:07
}
names_given_to_columns_are_said() {
    awk 'BEGIN { for (i = 0; i < 30; i++) print cos(i) "," i % 7 "," sin(i) }' >bare.csv && anygp fit bare.csv -q --iters 0 --target 0 -o b.agp >/dev/null || return 1
    anygp predict b.agp bare.csv --keep 1 >k.csv 2>k.err && [ "$(head -n 1 k.csv)" = x1,mean,variance,lo95,hi95 ] && grep -q 'column 1 has no name; it is called x1' k.err || return 1
    anygp predict b.agp --grid 2x2 >g.csv 2>g.err && [ "$(head -n 1 g.csv | cut -d, -f1,2)" = x1,x2 ] && grep -q 'by their numbers, from 0.*: column 1 is x1' g.err
}

check numbers_mean_the_same_however_they_are_written
check each_way_is_noted_with_a_cell_and_its_value
check a_model_knows_the_units_of_its_columns
check several_units_are_not_guessed
check names_that_begin_with_a_number_stay_names
check a_few_cells_with_a_unit_among_plain_numbers_are_refused
check dates_and_times_come_back_as_such
check grids_have_dates
check arrays_have_days_and_a_note_says_so
check names_given_to_columns_are_said
check look_shows_the_cell_it_speaks_of
finish
