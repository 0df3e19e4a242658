#!/bin/sh
# The simulator's container of quic-network-simulator: what the client's network (eth0) and the server's (eth1) send to each other crosses
# the air of a scenario. SCENARIO is what follows `airbound emulate`: "my-flat --station laptop --scheme linux".
set -eu

logs=${LOGS:-/logs}
scenario=${SCENARIO:-hello}

# The emulator needs whole packets, no super-packets.
for device in eth0 eth1; do
    ethtool -K "$device" gro off >/dev/null 2>&1 || true
done

# The kernel would forward packets beside the air.
closed() {
    [ "$(cat /proc/sys/net/ipv4/ip_forward)" = 0 ] && [ "$(cat /proc/sys/net/ipv6/conf/all/forwarding 2>/dev/null || echo 0)" = 0 ]
}
if ! closed; then
    echo 0 2>/dev/null >/proc/sys/net/ipv4/ip_forward || true
    echo 0 2>/dev/null >/proc/sys/net/ipv6/conf/all/forwarding || true
fi
if ! closed; then
    for tables in iptables ip6tables; do
        for pair in "eth0 eth1" "eth1 eth0"; do
            if ! "$tables" -A FORWARD -i "${pair% *}" -o "${pair#* }" -j DROP; then
                echo "sim: the kernel forwards between eth0 and eth1, and $tables cannot forbid it; add the capability NET_ADMIN" >&2
                exit 1
            fi
        done
    done
fi

# The interop runner reads what passed on both sides.
if command -v tcpdump >/dev/null; then
    tcpdump -i eth0 -U -w "$logs/trace_node_left.pcap" 2>/dev/null &
    tcpdump -i eth1 -U -w "$logs/trace_node_right.pcap" 2>/dev/null &
fi

echo "Using scenario: $scenario"
# Several words, as the simulator's own scenarios have.
# shellcheck disable=SC2086
exec airbound emulate $scenario --between eth0 eth1 --ready 57832 --out "$logs/airbound"
