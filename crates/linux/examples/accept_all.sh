# Processor time of a packet, in all and in user space, of accept_all and of the agent with the arguments of `agent`: one stream of UDP at
# the rate `rate`, or of TCP (rate=tcp), to the first station. See accept_all.rs.
mkdir -p /run/group && mount -t cgroup2 none /run/group
rate=${rate:-2M}
stream="-u -b $rate -l 1200"
[ "$rate" != tcp ] || stream=
packets() {
    ip netns exec sta1 cat /proc/net/snmp | awk -v tcp="$([ "$rate" = tcp ] && echo 1)" '
        !tcp && $1 == "Udp:" && $2 ~ /[0-9]/ { print $2 }
        tcp && $1 == "Tcp:" && $11 ~ /[0-9]/ { print $11 }'
}
spent() { awk '{ a[$1] = $2 } END { print a["usage_usec"], a["user_usec"] }' "/run/group/$1/cpu.stat"; }
# measure NAME COMMAND...: the stream begins 3 s after the command, and is looked at for 15 s.
measure() {
    name=$1; shift
    mkdir "/run/group/$name"
    sh -c 'echo $$ >"$1" && shift && exec "$@"' sh "/run/group/$name/cgroup.procs" "$@" >"/run/$name.txt" 2>&1 &
    program=$!
    sleep 3
    # What the program takes without packets.
    idle=$(spent "$name"); sleep 5; idle="$idle $(spent "$name")"
    ip netns exec sta1 iperf3 -s -1 -D >/dev/null; sleep 0.3
    ip netns exec server iperf3 -c 10.0.0.11 $stream -t 18 >/run/load.txt 2>&1 &
    sender=$!
    sleep 1.5
    begun="$(packets) $(spent "$name")"; sleep 15
    echo "$name $begun $(packets) $(spent "$name") $idle" | awk '{
        printf "%s: %d packets, %.1f us each, %.1f of it in user space; %.0f us a second without packets\n",
            $1, $5 - $2, ($6 - $3) / ($5 - $2), ($7 - $4) / ($5 - $2), ($10 - $8) / 5 }'
    wait $sender
    kill $program 2>/dev/null; wait $program
    tail -n 20 "/run/$name.txt"
}
[ -n "$agent" ] || agent="--scheme law --protect 'udp dport 5201' --p95 40ms"
measure agent sh -c "exec airbound agent run --iface wlan0 $agent"
measure accept_all /files/accept_all wlan0 30
