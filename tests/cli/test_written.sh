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

check numbers_mean_the_same_however_they_are_written
check each_way_is_noted_with_a_cell_and_its_value
check a_model_knows_the_units_of_its_columns
check several_units_are_not_guessed
check names_that_begin_with_a_number_stay_names
check a_few_cells_with_a_unit_among_plain_numbers_are_refused
check look_shows_the_cell_it_speaks_of
finish
