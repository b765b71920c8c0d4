# vnngp: classes, counts and weights from the command line, and what is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 300 --inputs 2 --kernel 'matern32(variance=2,lengthscale=0.3)' --noise 0.02 -o all.csv
awk -F, 'NR == 1 { print "a,b,kind" } NR > 1 { print $1 "," $2 "," ($3 > 0.5 ? "high" : $3 > -0.5 ? "middle" : "low") }' all.csv >kinds.csv
awk -F, 'NR == 1 { print "a,b,count,w" } NR > 1 { print $1 "," $2 "," int(2 * exp($3 / 2)) "," 1 + NR % 2 }' all.csv >counts.csv
small=(--neighbors 6 --iters 3)

# The shares of right labels of a fit and of a majority.
three_classes_are_told_apart() {
    fits kinds.csv --model vnngp --likelihood softmax --target kind "${small[@]}" --kernel 'matern32(iso)' --valid 0.3 && anygp info fits.agp | grep -q 'model  *vnngp, [0-9]* rows in the posterior' || return 1
    anygp predict fits.agp kinds.csv >p.csv && finite <(cut -d, -f2- p.csv) && paste -d, p.csv kinds.csv | awk -F, 'NR > 1 { n++; right += $1 == $NF } END { print right / n; exit !(right > 0.75 * n) }'
}
counts_with_weights_and_a_given_order_fit() {
    seq 299 -1 0 >order.csv && fits counts.csv --model vnngp --likelihood poisson --target count --weights w "${small[@]}" --order-from order.csv --valid 0 && anygp predict fits.agp counts.csv >p.csv && finite p.csv
}
equal_rows_share_their_value() {
    awk 'NR == 1 { print } NR > 1 && NR < 42 { print; print }' kinds.csv >twice.csv && fits twice.csv --model vnngp --likelihood softmax --target kind "${small[@]}" --valid 0 && anygp info fits.agp | grep -q 'vnngp, 40 rows in the posterior'
}
# At the bound's maximum over length-scales rows would know nothing of each other.
the_kernel_stays_where_the_start_has_put_it() { fits all.csv --model vnngp "${small[@]}" --kernel 'matern32(iso)' --valid 0 && anygp info fits.agp | grep -q 'training  *0 iterations' && anygp info fits.agp | sed -n 's/.*lengthscale=\([0-9.e-]*\)).*/\1/p' | awk '{ print; exit !($1 > 0.1 && $1 < 1) }'; }
# In their order, as far as they came.
steps_that_end_early_leave_the_model_of_the_rows_seen() {
    fits counts.csv --model vnngp+ --likelihood poisson --target count --neighbors 6 --valid 0 --batch 80 --iters 2 && grep -q 'rests on the first 160 of 300 distinct rows' "$said/err" && anygp info fits.agp | grep -q 'model  *vnngp+, 160 rows in the posterior'
}
new_rows_and_draws() {
    head -n 251 counts.csv >first.csv && (head -n 1 counts.csv && tail -n 50 counts.csv) >rest.csv && anygp fit first.csv -q -o u.agp --model vnngp+ --likelihood poisson --target count --neighbors 6 --iters 20 --valid 0 && anygp update u.agp rest.csv -o u.agp && anygp info u.agp | grep -q 'vnngp+, 300 rows in the posterior' && anygp predict u.agp rest.csv --samples 2 >draws.csv && finite draws.csv
}
what_it_has_not_is_refused() {
    refuses 'inducing: vnngp has an inducing variable at every row' fit all.csv -o m.agp --model vnngp --inducing 10 && refuses 'mean: vnngp takes no prior mean' fit all.csv -o m.agp --model vnngp --mean constant && refuses 'neighbors 300, but there are 300 distinct rows' fit all.csv -o m.agp --model vnngp --neighbors 300 --valid 0
}

# Noise that is fixed at nothing is refused; noise that falls to nothing, as far as a likelihood goes, leaves numbers.
noise_of_zero_is_refused_and_next_to_none_is_taken() {
    local like
    refuses 'noise 0 is fixed, but vnngp.*give a positive --noise, or use --model vecchia' fit all.csv -o m.agp --model vnngp --noise 0 --fix noise &&
        refuses 'noise 0 is fixed, but vnngp' fit all.csv -o m.agp --model vnngp+ --noise 0 --fix all --kernel 'rbf + white' &&
        fits all.csv --model vnngp --noise 1e-300 --fix noise --iters 3 && fits all.csv --model vecchia --noise 0 --fix noise --iters 3 || return 1
    awk -F, -v OFS=, 'NR > 1 { $NF = 1.5 } 1' all.csv >same.csv
    awk -F, -v OFS=, 'NR > 1 { $NF = NR % 50 == 0 ? 3 : 0 } 1' all.csv >mostly.csv
    for like in gaussian laplace studentt; do
        fits same.csv --model vnngp --likelihood $like --iters 60 && fits mostly.csv --model vnngp --likelihood $like --iters 60 || { echo "$like"; return 1; }
    done
}

check three_classes_are_told_apart
check counts_with_weights_and_a_given_order_fit
check equal_rows_share_their_value
check the_kernel_stays_where_the_start_has_put_it
check steps_that_end_early_leave_the_model_of_the_rows_seen
check new_rows_and_draws
check what_it_has_not_is_refused
check noise_of_zero_is_refused_and_next_to_none_is_taken
finish
