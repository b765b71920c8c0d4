# Predictions over HTTP: right numbers, wrong requests, a new model under load, updates.
. "$(dirname "$0")/lib.sh"
if anygp serve none.agp 2>&1 | grep -q 'built without libmicrohttpd'; then
    echo "1..0 # skip: built without libmicrohttpd"
    exit 0
fi
client() { /usr/bin/python3 "$here/serve_client.py" "$port" "$@"; }
anygp simulate --rows 80 --inputs 2 --kernel 'matern12(lengthscale=0.3)' --noise 0.05 -o train.csv
anygp simulate --rows 80 --inputs 2 --kernel 'matern12(lengthscale=0.3)' --noise 0.05 --seed 5 -o second.csv
fit() { anygp fit "$1" -q --model vfe --kernel matern12 --inducing 12 --iters 2 --valid 0 -o "$2" >/dev/null 2>&1; }
fit train.csv model.agp
fit second.csv other.agp
head -n 6 train.csv >new.csv
anygp predict model.agp new.csv >expected.csv
anygp predict other.agp new.csv >second_expected.csv
printf 'a-secret-of-sixteen-letters\n' >token.txt

begin() { # OPTIONS...: in the background, with $port and $server
    : >says
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:quarantine_size_mb=1 "$ANYGP" serve model.agp --port 0 --timeout 2 "$@" >says 2>errors & # freed memory that is kept back looks like growth
    server=$!
    until grep -q '^serving' says; do kill -0 $server 2>/dev/null || { cat errors; return 1; }; sleep 0.02; done
    port=$(sed -n 's/.*:\([0-9]*\)\/$/\1/p' says)
}
end() { # asked to end it does, with status 0
    kill -TERM $server && wait $server
}
trap 'kill $server 2>/dev/null; rm -rf "$work" "$said"' EXIT

begin
json_gives_the_numbers_of_predict() { client json_numbers new.csv expected.csv; }
one_object_is_one_row() { client one_row; }
csv_gives_the_bytes_of_predict() { client csv_numbers new.csv expected.csv; }
malformed_requests_get_a_sentence() { client malformed; }
paths_are_those_that_are_documented() { client paths; }
other_sites_are_refused() { client other_sites; }
large_requests_are_refused() { client huge; }
times_of_requests_are_a_histogram() { client histogram_is_one; }
time_begins_with_the_first_bytes() { client time_begins_with_the_first_bytes; }
time_has_the_wait_for_the_loop() { client time_has_the_wait_for_the_loop; }
long_bodies_hold_nobody_up() { client long_bodies_hold_nobody_up; }
many_rows_hold_nobody_up() { client many_rows_hold_nobody_up; }
many_rows_have_their_own_answers() { client many_rows_have_their_own_answers; }
serving_thread_has_short_slices() { client slices_are_short $server; }
slow_clients_are_cut_off() { client slow; }
a_replaced_model_is_used_without_a_lost_request() { client reload_under_load expected.csv second_expected.csv model.agp other.agp new.csv; }
a_broken_model_file_is_left_alone() { cp model.agp good.agp && client broken_file_is_left_alone model.agp && mv good.agp model.agp; }
sigterm_ends_it_gracefully() { end; }
for name in json_gives_the_numbers_of_predict one_object_is_one_row csv_gives_the_bytes_of_predict malformed_requests_get_a_sentence paths_are_those_that_are_documented \
    other_sites_are_refused large_requests_are_refused times_of_requests_are_a_histogram time_begins_with_the_first_bytes \
    time_has_the_wait_for_the_loop many_rows_have_their_own_answers long_bodies_hold_nobody_up serving_thread_has_short_slices slow_clients_are_cut_off a_replaced_model_is_used_without_a_lost_request \
    a_broken_model_file_is_left_alone; do check $name; done
hostile_requests_are_survived() { /usr/bin/python3 "$here/serve_hostile.py" "$port" $server "$here/../../fuzz/corpus/serve" 3; }
check hostile_requests_are_survived
end_status=0
end || end_status=$?
sigterm_ends_it_gracefully() { [ $end_status = 0 ] && ! ls -d "${TMPDIR:-/tmp}"/anygp-serve.*/ 2>/dev/null | xargs -r -n1 find -user "$(id -un)" -newer train.csv -maxdepth 0 | grep .; }
check sigterm_ends_it_gracefully

mv model.agp small.agp
anygp simulate --rows 400 --inputs 2 --kernel 'matern12(lengthscale=0.3)' --noise 0.05 -o many.csv
anygp fit many.csv -q --model vfe --kernel matern12 --inducing 300 --iters 1 --valid 0 -o model.agp >/dev/null 2>&1
begin
check many_rows_hold_nobody_up
end
mv small.agp model.agp

begin --writable --token-file token.txt
token_is_asked_for() { client token a-secret-of-sixteen-letters; }
check token_is_asked_for
end
begin --writable
the_curl_lines_of_the_page_work() { # and give the columns that it shows
    local line
    command -v curl >/dev/null || { echo "curl is not installed: scripts/setup.sh check"; return 1; }
    cp model.agp untouched.agp && anygp predict model.agp new.csv >page_expected.csv || return 1
    sed -n 's/^    curl /curl -sS --fail-with-body /p' "$here/../../docs/serve.md" | sed "s/127\.0\.0\.1:8080/127.0.0.1:$port/" >lines
    [ "$(wc -l <lines)" -ge 5 ] || { echo "the page has $(wc -l <lines) lines with curl"; return 1; }
    while IFS= read -r line; do
        bash -c "$line" >answer </dev/null || { echo "$line"; cat answer; return 1; }
        echo "$line" | grep -q csv || is_json <answer || { echo "$line: not JSON"; cat answer; return 1; }
        [ -s first_answer ] || cp answer first_answer
        ! echo "$line" | grep -q csv || cmp answer page_expected.csv || return 1
    done <lines
    sed -n 's/^    {"columns": \(\[[^]]*\]\).*/\1/p' "$here/../../docs/serve.md" | grep -qxF "$(sed 's/{"columns": \(\[[^]]*\]\).*/\1/' first_answer)"
}
check the_curl_lines_of_the_page_work
end
mv untouched.agp model.agp
begin --writable
updates_change_the_model_and_its_file() { cp model.agp before.agp && client updates && ! cmp -s model.agp before.agp && anygp info model.agp >/dev/null; }
check updates_change_the_model_and_its_file
end

# Dates, which are texts in JSON; two targets, one of which has a name that is to be quoted; labels with commas and quotes.
awk 'BEGIN { print "day,x,first y,second"; for (i = 1; i <= 60; i++) printf "2024-%02d-%02d,%g,%g,%g\n", 1 + i % 12, 1 + i % 28, i / 60, sin(i / 9), cos(i / 7) }' >days.csv
awk 'BEGIN { print "day,x,kind"; for (i = 1; i <= 60; i++) printf "2024-%02d-%02d,%g,%s\n", 1 + i % 12, 1 + i % 28, i / 60, (i % 12 > 5) ? "\"a, \"\"b\"\"\"" : "c" }' >kinds.csv
texts_are_answered_in_json() { # DATA OPTIONS...
    mv model.agp plain.agp
    anygp fit "$1" -q -o model.agp --iters 3 --valid 0 --inducing 8 "${@:2}" >/dev/null 2>err || { cat err; mv plain.agp model.agp; return 1; }
    head -n 4 "$1" >texts.csv
    anygp predict model.agp texts.csv >texts_expected.csv 2>/dev/null
    begin && client texts texts.csv texts_expected.csv
    status=$?
    end && mv plain.agp model.agp && return $status
}
several_targets_of_rows_with_dates_are_answered_in_json() { texts_are_answered_in_json days.csv --model vfe --target 'first y' --target second; }
labels_of_rows_with_dates_are_answered_in_json() { texts_are_answered_in_json kinds.csv --likelihood bernoulli; }
check several_targets_of_rows_with_dates_are_answered_in_json
check labels_of_rows_with_dates_are_answered_in_json

# The page in a browser.
browser() { # ADDRESS
    command -v chromium >/dev/null || { echo "chromium is not installed: scripts/setup.sh check"; return 1; }
    chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$said/browser" --virtual-time-budget=20000 --timeout=60000 --dump-dom "$1" 2>/dev/null >dom
}
the_page_names_its_target() {
    sed '1s/y/price/' train.csv >priced.csv && mv model.agp plain.agp && fit priced.csv model.agp && begin && browser "http://127.0.0.1:$port/"
    end && mv plain.agp model.agp
    grep -o '<p id="target">[^<]*' dom | grep -q 'Prediction of price$' && grep -o '<text id="drawn"[^<]*' dom | grep -q '>price$' && grep -q '<polygon fill=' dom
}
check the_page_names_its_target
the_page_shows_dates_and_units() { # the middle of its sliders; 2023-01-16 12:00 is half-way
    awk 'BEGIN { print "when,at,mass,y"; for (i = 0; i < 62; i++) printf "2023-01-%02d 12:00,%02d:30,%d.5 kg,%.3f\n", i % 31 + 1, 6 + i % 2, 1 + i % 3, sin(i) }' >dated.csv
    mv model.agp plain.agp && fit dated.csv model.agp && begin && browser "http://127.0.0.1:$port/"
    end && mv plain.agp model.agp
    grep -o '<output>[^<]*' dom | tr '\n' ' ' && grep -o '<output>[^<]*' dom | tr '\n' ' ' | grep -qx '<output>2023-01-16 <output>07:00 <output>2[.0-9]* kg ' && grep -q '>20[0-9-]*<' dom
}
check the_page_shows_dates_and_units

mistakes_are_explained() {
    refuses 'token-file' serve model.agp --listen 0.0.0.0 && refuses 'not a whole number' serve model.agp --port x &&
        refuses 'at least 16' serve model.agp --token-file /dev/null && refuses 'cannot be opened' serve none.agp
}
check mistakes_are_explained
finish
