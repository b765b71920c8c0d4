# For the command-line tests.  A test_*.sh sources this, defines functions named after what must hold, and ends with
# `check NAME` for each of them and `finish`.  All run in $work, an empty directory; $ANYGP is the program.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ANYGP=${ANYGP:-$here/../../build/release/anygp}
export LC_ALL=C OMP_WAIT_POLICY=passive OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
work=$(mktemp -d)
said=$(mktemp -d) # what the program wrote, apart from what it left in $work
trap 'rm -rf "$work" "$said"' EXIT
cd "$work" || exit 1
tests=0 failures=0

# One test: a function run in a subshell; what it printed is shown only if it failed.
check() {
    local output
    tests=$((tests + 1))
    if output=$("$1" 2>&1); then
        echo "ok $tests - $1"
    else
        failures=$((failures + 1))
        echo "not ok $tests - $1"
        printf '%s\n' "$output" | head -n 20 | sed 's/^/#   /'
    fi
}

finish() {
    echo "1..$tests"
    exit $((failures > 0))
}

anygp() { "$ANYGP" "$@"; }

# Every file under $work, with size and time: equal before and after means nothing was written or left behind.
snapshot() { find "$work" -type f -printf '%P %s %T@ %i\n' | sort; }

# Refused as it should be: status 1, one sentence on standard error that matches PATTERN, nothing on standard output,
# no file made, changed or left behind.
refuses() { # PATTERN COMMAND...
    local pattern=$1 status=0 before
    shift
    before=$(snapshot)
    anygp "$@" >"$said/out" 2>"$said/err" </dev/null || status=$?
    cat "$said/err"
    [ $status = 1 ] || { echo "status $status, not 1: anygp $*"; return 1; }
    [ "$(wc -l <"$said/err")" = 1 ] || { echo "not one line: anygp $*"; return 1; }
    grep -q '^anygp: ' "$said/err" || { echo "does not start with 'anygp: '"; return 1; }
    grep -qE -e "$pattern" "$said/err" || { echo "does not match: $pattern"; return 1; }
    [ ! -s "$said/out" ] || { echo "something on standard output: anygp $*"; return 1; }
    [ "$before" = "$(snapshot)" ] || { echo "a file was written or left behind: anygp $*"; return 1; }
}

# No number that is not one, in these files.
finite() {
    ! grep -iE -m 3 -e '(^|[^a-z])(nan|inf|infinity)($|[^a-z])' "$@"
}

# A sensible fit: status 0, and model, report and predictions for its own rows are finite.
fits() { # DATA OPTIONS...
    anygp fit "$1" -o fits.agp "${@:2}" >"$said/out" 2>"$said/err" || { cat "$said/err"; return 1; }
    anygp info fits.agp --json >"$said/info" && anygp predict fits.agp "$1" >"$said/predictions" || return 1
    [ "$(wc -l <"$said/predictions")" -gt 1 ] && finite "$said/out" "$said/err" "$said/info" "$said/predictions"
}

# Two files of comma-separated numbers agree to the relative tolerance $3.
close() {
    awk -F, -v tolerance="$3" -v other="$2" '
        { if ((getline line < other) <= 0) { print "more lines in the first"; exit 1 }
          n = split(line, b, ",")
          if (n != NF) { print "line " NR ": " $0 " and " line; exit 1 }
          for (i = 1; i <= n; i++) {
              if ($i == b[i]) continue
              scale = ($i < 0 ? -$i : $i) + 1e-12; gap = $i - b[i]; if (gap < 0) gap = -gap
              if (!(gap <= tolerance * scale)) { print "line " NR ": " $0 " and " line; exit 1 }
          } }
        END { if (NR == 0 || (getline line < other) > 0) { print "empty, or more lines in the second"; exit 1 } }' "$1"
}

# The number after "KEY": in JSON on standard input; the first, if there are several.
json_number() { grep -oE "\"$1\": *-?[0-9.eE+-]+" | head -n 1 | sed 's/.*: *//'; }

# Whether standard input is one JSON value: by a parser where one is installed, else by its brackets.
is_json() {
    if command -v jq >/dev/null; then
        jq -e . >/dev/null
    elif command -v python3 >/dev/null; then
        python3 -m json.tool >/dev/null
    else
        tr -d '\n' | sed -E 's/\\.//g; s/"[^"]*"//g' |
            awk '{ n = split($0, c, ""); for (i = 1; i <= n; i++) { if (c[i] ~ /[{[]/) d++; if (c[i] ~ /[]}]/) d--; if (d < 0) exit 1 }
                   exit !(d == 0 && /^ *[{[].*[]}] *$/) }'
    fi
}
