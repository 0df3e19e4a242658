#!/usr/bin/env bash
# Usage: packaging/openwrt/package.sh PROGRAM ARCHITECTURE FOLDER
# Packs a static program (airbound-router of packaging/static.sh) for OpenWrt without its tool chain, as apk (25.12) and as opkg (24.10) take it,
# and prints the paths of both packages. ARCHITECTURE is that of the router: /etc/apk/arch or `opkg print-architecture` names it, such as
# aarch64_cortex-a53, arm_cortex-a7_neon-vfpv4 or x86_64. The same bytes for the same input.
set -euo pipefail
umask 022
cd "$(dirname "$0")/../.."

program=${1:?PROGRAM is missing}
architecture=${2:?ARCHITECTURE is missing}
folder=${3:?FOLDER is missing}
summary="Keeps Wi-Fi latency bounded: holds packets for Wi-Fi stations and releases them so that latency demands are kept."
requires="nftables kmod-nft-queue kmod-nfnetlink-queue procd-ujail"
user=airbound=473:airbound=473
version=$(sed -n '/^version = /{s/.*"\(.*\)"/\1/p;q}' Cargo.toml)-r1
case $architecture in
mips | mipsel | mips_* | mipsel_* | mips64*)
    echo "package: MIPS is not supported: Rust has no standard library for it, and 32 bits have no 64-bit atomics" >&2
    exit 2
    ;;
*[!a-z0-9_+-]*)
    echo "package: $architecture is not an architecture of OpenWrt, such as aarch64_cortex-a53" >&2
    exit 2
    ;;
esac
[ -f "$program" ] || {
    echo "package: there is no program $program; make static makes it" >&2
    exit 2
}
# The processor stands in the ELF header; a program that needs a loader names it directly after the headers.
case $architecture:$(od -An -tu2 -j18 -N2 "$program" | tr -d ' ') in
x86_64:62 | aarch64_*:183 | arm_*:40) ;;
*)
    echo "package: $program is not a program for $architecture: x86_64, aarch64_... and arm_... are possible" >&2
    exit 2
    ;;
esac
if head -c 4096 "$program" | grep -aE '/ld-(linux|musl)' >/dev/null; then
    echo "package: $program is not statically linked; make static makes such a program" >&2
    exit 2
fi

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
files=packaging/openwrt/files
install -D -m 0755 "$program" "$root/data/usr/bin/airbound"
install -D -m 0755 $files/airbound.init "$root/data/etc/init.d/airbound"
install -D -m 0600 $files/airbound.config "$root/data/etc/config/airbound"
install -D -m 0644 $files/airbound.capabilities.json "$root/data/etc/capabilities/airbound.json"
# The service's own user reads it.
install -D -m 0644 packaging/agent.toml "$root/data/etc/airbound/agent.toml"
install -D -m 0644 docs/reference/agent-keys.md "$root/data/usr/share/doc/airbound/reference/agent-keys.md"

install -d "$root/data/usr/share/licenses/airbound"
{
    cat packaging/debian/copyright
    sed -e 's/^$/./' -e 's/^/ /' LICENSE-MIT
} >"$root/data/usr/share/licenses/airbound/copyright"
chmod 0644 "$root/data/usr/share/licenses/airbound/copyright"

mkdir "$root/control"
cat >"$root/control/control" <<END
Package: airbound
Version: $version
Depends: ${requires// /, }
Section: net
Architecture: $architecture
Installed-Size: $(du -sb "$root/data" | cut -f1)
License: MIT OR Apache-2.0
Require-User: $user
Description: $summary
END
conffiles=(/etc/airbound/agent.toml /etc/config/airbound)
printf '%s\n' "${conffiles[@]}" >"$root/control/conffiles"
# OpenWrt's own functions add the user, and start or end the service.
for step in postinst:default_postinst prerm:default_prerm; do
    printf '#!/bin/sh\n[ -s "${IPKG_INSTROOT}/lib/functions.sh" ] || exit 0\n. "${IPKG_INSTROOT}/lib/functions.sh"\n%s "$0" "$@"\n' \
        "${step#*:}" >"$root/control/${step%:*}"
    chmod 0755 "$root/control/${step%:*}"
done
echo 2.0 >"$root/debian-binary"

pack() { tar --format=gnu --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner "$@" -cf - . | gzip -9n; }
(cd "$root/data" && pack) >"$root/data.tar.gz"
(cd "$root/control" && pack) >"$root/control.tar.gz"

# For apk the same files, beside what OpenWrt's functions read of a package in place of opkg's control data.
lists=$root/data/lib/apk/packages
mkdir -p "$lists"
echo "$user" >"$lists/airbound.rusers"
(cd "$root/data" && find . -type f -printf '/%P\n' | LC_ALL=C sort) >"$root/list"
mv "$root/list" "$lists/airbound.list"
cp "$root/control/conffiles" "$lists/airbound.conffiles"
for file in "${conffiles[@]}"; do echo "$file $(sha256sum "$root/data$file" | cut -d' ' -f1)"; done >"$lists/airbound.conffiles_static"
chmod 0644 "$lists"/*
for step in install:default_postinst upgrade:default_postinst deinstall:default_prerm; do
    {
        printf '#!/bin/sh\n[ -s "${IPKG_INSTROOT}/lib/functions.sh" ] || exit 0\n. "${IPKG_INSTROOT}/lib/functions.sh"\n'
        printf 'export root="${IPKG_INSTROOT}" pkgname=airbound\n'
        case ${step%:*} in install) echo add_group_and_user ;; upgrade) echo "export PKG_UPGRADE=1" ;; esac
        echo "${step#*:}"
    } >"$root/${step%:*}"
done
mkdir -p "$folder"
package=$folder/airbound-${version}_$architecture.apk
packaging/openwrt/apk.py "$root/data" "$package" name=airbound "version=$version" "arch=$architecture" "description=$summary" \
    "license=MIT OR Apache-2.0" "depends=$requires" "post-install=$root/install" "post-upgrade=$root/upgrade" "pre-deinstall=$root/deinstall"
echo "$package"

rm -r "$root/data" "$root/control" "$root/install" "$root/upgrade" "$root/deinstall"
package=$folder/airbound_${version}_$architecture.ipk
(cd "$root" && pack) >"$package"
echo "$package"
