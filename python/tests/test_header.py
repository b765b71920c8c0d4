"""The declarations in Python are those of the public header."""
import ctypes
import pathlib
import re

import pytest

from anygp import _library

HEADER = (pathlib.Path(__file__).resolve().parents[2] / "include" / "anygp" / "anygp.h").read_text()
NUMBERS = {"int": ctypes.c_int, "double": ctypes.c_double, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "unsigned": ctypes.c_uint,
           "size_t": ctypes.c_size_t, "anygp_status": ctypes.c_int}


def is_pointer(kind):
    return kind in (ctypes.c_void_p, ctypes.c_char_p) or issubclass(kind, (ctypes._Pointer, ctypes._CFuncPtr))


def same(declared, kind):
    if "*" in declared or "_fn" in declared:
        return is_pointer(kind)
    return NUMBERS[declared.split()[0]] is kind


@pytest.mark.parametrize("name", _library._FUNCTIONS)
def test_function_has_the_header_s_arguments(name):
    result, arguments = re.search(rf"ANYGP_API ([^;(]*?)anygp_{name}\(([^;]*)\);", HEADER).groups()
    arguments = [] if arguments == "void" else [a.strip() for a in arguments.split(",")]
    function = getattr(_library.lib, "anygp_" + name)
    assert len(arguments) == len(function.argtypes)
    assert all(same(text, kind) for text, kind in zip(arguments, function.argtypes))
    assert function.restype is None if result.strip() == "void" else same(result.strip(), function.restype)


def test_statuses_are_the_header_s():
    listed = {name: int(value) for name, value in re.findall(r"X\((\w+), (\d+),", HEADER)}
    for name in ("OK", "TIME_LIMIT", "INTERRUPTED", "ERR_ARGUMENT", "ERR_DATA"):
        assert getattr(_library, name) == listed[name]
    assert _library.ERROR_FIRST == min(value for name, value in listed.items() if name.startswith("ERR_"))


def test_structs_have_the_header_s_fields():
    assert ctypes.sizeof(_library.Error) == 512
    body = re.search(r"typedef struct anygp_progress \{(.*?)\} anygp_progress;", HEADER, re.S)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    fields = [name.strip(" *\n") for line in body.split(";") if line.strip()
              for name in re.sub(r"^\s*(const char|int64_t|double)\s", "", line).split(",")]
    assert [name for name, _ in _library.Progress._fields_] == fields
