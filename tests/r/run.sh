#!/bin/bash
# The R package against the library of a build, installed afresh: its tests, as TAP.
#   run.sh BUILD_DIRECTORY           the tests of the package
#   run.sh BUILD_DIRECTORY check     R CMD check instead, with examples and vignette; its report on standard output
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$source/${1:-build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig
cp -r "$source/r" "$work/anygp" # nothing is left in the source
cd "$work"
rm -f anygp/src/*.o anygp/src/*.so anygp/src/Makevars
if [ "${2:-}" = check ]; then
    export _R_CHECK_FORCE_SUGGESTS_=false
    R CMD build anygp && R CMD check --no-manual anygp_*.tar.gz
    exit
fi
mkdir library
R CMD INSTALL --no-docs --no-test-load -l library anygp >log 2>&1 || { cat log; exit 1; }
cd anygp/tests
R_LIBS=$work/library Rscript --vanilla -e 'library(testthat); library(anygp); test_dir("testthat", reporter = "tap", package = "anygp", load_package = "none", stop_on_failure = TRUE)'
