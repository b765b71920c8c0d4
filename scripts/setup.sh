#!/bin/sh
# Installs what the build needs, from Debian; prints nothing and changes nothing if all of it is installed.
#   setup.sh          library and program        setup.sh check   also the tests        setup.sh fuzz   also clang
#   setup.sh python   also Python, scikit-learn and pytest                              setup.sh mpi    also Open MPI
#   setup.sh r        also R, with what its vignette needs                              setup.sh format clang-format alone
#   setup.sh deb      also what Debian packages are made with                           setup.sh site   what renders the pages, alone
# The tests need all of it but clang, and what packages and other builds are made with: see tests/run.
set -eu

need="gcc make cmake ninja-build pkg-config libopenblas-openmp-dev libhdf5-dev libjansson-dev libxxhash-dev
      librandom123-dev zlib1g-dev librsvg2-dev libcmocka-dev libmicrohttpd-dev"
mpi="libopenmpi-dev openmpi-bin"
python="python3 python3-numpy python3-sklearn python3-pandas python3-matplotlib python3-pytest python3-pip patchelf"
r="r-base-core r-base-dev r-cran-testthat"
r_check="r-cran-knitr r-cran-markdown r-cran-fields"
deb="debhelper dh-python lintian fakeroot"
builds="ccache python3-venv gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user libblas3 liblapack3"
case "${1:-}" in
    check) need="$need chromium fonts-dejavu-core python3-markdown g++ binutils valgrind clang-format curl liblbfgs-dev zsh fish groff-base $python $r $r_check $mpi $deb $builds" ;;
    mpi) need="$need $mpi" ;;
    fuzz) need="$need clang" ;;
    python) need="$need $python" ;;
    r) need="$need $r $r_check" ;;
    deb) need="$need $deb" ;;
    format) need="clang-format" ;;
    site) need="python3 python3-markdown" ;;
esac

# Elsewhere than on Debian the names differ; CMake says what it misses.
command -v dpkg-query >/dev/null || exit 0

missing=""
there=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' $need 2>/dev/null || true)"
for package in $need; do
    case "$there" in
        *" installed:$package "*) ;;
        *) missing="$missing $package" ;;
    esac
done
[ -z "$missing" ] && exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=""
elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    as_root="sudo"
else
    echo "Some packages are missing. As root, run:"
    echo "apt-get update && apt-get install -y --no-install-recommends$missing"
    exit 1
fi >&2

echo "installing$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
if ! { $as_root apt-get update && $as_root apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    cat "$log" >&2
    echo "The packages could not be installed; see above." >&2
    exit 1
fi
