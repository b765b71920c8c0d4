"""`pip install` without a network, into an empty place."""
import ctypes
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


def test_bundled_libraries_need_nothing_but_glibc(tmp_path, monkeypatch):
    """A library with one of its own: renamed, found beside it, and the system has no part in it."""
    monkeypatch.syspath_prepend(str(PACKAGE))
    import wheel_bundle
    (tmp_path / "one.c").write_text("int atoi(const char *); int one(void) { return atoi(\"1\"); }")
    (tmp_path / "two.c").write_text("int one(void); int two(void) { return 2 * one(); }")
    subprocess.run(["cc", "-shared", "-fPIC", "one.c", "-Wl,-soname,libone.so.3", "-o", "libone.so.3"], cwd=tmp_path, check=True)
    subprocess.run(["cc", "-shared", "-fPIC", "two.c", "libone.so.3", f"-Wl,-rpath,{tmp_path}", "-o", "libtwo.so"], cwd=tmp_path,
                   check=True)
    (tmp_path / "wheel").mkdir()
    copies = wheel_bundle.bundle(tmp_path / "libtwo.so", tmp_path / "wheel")
    assert [copy.name for copy in copies] == ["libanygp.so", "anygp-libone.so.3"]
    (tmp_path / "libone.so.3").unlink()
    assert ctypes.CDLL(str(copies[0])).two() == 2
    assert (2, 0) < wheel_bundle.glibc_version(copies) < (3, 0)
