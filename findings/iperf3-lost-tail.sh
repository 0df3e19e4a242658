#!/usr/bin/env bash
# iperf3 reports 0 % loss of UDP when nothing arrives any more, and gives the sent rate beside it.
#
# Versions: iperf3 3.12-1+deb12u2 (Debian 12).
#
# Input: `iperf3 -u -b 5M -l 1200 -t 3 -J` on the loopback interface, through a relay that passes its
# TCP connection and the datagrams of the first 1.5 s, and drops all later ones, as a station does
# that leaves its access point. Beside it a relay that drops each second datagram all the time.
#
# Expected: half of the datagrams lost, in both cases.
#
# Seen, in `end` (the packets vary by a few):
#   drops            sum: packets   lost_packets   lost_percent   bits_per_second
#   the second half  1563           0              0              5.0 Mb/s
#   each second      1563           781            50             5.0 Mb/s
# The receiver knows a loss only from a later datagram: what is lost before the end is not counted,
# although the sender tells the number that it sent, which stands in the same object. `end.sum` mixes
# both ends: packets, bytes and rate are the sender's, losses and jitter the receiver's.
# `end.sum_received.bits_per_second` is 2.5 Mb/s in both cases.
#
# Why it matters: `lost_percent` of `end.sum` is what scripts plot. It is lowest where a link fails
# worst, such as a roaming or sleeping station; losses are `1 - sum_received.bytes / sum_sent.bytes`.
#
# Needs: python3, apt-get and dpkg-deb of Debian 12 (amd64); no root. 20 to 60 s.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
server='' relay=''
# shellcheck disable=SC2086 # either may be empty
trap 'kill $server $relay 2>"$work/kill" || true; rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

command -v python3 >/dev/null || unable "no python3"
mkdir -p "$work/lists/partial"
apt=(apt-get -qq -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache"
    -o Debug::NoLocking=1 -o APT::Sandbox::User= -o Acquire::Languages=none)
(cd "$work" && timeout 120 "${apt[@]}" update &&
    timeout 90 "${apt[@]}" download iperf3=3.12-1+deb12u2 libiperf0=3.12-1+deb12u2 libsctp1) \
    >"$work/apt.log" 2>&1 || { tail -3 "$work/apt.log" >&2; unable "Debian's packages could not be had"; }
for package in "$work"/*.deb; do dpkg-deb -x "$package" "$work/root"; done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu
iperf3=$work/root/usr/bin/iperf3
"$iperf3" --version >"$work/version" 2>&1 || { head -3 "$work/version" >&2; unable "iperf3 does not start"; }

cat >"$work/relay.py" <<'PY'
import select, socket, sys, time

listen, target, way = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
streams = socket.create_server(("127.0.0.1", listen))
outside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
outside.bind(("127.0.0.1", listen))
inside = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
inside.connect(("127.0.0.1", target))
other, client, begun, count = {}, None, None, 0
end = time.monotonic() + 20
while time.monotonic() < end:
    for ready in select.select([streams, outside, inside, *other], [], [], 0.2)[0]:
        if ready is streams:
            accepted, _ = streams.accept()
            beyond = socket.create_connection(("127.0.0.1", target))
            other[accepted], other[beyond] = beyond, accepted
        elif ready is outside:
            datagram, client = outside.recvfrom(65536)
            if len(datagram) > 100:
                begun = begun or time.monotonic()
                count += 1
                is_late = time.monotonic() - begun > 1.5
                if is_late if way == "second-half" else count % 2 == 0:
                    continue
            inside.send(datagram)
        elif ready is inside:
            outside.sendto(inside.recv(65536), client)
        elif ready in other:
            try:
                data = ready.recv(65536)
            except ConnectionError:
                data = b""
            if data:
                other[ready].sendall(data)
            else:
                beyond = other.pop(ready)
                other.pop(beyond, None)
                ready.close()
                beyond.close()
PY

test_with() {
    "$iperf3" -s -1 -B 127.0.0.1 -p "$1" >"$work/server" 2>&1 &
    server=$!
    python3 "$work/relay.py" "$2" "$1" "$3" &
    relay=$!
    sleep 1
    timeout 15 "$iperf3" -c 127.0.0.1 -p "$2" -u -b 5M -l 1200 -t 3 -J >"$work/$3.json" || unable "the test failed"
    kill "$server" "$relay" 2>"$work/kill" || true
    wait "$server" "$relay" 2>"$work/kill" || true
}
test_with 5471 5472 second-half
test_with 5473 5474 each-second

python3 - "$work" <<'PY'
import json, sys

def told(way):
    with open(f"{sys.argv[1]}/{way}.json") as file:
        end = json.load(file)["end"]
    whole, received = end["sum"], end["sum_received"]
    rates = whole["bits_per_second"] / 1e6, received["bits_per_second"] / 1e6
    print(f"{way}: packets {whole['packets']}, lost {whole['lost_packets']} = {whole['lost_percent']:.1f} %, "
          f"rate {rates[0]:.2f} Mb/s, received {rates[1]:.2f} Mb/s")
    return whole["lost_percent"], rates

half, each = told("second-half"), told("each-second")
as_described = (
    half[0] < 2 and 48 < each[0] < 52
    and all(4.8 < rate[0] < 5.2 and 2.2 < rate[1] < 2.8 for _, rate in (half, each))
)
print("as described" if as_described else "the behaviour has changed")
sys.exit(not as_described)
PY
