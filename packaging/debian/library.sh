#!/usr/bin/env bash
# Usage: packaging/debian/library.sh BUILD FOLDER
# Builds the Debian packages libairbound1 and libairbound-dev of the library in BUILD (target/dist) in FOLDER, and prints their paths.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${1:?BUILD is missing}
folder=${2:?FOLDER is missing}
version=$(sed -n '/^version = /{s/.*"\(.*\)"/\1/p;q}' Cargo.toml)
architecture=$(dpkg --print-architecture)
libraries=lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$folder"
packaging/library/install.sh "$build" "$work/dev/usr" "$libraries"
shared=$(readlink "$work/dev/usr/$libraries/libairbound.so")
install -d "$work/run/usr/$libraries"
mv "$work/dev/usr/$libraries/$shared" "$work/run/usr/$libraries/$shared"
strip --strip-unneeded "$work/run/usr/$libraries/$shared"
strip --strip-debug "$work/dev/usr/$libraries/libairbound.a"

run=libairbound${shared##*.}
install -D -m 0644 docs/use/library.md "$work/dev/usr/share/doc/libairbound-dev/library.md"
for package in run dev; do
    name=$run
    [ $package = run ] || name=libairbound-dev
    install -d "$work/$package/usr/share/doc/$name"
    {
        cat packaging/debian/copyright
        # The text of the licence, in the form of the file.
        sed -e 's/^$/./' -e 's/^/ /' LICENSE-MIT
    } >"$work/$package/usr/share/doc/$name/copyright"
done

# Packages of the linked libraries, with their minimum versions.
needs=$(cd "$work/run" && mkdir -p debian && touch debian/control &&
    dpkg-shlibdeps -O --ignore-missing-info "usr/$libraries/$shared" 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
rm -rf "$work/run/debian"

# control ROOT NAME SECTION DEPENDS SUMMARY TEXT
control() {
    mkdir -p "$work/$1/DEBIAN"
    cat >"$work/$1/DEBIAN/control" <<EOF
Package: $2
Version: $version
Section: $3
Priority: optional
Architecture: $architecture
Multi-Arch: same
Depends: $4
Installed-Size: $(du -sk "$work/$1" | cut -f1)
Maintainer: The authors of Airbound <maintainers@users.noreply.github.com>
Description: $5
 $6
EOF
    chmod -R u+rwX,go+rX,go-w "$work/$1"
    local package=$folder/$2_${version}_$architecture.deb
    dpkg-deb --root-owner-group --build "$work/$1" "$package" >/dev/null
    echo "$package"
}

printf 'libairbound %s %s\n' "${shared##*.}" "$run (>= $version)" >"$work/shlibs"
mkdir -p "$work/run/DEBIAN"
install -m 0644 "$work/shlibs" "$work/run/DEBIAN/shlibs"
printf 'activate-noawait ldconfig\n' >"$work/run/DEBIAN/triggers"
control run "$run" libs "${needs:-libc6}" "low-delay rate allocation over Wi-Fi (library)" \
    "Rates, pacing and reasons for real-time senders, from the packets that an
 access point sends in one frame."
control dev libairbound-dev libdevel "$run (= $version)" "low-delay rate allocation over Wi-Fi (development files)" \
    "Header, static library, pkg-config and CMake files of libairbound."
