# A model as C and as JSON: what the program writes is compiled and read by others.
. "$(dirname "$0")/lib.sh"
root=$here/../..
anygp simulate --rows 60 --inputs 2 --kernel 'matern12(lengthscale=0.3)' --noise 0.05 -o train.csv
anygp fit train.csv -q --model vfe --kernel matern12 --mean linear --inducing 12 --iters 3 -o model.agp >/dev/null 2>&1
sed -n '1p;2,6p' train.csv >new.csv
anygp predict model.agp new.csv >expected.csv
cat >main.c <<'END'
#include <stdio.h>
#include "model.h"
int main(void)
{
    double x[model_INPUTS], mean, variance;
    while (scanf("%lf,%lf%*[^\n]", &x[0], &x[1]) == 2) {
        model_predict(x, &mean, &variance);
        printf("%.17g,%.17g\n", mean, variance);
    }
    return 0;
}
END

close_to() { # FILE FILE: the numbers of the same places differ by at most 1e-12 of their size
    paste -d, "$1" "$2" | awk -F, '{ for (i = 1; i <= 2; i++) { d = $i - $(i + 2); s = $(i + 2) < 0 ? -$(i + 2) : $(i + 2); if (d < 0) d = -d
        if (d > 1e-12 * (s + 1) || $i == "") { print "differs: " $0; bad = 1 } } } END { exit bad || NR != 5 }'
}
c_is_compiled_without_a_warning_and_predicts_the_same() {
    anygp export model.agp -o model.c --header model.h &&
        ${CC:-cc} -std=c99 -Wall -Wextra -Werror -pedantic -O1 -g -o program main.c model.c -lm &&
        sed 1d new.csv | ./program >got.csv && close_to got.csv <(sed 1d expected.csv | cut -d, -f1,2)
}
valgrind_finds_nothing_in_it() {
    sed 1d new.csv | valgrind -q --error-exitcode=9 --leak-check=full ./program >again.csv && cmp again.csv got.csv
}
models_that_search_or_route_are_clean_too() { # under valgrind
    local kind
    for kind in vecchia rbcm pic deep; do
        anygp fit train.csv -q --model $kind --kernel matern12 --blocks 3 --predict-neighbors 9 --inducing 6 --iters 2 -o model.agp >/dev/null 2>&1 &&
            anygp predict model.agp new.csv >expected.csv && anygp export model.agp -o model.c --header model.h >/dev/null &&
            ${CC:-cc} -std=c99 -Wall -Wextra -Werror -pedantic -O1 -g -o $kind main.c model.c -lm &&
            sed 1d new.csv | valgrind -q --error-exitcode=9 --leak-check=full ./$kind >got.csv && close_to got.csv <(sed 1d expected.csv | cut -d, -f1,2) || return 1
    done
}
maps_with_gaps_are_exported() { # rows in the middle of a hole, two of them with one list, at its border and far from it
    anygp simulate --rows 7000 --inputs 2 --kernel 'matern12(lengthscale=0.3)' --noise 0.05 -o whole.csv && mv model.agp first.agp || return 1
    awk -F, 'NR == 1 || ($1 - 0.5) ^ 2 + ($2 - 0.5) ^ 2 > 0.04' whole.csv >map.csv && [ "$(wc -l <map.csv)" -gt 5100 ] || { wc -l map.csv; return 1; }
    printf 'x1,x2,y\n0.51,0.51,0\n0.53,0.52,0\n0.41,0.55,0\n0.305,0.5,0\n0.9,0.2,0\n' >holes.csv
    for kind in vecchia vnngp; do
        a_map_with_gaps_is_exported $kind || { echo "model $kind"; return 1; }
    done
    mv first.agp model.agp
}
a_map_with_gaps_is_exported() { # MODEL
    anygp fit map.csv -q --model "$1" --kernel matern12 --neighbors 5 --predict-neighbors 12 --iters 1 --valid 0 -o model.agp >/dev/null 2>&1 &&
        anygp predict model.agp holes.csv >expected.csv && anygp export model.agp -o model.c --header model.h >/dev/null && { [ "$1" != vecchia ] || grep -q 'count = around(' model.c; } &&
        ${CC:-cc} -std=c99 -Wall -Wextra -Werror -pedantic -O1 -g -o program main.c model.c -lm &&
        sed 1d holes.csv | valgrind -q --error-exitcode=9 ./program >got.csv && close_to got.csv <(sed 1d expected.csv | cut -d, -f1,2) || return 1
    anygp export model.agp -o model.json >/dev/null && anygp predict model.agp holes.csv --latent >latent.csv || return 1
    sed 1d holes.csv | while IFS=, read -r a b _; do python3 "$root/examples/recipe.py" model.json "$a" "$b"; done | tr ' ' , >read.csv
    close_to read.csv <(sed 1d latent.csv | cut -d, -f1,2)
}
json_has_all_a_reader_needs() {
    anygp export model.agp -o model.json >/dev/null && anygp predict model.agp new.csv --latent >latent.csv || return 1
    sed 1d new.csv | while IFS=, read -r a b _; do python3 "$root/examples/recipe.py" model.json "$a" "$b"; done | tr ' ' , >read.csv
    close_to read.csv <(sed 1d latent.csv | cut -d, -f1,2)
}
mistakes_are_explained() {
    refuses 'Add -o FILE.c or -o FILE.json' export model.agp && refuses 'ends in neither .c nor .json' export model.agp -o model.txt &&
        refuses '--header is for C' export model.agp -o m.json --header m.h && refuses 'cannot be opened' export none.agp -o m.c
}

check c_is_compiled_without_a_warning_and_predicts_the_same
check valgrind_finds_nothing_in_it
check json_has_all_a_reader_needs
check mistakes_are_explained
check maps_with_gaps_are_exported
check models_that_search_or_route_are_clean_too
finish
