#!/bin/bash
# Runs the transcripts of the pages and compares what is printed with what the page says.  Speaks TAP, one test per page.
#   transcripts.sh [PAGE...]            default: every page that has one
#   transcripts.sh --write [PAGE...]    puts what is printed now into the page, where it differs
#   transcripts.sh --list               the pages that have one
# A transcript is an indented line `$ COMMAND`, further lines of it after `> `, then what it prints.  A page's commands run one
# after the other in an empty directory, with the build installed.  Numbers agree within 3 %; seconds, gigabytes, iterations and
# evaluations are not compared; one line `...` stands for any lines.  In a page
#   <!-- with FILE... -->               puts these files of the repository into the directory
#   <!-- not run: REASON -->            leaves out the block that follows
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
build=${ANYGP_BUILD_DIR:-$source/build/release}
cd "$source" || exit 1 # pages are named from here
export LC_ALL=C OMP_WAIT_POLICY=passive OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tests=0 failures=0

pages_with_transcripts() { grep -lE '^ {4,}\$ ' README.md docs/*.md; }

# The build where a user would have it.
install_build() {
    cmake --install "$build" --prefix "$work/prefix" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
    local lib
    lib=$(dirname "$(dirname "$(find "$work/prefix" -name anygp.pc)")")
    export PATH=$work/prefix/bin:$PATH PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
}

# Whether file $2 says what file $1, the page's lines, says; prints the first line that differs.
agrees() {
    awk -v other="$2" '
        function plain(s) { # without what changes from run to run
            gsub(/[0-9.]+(e[-+]?[0-9]+)? s($|[^a-z])/, "T s ", s); gsub(/[0-9.]+ GB/, "M GB", s)
            gsub(/[0-9]+ (iterations|evaluations)/, "N steps", s)
            gsub(/[ \t]+/, " ", s); sub(/ $/, "", s)
            return s
        }
        function bare(s) { gsub(number, "#", s); return s }
        function near(a, b,  gap, size) {
            gap = a > b ? a - b : b - a; size = (a < 0 ? -a : a) > (b < 0 ? -b : b) ? a : b
            return gap <= 0.03 * (size < 0 ? -size : size) + 0.005
        }
        function same(a, b) {
            a = plain(a); b = plain(b)
            if (bare(a) != bare(b)) return 0
            while (match(a, number)) {
                x = substr(a, RSTART, RLENGTH); a = substr(a, RSTART + RLENGTH)
                match(b, number); y = substr(b, RSTART, RLENGTH); b = substr(b, RSTART + RLENGTH)
                if (!near(x + 0, y + 0)) return 0
            }
            return 1
        }
        function must(i, j) {
            if (!same(page[i], said[j])) { print "the page: " page[i]; print "printed:  " said[j]; exit 1 }
        }
        BEGIN { number = "[-+]?[0-9]+(\\.[0-9]+)?(e[-+]?[0-9]+)?"; while ((getline line < other) > 0) said[++m] = line }
        { page[++n] = $0; if ($0 == "...") gap = n }
        END {
            if (gap ? m < n - 1 : m != n) { print "the page has " n + 0 " lines, printed were " m + 0 ", the first: " said[1]; exit 1 }
            for (i = 1; i <= (gap ? gap - 1 : n); i++) must(i, i)
            for (i = n; gap && i > gap; i--) must(i, m - n + i)
        }' "$1"
}

# What goes into the page for file $2, where it has file $1 now: the lines around `...` only, if it has that.
shortened() {
    awk -v other="$1" 'BEGIN { while ((getline line < other) > 0) { n++; if (line == "...") gap = n } }
        { said[++m] = $0 }
        END { for (i = 1; i <= m; i++)
                  if (!gap || m < n || i < gap || i > m - n + gap) print said[i]
                  else if (i == gap) print "..." }' "$2"
}

# Runs COMMAND in the page's directory; `said` gets what it printed, without empty lines.  One that takes too long says so, and
# is nothing to write into a page.
run() {
    local status=0
    (cd "$work/page" && timeout 500 bash -c "$1" >"$work/all" 2>&1 </dev/null) || status=$?
    grep -v '^[[:space:]]*$' "$work/all" >"$work/said"
    [ $status != 124 ] || { echo "not ended after 500 s: $1" >&2; exit 1; }
}

# One transcript: runs $command, compares with the page's lines in $work/told; what the page should say goes to $work/new.
transcript() { # INDENTATION
    local why
    run "$command"
    commands=$((commands + 1))
    if ! why=$(agrees "$work/told" "$work/said"); then
        differ=$((differ + 1))
        printf '$ %s\n%s\n' "$command" "$why" | sed 's/^/#   /' >>"$work/why"
        shortened "$work/told" "$work/said" >"$work/told.new" && mv "$work/told.new" "$work/told"
    fi
    sed "s/^/$1/" "$work/told" >>"$work/new"
}

# A page, line by line.  Sets commands and differ; $work/new is the page as it should be.
read_page() { # PAGE
    local line indent="" command="" left_out=""
    commands=0 differ=0
    rm -rf "$work/page" && mkdir "$work/page" && : >"$work/new" && : >"$work/why" && : >"$work/told"
    while IFS= read -r line || [ -n "$line" ]; do
        if [ -n "$command" ]; then
            case "$line" in
                "$indent> "*) [ -s "$work/told" ] || { command+=$'\n'${line#"$indent> "}; echo "$line" >>"$work/new"; continue; } ;;&
                "$indent\$ "*) ;;
                "$indent"*[![:space:]]*) echo "${line#"$indent"}" >>"$work/told"; continue ;;
            esac
            transcript "$indent"
            command=""
            : >"$work/told"
        fi
        echo "$line" >>"$work/new"
        case "$line" in
            "<!-- with "*" -->") line=${line#<!-- with }; cp ${line% -->} "$work/page" ;;
            "<!-- not run: "*" -->") left_out=yes ;;
            "    "*"\$ "*)
                if [[ $line =~ ^(\ {4,})\$\ (.*)$ ]] && [ -z "$left_out" ]; then
                    indent=${BASH_REMATCH[1]} command=${BASH_REMATCH[2]}
                fi
                ;;
            "    "* | "") ;;
            *) left_out="" ;;
        esac
    done <"$1"
    [ -z "$command" ] || transcript "$indent"
}

check_page() { # PAGE
    tests=$((tests + 1))
    read_page "$1"
    if [ $differ = 0 ]; then
        echo "ok $tests - $1: $commands commands"
    elif [ $write = yes ]; then
        cat "$work/new" >"$1"
        echo "ok $tests - $1: $commands commands, $differ written anew"
    else
        failures=$((failures + 1))
        echo "not ok $tests - $1: $differ of $commands commands; to take over what is printed: make docs"
        cat "$work/why"
    fi
}

write=no
case "${1:-}" in
    --list) pages_with_transcripts; exit ;;
    --write) write=yes; shift ;;
esac
[ $# -gt 0 ] || set -- $(pages_with_transcripts)
install_build
for page in "$@"; do check_page "$page"; done
echo "1..$tests"
exit $((failures > 0))
