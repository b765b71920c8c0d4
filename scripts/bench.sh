#!/bin/sh
# Runs every benchmark; bench/RESULTS.md says what the figures mean.
set -eu
for bench in "$1"/bench_*; do
    echo "== $(basename "$bench")"
    "$bench"
done
