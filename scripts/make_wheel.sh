#!/bin/bash
# A Python wheel with the library, BLAS and all else but glibc inside, into dist; then a test in a clean virtual environment.
#   make_wheel.sh             PYTHON names the interpreter; default: python3, or the system's where only that has NumPy
# (The program is a file named anygp, so the library is asked for by its own file.)  The library in it is built without HDF5, which Python users have other packages for and which would bring thirty more libraries.
# NumPy and scikit-learn come from the network if pip reaches it, else from the system.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
[ -n "${PYTHON:-}" ] || python3 -c "import numpy" 2>/dev/null || ! /usr/bin/python3 -c "import numpy" 2>/dev/null || python=/usr/bin/python3
mkdir -p dist build
cmake -S . -B build/wheel -G Ninja -DCMAKE_BUILD_TYPE=Release -DANYGP_HDF5=OFF -DANYGP_TESTS=OFF >build/wheel.log 2>&1 &&
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
