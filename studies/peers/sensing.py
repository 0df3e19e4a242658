#!/usr/bin/env python3
"""The aggregation level that a station senses: by a monitor interface's radiotap headers beside the kernel's stamps, in the laboratory.

  sensing.py [--seconds 2] [--airbound FILE] [--relay FILE]

Boots the laboratory's machine once. Two stations, one at a fixed rate and one at Minstrel-HT's, get UDP from the server's iperf3 at several
rates; each has a monitor interface beside its own, and `airbound relay sense` reads both. The A-MPDU status is the laboratory driver's, which sets
it as ath9k does (`ath9k_apply_ampdu_details`, `ath9k/recv.c`): a number for each A-MPDU. Prints a table for
docs/results/low-delay-rate-allocation.md. Needs what `airbound lab` needs; five minutes.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

from peers import Failed, Parser, at_least, last_line, program

SCENARIO = """
title = "Two stations whose aggregates are sensed"
duration = "10 s"
[air]
standard = "ht"
width = "20 MHz"
guard-interval = "800 ns"
[access-point]
preset = "mac80211"
streams = 1
[scheme]
queue = "linux"
rate = "minstrel-ht"
[uplink]
queue = "linux"
preset = "mac80211"
[[station]]
name = "near"
rate = "HT20 MCS7 1SS LGI"
[[station]]
name = "far"
channel = { kind = "fixed", snr = "15 dB" }
[[flow]]
name = "idle"
kind = "cbr"
station = "near"
rate = "1 kbit/s"
size = "100 B"
"""
#: Station, and rates of its UDP in Mb/s.
CASES = [(1, (10, 30, 45, 55, 70)), (2, (10, 20, 30))]
NAMES = {1: "clean, MCS 7", 2: "15 dB, Minstrel-HT"}
#: Reports of the first second of each run, in which queues fill, are left out.
WARM_UP_S = 1
SCRIPT = """
for s in 1 2; do
  ip netns exec sta$s iw dev wlan$s interface add mon0 type monitor && ip netns exec sta$s ip link set mon0 up || exit 1
  ip netns exec sta$s iperf3 -s -D >/dev/null
done
sleep 1
sense() {
  ip netns exec sta$1 /files/airbound-relay sense --interface wlan$1 --monitor mon0 --for "$3 s" >/run/sense.txt 2>&1 &
  sensing=$!
  ip netns exec server iperf3 -c 10.0.0.$((10 + $1)) -u -b $2M -l 1472 -t $3 >/run/iperf.txt 2>&1 || cat /run/iperf.txt
  wait $sensing || cat /run/sense.txt
  echo "case $1 $2"
  cat /run/sense.txt
  sleep 1
}
"""


def figures(reports):
    """Frames and level of a sensor over its reports."""
    begin = min((report["at_s"] for report in reports), default=0) + WARM_UP_S
    judged = [report for report in reports if report["at_s"] > begin]
    total = {key: sum(report[key] for report in judged) for key in ("frames", "transmissions")}
    if not total["frames"]:
        raise Failed("a sensor reported no frames")
    return total | {"level": total["transmissions"] / total["frames"]}


def compare(seconds, airbound, relay):
    cases = [(station, rate) for station, rates in CASES for rate in rates]
    script = SCRIPT + "".join(f"sense {station} {rate} {seconds + WARM_UP_S:g}\n" for station, rate in cases)
    with tempfile.TemporaryDirectory(prefix="airbound-sensing-") as place:
        scenario = pathlib.Path(place) / "sensing.toml"
        scenario.write_text(SCENARIO)
        words = [airbound, "lab", "shell", str(scenario), "--with", relay, "--command", script]
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Failed(f"the machine's script ended with {done.returncode}: {last_line(done.stdout + done.stderr)}")
    found, case = {}, None
    for line in done.stdout.splitlines():
        if line.startswith("case "):
            case = tuple(map(int, line.split()[1:]))
        elif case and line.startswith("{"):
            report = json.loads(line)
            found.setdefault(case, {}).setdefault(report["source"], []).append(report)
    print("| channel | offered, Mb/s | frames | level by the monitor | by the kernel's stamps | difference, % |")
    print("|---|---:|---:|---:|---:|---:|")
    for case in cases:
        if set(found.get(case, {})) != {"monitor", "kernel"}:
            raise Failed(f"nothing was sensed at {case[1]} Mb/s to station {case[0]}: {last_line(done.stdout)}")
        monitor, kernel = (figures(found[case][source]) for source in ("monitor", "kernel"))
        change = 100 * (kernel["level"] / monitor["level"] - 1)
        row = [NAMES[case[0]], case[1], monitor["frames"], f"{monitor['level']:.2f}", f"{kernel['level']:.2f}", f"{change:+.1f}"]
        print(f"| {' | '.join(map(str, row))} |", flush=True)


def main():
    parser = Parser(description=__doc__)
    parser.add_argument("--seconds", type=at_least(1), default=2.0, help="of each case that are judged")
    parser.add_argument("--airbound", type=program, default=None)
    parser.add_argument("--relay", type=program, default=None)
    chosen = vars(parser.parse_args())
    chosen["airbound"] = chosen["airbound"] or program("airbound")
    chosen["relay"] = chosen["relay"] or str(pathlib.Path(chosen["airbound"]).with_name("airbound-relay"))
    try:
        compare(**chosen)
    except Failed as error:
        sys.exit(f"sensing: {error}")


if __name__ == "__main__":
    main()
