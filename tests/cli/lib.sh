# For the command-line tests: each test_*.sh sources this, defines functions named after what must hold, and ends with
# `check NAME` for each and `finish`.  $ANYGP is the program; $work an empty directory, the current one.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ANYGP=${ANYGP:-$here/../../build/release/anygp}
export LC_ALL=C OMP_WAIT_POLICY=passive OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
work=$(mktemp -d)
trap 'chmod -R u+w "$work" 2>/dev/null; rm -rf "$work"' EXIT
tests=0 failures=0

# One test: a function run in a subshell and in $work; what it printed is shown only if it failed.
check() {
    local output
    tests=$((tests + 1))
    if output=$(cd "$work" && "$1" 2>&1); then
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
