#!/bin/bash
# The installed library, as a stranger meets it: install under a fresh DESTDIR, move it elsewhere, build examples/
# against it every way there is, run them; look at what is exported and whether the build left its path behind.
#   run.sh BUILD_DIRECTORY          speaks TAP
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$source/${1:-build/release}
. "$source/tests/cli/lib.sh"

installs_under_destdir() {
    DESTDIR=$work/dest cmake --install "$build" --prefix /opt/anygp >/dev/null || return 1
    mv "$work/dest/opt/anygp" "$work/moved" # nothing may know where it was built or first installed
    local file
    for file in bin/anygp lib/libanygp.so lib/libanygp.so.0 lib/libanygp.a include/anygp/anygp.h share/man/man1/anygp.1 \
        share/man/man1/anygp-fit.1 share/bash-completion/completions/anygp share/zsh/site-functions/_anygp share/fish/vendor_completions.d/anygp.fish \
        lib/pkgconfig/anygp.pc lib/pkgconfig/anygp-static.pc lib/cmake/anygp/anygpConfig.cmake lib/cmake/anygp/anygpConfigVersion.cmake; do
        [ -e "$at/$file" ] || { echo "missing: $file"; return 1; }
    done
}

soname_carries_the_version() { readelf -d "$at/lib/libanygp.so" | grep -q 'SONAME.*\[libanygp\.so\.0\]'; }

no_build_path_in_installed_files() { ! grep -rl "$source" "$at"; }

# Adding a name is allowed, and recorded; losing one breaks programs that are out there.
shared_library_exports_the_recorded_names() {
    nm -D --defined-only "$at/lib/libanygp.so" | awk '$2 != "A" { sub("@.*", "", $3); print $3 }' | sort |
        diff "$source/tests/install/abi.txt" -
}
static_library_exports_the_recorded_names() {
    nm --defined-only --extern-only "$at/lib/libanygp.a" | awk 'NF == 3 { print $3 }' | sort |
        diff "$source/tests/install/abi.txt" -
}

build_example() { # OUTPUT SOURCE COMPILER-AND-FLAGS... -- LIBRARIES
    local out=$1 file=$2 compile=()
    shift 2
    while [ "$1" != -- ]; do compile+=("$1"); shift; done
    shift
    "${compile[@]}" -Wall -Wextra -Werror $(pkg-config --cflags anygp) "$source/examples/$file" -x none -o "$out" "$@" -lm
}

run_examples() { # SUFFIX: minimal$1, from_file$1, progress$1, classify$1
    ./minimal"$1" | tee minimal.out | grep -qE '^y\(2.5\) is +0\.[56]' || { cat minimal.out; return 1; }
    ./from_file"$1" train.csv model.agp test.csv predictions.csv | grep -q '^rmse' || return 1
    [ "$(wc -l <predictions.csv)" = 101 ] || return 1
    ./progress"$1" | tee progress.out | grep -q '^the maximum lies at 0\.2' || { cat progress.out; return 1; }
    ./classify"$1" | tee classify.out | grep -qE '^\( 0\.0,  0\.0\)  inside (1\.00|0\.9)' || { cat classify.out; return 1; }
    ! grep -qiE 'nan|inf' minimal.out progress.out predictions.csv
}

examples_build_with_pkg_config_shared() {
    local name
    for name in minimal from_file progress classify; do
        build_example $name $name.c gcc -std=c17 -- $(pkg-config --libs anygp) || return 1
    done
    LD_LIBRARY_PATH=$at/lib run_examples ""
}

examples_build_with_pkg_config_static() {
    local name
    for name in minimal from_file progress classify; do
        build_example ${name}_a $name.c gcc -std=c17 -- $(pkg-config --libs anygp-static) || return 1
        has_the_library_inside ${name}_a || return 1
    done
    run_examples _a
}
has_the_library_inside() { # PROGRAM
    ! readelf -d "$1" | grep NEEDED | grep libanygp && nm "$1" | grep -q ' T anygp_fit$'
}

examples_build_with_cmake() {
    cmake -S "$source/examples" -B cmake -DCMAKE_PREFIX_PATH="$at" >log 2>&1 && cmake --build cmake >>log 2>&1 ||
        { cat log; return 1; }
    cp train.csv test.csv cmake && cd cmake && run_examples "" && run_examples _static &&
        has_the_library_inside minimal_static && ! has_the_library_inside minimal
}

header_is_c99() { build_example c99 minimal.c gcc -std=c99 -pedantic -- $(pkg-config --libs anygp); }
header_is_cxx() {
    build_example cxx minimal.c g++ -x c++ -std=c++11 -pedantic -- $(pkg-config --libs anygp) &&
        LD_LIBRARY_PATH=$at/lib ./cxx | grep -q '^y(2.5)'
}

installed_program_runs() {
    "$at/bin/anygp" --version | grep -qE '^anygp [0-9]+\.[0-9]+\.[0-9]+$' && "$at/bin/anygp" info model.agp >/dev/null
}

at=$work/moved
cd "$work" || exit 1
export PKG_CONFIG_PATH=$at/lib/pkgconfig
check installs_under_destdir
"$at/bin/anygp" simulate --rows 300 --inputs 2 -o all.csv
head -n 201 all.csv >train.csv
sed '2,201d' all.csv >test.csv
check soname_carries_the_version
check no_build_path_in_installed_files
check shared_library_exports_the_recorded_names
check static_library_exports_the_recorded_names
check examples_build_with_pkg_config_shared
check examples_build_with_pkg_config_static
check examples_build_with_cmake
check header_is_c99
check header_is_cxx
check installed_program_runs
finish
