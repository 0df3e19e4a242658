#!/bin/busybox sh
# The init program of the laboratory's machine: sets up the scenario's network and serves the machine's purpose. Settings of the
# machine are in /lab/settings (crates/lab/src/host/init.rs).

# busybox's applets come after the full programs.
export PATH=/bin:/applets
/bin/busybox --install -s /applets
# busybox's shell prefers its own applets.
cat >/lab/profile <<'END'
ip() { /bin/ip "$@"; }
tc() { /bin/tc "$@"; }
ping() { /bin/ping "$@"; }
END
. /lab/profile
. /lab/settings

fail() {
    echo "lab: failed: $*"
    tail -n 5 /run/*.log 2>/dev/null
    poweroff -f
}

load_modules() {
    while read -r module; do insmod "/modules/$module.ko" || fail "module $module"; done <"/modules/$1"
}

# NFQUEUE for the agent.
load_netfilter() {
    [ -n "$bridged" ] || load_modules bridge
    load_modules agent
}

mount_file_systems() {
    mount -t proc proc /proc
    mount -t sysfs sysfs /sys
    mount -t devtmpfs dev /dev
    mount -t tmpfs none /run
    mkdir -p /dev/pts /run/netns
    mount -t devpts devpts /dev/pts
    ln -s /run /var/run
    echo 3 >/proc/sys/kernel/printk
    # Excess packets of a station's source are dropped in mac80211's queues, not delayed in the socket.
    echo 16777216 >/proc/sys/net/core/wmem_max
}

start_medium() {
    load_modules order
    insmod /modules/airbound_radio.ko $driver || fail "the driver"
    ip link set lo up
    # The medium has priority over all other programs.
    chrt -f -p 10 $$ || fail "real-time priority"
    airbound lab guest medium >/run/medium.log 2>&1 &
    medium=$!
    chrt -o -p 0 $$
    sleep 0.2
    kill -0 $medium || fail "the medium"
}

start_access_point() {
    if [ -n "$bridged" ]; then
        load_modules bridge
        ip link add br0 type bridge
        ip link set br0 up
        echo bridge=br0 >>/lab/hostapd.conf
    fi
    hostapd -B /lab/hostapd.conf >/run/hostapd.log 2>&1 || fail "hostapd"
    ip netns add server
    ip link add wire type veth peer name wire0 netns server
    ip link set wire up
    ip netns exec server ip link set lo up
    ip netns exec server ip link set wire0 up
    ip netns exec server ip addr add "$server/24" dev wire0
    if [ -n "$bridged" ]; then
        # Two subnets on one link keep the addresses of the routed network.
        ip link set wire master br0
        ip addr add 10.1.0.1/24 dev br0
        ip addr add 10.0.0.1/24 dev br0
        ip netns exec server ip route add 10.0.0.0/24 dev wire0
    else
        ip addr add 10.1.0.1/24 dev wire
        ip addr add 10.0.0.1/24 dev wlan0
        ip netns exec server ip route add default via 10.1.0.1
        echo 1 >/proc/sys/net/ipv4/ip_forward
    fi
}

start_station() {
    ip netns add "sta$1"
    iw phy "phy$1" set netns name "sta$1" || fail "station $1"
    in_station="ip netns exec sta$1"
    $in_station ip link set lo up
    $in_station ip link set "wlan$1" up
    $in_station iw dev "wlan$1" set power_save off 2>/dev/null
    $in_station ip addr add "10.0.0.$((10 + $1))/24" dev "wlan$1"
    if [ -n "$bridged" ]; then
        $in_station ip route add 10.1.0.0/24 dev "wlan$1"
    else
        $in_station ip route add default via 10.0.0.1
    fi
}

authorized() { iw dev wlan0 station dump | grep -c 'authorized:.*yes'; }

associate() {
    for try in $(seq 100); do
        for station in $(seq "$stations"); do
            # A station that missed the beacon scans again.
            [ $((try % 20)) != 1 ] || ip netns exec "sta$station" iw dev "wlan$station" link | grep -q Connected ||
                ip netns exec "sta$station" iw dev "wlan$station" connect airbound 5180
        done
        [ "$(authorized)" = "$stations" ] && break
        sleep 0.1
    done
    [ "$(authorized)" = "$stations" ] || fail "only $(authorized) of $stations stations associated"
    echo "lab: $stations associated after $(cut -d ' ' -f 1 /proc/uptime) s"
    for station in $(seq "$stations"); do
        ip netns exec server ping -c 3 -i 0.2 -W 2 "10.0.0.$((10 + station))" >/run/ping.log ||
            fail "no reply from station $station"
    done
    echo "lab: ping $(tail -n 1 /run/ping.log)"
}

# The stations that save power sleep once nothing has come for 500 ms, the kernel's default.
let_sleep() {
    for station in $sleepers; do
        ip netns exec "sta$station" iw dev "wlan$station" set power_save on || fail "power save of station $station"
    done
}

delay_wire() {
    tc qdisc add dev wire root netem delay "${delay_us}us" limit 10000 || fail "the wire"
    ip netns exec server tc qdisc add dev wire0 root netem delay "${delay_us}us" limit 10000 || fail "the wire"
}

# A control group of the agent, its threads and children counts their CPU time.
start_agent() {
    mkdir -p /run/group
    mount -t cgroup2 none /run/group
    mkdir /run/group/agent
    sh -c 'echo $$ >/run/group/agent/cgroup.procs && exec sh /lab/agent' >/out/agent.txt 2>&1 </dev/null &
    agent=$!
    sleep 1
    check_agent
}

check_agent() {
    kill -0 $agent 2>/dev/null && return
    wait $agent
    agent_failed "exited with code $?"
}

agent_failed() {
    echo "lab: failed: the agent $1; its last output:"
    tail -n 10 /out/agent.txt
    poweroff -f
}

stop_agent() {
    check_agent
    cat /proc/net/netfilter/nfnetlink_queue >/out/agent-queue.txt 2>/dev/null
    airbound --json agent status --once >/out/agent-status.json 2>/run/status.log || rm -f /out/agent-status.json
    kill -TERM $agent
    for try in $(seq 50); do kill -0 $agent 2>/dev/null || break; sleep 0.1; done
    kill -0 $agent 2>/dev/null && agent_failed "does not exit within 5 s of SIGTERM"
    wait $agent || agent_failed "exited with code $?"
    cp /run/agent/summary.json /out/agent-summary.json 2>/dev/null
    ! nft list ruleset | grep -q queue || agent_failed "did not remove its rules"
}

# CPU time of the agent so far in microseconds: total, in user space, in the kernel.
record_cpu_time() { sed -n "s/^\(usage\|user\|system\)_usec /$1 \1 /p" /run/group/agent/cpu.stat >>/out/agent-cpu.txt; }

# Time since boot and idle time in s, and the medium's processor time in ns, so far: the rest is what the machine does for packets.
record_processor() {
    read -r up idle </proc/uptime
    read -r medium_ns rest </proc/$medium/schedstat
    echo "$1 up $up
$1 idle $idle
$1 medium $medium_ns" >>/out/processor.txt
}

# The ends of the scenario's flows, until the scenario or the commands end.
start_flows() {
    nodes=""
    for station in $(seq "$stations"); do
        ip netns exec "sta$station" timeout "$limit_s" airbound lab guest ends "$station" >"/run/ends$station.log" 2>&1 &
        nodes="$nodes $!"
    done
    ip netns exec server timeout "$limit_s" airbound lab guest ends 0 >/run/ends0.log 2>&1 &
    nodes="$nodes $!"
}

wait_flows() { for node in $nodes; do wait "$node" || fail "an endpoint of a flow"; done; }

start_agent_if_any() {
    [ -n "$agent_args" ] || return 0
    load_netfilter
    start_agent
}

# What the kernel knows of stations and channel, then everything to the host.
take_record() {
    for station in $(seq "$stations"); do
        iw dev wlan0 station get "02:00:00:00:$(printf %02x "$station"):00" >"/out/station$station.txt"
    done
    iw dev wlan0 survey dump >/out/survey.txt
    if [ -n "$agent_args" ]; then
        record_cpu_time end
        stop_agent
    fi
    touch /run/stop
    wait "$medium" || fail "the medium"
    echo "lab: played at $(cut -d ' ' -f 1 /proc/uptime) s"
    load_modules late
    for try in $(seq 50); do [ -b "$record" ] && break; sleep 0.1; done
    airbound lab guest pack "$record" >/run/pack.log 2>&1 || fail "the record"
    echo "lab: complete"
}

play() {
    start_agent_if_any
    airbound lab guest zero || fail "the clock"
    echo "lab: begins at $(cat /run/zero) ns"
    [ -z "$agent_args" ] || record_cpu_time begin
    record_processor begin
    start_flows
    wait_flows
    record_processor end
    take_record
}

# The root of the commands: files of the host, the machine's applets, names of all hosts.
furnish_root() {
    mkdir -p /host/proc /host/sys /host/dev /host/tmp /host/run /host/etc /host/applets
    chmod 1777 /host/tmp
    mount -t proc proc /host/proc
    mount -t sysfs sysfs /host/sys
    mount --bind /dev /host/dev
    mkdir -p /host/dev/shm
    cp /bin/busybox /host/applets/busybox
    chroot /host /applets/busybox --install -s /applets
    [ -e /host/bin ] || ln -s /applets /host/bin
    [ -e /host/bin/sh ] || ln -s /applets/sh /host/bin/sh
    for file in hosts passwd group nsswitch.conf resolv.conf; do
        rm -f "/host/etc/$file"
        cp "/lab/etc/$file" "/host/etc/$file"
    done
}

run_commands() {
    furnish_root
    start_agent_if_any
    airbound lab guest commands >/run/commands.log 2>&1 &
    commands=$!
    until [ -f /run/zero ]; do
        kill -0 $commands 2>/dev/null || fail "a server"
        sleep 0.05
    done
    echo "lab: begins at $(cat /run/zero) ns"
    [ -z "$agent_args" ] || record_cpu_time begin
    start_flows
    wait $commands || fail "the commands"
    wait_flows
    take_record
}

mount_file_systems
start_medium
start_access_point
for station in $(seq "$stations"); do start_station "$station"; done
associate
let_sleep
[ "$delay_us" = 0 ] || delay_wire
# The video server learns when a frame has been sent.
[ -z "$frames_over_tcp" ] || ip netns exec server sh -c 'echo 5792 >/proc/sys/net/ipv4/tcp_notsent_lowat'
case $purpose in
play) play ;;
commands) run_commands ;;
shell)
    load_netfilter
    # From here on channels vary as the scenario says.
    airbound lab guest zero || fail "the clock"
    echo "lab: server and sta1, sta2, ... are network namespaces; leave with exit"
    ENV=/lab/profile setsid cttyhack sh
    ;;
command)
    load_netfilter
    airbound lab guest zero || fail "the clock"
    echo "lab: command"
    (. /lab/profile; . /lab/command) </dev/null 2>&1
    # The line feed ends an unfinished line of the command's output.
    printf '\nlab: exit %s\n' $?
    ;;
esac
poweroff -f
