#!/bin/sh
# Configures and builds one preset without a word, and shows the whole output if that fails.
#   build.sh PRESET [cmake option...]
set -eu
cd "$(dirname "$0")/.."
preset=$1
shift
mkdir -p build
log=build/$preset.log

# Another CMake generator or another place of the source: begin anew.
if ! cmake --preset "$preset" "$@" >"$log" 2>&1 && ! cmake --fresh --preset "$preset" "$@" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
if ! cmake --build "build/$preset" >>"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
grep -F 'warning:' "$log" >&2 || true
