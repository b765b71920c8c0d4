#!/bin/sh
# Runs every benchmark of a build directory, in it; bench/RESULTS.md says what the figures mean.
set -eu
cd "$1"
for bench in bench/bench_*; do
    name=$(basename "$bench")
    echo "== $name"
    case $name in
        bench_predict) "$bench" ./anygp ;; # measures the program itself
        *) "$bench" ;;
    esac
done
