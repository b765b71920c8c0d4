# plan, compare and check: what they say, that plan says what auto does, and that a check finds what was changed.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 300 --inputs 2 --seed 4 -o all.csv # the first rows are the same for any length
head -n 201 all.csv >train.csv
sed -n '1p;202,$p' all.csv >new.csv
anygp fit train.csv -o m.agp -q --iters 30 >/dev/null
awk -F, 'NR == 1 { print "x1,x2,label" } NR > 1 { print $1 "," $2 "," ($3 > 0 ? "up" : "down") }' train.csv >classes.csv

choice_of() { sed -n 's/.*"choice": "\([a-z]*\)".*/\1/p' "$1"; }
# Whether `fit` with these options takes the model that `plan` names; $1: the model it should be, or a pattern.
plan_and_fit_agree() { # PATTERN DATA OPTIONS...
    anygp plan "${@:2}" --json >plan.json && is_json <plan.json && fit_takes_the_plan "$@"
}
fit_takes_the_plan() { # the same, for plan.json
    local choice
    anygp fit "${@:2}" --iters 2 -o x.agp --json 2>/dev/null >fit.json || return 1
    choice=$(choice_of plan.json)
    [[ $choice =~ ^($1)$ ]] && grep -q "\"model\": \"$choice\"" fit.json || { echo "plan: $choice"; grep '"model"' fit.json; return 1; }
}
# Where the target is classes, svgp has the inducing inputs that a plain fit would give it, and says so.
classes_are_compared_as_a_plain_fit_learns_them() {
    awk 'BEGIN { srand(3); print "a,b,kind"; for (i = 0; i < 240; i++) { a = rand(); b = rand(); print a "," b "," (a < 0.3 ? "x" : b < 0.5 ? "y" : "z") } }' >kinds.csv
    local m
    m=$(anygp plan kinds.csv -q | sed -n 's/^\* svgp .*m = \([0-9]*\).*/\1/p')
    anygp compare kinds.csv -q --iters 20 >table.txt && grep -q "fit DATA -o MODEL --model svgp --inducing $m, with" table.txt || { cat table.txt; return 1; }
    ! anygp compare kinds.csv -q --iters 5 --inducing 16 | grep -q 'svgp --inducing'
}
data_that_no_model_can_take_are_refused_once() { # by the row of the file, whichever models are asked for
    awk -F, -v OFS=, 'NR == 9 { $1 = "" } { print }' kinds.csv >hole.csv
    refuses "^anygp: row 8, column 'a': the input is missing" compare hole.csv -q && refuses "^anygp: row 8, column 'a'" compare hole.csv -q --models svgp,deep
}
plan_says_what_auto_does() { plan_and_fit_agree exact train.csv && plan_and_fit_agree 'svgp|solve' classes.csv --likelihood bernoulli; }
# On a slow machine, or under the sanitizers, the race is not short: then there is no choice yet.
plan_holds_a_short_race() {
    anygp simulate --rows 1100 --inputs 2 -o more.csv && anygp plan more.csv --memory 22M --threads 1 --json >plan.json || return 1
    [ -n "$(choice_of plan.json)" ] || { [ "$(json_number race_seconds <plan.json | cut -d. -f1)" -ge 1 ]; return; }
    fit_takes_the_plan 'vfe|fitc|pic|vecchia|grbcm' more.csv --memory 22M --threads 1
}
plan_rules_out() { # a text target implies classes
    anygp plan more.csv --memory 22M --time 20s >plan.txt && grep -qE '^- exact .* it needs about .* MB of memory, and 22 MB are allowed' plan.txt &&
        anygp plan classes.csv -q >plan.txt && grep -qE '^- exact .*exact is for gaussian targets only$' plan.txt && grep -q '^\* s[a-z]* ' plan.txt
}
# Each of these models is ruled out by the plan, and refused by a fit, in the same words up to what to do about it.
refused_as_planned() { # PATTERN MODELS DATA OPTIONS...
    local m
    anygp plan "${@:3}" -q >plan.txt || return 1
    for m in $2; do
        grep -qE "^- $m .*$1" plan.txt || { echo "the plan of $m:"; grep -E "^. $m " plan.txt; return 1; }
        refuses "$1" fit "${@:3}" --model $m --iters 1 -o x.agp || return 1
    done
}
plan_knows_what_a_fit_refuses() {
    awk 'BEGIN { srand(1); print "a,b,c,d,y"; for (i = 0; i < 40; i++) print rand() "," rand() "," rand() "," rand() "," rand() }' >four.csv
    awk 'BEGIN { srand(1); print "t,y"; for (i = 0; i < 40; i++) print substr("uvw", i % 3 + 1, 1) "," rand() }' >words.csv
    refused_as_planned 'patchwork takes at most 3 inputs' patchwork four.csv && refused_as_planned 'patchwork takes numbers only' patchwork words.csv &&
        refused_as_planned 'has no spectral density' 'ssgp qsgp' four.csv --kernel periodic && refused_as_planned 'needs an input that is a number' hier words.csv &&
        refused_as_planned 'is not log-concave' 'qsgp qsrvm' four.csv --likelihood studentt && refused_as_planned 'likelihood has the noise' 'rvm svdgp' four.csv --kernel 'rbf + white'
}
plan_of_one_model() { anygp plan train.csv --model vfe --inducing 50 >plan.txt && [ "$(grep -c 'passes' plan.txt)" = 1 ] && grep -q 'vfe .*m = 50 ' plan.txt; }
plan_takes_what_has_an_effect() { refuses 'anygp plan has no option --trace' plan train.csv --trace t.csv; }

comparison_is_a_table() {
    anygp compare train.csv --models exact,svgp -o best.agp --iters 10 --time 60s >table.txt 2>err.txt || { cat err.txt; return 1; }
    cat table.txt
    local best # the first of the table; exact and svgp are nearly the same here, and rounding decides
    best=$(awk '/ model .*mnlp/ { getline; print $2 }' table.txt)
    [[ $best = exact || $best = svgp ]] || return 1
    grep -q 'fitted to 1[5-7][0-9] rows, scored on [2-4][0-9] others' table.txt && grep -qE '^[* ] (mean|linear) ' table.txt && grep -q 'svgp' table.txt &&
        grep -q 'compare: exact: mnlp' err.txt && grep -qE "^best: $best; .*--model ($best|NAME), with the other options as here\$" table.txt && grep -q '^wrote best.agp' table.txt && anygp info best.agp | grep -q "model  *$best"
}
unknown_model_is_refused() { refuses "models: there is no model 'exakt'" compare train.csv --models exakt,vfe; }
failure_is_a_line() { # and a text target implies classes
    anygp compare classes.csv --models exact,svgp --inducing 10 --iters 20 --folds 2 -q >table.txt || return 1
    cat table.txt
    grep -q '^  exact  *failed: .*gaussian targets only' table.txt && grep -qE '^[* ] linear  *[0-9.]+' table.txt && grep -qE '^[* ] svgp  *[0-9.]+ \+- [0-9.]+ ' table.txt && grep -q 'cross-validation with 2 folds' table.txt
}
comparison_on_a_file_as_json() {
    anygp compare train.csv --models sod --iters 5 --test new.csv --json -q >table.json && is_json <table.json || return 1
    anygp fit train.csv --model sod --iters 5 --valid 0 -q -o sod.agp >/dev/null && anygp eval sod.agp new.csv --json >e.json
    grep -A 12 '"name": "sod"' table.json | json_number mnlp >one.txt; json_number mnlp <e.json >other.txt; close one.txt other.txt 1e-6
}
kernels_are_searched() {
    head -n 81 train.csv >few.csv
    anygp compare few.csv --kernels --iters 3 -q -o kernel.agp >search.txt || return 1
    cat search.txt
    [ "$(sed '/^step 2/q' search.txt | grep -cE '^[> ] (rbf|matern12|matern32|matern52|rq|periodic) ')" = 6 ] && [ "$(grep -c '^>' search.txt)" -ge 1 ] && grep -q '^step 2' search.txt && grep -qE '^path: [a-z]' search.txt &&
        anygp info kernel.agp | grep -q "kernel  *$(sed -n 's/^path: .*-> //; s/^path: //p' search.txt | grep -oE '^[a-z0-9]+')"
}
# The page has the numbers of the table, and its pictures are good at three widths.
comparison_is_a_page() {
    anygp compare train.csv --models exact,sod,svgp,deep --inducing 20 --iters 5 --folds 2 --report page.html -q >table.txt || return 1
    grep -qx 'wrote page.html' table.txt && python3 "$here/check_page.py" page.html frontier spread -path >page.txt || { cat page.txt; return 1; }
    local mnlp; mnlp=$(awk '$2 == "exact" { print $3 }' table.txt)
    grep -qF -e "$mnlp" page.txt && grep -q 'cross-validation with 2 folds' page.txt && grep -q 'not beaten' page.txt || { cat page.txt; return 1; }
    refuses 'would be both read and written' compare train.csv --models sod --report train.csv
}
kernel_search_is_a_page() {
    anygp compare few.csv --kernels --models sod --iters 2 --report kernels.html -q >search.txt && python3 "$here/check_page.py" kernels.html frontier path -spread >page.txt || { cat page.txt; return 1; }
    grep -q 'Path of the search' page.txt && grep -q 'Path: ' page.txt
}
a_browser_shows_them() {
    command -v chromium >/dev/null || { echo "chromium is not installed: scripts/setup.sh check"; return 1; }
    local name
    for name in page kernels; do
        chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$said/browser" --allow-file-access-from-files \
            --window-size=1400,2400 --dump-dom "file://$here/browse.html#file://$work/$name.html|2" 2>/dev/null >dom || return 1
        grep -E ' px: ' dom
        [ "$(grep -cE '(400|900|1400) px: [0-9]+ figures are good' dom)" = 3 ] || return 1
    done
}
interrupted_comparison_shows_what_there_is() { # the file of its sentences is its own: words of an earlier one would end the wait before this one hears
    "$ANYGP" compare train.csv --models exact,svgp,vfe --time 200s --iters 100000000 --inducing 50 >table.txt 2>interrupted.txt & local job=$! i
    for i in $(seq 1000); do grep -qs 'exact: mnlp' interrupted.txt && break; sleep 0.1; done
    kill -INT $job; wait $job || return 1
    cat table.txt
    grep -q '^[* ] exact  *-' table.txt && grep -q '^stopped: the rest was not fitted' table.txt && ! grep -q vfe table.txt
}

# What it finds on the file $2, with status $1, matches $3.
finds() { local status=0; anygp check m.agp "$2" >check.txt || status=$?; cat check.txt; [ $status = "$1" ] && grep -qE "$3" check.txt; }
same_rows_are_fine() { finds 0 new.csv '^fine: nothing in 100 rows' && grep -q 'standardised errors' check.txt; }
shifted_inputs_drift() { awk -F, 'NR == 1 { print; next } { print $1 + 0.3 "," $2 "," $3 }' new.csv >shifted.csv && cut -d, -f1,2 shifted.csv >inputs.csv && finds 2 inputs.csv "^watch: input 'x1' has drifted: its mean is [01].* higher" && grep -q 'inputs only: .*no target' check.txt; }
far_inputs_need_a_fit() { awk -F, 'NR == 1 { print; next } { print $1 + 3 "," $2 "," $3 }' new.csv >far.csv && finds 3 far.csv "^refit: input 'x1' has drifted" && grep -q 'far outside the training inputs' check.txt; }
noise_makes_it_over_confident() { awk -F, 'NR == 1 { print; next } { print $1 "," $2 "," $3 + (NR % 2 ? 0.25 : -0.25) }' new.csv >noisy.csv && finds 3 noisy.csv '^refit: the model is over-confident' && grep -q '95 % intervals cover .* too narrow' check.txt; }
offset_needs_a_fit() { awk -F, 'NR == 1 { print; next } { print $1 "," $2 "," $3 + 1 }' new.csv >offset.csv && finds 3 offset.csv '^refit: the targets are .* above the predictions'; }
check_as_json() { local status=0; anygp check m.agp offset.csv --json >check.json || status=$?; [ $status = 3 ] && is_json <check.json && grep -q '"verdict": "refit"' check.json && grep -q '"drifted": true' check.json; }
classes_are_checked() {
    anygp fit classes.csv --likelihood bernoulli --model svgp --inducing 20 --iters 60 -q -o c.agp >/dev/null && anygp check c.agp classes.csv >check.txt && grep -q '^accuracy .* where the model expects' check.txt || { cat check.txt; return 1; }
    awk -F, 'NR == 1 { print; next } { print $1 "," $2 "," ($3 == "up" ? "down" : NR % 5 ? "up" : "sideways") }' classes.csv >turned.csv
    local status=0
    anygp check c.agp turned.csv >check.txt || status=$?
    cat check.txt
    [ $status = 3 ] && grep -q 'over-confident' check.txt && grep -q 'a class that the model does not know' check.txt
}
errors_have_status_one() { refuses 'no-such-file' check m.agp no-such-file.csv; }

linear_model_is_least_squares_of_the_training_rows() {
    awk 'BEGIN { srand(3); print "x,y"; for (i = 0; i < 140; i++) { x = 3 * rand(); print x "," 2 + 5 * x + rand() + rand() - 1 } }' >line.csv
    head -n 101 line.csv >line_train.csv; sed -n '1p;102,$p' line.csv >line_test.csv
    want=$(awk -F, 'FNR == 1 { file++; next } file == 1 { n++; sx += $1; sy += $2; sxx += $1 * $1; sxy += $1 * $2; next }
        { b = (sxy - sx * sy / n) / (sxx - sx * sx / n); d = $2 - (sy - b * sx) / n - b * $1; m++; s += d * d } END { printf "%.5f", sqrt(s / m) }' line_train.csv line_test.csv)
    anygp compare line_train.csv --models sod --inducing 2 --iters 1 --test line_test.csv -q --json -o line.agp >line.json || return 1
    got=$(python3 -c 'import json; o = json.load(open("line.json")); l = {m["name"]: m for m in o["models"]}["linear"]; print("%.5f" % l["rmse"], o["best"], l["bytes"])')
    [ "$got" = "$want linear None" ] && anygp eval line.agp line_test.csv --json | json_number rmse >eval.txt || { echo "$got, not $want linear None"; return 1; }
    awk -v a="$(cat eval.txt)" -v b="$want" 'BEGIN { exit !(a < 1.02 * b && b < 1.02 * a) }' || { cat eval.txt; return 1; } # its file is a process that is nearly the same
    anygp compare line_train.csv --models sod --inducing 2 --iters 1 -q --json | python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["best"] != "linear")'
}
small_tables_have_a_linear_process() { # fewer rows than a closed form needs
    head -n 13 line.csv >few.csv && anygp compare few.csv --models exact --iters 1 -q >few.txt && grep -qE '^[* ] linear .* kB$' few.txt || { cat few.txt; return 1; }
}

for t in plan_says_what_auto_does plan_holds_a_short_race plan_rules_out plan_knows_what_a_fit_refuses plan_of_one_model plan_takes_what_has_an_effect comparison_is_a_table unknown_model_is_refused failure_is_a_line classes_are_compared_as_a_plain_fit_learns_them data_that_no_model_can_take_are_refused_once comparison_on_a_file_as_json \
    kernels_are_searched comparison_is_a_page kernel_search_is_a_page interrupted_comparison_shows_what_there_is same_rows_are_fine shifted_inputs_drift far_inputs_need_a_fit noise_makes_it_over_confident offset_needs_a_fit check_as_json classes_are_checked errors_have_status_one linear_model_is_least_squares_of_the_training_rows small_tables_have_a_linear_process; do check $t; done
[ "${ANYGP_BUILD:-release}" = asan ] || check a_browser_shows_them
finish
