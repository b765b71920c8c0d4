# hier: its expression, where its inducing inputs are, and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 260 --inputs 2 --kernel 'rbf(variance=1,lengthscale=0.6) + matern12(variance=0.3,lengthscale=0.05)' --noise 0.01 -o all.csv
head -n 201 all.csv >train.csv
sed '2,201d' all.csv >test.csv

a_block_is_an_inducing_input() {
    fits train.csv --model 'hier(local=rbf(iso) + linear)' --kernel matern52 --blocks 5 --iters 2 && anygp info fits.agp | tr -s " \n" " " >info.txt || return 1
    grep -q 'hier(local=rbf(iso) + linear), 5 inducing inputs, rows in 5 blocks' info.txt && grep -qE 'kernel +matern52\(.*\) \+ \(rbf\(.*\) \+ linear\(.*\)\)' info.txt || return 1
    anygp update fits.agp test.csv >/dev/null && anygp predict fits.agp test.csv --samples 2 -o draws.csv && finite draws.csv
}
one_block_is_the_exact_model_of_the_sum() {
    local fixed=(--valid 0 --fix all --noise 0.02)
    anygp fit train.csv -q -o h.agp --model 'hier(local=matern32(variance=0.3,lengthscale=0.1))' --kernel 'rbf(variance=1,lengthscale=0.5)' --blocks 1 "${fixed[@]}" >/dev/null &&
        anygp fit train.csv -q -o e.agp --model exact --kernel 'rbf(variance=1,lengthscale=0.5) + matern32(variance=0.3,lengthscale=0.1)' "${fixed[@]}" >/dev/null || return 1
    anygp predict h.agp test.csv | cut -d, -f1,2 >h.csv && anygp predict e.agp test.csv | cut -d, -f1,2 >e.csv && close h.csv e.csv 1e-6
}
new_rows_are_as_if_they_had_always_been_there() {
    local fixed=(-q --valid 0 --fix all --standardize none --blocks 1 --noise 0.02 --kernel 'rbf(variance=1,lengthscale=0.5)' --inducing-from places.csv --model 'hier(local=matern32(variance=0.3,lengthscale=0.1))')
    awk -F, -v OFS=, 'NR == 1 || NR % 40 == 5 { print $1, $2 }' train.csv >places.csv
    anygp fit train.csv -o some.agp "${fixed[@]}" >/dev/null && anygp update some.agp test.csv >/dev/null && anygp fit all.csv -o all.agp "${fixed[@]}" >/dev/null || return 1
    anygp predict some.agp test.csv | cut -d, -f1,2 >some.csv && anygp predict all.agp test.csv | cut -d, -f1,2 >whole.csv && close some.csv whole.csv 1e-6
}
anytime_text_columns_and_given_numbers() {
    awk -F, 'NR == 1 { print "site," $0 } NR > 1 { print substr("xyz", NR % 3 + 1, 1) "," $0 }' train.csv >mixed.csv
    fits mixed.csv --model hier+ --blocks 4 --iters 3 && anygp info fits.agp | grep -q 'hier+, 4 inducing inputs' && fits train.csv --model hier --blocks 4 --inducing 7 --iters 1 && anygp info fits.agp | grep -q 'hier, 7 inducing inputs, rows in 4 blocks'
}
mistakes_are_pointed_at() {
    refuses "kernel 'rfb': unknown kernel 'rfb'" fit train.csv -o m.agp --model 'hier(local=rfb)' && refuses 'expected \) at character' fit train.csv -o m.agp --model 'hier(local=rbf' &&
        refuses 'expected local= and a kernel' fit train.csv -o m.agp --model 'hier(rbf)' && refuses 'expected a kernel' fit train.csv -o m.agp --model 'hier(local=)'
}

check a_block_is_an_inducing_input
check one_block_is_the_exact_model_of_the_sum
check new_rows_are_as_if_they_had_always_been_there
check anytime_text_columns_and_given_numbers
check mistakes_are_pointed_at
finish
