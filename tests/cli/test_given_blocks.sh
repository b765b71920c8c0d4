# Blocks of the rows to predict, given in a file.
. "$(dirname "$0")/lib.sh"
# Three clusters far apart, blocks called 7, -3 and 100.
awk 'BEGIN { print "x,y"; for (i = 0; i < 90; i++) { c = i % 3; x = (i * 37 % 90) / 90; print x + 10 * c "," sin(6 * x) + c } }' >train.csv
awk 'BEGIN { n[0] = 7; n[1] = -3; n[2] = 100; for (i = 0; i < 90; i++) print n[i % 3] }' >names.csv
awk 'BEGIN { n[0] = 7; n[1] = -3; n[2] = 100; for (i = 0; i < 90; i++) print n[(i + 1) % 3] }' >moved.csv
options=(--kernel 'rbf(lengthscale=1)' --noise 0.01 --fix all --inducing 4)
anygp fit train.csv -q -o pic.agp --model pic "${options[@]}" --blocks-from names.csv >/dev/null
anygp fit train.csv -q -o fitc.agp --model fitc "${options[@]}" >/dev/null

own_blocks_change_nothing() {
    anygp predict pic.agp train.csv >a.csv && anygp predict pic.agp train.csv --blocks-from names.csv >b.csv && cmp a.csv b.csv
}
other_blocks_know_less() {
    anygp predict pic.agp train.csv --blocks-from moved.csv >b.csv && finite b.csv &&
        paste -d, a.csv b.csv | awk -F, 'NR > 1 { less += $6 > $2 + 1e-4 } END { exit !(less > 80) }'
}
draws_look_at_the_blocks() {
    anygp predict pic.agp train.csv --samples 2 >a.csv && anygp predict pic.agp train.csv --samples 2 --blocks-from names.csv >b.csv && cmp a.csv b.csv &&
        anygp predict pic.agp train.csv --samples 2 --blocks-from moved.csv >b.csv && ! cmp -s a.csv b.csv
}
scores_look_at_the_blocks() {
    anygp eval pic.agp train.csv >a.txt && anygp eval pic.agp train.csv --blocks-from names.csv >b.txt && cmp a.txt b.txt &&
        anygp eval pic.agp train.csv --blocks-from moved.csv --json | json_number rmse >c.txt && awk '$1 == "rmse" { print $2 }' a.txt | paste - c.txt | awk '{ exit !($2 > $1) }'
}
blocks_of_the_fit_are_not_those_of_the_validation_file() {
    head -n 31 train.csv >valid.csv && anygp fit train.csv -q -o m.agp --model pic "${options[@]}" --blocks-from names.csv --valid valid.csv --json 2>"$said/err" | grep -q '"valid"' && [ ! -s "$said/err" ]
}
a_file_that_does_not_fit_is_refused() {
    head -n 80 names.csv >short.csv && cat names.csv names.csv >long.csv && sed '42s/.*/8/' names.csv >unknown.csv && sed '17s/.*/1.5/' names.csv >half.csv
    paste -d, names.csv names.csv >wide.csv && sed 's/^/block /' names.csv >words.csv
    refuses 'short.csv has no row 81' predict pic.agp train.csv --blocks-from short.csv -o no.csv &&
        refuses 'long.csv has a row 91' predict pic.agp train.csv --blocks-from long.csv -o no.csv &&
        refuses 'row 42 is given block 8, which the model does not have' predict pic.agp train.csv --blocks-from unknown.csv -o no.csv &&
        refuses 'row 17: 1.5 is not a block' predict pic.agp train.csv --blocks-from half.csv -o no.csv &&
        refuses 'must have one column of numbers' predict pic.agp train.csv --blocks-from wide.csv -o no.csv &&
        refuses 'must have one column of numbers' predict pic.agp train.csv --blocks-from words.csv -o no.csv &&
        refuses 'short.csv has no row 81' eval pic.agp train.csv --blocks-from short.csv &&
        refuses 'standard input' predict pic.agp - --blocks-from - -o no.csv
}
other_models_are_refused() { refuses 'a fitc model does not look at blocks' predict fitc.agp train.csv --blocks-from names.csv -o no.csv; }
memory_does_not_grow_with_the_rows_given() {
    anygp simulate --rows 20000 -o large.csv && awk 'BEGIN { for (i = 0; i < 20000; i++) print 7 }' >large_names.csv &&
        awk 'NR == 1 { print "x" } NR > 1 { split($0, c, ","); print c[1] }' large.csv >x.csv &&
        anygp predict pic.agp x.csv --blocks-from large_names.csv --memory 1M >b.csv && [ "$(wc -l <b.csv)" = 20001 ]
}

# Two lines that cross: clusters of (x, y) are on either side of the crossing, and given blocks follow the lines through it.
a_mixture_starts_from_given_blocks() {
    local model
    awk 'BEGIN { srand(7); print "x1,y"; for (i = 0; i < 200; i++) { x = 2 * rand() - 1; print x "," (i % 2 ? x : -x) + 0.05 * (rand() - 0.5) } }' >cross.csv
    awk 'NR == 1 { print "line" } NR > 1 { print NR % 2 + 7 }' cross.csv >lines.csv
    awk 'BEGIN { print "x1"; for (i = -9; i <= 9; i += 2) print i / 10 }' >at.csv
    follows() { anygp predict cross.agp at.csv --parts | paste -d, - at.csv | awk -F, 'NR > 1 { a += ($5 - $11) ^ 2 + ($8 + $11) ^ 2; b += ($5 + $11) ^ 2 + ($8 - $11) ^ 2 } END { exit !(NR == 11 && (a < b ? a : b) < 0.01) }'; }
    for model in moe 'moe(hard)' 'moe(gate=stick)' 'moe(hard,exact)' 'moe --batch 0'; do
        # shellcheck disable=SC2086 # a model and its options
        anygp fit cross.csv -q -o cross.agp --model $model --blocks-from lines.csv --inducing 15 --iters 30 >/dev/null && follows || { echo "$model"; return 1; }
    done
    anygp fit cross.csv -q -o cross.agp --model moe --blocks 2 --inducing 15 --iters 30 >/dev/null && ! follows &&
        refuses 'blocks: lines.csv has 2 blocks, and 3 experts are asked for; leave --blocks out' fit cross.csv -o no.agp --model moe --blocks-from lines.csv --blocks 3
}
a_mixture_of_two_or_three_rows_is_fitted() {
    local n model
    for n in 2 3; do
        anygp simulate --rows $n --inputs 2 -o few.csv || return 1
        for model in moe 'moe(hard)' 'moe(gate=stick)' 'moe(gate=gp)' 'moe(gate=generative)' 'moe(hard,exact)'; do fits few.csv --model "$model" --iters 20 || { echo "$n rows, $model"; return 1; }; done
    done
    refuses 'blocks: 4 experts need at least as many different rows, and there are 3' fit few.csv -o no.agp --model moe --blocks 4
}

check own_blocks_change_nothing
check other_blocks_know_less
check draws_look_at_the_blocks
check scores_look_at_the_blocks
check blocks_of_the_fit_are_not_those_of_the_validation_file
check a_file_that_does_not_fit_is_refused
check other_models_are_refused
check memory_does_not_grow_with_the_rows_given
check a_mixture_starts_from_given_blocks
check a_mixture_of_two_or_three_rows_is_fitted
finish
