#!/usr/bin/env bash
# Usage: packaging/debian/build.sh PROGRAM FOLDER
# Makes a Debian package of PROGRAM (target/release/airbound) in FOLDER, and prints its name.
set -euo pipefail
cd "$(dirname "$0")/../.."

program=${1:?which program}
folder=${2:?into which folder}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
architecture=$(dpkg --print-architecture)

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
install -D -m 0755 "$program" "$root/usr/bin/airbound"
strip --strip-unneeded "$root/usr/bin/airbound"
install -D -m 0644 packaging/systemd/airbound-agent.service "$root/lib/systemd/system/airbound-agent.service"
install -D -m 0644 packaging/agent.toml "$root/etc/airbound/agent.toml"
for page in docs/*.md; do
    install -D -m 0644 "$page" "$root/usr/share/doc/airbound/$(basename "$page")"
done
cat >"$root/usr/share/doc/airbound/copyright" <<EOF
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: airbound

Files: *
Copyright: The authors of Airbound
License: MIT or Apache-2.0
EOF
cat LICENSE-MIT >>"$root/usr/share/doc/airbound/copyright"

# What the program links: the libraries' packages by their lowest version that will do.
needs=$(cd "$root" && mkdir -p debian && touch debian/control &&
    dpkg-shlibdeps -O --ignore-missing-info usr/bin/airbound 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
rm -rf "$root/debian"

mkdir -p "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<EOF
Package: airbound
Version: $version
Section: net
Priority: optional
Architecture: $architecture
Depends: ${needs:-libc6}, nftables
Suggests: hostapd
Installed-Size: $(du -sk "$root" | cut -f1)
Maintainer: The authors of Airbound <maintainers@users.noreply.github.com>
Description: keeps Wi-Fi latency bounded
 Simulates Wi-Fi access points with the queues that are meant to tame their
 latency, plays scenarios with the real Linux stack in a virtual machine, and
 runs on a real access point: the agent holds packets for Wi-Fi stations and
 releases them so that latency demands are kept.
EOF
echo /etc/airbound/agent.toml >"$root/DEBIAN/conffiles"
# Installed, and not started: somebody has to name whom to protect.
cat >"$root/DEBIAN/postinst" <<'EOF'
#!/bin/sh
set -e
if [ -d /run/systemd/system ]; then
    systemctl daemon-reload || true
fi
EOF
cat >"$root/DEBIAN/prerm" <<'EOF'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now airbound-agent.service || true
fi
EOF
chmod 0755 "$root/DEBIAN/postinst" "$root/DEBIAN/prerm"
chmod -R u+rwX,go+rX,go-w "$root"

mkdir -p "$folder"
package=$folder/airbound_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
