#!/bin/bash
# The test command itself, on programs that only play their part: what is missing is a failure and never left out.
# Speaks TAP.
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$source/tests/cli/lib.sh"

# An interpreter that has every package and whose pytest ends with the line $1.
python_that_says() {
    printf '#!/bin/sh\n[ "$1" = -c ] || echo "%s"\n' "$1" >python_fake
    chmod +x python_fake
}
python_part() { PYTHON=$work/python_fake "$source/tests/run" python >out; }

passing_python_tests_are_counted() {
    python_that_says '7 passed in 1.00s'
    python_part && [ "$(tail -n 1 out)" = '7 passed, 0 failed' ] || { cat out; return 1; }
}
skipped_python_tests_are_failures() {
    python_that_says '5 passed, 2 skipped in 1.00s'
    ! python_part && [ "$(tail -n 1 out)" = '5 passed, 2 failed' ] || { cat out; return 1; }
}
python_without_packages_is_a_failure() {
    ! PYTHON=false "$source/tests/run" python >out && grep -q 'setup.sh check' out &&
        [ "$(tail -n 1 out)" = '0 passed, 1 failed' ] || { cat out; return 1; }
}
missing_mpirun_is_a_failure() {
    mkdir -p bin && ln -sf /usr/bin/* /bin/* bin/ 2>/dev/null
    rm -f bin/mpirun
    ! PATH=$work/bin "$source/tests/run" mpi >out && grep -q 'mpirun is missing' out &&
        [ "$(tail -n 1 out)" = '0 passed, 1 failed' ] || { cat out; return 1; }
}
each_part_tells_how_long_it_took() {
    python_that_says '7 passed in 1.00s'
    python_part && grep -qE '^ +[0-9]+ s  Python package: took [0-9]+ s$' out || { cat out; return 1; }
}

# Where nothing is installed: what `setup.sh check` asks apt-get for, by programs that only write it down.
setup_of_check_installs_what_every_part_needs() {
    local package
    mkdir -p empty
    printf '#!/bin/sh\necho "$@" >>%s/asked\n' "$work" >empty/apt-get
    printf '#!/bin/sh\n' >empty/dpkg-query
    printf '#!/bin/sh\necho 0\n' >empty/id
    chmod +x empty/*
    PATH=$work/empty:$PATH "$source/scripts/setup.sh" check >out || return 1
    for package in gcc g++ clang-format libcmocka-dev liblbfgs-dev openmpi-bin libopenmpi-dev python3-numpy python3-sklearn \
        python3-pandas python3-matplotlib python3-pytest python3-pip python3-markdown chromium patchelf r-base-core r-cran-testthat r-cran-knitr curl \
        lintian debhelper python3-venv gcc-aarch64-linux-gnu qemu-user libblas3 liblapack3; do
        grep -qw -e "$package" asked || { echo "not asked for: $package"; return 1; }
    done
}

check passing_python_tests_are_counted
check skipped_python_tests_are_failures
check python_without_packages_is_a_failure
check missing_mpirun_is_a_failure
check each_part_tells_how_long_it_took
check setup_of_check_installs_what_every_part_needs
finish
