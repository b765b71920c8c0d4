#!/bin/sh
# Formats every C file; with --check only says which ones differ, and fails.
set -eu
cd "$(dirname "$0")/.."
files=$(find src include cli tests bench fuzz examples r/src -name '*.[ch]' 2>/dev/null | sort)
if [ "${1:-}" = --check ]; then
    exec clang-format --dry-run -Werror $files
fi
exec clang-format -i $files
