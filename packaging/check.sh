#!/usr/bin/env bash
# Usage: packaging/check.sh PACKAGE...; a PACKAGE may also be a unit of packaging/systemd.
# Checks the content of Debian packages of the programs (.deb) and of OpenWrt packages (.ipk): files, modes, owners, control data, and the
# package scripts, which run against recorded stand-ins of systemctl and procd. Prints each defect; exit code 1 if there is one. Programs of other
# processors start under qemu-user where that is installed.
set -uo pipefail

defects=0
defect() { echo "check: $package: $*" >&2; defects=$((defects + 1)); }

# has PATH MODE: a file of the unpacked package.
has() {
    [ -s "$data/$1" ] || { defect "$1 is missing or empty"; return; }
    local mode
    mode=$(stat -c %a "$data/$1")
    [ "$mode" = "$2" ] || defect "$1 has mode $mode in place of $2"
}

# says FILE TEXT: a line of control data.
says() { grep -qxF -- "$2" "$1" || defect "${1##*/} lacks the line: $2"; }

# starts PROGRAM MACHINE: the program prints its version. MACHINE is the number in the ELF header.
starts() {
    local run=() host
    case $2 in 62) host=x86_64 ;; 183) host=aarch64 ;; 40) host=arm ;; *) defect "ELF machine $2 is unknown"; return ;; esac
    if [ "$host" != "$(uname -m)" ]; then
        run=("qemu-$host-static")
        command -v "${run[0]}" >/dev/null || { echo "check: $package: not started: there is no ${run[0]}" >&2; return; }
    fi
    "${run[@]}" "$1" --version | grep -E '^airbound[a-z -]* [0-9]+\.' >/dev/null || defect "${1##*/} does not print its version"
}

machine() { od -An -tu2 -j18 -N2 "$1" | tr -d ' '; }

# Each file of the list is in the package, and each file below /etc but scripts and capabilities is on the list.
conffiles() {
    local path
    while read -r path; do [ -f "$data$path" ] || defect "conffile $path is missing"; done <"$control/conffiles"
    while read -r path; do
        grep -qxF "/$path" "$control/conffiles" || defect "/$path is no conffile"
    done < <(cd "$data" && find etc -type f ! -path 'etc/init.d/*' ! -path 'etc/capabilities/*')
}

# script NAME ARGUMENTS...: what a maintainer script asks of systemctl.
script() {
    local name=$1
    shift
    mkdir -p "$work/bin" "$work/run/systemd/system"
    printf '#!/bin/sh\necho "$@" >>%s\n' "$work/asked" >"$work/bin/systemctl"
    chmod +x "$work/bin/systemctl"
    : >"$work/asked"
    sed -e "s#/run/systemd/system#$work/run/systemd/system#; s#/var/log/#$work/log/#g" "$control/$name" >"$work/script"
    PATH=$work/bin:$PATH sh "$work/script" "$@" || defect "$name $* fails"
}
asked() { grep -qxF -- "$1" "$work/asked"; }

# The room of the package serves its page, and its client is a package of npm.
room() {
    local line port found
    mkfifo "$work/printed"
    "$data/usr/bin/airbound" room --listen 127.0.0.1:0 >"$work/printed" 2>"$work/failed" &
    local pid=$!
    read -r -t 10 line <"$work/printed" || defect "airbound room prints no address: $(cat "$work/failed")"
    port=$(sed -n 's#.*http://127.0.0.1:\([0-9]*\)/.*#\1#p' <<<"${line:-}")
    for found in / /client.js; do
        python3 -c 'import sys, urllib.request as get; sys.exit(len(get.urlopen(sys.argv[1], timeout=5).read()) < 1000)' "http://127.0.0.1:$port$found" ||
            defect "airbound room does not serve $found"
    done
    kill "$pid"
    wait "$pid" 2>/dev/null
    if command -v npm >/dev/null; then
        (cd "$work" && npm pack --silent --offline "$data/usr/share/airbound/room-client" >/dev/null) || defect "npm does not pack the room's client"
    fi
}

debian() {
    dpkg-deb -R "$package" "$work/all" || { defect "dpkg-deb cannot read it"; return; }
    control=$work/all/DEBIAN
    mv "$control" "$work/control"
    control=$work/control data=$work/all
    dpkg-deb -c "$package" | awk '$2 != "root/root" { print $6; exit 1 }' >"$work/owned" || defect "$(cat "$work/owned") is not root's"
    local program unit path inode
    for program in airbound airbound-studies airbound-relay airbound-room; do
        has usr/bin/$program 755
        starts "$data/usr/bin/$program" "$(machine "$data/usr/bin/$program")"
    done
    if [ "$(machine "$data/usr/bin/airbound-room")" = "$(machine "$(readlink -f "$(command -v bash)")")" ]; then room; fi
    for path in usr/share/airbound/room-client/client.js etc/airbound/agent.toml etc/airbound/relay.toml etc/logrotate.d/airbound usr/share/doc/airbound/copyright; do
        has $path 644
    done
    for program in airbound airbound-relay; do
        for path in bash-completion/completions/$program zsh/vendor-completions/_$program fish/vendor_completions.d/$program.fish; do
            has usr/share/$path 644
        done
        bash -n "$data/usr/share/bash-completion/completions/$program" || defect "bash cannot read the completions of $program"
    done
    for path in "$data"/usr/share/man/man1/*.gz; do gzip -t "$path" || defect "${path##*/} is damaged"; done
    for path in airbound airbound-agent-run airbound-relay airbound-relay-edge airbound-relay-client; do
        [ -s "$data/usr/share/man/man1/$path.1.gz" ] || defect "the man page $path.1 is missing"
    done
    gzip -dc "$data/usr/share/man/man1/airbound-relay.1.gz" | grep 'airbound.*relay.*edge(1)' >/dev/null || defect "the man page airbound-relay.1 is not the relay's own"
    for unit in airbound-agent airbound-relay; do
        has lib/systemd/system/$unit.service 644
        program=$(sed -n 's/^ExecStart=\([^ ]*\).*/\1/p' "$data/lib/systemd/system/$unit.service")
        [ -x "$data$program" ] || defect "$unit.service starts $program, which is not in the package"
        unit "$data/lib/systemd/system/$unit.service"
    done
    grep -q '^Files: lab/radio/\*$' "$data/usr/share/doc/airbound/copyright" && grep -q '^License: GPL-2.0$' "$data/usr/share/doc/airbound/copyright" ||
        defect "copyright does not name the GPL part"
    grep -q 'Permission is hereby granted' "$data/usr/share/doc/airbound/copyright" || defect "copyright lacks the text of the MIT licence"
    conffiles
    (cd "$data" && md5sum --quiet -c "$control/md5sums") || defect "md5sums do not match"
    grep -q '^Depends: .*nftables' "$control/control" || defect "it does not depend on nftables"
    if command -v logrotate >/dev/null; then
        mkdir -p "$work/log/airbound"
        sed "s#/var/log/#$work/log/#g" "$data/etc/logrotate.d/airbound" >"$work/rotation"
        chmod 0644 "$work/rotation"
        echo line >"$work/log/airbound/agent.jsonl"
        inode=$(stat -c %i "$work/log/airbound/agent.jsonl")
        logrotate --force --state "$work/state" "$work/rotation" || defect "logrotate fails"
        [ "$(ls "$work/log/airbound" | wc -l)" = 2 ] && [ ! -s "$work/log/airbound/agent.jsonl" ] || defect "logrotate does not rotate the journal"
        # The agent goes on writing into the file that it has open.
        [ "$(stat -c %i "$work/log/airbound/agent.jsonl")" = "$inode" ] || defect "logrotate replaces the journal that the agent has open"
    else
        echo "check: $package: rotation is not tried: there is no logrotate" >&2
    fi

    local units="airbound-agent.service airbound-relay.service"
    script postinst configure ""
    asked daemon-reload || defect "an installation does not load the units"
    asked "try-restart $units" && defect "an installation restarts services"
    script postinst configure 0.0.9
    asked "try-restart $units" || defect "an upgrade does not restart the services that run"
    script prerm upgrade 0.2.0
    asked "disable --now $units" && defect "an upgrade disables the services"
    script prerm remove
    asked "disable --now $units" || defect "a removal leaves the services running"
    mkdir -p "$work/log/airbound-relay"
    script postrm remove
    [ -d "$work/log/airbound-relay" ] || defect "a removal deletes journals"
    script postrm purge
    [ -d "$work/log/airbound-relay" ] && defect "purging leaves journals"
}

# A unit, by systemd; of the relay's also what root runs for it.
unit() {
    if command -v systemd-analyze >/dev/null; then
        systemd-analyze verify "$1" 2>&1 | grep -v 'is not executable' | grep . >&2 && defect "systemd finds faults in ${1##*/}"
    else
        echo "check: SKIPPED: ${1##*/} is not verified: there is no systemd-analyze" >&2
    fi
    case $1 in *relay*) ;; *) return ;; esac
    if [ "$(id -u)" = 0 ]; then relay_unit "$1"; else echo "check: SKIPPED: what root runs for ${1##*/} is tried by root only" >&2; fi
}

# It makes a copy of the keys, and follows no link from a folder of the unit's user.
relay_unit() {
    local unit=$1 owner=65534 command phase folder
    mkdir -p "$work/unit/run" "$work/unit/logs/airbound-relay" "$work/unit/etc"
    chmod 755 "$work" "$work/unit" "$work/unit/run" "$work/unit/logs"
    # Each folder that systemd gives to the unit's user.
    sed -n 's/^\(Runtime\|Logs\|State\|Cache\)Directory=//p' "$unit" | while read -r folder; do mkdir -p "$work/unit/run/$folder" "$work/unit/logs/$folder"; done
    chown -R "$owner" "$work/unit/logs"/* && find "$work/unit/run" -mindepth 1 -exec chown "$owner" {} +
    echo secret >"$work/unit/etc/relay.keys"
    echo root >"$work/unit/victim"
    chmod 600 "$work/unit/etc/relay.keys" "$work/unit/victim"
    for phase in ExecStartPre ExecReload; do
        # The unit's user plants links wherever it may write.
        find "$work/unit/run" "$work/unit/logs" -type d -uid "$owner" -exec ln -sfn "$work/unit/victim" {}/new \; -exec ln -sfn "$work/unit/victim" {}/keys \;
        command=$(sed -n "s#^$phase=+##p" "$unit" | sed "s#%t#$work/unit/run#g; s#%L#$work/unit/logs#g; s#/etc/airbound#$work/unit/etc#g")
        [ -n "$command" ] || { defect "${unit##*/} has no $phase"; continue; }
        (umask 022 && eval "$command") || defect "$phase of ${unit##*/} fails"
        [ "$(cat "$work/unit/victim") $(stat -c %u "$work/unit/victim")" = "root 0" ] || defect "$phase of ${unit##*/} writes through a link"
        folder=$(sed -n 's/^ExecStart=.* --keys %t\/\([^ ]*\)\/keys .*/\1/p' "$unit")
        [ "$(cat "$work/unit/run/$folder/keys") $(stat -c %u:%a "$work/unit/run/$folder/keys")" = "secret $owner:600" ] || defect "$phase of ${unit##*/} makes no copy for its user alone"
        [ "$(stat -c %u:%a "$work/unit/run/$folder")" = 0:711 ] || defect "the folder of the keys is not root's own"
    done
    command=$(sed -n 's#^ExecStopPost=+##p' "$unit" | sed "s#%t#$work/unit/run#g")
    eval "$command"
    [ -e "$work/unit/run/$folder/keys" ] && defect "a copy of the keys stays"
}

# The service as procd is told of it: each call of its functions is a line.
service() {
    local init=$data/etc/init.d/airbound
    sh -n "$init" || defect "init.d/airbound is no shell script"
    mkdir -p "$work/etc"
    : >"$work/etc/agent.toml"
    # OWNER: the user of all folders.
    started() (
        config_get_bool() { eval "$1=1"; }
        config_get() { case $3 in config) eval "$1=$work/etc/agent.toml" ;; journal) eval "$1=$work/logs/agent.jsonl" ;; *) eval "$1=$4" ;; esac; }
        config_load() { :; }
        config_foreach() { "$1" main; }
        logger() { :; }
        chown() { echo chown "$@"; }
        mkdir() { :; }
        id() { echo 473; }
        owner=$1
        ls() { echo "drwxr-xr-x 2 $owner $owner 40"; }
        for call in open_instance close_instance set_param add_jail add_jail_mount add_jail_mount_rw; do
            eval "procd_$call() { echo $call \"\$@\"; }"
        done
        . "$init"
        start_service
    )
    started 473 >"$work/procd"
    says "$work/procd" "chown airbound:airbound $work/logs"
    mkdir -p "$work/logs"
    started 473 | grep -F "chown airbound:airbound $work/logs" >/dev/null && defect "a folder that exists is given to the agent"
    started 0 >"$work/foreign"
    grep -q open_instance "$work/foreign" && defect "the agent starts with a journal in a folder of root's"
    local line
    for line in "open_instance main" "close_instance" "set_param user airbound" "set_param group airbound" "set_param no_new_privs 1" \
        "set_param capabilities /etc/capabilities/airbound.json" "set_param respawn 3600 1 0" \
        "set_param command /usr/bin/airbound agent run --config $work/etc/agent.toml --journal $work/logs/agent.jsonl" \
        "add_jail_mount_rw $work/logs /var/run/airbound"; do
        says "$work/procd" "$line"
    done
    grep -q '^add_jail airbound' "$work/procd" || defect "the service has no jail"
}

openwrt() {
    data=$work/data control=$work/control
    mkdir -p "$work/outer" "$data" "$control"
    tar xzf "$package" -C "$work/outer" || { defect "tar cannot read it"; return; }
    [ "$(cat "$work/outer/debian-binary")" = 2.0 ] || defect "debian-binary is not 2.0"
    local part name architecture elf
    for part in data control; do
        tar xzf "$work/outer/$part.tar.gz" -C "$work/$part" || { defect "$part.tar.gz cannot be read"; return; }
        tar tzvf "$work/outer/$part.tar.gz" --numeric-owner | awk '$2 != "0/0" { exit 1 }' || defect "$part.tar.gz has files of others than root"
    done
    has usr/bin/airbound 755
    has etc/init.d/airbound 755
    has etc/config/airbound 600
    has etc/capabilities/airbound.json 644
    has etc/airbound/agent.toml 644
    has usr/share/licenses/airbound/copyright 644
    conffiles
    says "$control/control" "Require-User: airbound=473:airbound=473"
    says "$control/control" "Depends: nftables, kmod-nft-queue, kmod-nfnetlink-queue, procd-ujail"
    for name in postinst prerm; do
        sh -n "$control/$name" || defect "$name is no shell script"
        mkdir -p "$work/root/lib"
        echo "default_$name() { echo default_$name; }" >"$work/root/lib/functions.sh"
        [ "$(IPKG_INSTROOT=$work/root sh "$control/$name")" = "default_$name" ] || defect "$name does not call OpenWrt's default_$name"
    done
    architecture=$(sed -n 's/^Architecture: //p' "$control/control")
    elf=$(machine "$data/usr/bin/airbound")
    case $architecture:$elf in
    x86_64:62 | aarch64_*:183 | arm_*:40) starts "$data/usr/bin/airbound" "$elf" ;;
    *) defect "its program is for another processor than $architecture (ELF machine $elf)" ;;
    esac
    service
}

[ $# -gt 0 ] || { echo "check: PACKAGE is missing, such as target/debian/airbound_0.1.0_amd64.deb" >&2; exit 2; }
for package in "$@"; do
    [ -f "$package" ] || { echo "check: there is no package $package" >&2; exit 2; }
    package=$(readlink -f "$package")
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    before=$defects
    case $package in
    *.deb) debian ;;
    *.ipk) openwrt ;;
    *.service) unit "$package" ;;
    *) echo "check: $package is neither .deb, .ipk nor .service" >&2; exit 2 ;;
    esac
    [ "$defects" = "$before" ] && echo "$package: no defects"
    rm -rf "$work"
done
[ "$defects" = 0 ]
