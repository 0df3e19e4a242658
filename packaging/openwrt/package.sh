#!/usr/bin/env bash
# Usage: packaging/openwrt/ipk.sh PROGRAM ARCHITECTURE FOLDER
# Packs a static program (packaging/static.sh) as OpenWrt's opkg takes it, without OpenWrt's tool chain, and prints the package's path.
# ARCHITECTURE is that of the router: `opkg print-architecture` names it, such as aarch64_cortex-a53 or x86_64. The same bytes for the
# same input.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=${1:?PROGRAM is missing}
architecture=${2:?ARCHITECTURE is missing}
folder=${3:?FOLDER is missing}
version=$(sed -n '/^version = /{s/.*"\(.*\)"/\1/p;q}' Cargo.toml)-r1
case $architecture in
mips | mipsel | mips_* | mipsel_*)
    echo "ipk: 32-bit MIPS is not supported: it has no 64-bit atomics" >&2
    exit 2
    ;;
*[!a-z0-9_+-]*)
    echo "ipk: $architecture is not an architecture of OpenWrt, such as aarch64_cortex-a53" >&2
    exit 2
    ;;
esac
[ -f "$program" ] || {
    echo "ipk: there is no program $program; make static makes it" >&2
    exit 2
}
# The processor stands in the ELF header; a program that needs a loader names it directly after the headers.
case $architecture:$(od -An -tu2 -j18 -N2 "$program" | tr -d ' ') in
x86_64:62 | aarch64_*:183 | arm_*:40) ;;
*)
    echo "ipk: $program is not a program for $architecture: x86_64, aarch64_... and arm_... are possible" >&2
    exit 2
    ;;
esac
if head -c 4096 "$program" | grep -aE '/ld-(linux|musl)' >/dev/null; then
    echo "ipk: $program is not statically linked; make static makes such a program" >&2
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
Depends: nftables, kmod-nft-queue, kmod-nfnetlink-queue, procd-ujail
Section: net
Architecture: $architecture
Installed-Size: $(du -sb "$root/data" | cut -f1)
License: MIT OR Apache-2.0
Require-User: airbound=473:airbound=473
Description: Keeps Wi-Fi latency bounded: holds packets for Wi-Fi stations and releases them so that latency demands are kept.
END
printf '%s\n' /etc/airbound/agent.toml /etc/config/airbound >"$root/control/conffiles"
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
rm -r "$root/data" "$root/control"
mkdir -p "$folder"
package=$folder/airbound_${version}_$architecture.ipk
(cd "$root" && pack) >"$package"
echo "$package"
