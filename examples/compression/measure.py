#!/usr/bin/python3
"""Measures how well pieces of the files of a Debian system compress: measure.py >compression.csv

Each row is one run of a compressor on a piece of a file, chosen at random:
    kind      of the file: text, source (C headers and Python), program (ELF), table (dictionaries, translations), picture (PNG)
    tool      gzip, bzip2 or xz
    level     of the tool, 1 (quick) to 9 (thorough)
    size      of the piece, bytes
    distinct  share of the 256 bytes that occur in it
    entropy   of its bytes, bits per byte
    ratio     compressed size over size
Prints CSV.  The files differ from system to system, and so does the table.
"""
import bz2
import collections
import lzma
import math
import pathlib
import random
import sys
import zlib

ROWS = 1200
KINDS = {
    "text": ("/usr/share/doc", "copyright"),
    "source": ("/usr/include", "*.h"),
    "program": ("/usr/lib/x86_64-linux-gnu", "*.so*"),
    "table": ("/usr/share", "*.mo"),
    "picture": ("/usr/share", "*.png"),
}
TOOLS = {
    "gzip": zlib.compress,
    "bzip2": bz2.compress,
    "xz": lambda data, level: lzma.compress(data, preset=level),
}


def files(folder, pattern):
    found = [p for p in pathlib.Path(folder).rglob(pattern) if p.is_file() and p.stat().st_size >= 2000]
    return sorted(found)


def piece(path, chance):
    """A piece of the file, its size spread evenly over the magnitudes from 2 kB to 200 kB."""
    size = min(int(2000 * 100 ** chance.random()), path.stat().st_size)
    with open(path, "rb") as file:
        file.seek(chance.randrange(path.stat().st_size - size + 1))
        return file.read(size)


def entropy(data):
    counts = collections.Counter(data)
    return len(counts) / 256, -sum(c / len(data) * math.log2(c / len(data)) for c in counts.values())


def main():
    chance = random.Random(1)
    shelves = {kind: files(*where) for kind, where in KINDS.items()}
    shelves = {kind: paths for kind, paths in shelves.items() if paths}
    print("kind,tool,level,size,distinct,entropy,ratio")
    for _ in range(ROWS):
        kind, tool, level = chance.choice(sorted(shelves)), chance.choice(sorted(TOOLS)), chance.randint(1, 9)
        data = piece(chance.choice(shelves[kind]), chance)
        distinct, bits = entropy(data)
        ratio = len(TOOLS[tool](data, level)) / len(data)
        print(f"{kind},{tool},{level},{len(data)},{distinct:.4f},{bits:.4f},{ratio:.5f}")


if __name__ == "__main__":
    sys.exit(main())
