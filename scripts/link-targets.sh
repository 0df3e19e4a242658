#!/usr/bin/env bash
# Usage: scripts/link-targets.sh
# Compares all arrivals in all places of airbound-link as WebAssembly, run by node, and on aarch64, run by qemu-aarch64 (qemu-user), with
# those of this machine. Without the runner or rustup's target a comparison is SKIPPED.
set -euo pipefail
cd "$(dirname "$0")/.."

# A package of its own: libraries of our tests do not build there.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/src"
cp crates/link/examples/digest.rs "$folder/src/main.rs"
cp Cargo.lock "$folder"
cat >"$folder/Cargo.toml" <<END
[package]
name = "digest"
version = "0.1.0"
edition = "2024"
[workspace]
[dependencies]
airbound-link = { path = "$PWD/crates/link" }
[profile.dev]
opt-level = 1
debug = false
codegen-units = 16
END
cat >"$folder/run.mjs" <<'END'
import { readFile } from "node:fs/promises";
import { WASI } from "node:wasi";
const wasi = new WASI({ version: "preview1" });
const module = await WebAssembly.compile(await readFile(process.argv[2]));
wasi.start(await WebAssembly.instantiate(module, wasi.getImportObject()));
END

has() { rustup target add "$1" >/dev/null 2>&1 || { echo "SKIPPED: rustup has no target $1 here"; return 1; }; }

# Target: libairbound is built for it as a static library, which takes no linker of it, and libairboundlink compiles.
check() {
    has "$1" || return 0
    cargo rustc --quiet --locked --target "$1" --target-dir target/elsewhere --package airbound-capi --lib --crate-type staticlib
    cargo check --quiet --locked --target "$1" --target-dir target/elsewhere --package airbound-link-capi
    echo "libairbound is built, and libairboundlink compiles, for $1"
}

# Target, its program's ending, and how to run it.
compare() {
    local target=$1 ending=$2
    shift 2
    command -v "$1" >/dev/null || { echo "SKIPPED: $1 is missing, which runs $target"; return 0; }
    has "$target" || return 0
    cargo build --quiet --manifest-path "$folder/Cargo.toml" --target "$target" --target-dir target/elsewhere
    [ -s "$folder/here.txt" ] || cargo run --quiet --locked --package airbound-link --example digest >"$folder/here.txt"
    "$@" "target/elsewhere/$target/debug/digest$ending" >"$folder/there.txt"
    diff "$folder/here.txt" "$folder/there.txt"
    echo "$(wc -l <"$folder/here.txt") places have the same arrivals as $target and here"
}
# Rust brings a linker and musl for it.
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=rust-lld
compare wasm32-wasip1 .wasm node --no-warnings "$folder/run.mjs"
compare aarch64-unknown-linux-musl "" qemu-aarch64
check aarch64-linux-android
check x86_64-pc-windows-gnu
