# Causes of stutter, one after another, and what `airbound doctor` says of each. The studies read the lines that begin with "patient"
# (studies/src/lab/patients.rs).
. /lab/profile

wanted() { [ -z "$only" ] || case " $only " in *" $1 "*) ;; *) false ;; esac; }
on() { place=$1; shift; ip netns exec "$place" "$@"; }
for place in sta1 sta2 server; do on $place sh -c 'echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range'; done
echo 0 2147483647 >/proc/sys/net/ipv4/ping_group_range

# Repeats an action until the doctor is done.
acts() { touch /run/acts; while [ -e /run/acts ]; do "$@"; done >/run/acts.txt 2>&1 & }

# patient NAME CAUSE SENTENCE, of the doctor that COMMAND starts.
examine() {
    name=$1; shift
    "$@" --duration 12s --out /run/doctor.html >/run/doctor.json 2>/run/doctor.txt
    rm -f /run/acts
    cause=$(sed -n 's/.*"cause": *"\([a-z-]*\)".*/\1/p' /run/doctor.json | head -n 1)
    sentence=$(sed -n 's/.*"sentence": *"\([^"]*\)".*/\1/p' /run/doctor.json | head -n 1)
    echo "patient $name ${cause:-none} ${sentence:-$(tail -n 1 /run/doctor.txt)}"
    killall iperf3 2>/dev/null
    sleep 2
}
doctor="airbound --json doctor 10.1.0.100"
at_station() { name=$1; shift; examine "$name" ip netns exec sta1 $doctor "$@"; }
at_access_point() { examine "$1" $doctor --iface wlan0 --near "10.0.0.1$2"; }

# load N ...: traffic of station N to the server, by iperf3.
load() {
    number=$1; shift
    on server iperf3 -s -D -p "520$number" >/dev/null
    sleep 0.2
    on "sta$number" iperf3 -c 10.1.0.100 -p "520$number" -t 60 "$@" >"/run/load$number.txt" 2>&1 &
}
scan() { on sta1 iw dev wlan1 scan; sleep "$1"; }
# An iw that waits for the end of its scan may miss it.
away() { iw dev wlan0 scan trigger ap-force; sleep "$1"; }
power_save() { on sta1 iw dev wlan1 set power_save "$1"; }
wire() { on server tc qdisc replace dev wire0 root "$@"; }
well() { on server tc qdisc del dev wire0 root; }

if wanted healthy; then at_station healthy; fi
if wanted healthy-ap; then at_access_point healthy-ap 1; fi
if wanted scan-often; then acts scan 2; at_station scan-often; fi
if wanted scan-seldom; then acts scan 4; at_station scan-seldom; fi
if wanted away-ap; then acts away 1; at_station away-ap; fi
if wanted away-station; then acts scan 2; at_access_point away-station 1; fi
# A sleeping station of Linux is awake for what it asks itself: the access point feels its sleep.
if wanted sleep-ap; then power_save on; at_access_point sleep-ap 1; power_save off; fi
if wanted weak-station; then examine weak-station ip netns exec sta2 $doctor; fi
if wanted weak-ap; then at_access_point weak-ap 2; fi
if wanted contention-2; then load 3 -u -b 20M; load 4 -u -b 20M; at_station contention-2; fi
if wanted contention-3; then load 3 -u -b 20M; load 4 -u -b 20M; load 5 -u -b 20M; at_station contention-3; fi
if wanted contention-tcp; then load 3; load 4; load 5; at_station contention-tcp; fi
if wanted queue-ap; then load 3 -R; load 4 -R; load 5 -R; at_access_point queue-ap 1; fi
if wanted queue-station; then load 1 -R; at_station queue-station; fi
if wanted queue-upload; then load 1; at_station queue-upload; fi
if wanted wire-loss; then wire netem loss 5%; at_station wire-loss; well; fi
if wanted wire-jitter; then wire netem delay 40ms 30ms; at_station wire-jitter; well; fi
if wanted wire-queue; then wire netem rate 5mbit limit 300; load 1 -R; at_station wire-queue; well; fi
if wanted wire-ap; then wire netem loss 5%; at_access_point wire-ap 1; well; fi
if wanted program-stutters; then at_station program-stutters --stutters; fi
if wanted program-stalls; then
    stall() {
        sleep 0.7
        stalled=$(grep -l "duration" /proc/[0-9]*/cmdline 2>/dev/null | cut -d / -f 3)
        kill -STOP $stalled; sleep 0.1; kill -CONT $stalled
    }
    acts stall; at_station program-stalls
fi
if wanted program-unread; then
    # A receiver that stands still.
    on sta1 iperf3 -s -D -p 5209 -I /run/reader >/dev/null
    sleep 0.3
    on server iperf3 -c 10.0.0.11 -p 5209 -u -b 2M -l 1400 -t 60 >/run/flood.txt 2>&1 &
    sleep 1
    reader=$(tr -d '\0\n' </run/reader)
    kill -STOP "$reader"; at_station program-unread; kill -9 "$reader"
fi
