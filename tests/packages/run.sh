#!/bin/bash
# The library as others build and get it; speaks TAP, one test each.
#   run.sh wheel            the Python wheel, tried in a clean virtual environment
#   run.sh deb              the Debian packages, and lintian on them
#   run.sh aarch64          the folders with vector code for aarch64, and their tests under qemu
#   run.sh bare             without BLAS, OpenMP, HDF5 and zlib, with the small library that only predicts; by hand
#   run.sh clang            by clang; by hand
#   run.sh reference-blas   the release build with the reference BLAS in the place of OpenBLAS
# Whole builds but the last: a minute each on two processors.  scripts/build_matrix.sh has more variants, and all tests for each.
set -u
cd "$(dirname "$0")/../.."
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=passive
few="test_exact test_number test_quantiles"

# The loader takes the first library that has a name, and says which it was.
reference_blas() {
    local lib test bound
    lib=/usr/lib/$(gcc -dumpmachine)
    bound=$(mktemp)
    for test in exact linalg sparse likelihood quantiles; do
        LD_PRELOAD=$lib/blas/libblas.so.3:$lib/lapack/liblapack.so.3 build/release/tests/test_$test || return 1
    done
    LD_DEBUG=bindings LD_DEBUG_OUTPUT=$bound LD_PRELOAD=$lib/blas/libblas.so.3:$lib/lapack/liblapack.so.3 build/release/tests/test_exact >"$bound"
    grep -qE 'to [^ ]*/blas/libblas\.so\.3 .*(cblas_)?dgemm' "$bound".* || { echo "OpenBLAS was used all the same"; return 1; }
    rm -f "$bound" "$bound".*
}

run() {
    case "$1" in
        wheel) scripts/make_wheel.sh -DANYGP_WERROR=ON ;; # as the release build, so that it shares its objects
        deb) DEB_BUILD_OPTIONS=noopt scripts/make_deb.sh ;;
        aarch64) scripts/cross_aarch64.sh quick ;;
        bare | clang) ANYGP_MATRIX_TESTS=$few scripts/build_matrix.sh "$1" ;;
        reference-blas) reference_blas ;;
        *) echo "usage: run.sh wheel|deb|aarch64|bare|clang|reference-blas"; return 2 ;;
    esac
}

echo 1..1
said=$(mktemp)
trap 'rm -f "$said"' EXIT
if run "${1:-}" >"$said" 2>&1 </dev/null; then
    echo "ok 1 - $1"
else
    echo "not ok 1 - $1"
    tail -n 60 "$said" | sed 's/^/#   /'
    exit 1
fi
