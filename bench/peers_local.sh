#!/bin/bash
# Neighbours beside four packages for R: GpGp and GPBoost (Vecchia), spNNGP (nearest neighbours) and laGP (local designs), one core each,
# processor seconds.  A package that R does not find is passed over with a sentence.
#   peers_local.sh ANYGP DATA [WHAT...]     default: fit gpboost nngp lagp evaluation
#   fit         heaton_simulated, exponential kernel, constant mean: a whole fit, and the log likelihood of both programs at both optima
#   gpboost     the same with GPBoost, and the predictions of the test rows
#   nngp        predictions of its test rows with the parameters of the fit
#   lagp        ROWS (500) of its test rows by designs of 50 rows, rbf kernel: seconds per row, and how many designs are the same
#   evaluation  log likelihood and gradient with 30 neighbours, PLACES (1000000) simulated rows of two inputs
# Build the packages from their sources with R_MAKEVARS_USER naming a file with 'CFLAGS = -O3 -march=native -DNDEBUG' and the like for
# CXXFLAGS, CXX11FLAGS and CXX17FLAGS, in a folder that R_LIBS names; GpGp needs FNN, fields, Rcpp, RcppArmadillo and BH, spNNGP coda, Formula and
# RANN, laGP tgp, gpboost R6, data.table and RJSONIO; Debian has all of these but RJSONIO, for which a package of that name with functions
# fromJSON and toJSON will do here.
set -eu
here=$(dirname "$(realpath "$0")")
anygp=$(realpath "$1") data=$(realpath "$2")/heaton_simulated
shift 2
[ $# -gt 0 ] || set -- fit gpboost nngp lagp evaluation
export LC_ALL=C OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
peer() { Rscript --vanilla "$here/peers_local.R" "$@"; }
have() { # PACKAGE
    if [ -n "$(command -v Rscript)" ] && [ "$(peer have "$1")" = 'TRUE ' ]; then return 0; fi
    echo "$1 is not installed: its part is left out."
    return 1
}
clocked() { # COMMAND...: its processor seconds into the variable took
    /usr/bin/time -q -f '%U %S' -o clock "$@" >said
    took=$(tail -n 1 clock | awk '{ print $1 + $2 }')
}
of() { # NAME MODEL: variance or lengthscale of its kernel, noise, or the value of its objective
    "$anygp" info "$2" --json | python3 -c '
import json, re, sys
model, name = json.load(sys.stdin), sys.argv[1]
parameter = re.search(name + "=([-+.e0-9]+)", model["kernel"])
print(parameter.group(1) if parameter else repr(model["objective"]["value"] if name == "value" else model[name]))' "$1"
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.1f", a / b }'; }
heaton=(--model vecchia --mean constant --prior none --valid 0 --threads 1)

ours() { # the fit of anygp, which the other parts use; once
    [ ! -e v.agp ] || return 0
    clocked "$anygp" fit train.csv -q -o v.agp "${heaton[@]}" --kernel 'matern12(iso)'
    ours_took=$took variance=$(of variance v.agp) range=$(of lengthscale v.agp) noise=$(of noise v.agp)
    nugget=$(awk -v n="$noise" -v v="$variance" 'BEGIN { printf "%.17g", n / v }')
}
evidence() { # VARIANCE RANGE NUGGET: log evidence of anygp in the units of the data
    "$anygp" fit train.csv -q -o at.agp "${heaton[@]}" --fix all --kernel "matern12(iso,variance=$1,lengthscale=$2)" --noise "$(awk -v v="$1" -v g="$3" 'BEGIN { printf "%.17g", v * g }')" >/dev/null
    awk -v v="$(of value at.agp)" -v s="$(tail -n +2 train.csv | awk -F, '{ a += $3; b += $3 * $3 } END { print sqrt(b / NR - (a / NR) ^ 2) }')" -v n="$(($(wc -l <train.csv) - 1))" 'BEGIN { printf "%.1f", v - n * log(s) }'
}
for part in train test; do gzip -cd "$data/$part.csv.gz" >$part.csv; done

for what in "$@"; do
    case $what in
    fit)
        ours
        "$anygp" eval v.agp test.csv --threads 1 | awk '{ s[$1] = $2 } END { printf "anygp vecchia: rmse %s, mae %s, 95 %% intervals cover %.1f %%\n", s["rmse"], s["mae"], 100 * s["coverage95"] }'
        have GpGp || continue
        read -r seconds v r g loglik <<<"$(peer gpgp_fit train.csv)"
        echo "GpGp $seconds s (its log likelihood $loglik), anygp $ours_took s with the reading of the file, leave-one-out and the writing: ratio $(ratio "$seconds" "$ours_took")"
        echo "parameters (variance, range, nugget over variance) of GpGp $v $r $g, of anygp $variance $range $nugget"
        echo "log likelihood by GpGp, 30 neighbours, random order: at its parameters $(peer gpgp_loglik train.csv "$v" "$r" "$g"), at those of anygp $(peer gpgp_loglik train.csv "$variance" "$range" "$nugget")"
        echo "log evidence by anygp, 30 neighbours, maximin order: at GpGp's parameters $(evidence "$v" "$r" "$g"), at its own $(evidence "$variance" "$range" "$nugget")"
        ;;
    gpboost)
        ours
        clocked "$anygp" eval v.agp test.csv --threads 1
        echo "anygp vecchia: fit $ours_took s, predictions and scores $took s, $(grep rmse said | tr -s ' ')"
        have gpboost || continue
        read -r fitted predicted rmse cover v r g loglik <<<"$(peer gpboost train.csv test.csv)"
        echo "GPBoost: fit $fitted s (its log likelihood $loglik), predictions $predicted s, rmse $rmse, 95 % intervals cover $cover: ratios $(ratio "$fitted" "$ours_took"), $(ratio "$predicted" "$took")"
        echo "parameters (variance, range, nugget over variance) of GPBoost $v $r $g, of anygp $variance $range $nugget"
        echo "log evidence by anygp, 30 neighbours, maximin order: at GPBoost's parameters $(evidence "$v" "$r" "$g"), at its own $(evidence "$variance" "$range" "$nugget")"
        ;;
    nngp)
        ours
        have spNNGP || continue
        read -r seconds rmse <<<"$(peer nngp train.csv test.csv "$variance" "$range" "$nugget")"
        clocked "$anygp" fit train.csv -q -o at.agp "${heaton[@]}" --fix all --kernel "matern12(iso,variance=$variance,lengthscale=$range)" --noise "$noise"
        fitted=$took
        clocked "$anygp" eval at.agp test.csv --threads 1
        echo "given parameters, spNNGP (30 neighbours) $seconds s, rmse $rmse; anygp (30, 60 for predictions) $fitted s and $took s, $(grep rmse said | tr -s ' ')"
        ;;
    lagp)
        tail -n +2 train.csv | awk -F, '{ a += $3 } END { printf "%.17g\n", a / NR }' >mean
        for part in train test; do awk -F, -v m="$(cat mean)" 'NR == 1 { print; next } { printf "%s,%s,%.10f\n", $1, $2, $3 - m }' $part.csv >centred-$part.csv; done
        awk -v want="${ROWS:-500}" -v all="$(wc -l <test.csv)" 'BEGIN { srand(1); left = all - 1 } NR == 1 { print; next } { if (rand() * left < want) { print; want-- } left-- }' centred-test.csv >rows.csv
        head -n 2 rows.csv >row.csv
        "$anygp" fit centred-train.csv -q -o l.agp --model lagp --kernel 'rbf(iso)' --valid 0 --threads 1 >/dev/null
        v=$(of variance l.agp) l=$(of lengthscale l.agp) s=$(of noise l.agp)
        d=$(awk -v l="$l" 'BEGIN { printf "%.17g", 2 * l * l }') g=$(awk -v s="$s" -v v="$v" 'BEGIN { printf "%.17g", s / v }')
        echo "rbf: variance $v, length-scale $l, noise $s"
        for design in alc nn; do
            "$anygp" fit centred-train.csv -q -o l.agp --model "lagp(design=$design,start=6,close=1000)" --neighbors 50 --fix all --kernel "rbf(iso,variance=$v,lengthscale=$l)" --noise "$s" --standardize none --valid 0 --threads 1 >/dev/null
            clocked "$anygp" predict l.agp row.csv -q -o one.csv --threads 1
            one=$took
            clocked "$anygp" predict l.agp rows.csv -q -o ours.csv --threads 1
            each=$(awk -v all="$took" -v one="$one" -v n="$(wc -l <rows.csv)" 'BEGIN { print (all - one) / (n - 2) }')
            have laGP || { echo "anygp $design: $each s per row" && continue; }
            read -r seconds rmse <<<"$(peer lagp centred-train.csv rows.csv $design "$d" "$g" theirs)"
            same=$(tail -n +2 ours.csv | cut -d, -f1 | paste -d' ' - theirs | awk '{ d = $1 - $2; if (d * d < 1e-10) same++ } END { print same + 0 " of " NR }')
            echo "$design: laGP $seconds s per row (rmse $rmse), anygp $each s: ratio $(ratio "$seconds" "$each"); means equal to 1e-5, that is the same designs, for $same rows"
        done
        ;;
    evaluation)
        "$anygp" simulate --rows "${PLACES:-1000000}" --inputs 2 --kernel 'matern12(variance=1,lengthscale=0.1)' --noise 0.05 -o places.csv >/dev/null
        for steps in 1 3; do
            clocked "$anygp" fit places.csv -q -o $steps.agp --model vecchia --order random --mean constant --prior none --valid 0 --threads 1 --kernel 'matern12(iso)' --iters $steps
            echo "$took $("$anygp" info $steps.agp | sed -n 's/.* \([0-9]*\) evaluations.*/\1/p')" >$steps
        done
        each=$(cat 1 3 | awk '{ t[NR] = $1; e[NR] = $2 } END { print (t[2] - t[1]) / (e[2] - e[1]) }')
        echo "anygp: $each s per evaluation with gradient and information, groups; whole runs (seconds, evaluations): $(cat 1), $(cat 3)"
        have GpGp || continue
        read -r near grouping plain grouped <<<"$(peer gpgp_evaluation places.csv)"
        echo "GpGp: neighbours $near s, groups $grouping s, an evaluation with gradient and information $plain s, with groups $grouped s: ratios $(ratio "$plain" "$each"), $(ratio "$grouped" "$each")"
        ;;
    *) echo "peers_local.sh ANYGP DATA [fit|gpboost|nngp|lagp|evaluation...]" >&2 && exit 1 ;;
    esac
done
