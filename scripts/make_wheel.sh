#!/bin/bash
# A Python wheel with the library, BLAS and all else but glibc inside, into dist; then a test in a clean virtual environment.
#   make_wheel.sh [cmake option...]    PYTHON names the interpreter; default: python3, or the system's where only that has NumPy
#   make_wheel.sh try [SUITE]          runs the package's tests with the wheel of dist in a clean Debian (debootstrap into a folder, needs
#                                      root and the network): SUITE, such as trixie, has its own Python, NumPy and scikit-learn;
#                                      default: that of this machine
# (The program is a file named anygp, so the library is asked for by its own file.)  The library in it is built without HDF5, which Python users have other packages for and which would bring thirty more libraries.
# NumPy and scikit-learn come from the network if pip reaches it, else from the system.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
[ -n "${PYTHON:-}" ] || python3 -c "import numpy" 2>/dev/null || ! /usr/bin/python3 -c "import numpy" 2>/dev/null || python=/usr/bin/python3

# Without the tests that need the program, the compiler or the source.
try_wheel() { # SUITE
    command -v debootstrap >/dev/null || { echo "debootstrap is missing; apt-get install debootstrap" >&2; exit 1; }
    local suite=$1 root=$PWD/build/wheel-$1 wheel
    wheel=$(ls -t dist/anygp-*.whl | head -n 1)
    [ -e "$root/complete" ] || { debootstrap --variant=minbase \
        --include=python3-numpy,python3-sklearn,python3-pandas,python3-matplotlib,python3-pytest,python3-pip,python3-venv \
        "$suite" "$root" >"build/wheel-$suite.log" 2>&1 && touch "$root/complete"; } || { tail -n 20 "build/wheel-$suite.log" >&2; exit 1; }
    rm -rf "$root/opt/anygp" && mkdir -p "$root/opt/anygp/docs" "$root/opt/anygp/python"
    cp -r python/tests python/examples "$root/opt/anygp/python" && cp docs/python.md "$root/opt/anygp/docs" && cp "$wheel" "$root/opt/anygp"
    mount -t proc proc "$root/proc" && trap 'umount "$root/proc"' EXIT
    chroot "$root" sh -ec 'cd /opt/anygp; python3 -m venv --clear --system-site-packages env; env/bin/pip install --quiet --no-index --no-deps ./*.whl
        python3 -c "import sys, numpy, sklearn, pandas; print(sys.version.split()[0], numpy.__version__, sklearn.__version__, pandas.__version__)"
        cd python; ../env/bin/python -m pytest -q -p no:cacheprovider --ignore tests/test_install.py --ignore tests/test_header.py \
            -k "not program and not command_line and not settings_of_fit" tests'
}
case "${1:-}" in
    try) try_wheel "${2:-$(. /etc/os-release && echo "$VERSION_CODENAME")}"; exit ;;
esac

mkdir -p dist build
cmake -S . -B build/wheel -G Ninja -DCMAKE_BUILD_TYPE=Release -DANYGP_HDF5=OFF -DANYGP_TESTS=OFF "$@" >build/wheel.log 2>&1 &&
    cmake --build build/wheel --target libanygp.so >>build/wheel.log 2>&1 || { cat build/wheel.log >&2; exit 1; }
name=$(cd python && ANYGP_BUNDLE=1 ANYGP_LIBRARY=$PWD/../build/wheel/libanygp.so "$python" -c 'import make_wheel; print(make_wheel.build_wheel("../dist"))')
echo "dist/$name, $(($(stat -c %s "dist/$name") / 1000000)) MB"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/env"
if ! "$work/env/bin/pip" install --quiet --retries 1 --timeout 20 numpy scikit-learn 2>"$work/log"; then
    echo "pip does not reach its index: NumPy and scikit-learn of the system are used"
    "$python" -m venv --clear --system-site-packages "$work/env"
fi
"$work/env/bin/pip" install --quiet --no-index --no-deps "dist/$name"
cd "$work"
env -u LD_LIBRARY_PATH -u PYTHONPATH -u ANYGP_LIBRARY "$work/env/bin/python" - <<'TEST'
import numpy as np, anygp, pathlib
rng = np.random.default_rng(0)
X = rng.uniform(0, 6, (200, 1))
y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=200)
mean, sd = anygp.GPRegressor().fit(X, y).predict([[1.5]], return_std=True)
assert abs(mean[0] - np.sin(1.5)) < 0.1, mean
home = pathlib.Path(anygp.__file__).parent
used = {line.split()[-1] for line in open("/proc/self/maps") if "anygp" in line and ".so" in line}
assert str(home / "libanygp.so") in used and any("anygp-libopenblas" in name for name in used), used
print(f"numpy {np.__version__}, {home}: y(1.5) is {mean[0]:.3f}, sd {sd[0]:.3f}; {len(used)} libraries of its own")
TEST
