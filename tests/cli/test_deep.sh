# deep, the chain of layers: every command, one layer as svgp, and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 400 --inputs 2 --kernel 'rbf(variance=1,lengthscale=0.3)' --noise 0.01 -o all.csv
head -n 301 all.csv >train.csv
sed '2,301d' all.csv >test.csv
small=(--inducing 15 --iters 40 --batch 100)

it_fits_predicts_and_is_described() {
    local m
    for m in deep 'deep(layers=3)'; do
        fits train.csv --model "$m" "${small[@]}" || { echo "model $m"; return 1; }
        anygp info fits.agp | grep -qF "$m, 15 inducing inputs, rows in" || { echo "info of $m"; return 1; }
        anygp info fits.agp | grep -q '  layer 1  *matern52(' && anygp info fits.agp | grep -q 'a running estimate' || { echo "layers of $m"; return 1; }
        anygp info fits.agp --json | grep -q '"layers": *\[' || { echo "json of $m"; return 1; }
    done
    anygp info fits.agp | grep -q '  layer 2 '
}
one_layer_is_svgp_bit_by_bit() {
    local m
    for m in svgp 'deep(layers=1)'; do anygp fit train.csv -q -o one.agp --model "$m" "${small[@]}" --valid 0 && anygp predict one.agp test.csv >"p_${m%(*}" || return 1; done
    cmp p_svgp p_deep
}
it_learns_a_function_that_one_layer_does_not() { # a step, which no stationary kernel of few inducing inputs has
    awk 'BEGIN { print "x,y"; for (i = 0; i < 300; i++) { x = (i * 0.618034) % 1; print x "," (x > 0.5) + 0.02 * sin(50 * i) } }' >step.csv
    local m
    for m in svgp deep; do anygp fit step.csv -q -o step.agp --model $m --inducing 8 --iters 600 --valid 0 --seed 1 && anygp eval step.agp step.csv --json | json_number mnlp >"mnlp_$m" || return 1; done
    awk -v s="$(cat mnlp_svgp)" -v d="$(cat mnlp_deep)" 'BEGIN { print s, d; exit !(d < s - 0.3) }'
}
intervals_are_those_of_the_mixture() { # and so not mean -+ 1.96 sd, but close to it
    anygp fit train.csv -q -o m.agp --model deep "${small[@]}" && anygp predict m.agp test.csv >m.csv &&
        awk -F, 'NR > 1 { lo = $1 - 1.96 * sqrt($2); if ($3 != lo) other++; if ($3 >= $1 || $4 <= $1) bad++; d = ($3 - lo) / sqrt($2); if (d * d > 1) bad++ } END { print other, bad; exit !(other > 90 && !bad) }' m.csv
}
classes_counts_and_several_targets_are_learned() {
    awk -F, 'NR == 1 { print "a,b,c" } NR > 1 { print $1 "," $2 "," ($3 > 0 ? "up" : "down") }' train.csv >class.csv
    awk -F, 'NR == 1 { print "a,b,y,z" } NR > 1 { print $1 "," $2 "," $3 "," $3 * $3 }' train.csv >two.csv
    fits class.csv --model deep "${small[@]}" --likelihood bernoulli && fits two.csv --model deep "${small[@]}" --target y --target z
}
text_columns_pass_through() { awk -F, 'NR == 1 { print "t," $0 } NR > 1 { print (NR % 3 ? "red," : "blue,") $0 }' train.csv >text.csv && fits text.csv --model deep "${small[@]}"; }
scaled_variables_are_the_last_layers() { fits train.csv --model deep "${small[@]}" --kernel rbf --inducing-kind scaled; }
parameters_of_one_layer_can_be_kept() {
    anygp fit train.csv -q -o f.agp --model deep "${small[@]}" --fix layer1.kernel && anygp info f.agp | grep -q 'layer 1 .*matern52(variance=0.01,' && ! anygp info f.agp | grep -q '  kernel .*variance=0.01,' &&
        refuses "fix: the model has no parameters 'layer9.kernel'; it has kernel" fit train.csv -o x.agp --model deep --fix layer9.kernel &&
        refuses "fix: 'layer1.kernel' is not one of: kernel, noise, inducing" fit train.csv -o x.agp --model svgp --fix layer1.kernel
}
what_it_cannot_do_is_refused() {
    anygp fit train.csv -q -o r.agp --model deep "${small[@]}" || return 1
    refuses 'mean: deep takes no prior mean' fit train.csv -o x.agp --model deep --mean linear &&
        refuses 'deep' predict r.agp test.csv --samples 2 &&
        refuses 'deep' update r.agp test.csv &&
        refuses "the layers of deep are from 1 to 8" fit train.csv -o x.agp --model 'deep(layers=9)' &&
        refuses "unknown option 'depth'" fit train.csv -o x.agp --model 'deep(depth=2)'
}

check it_fits_predicts_and_is_described
check one_layer_is_svgp_bit_by_bit
check it_learns_a_function_that_one_layer_does_not
check intervals_are_those_of_the_mixture
check classes_counts_and_several_targets_are_learned
check text_columns_pass_through
check scaled_variables_are_the_last_layers
check parameters_of_one_layer_can_be_kept
check what_it_cannot_do_is_refused
finish
