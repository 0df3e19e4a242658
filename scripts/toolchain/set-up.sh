#!/usr/bin/env bash
# Usage: scripts/toolchain/set-up.sh
# Installs the Rust of rust-toolchain.toml below .toolchain, for this project alone: with the machine's rustup, else with a rustup of the
# version below, whose checksum is compared. Neither the user's toolchains nor files of the shell are touched. The commands to be used
# are in .toolchain/bin, which exists only if all went well. Otherwise it prints one sentence and exits with 1.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
home=$root/.toolchain

# rustup's official address, and the SHA-256 of rustup-init of that version.
version=1.29.0
address=${RUSTUP_UPDATE_ROOT:-https://static.rust-lang.org/rustup}
case $(uname -m) in
    x86_64) machine=x86_64-unknown-linux-gnu sum=4acc9acc76d5079515b46346a485974457b5a79893cfb01112423c89aeb5aa10 ;;
    aarch64) machine=aarch64-unknown-linux-gnu sum=9732d6c5e2a098d3521fca8145d826ae0aaa067ef2385ead08e6feac88fa5792 ;;
    *) machine=unknown sum= ;;
esac
channel=$(sed -n 's/^channel *= *"\(.*\)"/\1/p' "$here/rust-toolchain.toml")

say() { printf '%s\n' "$*" >&2; }
fail() {
    say "missing: Rust ${REQUIRED:-$channel} or newer: $1"
    say "    check the network and repeat, or install it yourself, for example with rustup: rustup toolchain install stable"
    exit 1
}

# What a program said last, in one line.
last() { tr -d '\r' <"$1" | grep -v '^ *$' | tail -n 1; }

# Downloads an address into a file, with what the machine has.
download() {
    if command -v curl >/dev/null; then curl --proto '=https,http' --fail --silent --show-error --location --output "$2" "$1"
    elif command -v wget >/dev/null; then wget --no-verbose --tries 2 --output-document "$2" "$1"
    else
        echo "there is no curl or wget; sudo apt-get install curl"
        return 1
    fi
}

official() {
    [ "$machine" != unknown ] || fail "rustup $version is not known here for $(uname -m)"
    mkdir -p "$home/cargo/bin"
    local made=$home/cargo/bin/rustup
    download "$address/archive/$version/$machine/rustup-init" "$made.part" >"$home/log" 2>&1 || fail "rustup could not be downloaded ($(last "$home/log"))"
    [ "$(sha256sum <"$made.part" | cut -d ' ' -f 1)" = "$sum" ] || {
        rm -f "$made.part"
        fail "the downloaded rustup $version has another checksum than scripts/toolchain/set-up.sh names, and was removed"
    }
    chmod 755 "$made.part"
    mv "$made.part" "$made"
}

mkdir -p "$home"
# Two targets at once set it up once.
exec 9>"$home/lock"
if command -v flock >/dev/null; then flock 9; fi
! "$home/bin/cargo" --version 2>/dev/null | grep -qF " $channel " || exit 0

export RUSTUP_HOME=$home/rustup CARGO_HOME=$home/cargo
unset RUSTUP_TOOLCHAIN
say "setting up Rust $channel in .toolchain, for this project alone (some 140 MB to download); ${WHY:-this machine has none}"
if [ -x "$home/cargo/bin/rustup" ]; then rustup=$home/cargo/bin/rustup
elif rustup=$(command -v rustup); then :
else
    official
    rustup=$home/cargo/bin/rustup
fi
# On a terminal rustup shows its progress.
install=("$rustup" toolchain install "$channel" --profile minimal --no-self-update)
if [ -t 2 ]; then "${install[@]}" >&2 || fail "rustup could not install it (see above)"
else "${install[@]}" >"$home/log" 2>&1 || fail "rustup could not install it ($(last "$home/log"))"; fi
toolchain=$(cd "$home/rustup/toolchains" && echo "$channel"-*)

# The commands, each with the project's homes in its environment.
rm -rf "$home/new"
mkdir "$home/new"
for command in cargo rustc rustdoc rustup; do
    program="\$home/rustup/toolchains/$toolchain/bin/$command"
    [ "$command" != rustup ] || program=${rustup/#$home/\$home}
    cat >"$home/new/$command" <<END
#!/bin/sh
# Written by scripts/toolchain/set-up.sh.
home=\$(cd "\$(dirname "\$0")/.." && pwd)
export RUSTUP_HOME="\$home/rustup" CARGO_HOME="\$home/cargo" RUSTUP_TOOLCHAIN=$channel
export PATH="\$home/rustup/toolchains/$toolchain/bin:\$PATH"
exec "$program" "\$@"
END
    chmod 755 "$home/new/$command"
done
"$home/new/cargo" --version >/dev/null || fail "its cargo does not start on this machine"
rm -rf "$home/bin" "$home/log"
mv "$home/new" "$home/bin"
