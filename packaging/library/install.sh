#!/usr/bin/env bash
# Usage: packaging/library/install.sh BUILD PREFIX [LIBRARIES]
# Installs the header and libraries of libairbound, built in BUILD (target/release), into PREFIX: include/, LIBRARIES/ (lib), and in it
# pkgconfig/ and cmake/. The folder may be moved: both find their files by their own place.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${1:?BUILD is missing}
prefix=${2:?PREFIX is missing}
libraries=${3:-lib}
version=$(sed -n '/^version = /{s/.*"\(.*\)"/\1/p;q}' Cargo.toml)
abi=$(sed -n 's/^#define AIRBOUND_ABI \([0-9]*\)$/\1/p' crates/capi/include/airbound.h)
# From LIBRARIES to PREFIX, as lib to .. and lib/x86_64-linux-gnu to ../..
up=$(sed 's:[^/][^/]*:..:g' <<<"$libraries")

install -D -m 0644 crates/capi/include/airbound.h "$prefix/include/airbound.h"
install -D -m 0644 "$build/libairbound.a" "$prefix/$libraries/libairbound.a"
install -D -m 0644 "$build/libairbound.so" "$prefix/$libraries/libairbound.so.$abi"
ln -sf "libairbound.so.$abi" "$prefix/$libraries/libairbound.so"
place() {
    install -d "$(dirname "$2")"
    sed -e "s:@VERSION@:$version:g" -e "s:@ABI@:$abi:g" -e "s:@LIBRARIES@:$libraries:g" -e "s:@UP@:$up:g" "$1" >"$2"
    chmod 0644 "$2"
}
place packaging/library/airbound.pc "$prefix/$libraries/pkgconfig/airbound.pc"
for file in airbound-config.cmake airbound-config-version.cmake; do
    place "packaging/library/$file" "$prefix/$libraries/cmake/airbound/$file"
done
