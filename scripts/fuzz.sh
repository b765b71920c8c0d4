#!/bin/sh
# Runs every fuzz target for so many seconds, starting from its corpus; stops at the first finding.
#   fuzz.sh DIRECTORY SECONDS
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for target in "$1"/fuzz_*; do
    name=$(basename "$target")
    corpus=fuzz/corpus/${name#fuzz_}
    mkdir -p "$work/$name"
    echo "$name: $2 seconds"
    # New inputs go to the first directory, so the corpus in the repository stays as it is.
    if ! "$target" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -artifact_prefix="build/$name-" \
        "$work/$name" $([ -d "$corpus" ] && echo "$corpus") >"$work/log" 2>&1; then
        tail -n 40 "$work/log" >&2
        exit 1
    fi
    tail -n 1 "$work/log"
done
