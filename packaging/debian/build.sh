#!/usr/bin/env bash
# Usage: packaging/debian/build.sh BUILD FOLDER
# Builds a Debian package of the programs in BUILD (target/dist) in FOLDER, and prints its path. The debug information is in
# FOLDER/NAME.debug; debuggers and backtraces look for it in /usr/lib/debug/usr/bin.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${1:?BUILD is missing}
folder=${2:?FOLDER is missing}
version=$(sed -n '/^version = /{s/.*"\(.*\)"/\1/p;q}' Cargo.toml)
architecture=$(dpkg --print-architecture)

root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$folder"
for program in airbound airbound-studies airbound-relay airbound-room; do
    install -D -m 0755 "$build/$program" "$root/usr/bin/$program"
    objcopy --only-keep-debug "$build/$program" "$folder/$program.debug"
    strip --strip-unneeded "$root/usr/bin/$program"
    (cd "$folder" && objcopy --add-gnu-debuglink="$program.debug" "$root/usr/bin/$program")
done
install -D -m 0644 packaging/systemd/airbound-agent.service "$root/lib/systemd/system/airbound-agent.service"
install -D -m 0644 packaging/systemd/airbound-relay.service "$root/lib/systemd/system/airbound-relay.service"
install -D -m 0644 packaging/relay.toml "$root/etc/airbound/relay.toml"
install -D -m 0644 packaging/agent.toml "$root/etc/airbound/agent.toml"
install -D -m 0644 packaging/debian/logrotate "$root/etc/logrotate.d/airbound"
shells=$root/usr/share
install -d "$shells/bash-completion/completions" "$shells/zsh/vendor-completions" "$shells/fish/vendor_completions.d" "$shells/man/man1"
for program in airbound airbound-relay; do
    "$build/$program" completions bash >"$shells/bash-completion/completions/$program"
    "$build/$program" completions zsh >"$shells/zsh/vendor-completions/_$program"
    "$build/$program" completions fish >"$shells/fish/vendor_completions.d/$program.fish"
    # airbound has a page of its command relay, which the relay's own replaces.
    "$build/$program" man --out "$shells/man/man1"
done
gzip -9n "$shells"/man/man1/*.1
for page in README.md CHANGELOG.md docs/*/*.md; do
    install -D -m 0644 "$page" "$root/usr/share/doc/airbound/${page#docs/}"
done
# The clients' part of a room, as an npm package, and the recipe of a container.
for file in crates/room/page/client.js crates/room/page/client.d.ts crates/room/page/package.json; do
    install -D -m 0644 "$file" "$root/usr/share/airbound/room-client/${file##*/}"
done
install -D -m 0644 packaging/Containerfile "$root/usr/share/doc/airbound/Containerfile"
{
    cat packaging/debian/copyright
    # The text of the licence, in the form of the file.
    sed -e 's/^$/./' -e 's/^/ /' LICENSE-MIT
} >"$root/usr/share/doc/airbound/copyright"

# Packages of the linked libraries, with their minimum versions.
needs=$(cd "$root" && mkdir -p debian && touch debian/control &&
    dpkg-shlibdeps -O --ignore-missing-info usr/bin/airbound usr/bin/airbound-studies usr/bin/airbound-relay usr/bin/airbound-room 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
rm -rf "$root/debian"

mkdir -p "$root/DEBIAN"
cat >"$root/DEBIAN/control" <<EOF
Package: airbound
Version: $version
Section: net
Priority: optional
Architecture: $architecture
Depends: ${needs:-libc6}, nftables
Suggests: hostapd, logrotate
Installed-Size: $(du -sk "$root" | cut -f1)
Maintainer: The authors of Airbound <maintainers@users.noreply.github.com>
Description: keeps Wi-Fi latency bounded
 Simulates Wi-Fi access points and the queues that bound their latency, plays
 scenarios with the real Linux stack in a virtual machine, and runs on a real
 access point: the agent holds packets for Wi-Fi stations and releases them so
 that latency demands are kept.
EOF
printf '%s\n' /etc/airbound/agent.toml /etc/airbound/relay.toml /etc/logrotate.d/airbound >"$root/DEBIAN/conffiles"
for script in postinst prerm postrm; do
    install -m 0755 "packaging/debian/$script" "$root/DEBIAN/$script"
done
chmod -R u+rwX,go+rX,go-w "$root"
(cd "$root" && find usr lib etc -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
chmod 0644 "$root/DEBIAN/md5sums"

package=$folder/airbound_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "$package"
