# lma: chains of blocks on the command line, from files, updated, and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 240 --inputs 1 --kernel 'matern32(variance=1,lengthscale=0.1)' --noise 0.02 -o all.csv
head -n 201 all.csv >train.csv
{ sed -n 1p all.csv; sed 1,201d all.csv; } >test.csv
fixed=(--valid 0 --fix all --standardize none --kernel 'matern32(variance=1,lengthscale=0.1)' --noise 0.02 --inducing-from places.csv)
printf 'x1\n0.1\n0.4\n0.8\n' >places.csv
for t in all train test; do awk -F, 'NR == 1 { print "part" } NR > 1 { print 3 + int(6 * $1) }' $t.csv >$t.parts.csv; done

near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { print a, b; exit !((a - b) ^ 2 <= t ^ 2) }'; } # A B TOLERANCE
value() { anygp fit "$1.csv" -q -o m.agp --json "${fixed[@]}" --blocks-from "$1.parts.csv" "${@:2}" | json_number value; }

# Along a line each order is closer to the exact model.
longer_chains_come_closer() {
    local exact pic lma
    exact=$(anygp fit train.csv -q -o e.agp --json "${fixed[@]}" --model exact 2>/dev/null | json_number value) pic=$(value train --model 'lma(order=0)') lma=$(value train --model lma)
    near "$pic" "$(value train --model pic)" 1e-9 && awk -v e="$exact" -v p="$pic" -v l="$lma" 'BEGIN { print e, p, l; exit !((e - l) ^ 2 < (e - p) ^ 2 / 25) }'
}
it_fits_predicts_and_is_described() {
    fits train.csv --model 'lma(2)' --inducing 8 --blocks 5 --iters 3 --mean constant && anygp info fits.agp | grep -q 'model  *lma(order=2), 8 inducing inputs, rows in 5 blocks' &&
        anygp predict fits.agp test.csv --samples 2 >s.csv && finite s.csv
}
an_update_is_a_fit_to_all_rows() {
    local all
    all=$(value all --model lma) && mv m.agp a.agp && value train --model lma >/dev/null && anygp update m.agp test.csv --blocks-from test.parts.csv >/dev/null || return 1
    near "$(anygp info m.agp --json | json_number value)" "$all" 1e-7 && anygp predict m.agp test.csv >m.csv && anygp predict a.agp test.csv >a.csv && close m.csv a.csv 1e-7
}
steps_over_blocks_learn() { fits train.csv --model lma+ --inducing 8 --blocks 6 --iters 10; }
orders_that_are_none_are_refused() {
    refuses "model 'lma\(order=-1\)': -1 is not an order at character 11; the order of lma is a whole number from 0" fit train.csv -o m.agp --model 'lma(order=-1)' &&
        refuses "'lma' cannot be part of a combination" fit train.csv -o m.agp --model 'combine(lma=1)'
}

check longer_chains_come_closer
check it_fits_predicts_and_is_described
check an_update_is_a_fit_to_all_rows
check steps_over_blocks_learn
check orders_that_are_none_are_refused
finish
