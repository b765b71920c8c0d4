"""The libraries that libanygp.so needs, put beside it in a wheel, so that of the system only the C library remains.

They are renamed, so that a library of the same name that another package has loaded is not taken for ours. Needs patchelf.
"""
import pathlib
import re
import shutil
import subprocess

# Part of glibc, on every machine that the wheel's tag admits.
GLIBC = re.compile(r"(lib(c|m|mvec|dl|rt|pthread|util|resolv)\.so\.\d+|ld-linux[-\w]*\.so\.\d+|linux-vdso\.so\.1)$")


def _run(*command):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def needed(library):
    """{name: path} of all libraries, directly needed or not, that are not glibc's."""
    found = {}
    for line in _run("ldd", library).splitlines():
        parts = line.split()
        if GLIBC.search(parts[0]):
            continue
        if "not found" in line:
            raise RuntimeError(f"{library} needs {parts[0]}, which is not installed")
        found[parts[0]] = pathlib.Path(parts[2]).resolve()
    return found


def _direct(library):
    return _run("patchelf", "--print-needed", library).split()


def glibc_version(libraries):
    """The newest version of glibc that any of them asks for, as (2, 34)."""
    versions = [(0, 0)]
    for library in libraries:
        versions += [tuple(map(int, pair)) for pair in re.findall(r"GLIBC_(\d+)\.(\d+)", _run("readelf", "-V", library))]
    return max(versions)


def bundle(library, folder):
    """Copies the library and what it needs into the folder; returns the paths, the library first."""
    if not shutil.which("patchelf"):
        raise RuntimeError("patchelf is missing; apt-get install patchelf")
    names = {name: f"anygp-{name}" for name in needed(library)}
    copies = [pathlib.Path(folder) / "libanygp.so"]
    shutil.copyfile(library, copies[0])
    for name, path in needed(library).items():
        copies.append(pathlib.Path(folder) / names[name])
        shutil.copyfile(path, copies[-1])
        _run("patchelf", "--set-soname", names[name], copies[-1])
    for copy in copies:
        for name in _direct(copy):
            if name in names:
                _run("patchelf", "--replace-needed", name, names[name], copy)
        _run("patchelf", "--set-rpath", "$ORIGIN", copy)
    strangers = {name for copy in copies for name in _direct(copy)} - set(names.values())
    strangers = sorted(name for name in strangers if not GLIBC.search(name))
    if strangers:
        raise RuntimeError(f"the wheel would still need {', '.join(strangers)} of the system")
    return copies
