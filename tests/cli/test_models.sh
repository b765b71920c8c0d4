# Which model is taken, what a fit reports, validation, traces.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 200 --inputs 2 -o train.csv
anygp simulate --rows 4100 --inputs 2 -o large.csv

auto_is_exact_for_few_rows() { anygp fit train.csv -q -o m.agp --json --iters 2 | grep -q '"model": "exact"'; }
auto_takes_inducing_inputs_where_the_user_gives_them() {
    anygp fit large.csv -q -o large.agp --json --iters 1 --inducing 100 --valid 0 >info.json && grep -q '"model": "vfe"' info.json &&
        [ "$(json_number inducing <info.json)" = 100 ] && [ "$(json_number rows <info.json)" = 4100 ]
}
subset_of_all_rows_is_the_exact_model() {
    anygp fit train.csv -q --model sod --inducing 200 -o a.agp --iters 5 >/dev/null && anygp fit train.csv -q --model exact -o b.agp --iters 5 >/dev/null &&
        anygp predict a.agp train.csv >a.csv && anygp predict b.agp train.csv >b.csv && close a.csv b.csv 1e-6
}
each_way_to_choose_a_subset_works() {
    local how
    for how in random kmeans greedy; do
        anygp fit train.csv -q --model sod --inducing 40 --select $how --iters 5 -o m.agp --json >info.json && [ "$(json_number inducing <info.json)" = 40 ] || return 1
    done
}
restarts_never_end_worse() {
    anygp fit train.csv -q --prior none -o a.agp >/dev/null && anygp fit train.csv -q --prior none --restarts 2 -o b.agp >/dev/null || return 1
    anygp info a.agp --json | json_number value >a.txt && anygp info b.agp --json | json_number value >b.txt
    paste a.txt b.txt | awk '{ exit !($2 >= $1) }'
}
means_zero_constant_and_linear_fit() {
    local mean
    for mean in zero constant linear; do fits train.csv --mean $mean --iters 5 || return 1; done
}
linear_mean_extrapolates_the_line() {
    awk 'BEGIN { print "x,y"; for (i = 0; i < 30; i++) print i / 30 "," 7 + 3 * i / 30 + (i * 5 % 7) / 1000 }' >line.csv && printf 'x\n10\n' >far.csv
    anygp fit line.csv -q --mean linear -o line.agp >/dev/null && anygp predict line.agp far.csv | awk -F, 'NR == 2 { exit !($1 > 33 && $1 < 41) }'
}
every_kernel_fits() {
    local kernel
    for kernel in rbf matern12 matern32 matern52 rq periodic cosine linear polynomial 'arccosine(order=1)' 'sm' wendland0 wendland3 'rbf + white' 'rbf(iso) * linear'; do
        fits train.csv --kernel "$kernel" --iters 2 || { echo "kernel $kernel"; return 1; }
    done
}
fit_prints_a_result_and_the_name_of_the_model() {
    anygp fit train.csv -o m.agp --iters 5 2>/dev/null >out.txt && grep -qE '^y, leave-one-out: rmse [0-9.]+' out.txt && grep -q 'wrote m.agp' out.txt
}
fit_json_is_one_object() { anygp fit train.csv -o m.agp --iters 5 --json 2>/dev/null | is_json; }
held_out_share_is_scored() {
    anygp fit train.csv -q --valid 0.2 -o v.agp --json >info.json || return 1
    # Held-out rows are not learnt from: rows and held-out rows make up the table.
    awk '/"valid": \{/ { inside = 1 } inside && /"n":/ { gsub(/[^0-9.]/, ""); n = $0 } /"rows":/ { gsub(/[^0-9.]/, ""); rows = $0 }
         END { exit !(n > 15 && n < 70 && rows + n == 200) }' info.json
}
validation_file_is_scored_like_eval() {
    anygp simulate --rows 50 --inputs 2 --seed 9 -o valid.csv && anygp fit train.csv -q --valid valid.csv -o v.agp --json | sed -n '/"valid"/,$p' | json_number rmse >a.txt &&
        anygp eval v.agp valid.csv --json | json_number rmse >b.txt && close a.txt b.txt 1e-12
}
bad_validation_file_does_not_cost_the_model() {
    printf 'x1,x2\n1,2\n' >unlabelled.csv
    anygp fit train.csv --iters 3 --valid unlabelled.csv -o kept.agp 2>"$said/err" >/dev/null && grep -q 'warning: no validation scores' "$said/err" && anygp info kept.agp >/dev/null
}
trace_csv_has_a_row_per_iteration() {
    anygp fit train.csv -q --trace t.csv --iters 6 -o m.agp >/dev/null && [ "$(head -n 1 t.csv)" = iteration,seconds,objective,rmse,mnlp,mell ] &&
        finite t.csv && [ "$(wc -l <t.csv)" -gt 3 ] && awk -F, 'NR > 1 && $1 != NR - 1 { exit 1 }' t.csv
}
trace_jsonl_has_an_object_per_iteration() {
    anygp fit train.csv -q --trace t.jsonl --iters 6 -o m.agp >/dev/null && [ "$(wc -l <t.jsonl)" -gt 2 ] || return 1
    local line
    while read -r line; do is_json <<<"$line" || return 1; done <t.jsonl
}
predictions_do_not_depend_on_the_byte_budget() {
    anygp fit train.csv -q --iters 3 -o m.agp >/dev/null && anygp predict m.agp large.csv --memory 4G >a.csv && anygp predict m.agp large.csv --memory 1M >b.csv && close a.csv b.csv 1e-9
}
predictions_do_not_depend_on_the_threads() {
    anygp predict m.agp large.csv --threads 1 >a.csv && anygp predict m.agp large.csv --threads 2 >b.csv && close a.csv b.csv 1e-9
}
models_are_listed_in_lines_that_fit() {
    anygp models >models.txt && awk 'length($0) > 100 { print; bad = 1 } END { exit bad }' models.txt && [ "$(head -n 1 models.txt | awk '{ print $1, $NF }')" = 'model summary' ] &&
        grep -qE '^svgp +any +M\* +blocks +t\.uj b m\^2\+m\^3 +stochastic variational GP$' models.txt && grep -qE '^exact +gaussian +- +all +\.\+uj n\^3 ' models.txt &&
        grep -q 'combine(dtc=0.3,fitc=0.7)' models.txt && refuses 'one argument too many' models extra
}
models_as_json_are_those_of_the_table() {
    anygp models --json >models.json && is_json <models.json && grep -oE '"name": "[^"]*"' models.json | sed 's/.*: "\(.*\)"/\1/' >names &&
        [ "$(wc -l <names)" -gt 15 ] && awk 'NR > 1 && /^$/ { exit } NR > 1 { print $1 }' models.txt | cmp - names &&
        grep -q '"name": "vfe", .*"likelihoods": "gaussian", "targets": "several", .*"learned": true' models.json
}
# Whoever lists models goes by the same table: a refusal of a likelihood, of sets, of an unknown name, and the help.
lists_in_sentences_are_those_of_the_table() {
    local any sets
    any=$(grep '"likelihoods": "any"' models.json | sed 's/.*"name": "\([^"]*\)".*/\1/' | paste -sd, | sed 's/,/, /g; s/\(.*\), /\1 or /')
    sets=$(grep '"inducing": "sets"' models.json | sed 's/.*"name": "\([^"]*\)".*/\1/' | paste -sd, | sed 's/,/, /g; s/\(.*\), /\1 and /')
    refuses "use --model $any\$" fit train.csv -o no.agp --model exact --likelihood poisson && refuses "M\+M2 are $sets\$" fit train.csv -o no.agp --model vfe --inducing 4+4 &&
        refuses "models are auto, $(grep -v combine names | paste -sd, | sed 's/,/, /g'), and" fit train.csv -o no.agp --model wrong &&
        anygp fit --help-all | tr -s ' \n' ' ' | grep -qF -- "--inducing M number of inducing inputs (default 512; vecchia 0; deep 128; moe 128), of frequencies for ssgp, of basis functions for qsgp (100000), or of rows in the subset for sod (2000), qsrvm (100000); M+M2 for $sets,"
}
mistakes_in_a_model_are_pointed_at() {
    refuses "model 'combine\(dtc=1;fitc=1\)': expected , or \) at character 14; it is not a combination" fit train.csv -o no.agp --model 'combine(dtc=1;fitc=1)' &&
        refuses "model 'pep\(beta=1\)': unknown option 'beta' at character 5" fit train.csv -o no.agp --model 'pep(beta=1)' &&
        refuses "sor and dtc cannot be combined at character 15; they do not predict alike, and sor goes with no other" fit train.csv -o no.agp --model 'combine(sor=1,dtc=1)' &&
        refuses "likelihood 'studentt\(dff=4\)': studentt has no option 'dff' at character 10; did you mean 'df'" fit train.csv -o no.agp --likelihood 'studentt(dff=4)' &&
        refuses "likelihood 'studentt\(df=-4\)': df of studentt must be greater than 2, not -4 at character 13" fit train.csv -o no.agp --likelihood 'studentt(df=-4)' &&
        refuses "likelihood 'laplace\)': expected nothing more at character 8" fit train.csv -o no.agp --likelihood 'laplace)'
}

# Experts on parts: in memory and out of core alike; no joint distribution.
committee_fits_predicts_and_refuses() {
    anygp simulate --rows 600 --inputs 2 --features 50 -o c.csv && anygp convert c.csv c.npy || return 1
    fits c.csv --model rbcm --blocks 5 --iters 3 && cp fits.agp inside.agp && anygp info inside.agp | grep -q 'rbcm, [0-9]* rows in the posterior, in [0-9]* blocks' || return 1
    fits c.npy --model rbcm --blocks 5 --iters 3 --memory 4M || return 1
    anygp predict inside.agp c.csv -o p.csv && anygp predict fits.agp c.csv -o q.csv && close p.csv q.csv 1e-6 || return 1
    refuses 'rbcm' predict inside.agp c.csv -o p.csv --samples 2
}

# Vectors are rows of the table, in its units; more rows than memory has room for are refused.
relevance_vectors_are_listed() {
    anygp simulate --rows 200 --inputs 1 --kernel 'rbf(lengthscale=0.3)' --noise 0.01 -o r.csv && fits r.csv --model rvm --kernel rbf --valid 0 || return 1
    anygp info fits.agp | sed -n 's/^  vectors  *\([0-9]*\): (.*/\1/p' >shown && anygp info fits.agp --json >info && grep -c '"precision":' info >listed && cmp shown listed || return 1
    anygp info fits.agp --json | awk '/"x": \[/ { getline; printf "%.9g\n", $1 }' >places && awk -F, 'NR == FNR { if (FNR > 1) x[sprintf("%.9g", $1)] = 1; next } !(sprintf("%.9g", $1) in x) { print; exit 1 }' r.csv places || return 1
    awk 'BEGIN { print "x,y"; for (i = 0; i < 20000; i++) print i "," i % 7 }' >many.csv
    refuses 'the rvm model of 20000 rows needs [0-9.]* GB and --memory allows 1 GB' fit many.csv -o no.agp --model rvm --memory 1G --valid 0 && refuses 'take white out of the kernel' fit r.csv -o no.agp --model rvm --kernel 'rbf + white'
}
check committee_fits_predicts_and_refuses
check relevance_vectors_are_listed
check auto_is_exact_for_few_rows
check auto_takes_inducing_inputs_where_the_user_gives_them
check subset_of_all_rows_is_the_exact_model
check each_way_to_choose_a_subset_works
check restarts_never_end_worse
check means_zero_constant_and_linear_fit
check linear_mean_extrapolates_the_line
check every_kernel_fits
check fit_prints_a_result_and_the_name_of_the_model
check fit_json_is_one_object
check held_out_share_is_scored
check validation_file_is_scored_like_eval
check bad_validation_file_does_not_cost_the_model
check trace_csv_has_a_row_per_iteration
check trace_jsonl_has_an_object_per_iteration
check predictions_do_not_depend_on_the_byte_budget
check predictions_do_not_depend_on_the_threads
check models_are_listed_in_lines_that_fit
check models_as_json_are_those_of_the_table
check lists_in_sentences_are_those_of_the_table
check mistakes_in_a_model_are_pointed_at
finish
