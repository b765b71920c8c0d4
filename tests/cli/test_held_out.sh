# Rows held out are the same rows with the same scores, whether the table is in memory or stays in its file.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 3000 --inputs 3 --features 50 --noise 0.1 -o plain.csv
# Most targets are missing; three classes have one row each.
awk -F, -v OFS=, 'NR > 1 && NR % 10 < 7 { $4 = "" } 1' plain.csv >holes.csv
awk -F, -v OFS=, 'NR > 1 { $4 = NR % 1000 == 0 ? NR : $4 > 0 } 1' plain.csv >classes.csv
for t in holes classes; do for to in npy h5; do anygp convert $t.csv $t.$to; done; done
steps=(--model svgp --inducing 8 --iters 12 --threads 1 --seed 3)

# What the fit says of its scores, and its trace without the seconds.
scores() { # DATA MEMORY OPTIONS...
    rm -f trace.csv
    anygp fit "$1" -o m.agp --memory "$2" "${steps[@]}" --trace trace.csv "${@:3}" >"$said/out" 2>"$said/err" || { cat "$said/err"; return 1; }
    sed -n 's/^[^:]*,* *\([0-9]* rows held out\|validation\):/\1:/p' "$said/out"
    grep -o 'no rows are held out.*' "$said/err"
    anygp info m.agp --json | grep -E '"(rmse|mnlp|msll|mell|accuracy|n|rows)":'
    cut -d, -f1,3- trace.csv
}
same_everywhere() { # TABLE OPTIONS...
    local to
    scores $1.csv 100M "${@:2}" >memory.txt || { cat memory.txt; return 1; }
    grep -q . memory.txt || return 1
    for to in npy h5; do
        scores $1.$to 350K "${@:2}" >file.txt || { cat file.txt; return 1; }
        diff memory.txt file.txt || { echo "$1.$to $*"; return 1; }
    done
}
share_of_a_table_is_that_of_its_file() { same_everywhere holes --valid 0.1 && grep -q '"rmse"' memory.txt; }
rows_that_auto_holds_out_do_not_depend_on_the_file() { same_everywhere holes && grep -q 'rows held out' memory.txt; }
rare_class_is_seen_in_a_file_too() { same_everywhere classes --likelihood softmax --iters 1 --seed 4 && grep -q 'no rows are held out' memory.txt; }

for t in share_of_a_table_is_that_of_its_file rows_that_auto_holds_out_do_not_depend_on_the_file rare_class_is_seen_in_a_file_too; do check $t; done
finish
