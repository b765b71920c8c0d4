"""What pip calls (PEP 517): the package's modules and, beside them, the C library, as a wheel.

The library is the one that ANYGP_LIBRARY names, or that of build/release, which is built if it is not there. The wheel
is for one kind of machine and any Python 3: nothing is compiled against Python. With ANYGP_BUNDLE=1 the libraries that it
needs are inside too (wheel_bundle.py), and the tag says which glibc is new enough: that is what scripts/make_wheel.sh makes.
"""
import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sysconfig
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
METADATA = """\
Metadata-Version: 2.1
Name: anygp
Version: {version}
Summary: Gaussian processes on large data, with scikit-learn's interface
License: BSD-3-Clause
Requires-Python: >=3.9
Requires-Dist: numpy
Requires-Dist: scikit-learn>=1.2
Provides-Extra: plot
Requires-Dist: matplotlib; extra == 'plot'
Provides-Extra: frames
Requires-Dist: pandas; extra == 'frames'
"""
WHEEL = "Wheel-Version: 1.0\nGenerator: anygp\nRoot-Is-Purelib: false\nTag: {tag}\n"


class UnsupportedOperation(Exception):
    pass


def _version():
    header = (ROOT / "include" / "anygp" / "anygp.h").read_text()
    return ".".join(re.search(rf"#define ANYGP_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def _library():
    given = os.environ.get("ANYGP_LIBRARY")
    built = pathlib.Path(given) if given else ROOT / "build" / "release" / "libanygp.so"
    if not given and not built.exists():
        subprocess.run([ROOT / "scripts" / "build.sh", "release"], check=True)
    return built


def _digest(content):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _libraries():
    """{name: content} of the libraries in the wheel, and the platform of its tag."""
    library, platform = _library(), re.sub(r"[-.]", "_", sysconfig.get_platform())
    if os.environ.get("ANYGP_BUNDLE") != "1":
        return {"libanygp.so": library.read_bytes()}, platform
    import wheel_bundle
    with tempfile.TemporaryDirectory() as folder:
        copies = wheel_bundle.bundle(library, folder)
        major, minor = wheel_bundle.glibc_version(copies)
        machine = platform.split("_", 1)[1]
        return {copy.name: copy.read_bytes() for copy in copies}, f"manylinux_{major}_{minor}_{machine}"


def _contents(version, tag, libraries):
    about = f"anygp-{version}.dist-info"
    package = HERE / "anygp"
    files = {f"anygp/{path.name}": path.read_bytes() for path in [*sorted(package.glob("*.py")), package / "py.typed"]}
    files.update({f"anygp/{name}": content for name, content in libraries.items()})
    files[f"{about}/METADATA"] = METADATA.format(version=version).encode()
    files[f"{about}/WHEEL"] = WHEEL.format(tag=tag).encode()
    record = [f"{name},{_digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{about}/RECORD"] = "\n".join([*record, f"{about}/RECORD,,", ""]).encode()
    return files


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    libraries, platform = _libraries()
    version, tag = _version(), f"py3-none-{platform}"
    name = f"anygp-{version}-{tag}.whl"
    with zipfile.ZipFile(pathlib.Path(wheel_directory) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in _contents(version, tag, libraries).items():
            wheel.writestr(path, content)
    return name


def build_sdist(sdist_directory, config_settings=None):
    raise UnsupportedOperation("the package is built from the whole source of anygp")
