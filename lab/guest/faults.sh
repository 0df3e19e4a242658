# Traffic under faults: each case starts an agent, a stream of 40 Mbit/s and a ping every 10 ms to station 1. The studies read the
# lines that begin with "fault" (studies/src/lab/faults.rs).

arguments="--iface wlan0 --protect icmp --p95 20ms"

# The cases to try, all without a name.
wanted() { [ -z "$only" ] || case " $only " in *" $1 "*) ;; *) false ;; esac; }
has_rules() { nft list ruleset | grep -q "queue"; }
worker() { grep -l -- --worker /proc/[0-9]*/cmdline 2>/dev/null | grep -v "/$$/" | head -n 1 | cut -d / -f 3; }
counted() { airbound --json agent status --once 2>/dev/null | tr ',{' '\n\n' | sed -n "s/^ *\"$1\": *\([0-9]*\).*/\1/p" | head -n 1; }
held() { counted held; }
connect() {
    for try in $(seq 50); do
        ip netns exec "sta$1" iw dev "wlan$1" link | grep -q Connected && break
        [ $((try % 10)) != 1 ] || ip netns exec "sta$1" iw dev "wlan$1" connect airbound 5180
        sleep 0.1
    done
}

begin() {
    sh -c "exec airbound agent run $arguments --journal /run/journal" >/run/agent.txt 2>&1 </dev/null &
    agent=$!
    for try in $(seq 50); do has_rules && break; sleep 0.1; done
    had_rules=no
    has_rules && had_rules=yes
    ip netns exec sta1 iperf3 -s -1 -D >/dev/null
    sleep 0.3
    ip netns exec server timeout $((${seconds:-6} + 3)) iperf3 -c 10.0.0.11 -u -b "${load:-40M}" -l 1400 -t "${seconds:-6}" --connect-timeout 2000 >/run/load.txt 2>&1 &
    stream=$!
    sleep 0.5
    # busybox measures by a monotonic clock.
    ip netns exec server timeout $((${seconds:-6} + 3)) /applets/ping -i 0.01 -c "${count:-450}" -W 1 "${pinged:-10.0.0.11}" >/run/pings.txt 2>&1 &
    pings=$!
    sleep 1.5
}

# Begins with bursts, and waits until packets of one are held.
begin_held() {
    load=40M/100; begin; load=40M
    for try in $(seq 50); do before=$(held); [ "${before:-0}" -lt 20 ] || break; done
}

# fault NAME OUTAGE_MS SLOWEST_MS PINGS_LOST DATAGRAMS_LOST DATAGRAMS AGENT RULES_BEFORE RULES_AFTER NOTE
end() {
    wait $pings
    state=alive
    kill -0 $agent 2>/dev/null || { wait $agent; state="ended:$?"; }
    state=${trouble:-$state}; trouble=
    after=no
    has_rules && after=yes
    wait $stream
    kill $agent 2>/dev/null
    wait $agent 2>/dev/null
    left=removed
    has_rules && left=left
    killall iperf3 2>/dev/null
    # The outage is the longest run of pings without a reply.
    sed -n 's/.*seq=\([0-9]*\) ttl=.*time=\([0-9.]*\) ms.*/\1 \2/p' /run/pings.txt | sort -n | awk -v name="$1" -v most="${count:-450}" '
        BEGIN { last = -1 }
        $1 > last + 1 && ($1 - last - 1) * 10 > gap { gap = ($1 - last - 1) * 10 }
        { if (!seen[$1]++) count++; last = $1; if ($2 > slowest) slowest = $2 }
        END { if ((most - 1 - last) * 10 > gap) gap = (most - 1 - last) * 10;
              printf "fault %s %d %.1f %d ", name, gap, slowest, most - count }'
    datagrams=$(sed -n 's/.* \([0-9]*\)\/\([0-9]*\) (.*receiver.*/\1 \2/p' /run/load.txt | tail -n 1)
    echo "${datagrams:-unknown unknown} $state $had_rules $after $left $2"
}

# Reference: no fault. Most packets of the load go through without being held, but for that of `begin_held`.
if wanted nothing; then
    begin; end nothing
fi

# The worker, which holds packets, is killed under load.
if wanted killed; then
    begin_held; kill -9 "$(worker)"; end killed "$before packets held before"
fi

# Supervisor and worker are killed: the rules remain, packets bypass them, and the next start takes them over.
if wanted all-killed; then
    begin_held; kill -9 $agent "$(worker)"; end all-killed "$before packets held before"
    nft list ruleset | grep -q queue && echo "left behind: rules, as expected after kill -9 of both"
    sh -c "exec airbound agent run $arguments --journal /run/journal" >/run/agent.txt 2>&1 </dev/null &
    again=$!
    sleep 2; kill $again; wait $again
    has_rules && echo "next-start left" || echo "next-start removed"
fi

# A light stream goes through without being held, and all of the agent is killed meanwhile.
if wanted through; then
    load=2M; begin; sleep 1
    echo "went $(counted through) $(counted arrived)"
    kill -9 $agent "$(worker)"
    end through
    nft delete table inet airbound_wlan0; load=40M
fi

# The supervisor is killed: the worker releases all packets, removes the rules and exits.
if wanted parent-killed; then
    begin; kill -9 $agent; end parent-killed
fi

# The worker hangs.
if wanted hangs; then
    begin; kill -STOP "$(worker)"; end hangs
fi

# The agent is asked to end while it holds packets.
if wanted asked-to-end; then
    begin_held; kill -TERM $agent; end asked-to-end "$before packets held before"
fi

# A second agent for the same interface is refused, and the first goes on.
if wanted second-agent; then
    begin
    airbound agent run $arguments --journal /run/second >/run/second.txt 2>&1 </dev/null
    second="the second ended with $?"
    end second-agent "$second"
fi

# 15 Mbit/s go to receivers that are not associated, as of a bridge that floods unknown addresses.
if wanted frames-to-nobody; then
    begin
    nobodies=""
    for nobody in $(seq 14); do
        ip neigh replace "10.0.0.$((100 + nobody))" lladdr "02:00:00:00:99:$(printf %02x $nobody)" dev wlan0 nud permanent
        ip netns exec server timeout 6 /applets/ping -i 0.01 -c 450 -W 1 -s 1400 "10.0.0.$((100 + nobody))" >/dev/null 2>&1 &
        nobodies="$nobodies $!"
    done
    end frames-to-nobody
    for nobody in $nobodies; do wait $nobody; done
fi

# The interface joins a bridge and leaves it: packets are held at another hook meanwhile.
if wanted bridge-joined; then
    begin
    ip link add br9 type bridge; ip link set wlan0 master br9; sleep 0.3
    joined=$(nft list ruleset | grep -c 'chain bridged')
    ip link set wlan0 nomaster; ip link del br9; sleep 0.3
    routed=$(nft list ruleset | grep -c 'chain routed')
    end bridge-joined "bridged rules meanwhile: $joined, routed ones after it: $routed"
fi

# Another station disconnects and associates again.
if wanted station-leaves; then
    begin; ip netns exec sta2 iw dev wlan2 disconnect; sleep 1; connect 2; end station-leaves
fi

# The interface goes down and up; hostapd resumes on its own, stations associate again.
if wanted interface-down; then
    begin; ip link set wlan0 down; sleep 0.3; ip link set wlan0 up; ip addr add 10.0.0.1/24 dev wlan0 2>/dev/null; sleep 0.2; connect 1; connect 2; end interface-down
fi

# hostapd is restarted.
if wanted hostapd-restarted; then
    begin; killall hostapd; sleep 0.3; hostapd -B /lab/hostapd.conf >/run/hostapd.log 2>&1; ip addr add 10.0.0.1/24 dev wlan0 2>/dev/null; sleep 0.2; connect 1; connect 2; end hostapd-restarted
fi

# Another program removes all rules.
if wanted rules-flushed; then
    begin; nft flush ruleset; end rules-flushed
fi

# The load exceeds the radio's capacity and the agent's limit of held packets.
if wanted overload; then
    load=90M; begin; end overload; load=40M
fi

# The wall clock jumps forwards and back.
if wanted clock-jumps; then
    begin; date -s "@$(($(date +%s) + 3600))" >/dev/null; sleep 1; date -s "@$(($(date +%s) - 7200))" >/dev/null; end clock-jumps
fi

state() { airbound --json agent status --once 2>/dev/null | sed -n 's/^ *"state": "\([a-z]*\)",\{0,1\}$/\1/p' | grep -E 'met|missed|unknown|idle' | head -n 1; }

# flood [ADDRESS INTERFACE]: 90 Mbit/s to station 2 until the case ends; its address stays known, as on a router that has just heard it.
flood() {
    ip neigh replace "${1:-10.0.0.12}" lladdr 02:00:00:00:02:00 dev "${2:-wlan0}" nud permanent
    ip netns exec sta2 iperf3 -s -1 -D -p 5400 >/dev/null
    sleep 0.2
    ip netns exec server timeout 8 iperf3 -c "${1:-10.0.0.12}" -p 5400 -u -b 90M -l 1400 -t 5 >/dev/null 2>&1 &
    sleep 0.3
}
# The state of the protected rule in each of three seconds.
watch() { echo "kept $1 $(for second in 1 2 3; do state; sleep 1; done | tr '\n' ' ')"; }

# 90 Mbit/s to a station that was asleep, and to one that has left.
if wanted sleeping-station; then
    begin
    ip netns exec sta2 iw dev wlan2 set power_save on; sleep 0.7
    flood; watch sleeping-station; end sleeping-station
    ip netns exec sta2 iw dev wlan2 set power_save off
    ip neigh del 10.0.0.12 dev wlan0
fi
if wanted departed-station; then
    begin; flood; ip netns exec sta2 iw dev wlan2 disconnect; watch departed-station; end departed-station; connect 2
    ip neigh del 10.0.0.12 dev wlan0
fi

# The protected flow is of IPv6.
if wanted ipv6; then
    echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
    ip -6 addr add fd00:1::1/64 dev wire nodad; ip -6 addr add fd00::1/64 dev wlan0 nodad
    ip netns exec server ip -6 addr add fd00:1::2/64 dev wire0 nodad
    ip netns exec server ip -6 route add fd00::/64 via fd00:1::1
    ip netns exec sta1 ip -6 addr add fd00::11/64 dev wlan1 nodad
    ip netns exec sta1 ip -6 route add fd00:1::/64 via fd00::1
    pinged=fd00::11; begin; watch ipv6; end ipv6; pinged=
fi

# The wire is a VLAN, a port of a bridge together with the interface.
if wanted vlan; then
    load_modules vlan
    ip link add link wire name wire.10 type vlan id 10; ip link set wire.10 up
    ip netns exec server ip link add link wire0 name wire0.10 type vlan id 10
    ip netns exec server ip link set wire0.10 up; ip netns exec server ip addr add 10.0.0.200/24 dev wire0.10
    ip netns exec server ip route add 10.0.0.11 dev wire0.10 src 10.0.0.200
    ip link add br9 type bridge; ip link set br9 up; ip link set wlan0 master br9; ip link set wire.10 master br9
    begin; watch vlan; end vlan
    ip netns exec server ip link del wire0.10; ip link set wlan0 nomaster; ip link del br9; ip link del wire.10; sleep 0.3
fi

# Flow offload: packets of established flows skip the hook of the agent's rules. The protected stream is among them.
if wanted flow-offload; then
    usual=$arguments
    load_modules offload
    arguments="--iface wlan0 --protect 'udp dport 5201' --p95 20ms"
    # Connections have to be tracked from their beginning.
    nft -f - <<END
table inet shortcut {
    flowtable fast {
        hook ingress priority 0
        devices = { wire, wlan0 }
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
    echo "unseen $before $(state) $(grep -c '"unseen-traffic"' /run/journal)"
    nft delete table inet shortcut
    end flow-offload
    arguments=$usual
fi

# A protected stream beside seven downloads; its demand is changed from 25 to 20 and 15 ms (LAST-PQ, runtime control).
if wanted runtime-control; then
    usual=$arguments
    arguments="--iface wlan0 --protect 'udp dport 5201' --p95 25ms"
    load=5M; seconds=18; begin
    downloads=""
    for port in 1 2 3 4 5 6; do
        station=$((port < 4 ? 1 : port - 2))
        ip netns exec "sta$station" iperf3 -s -1 -D -p "530$port" >/dev/null
    done
    sleep 0.2
    for port in 1 2 3 4 5 6; do
        station=$((port < 4 ? 1 : port - 2))
        ip netns exec server timeout 20 iperf3 -c "10.0.0.1$station" -p "530$port" -t 14 >/dev/null 2>&1 &
        downloads="$downloads $!"
    done
    # The answer to a change holds the record of the demand before.
    changed() { airbound --json agent set --rule protect-1 "$@" 2>&1 | tr -d ' \n'; echo; }
    sleep 4.5
    echo "demand 25 $(changed --p95 20ms)"; sleep 4.5
    echo "demand 20 $(changed --p95 15ms)"; sleep 4.5
    # Refused in one sentence; the demand stays.
    wrong=$(airbound agent set --rule protect-1 --p95 1us 2>&1); echo "wrong-demand $? $wrong"
    echo "demand 15 $(changed --latency 15ms)"
    end runtime-control
    for download in $downloads; do wait $download; done
    arguments=$usual; load=40M; seconds=6
fi
