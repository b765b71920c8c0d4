# What `info` shows: inputs by name, the most relevant first, in lines that fit a screen.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 120 --inputs 3 --kernel 'rbf(variance=1,lengthscale=[0.6,0.2,9])' --noise 0.001 -o train.csv
sed -i '1s/.*/depth,salt,depth of the far end,y/' train.csv
anygp fit train.csv -q -o m.agp --model exact --fix all --kernel 'rbf(variance=1,lengthscale=[0.6,0.2,9])' >/dev/null
anygp info m.agp >page
anygp info m.agp --json >page.json

inputs_come_by_relevance_with_their_names() {
    sed -n '/^  length-scales/,/^  noise/p' page | sed '1d;$d' | awk '{ $NF = ""; print }' >listed
    printf '%s\n' 'salt 0.2 ' 'depth 0.6 ' 'depth of the far end 9 ' | diff - listed
}
# The second number is the first over the standard deviation of the column.
lengths_are_also_in_standard_deviations() {
    awk -F, 'NR > 1 { n++; s += $2; q += $2 * $2 } END { m = s / n; print 0.2 / sqrt(q / n - m * m) }' train.csv >expected
    sed -n 's/^ *salt .*(\(.*\))$/\1/p' page >shown && close shown expected 0.01
}
json_has_all_of_them() {
    tr -d '\n' <page.json | grep -qE '"relevance": \[ *\{ *"input": "salt", *"number": 1, *"lengthscale": 0.(2|19999999)[0-9]*, *"scaled": [0-9.]+ *\}, *\{ *"input": "depth"'
}
one_length_for_all_inputs_is_not_sorted() {
    anygp fit train.csv -q -o iso.agp --model exact --fix all --kernel 'rbf(iso,lengthscale=1)' >/dev/null && ! anygp info iso.agp | grep length-scales
}
# Thirty inputs: the kernel and the list need several lines, none of which is too long, and nothing is lost.
page_fits_a_hundred_columns() {
    local lengths
    lengths=$(seq -s, 1.5 30.5)
    anygp simulate --rows 40 --inputs 30 --noise 0.1 -o wide.csv &&
        anygp fit wide.csv -q -o wide.agp --model exact --iters 0 --standardize none --kernel "rbf(variance=1,lengthscale=[$lengths])" >/dev/null && anygp info wide.agp >wide || return 1
    ! grep -nE '.{101}' wide page && grep -q '^                 and 18 more, with --json$' wide && tr -d ' \n' <wide | grep -qF "kernelrbf(variance=1,lengthscale=[$lengths])"
}

# exp(-1 / l) beside l; the kernel as it was given.
categories_have_a_list_of_their_own() {
    awk -F, -v OFS=, 'NR == 1 { print "shop", $1, "day", $4; next } { print "s" NR % 3, $1, "d" NR % 7, $4 }' train.csv >shops.csv
    anygp fit shops.csv -q -o s.agp --model exact --fix all --kernel 'rbf(variance=1,lengthscale=0.6)*categorical(lengthscale=[5,0.5])' >/dev/null && anygp info s.agp >s.page && anygp info s.agp --json >s.json || return 1
    sed -n '/^  categories/,/^  noise/p' s.page | sed '1d;$d' | tr -s ' ' >listed
    awk 'BEGIN { printf " day 0.5 (%.3g)\n shop 5 (%.3g)\n", exp(-2), exp(-0.2) }' | diff - listed || return 1
    tr -d ' \n' <s.json | grep -q '"category_relevance":\[{"input":"day","number":2,"lengthscale":0.5,"correlation":0.1353352832[0-9]*},{"input":"shop","number":0,"lengthscale":5.0,' && ! grep '^  categories' page
}

check categories_have_a_list_of_their_own
check inputs_come_by_relevance_with_their_names
check lengths_are_also_in_standard_deviations
check json_has_all_of_them
check one_length_for_all_inputs_is_not_sorted
check page_fits_a_hundred_columns
finish
