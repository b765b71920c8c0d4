#!/bin/bash
# Every indented line `anygp COMMAND ...` of the pages that is no transcript: the program takes it as it is printed, on small
# tables of the names it uses and with few iterations.  What follows two blanks or `#` is a remark.  Speaks TAP, one test per page.
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/cli/lib.sh"
PATH=$(dirname "$ANYGP"):$PATH

# The tables that the pages speak of, with two inputs; kinds and names of columns where a page needs them.
make_tables() {
    local name
    anygp simulate --rows 200 --inputs 2 -o train.csv
    for name in big small march april may flights waves test sales next_week; do cp train.csv $name.csv; done
    sed '1s/.*/lon,lat,y/' train.csv | awk -F, -v OFS=, '{ print $1, $2, (NR == 1 ? "day" : NR), $3 }' >data.csv
    awk -F, -v OFS=, 'NR > 1 { $3 = substr("abc", 1 + NR % 3, 1) } 1' train.csv | tee labels.csv >three.csv
    anygp convert train.csv train.h5
}

synopses() { # PAGE
    grep -oE '^ {4,}anygp [a-z]+ .*' "$source/$1" | sed -E 's/^ +//; s/(   *[^ ]|  *#).*//; s/--iters [0-9]+//; s/^anygp fit .*/& --iters 5/'
}

# Without a checkpoint there is nothing to resume: one is left by a run that its time ends.
leave_a_checkpoint() {
    eval "$(sed 's/--resume//; s/--checkpoint [^ ]*/--checkpoint 0s/' <<<"$1") --iters 1000000 --time 0.2s" >"$said/out" 2>&1 </dev/null
}

takes_what_the_page_prints() { # PAGE
    local line status
    while IFS= read -r line; do
        case "$line" in *--resume*) leave_a_checkpoint "${line% --iters 5}" ;; esac
        eval "$line" >"$said/out" 2>&1 </dev/null
        status=$?
        case "$line:$status" in *:0 | 'anygp check '*:[23]) ;; *) echo "$line"; cat "$said/out"; return 1 ;; esac # 2, 3: its verdict
    done < <(synopses "$1")
}

make_tables
for page in $(cd "$source" && grep -lE '^ {4,}anygp [a-z]+ ' README.md docs/*.md); do
    eval "$(basename "$page" .md)_is_taken_as_printed() { takes_what_the_page_prints $page; }"
    check "$(basename "$page" .md)_is_taken_as_printed"
done
finish
