# Networks beyond a lone access point that routes: further cases of faults.sh, which comes before this file.

# network NAME BYTE: another network of the access point's radio.
network() {
    iw phy phy0 interface add "$1" type managed addr "02:00:00:00:00:0$2"
    sed "s/^interface=.*/interface=$1/; s/^ssid=.*/ssid=$1/" /lab/hostapd.conf >"/run/$1.conf"
    hostapd -B -P "/run/$1.pid" "/run/$1.conf" >"/run/$1.log" 2>&1 || echo "hostapd of $1 failed: $(tail -n 1 "/run/$1.log")"
}
no_network() { kill "$(cat "/run/$1.pid")"; sleep 0.3; iw dev "$1" del; }
# join STATION NETWORK
join() {
    ip netns exec "sta$1" iw dev "wlan$1" disconnect 2>/dev/null
    for try in $(seq 60); do
        ip netns exec "sta$1" iw dev "wlan$1" link | grep -q Connected && return
        [ $((try % 15)) != 1 ] || ip netns exec "sta$1" iw dev "wlan$1" connect "$2" 5180
        sleep 0.1
    done
    echo "station $1 did not join $2"; trouble=unjoined
}
# Ends hostapd, which says good-bye to its stations first.
no_hostapd() { killall hostapd; for try in $(seq 50); do pidof hostapd >/dev/null || break; sleep 0.1; done; }
# Interface and a VLAN of the wire are ports of a bridge; the server is 10.0.0.200.
bridge() {
    [ -d /proc/net/vlan ] || load_modules vlan
    ip link add link wire name wire.10 type vlan id 10; ip link set wire.10 up
    ip netns exec server ip link add link wire0 name wire0.10 type vlan id 10
    ip netns exec server ip link set wire0.10 up; ip netns exec server ip addr add 10.0.0.200/24 dev wire0.10
    for host in 11 12 50; do ip netns exec server ip route add "10.0.0.$host" dev wire0.10 src 10.0.0.200; done
    ip link add br9 type bridge; ip link set br9 up; ip link set wlan0 master br9; ip link set wire.10 master br9
}
no_bridge() {
    ip netns exec server ip link del wire0.10; ip link set wlan0 nomaster; ip link del br9; ip link del wire.10; sleep 0.3
}
again() { sh -c "exec airbound agent run $arguments --journal /run/journal" >/run/agent.txt 2>&1 </dev/null & agent=$!; }
usual=$arguments

# The agent is ended and started again, as an upgrade of the package does.
if wanted restarted; then
    begin_held; kill -TERM $agent; wait $agent; again; end restarted "$before packets held before"
fi

# The firewall is loaded anew, five times, as OpenWrt's does: its tables are emptied and filled.
firewall() {
    nft -f - <<END
table inet fw4
flush table inet fw4
table inet fw4 {
    chain forward {
        type filter hook forward priority filter; policy accept;
        ct state established,related accept
    }
}
END
}
if wanted firewall-reloaded; then
    firewall
    begin; for time in 1 2 3 4 5; do firewall; sleep 0.3; done; end firewall-reloaded
    nft delete table inet fw4
fi

# Two networks of one radio, in one agent; 90 Mbit/s go to a station of the second.
if wanted two-networks; then
    network guest 1; ip addr add 10.0.1.1/24 dev guest
    ip netns exec sta2 ip addr add 10.0.1.12/24 dev wlan2
    join 2 guest; ip netns exec sta2 ip route replace default via 10.0.1.1
    arguments="${of_two_networks:---iface wlan0 --iface guest} --protect icmp --p95 20ms"
    begin; flood 10.0.1.12 guest; watch two-networks; end two-networks
    arguments=$usual
    no_network guest; join 2 airbound
    ip netns exec sta2 ip addr del 10.0.1.12/24 dev wlan2; ip netns exec sta2 ip route replace default via 10.0.0.1
fi

# The protected station roams from one network to another, both in the bridge.
if wanted roaming; then
    bridge; network guest 1; ip link set guest master br9
    arguments="--iface wlan0 --iface guest --protect icmp --p95 20ms"
    pinged=10.0.0.12; count=900; seconds=10
    begin; join 2 guest; watch roaming; end roaming
    arguments=$usual; pinged=; count=450; seconds=6
    no_network guest; no_bridge; join 2 airbound
fi

# Two radios, each with an agent. The second agent starts and ends meanwhile; the first loses nothing.
if wanted two-radios; then
    ip netns exec sta2 iw phy phy2 set netns 1; sleep 0.2
    sed "s/^interface=.*/interface=wlan2/; s/^ssid=.*/ssid=second/" /lab/hostapd.conf >/run/second.conf
    ip addr flush dev wlan2
    hostapd -B -P /run/second.pid /run/second.conf >/run/second.log 2>&1 || tail -n 2 /run/second.log
    ip addr add 10.0.2.1/24 dev wlan2
    ip netns exec sta3 ip addr add 10.0.2.13/24 dev wlan3
    join 3 second; ip netns exec sta3 ip route replace default via 10.0.2.1
    load=20M; begin
    airbound agent run --iface wlan2 --protect "udp dport 5400" --p95 20ms --metrics 127.0.0.1:9479 --journal /run/second.journal \
        >/run/second.txt 2>&1 </dev/null &
    other=$!
    ip netns exec sta3 iperf3 -s -1 -D -p 5400 >/dev/null; sleep 0.3
    ip netns exec server timeout 8 iperf3 -c 10.0.2.13 -p 5400 -u -b 5M -l 1400 -t 3 >/dev/null 2>&1 &
    watch two-radios
    second=$(airbound --json agent status --once --at 127.0.0.1:9479 2>/dev/null | tr ',{' '\n\n' | sed -n 's/^ *"arrived": *\([0-9]*\).*/\1/p' | head -n 1)
    kill -TERM $other; wait $other
    end two-radios "the other ended with $?, after ${second:-no} packets"
    load=40M
    kill "$(cat /run/second.pid)"; sleep 0.3; ip addr flush dev wlan2
    iw phy phy2 set netns name sta2
    ip netns exec sta2 ip link set wlan2 up; ip netns exec sta2 ip addr add 10.0.0.12/24 dev wlan2
    ip netns exec sta2 ip route replace default via 10.0.0.1
    ip netns exec sta3 ip addr del 10.0.2.13/24 dev wlan3; ip netns exec sta3 ip route replace default via 10.0.0.1
    join 2 airbound; join 3 airbound
fi

# WDS: the protected host is behind a station with four addresses, for which hostapd makes an interface while the agent runs.
if wanted wds; then
    bridge
    no_hostapd
    { cat /lab/hostapd.conf; echo "bridge=br9"; echo "wds_sta=1"; } >/run/wds.conf
    hostapd -B /run/wds.conf >/run/wds.log 2>&1 || tail -n 2 /run/wds.log
    connect 1
    ip netns add behind
    ip link add host0 netns behind type veth peer name port0 netns sta2
    ip netns exec behind ip link set host0 up; ip netns exec behind ip addr add 10.0.0.50/24 dev host0
    ip netns exec sta2 sh -c "ip link set wlan2 down; iw dev wlan2 set 4addr on; ip link add br0 type bridge; ip link set br0 up
        ip link set port0 master br0; ip link set port0 up; ip link set wlan2 up; ip link set wlan2 master br0"
    pinged=10.0.0.50; count=900; seconds=10
    # The server asks for the host's address once a second.
    begin; join 2 airbound; sleep 2.4
    rules=$(nft list ruleset | grep -c 'queue flags bypass')
    watch wds; end wds "$rules rules"
    pinged=; count=450; seconds=6
    ip netns exec sta2 sh -c "ip link set wlan2 nomaster; ip link set wlan2 down; iw dev wlan2 set 4addr off; ip link del br0; ip link set wlan2 up"
    ip netns del behind
    no_hostapd; no_bridge
    hostapd -B /lab/hostapd.conf >/run/hostapd.log 2>&1; ip addr add 10.0.0.1/24 dev wlan0 2>/dev/null; sleep 0.2
    for station in 1 2 3 4; do connect $station; done
fi

# Flow offload where the interface is a bridge's port: packets skip the bridge's hooks, too.
if wanted bridge-offload; then
    [ -e /sys/module/nft_flow_offload ] || load_modules offload
    ip link add br9 type bridge; ip link set br9 up; ip link set wlan0 master br9
    ip addr flush dev wlan0; ip addr add 10.0.0.1/24 dev br9
    arguments="--iface wlan0 --protect 'udp dport 5201' --p95 20ms"
    nft -f - <<END
table inet shortcut {
    flowtable fast {
        hook ingress priority 0
        devices = { wire, wlan0, br9 }
    }
    chain established {
        type filter hook forward priority -5
        ct state established counter
    }
}
END
    rm -f /run/journal
    begin
    before=$(state)
    nft add rule inet shortcut established meta l4proto udp flow add @fast
    sleep 2
    echo "unseen-bridged $before $(state) $(grep -c '"unseen-traffic"' /run/journal)"
    nft delete table inet shortcut
    end bridge-offload
    arguments=$usual
    ip link set wlan0 nomaster; ip link del br9; ip addr add 10.0.0.1/24 dev wlan0; sleep 0.3
fi

# The kernel has no type information: the agent reads counters. Its processor time with counters, and with eBPF before.
spent() {
    echo "$(airbound --json agent status --once 2>/dev/null | sed -n "s/^ *\"${1:-cpu}_s\": *\([0-9.]*\).*/\1/p" | head -n 1) $(cut -d ' ' -f 1 /proc/uptime)"
}
share() { echo "$1 $2" | awk '{ printf "%.1f", ($3 - $1) * 100 / ($4 - $2) }'; }
# Ends a run that is a reference alone.
no_row() { end none >/dev/null; }
if wanted counters; then
    begin; first=$(spent); sleep 3; traced=$(share "$first" "$(spent)"); no_row
    echo 'completions = "counters"' >/run/counters.toml
    arguments="--config /run/counters.toml $usual"
    begin; first=$(spent); read=$(spent reading); watch counters; polled=$(share "$first" "$(spent)")
    echo "readings $(share "$read" "$(spent reading)")"
    end counters "$polled % of a processor, $traced % with eBPF"
    arguments=$usual
fi

# One of two networks goes away while packets are held for it, and comes back.
if wanted network-removed; then
    network guest 1; ip addr add 10.0.1.1/24 dev guest
    ip netns exec sta2 ip addr add 10.0.1.12/24 dev wlan2
    join 2 guest; ip netns exec sta2 ip route replace default via 10.0.1.1
    arguments="--iface wlan0 --iface guest --protect icmp --p95 20ms"
    rm -f /run/journal; count=900; seconds=10
    begin; flood 10.0.1.12 guest
    for try in $(seq 50); do before=$(held); [ "${before:-0}" -lt 20 ] || break; done
    kill "$(cat /run/guest.pid)"; iw dev guest del
    watch network-removed
    after=$(held)
    network guest 1
    for try in $(seq 30); do grep -q '"guest".*"up":true' /run/journal && break; sleep 0.1; done
    echo "said $(grep -c '"guest".*"up":false' /run/journal) $(grep -c '"guest".*"up":true' /run/journal) ${after:-unknown}"
    end network-removed "$before packets held before"
    arguments=$usual; count=450; seconds=6
    no_network guest; join 2 airbound
    ip netns exec sta2 ip addr del 10.0.1.12/24 dev wlan2; ip netns exec sta2 ip route replace default via 10.0.0.1
fi

# A service manager, which starts the agent again a second after its end.
manage() {
    sh -c "trap 'kill \$child; wait \$child; exit' TERM; while :; do airbound agent run $arguments --journal /run/journal & child=\$!; wait \$child; sleep 1; done" \
        >/run/agent.txt 2>&1 </dev/null &
    manager=$!
}
# Makes the first network anew, and waits for the agent's rules: `late` is how long that took, in tenths of a second.
first_network() {
    iw phy phy0 interface add wlan0 type managed
    hostapd -B /lab/hostapd.conf >/run/hostapd.log 2>&1
    late=none
    for try in $(seq 40); do has_rules && late=$try && break; sleep 0.1; done
    ip addr add 10.0.0.1/24 dev wlan0
}

# Whether packets of both networks are held.
has_both() { nft list ruleset | grep queue >/run/queueing; grep -q guest /run/queueing && grep -q wlan0 /run/queueing; }
# The time since boot in hundredths of a second.
hundredths() { cut -d ' ' -f 1 /proc/uptime | tr -d .; }
# answered NAME SINCE: waits until the demand is met or missed, at most 10 s; the time that this took, and each state on the way.
answered() {
    states=
    for try in $(seq 100); do
        now=$(state)
        [ "${states##* }" = "${now:-silent}" ] || states="$states ${now:-silent}"
        took=$(($(hundredths) - $2))
        case $now in met | missed) break ;; esac
        [ $took -lt 1000 ] || { took=none; break; }
        sleep 0.1
    done
    echo "answered $1 $took$states"
}

# All networks go away while packets are held, and come back.
if wanted all-removed; then
    network guest 1
    arguments="--iface wlan0 --iface guest --protect icmp --p95 20ms"
    rm -f /run/journal; count=1700; seconds=18
    begin_held
    no_hostapd; iw dev wlan0 del; iw dev guest del
    gone=none
    for try in $(seq 40); do has_rules || { gone=$try; break; }; sleep 0.1; done
    wait $agent; code=$?
    manage; agent=$manager
    sleep 1.5
    first_network; network guest 1
    connect 1; back=$(hundredths)
    for station in 2 3 4; do connect $station; done
    for try in $(seq 30); do has_both && break; sleep 0.1; done
    echo "vanished $gone $code $late $(has_both && echo both || echo one)"
    # Packets that pass before the agent knows where they go make the demand unknown first.
    answered all-removed "$back"
    watch all-removed; end all-removed "$before packets held before"
    arguments=$usual; count=450; seconds=6
    no_network guest
fi

# The interface is not there yet when the agent is started; a service manager tries again each second.
if wanted interface-late; then
    no_hostapd; iw dev wlan0 del
    manage
    sleep 2.5
    first_network
    echo "late $late"
    kill $manager; wait $manager
    echo "later $(has_rules && echo left || echo removed)"
fi
