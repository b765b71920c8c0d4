#!/bin/bash
# Builds the variants of the library and runs the unit tests that apply to each, in build/matrix.  By hand: every variant is a whole
# build.
#   build_matrix.sh               all of them
#   build_matrix.sh NAME...       some of them: no-hdf5 no-zlib no-openmp no-blas bare predictor clang reference-blas
#   ANYGP_MATRIX_TESTS="test_linalg test_exact" limits the tests that are built and run
set -u
cd "$(dirname "$0")/.."
export CMOCKA_MESSAGE_OUTPUT=TAP LC_ALL=C OMP_WAIT_POLICY=passive OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
multiarch=/usr/lib/$(gcc -dumpmachine)

options() { # NAME
    case "$1" in
        no-hdf5) echo -DANYGP_HDF5=OFF ;;
        no-zlib) echo -DANYGP_ZLIB=OFF ;;
        no-openmp) echo -DANYGP_OPENMP=OFF ;;
        no-blas) echo -DANYGP_BLAS=OFF ;;
        bare) echo -DANYGP_HDF5=OFF -DANYGP_ZLIB=OFF -DANYGP_OPENMP=OFF -DANYGP_BLAS=OFF -DANYGP_PREDICTOR=ON ;;
        predictor) echo -DANYGP_PREDICTOR=ON ;;
        clang) # needs libomp-dev; the openmp build of OpenBLAS hangs beside it
            echo "-DCMAKE_C_COMPILER=clang -DCMAKE_LINKER=ld $(options reference-blas)" ;;
        reference-blas) echo "-DANYGP_BLAS_LIBRARY=$multiarch/blas/libblas.so -DANYGP_LAPACK_LIBRARY=$multiarch/lapack/liblapack.so" ;;
        *) return 1 ;;
    esac
}

# Sentences in place of what is not built in; nothing is written.
refuses() { # PATTERN COMMAND...
    local pattern=$1
    shift
    ! "$@" >refused.out 2>&1 && grep -q "$pattern" refused.out || { cat refused.out; echo "expected: $pattern"; return 1; }
}
absent_parts_are_named() { # VARIANT PROGRAM
    local work
    work=$(mktemp -d) && cd "$work" || return 1
    "$2" simulate --rows 30 --inputs 1 -o t.csv || return 1
    gzip -k t.csv
    case "$1" in no-hdf5 | bare) refuses 'built without HDF5' "$2" convert t.csv t.h5 || return 1 ;; esac
    case "$1" in no-zlib | bare) refuses 'built without zlib' "$2" fit t.csv.gz -o m.agp && refuses 'built without zlib' "$2" convert t.csv u.csv.gz || return 1 ;; esac
    case "$1" in no-openmp | bare) "$2" fit t.csv -o m.agp --threads 2 2>&1 | grep -q 'built without OpenMP' || { echo "no word about OpenMP"; return 1; } ;; esac
    "$2" fit t.csv -o m.agp >/dev/null 2>&1 && "$2" predict m.agp t.csv >/dev/null
}

# The small library: what it exports is there, what it does not need is gone, and it predicts as the large one.
predictor_predicts() { # VARIANT BUILD
    local build=$2 work
    work=$(mktemp -d)
    ! readelf -d "$build/libanygp-predict.so" | grep -E 'NEEDED.*(hdf5|libz\.|mpi)' || return 1
    [ "$1" != bare ] || ! readelf -d "$build/libanygp-predict.so" | grep -E 'NEEDED.*(blas|gomp)' || return 1
    ! nm -D --defined-only "$build/libanygp-predict.so" | grep -qw anygp_fit || return 1
    "$build/anygp" simulate --rows 50 --inputs 1 -o "$work/t.csv" && "$build/anygp" fit "$work/t.csv" -o "$work/m.agp" >/dev/null 2>&1 || return 1
    gcc -Iinclude tests/install/predictor.c -o "$work/predictor" "$build/libanygp-predict.so" -Wl,-rpath,"$build" || return 1
    printf 'x1\n0.5\n' >"$work/new.csv"
    local large small
    large=$("$build/anygp" predict "$work/m.agp" "$work/new.csv" | sed -n 2p | cut -d, -f1,2)
    small=$("$work/predictor" "$work/m.agp" 0.5)
    [ "$large" = "$small" ] || { echo "$large is not $small"; return 1; }
}

variant() { # NAME
    local name=$1 build=$PWD/build/matrix/$1 targets=anygp_main test failed=0 flags
    flags=$(options "$name") || { echo "there is no variant $name" >&2; return 1; }
    mkdir -p build/matrix
    [ -z "${ANYGP_MATRIX_TESTS:-}" ] || targets="anygp_main $ANYGP_MATRIX_TESTS"
    [ -n "${ANYGP_MATRIX_TESTS:-}" ] || targets=all
    case "$flags" in *PREDICTOR=ON*) [ "$targets" = all ] || targets="$targets anygp_predict" ;; esac
    cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release $flags >"$build.log" 2>&1 &&
        cmake --build "$build" --target $targets >>"$build.log" 2>&1 || { grep -E 'rror' "$build.log" | cut -c1-300 | head -n 20; echo "not ok - $name: does not build"; return 1; }
    for test in "$build"/tests/test_*; do
        "$test" >"$build.out" 2>&1 </dev/null || { echo "not ok - $name: $(basename "$test")"; grep -v '^ok' "$build.out" | head -n 20; failed=1; }
    done
    (absent_parts_are_named "$name" "$build/anygp") || { echo "not ok - $name: sentences"; failed=1; }
    case "$flags" in *PREDICTOR=ON*) predictor_predicts "$name" "$build" || { echo "not ok - $name: the predictor"; failed=1; } ;; esac
    [ $failed = 0 ] && echo "ok - $name: $(ls "$build"/tests | wc -l) suites"
    return $failed
}

status=0
for name in ${*:-no-hdf5 no-zlib no-openmp no-blas bare predictor clang reference-blas}; do variant "$name" || status=1; done
exit $status
