#!/bin/bash
# Builds for aarch64 with Debian's cross compiler and runs unit tests under qemu.
#   scripts/cross_aarch64.sh          the folders with vector code and those before them in the include order, and their tests
#   scripts/cross_aarch64.sh quick    the same without the tests of likelihoods, which take minutes under qemu; part of make check
#   scripts/cross_aarch64.sh models   the whole library, and the tests of models that end within minutes under qemu
#   scripts/cross_aarch64.sh all      the whole library, the program and every unit test: about an hour
# Needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user (or qemu-user-static), and the network the first time: libraries for arm64 are downloaded
# by apt into build/aarch64/sysroot, without touching the packages of this machine.
set -eu
cd "$(dirname "$0")/.."
root=$PWD/build/aarch64
folders="base|comm|linalg|tape|data|kernel|inducing|likelihood"
tests="test_kernel test_kernel_reverse test_kernel_wide test_linalg test_likelihood test_number test_random test_tape_ops"
libraries="libjansson-dev libjansson4 libxxhash-dev libxxhash0 librandom123-dev libcmocka-dev libcmocka0"

for tool in aarch64-linux-gnu-gcc cmake ninja; do
    command -v $tool >/dev/null || { echo "$tool is missing; apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user cmake ninja-build" >&2; exit 1; }
done
[ -e /usr/aarch64-linux-gnu/lib/crt1.o ] || { echo "the C library for aarch64 is missing; apt-get install libc6-dev-arm64-cross" >&2; exit 1; }
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static) || { echo "qemu is missing; apt-get install qemu-user" >&2; exit 1; }

# An apt of its own, for arm64: the lists and packages of this machine stay as they are.
fetch_sysroot() {
    local apt=$root/apt
    mkdir -p "$apt"/{lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d} "$root/debs" "$root/sysroot"
    : >"$apt/status"
    local release mirror # as this machine has them
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(apt-get indextargets --format '$(SITE)' "Codename: $release" 'Created-By: Packages' | head -n 1)
    [ -n "$mirror" ] || { echo "apt knows no source of Debian $release; run apt-get update" >&2; exit 1; }
    echo "deb [arch=arm64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $release main" >"$apt/etc/sources.list"
    local options=(-o Dir::State="$apt" -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o Dir::Etc="$apt/etc"
        -o Dir::Etc::sourcelist="$apt/etc/sources.list" -o Dir::Etc::sourceparts=/dev/null -o APT::Architecture=arm64
        -o APT::Architectures=arm64 -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update >"$root/apt.log" 2>&1 || { cat "$root/apt.log" >&2; exit 1; }
    (cd "$root/debs" && apt-get "${options[@]}" download $libraries) >>"$root/apt.log" 2>&1 || { cat "$root/apt.log" >&2; exit 1; }
    local deb
    for deb in "$root"/debs/*.deb; do dpkg-deb -x "$deb" "$root/sysroot"; done
    touch "$root/sysroot/complete"
}
[ -e "$root/sysroot/complete" ] || fetch_sysroot

cat >"$root/toolchain.cmake" <<TOOLCHAIN
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_C_FLAGS_INIT "-isystem $root/sysroot/usr/include -isystem $root/sysroot/usr/include/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L$root/sysroot/usr/lib/aarch64-linux-gnu -Wl,-rpath-link,$root/sysroot/usr/lib/aarch64-linux-gnu")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-L$root/sysroot/usr/lib/aarch64-linux-gnu")
set(CMAKE_FIND_ROOT_PATH $root/sysroot /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
TOOLCHAIN
export PKG_CONFIG_LIBDIR=$root/sysroot/usr/lib/aarch64-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root/sysroot
cmake -S . -B "$root/build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$root/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release -DANYGP_HDF5=OFF \
    -DANYGP_ZLIB=OFF -DANYGP_BLAS=OFF -DANYGP_WERROR=ON >"$root/build.log" 2>&1 || { cat "$root/build.log" >&2; exit 1; }
say_log() { cat "$root/build.log" >&2; exit 1; }
build_models() {
    tests="test_combine test_committee test_exact test_experts test_forward test_lagp test_lma test_mixture test_moe_gates
           test_natural test_nene test_nle test_npae test_own_experts test_patchwork test_qsgp test_qsrvm test_rvm test_sparse test_sparse_f32
           test_svdgp test_svdgp_mean test_svgp test_tree test_treed test_vecchia test_vecchia_full test_vfe_targets test_vnngp"
    cmake --build "$root/build" --target $tests >>"$root/build.log" 2>&1 || say_log
}
build_all() {
    cmake --build "$root/build" >>"$root/build.log" 2>&1 || say_log
    tests=$(cd "$root/build/tests" && ls)
}
# The objects of these folders alone; a folder needs only those before it, so they link.
build_folders() {
    local objects test
    objects=$(ninja -C "$root/build" -t targets all | sed -n 's/: .*//p' | grep -E "anygp_objects\.dir/src/($folders)/")
    cmake --build "$root/build" --target $objects >>"$root/build.log" 2>&1 || say_log
    mkdir -p "$root/build/tests"
    for test in $tests; do
        (cd "$root/build" && aarch64-linux-gnu-gcc -O2 -std=c17 -D_POSIX_C_SOURCE=200809L -DANYGP_SOURCE_DIR="\"$OLDPWD\"" -I"$OLDPWD"/src \
            -I"$OLDPWD"/include -I"$OLDPWD"/tests/unit -isystem "$root/sysroot/usr/include" "$OLDPWD/tests/unit/$test.c" $objects \
            -L"$root/sysroot/usr/lib/aarch64-linux-gnu" -ljansson -lxxhash -lcmocka -fopenmp -lm -o "tests/$test") >>"$root/build.log" 2>&1 || say_log
    done
}
case "${1:-}" in
    models) build_models ;;
    all) build_all ;;
    quick) tests=${tests/test_likelihood /} && build_folders ;;
    "") build_folders ;;
    *) echo "usage: cross_aarch64.sh [quick|models|all]" >&2; exit 2 ;;
esac

export QEMU_LD_PREFIX=/usr/aarch64-linux-gnu LD_LIBRARY_PATH= OMP_WAIT_POLICY=passive CMOCKA_MESSAGE_OUTPUT=TAP OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}
run() { "$qemu" -E LD_LIBRARY_PATH="$root/sysroot/usr/lib/aarch64-linux-gnu:/usr/aarch64-linux-gnu/lib" "$@"; }
failed=0
for test in $tests; do
    if run "$root/build/tests/$test" >"$root/$test.out" 2>&1; then
        echo "ok - $test: $(grep -c '^ok' "$root/$test.out") tests"
    else
        echo "not ok - $test"
        grep -v '^ok' "$root/$test.out" | head -n 40
        failed=1
    fi
done
[ ! -e "$root/build/anygp" ] || run "$root/build/anygp" --version || failed=1
exit $failed
