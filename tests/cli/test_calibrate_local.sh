# --calibrate local: variances that follow errors which vary over the inputs, in every command, and no harm where they do not.
. "$(dirname "$0")/lib.sh"
# y is smooth; its noise has a tenth of the sd on the left.
awk 'BEGIN { srand(7); print "a,b,y"; for (i = 0; i < 1500; i++) { a = rand(); b = rand(); z = 0; for (j = 0; j < 12; j++) z += rand(); print a "," b "," sin(3 * a) + b + (z - 6) * (a < 0.5 ? 0.05 : 0.5) } }' >all.csv
head -n 1101 all.csv >train.csv && sed '2,1101d' all.csv >test.csv
awk 'BEGIN { print "a,b"; print "0.25,0.5"; print "0.75,0.5" }' >two.csv
kept=(--valid 0 --kernel 'matern52(iso,variance=1,lengthscale=1)' --noise 0.13 --fix all)

mnlp() { anygp eval "$1.agp" test.csv --json | json_number mnlp; }
variance() { sed -n "$(($2 + 1))p" "$1" | cut -d, -f2; } # FILE ROW
within() { awk -v a="$1" -v low="$2" -v high="$3" 'BEGIN { print a, low, high; exit !(a >= low && a <= high) }'; }

variances_follow_the_errors() { # MODEL...
    local plain local_
    anygp fit train.csv -q -o p.agp "${kept[@]}" "$@" >/dev/null && anygp fit train.csv -q -o c.agp "${kept[@]}" "$@" --calibrate local >out || return 1
    anygp info c.agp | tr -s ' \n' ' ' | grep -q 'calibration variances are multiplied by factors that vary over the inputs' && anygp predict c.agp two.csv >two.out || return 1
    within "$(awk -v a="$(variance two.out 1)" -v b="$(variance two.out 2)" 'BEGIN { print b / a }')" 15 300 || return 1
    plain=$(mnlp p) local_=$(mnlp c)
    within "$(awk -v a="$plain" -v b="$local_" 'BEGIN { print a - b }')" 0.3 2
}
with_neighbours() { variances_follow_the_errors --model vecchia; }
with_all_rows() { variances_follow_the_errors --model exact; }
with_lists_of_their_own() { variances_follow_the_errors --model nene; }
with_experts() { variances_follow_the_errors --model nle --blocks 4; }
with_committees() { variances_follow_the_errors --model rbcm --blocks 4; }
the_score_of_the_fit_has_their_effect() { # leave-one-out is about as good as on new rows
    anygp fit train.csv -q -o c.agp "${kept[@]}" --model vecchia --calibrate local --json >out && within "$(awk -v a="$(anygp info c.agp --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["scores"]["leave_one_out"]["mnlp"])')" -v b="$(mnlp c)" 'BEGIN { print a - b }')" -0.15 0.15
}
draws_have_the_same_variances() {
    anygp fit train.csv -q -o c.agp "${kept[@]}" --model vecchia --calibrate local >/dev/null && anygp predict c.agp two.csv >two.out && anygp predict c.agp two.csv --samples 4000 >draws.csv || return 1
    for row in 1 2; do
        within "$(sed -n "$((row + 1))p" draws.csv | awk -F, '{ n = 0; for (i = NF - 3999; i <= NF; i++) { s += $i; q += $i * $i; n++ } print q / n - (s / n) ^ 2 }' | awk -v v="$(variance two.out $row)" '{ print $1 / v }')" 0.9 1.1 || return 1
    done
}
an_update_keeps_them() {
    anygp fit train.csv -q -o c.agp "${kept[@]}" --model vecchia --calibrate local >/dev/null && cp c.agp u.agp && anygp update u.agp test.csv -q >/dev/null && anygp info u.agp | tr -s ' \n' ' ' | grep -q 'factors that vary' &&
        anygp predict u.agp two.csv >two.out && within "$(awk -v a="$(variance two.out 1)" -v b="$(variance two.out 2)" 'BEGIN { print b / a }')" 15 300
}
equal_errors_are_left_alone() {
    anygp simulate --rows 1000 --inputs 2 --kernel 'matern32(variance=1,lengthscale=0.3)' --noise 0.1 -o even.csv >/dev/null && anygp fit even.csv -o e.agp --valid 0 --model vecchia --kernel 'matern32(iso)' --iters 5 >/dev/null &&
        anygp fit even.csv -o l.agp --valid 0 --model vecchia --kernel 'matern32(iso)' --iters 5 --calibrate local >/dev/null 2>said && head -n 200 even.csv >some.csv || return 1
    within "$(awk -v a="$(anygp eval e.agp some.csv --json | json_number mnlp)" -v b="$(anygp eval l.agp some.csv --json | json_number mnlp)" 'BEGIN { print b - a }')" -0.02 0.02
}
it_cannot_be_exported() {
    anygp fit train.csv -q -o c.agp "${kept[@]}" --model exact --calibrate local >/dev/null && refuses 'a model with --calibrate local cannot be exported' export c.agp -o c.c
}
it_is_for_models_with_leave_one_out() { refuses 'calibrate: vfe has no leave-one-out predictions to calibrate by' fit train.csv -o m.agp --model vfe --calibrate local; }
auto_takes_it_unless_told_otherwise() { # on a rough map that is too large for exact
    anygp simulate --rows 2500 --inputs 2 --kernel 'matern12(variance=1,lengthscale=0.5)' --noise 0 --seed 3 -o rough.csv >/dev/null &&
        awk -F, -v OFS=, 'BEGIN { srand(5) } NR > 1 { z = 0; for (j = 0; j < 12; j++) z += rand(); $3 += (z - 6) * ($1 < 0.5 ? 0.03 : 0.5) } 1' rough.csv >uneven.csv || return 1
    anygp fit uneven.csv -o u.agp --memory 60M --iters 5 >/dev/null 2>err.txt && cat err.txt && grep -q 'auto: vecchia' err.txt && grep -q 'auto: --calibrate local' err.txt && anygp info u.agp | tr -s ' \n' ' ' | grep -q 'factors that vary' &&
        anygp fit uneven.csv -o n.agp --memory 60M --iters 5 --calibrate none >/dev/null 2>err.txt && ! grep -q 'calibrate local' err.txt && ! anygp info n.agp | tr -s ' \n' ' ' | grep -q 'factors that vary'
}

check with_neighbours
check with_all_rows
check with_lists_of_their_own
check with_experts
check with_committees
check the_score_of_the_fit_has_their_effect
check draws_have_the_same_variances
check an_update_keeps_them
check equal_errors_are_left_alone
check it_cannot_be_exported
check it_is_for_models_with_leave_one_out
check auto_takes_it_unless_told_otherwise
finish
