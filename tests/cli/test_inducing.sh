# Inducing variables with widths of their own: every model that learns them, their file, and who is refused.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 360 --inputs 2 --kernel 'rbf(variance=1,lengthscale=[0.2,0.5])' -o all.csv
head -n 251 all.csv >train.csv
sed '2,251d' all.csv >rest.csv
head -n 61 rest.csv >test.csv
sed '2,61d' rest.csv >more.csv
scaled=(--inducing-kind scaled --kernel rbf)

# The model in memory and the one of the file score alike, on rows that neither was fitted to.
file_says_what_the_fit_said() { # OPTIONS...
    anygp fit train.csv -q -o m.agp "${scaled[@]}" --valid test.csv --json "$@" >fit.json && json_number rmse <fit.json >fit.rmse &&
        anygp eval m.agp test.csv --json | json_number rmse >eval.rmse && close fit.rmse eval.rmse 1e-12 && head -c 20000 m.agp | grep -aq '/widths"' && head -c 20000 m.agp | grep -aq '"schema": "3"' || { echo "model $*"; return 1; }
}
every_model_learns_widths() {
    file_says_what_the_fit_said --model svgp --inducing 12 --iters 30 && file_says_what_the_fit_said --model solve --inducing 8+6 --iters 30 &&
        file_says_what_the_fit_said --model ivsgpr --inducing 12 --iters 30 && file_says_what_the_fit_said --model vfe --inducing 12 --iters 10 --mean linear &&
        file_says_what_the_fit_said --model solve --learn batch --inducing 8+6 --iters 10 && file_says_what_the_fit_said --model pic --fix none --inducing 12 --blocks 4 --iters 5 &&
        file_says_what_the_fit_said --model fitc+ --fix none --inducing 12 --iters 20 && file_says_what_the_fit_said --model odvgp --inducing 8+6 --iters 30 && head -c 20000 m.agp | grep -aq '/O_widths"'
}
# At as many iterations, from the same start, more parameters of the bound do not end below it.
widths_raise_the_bound() {
    local kind
    for kind in points scaled; do
        anygp fit train.csv -q -o $kind.agp --kernel rbf --inducing-kind $kind --model vfe --inducing 10 --iters 60 --prior none --valid 0 --json | json_number value >$kind.value || return 1
    done
    cat points.value scaled.value | awk 'NR == 1 { points = $1 } NR == 2 && !($1 > points) { print points, $1; exit 1 }'
}
new_rows_are_taken() {
    local m
    for m in svgp vfe; do
        fits train.csv "${scaled[@]}" --model $m --inducing 12 --iters 20 && anygp update fits.agp more.csv -o updated.agp >"$said/out" 2>"$said/err" || { cat "$said/err"; return 1; }
        anygp predict updated.agp test.csv --samples 2 >s.csv && anygp predict updated.agp test.csv >p.csv && finite s.csv p.csv || return 1
    done
}
points_are_the_default() {
    anygp fit train.csv -q -o a.agp --model vfe --inducing 12 --iters 3 --kernel rbf && anygp fit train.csv -q -o b.agp --model vfe --inducing 12 --iters 3 --kernel rbf --inducing-kind points &&
        anygp predict a.agp test.csv >a.p && anygp predict b.agp test.csv >b.p && cmp a.p b.p && ! head -c 20000 b.agp | grep -aq '/widths"'
}
others_are_refused() {
    local s=(--inducing-kind scaled)
    refuses 'single rbf kernel' fit train.csv -o no.agp --model svgp "${s[@]}" && refuses 'single rbf kernel' fit train.csv -o no.agp --model vfe --kernel 'rbf + white' "${s[@]}" &&
        refuses 'add --fix none' fit train.csv -o no.agp --model fitc "${scaled[@]}" && refuses 'add --fix none' fit train.csv -o no.agp --model svgp --fix inducing "${scaled[@]}" &&
        refuses 'needs a model by name' fit train.csv -o no.agp "${scaled[@]}" && refuses 'exact has no inducing variables' fit train.csv -o no.agp --model exact "${scaled[@]}" &&
        refuses 'svdgp has scaled bases' fit train.csv -o no.agp --model svdgp "${scaled[@]}" && refuses 'learns nothing' fit train.csv -o no.agp --model 'combine(dtc=0.5,fitc=0.5)' "${scaled[@]}" &&
        refuses 'inducing-kind' fit train.csv -o no.agp --model svgp --inducing-kind fourier
}
check every_model_learns_widths
check widths_raise_the_bound
check new_rows_are_taken
check points_are_the_default
check others_are_refused
finish
