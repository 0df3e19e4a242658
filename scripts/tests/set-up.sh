#!/usr/bin/env bash
# Usage: scripts/tests/set-up.sh
# Tries scripts/require.sh and scripts/toolchain on a machine without Rust: a PATH of stand-ins, and no network. Takes seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
mkdir "$work/base"
for tool in bash sh env sed cut sort grep tr tail tee cat mkdir mv cp rm chmod uname sha256sum mktemp dirname id flock; do
    ln -s "$(command -v $tool)" "$work/base/$tool"
done
channel=$(sed -n 's/^channel *= *"\(.*\)"/\1/p' scripts/toolchain/rust-toolchain.toml)
required=$(sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml)

# A case begins: a fresh project, an empty home, a PATH without Rust, compiler and curl.
begin() {
    case=$1
    rm -rf "$work/project" "$work/home" "$work/bin"
    mkdir -p "$work/project/scripts" "$work/project/packaging" "$work/home" "$work/bin"
    cp Cargo.toml "$work/project"
    cp -r scripts/require.sh scripts/toolchain "$work/project/scripts"
    cp -r packaging/python "$work/project/packaging"
}
# A program of the case, from standard input.
program() {
    { echo '#!/bin/sh'; cat; } >"$work/bin/$1"
    chmod 755 "$work/bin/$1"
}
compiler() { echo 'exit 0' | program cc; }
# Called as rustup: notes its arguments, and installs a toolchain whose cargo names its homes.
rustup() {
    program rustup <<'END'
echo "$@" >>"$HOME/../calls"
bin=$RUSTUP_HOME/toolchains/$3-test/bin
mkdir -p "$bin"
printf '#!/bin/sh\nif [ "$1" = --version ]; then echo "cargo %s (test)"; else echo "$CARGO_HOME $RUSTUP_HOME"; fi\n' "$3" >"$bin/cargo"
chmod 755 "$bin/cargo"
END
    : >"$work/calls"
}
# Runs require.sh with tools; its output and exit code are kept.
run() {
    code=0
    said=$(env -i HOME="$work/home" PATH="$work/bin:$work/base" SSL_CERT_FILE="$work/certificates" "$work/project/scripts/require.sh" "$@" 2>&1) || code=$?
}
expect() {
    if ! eval "$1"; then
        echo "set-up: $case: expected $1; exit code $code, it said:"
        printf '%s\n' "$said" | sed 's/^/    /'
        failed=1
    fi
}
says() { case $said in *"$1"*) ;; *) return 1 ;; esac; }
echo certificate >"$work/certificates"

begin "nothing is there"
mv "$work/certificates" "$work/none"
run cargo linker openssl
expect '[ $code = 1 ] && says "missing: curl, certificates of the web, a C compiler and linker, OpenSSL"'
expect 'says "sudo apt-get install curl ca-certificates gcc libc6-dev libssl-dev pkg-config"'
expect '[ "$(grep -c . <<<"$said")" = 2 ] && [ ! -e "$work/project/.toolchain" ]'
mv "$work/none" "$work/certificates"

begin "the machine has Rust"
compiler
echo "echo 'cargo $required.0 (test)'" | program cargo
rustup
run cargo linker
expect '[ $code = 0 ] && [ -z "$said" ] && [ ! -e "$work/project/.toolchain" ] && [ ! -s "$work/calls" ]'

begin "a Rust that the shell does not know yet"
compiler
echo "echo 'cargo $required.0 (test)'" | program cargo
mkdir -p "$work/home/.cargo/bin"
mv "$work/bin/cargo" "$work/home/.cargo/bin"
run cargo linker
expect '[ $code = 0 ] && [ -z "$said" ] && [ ! -e "$work/project/.toolchain" ]'

begin "a rustup without toolchains"
compiler
echo 'echo "error: no default toolchain" >&2; exit 1' | program cargo
rustup
run cargo linker
expect '[ $code = 0 ] && says "setting up Rust $channel in .toolchain, for this project alone"'
expect '[ "$(cat "$work/calls")" = "toolchain install $channel --profile minimal --no-self-update" ]'
expect '[ "$("$work/project/.toolchain/bin/cargo" fetch)" = "$work/project/.toolchain/cargo $work/project/.toolchain/rustup" ]'
expect '[ -z "$(ls -A "$work/home")" ]'
run cargo linker
expect '[ $code = 0 ] && [ -z "$said" ] && [ "$(grep -c . "$work/calls")" = 1 ]'

begin "a cargo that is too old"
compiler
echo "echo 'cargo 1.63.0 (test)'" | program cargo
rustup
run cargo linker
expect '[ $code = 0 ] && says "the cargo here is 1.63.0, needed is $required or newer"'

begin "no network"
compiler
echo 'echo "curl: (6) Could not resolve host" >&2; exit 6' | program curl
run cargo linker
expect '[ $code = 1 ] && says "rustup could not be downloaded (curl: (6) Could not resolve host)" && says "check the network"'
expect '[ ! -e "$work/project/.toolchain/bin" ]'

begin "another rustup than expected"
compiler
echo 'for file; do [ "${before:-}" = --output ] && echo "echo bad" >"$file"; before=$file; done' | program curl
run cargo linker
expect '[ $code = 1 ] && says "has another checksum than scripts/toolchain/set-up.sh names, and was removed"'
expect '[ -z "$(ls -A "$work/project/.toolchain/cargo/bin")" ] && [ ! -e "$work/project/.toolchain/bin" ]'

begin "rustup fails"
compiler
echo 'echo "error: could not download" >&2; exit 1' | program rustup
run cargo linker
expect '[ $code = 1 ] && says "rustup could not install it (error: could not download)" && [ ! -e "$work/project/.toolchain/bin" ]'

begin "pip on a machine without Rust"
compiler
rustup
for hook in build_{editable,sdist,wheel} {get_requires_for_build,prepare_metadata_for_build}_{editable,sdist,wheel}; do echo "$hook = None"; done >"$work/maturin.py"
# pip imports the backend, whose cargo maturin finds on PATH.
ask() {
    code=0
    said=$(env -i HOME="$work/home" PATH="$work/bin:$work/base" SSL_CERT_FILE="$work/certificates" PYTHONDONTWRITEBYTECODE=1 \
        PYTHONPATH="$work/project/packaging/python:$work" "$python" -c 'import backend, shutil; print(shutil.which("cargo"))' 2>&1) || code=$?
}
if python=$(python3 -c 'import sys; print(sys.executable)'); then
    ask
    expect '[ $code = 0 ] && says "setting up Rust $channel" && says "$work/project/.toolchain/bin/cargo"'
    rm -rf "$work/project/.toolchain" "$work/bin/cc"
    ask
    expect '[ $code = 1 ] && says "missing: a C compiler and linker; install with:"'
fi

[ $failed = 1 ] || echo "set-up: a machine without Rust is set up, or named what it lacks"
exit $failed
