# One entry for everything: `make` lists the targets. scripts/require.sh looks for what each needs, installs what it may (a Rust
# toolchain into .toolchain, where the machine has none that is new enough) and says what is missing where it may not.
#
# Variables: ARGS (further arguments of the command behind a target), PREFIX (install, default ~/.local), NS3=0 (bench without
# ns-3), INSTALL=1 (lint may install cargo-deny), LOCKED=--locked (refuse a stale Cargo.lock, as CI does).
#
# Everything of the workshop has one profile, cargo's `dev` (Cargo.toml): what one target compiles the next reuses. `install`, `deb`,
# `static`, `wheel` and `capi` are for others, and optimise at link time.

.DEFAULT_GOAL := help
.PHONY: help demo build install test long docs reference python wheel bench instructions explore fuzz fuzz-merge lint fmt deb static capi room room-test room-browsers room-peers

CARGO ?= cargo
LOCKED ?=
ARGS ?=
NS3 ?= 1
INSTALL ?= 0
PREFIX ?= $(HOME)/.local
PACKAGE ?= airbound-sim
TARGET ?= trace_reading::trace_reading_never_panics
SECONDS ?= 60
MINUTES ?= 10
PROCESSORS ?=
# The toolchain of scripts/toolchain comes first where it was needed; else there is no such folder. rustup's own comes last, for shells
# that began before it was installed.
export PATH := $(CURDIR)/.toolchain/bin:$(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin
PROGRAMS = --package airbound-cli --package airbound-studies --package airbound-relay

help: ## lists these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile
	@echo "  ARGS=... adds arguments, for example: make demo ARGS=\"--seed 2\", make test ARGS=\"-p airbound-wifi\""

demo: ## builds the program and compares schemes on a congested access point, with a report
	@scripts/require.sh cargo linker crates
	@scripts/first-build.sh demo
	$(CARGO) run $(LOCKED) --package airbound-cli -- demo $(ARGS)

build: ## builds the programs airbound, airbound-studies and airbound-relay (target/debug, optimised)
	@scripts/require.sh cargo linker crates
	@scripts/first-build.sh build
	$(CARGO) build $(LOCKED) $(PROGRAMS)

install: ## builds the programs with optimisation at link time, and installs them into PREFIX/bin
	@scripts/require.sh cargo linker crates
	@scripts/first-build.sh install
	@set -e; room=airbound-room; scripts/require.sh openssl || { room=; \
	    echo "install: goes on without airbound-room, which rooms, the allocator and bitrates of hosts need" >&2; }; \
	  $(CARGO) build --release $(LOCKED) $(PROGRAMS) $${room:+--package airbound-room}; \
	  install -d "$(PREFIX)/bin"; \
	  for name in airbound airbound-studies airbound-relay $$room; do install -v -m 0755 target/release/$$name "$(PREFIX)/bin"; done
	@case ":$$PATH:" in *":$(PREFIX)/bin:"*) ;; *) echo "install: $(PREFIX)/bin is not on PATH";; esac

test: ## runs the tests, documentation examples included; the room's are those of `make room-test`
	@scripts/require.sh cargo linker crates
	@scripts/first-build.sh test
	$(CARGO) test $(LOCKED) $(or $(ARGS),--workspace --exclude airbound-room)

long: ## runs what takes minutes: each row of the five papers with --quick, the laboratory, browsers (.ci/long)
	@.ci/long $(ARGS)

docs: ## builds the documentation site into target/docs, and asks its search for every scenario key (needs mdBook)
	@command -v mdbook >/dev/null || { echo "docs: mdBook is missing; install it with: cargo install mdbook --locked" >&2; exit 1; }
	@scripts/docs.py check
	mdbook build
	@scripts/docs.py search

reference: ## writes what is generated in docs/reference anew: commands.md, metrics of sweeps and of the agent
	@scripts/require.sh cargo linker crates
	AIRBOUND_RENEW=1 $(CARGO) test $(LOCKED) --lib $(addprefix --package airbound-,cli studies relay runs agent) the_reference_page
	@scripts/require.sh openssl && AIRBOUND_RENEW=1 $(CARGO) test $(LOCKED) --package airbound-room the_reference_page

python: ## builds the Python package into .venv, tests and type-checks it, notebooks included
	@scripts/require.sh cargo linker crates
	@scripts/first-build.sh python
	@scripts/python.sh test $(ARGS)

wheel: ## builds the wheel for others into dist, and says what it needs of a system (ROOTS="...": tries it there)
	@scripts/require.sh cargo linker crates
	@scripts/first-build.sh wheel
	@scripts/python.sh wheel

bench: ## measures: criterion, and ns-3 side by side where it is installed
	@scripts/require.sh cargo linker crates
	$(CARGO) bench $(LOCKED) --workspace --bench '*' -- $(ARGS)
	@NS3=$(NS3) scripts/bench-ns3.sh

instructions: ## counts the instructions of six short runs, set-up and play apart (callgrind); SKIPPED without valgrind
	@if ! command -v valgrind >/dev/null; then \
	  echo "instructions: SKIPPED, there is no valgrind; to get it: sudo apt-get install valgrind"; \
	else scripts/require.sh cargo linker crates && \
	  $(MAKE) --no-print-directory build && scripts/instructions.py $(ARGS); fi

explore: ## draws new random inputs for all property tests for MINUTES, and names the seed of a failure
	@scripts/require.sh cargo linker crates
	@scripts/explore.py --minutes $(MINUTES) $(ARGS)

fuzz: ## lets a coverage-guided fuzzer work on TARGET of PACKAGE for SECONDS (default: the reader of traces, 60 s)
	@scripts/require.sh cargo linker crates
	@$(CARGO) bolero --version >/dev/null 2>&1 || { \
	  echo "fuzz: cargo-bolero is missing; install it with: cargo install cargo-bolero --locked" >&2; exit 1; }
	@scripts/fuzz.py --seconds $(SECONDS) $(PACKAGE) $(TARGET) $(ARGS)

fuzz-merge: ## packs what `make fuzz` found for TARGET of PACKAGE: the smallest set of inputs that covers as much
	@$(MAKE) --no-print-directory fuzz ARGS="--merge $(ARGS)"

lint: ## formatting, clippy, documentation, purity, imports, circles, words, file sizes, public surface, licences
	@INSTALL=$(INSTALL) LOCKED=$(LOCKED) CARGO=$(CARGO) scripts/lint.sh

fmt: ## formats all sources
	@scripts/require.sh cargo rustfmt
	$(CARGO) fmt --all

deb: ## makes Debian packages of the programs, their debug information in files aside, and of libairbound (packaging/README.md)
	@scripts/require.sh cargo linker crates openssl
	@scripts/first-build.sh deb
	$(CARGO) build --profile dist $(LOCKED) $(PROGRAMS) --package airbound-room --package airbound-capi
	@packaging/debian/build.sh target/dist target/debian
	@packaging/debian/library.sh target/dist target/debian
	@packaging/check.sh target/debian/airbound_*.deb

capi: ## builds libairbound into target/capi: header, libraries, pkg-config and CMake files (docs/use/library.md)
	@scripts/require.sh cargo linker crates
	@scripts/first-build.sh capi
	$(CARGO) build --release $(LOCKED) --package airbound-capi
	@packaging/library/install.sh target/release target/capi
	@ls target/capi/include/* target/capi/lib/libairbound*

room: ## builds the program airbound-room beside airbound (docs/use/room.md); it needs OpenSSL
	@scripts/require.sh cargo linker crates openssl
	@scripts/first-build.sh room
	$(CARGO) build $(LOCKED) --package airbound-room

room-test: ## tests the room; it needs OpenSSL
	@scripts/require.sh cargo linker crates openssl
	@scripts/first-build.sh room-test
	$(CARGO) test $(LOCKED) --package airbound-room $(ARGS)

room-browsers: room ## tests the room with two Chromiums; SKIPPED without chromium and npm
	@crates/room/tests/browsers/run.sh target/debug/airbound-room

room-peers: room ## tests the room with clients of six kinds; those that cannot be installed are SKIPPED (ARGS="pion": only that)
	@crates/room/tests/peers/run.sh target/debug/airbound-room $(ARGS)

static: ## builds static programs for x86_64, aarch64 and armv7 into target/static (PROCESSORS="aarch64": only that)
	@scripts/require.sh cargo linker crates
	@scripts/first-build.sh static
	@LOCKED=$(LOCKED) CARGO=$(CARGO) packaging/static.sh target/static $(PROCESSORS)
