# The front of the build; the work is done by CMake (CMakePresets.json) and by scripts/.
#   make            the library and the program, in build/release
#   make demo       a first fit, from nothing
#   make check      every test, also under the sanitizers; the last line counts them
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

bench: build
	@scripts/bench.sh build/release

install: build
	DESTDIR="$(DESTDIR)" cmake --install build/release --prefix "$(PREFIX)"

format:
	@scripts/setup.sh check
	@scripts/format.sh

docs: build
	@build/release/anygp_make_docs settings > docs/settings.md

fuzz:
	@scripts/setup.sh fuzz
	@scripts/build.sh fuzz
	@scripts/fuzz.sh build/fuzz/fuzz $(FUZZ_SECONDS)

clean:
	rm -rf build

.PHONY: build demo check bench install format docs fuzz clean
