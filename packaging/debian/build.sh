#!/usr/bin/env bash
# Usage: packaging/debian/build.sh BUILD FOLDER
# Builds a Debian package of the programs in BUILD (target/dist) in FOLDER, and prints its path. The debug information is in
# FOLDER/NAME.debug; debuggers and backtraces look for it in /usr/lib/debug/usr/bin.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${1:?BUILD is missing}
folder=${2:?FOLDER is missing}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
architecture=$(dpkg --print-architecture)

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$folder"
for program in airbound airbound-studies; do
    install -D -m 0755 "$build/$program" "$root/usr/bin/$program"
    objcopy --only-keep-debug "$build/$program" "$folder/$program.debug"
    strip --strip-unneeded "$root/usr/bin/$program"
    (cd "$folder" && objcopy --add-gnu-debuglink="$program.debug" "$root/usr/bin/$program")
done
install -D -m 0644 packaging/systemd/airbound-agent.service "$root/lib/systemd/system/airbound-agent.service"
install -D -m 0644 packaging/agent.toml "$root/etc/airbound/agent.toml"
shells=$root/usr/share
install -d "$shells/bash-completion/completions" "$shells/zsh/vendor-completions" "$shells/fish/vendor_completions.d" "$shells/man/man1"
"$build/airbound" completions bash >"$shells/bash-completion/completions/airbound"
"$build/airbound" completions zsh >"$shells/zsh/vendor-completions/_airbound"
"$build/airbound" completions fish >"$shells/fish/vendor_completions.d/airbound.fish"
"$build/airbound" man --out "$shells/man/man1"
gzip -9n "$shells"/man/man1/*.1
for page in README.md CHANGELOG.md docs/*/*.md; do
    install -D -m 0644 "$page" "$root/usr/share/doc/airbound/${page#docs/}"
done
cat >"$root/usr/share/doc/airbound/copyright" <<EOF
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: airbound

Files: *
Copyright: The authors of Airbound
License: MIT or Apache-2.0

Files: the sources of the laboratory's driver (lab/radio), which the program carries
Copyright: The authors of Airbound
License: GPL-2.0
EOF
cat LICENSE-MIT >>"$root/usr/share/doc/airbound/copyright"

# Packages of the linked libraries, with their minimum versions.
needs=$(cd "$root" && mkdir -p debian && touch debian/control &&
    dpkg-shlibdeps -O --ignore-missing-info usr/bin/airbound usr/bin/airbound-studies 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
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
 Simulates Wi-Fi access points and the queues that bound their latency, plays
 scenarios with the real Linux stack in a virtual machine, and runs on a real
 access point: the agent holds packets for Wi-Fi stations and releases them so
 that latency demands are kept.
EOF
echo /etc/airbound/agent.toml >"$root/DEBIAN/conffiles"
# The service is not started: the configuration has to name the protected flows first.
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

package=$folder/airbound_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
