# One command for each thing a developer does; `make help` lists them. The building itself is CMake's: see
# CMakePresets.json for the configurations, which work without this file too.

JOBS ?= $(shell nproc)
MODEL ?=
PROMPT ?= It is a truth universally acknowledged
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 20
FUZZ_TARGETS ?=

program := build/release/weft
cmake_build = cmake --build --preset $(1) --parallel $(JOBS)
sources = $(shell find src tests bench -name '*.h' -o -name '*.cpp')

.DEFAULT_GOAL := build
.PHONY: help run build test test-release asan fuzz lint format size install clean

help: ## list these goals
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(MAKEFILE_LIST) | expand -t 16

run: setup-run build/release/build.ninja ## build the program; the bundled model (or MODEL) continues PROMPT
	@$(call cmake_build,release) --target weft_program
	@$(program) run $(MODEL) -p "$(PROMPT)"

build: setup-run build/release/build.ninja ## build the library and the program (release)
	@$(call cmake_build,release)

# The sanitizers come first, so that the summary of the whole suite is the last thing printed.
test: setup-test ## install what is missing, build, run every check and test
	@$(MAKE) --no-print-directory asan
	@$(MAKE) --no-print-directory test-release

test-release: setup-test build/release/build.ninja ## the tests of the release build alone
	@grep -qs '^WEFT_BUILD_TESTS:BOOL=ON' build/release/CMakeCache.txt || cmake --preset release -DWEFT_BUILD_TESTS=ON
	@$(call cmake_build,release)
	@ctest --preset release --parallel $(JOBS)

asan: setup-test build/asan/build.ninja ## parsers and memory under the sanitizers: their tests, and the fuzz targets for 20 s
	@$(call cmake_build,asan)
	@ctest --preset asan --parallel $(JOBS)

fuzz: setup-test build/asan/build.ninja ## hostile input, generated: each of FUZZ_TARGETS (all) for FUZZ_SECONDS (20)
	@$(call cmake_build,asan) --target weft_fuzz
	@tests/fuzz/run.sh build/asan $(FUZZ_SECONDS) $(FUZZ_TARGETS)

lint: ## style and structure checks (seconds, no build)
	@python3 tests/checks/checks.py all

format: ## clang-format every source in place
	@clang-format-14 -i $(sources)

size: ## lines per room, and the change against main
	@python3 tools/size.py

install: build ## install library, headers, CMake package and program under PREFIX (/usr/local)
	@cmake --install build/release --prefix $(PREFIX)

clean: ## remove everything that was built
	@rm -rf build

.PHONY: setup-run setup-test
setup-run:
	@tools/setup.sh run
setup-test:
	@tools/setup.sh test

# Configured once; after that the build notices by itself what changed, except for the presets. The program alone
# needs none of the test libraries: a first `make run` leaves the tests out until `make test` asks for them.
build/release/build.ninja: CMakePresets.json | setup-run
	@cmake --preset release $(if $(wildcard build/release/CMakeCache.txt),,-DWEFT_BUILD_TESTS=OFF)
	@touch $@

build/asan/build.ninja: CMakePresets.json | setup-test
	@cmake --preset asan
	@touch $@
