#!/bin/bash
# Reports and pictures: pages that need nothing but themselves, whatever the columns are called and whatever is missing.
. "$(dirname "$0")/lib.sh"

page() { python3 "$here/check_page.py" "$@" >"$said/page" || { cat "$said/page"; return 1; }; } # PAGE PICTURE...
says() { grep -qE -e "$1" "$said/page" || { echo "the page does not say: $1"; head -c 1500 "$said/page"; return 1; }; }

# Fourteen inputs, one of them a text, with names that a page has to escape.
make_table() { # ROWS SEED
    awk -v n="$1" -v seed="$2" 'BEGIN {
        srand(seed)
        printf "\"a <b> & \"\"c\"\"\",colour"
        for (j = 3; j <= 14; j++) printf ",x%d", j
        print ",y"
        split("<red>,green & blue,black", name, ",")
        for (i = 1; i <= n; i++) {
            a = rand(); k = int(3 * rand()) + 1
            printf "%.6f,%s", a, name[k]
            for (j = 3; j <= 14; j++) { b = rand(); printf ",%.6f", b; if (j == 3) c = b }
            printf ",%.6f\n", sin(6 * a) + c + (k == 1) + 0.1 * rand()
        } }'
}

a_fit_writes_a_report_on_rows_held_out() {
    make_table 90 1 >train.csv
    anygp fit train.csv -o m.agp --iters 3 --valid 0.3 --report fit.html >out || return 1
    grep -qx 'wrote fit.html' out
    page fit.html observed calibration pit residuals relevance effects trace -map -roc -confusion -rootogram &&
        says 'that the fit held out of +train.csv' && says 'The 12 most relevant of 14 inputs' && says 'a <b> & "c"'
    says 'linear model' && says 'Rows that surprised most'
}

rows_without_targets_get_the_pictures_that_need_none() {
    make_table 40 2 | cut -d, -f1-14 >new.csv
    anygp report m.agp new.csv -o new.html --map x3,x4 && page new.html -observed -calibration -residuals relevance effects map trace
    says 'has no targets to compare with' && says 'Predicted against observed: needs rows with a target'
}

# One owner of the figures and of what they mean: each finding of check stands in the report.
a_report_says_what_check_finds() {
    make_table 300 7 >base.csv && anygp fit base.csv -q -o base.agp --iters 5 >/dev/null || return 1
    make_table 200 8 | awk -F, -v OFS=, 'NR > 1 { $3 += 2; $15 += NR % 5 } 1' >moved.csv
    anygp check base.agp moved.csv >found
    anygp report base.agp moved.csv -o moved.html && page moved.html observed || return 1
    sed -n 's/^\(refit\|watch\|also\): .\(.*\)/\2/p' found >sentences
    [ "$(wc -l <sentences)" -ge 4 ] || { cat found; return 1; }
    while IFS= read -r line; do
        tr -s ' \n' '  ' <"$said/page" | grep -qF -e "$line" || { echo "the page does not say: $line"; return 1; }
    done <sentences
}

# Errors 1.15 times as large as they were: 91 % lie in 95 % intervals, 8 standard errors of 2000 rows too few.  Their variance alone is within what it may be.
a_check_finds_intervals_that_are_too_narrow() {
    awk 'BEGIN { srand(3); print "x,y"; for (i = 0; i < 2300; i++) { z = sqrt(-2 * log(1 - rand())) * cos(6.283185307 * rand()); print rand() "," (i < 300 ? z : 1.15 * z) } }' >normal.csv
    head -n 301 normal.csv >calm.csv && { head -n 1 normal.csv; tail -n 2000 normal.csv; } >wider.csv
    anygp fit calm.csv -q -o calm.agp --kernel 'rbf(variance=1e-4,lengthscale=1)' --noise 1 --fix all --model exact --standardize none >/dev/null || return 1
    anygp check calm.agp wider.csv >wider.txt
    [ $? = 2 ] && grep -qE '95 % intervals cover 9[01].[0-9] % of the targets: they are too narrow' wider.txt || { cat wider.txt; return 1; }
}
one_row_is_enough() {
    head -n 2 train.csv >one.csv
    anygp report m.agp one.csv -o one.html && page one.html observed calibration effects
    says 'only 1 row to judge by'
}

a_model_alone_shows_what_it_holds() {
    anygp report m.agp -o alone.html && page alone.html -observed relevance effects trace
    says 'No rows were given' && says 'rmse'
}

a_constant_target_is_said() {
    awk 'BEGIN { print "a,b,y"; srand(3); for (i = 0; i < 30; i++) print rand() "," rand() ",5" }' >same.csv
    anygp fit same.csv -o same.agp -q --report same.html >/dev/null && page same.html observed calibration effects map
    says 'All targets are the same' && says 'rows that the model was fitted to'
}

rows_of_the_fit_are_beside_what_other_rows_would_get() {
    make_table 60 9 >own.csv && anygp fit own.csv -q -o own.agp --iters 3 --valid 0 --report own.html >out && page own.html observed || return 1
    says "each row predicted from all others, rmse is $(sed -n 's/.*leave-one-out: rmse \([0-9.]*\)[0-9],.*/\1/p' out | cut -c1-5)"
}

classes_have_pictures_of_their_own() {
    awk 'BEGIN { print "a,b,kind"; srand(4); for (i = 0; i < 80; i++) { a = rand(); b = rand(); print a "," b "," (a > b ? "over & above" : "<under>") } }' >kinds.csv
    anygp fit kinds.csv -o kinds.agp -q --likelihood bernoulli --inducing 10 --iters 20 --valid 0.4 --report kinds.html >/dev/null || return 1
    page kinds.html confusion reliability roc effects map -observed -pit -residuals && says '<under>'
}

# The library that finds fonts keeps what it has read until the end, which is no leak of ours.
pictures_come_alone() {
    printf 'leak:libfontconfig\nleak:libpango\n' >"$said/known"
    anygp plot m.agp train.csv --what pit -o pit.svg || return 1
    LSAN_OPTIONS="${LSAN_OPTIONS:-}:suppressions=$said/known" anygp plot m.agp train.csv --what observed -o observed.png || return 1
    python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse("pit.svg"); b = open("observed.png", "rb").read(); sys.exit(b[:4] != b"\x89PNG" or len(b) < 3000)'
}

# A season of a long series would be lost between few places; and there is nothing to average over.
a_single_input_is_looked_at_closely() {
    anygp simulate --rows 30 -o line.csv && anygp fit line.csv -q -o line.agp --iters 1 >/dev/null && anygp plot line.agp line.csv --what effects -o line.svg || return 1
    ! grep -q averaged line.svg && [ "$(grep -o 'class="line s0" d="[^"]*' line.svg | tr -cd L | wc -c)" -gt 300 ]
}

bad_requests_are_refused() {
    refuses "no picture 'portrait'; there are observed, calibration" plot m.agp train.csv --what portrait -o x.svg &&
        refuses '.svg or .png' plot m.agp train.csv --what pit -o x.gif &&
        refuses "has no columns 'a <b>" report m.agp same.csv -o x.html
}

# Every text of every figure, in the browser's own fonts, at three widths.  The page is the same whatever the build.
a_browser_shows_it() {
    command -v chromium >/dev/null || { echo "chromium is not installed: scripts/setup.sh check"; return 1; }
    chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$said/browser" --allow-file-access-from-files \
        --window-size=1400,2400 --dump-dom "file://$here/browse.html#file://$work/fit.html" 2>/dev/null >dom || return 1
    grep -E ' px: ' dom
    [ "$(grep -cE '(400|900|1400) px: [0-9]+ figures are good' dom)" = 3 ]
}

long_names_differ_in_pictures_and_axes_have_units() {
    awk 'BEGIN { printf "weight,share"; for (j = 0; j < 12; j++) printf ",temperature_of_the_sensor_number_%02d_in_building_B", j; print ",cost"
        for (i = 0; i < 60; i++) { printf "%d kg,%d%%", i * 7 % 23, i * 5 % 17; for (j = 0; j < 12; j++) printf ",%.3f", sin(i * (j + 1.3)); print "," exp(1 + i * 7 % 23 / 20) } }' >long.csv
    anygp fit long.csv -q --iters 2 --model exact --transform log -o long.agp >/dev/null && anygp plot long.agp --what relevance -o relevance.svg >/dev/null || return 1
    for j in 00 05 11; do grep -q ">temperat…${j}_in_b" relevance.svg || { grep -o '>temp[^<]*' relevance.svg; return 1; }; done
    anygp report long.agp long.csv -o long.html >/dev/null && grep -q '>weight (kg)<' long.html && grep -q '>share (%)<' long.html || { echo "no units"; return 1; }
    grep -q '<b>cost</b>, of which it models the transform log\.' long.html && grep -q '>observed cost<' long.html
}

check long_names_differ_in_pictures_and_axes_have_units
check a_fit_writes_a_report_on_rows_held_out
check rows_without_targets_get_the_pictures_that_need_none
check a_check_finds_intervals_that_are_too_narrow
check one_row_is_enough
check a_report_says_what_check_finds
check rows_of_the_fit_are_beside_what_other_rows_would_get
check a_model_alone_shows_what_it_holds
check a_constant_target_is_said
check classes_have_pictures_of_their_own
check pictures_come_alone
check a_single_input_is_looked_at_closely
check bad_requests_are_refused
[ "${ANYGP_BUILD:-release}" = asan ] || check a_browser_shows_it
finish
