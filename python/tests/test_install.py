"""`pip install` without a network, into an empty place."""
import os
import pathlib
import subprocess
import sys

PACKAGE = pathlib.Path(__file__).resolve().parents[1]


def test_pip_installs_package_and_library(tmp_path):
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target", tmp_path / "site",
                    "."], cwd=PACKAGE, check=True, capture_output=True, timeout=300)
    assert (tmp_path / "site" / "anygp" / "libanygp.so").exists()
    code = "import anygp; print(anygp.__file__, anygp.GPRegressor(iters=2).fit([[0.], [1.], [2.]], [0., 1., 0.]).predict([[1.]]))"
    environment = {name: value for name, value in os.environ.items() if name != "ANYGP_LIBRARY"}
    told = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True,
                          env={**environment, "PYTHONPATH": str(tmp_path / "site")}).stdout
    assert told.startswith(str(tmp_path / "site"))
    assert (tmp_path / "site" / "anygp" / "py.typed").exists()
