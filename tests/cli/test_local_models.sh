# Bad and odd input for every local model: what is wrong gets one sentence and status 1, whatever the model; the rest gives a finite model.
. "$(dirname "$0")/lib.sh"

ordered=(vecchia vecchia+ 'vecchia --inducing 10' 'vecchia+ --inducing 10' nngp vnngp vnngp+)
orderless=(nene nene+ lagp lagp+) # each row given rows near it, wherever they are
neighbours=("${ordered[@]}" "${orderless[@]}")
common=(bcm bcm+ rbcm rbcm+ grbcm grbcm+ npae npae+ 'npae(levels=2)')              # experts with one prior for all
parts=(lma lma+ 'lma(order=2)' nle nle+ poe poe+ gpoe gpoe+ "${common[@]}" tree hier hier+) # blocks in any form
blocks=("${parts[@]}" patchwork)
every=("${neighbours[@]}" "${blocks[@]}" moe 'moe(hard)')
alike=(vecchia 'vecchia --inducing 10' vnngp vnngp+ nene lagp lma nle poe gpoe bcm rbcm grbcm npae tree hier patchwork moe) # one of each kind, where a fit is made

anygp simulate --rows 60 --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.3)' --noise 0.02 -o t.csv
head -n 2 t.csv >one.csv
awk 'NR < 32 { print NR == 1 ? $0 : "1,2,3" }' t.csv >equal.csv
awk -F, 'NR < 32 { print NR == 1 ? $0 : "1,2," $3 }' t.csv >place.csv
awk 'NR == 1 { print } NR > 1 { print; print }' t.csv >twice.csv
awk 'BEGIN { for (i = 0; i < 60; i++) print i < 59 ? i % 3 : 9 }' >single.txt
seq 0 58 >short.txt
(echo 1 && seq 1 59) >again.txt
(seq 1 60) >beyond.txt

# PATTERN FILE OPTIONS -- MODEL...: each of the models refuses.
each_refuses() {
    local pattern=$1 options=() model
    shift
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    for model; do
        # shellcheck disable=SC2086 # a model and its options
        refuses "$pattern" fit "${options[@]}" -o m.agp --valid 0 --model $model || { echo "model $model"; return 1; }
    done
}
each_fits() { # FILE OPTIONS -- MODEL...
    local options=() model
    while [ "$1" != -- ]; do options+=("$1") && shift; done
    shift
    for model; do
        # shellcheck disable=SC2086
        fits "${options[@]}" --valid 0 --iters 2 --model $model || { echo "model $model"; return 1; }
    done
}

one_row_is_refused() { each_refuses 'there is only one row; use --model exact$' one.csv -- "${every[@]}"; }
equal_rows_are_refused() { each_refuses 'all rows have the same ones; use --model exact$' equal.csv -- "${every[@]}"; }
rows_at_one_place_are_refused() { each_refuses 'tells rows apart by their inputs, and all rows have the same ones' place.csv -- "${every[@]}"; }
a_block_of_one_row_is_refused() { each_refuses 'single.txt: block 9 has one row, from which .* learns nothing|patchwork needs cells' t.csv --blocks-from single.txt -- "${blocks[@]}"; }
so_many_blocks_that_some_have_one_row_are_refused() { each_refuses 'blocks: 31 blocks of 60 rows would leave some with one row, .*use at most 30$' t.csv --blocks 31 -- "${blocks[@]}"; }
neighbours_out_of_range_are_refused() {
    each_refuses 'neighbors: 0 is not between 1 and' t.csv --neighbors 0 -- "${neighbours[@]}" && each_refuses 'neighbors: -1 is not between 1 and' t.csv --neighbors -1 -- "${neighbours[@]}" nle moe || return 1
    each_refuses 'neighbors 60, but there are 60 distinct rows; use fewer(, or --model exact|$)' t.csv --neighbors 60 -- "${neighbours[@]}" &&
        each_refuses 'neighbors 100, but there are 60 distinct rows' twice.csv --neighbors 100 -- "${neighbours[@]}"
}
an_order_that_is_none_is_refused() {
    each_refuses 'short.txt has 59 rows and 1 columns; it needs one column and 60 rows' t.csv --order-from short.txt -- "${ordered[@]}" && each_refuses 'again.txt, row 2: row 1 of the data was there before, in row 1' t.csv --order-from again.txt -- "${ordered[@]}" &&
        each_refuses 'beyond.txt, row 60: 60 is not the number of a row, from 0 to 59' t.csv --order-from beyond.txt -- "${ordered[@]}"
}
an_order_without_effect_is_named_and_not_read() {
    local model
    for model in "${orderless[@]}"; do
        anygp fit t.csv -o m.agp --valid 0 --iters 1 --model "$model" --order-from short.txt >said 2>&1 && grep -q -- "--order-from has no effect on model ${model%+}" said || { echo "model $model" && cat said; return 1; }
    done
}
own_hyperparameters_under_a_common_prior_are_refused() { each_refuses 'needs a prior that all experts share' t.csv --experts own -- "${common[@]}"; }
what_has_no_anytime_variant_is_refused() { each_refuses 'has no anytime variant; leave the \+ out' t.csv -- tree+ patchwork+ 'patchwork(points=2)+' moe+; }
more_inputs_than_patchwork_takes_are_refused() {
    anygp simulate --rows 20 --inputs 4 -o four.csv && each_refuses 'patchwork takes at most 3 inputs, .* there are 4' four.csv -- patchwork && each_refuses 'patchwork takes at most 3 inputs, .* there are 784' wide.csv -- patchwork
}
no_noise_is_refused_with_equal_rows() { each_refuses 'noise 0 is fixed, but .*give a positive --noise' twice.csv --noise 0 --fix noise -- "${every[@]}"; }
other_likelihoods_are_refused() {
    local model gaussian=()
    for model in "${every[@]}"; do [[ $model == vnngp* ]] || gaussian+=("$model"); done
    each_refuses 'is for gaussian targets only; for studentt use --model vnngp' t.csv --likelihood studentt -- "${gaussian[@]}"
}
too_little_memory_is_refused() { each_refuses 'model of 60 rows needs .* GB( besides what can be on disk)? and --memory allows 1e-05 GB; (give it more|use )' t.csv --memory 10k -- "${every[@]}"; }
the_number_of_blocks_that_fits_the_memory_fits() {
    local model blocks
    anygp simulate --rows 400 --inputs 2 -o more.csv || return 1
    for model in nle poe grbcm npae; do
        refuses 'use --blocks [0-9]*, smaller (experts|parts), or --memory [0-9.]*[kMG]$' fit more.csv -o m.agp --valid 0 --iters 1 --model $model --blocks 1 --memory 1M || return 1
        blocks=$(sed 's/.*--blocks \([0-9]*\).*/\1/' "$said/err")
        anygp fit more.csv -q -o m.agp --valid 0 --iters 1 --model $model --blocks "$blocks" --memory 1M >/dev/null || return 1
    done
}

# Nothing dies of these.
more_of_anything_than_rows_fits() { each_fits t.csv --inducing 1000 -- lma tree hier moe vecchia vecchia+ && each_fits t.csv --predict-neighbors 1000 -- "${neighbours[@]}"; }
one_input_fits() { each_fits d1.csv -- "${alike[@]}"; }
784_inputs_fit() {
    local model narrow=()
    for model in "${alike[@]}"; do [ "$model" = patchwork ] || narrow+=("$model"); done
    each_fits wide.csv -- "${narrow[@]}"
}
text_columns_and_any_weights_fit() {
    local model taking=()
    for model in "${alike[@]}"; do [ "$model" = patchwork ] || taking+=("$model"); done
    each_fits mixed.csv --weights w --target y -- "${taking[@]}" vecchia+ nene+ nle+ rbcm+ lma+ && each_fits weighted.csv --weights w --target y -- patchwork
}
near_twins_fit_with_next_to_no_noise() { each_fits twins.csv --noise 1e-12 -- exact vecchia vnngp lagp nle patchwork; } # and no length-scale ends below its bound
text_alone_fits_or_is_refused() { each_fits text.csv -- vecchia vnngp nene lagp lma nle poe grbcm npae tree moe && each_refuses 'needs an input that is a number|takes numbers only' text.csv -- hier patchwork; }
rows_of_no_weight_take_no_part() { # each model with one block is as without them
    local model given=(--target y --valid 0 --blocks 1 --noise 0.02 --kernel 'matern32(variance=1,lengthscale=0.3)' --standardize none --fix all)
    for model in nle poe gpoe bcm rbcm npae patchwork; do
        anygp fit idle.csv -q -o idle.agp --model $model --weights w "${given[@]}" >/dev/null && anygp fit busy.csv -q -o busy.agp --model $model "${given[@]}" >/dev/null || return 1
        paste -d, <(anygp predict idle.agp t.csv) <(anygp predict busy.agp t.csv) | awk -F, 'NR > 1 && (($1 - $5) ^ 2 > 1e-10 || ($2 - $6) ^ 2 > 1e-10) { print; bad = 1 } END { exit bad || NR < 60 }' || { echo "model $model"; return 1; }
    done
}
weights_beyond_all_bounds_are_refused() { each_refuses 'row [0-9]* has the weight 1e\+300; weights must be numbers from 0 to 1e15' heavy.csv --weights w --target y -- vecchia lagp nle tree moe; }

cut -d, -f1,3 t.csv >d1.csv
anygp simulate --rows 20 --inputs 784 -o wide.csv
weigh() { awk -F, -v heavy="$1" 'NR == 1 { print $0 ",w" } NR > 1 { print $0 "," (NR % 3 == 0 ? "1e-300" : NR % 3 == 1 ? heavy : "1") }'; }
weigh 1e15 <t.csv >weighted.csv
weigh 1e300 <t.csv >heavy.csv
weigh 1 <t.csv >idle.csv
awk -F, -v OFS=, 'NR == 1 { print; next } { print; print $1, $2, $3 + 0.1; printf "%.17g,%s,%s\n", $1 + 3e-8, $2, $3 - 0.1 }' t.csv >twins.csv
awk 'NR == 1 || NR % 3 != 0' t.csv >busy.csv
awk -F, 'NR == 1 { print "site," $0 } NR > 1 { print substr("xyz", NR % 3 + 1, 1) "," $0 }' weighted.csv >mixed.csv
awk -F, 'NR == 1 { print "site,y" } NR > 1 { print substr("xyz", NR % 3 + 1, 1) "," $3 }' t.csv >text.csv

check one_row_is_refused
check equal_rows_are_refused
check rows_at_one_place_are_refused
check a_block_of_one_row_is_refused
check so_many_blocks_that_some_have_one_row_are_refused
check neighbours_out_of_range_are_refused
check an_order_that_is_none_is_refused
check an_order_without_effect_is_named_and_not_read
check own_hyperparameters_under_a_common_prior_are_refused
check what_has_no_anytime_variant_is_refused
check more_inputs_than_patchwork_takes_are_refused
check no_noise_is_refused_with_equal_rows
check other_likelihoods_are_refused
check too_little_memory_is_refused
check the_number_of_blocks_that_fits_the_memory_fits
check more_of_anything_than_rows_fits
check one_input_fits
check 784_inputs_fit
check text_columns_and_any_weights_fit
check near_twins_fit_with_next_to_no_noise
check text_alone_fits_or_is_refused
check rows_of_no_weight_take_no_part
check weights_beyond_all_bounds_are_refused
finish
