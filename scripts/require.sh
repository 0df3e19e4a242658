#!/usr/bin/env bash
# Usage: scripts/require.sh TOOL...
# Checks that each tool is installed. Installs Debian packages (as root), a Rust toolchain (scripts/toolchain), components of rustup and
# crates; for other missing tools it prints how to install them, and exits with 1.
# Tools: cargo linker crates rustfmt clippy; qemu (for the laboratory only), qemu-arm64 (for its --arch arm64); openssl (for the room); chromium aioquic (for recipes of docs/use/emulate.md)
set -euo pipefail
cd "$(dirname "$0")/.."

CARGO=${CARGO:-cargo}
# As in the Makefile.
export PATH=$PWD/.toolchain/bin:$PATH:${CARGO_HOME:-${HOME:-}/.cargo}/bin
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

# The version of cargo; empty if it has none that starts.
cargo_version() { "$CARGO" --version 2>/dev/null | cut -d ' ' -f 2 || true; }

# Whether cargo is as new as required.
cargo_suffices() {
    local found
    found=$(cargo_version)
    [ -n "$found" ] && [ "$(printf '%s\n%s\n' "$(required_version)" "${found%%-*}" | sort -V | sed -n 1p)" = "$(required_version)" ]
}

require_cargo() {
    local required found
    cargo_suffices && return
    required=$(required_version) found=$(cargo_version)
    if [ "$CARGO" != cargo ]; then
        [ -n "$found" ] && found="is $found" || found="does not start"
        fail "Rust $required or newer: $CARGO $found"
        exit 1
    fi
    REQUIRED=$required WHY="${found:+the cargo here is $found, needed is $required or newer}" scripts/toolchain/set-up.sh || exit 1
    hash -r
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

# Whether something is there that a download of the toolchain needs: a program for it (rustup's own is one), certificates.
downloads() { has rustup || has curl || has wget; }
certificates() { [ -s "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" ]; }

# The room's cryptography.
openssl_headers() { has pkg-config && echo '#include <openssl/ssl.h>' | cc -E - >/dev/null 2>&1; }

# The Debian packages that the tools need and that are not there, and in `lacking` their meanings.
look_for_packages() {
    lacking=() packages=()
    local tool
    for tool in "$@"; do
        case $tool in
            linker) links || { lacking+=("a C compiler and linker") packages+=(gcc libc6-dev); } ;;
            openssl) openssl_headers || { lacking+=("OpenSSL's headers and pkg-config (for the room only)") packages+=(libssl-dev pkg-config); } ;;
            cargo)
                if [ "$CARGO" = cargo ] && ! cargo_suffices; then
                    downloads || { lacking+=("curl") packages+=(curl); }
                    certificates || { lacking+=("certificates of the web") packages+=(ca-certificates); }
                fi
                ;;
        esac
    done
}

# All of them at once: installed, or named with one command.
require_packages() {
    local text
    look_for_packages "$@"
    [ ${#packages[@]} -gt 0 ] || return 0
    ! debian "${packages[@]}" || look_for_packages "$@"
    [ ${#packages[@]} -gt 0 ] || return 0
    text=$(printf ', %s' "${lacking[@]}")
    fail "${text#, }; install with:" "sudo apt-get install ${packages[*]}"
    exit 1
}

require_crates() {
    # No network is needed if all crates were fetched before.
    "$CARGO" fetch --quiet --offline 2>/dev/null && return
    say "downloading the libraries of Cargo.lock (some 40 MB)"
    "$CARGO" fetch --quiet ||
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
    fail "the Python package aioquic" "python3 -m venv target/recipes && target/recipes/bin/pip install aioquic"
}

require_packages "$@"
for tool in "$@"; do
    case $tool in
        cargo) require_cargo ;;
        linker | openssl) ;;
        crates) [ "$missing" = 1 ] || require_crates ;;
        rustfmt) require_component rustfmt fmt rustfmt ;;
        clippy) require_component clippy clippy rust-clippy ;;
        qemu) require_qemu ;;
        qemu-arm64) require_qemu_arm64 ;;
        chromium) require_chromium ;;
        aioquic) require_aioquic ;;
        *)
            say "$0: unknown tool $tool"
            exit 2
            ;;
    esac
done
exit "$missing"
