#!/usr/bin/env bash
# Usage: packaging/static.sh FOLDER [PROCESSOR]...
# Builds the programs airbound, airbound-router (the agent alone) and airbound-relay, statically linked, for each processor (x86_64, aarch64,
# armv7; default: all) in FOLDER as PROGRAM-PROCESSOR; PROGRAMS names fewer. Rust's own linker and musl of Rust's standard library are enough; no C compiler for the target is
# needed. Where rustup has no such library for armv7, cargo builds it from its source (component rust-src) and zig links it with musl
# (zig-linker.sh); where one of the two is missing, Debian's cross compiler and glibc take their place. PROFILE (dist) is the profile of cargo.
set -uo pipefail
cd "$(dirname "$0")/.."

folder=${1:?FOLDER is missing}
shift
processors=("$@")
[ ${#processors[@]} -gt 0 ] || processors=(x86_64 aarch64 armv7)
read -ra programs <<<"${PROGRAMS:-airbound airbound-router airbound-relay}"
profile=${PROFILE:-dist}
cargo=${CARGO:-cargo}
failed=0

say() { echo "static: $*" >&2; }

# Whether the standard library of a target is there, or could be fetched.
has() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/$1/lib" ] && return
    command -v rustup >/dev/null && rustup target add "$1" >/dev/null 2>&1
}

# Whether cargo can build the standard library, and zig can link it.
has_source() {
    [ -d "$(rustc --print sysroot)/lib/rustlib/src/rust/library" ] || { command -v rustup >/dev/null && rustup component add rust-src >/dev/null 2>&1; } || return 1
    # shellcheck disable=SC2086
    ${ZIG:-$(command -v zig || echo python3 -m ziglang)} version >/dev/null 2>&1
}

# build PROCESSOR TARGET LINKER FLAGS [FURTHER ARGUMENTS OF CARGO]...
build() {
    local upper=${2//-/_}
    upper=${upper^^}
    env "CARGO_TARGET_${upper}_LINKER=$3" "CARGO_TARGET_${upper}_RUSTFLAGS=$4" \
        "$cargo" build --profile "$profile" ${LOCKED:-} --package airbound-cli --features airbound-cli/router --package airbound-relay --target "$2" \
        "${programs[@]/#/--bin=}" "${@:5}" || return 1
    for program in "${programs[@]}"; do
        install -D -m 0755 "target/$2/$profile/$program" "$folder/$program-$1"
        echo "$folder/$program-$1"
    done
}

for processor in "${processors[@]}"; do
    case $processor in
    x86_64 | aarch64) target=$processor-unknown-linux-musl ;;
    armv7) target=armv7-unknown-linux-musleabihf ;;
    *)
        say "$processor is none of x86_64, aarch64 and armv7; 32-bit MIPS is not supported: it has no 64-bit atomics"
        exit 2
        ;;
    esac
    other=armv7-unknown-linux-gnueabihf
    if has "$target"; then
        build "$processor" "$target" rust-lld "-C strip=symbols" || failed=1
    elif [ "$processor" = armv7 ] && has_source; then
        say "rustup has no $target; its standard library is built from source, and linked by zig"
        RUSTC_BOOTSTRAP=1 build "$processor" "$target" "$PWD/packaging/zig-linker.sh" "-C strip=symbols -C link-self-contained=no" \
            -Zbuild-std=std,panic_unwind || failed=1
    elif [ "$processor" = armv7 ] && command -v arm-linux-gnueabihf-gcc >/dev/null && has "$other"; then
        say "rustup has no $target; with glibc instead"
        build "$processor" "$other" arm-linux-gnueabihf-gcc "-C strip=symbols -C target-feature=+crt-static" || failed=1
    else
        how="rustup target add $target"
        [ "$processor" = armv7 ] && how="$how, or: rustup component add rust-src; pip install ziglang, or: apt-get install gcc-arm-linux-gnueabihf; rustup target add $other"
        say "$processor is left out: Rust's standard library for $target is missing ($how)"
        failed=1
    fi
done
exit $failed
