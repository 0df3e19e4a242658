#!/usr/bin/env bash
# Usage: scripts/tests/openwrt.sh
# Packs a stand-in of a static program for three processors (packaging/openwrt/package.sh), reads the .apk with other code than the one that wrote it,
# compares it with the .ipk, runs its scripts against stand-ins of OpenWrt's functions, and the service against those of procd. Takes seconds.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
defect() { echo "openwrt: $case: $*" >&2; failed=1; }
is() { [ "$1" = "$2" ] || defect "$1 in place of $2"; }

# program MACHINE [TEXT]: an ELF header, and more than a blob's 64 KiB.
program() {
    { printf '\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x02\0'; printf "$(printf '\\x%02x\\0' "$1")"; printf '%s' "${2:-}"; seq 20000; } >"$work/program"
}

for case in x86_64:62 aarch64_cortex-a53:183 arm_cortex-a7_neon-vfpv4:40; do
    architecture=${case%:*}
    program "${case#*:}"
    out=$work/$architecture
    packaging/openwrt/package.sh "$work/program" "$architecture" "$out/once" >/dev/null
    (umask 077 && packaging/openwrt/package.sh "$work/program" "$architecture" "$out/twice" >/dev/null)
    diff -r "$out/once" "$out/twice" || defect "the same input makes other bytes"
    apk=$(ls "$out"/once/*.apk) ipk=$(ls "$out"/once/*.ipk)
    scripts/tests/read_apk.py "$apk" "$out/apk" >"$out/information" || { defect "the .apk cannot be read"; continue; }
    mkdir -p "$out/ipk" "$out/control"
    tar xzOf "$ipk" ./data.tar.gz | tar xzf - -C "$out/ipk"
    tar xzOf "$ipk" ./control.tar.gz | tar xzf - -C "$out/control"
    cmp "$out/apk/data/usr/bin/airbound" "$work/program" || defect "another program"
    # Information, and what OpenWrt's functions read of it, as in opkg's control data.
    control() { sed -n "s/^$1: //p" "$out/control/control"; }
    information() { sed -n "s/^$1 //p" "$out/information"; }
    is "$(information version)" "$(control Version)"
    is "$(information arch)" "$architecture"
    is "$(information description)" "$(control Description)"
    is "$(information depends)" "$(control Depends | tr -d , | tr ' ' '\n' | sort | paste -sd' ')"
    lists=$out/apk/data/lib/apk/packages
    is "$(cat "$lists/airbound.rusers")" "$(control Require-User)"
    cmp "$lists/airbound.conffiles" "$out/control/conffiles" || defect "other conffiles"
    while read -r file sum; do echo "$sum  $out/apk/data$file"; done <"$lists/airbound.conffiles_static" | sha256sum -c --quiet || defect "sums of conffiles"
    is "$(wc -l <"$lists/airbound.conffiles_static")" "$(wc -l <"$lists/airbound.conffiles")"
    (cd "$out/apk/data" && find . -type f ! -path './lib/apk/packages/airbound.[lc]*' -printf '/%P\n' | LC_ALL=C sort) | diff - "$lists/airbound.list" ||
        defect "the list of files"
    # Scripts, in the root that OpenWrt's image builder names, and on the router.
    mkdir -p "$work/root/lib"
    printf 'add_group_and_user() { echo add $pkgname; }\ndefault_postinst() { echo postinst $pkgname $PKG_UPGRADE; }\ndefault_prerm() { echo prerm $pkgname; }\n' \
        >"$work/root/lib/functions.sh"
    run() { IPKG_INSTROOT=$work/root sh "$out/apk/$1" | paste -sd';'; }
    is "$(run post-install)" "add airbound;postinst airbound"
    is "$(run post-upgrade)" "postinst airbound 1"
    is "$(run pre-deinstall)" "prerm airbound"
    rm -r "$out/apk/data/lib"
    diff -r "$out/apk/data" "$out/ipk" || defect "other files than in the .ipk"
    modes() { (cd "$1" && find . -printf '%P %m\n' | sort); }
    diff <(modes "$out/apk/data") <(modes "$out/ipk") || defect "other modes than in the .ipk"
done

# Lengths of 8, 16 and 32 bits, at places that need padding.
case="lengths"
for letters in 255 256 65535 65536; do
    text=$(head -c "$letters" /dev/zero | tr '\0' x)
    packaging/openwrt/apk.py "$work/root" "$work/long.apk" name=a version=1-r1 arch=x "license=$text" depends=b
    scripts/tests/read_apk.py "$work/long.apk" "$work/long" >"$work/said" || defect "a text of $letters letters cannot be read"
    grep -qx "license $text" "$work/said" || defect "another text of $letters letters"
done

# What is refused: exit code 2, one sentence.
refused() {
    local result=0
    packaging/openwrt/package.sh "$work/program" "$1" "$work/refused" >/dev/null 2>"$work/said" || result=$?
    is "$result: $(wc -l <"$work/said"), $(ls "$work/refused" 2>/dev/null)" "2: 1, "
    grep -q "$2" "$work/said" || defect "it says: $(cat "$work/said")"
}
case="refusals"
program 62
refused mipsel_24kc "MIPS is not supported"
refused aarch64_generic "is not a program for aarch64_generic"
refused "../x" "is not an architecture of OpenWrt"
program 62 /lib64/ld-linux-x86-64.so.2
refused x86_64 "not statically linked"
result=0
packaging/openwrt/apk.py "$work/root" "$work/refused.apk" name=a version=1-r1 maker=b 2>"$work/said" || result=$?
is "$result: $(cat "$work/said" | cut -d';' -f1)" "2: apk: maker: unknown"

# The service: one instance with its own jail for each section, and a journal only where UCI names one.
case="service"
mkdir -p "$work/logs"
: >"$work/agent.toml"
sed "s#/var/log/airbound#$work/logs#; s#/var/run/airbound#$work/logs#g" packaging/openwrt/files/airbound.init >"$work/init"
started() (
    config_get_bool() { eval "$1=1"; }
    config_get() { case $2:$3 in *:config) eval "$1=$work/agent.toml" ;; second:journal) eval "$1=$work/logs/second" ;; *) eval "$1=${4:-}" ;; esac; }
    config_load() { :; }
    config_foreach() { "$1" main; "$1" second; }
    logger() { echo "$@"; }
    id() { stat -c %u "$work/logs"; }
    for call in open_instance close_instance set_param add_jail add_jail_mount add_jail_mount_rw; do eval "procd_$call() { echo $call \"\$@\"; }"; done
    . "$work/init"
    start_service
)
started >"$work/procd"
agent="set_param command /usr/bin/airbound agent run --config $work/agent.toml"
is "$(grep -x "$agent.*" "$work/procd" | paste -sd';')" "$agent;$agent --journal $work/logs/second"
is "$(sed -n 's/^add_jail \([^ ]*\) .*/\1/p' "$work/procd" | paste -sd' ')" "airbound-main airbound-second"
is "$(grep -c "^set_param file $work/agent.toml /usr/bin/airbound$" "$work/procd")" 2

[ $failed = 0 ] && echo "openwrt: no defects"
exit $failed
