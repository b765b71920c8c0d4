# --sphere: longitude and latitude as a place on the earth, in every command.
. "$(dirname "$0")/lib.sh"
awk 'function u() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
     BEGIN { seed = 7; r = atan2(0, -1) / 180; print "lon,lat,height,t"
             for (i = 0; i < 240; i++) {
                 lon = 360 * u() - 180; z = 2 * u() - 1; lat = atan2(z, sqrt(1 - z * z)) / r; h = 3 * u()
                 printf "%.3f,%.3f,%.3f,%.4f\n", lon, lat, h, 15 + 12 * cos(lat * r) * cos((lon - 170) * r) - 4 * h + 0.3 * (u() + u() - 1) } }' >world.csv
awk -F, -v OFS=, 'NR > 1 && $1 < 0 { $1 += 360 } 1' world.csv >east.csv
cut -d, -f1,2,4 world.csv >flat.csv
awk -F, -v OFS=, 'NR == 1 { print "day", $0 } NR > 1 { print "2024-" sprintf("%02d", 1 + NR % 12) "-11", $0 }' world.csv >dated.csv
fit() { anygp fit "$@" >"$said/out" 2>"$said/err" || { cat "$said/err"; return 1; }; }
close() { paste -d, "$1" "$2" | awk -F, -v a="$3" -v b="$4" 'NR > 1 && ($a - $b) ^ 2 > 1e-8 * $a ^ 2 { bad = 1 } END { exit bad }'; } # columns a and b

order_of_the_columns_does_not_matter() {
    awk -F, -v OFS=, '{ print $3, $2, $1, $4 }' world.csv >turned.csv
    fit world.csv -o w.agp --sphere lon,lat && fit turned.csv -o t.agp --sphere lon,lat && anygp predict w.agp world.csv >a.csv && anygp predict t.agp turned.csv >b.csv && close a.csv b.csv 1 5
}
longitudes_may_begin_anywhere() { # -180 to 180, 0 to 360, or 20 to 380
    awk -F, -v OFS=, 'NR == 1 { $1 = "Longitude (E)"; $2 = "lat_deg" } NR > 1 && $1 < 20 { $1 += 360 } 1' world.csv >ocean.csv
    fit world.csv -o w.agp --sphere lon,lat && fit east.csv -o e.agp --sphere lon,lat && fit ocean.csv -o o.agp --sphere auto &&
        anygp predict w.agp world.csv >a.csv && anygp predict e.agp east.csv >b.csv && close a.csv b.csv 1 5 &&
        anygp predict w.agp east.csv >c.csv && close a.csv c.csv 1 5 && anygp predict o.agp ocean.csv >d.csv && close a.csv d.csv 1 5 || return 1
    anygp look ocean.csv | grep -q 'look like longitude and latitude; with --sphere Longitude (E),lat_deg'
}
seam_has_no_jump() { # beside 180 degrees the prediction hardly changes; without --sphere it jumps
    printf 'lon,lat,height\n179.99,20,1\n-179.99,20,1\n' >seam.csv
    fit world.csv -o w.agp --sphere lon,lat && anygp predict w.agp seam.csv >s.csv &&
        awk -F, 'NR == 2 { a = $1 } NR == 3 { exit !((a - $1) ^ 2 < 1e-4) }' s.csv
}
names_are_guessed_and_lengths_are_in_km() {
    fit flat.csv -o f.agp --sphere auto && grep -q "sphere: 'lon' and 'lat' are longitude and latitude" "$said/err" && anygp info f.agp >i.txt &&
        grep -q "sphere  *'lon' and 'lat' are places on the earth; lengths are in km" i.txt && cat i.txt && grep -q 'matern52(iso,variance=.*,lengthscale=[0-9.e+]*)' i.txt
}
one_length_for_both_and_its_own_for_others() {
    fit world.csv -o w.agp --sphere lon,lat && anygp info w.agp >i.txt && cat i.txt && grep -qE "lon and lat, km +[0-9.e+]+" i.txt && grep -qE 'height +[0-9.]+' i.txt &&
        anygp info w.agp | grep 'kernel  ' | sed 's/.*lengthscale=\[\([^]]*\)\].*/\1/' | tr , '\n' | sort -u | wc -l | grep -qx 2
}
every_command_takes_the_model() {
    fit flat.csv -o m.agp --sphere lon,lat --model fitc --inducing 40 --report r.html && grep -q 'Effect of lon' r.html &&
        anygp predict m.agp --grid 5x3:-180,180,-60,60 >g.csv && [ "$(wc -l <g.csv)" = 16 ] && finite g.csv &&
        awk -F, '$1 == -180 { a[$2] = $3 } $1 == 180 && (a[$2] - $3) ^ 2 > 1e-20 * $3 ^ 2 { bad = 1 } END { exit bad }' g.csv && # the order of sums differs
        anygp plot m.agp flat.csv --what map -o m.svg && anygp check m.agp flat.csv && anygp eval m.agp flat.csv >"$said/eval" &&
        anygp update m.agp flat.csv >"$said/out" 2>&1 && anygp predict m.agp flat.csv >u.csv && finite u.csv &&
        anygp look flat.csv | grep -q -- '--sphere lon,lat' && anygp compare flat.csv --sphere lon,lat --models fitc,vecchia >"$said/compare" &&
        refuses 'with --sphere cannot be exported' export m.agp -o m.c
}
other_models_and_kernels_take_it() {
    for options in '--model vecchia' '--model svgp --iters 30' '--model nene' '--model grbcm' '--mean linear' '--kernel rbf+linear' '--standardize none --model exact' '--model dtc+ --inducing 20' '--model pic --inducing 20'; do
        # shellcheck disable=SC2086
        fits world.csv --sphere lon,lat $options || { echo "$options"; return 1; }
    done
}
on_disk_as_in_memory() {
    anygp convert world.csv w.h5 && fit world.csv -o a.agp --sphere lon,lat --model dtc --inducing 20 --valid 0 && fit w.h5 -o b.agp --sphere 0,1 --memory 100M --model dtc --inducing 20 --valid 0 &&
        anygp predict a.agp world.csv >a.csv && anygp predict b.agp world.csv >b.csv && close a.csv b.csv 1 5
}
dates_and_missing_places_beside_it() {
    sed '5s/,[^,]*,/,,/' dated.csv >missing.csv
    fit dated.csv -o d.agp --sphere lon,lat --report d.html && grep -q '>2024-[0-9][0-9]' d.html && grep -q 'Mean of t' d.html &&
        refuses "row 4, column 'lon': the input is missing" fit missing.csv -q -o x.agp --sphere lon,lat && fits missing.csv --sphere lon,lat --missing mean
}
wrong_places_and_names_are_refused() {
    sed '4s/^[^,]*,[^,]*/10,95.5/' world.csv >pole.csv
    sed '4s/^[^,]*,/-200,/' world.csv >west.csv
    refuses "row 3, column 'lat': 95.5 is no latitude, which is from -90 to 90 degrees" fit pole.csv -o x.agp --sphere lon,lat &&
        refuses "row 3, column 'lon': -200 is no longitude" fit west.csv -o x.agp --sphere lon,lat &&
        refuses "sphere: 'lon' does not name two columns" fit world.csv -o x.agp --sphere lon &&
        refuses "sphere: 'lon,lon' .*same column|longitude and latitude are the same" fit world.csv -o x.agp --sphere lon,lon &&
        refuses "sphere: column 't' is not an input" fit world.csv -o x.agp --sphere lon,t &&
        refuses 'sphere: no columns are called longitude' fit world.csv -o x.agp --sphere auto --drop lat &&
        refuses 'dims have both or neither' fit world.csv -o x.agp --sphere lon,lat --kernel 'rbf(dims=[lon])'
}

check order_of_the_columns_does_not_matter
check longitudes_may_begin_anywhere
check seam_has_no_jump
check names_are_guessed_and_lengths_are_in_km
check one_length_for_both_and_its_own_for_others
check every_command_takes_the_model
check other_models_and_kernels_take_it
check on_disk_as_in_memory
check dates_and_missing_places_beside_it
check wrong_places_and_names_are_refused
finish
