#!/bin/bash
# The runner of the pages' transcripts, on pages of its own: what differs is found, and can be written.  Speaks TAP.
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/cli/lib.sh"
transcripts() { bash "$source/tests/docs/transcripts.sh" "$@" >out 2>&1; }
page() { printf '%s\n' "$@" >page.md; }

what_is_printed_passes() {
    page 'Text' '' '    $ echo a 1.25' '    a 1.25' '    $ cat <<E' '    > two' '    > lines' '    > E' '    two' '    lines' '' 'more' '' '    not run'
    transcripts "$work/page.md" && grep -q '^ok 1 .*: 2 commands$' out || { cat out; return 1; }
}
another_word_is_found() {
    page '    $ echo wrote a.agp' '    wrote b.agp'
    ! transcripts "$work/page.md" && grep -q '^#   printed:  wrote a.agp' out || { cat out; return 1; }
}
numbers_agree_within_three_percent() {
    page '    $ echo rmse 102, cover 94.8 %' '    rmse 100, cover 95 %'
    transcripts "$work/page.md" || { cat out; return 1; }
    page '    $ echo rmse 104' '    rmse 100'
    ! transcripts "$work/page.md" || { echo "104 for 100"; return 1; }
}
a_line_too_many_or_too_few_is_found() {
    page '    $ echo a' '    a' '    b'
    ! transcripts "$work/page.md" || { cat out; return 1; }
    page '    $ printf "a\nb\n"' '    a'
    ! transcripts "$work/page.md" || { cat out; return 1; }
}
clock_and_steps_are_not_compared() {
    page '    $ echo 12 iterations, 13 evaluations, 0.7 s, about 1 s and 0.02 GB' '    99 iterations, 99 evaluations, 88 s, about 8.1 s and 7 GB'
    transcripts "$work/page.md" || { cat out; return 1; }
}
dots_stand_for_any_lines() {
    page '    $ seq 7' '    1' '    ...' '    7'
    transcripts "$work/page.md" || { cat out; return 1; }
    page '    $ seq 7' '    1' '    ...' '    8'
    ! transcripts "$work/page.md" || { cat out; return 1; }
}
a_block_left_out_says_so() {
    page '<!-- not run: reason -->' '' '    $ echo a' '    b' '' 'Text' '' '    $ echo c' '    c'
    transcripts "$work/page.md" && grep -q ': 1 commands' out || { cat out; return 1; }
}
files_of_the_repository_are_there() {
    page '<!-- with LICENSE examples/minimal.c -->' '' '    $ ls' '    LICENSE' '    minimal.c'
    transcripts "$work/page.md" || { cat out; return 1; }
}
writing_changes_what_differs_alone() {
    page 'T' '' '    $ echo 100' '    101' '    $ seq 5' '    9' '    ...' '    9' '' '- item' '' '      $ echo new' '' 'end'
    transcripts --write "$work/page.md" || { cat out; return 1; }
    printf '%s\n' 'T' '' '    $ echo 100' '    101' '    $ seq 5' '    1' '    ...' '    5' '' '- item' '' '      $ echo new' '      new' '' 'end' | diff - page.md
}

check what_is_printed_passes
check another_word_is_found
check numbers_agree_within_three_percent
check a_line_too_many_or_too_few_is_found
check clock_and_steps_are_not_compared
check dots_stand_for_any_lines
check a_block_left_out_says_so
check files_of_the_repository_are_there
check writing_changes_what_differs_alone
finish
