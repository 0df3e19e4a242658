#!/usr/bin/env bash
# Usage: scripts/require.sh TOOL...
# Checks that each tool is installed. Installs Debian packages (as root), rustup components and crates; for other missing tools it prints
# how to install them, and exits with 1.
# Tools: cargo linker crates rustfmt clippy; qemu (for the laboratory only), qemu-arm64 (for its --arch arm64); openssl (for the room); chromium aioquic (for recipes of docs/use/emulate.md)
set -euo pipefail
cd "$(dirname "$0")/.."

CARGO=${CARGO:-cargo}
missing=0

say() { printf '%s\n' "$*" >&2; }
fail() {
    missing=1
    say "missing: $1"
    shift
    for line in "$@"; do say "    $line"; done
}
has() { command -v "$1" >/dev/null 2>&1; }

# Installs Debian packages; fails if not root, or if apt fails.
debian() {
    if [ "$(id -u)" = 0 ] && has apt-get; then
        say "installing $*"
        local log
        log=$(mktemp)
        export DEBIAN_FRONTEND=noninteractive
        if apt-get install -qq -y --no-install-recommends "$@" >"$log" 2>&1 ||
            { apt-get update -qq >>"$log" 2>&1 &&
                apt-get install -qq -y --no-install-recommends "$@" >>"$log" 2>&1; }; then
            rm -f "$log"
            return 0
        fi
        tail -n 5 "$log" >&2
        rm -f "$log"
    fi
    return 1
}

# The workspace's minimum Rust version, from Cargo.toml.
required_version() { sed -n 's/^rust-version *= *"\(.*\)"/\1/p' Cargo.toml; }

require_cargo() {
    local required found
    required=$(required_version)
    if ! has "$CARGO"; then
        fail "cargo, a Rust toolchain of version $required or newer" \
            "install rustup (package rustup in Debian 13 and Ubuntu 24.04, or its own installer), then:" \
            "rustup toolchain install stable"
        exit 1
    fi
    if ! found=$("$CARGO" --version 2>/dev/null | cut -d ' ' -f 2) || [ -z "$found" ]; then
        fail "a Rust toolchain: $CARGO is installed without one" "rustup toolchain install stable"
        exit 1
    fi
    if [ "$(printf '%s\n%s\n' "$required" "${found%%-*}" | sort -V | sed -n 1p)" != "$required" ]; then
        fail "a newer Rust toolchain: cargo is $found, required is $required or newer" \
            "with rustup: rustup update stable" \
            "the cargo of Debian's and Ubuntu's stable releases may be too old: install rustup instead"
    fi
}

# Links a program, since compilers are often installed without the C library's files.
links() {
    local folder works=1
    has cc || return 1
    folder=$(mktemp -d)
    echo 'int main(void) { return 0; }' >"$folder/try.c"
    cc "$folder/try.c" -o "$folder/try" 2>/dev/null && works=0
    rm -rf "$folder"
    return $works
}

require_linker() {
    links && return
    debian gcc libc6-dev && links && return
    fail "a C compiler and linker (cc)" "sudo apt-get install gcc libc6-dev"
}

require_crates() {
    # No network is needed if all crates were fetched before.
    "$CARGO" fetch --quiet --offline 2>/dev/null || "$CARGO" fetch ||
        fail "the libraries of Cargo.lock: cargo could not download them (see its message above)" \
            "check the network, or point cargo to a mirror: key source in ~/.cargo/config.toml"
}

# A component of the toolchain, from rustup or Debian.
require_component() {
    local component=$1 command=$2 package=$3
    "$CARGO" "$command" --version >/dev/null 2>&1 && return
    if has rustup; then
        say "installing the component $component"
        rustup component add "$component" ||
            fail "$component (rustup could not download it)" "rustup component add $component"
    else
        debian "$package" || fail "$component" "sudo apt-get install $package"
    fi
}

# Only `airbound lab` needs QEMU.
require_qemu() {
    has qemu-system-x86_64 && return
    debian qemu-system-x86 && has qemu-system-x86_64 && return
    fail "QEMU for x86" "sudo apt-get install --no-install-recommends qemu-system-x86"
}

# What `airbound lab --arch arm64` needs more: QEMU, a cross compiler for the driver.
require_qemu_arm64() {
    has qemu-system-aarch64 && has aarch64-linux-gnu-gcc && return
    debian qemu-system-arm gcc-aarch64-linux-gnu && has qemu-system-aarch64 && has aarch64-linux-gnu-gcc && return
    fail "QEMU for arm64 and its cross compiler" \
        "sudo apt-get install --no-install-recommends qemu-system-arm gcc-aarch64-linux-gnu"
}

# The room's cryptography.
require_openssl() {
    local header='#include <openssl/ssl.h>'
    echo "$header" | cc -E - >/dev/null 2>&1 && has pkg-config && return
    debian libssl-dev pkg-config && return
    fail "OpenSSL's headers and pkg-config (for the room only)" "sudo apt-get install libssl-dev pkg-config"
}

require_chromium() {
    has chromium && return
    debian chromium && has chromium && return
    fail "the browser chromium" "sudo apt-get install --no-install-recommends chromium"
}

# A Python package, in a folder that scripts/docs.py puts on the path.
require_aioquic() {
    python3 -c 'import aioquic' 2>/dev/null && return
    [ -x target/recipes/bin/python3 ] && target/recipes/bin/python3 -c 'import aioquic' 2>/dev/null && return
    python3 -m venv target/recipes >/dev/null 2>&1 && target/recipes/bin/pip install --quiet aioquic >/dev/null 2>&1 && return
    fail "the Python package aioquic" "pip install aioquic"
}

for tool in "$@"; do
    case $tool in
        cargo) require_cargo ;;
        linker) require_linker ;;
        crates) [ "$missing" = 1 ] || require_crates ;;
        rustfmt) require_component rustfmt fmt rustfmt ;;
        clippy) require_component clippy clippy rust-clippy ;;
        qemu) require_qemu ;;
        qemu-arm64) require_qemu_arm64 ;;
        openssl) require_openssl ;;
        chromium) require_chromium ;;
        aioquic) require_aioquic ;;
        *)
            say "$0: unknown tool $tool"
            exit 2
            ;;
    esac
done
exit "$missing"
