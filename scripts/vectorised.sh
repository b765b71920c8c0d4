#!/bin/bash
# Proves from gcc's own report that every loop marked SIMD becomes one of vectors in each copy of its function: 64 bytes wide for
# AVX-512 and 32 for AVX2.  Lists the loops that do not, and ends with status 1 if there are any.
#   scripts/vectorised.sh            every source file with vector code
#   scripts/vectorised.sh FILE...    these
#   scripts/vectorised.sh --all      also lists the loops of VECTORISED functions that are not marked and stay scalar for AVX2
# Needs build/release (make) on x86-64.
set -eu
cd "$(dirname "$0")/.."
commands=build/release/compile_commands.json
[ -e $commands ] || { echo "there is no $commands; run make first" >&2; exit 1; }
all=0
[ "${1-}" = --all ] && all=1 && shift
files=("$@")
[ $# -gt 0 ] || mapfile -t files < <(grep -rlw --include='*.c' VECTORISED src | grep -v blas_own |
    while read -r file; do printf '%s\n' "$file" $(ls "${file%.c}_f32.c" 2>/dev/null); done | sort -u)
report=$(mktemp)
trap 'rm -f "$report"' EXIT

# The loops of a file: a marked one is its line, or to the brace that ends it; others are told apart by `all`.
# Input: first the report, lines with a loop of vectors and their bytes; then the source.
judge='
    FNR == NR { if ($2 == bytes) vector[$1] = 1; next }
    function depth(s) { match(s, /^ */); return RLENGTH }
    function close_loop(   i) {
        for (i = first; i <= FNR; i++) if (vector[i]) found = 1
        if (!found) printf "%s:%d: %s, no vectors of %d bytes: %s\n", file, first, marked ? "marked" : "not marked", bytes, text
        print (marked ? "marked " : "other ") (found ? 0 : 1) >"/dev/stderr"
        open = found = 0
    }
    /^VECTORISED/ { inside = 1 }
    /^}/ { inside = 0 }
    !open && /for \(/ && !/^ *\// && (/SIMD/ || (inside && all)) {
        open = 1; first = FNR; marked = ($0 ~ /SIMD/); indent = depth($0); text = $0
        sub(/^ */, "", text)
        if (/; *(\/\*.*\*\/)?$/) close_loop()
        else if (!marked && !/{$/) open = 0
        next
    }
    open && /^ *}/ && depth($0) == indent { close_loop() }'

counts=$(mktemp)
trap 'rm -f "$report" "$counts"' EXIT
for file in "${files[@]}"; do
    command=$(sed -n "s|.*\"command\": \"\(.*\) -o [^ ]* -c [^ ]*/$file\",*|\1|p" $commands | head -n 1 | sed 's|^[^ ]*ccache ||; s|\\"|"|g')
    [ -n "$command" ] || { echo "$file: not in $commands" >&2; exit 1; }
    source=${file/_f32.c/.c} # which it includes
    [ -e "$source" ] || source=$file
    for level in v4:64 v3:32; do
        processor=${level%:*}
        eval "$command" -march=x86-64-"$processor" -DSIMD_ONE_COPY -fopt-info-vec-optimized -S -o /dev/null "$file" 2>&1 |
            sed -nE "s|^(.*/)?$source:([0-9]+):.*loop vectorized using ([0-9]+) byte.*|\2 \3|p" | sort -u >"$report"
        [ -s "$report" ] || echo "0 0" >"$report"
        awk -v bytes="${level#*:}" -v file="$file" -v all=$((all && ${level#*:} == 32)) "$judge" "$report" "$source" 2>>"$counts"
    done
done
awk '$1 == "marked" { n++; bad += $2 } END { printf "%d loops marked SIMD for 2 kinds of processor, %d without vectors\n", n / 2, bad; exit bad > 0 }' "$counts"
