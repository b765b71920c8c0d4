# New rows for a fitted model: the model of all rows, a model file that is replaced whole or not at all.
. "$(dirname "$0")/lib.sh"
kernel='rbf(variance=1,lengthscale=0.3)'
anygp simulate --rows 600 --inputs 2 --kernel "$kernel" --noise 0.05 -o all.csv
anygp simulate --rows 100 --inputs 2 --seed 3 -o test.csv
rows() { awk -v first="$2" -v last="$3" 'NR == 1 || (NR > first && NR <= last + 1)' "$1"; } # FILE FIRST LAST
rows all.csv 1 400 >one.csv
rows all.csv 401 600 >two.csv
rows all.csv 1 25 | cut -d, -f1,2 >inducing.csv
# The block of a row is its quadrant; pitc's new rows are in blocks of their own.
awk -F, 'NR > 1 { print 3 * ($1 > 0.5) + 5 * ($2 > 0.5) + (pitc && NR > 401 ? 100 : 0) }' pitc=1 all.csv >pitc.txt
awk -F, 'NR > 1 { print 3 * ($1 > 0.5) + 5 * ($2 > 0.5) }' all.csv >pic.txt
part() { sed -n "$2,$3p" "$1"; } # FILE FIRST LAST

fixed=(--valid 0 --inducing-from inducing.csv --kernel "$kernel" --noise 0.05 --fix all --standardize none)
fit() { anygp fit "$1" -q -o "$2" "${fixed[@]}" "${@:3}" >"$said/out" 2>"$said/err" || { cat "$said/err"; return 1; }; } # DATA MODEL
update() { anygp update "$@" >"$said/out" 2>"$said/err" || { cat "$said/err"; return 1; }; }
# Two models agree in evidence, rows and predictions.
same_model() {
    anygp predict "$1" test.csv >"$said/a.csv" && anygp predict "$2" test.csv >"$said/b.csv" && close "$said/a.csv" "$said/b.csv" 1e-8 || return 1
    local m
    for m in "$1" "$2"; do anygp info "$m" --json | awk '/"(value|rows)":|"n":/ { gsub(/[^0-9.e+-]/, ""); print }' >"$m.info"; done
    close "$1.info" "$2.info" 1e-8
}
checksum() { cksum <"$1"; }
# Refused, and the model has the bytes it had.
leaves() { # MODEL PATTERN COMMAND...
    local before
    before=$(checksum "$1")
    refuses "${@:2}" && [ "$before" = "$(checksum "$1")" ]
}

each_model_updated_is_the_model_of_all_rows() {
    local m blocks
    for m in sor dtc fitc fic pitc pic; do
        blocks=pic.txt
        [ $m = pitc ] && blocks=pitc.txt
        part $blocks 1 400 >first.txt
        part $blocks 401 600 >second.txt
        fit all.csv all.agp --model $m --blocks-from $blocks && fit one.csv one.agp --model $m --blocks-from first.txt &&
            update one.agp two.csv -o two.agp --blocks-from second.txt && same_model all.agp two.agp || { echo "$m"; return 1; }
    done
}
several_updates_are_one() {
    local m i
    for m in fitc pic; do
        part pic.txt 1 400 >first.txt
        fit all.csv all.agp --model $m --blocks-from pic.txt && fit one.csv m.agp --model $m --blocks-from first.txt || return 1
        for i in 401 451 520; do
            part pic.txt $i $((i == 401 ? 450 : i == 451 ? 519 : 600)) >more.txt
            rows all.csv $i $((i == 401 ? 450 : i == 451 ? 519 : 600)) >more.csv
            update m.agp more.csv --blocks-from more.txt || return 1
        done
        same_model all.agp m.agp || { echo "$m"; return 1; }
    done
}
weights_count_rows() {
    awk 'NR == 1 { print $0 ",w"; next } { print $0 "," (NR % 3) }' all.csv >weighted.csv
    awk 'NR == 1 { print; next } { for (i = 0; i < NR % 3; i++) print }' all.csv >repeated.csv
    rows weighted.csv 1 400 >w1.csv
    rows weighted.csv 401 600 >w2.csv
    fit repeated.csv all.agp --model fitc && fit w1.csv m.agp --model fitc --weights w --target y && anygp update m.agp w2.csv --weights w 2>"$said/err" >/dev/null &&
        grep -q 'rows of weight 0 were left out' "$said/err" && same_model all.agp m.agp
}
standardised_model_keeps_its_scales() {
    # Where the first rows have the scales of all, their update is the fit of all: each row once in either part.
    { cat one.csv; tail -n +2 one.csv; } >twice.csv
    anygp fit one.csv -q -o m.agp --inducing-from inducing.csv --model fitc --kernel "$kernel" --noise 0.05 --fix all --valid 0 >/dev/null &&
        anygp fit twice.csv -q -o all.agp --inducing-from inducing.csv --model fitc --kernel "$kernel" --noise 0.05 --fix all --valid 0 >/dev/null &&
        update m.agp one.csv && same_model all.agp m.agp
}
every_format_and_standard_input_can_be_read() {
    fit one.csv one.agp --model dtc && gzip -k two.csv && update one.agp two.csv -o a.agp && update one.agp two.csv.gz -o b.agp &&
        anygp update one.agp - -o c.agp <two.csv >/dev/null && cmp a.agp b.agp && cmp a.agp c.agp
}
update_is_close_for_any_threads() {
    update one.agp two.csv -o a.agp --threads 1 && update one.agp two.csv -o b.agp --threads 2 && same_model a.agp b.agp
}
long_file_is_updated_in_little_memory() {
    anygp simulate --rows 30000 --inputs 2 --features 20 -o long.csv && update one.agp long.csv -o long.agp --memory 20M && [ "$(anygp info long.agp --json | json_number rows)" = 30400 ]
}
pic_is_updated_by_its_own_cut() {
    fit one.csv m.agp --model pic --blocks 4 && update m.agp two.csv && [ "$(anygp info m.agp --json | json_number rows)" = 600 ] &&
        anygp predict m.agp test.csv >"$said/p" && finite "$said/p"
}
pic_warns_of_a_block_that_has_grown() {
    fit one.csv m.agp --model pic --blocks 8 && awk -F, 'NR == 1 { print; next } { print 0.1 + $1 / 100 ",0.1," $3 }' two.csv >near.csv &&
        anygp update m.agp near.csv -o n.agp 2>&1 >/dev/null | grep -q 'has grown to .* rows, more than twice'
}
unknown_block_of_a_cut_is_refused() {
    fit one.csv m.agp --model pic --blocks 4 && part pitc.txt 401 600 >blocks.txt && leaves m.agp 'no block 1[0-9][0-9]' update m.agp two.csv --blocks-from blocks.txt
}
blocks_must_match_the_rows() {
    part pic.txt 1 400 >first.txt
    part pic.txt 401 599 >short.txt
    part pic.txt 400 600 >long.txt
    fit one.csv m.agp --model pic --blocks-from first.txt || return 1
    leaves m.agp 'as many rows as the data' update m.agp two.csv --blocks-from short.txt && leaves m.agp 'as many rows as the data' update m.agp two.csv --blocks-from long.txt
}
new_categories_are_remembered() {
    awk -F, 'NR == 1 { print "c," $0; next } { print (NR % 2 ? "red" : "blue") "," $0 }' one.csv >c1.csv
    awk -F, 'NR == 1 { print "c," $0; next } { print (NR % 2 ? "green" : "blue") "," $0 }' two.csv >c2.csv
    { cat c1.csv; tail -n +2 c2.csv; } >call.csv
    sed 's/^[a-z]*,/green,/; 1s/.*/c,x1,x2,y/' c2.csv >ctest.csv
    sed 's/^green/violet/' ctest.csv >other.csv
    head -n 1 call.csv >cz.csv
    sed -n '2,25p' c1.csv >>cz.csv
    local f=(--valid 0 --model fitc --inducing-from cz.csv --kernel 'rbf(variance=1,lengthscale=0.3,dims=[1,2]) * categorical(dims=[0],variance=1,lengthscale=0.5)' --noise 0.05 --fix all --standardize none)
    anygp fit call.csv -q -o all.agp "${f[@]}" >/dev/null && anygp fit c1.csv -q -o m.agp "${f[@]}" >/dev/null || return 1
    anygp update m.agp c2.csv 2>"$said/err" >/dev/null && grep -q 'categories the model has not seen' "$said/err" || return 1
    anygp predict all.agp ctest.csv >a.csv && anygp predict m.agp ctest.csv 2>"$said/err" >b.csv && [ ! -s "$said/err" ] && close a.csv b.csv 1e-8 || return 1
    anygp predict all.agp other.csv 2>/dev/null >a.csv && anygp predict m.agp other.csv 2>/dev/null >b.csv && close a.csv b.csv 1e-8
}
each_target_takes_the_rows_that_have_it() {
    awk -F, 'NR == 1 { print "x1,x2,y,z"; next } { print $1 "," $2 "," $3 "," 2 * $3 }' all.csv >t.csv
    rows t.csv 1 400 >t1.csv
    rows t.csv 401 600 | awk -F, 'NR > 1 && NR % 2 { $4 = "" } { print $1 "," $2 "," $3 "," $4 }' >t2.csv
    fit t1.csv m.agp --model fic --target y --target z && update m.agp t2.csv && grep -q '100 rows without z were left out' "$said/err" || return 1
    [ "$(anygp info m.agp --json | sed -n '/"targets"/,$p' | grep '"rows":' | tr -dc '0-9\n' | tr '\n' ' ')" = '600 500 ' ]
}
missing_inputs_follow_the_model() {
    awk -F, 'NR == 5 { $1 = "" } { print $1 "," $2 "," $3 }' two.csv >holes.csv
    fit one.csv m.agp --model fitc && leaves m.agp 'row 4, column .x1.: the input is missing' update m.agp holes.csv && update m.agp holes.csv --missing mean -o n.agp
}
sod_and_directions_are_refused() {
    local m
    for m in sod exact+; do
        anygp fit one.csv -q -o e.agp --model $m --iters 1 >/dev/null && leaves e.agp "${m/+/\\+} cannot take new rows" update e.agp two.csv || return 1
    done
}
exact_updated_is_exact_of_all_rows() { # with its factor and by iteration, whose means differ by what its bound allows
    local solver
    for solver in cholesky cg; do
        fit one.csv m.agp --model exact --solver $solver && fit all.csv all.agp --model exact --solver cholesky && update m.agp two.csv || return 1
        anygp predict all.agp test.csv | cut -d, -f1 >a.csv && anygp predict m.agp test.csv | cut -d, -f1 >b.csv && close a.csv b.csv $([ $solver = cg ] && echo 1e-2 || echo 1e-8) || return 1
        [ "$(anygp info m.agp --json | json_number rows)" = 600 ] || return 1
    done
}
jitter_of_exact_is_kept() {
    local options=(--model exact --solver cholesky --noise 1e-14 --kernel 'rbf(variance=1,lengthscale=2)') # next to singular
    fit one.csv m.agp "${options[@]}" && anygp info m.agp | grep -q 'jitter .* of the mean diagonal' && anygp info m.agp | grep jitter >jitter || return 1
    fit all.csv all.agp "${options[@]}" && update m.agp two.csv && anygp info m.agp | grep jitter | cmp - jitter && anygp info all.agp | grep jitter | cmp - jitter || return 1
    local m
    for m in all m; do anygp predict $m.agp test.csv | awk -F, 'NR > 1 { print $1 + 10 }' >$m.csv || return 1; done # the target's sd is about 1
    close all.csv m.csv 1e-4
}
# While the factor grows to 4000 rows.
interrupted_update_of_exact_leaves_the_model() {
    local status=0 before
    anygp simulate --rows 4000 --inputs 2 --features 50 -o many.csv && rows many.csv 1 1000 >old.csv && rows many.csv 1001 4000 >new.csv && fit old.csv i.agp --model exact --solver cholesky || return 1
    before=$(checksum i.agp)
    "$ANYGP" update i.agp new.csv --threads 1 >"$said/out" 2>"$said/err" </dev/null &
    until grep -q '^SigCgt:.*[2367abef]$' /proc/$!/status; do sleep 0.02; done # it catches SIGINT
    sleep 0.3
    kill -INT $!
    wait $! || status=$?
    cat "$said/err"
    [ $status = 130 ] && grep -q '^anygp: stopped' "$said/err" && [ ! -s "$said/out" ] && [ "$before" = "$(checksum i.agp)" ] && [ "$(echo i.agp*)" = i.agp ] && anygp predict i.agp test.csv >/dev/null
}
memory_bounds_the_update_of_exact() { # the factor of 400 rows has 1.3 MB, and that of all is made beside it
    fit one.csv m.agp --model exact --solver cholesky && head -n 3 two.csv >few.csv && leaves m.agp 'exact has to hold, need 0.0013 GB, more than the --memory of 0.001 GB' update m.agp few.csv --memory 1M && update m.agp few.csv --memory 10M
}
damaged_data_leaves_the_model() {
    fit one.csv m.agp --model fitc || return 1
    { head -n 150 two.csv; echo '0.1,0.2,soon'; } >text.csv
    { head -n 150 two.csv; echo '0.1,0.2'; } >ragged.csv
    { cat two.csv; echo '0.1,inf,2'; } >infinite.csv
    gzip -kf two.csv && head -c 2000 two.csv.gz >cut.csv.gz
    head -n 1 two.csv >empty.csv
    cut -d, -f1,2 two.csv >unlabelled.csv
    cut -d, -f2,3 two.csv >narrow.csv
    local bad
    for bad in text.csv ragged.csv infinite.csv cut.csv.gz empty.csv unlabelled.csv narrow.csv nowhere.csv; do
        leaves m.agp . update m.agp $bad || { echo "$bad"; return 1; }
    done
}
rows_that_cannot_be_used_leave_the_model() {
    awk -F, 'NR == 1 { print; next } { print $1 "," $2 "," }' two.csv >none.csv
    leaves m.agp 'no row is left' update m.agp none.csv
}
damaged_model_is_refused() {
    head -c 3000 m.agp >half.agp && leaves half.agp . update half.agp two.csv
}
data_is_not_written_over() { refuses 'both read and written' update m.agp two.csv -o two.csv; }
model_is_where_it_was_asked_for() {
    local before
    before=$(checksum m.agp)
    update m.agp two.csv -o m2.agp && [ "$before" = "$(checksum m.agp)" ] && [ "$(anygp info m2.agp --json | json_number rows)" = 600 ]
}
update_ends_with_a_score() {
    fit one.csv m.agp --model fitc && anygp eval m.agp two.csv | awk '$1 == "rmse" { printf "%.5g\n", $2 }' >a.txt && update m.agp two.csv -o m2.agp &&
        sed -n 's/^y, 200 rows before they were added: rmse \([0-9.]*\),.*/\1/p' "$said/out" >b.txt && close a.txt b.txt 1e-5
}
rows_from_standard_input_are_scored_too() { # and the model is the same
    anygp update m.agp two.csv -o m2.agp >file.out 2>file.err && anygp update m.agp - -o m3.agp <two.csv 2>pipe.err | sed 's/m3/m2/' >pipe.out && cmp file.out pipe.out && grep -q '200 rows before they were added: rmse' pipe.out && cmp file.err pipe.err &&
        anygp predict m2.agp one.csv >a.csv && anygp predict m3.agp one.csv >b.csv && cmp a.csv b.csv
}
json_tells_of_the_new_model() { anygp update m.agp two.csv -q -o m2.agp --json | is_json; }
killed_update_leaves_a_model() {
    local before after i
    cp m.agp k.agp
    before=$(checksum m.agp) after=$(checksum m2.agp)
    # Killed while it waits for rows: nothing has changed.
    mkfifo slow
    "$ANYGP" update k.agp - <slow >/dev/null 2>&1 &
    exec 3>slow
    head -n 100 two.csv >&3
    sleep 0.3
    kill -KILL $! && wait $! 2>/dev/null
    exec 3>&-
    [ "$before" = "$(checksum k.agp)" ] || return 1
    # Killed at any moment: the old model or the new one.
    for i in 1 2 3 4 5 6 7 8; do
        "$ANYGP" update m.agp two.csv -o k.agp >/dev/null 2>&1 &
        sleep 0.0$i
        kill -KILL $! 2>/dev/null
        wait $! 2>/dev/null
        anygp info k.agp >/dev/null && { [ "$before" = "$(checksum k.agp)" ] || [ "$after" = "$(checksum k.agp)" ]; } || return 1
    done
}

check each_model_updated_is_the_model_of_all_rows
check several_updates_are_one
check weights_count_rows
check standardised_model_keeps_its_scales
check every_format_and_standard_input_can_be_read
check update_is_close_for_any_threads
check long_file_is_updated_in_little_memory
check pic_is_updated_by_its_own_cut
check pic_warns_of_a_block_that_has_grown
check unknown_block_of_a_cut_is_refused
check blocks_must_match_the_rows
check new_categories_are_remembered
check each_target_takes_the_rows_that_have_it
check missing_inputs_follow_the_model
check sod_and_directions_are_refused
check exact_updated_is_exact_of_all_rows
check jitter_of_exact_is_kept
check interrupted_update_of_exact_leaves_the_model
check memory_bounds_the_update_of_exact
check damaged_data_leaves_the_model
check rows_that_cannot_be_used_leave_the_model
check damaged_model_is_refused
check data_is_not_written_over
check model_is_where_it_was_asked_for
check update_ends_with_a_score
check rows_from_standard_input_are_scored_too
check json_tells_of_the_new_model
check killed_update_leaves_a_model
finish
