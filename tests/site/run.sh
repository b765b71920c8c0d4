#!/bin/bash
# The pages as a site, opened in Chromium: every link leads somewhere, every picture shows, the search finds.  Speaks TAP.
set -u
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
server=
number=0 bad=0
check() { # NAME COMMAND...
    local name=$1
    number=$((number + 1))
    shift
    if "$@" >"$work/said" 2>&1; then echo "ok $number - $name"; else echo "not ok $number - $name"; sed 's/^/#   /' "$work/said" | head -n 20; bad=1; fi
}
built() { /usr/bin/python3 docs/site/make_site.py "$work/site"; }
names_missing_pages() { # a page that the list of pages does not have
    mkdir "$work/copy" && cp -r docs bench CHANGELOG.md "$work/copy" && echo '# New' >"$work/copy/docs/new.md" &&
        ! /usr/bin/python3 "$work/copy/docs/site/make_site.py" "$work/none" 2>"$work/why" && grep -q 'does not name new.md' "$work/why"
}
names_pages_that_the_first_page_does_not_lead_to() {
    echo 'new.md' >>"$work/copy/docs/site/nav.txt" &&
        ! /usr/bin/python3 "$work/copy/docs/site/make_site.py" "$work/none" 2>"$work/why" && grep -q 'index.md has no link to new.md' "$work/why"
}
names_broken_links() {
    cp docs/site/nav.txt "$work/copy/docs/site" && rm "$work/copy/docs/new.md" && echo '[x](data.md#no-such-place)' >>"$work/copy/docs/index.md" &&
        ! /usr/bin/python3 "$work/copy/docs/site/make_site.py" "$work/none" 2>"$work/why" && grep -q 'index.md: data.md#no-such-place names a heading that is not there' "$work/why"
}
crawl() {
    cp tests/site/crawl.html "$work/site"
    /usr/bin/python3 -u -m http.server --bind 127.0.0.1 --directory "$work/site" 0 >"$work/port" 2>/dev/null &
    server=$!
    until grep -q 'port [0-9]' "$work/port"; do kill -0 $server || return 1; sleep 0.05; done
    chromium --headless --no-sandbox --disable-gpu --user-data-dir="$work/chromium" --virtual-time-budget=600000 --timeout=120000 --dump-dom \
        "http://127.0.0.1:$(sed 's/.*port \([0-9]*\).*/\1/' "$work/port")/crawl.html" 2>/dev/null >"$work/dom"
    sed -n '/<pre id="log">/,/<\/pre>/p' "$work/dom"
}
every_page_opens_and_every_link_leads_somewhere() {
    crawl >"$work/log"
    cat "$work/log"
    ! grep -q 'bad ' "$work/log" && [ "$(sed -n 's/^crawled \([0-9]*\) pages.*/\1/p' "$work/log")" = "$(ls "$work"/site/*.html | grep -vc crawl)" ]
}
check the_site_is_built built
check a_page_outside_the_list_is_named names_missing_pages
check a_page_without_a_link_from_the_first_page_is_named names_pages_that_the_first_page_does_not_lead_to
check a_link_to_nowhere_is_named names_broken_links
check every_page_opens_and_every_link_leads_somewhere every_page_opens_and_every_link_leads_somewhere
echo "1..$number"
exit $bad
