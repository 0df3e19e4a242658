#!/usr/bin/env bash
# The linker for armv7 with musl, called by rustc: zig, which carries the sources of musl and of an unwinder and builds them when it links.
# ZIG is its command (default: zig, or the package ziglang of Python).
set -euo pipefail

arguments=()
for argument in "$@"; do
    case $argument in
    # Flags of another compiler, and its libraries; zig has its own.
    --target=* | -m*=* | -lgcc | -lgcc_s | -lgcc_eh) ;;
    *) arguments+=("$argument") ;;
    esac
done
read -ra zig <<<"${ZIG:-$(command -v zig || echo python3 -m ziglang)}"
exec "${zig[@]}" cc -target arm-linux-musleabihf -mcpu=generic+v7a+vfp3d16-neon "${arguments[@]}"
