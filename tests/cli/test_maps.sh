# Grids of places, and columns beside the predictions.
. "$(dirname "$0")/lib.sh"
awk 'BEGIN { srand(2); print "lon,site,lat,level,z"
             for (i = 0; i < 60; i++) { x = 10 * rand(); y = 40 + 2 * rand(); print x ",s " i "," y ",7," sin(x) + y } }' >map.csv
anygp fit map.csv -o map.agp --model exact --iters 5 -q >/dev/null || exit 1

a_grid_covers_the_range_of_the_data() {
    anygp predict map.agp --grid 3x2 >grid.csv && [ "$(head -n 1 grid.csv)" = lon,lat,mean,variance,lo95,hi95 ] && finite grid.csv || return 1
    awk -F, 'NR > 1 { if (NR == 2 || $1 < x0) x0 = $1; if (NR == 2 || $1 > x1) x1 = $1; if (NR == 2 || $3 < y0) y0 = $3; if (NR == 2 || $3 > y1) y1 = $3 }
        END { for (j = 0; j < 2; j++) for (i = 0; i < 3; i++) printf "%.10g,%.10g\n", x0 + (x1 - x0) * i / 2, y0 + (y1 - y0) * j }' map.csv >own
    sed 1d grid.csv | cut -d, -f1,2 >theirs && close own theirs 1e-9
}
a_grid_is_the_table_of_its_places() {
    anygp predict map.agp --grid 4x3:-1,11,39,43 >grid.csv && { echo lon,lat,level; sed 1d grid.csv | cut -d, -f1,2 | sed 's/$/,7/'; } >places.csv || return 1
    anygp predict map.agp places.csv >p.csv && cut -d, -f3- grid.csv | cmp - p.csv && anygp predict map.agp --grid 4x3:-1,11,39,43 --samples 2 --keep lat | sed 1d | cut -d, -f1,2 >q.csv || return 1
    anygp predict map.agp places.csv --samples 2 | sed 1d | cut -d, -f1 | paste -d, <(sed 1d places.csv | cut -d, -f2) - | cmp - q.csv
}
columns_are_kept_in_front_of_the_predictions() {
    anygp predict map.agp map.csv >p.csv && anygp predict map.agp map.csv --keep site --keep z,0 >kept.csv || return 1
    paste -d, <(cut -d, -f1,2,5 map.csv) p.csv | cmp - <(tr -d '"' <kept.csv) &&
        anygp predict map.agp map.csv --keep all | tr -d '"' | cut -d, -f1-5 | cmp - map.csv
}
rows_that_are_bad_keep_their_columns() {
    printf 'lon,lat,site\n1,40.5,a\n,41,b\n' | anygp predict map.agp - --bad skip --keep site,lat 2>/dev/null | tail -n 1 | grep -qx '41,b,nan,nan,nan,nan'
}
what_cannot_be_is_refused() {
    refuses 'has 1 side, and the model has 2 inputs that vary' predict map.agp --grid 5 && refuses 'argument is missing: name a table' predict map.agp &&
        refuses 'leave one of them out' predict map.agp map.csv --grid 2x2 && refuses "expected a comma and the upper limit at character 10.*100x100:0,10,40,50" predict map.agp --grid 2x2:0,1,2 &&
        refuses 'whole number' predict map.agp --grid 2.5x2 && refuses 'lower limit 1 is not below' predict map.agp --grid 2x2:1,0,0,1 &&
        refuses "no column|there is no" predict map.agp map.csv --keep nowhere && refuses 'keep: column site is text' predict map.agp map.csv --keep site -o x.npy
}

coordinates_of_one_unit_get_one_length_where_it_will_do() {
    for lengths in 0.3,0.3 0.1,1.5; do
        anygp simulate --rows 200 --inputs 2 --kernel "matern52(variance=1,lengthscale=[$lengths])" --noise 0.01 -o plain.csv && sed '1s/.*/east,north,z/' plain.csv >$lengths.csv || return 1
    done
    anygp fit 0.3,0.3.csv -o one.agp 2>"$said/err" && grep -q "'east' and 'north' are coordinates of a place and get one length-scale" "$said/err" && anygp info one.agp | grep -q 'matern52(iso,' &&
        anygp fit 0.1,1.5.csv -o each.agp 2>"$said/err" && ! grep coordinates "$said/err" && anygp info each.agp | grep -q 'matern52(variance=.*lengthscale=\[' &&
        anygp fit 0.3,0.3.csv -o own.agp --kernel matern52 2>"$said/err" && ! grep coordinates "$said/err" && anygp fit plain.csv -o plain.agp 2>"$said/err" && ! grep coordinates "$said/err"
}

check a_grid_covers_the_range_of_the_data
check a_grid_is_the_table_of_its_places
check columns_are_kept_in_front_of_the_predictions
check rows_that_are_bad_keep_their_columns
check what_cannot_be_is_refused
check coordinates_of_one_unit_get_one_length_where_it_will_do
finish
