#!/usr/bin/env bash
# Usage: scripts/link-targets.sh
# Compares all arrivals in all places of airbound-link as WebAssembly, run by node, with those of this machine. Without node or rustup's
# target the step is SKIPPED.
set -euo pipefail
cd "$(dirname "$0")/.."
target=wasm32-wasip1
command -v node >/dev/null || { echo "SKIPPED: node is missing"; exit 0; }
rustup target add "$target" >/dev/null 2>&1 || { echo "SKIPPED: rustup has no target $target here"; exit 0; }

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
cargo build --quiet --manifest-path "$folder/Cargo.toml" --target "$target" --target-dir target/wasm
cargo run --quiet --locked --package airbound-link --example digest >"$folder/here.txt"
node --no-warnings "$folder/run.mjs" "target/wasm/$target/debug/digest.wasm" >"$folder/there.txt"
diff "$folder/here.txt" "$folder/there.txt"
echo "$(wc -l <"$folder/here.txt") places have the same arrivals as WebAssembly and here"
