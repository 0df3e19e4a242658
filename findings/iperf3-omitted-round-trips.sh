#!/usr/bin/env bash
# iperf3's -O omits the first seconds from bytes and retransmissions, but not from round trips.
#
# Versions: iperf3 3.12-1+deb12u2 (Debian 12).
#
# Input: `iperf3 -c 127.0.0.1 -O 3 -t 3 -J`, TCP over the loopback device: 3 s to be omitted, then
# 3 s of the test.
#
# Expected: `-O` is documented to "Perform pre-test for N seconds and omit the pre-test statistics,
# to skip past the TCP slow-start algorithm", so that `end` is about intervals that do not say
# `"omitted": true`.
#
# Seen, in one run (us; the values differ each time, the relations do not):
#   intervals    `rtt` of each   least   largest   mean
#   omitted      565, 182, 824
#   the rest     350, 260, 779   260     779       463
#   `end`                        182     824       493
# `min_rtt`, `max_rtt` and `mean_rtt` of `end.streams[].sender` are those of all six intervals, and
# so is `max_snd_cwnd`. Bytes are those of the last three alone. (Also: each of these round trips is
# the kernel's smoothed one at the end of an interval, so that `max_rtt` is the largest of six
# smoothed values and not the largest round trip.)
#
# Why it matters: the start is where TCP fills a queue at the access point, and what -O is for. A
# study that gives `mean_rtt` beside the rate of the same object has the round trips of a start in
# the one and not in the other. Take the mean of `rtt` over the intervals that are not omitted.
#
# Needs: python3, apt-get and dpkg-deb of Debian 12 (amd64); no root. 15 to 60 s.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
server=''
# shellcheck disable=SC2086 # it may be empty
trap 'kill $server 2>"$work/kill" || true; rm -rf "$work"' EXIT
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

cat >"$work/judge.py" <<'PY'
import json, sys

run = json.load(open(sys.argv[1]))
intervals = [interval["streams"][0] for interval in run["intervals"]]
end = run["end"]["streams"][0]["sender"]
told = [end["min_rtt"], end["max_rtt"], end["mean_rtt"]]

def summary(rows):
    trips = [row["rtt"] for row in rows]
    return [min(trips), max(trips), sum(trips) // len(trips)]

rest = [row for row in intervals if not row["omitted"]]
print("all intervals", summary(intervals))
print("not omitted", summary(rest))
print("end", told)
carried = sum(row["bytes"] for row in rest) / end["bytes"]
print(f"bytes, not omitted over end: {carried:.2f}")
if summary(intervals) == summary(rest):
    sys.exit(3)
sys.exit(0 if told == summary(intervals) and 0.9 < carried < 1.1 else 1)
PY

# Where the omitted part happens to have the same round trips as the rest, nothing can be told.
for port in 15301 15302 15303; do
    timeout 30 "$iperf3" -s -1 -B 127.0.0.1 -p $port >"$work/server" 2>&1 &
    server=$!
    sleep 1
    timeout 30 "$iperf3" -c 127.0.0.1 -p $port -O 3 -t 3 -J >"$work/run.json" || unable "the test failed"
    wait "$server" || true
    code=0
    python3 "$work/judge.py" "$work/run.json" || code=$?
    [ $code = 3 ] || break
done
case $code in
    0) echo "as described" ;;
    3) unable "both parts had the same round trips" ;;
    *) echo "the behaviour has changed" >&2; exit 1 ;;
esac
