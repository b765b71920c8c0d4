# The front of the build; the work is done by CMake (CMakePresets.json) and by scripts/.
#   make            the library and the program, in build/release
#   make demo       a first fit, from nothing
#   make check      every test, also under the sanitizers; the last line counts them
#   make mpi        the same over several processes, in build/mpi; see docs/mpi.md
#   make python     the Python package's tests; PYTHON= names the interpreter
#   make docs       docs/settings.md and docs/models.md from their tables; what the pages print, from the program
#   make deb        Debian packages, in build/deb; see docs/install.md
#   make wheel      a Python wheel with the library and BLAS inside, in dist
#   make install    PREFIX=/usr/local, DESTDIR= for packagers
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 600

build:
	@scripts/setup.sh
	@scripts/build.sh release

demo: build
	@scripts/demo.sh

check:
	@scripts/setup.sh check
	@tests/run

python:
	@scripts/setup.sh python
	@scripts/build.sh release
	@tests/run python

mpi:
	@scripts/setup.sh mpi
	@scripts/build.sh mpi

bench: build
	@scripts/bench.sh build/release

install: build
	DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

deb:
	@scripts/setup.sh deb
	@scripts/make_deb.sh

wheel: build
	@scripts/make_wheel.sh

format:
	@scripts/setup.sh format
	@scripts/format.sh

docs: build
	@build/release/anygp_make_docs settings > docs/settings.md
	@build/release/anygp_make_docs models > docs/models.md
	@tests/docs/transcripts.sh --write

site:
	@scripts/setup.sh site
	@/usr/bin/python3 docs/site/make_site.py build/site

fuzz:
	@scripts/setup.sh fuzz
	@scripts/build.sh fuzz
	@scripts/fuzz.sh build/fuzz/fuzz $(FUZZ_SECONDS)

clean:
	rm -rf build

.PHONY: build demo check python mpi bench install deb wheel format docs site fuzz clean
