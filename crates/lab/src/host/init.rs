//! What the guest does, as the script that its kernel starts first, and hostapd's configuration.

use airbound_sim::scenario::{Scenario, Traffic, Transport};
use airbound_units::Span;
use airbound_wifi::{GuardInterval, Width};

use crate::plan::{self, SERVER, station_address};

/// What happens once the network is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// The scenario is played, its record brought back.
    Play,
    /// Somebody looks around.
    Shell,
}

/// Beacons of a scenario that has none: rare, since stations want to hear one.
const RARE_BEACONS: u64 = 1000;

/// hostapd's configuration: an open network with WMM, on channel 36 (and 40).
pub(crate) fn hostapd(scenario: &Scenario) -> String {
    let mut capabilities = String::new();
    if scenario.air.width == Width::Mhz40 {
        capabilities += "[HT40+]";
    }
    if scenario.air.guard_interval == GuardInterval::Ns400 {
        capabilities += "[SHORT-GI-20]";
        if scenario.air.width == Width::Mhz40 {
            capabilities += "[SHORT-GI-40]";
        }
    }
    let interval =
        scenario.air.beacons.map_or(RARE_BEACONS, |every| (every.as_micros() / 1024).clamp(15, 65_535));
    format!(
        "interface=wlan0\ndriver=nl80211\nssid=airbound\nhw_mode=a\nchannel=36\nieee80211n=1\nwmm_enabled=1\n\
         beacon_int={interval}\n{}",
        if capabilities.is_empty() { String::new() } else { format!("ht_capab={capabilities}\n") }
    )
}

/// The script.
pub(crate) fn script(scenario: &Scenario, purpose: Purpose) -> String {
    let stations = scenario.stations.len();
    let numbers: Vec<String> = (1..=stations).map(|number| number.to_string()).collect();
    let numbers = numbers.join(" ");
    let parameters = plan::driver_parameters(scenario);
    let mut text = format!(
        r#"#!/bin/busybox sh
# What busybox stands in for comes behind the real programs.
export PATH=/bin:/applets
/bin/busybox --install -s /applets
# This shell would take its own.
cat >/lab/profile <<'END'
ip() {{ /bin/ip "$@"; }}
tc() {{ /bin/tc "$@"; }}
ping() {{ /bin/ping "$@"; }}
END
. /lab/profile
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs none /run
ln -s /run /var/run
mkdir -p /run/netns
echo 3 > /proc/sys/kernel/printk
fail() {{
    echo "lab: failed: $*"
    tail -n 5 /run/*.log 2>/dev/null
    poweroff -f
}}
airbound() {{ /lab/lib/ld-linux-x86-64.so.2 --library-path /lab/lib /lab/airbound lab "$@"; }}
while read -r module; do insmod "/modules/$module.ko" || fail "module $module"; done < /modules/order
insmod /modules/airbound_radio.ko {parameters} || fail "the driver"
ip link set lo up
# The air comes before all other programs.
chrt -f -p 10 $$ >/dev/null
airbound guest medium >/run/medium.log 2>&1 &
medium=$!
chrt -o -p 0 $$ >/dev/null
sleep 0.2
kill -0 $medium || fail "the medium"
hostapd -B /lab/hostapd.conf >/run/hostapd.log 2>&1 || fail "hostapd"
ip netns add server
ip link add wire type veth peer name wire0 netns server
ip link set wire up
ip netns exec server ip link set lo up
ip netns exec server ip link set wire0 up
ip netns exec server ip addr add {SERVER}/24 dev wire0
ip netns exec server ip route add default via 10.1.0.1
ip addr add 10.1.0.1/24 dev wire
ip addr add 10.0.0.1/24 dev wlan0
echo 1 > /proc/sys/net/ipv4/ip_forward
for station in {numbers}; do
    ip netns add "sta$station"
    iw phy "phy$station" set netns name "sta$station" || fail "station $station"
    in_station="ip netns exec sta$station"
    $in_station ip link set lo up
    $in_station ip link set "wlan$station" up
    $in_station iw dev "wlan$station" set power_save off 2>/dev/null
    $in_station ip addr add "10.0.0.$((10 + station))/24" dev "wlan$station"
    $in_station ip route add default via 10.0.0.1
done
for try in $(seq 100); do
    for station in {numbers}; do
        # A station that missed the beacon is told to look again.
        [ $((try % 20)) != 1 ] || ip netns exec "sta$station" iw dev "wlan$station" link | grep -q Connected ||
            ip netns exec "sta$station" iw dev "wlan$station" connect airbound 5180
    done
    [ "$(iw dev wlan0 station dump | grep -c 'authorized:.*yes')" = {stations} ] && break
    sleep 0.1
done
[ "$(iw dev wlan0 station dump | grep -c 'authorized:.*yes')" = {stations} ] || fail "only $(iw dev wlan0 station dump | grep -c ^Station) of {stations} stations associated"
echo "lab: {stations} associated after $(cut -d ' ' -f 1 /proc/uptime) s"
"#
    );
    for number in 1..=stations {
        text += &format!(
            "ip netns exec server ping -c 3 -i 0.2 -W 2 {} >/run/ping.log || fail \"no answer from station {number}\"\n",
            station_address(number)
        );
    }
    text += "echo \"lab: ping $(tail -n 1 /run/ping.log)\"\n";
    let delay = scenario.wire.way.delay;
    if !delay.is_zero() {
        let delay = delay.as_nanos() / 1000;
        text += &format!(
            "tc qdisc add dev wire root netem delay {delay}us limit 10000 || fail 'the wire'\n\
             ip netns exec server tc qdisc add dev wire0 root netem delay {delay}us limit 10000 || fail 'the wire'\n"
        );
    }
    if uses_frames_over_tcp(scenario) {
        // A server of video knows when a frame is sent.
        text += "ip netns exec server sh -c 'echo 5792 > /proc/sys/net/ipv4/tcp_notsent_lowat'\n";
    }
    match purpose {
        Purpose::Shell => {
            text += "echo 'lab: server and sta1, sta2, ... are network namespaces; leave with exit'\n\
                     ENV=/lab/profile setsid cttyhack sh\npoweroff -f\n";
        }
        Purpose::Play => {
            let limit = (scenario.end() + Span::from_secs(30)).as_millis() / 1000;
            text += &format!(
                r#"airbound guest zero || fail "the clock"
echo "lab: begins at $(cat /run/zero)"
nodes=""
for station in {numbers}; do
    ip netns exec "sta$station" timeout {limit} /lab/lib/ld-linux-x86-64.so.2 --library-path /lab/lib /lab/airbound lab guest ends "$station" >"/run/ends$station.log" 2>&1 &
    nodes="$nodes $!"
done
ip netns exec server timeout {limit} /lab/lib/ld-linux-x86-64.so.2 --library-path /lab/lib /lab/airbound lab guest ends 0 >/run/ends0.log 2>&1 &
nodes="$nodes $!"
for node in $nodes; do wait "$node" || fail "an end of a flow"; done
for station in {numbers}; do iw dev wlan0 station get "02:00:00:00:$(printf %02x $station):00" >"/out/station$station.txt"; done
iw dev wlan0 survey dump >/out/survey.txt
touch /run/stop
wait "$medium" || fail "the medium"
echo "lab: played at $(cut -d ' ' -f 1 /proc/uptime) s"
while read -r module; do insmod "/modules/$module.ko" || fail "module $module"; done < /modules/late
for try in $(seq 50); do [ -b /dev/pmem0 ] && break; sleep 0.1; done
airbound guest pack /dev/pmem0 || fail "the record"
echo "lab: complete"
poweroff -f
"#
            );
        }
    }
    text
}

fn uses_frames_over_tcp(scenario: &Scenario) -> bool {
    let frames =
        |traffic: &Traffic| matches!(traffic, Traffic::Vr(stream) if stream.transport == Transport::Tcp);
    scenario.flows.iter().any(|flow| frames(&flow.traffic))
}
