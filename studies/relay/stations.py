#!/usr/bin/env python3
"""The rate-allocation paper's topology with real programs: one edge, 1 to 20 stations, over `airbound emulate`.

  stations.py [COUNT ...] [--seconds 20] [--skip 10] [--offer 1.3] [--airbound FILE] [--relay FILE] [--datagrams FILE]

Each station runs a relay client and a sink, the server runs the edge and a source that offers more than the air carries, or, with --offer
0.6, less. Prints a row for each count: goodput, packets lost, Jain's index, delay, mean level, and whether the emulation counts.
"""

import argparse
import json
import pathlib
import re
import secrets
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tools import program  # noqa: E402

#: The paper's simulated cell: MCS 9, two streams, 80 MHz, short guard interval; frames of at most 64 packets.
SCENARIO = """
title = "{count} stations behind an edge"
duration = "{seconds} s"
warm-up = "1 s"
wire = {{ delay = "1 ms" }}
[air]
standard = "vht"
width = "80 MHz"
guard-interval = "800 ns"
[access-point]
preset = "direct"
streams = 2
[scheme]
queue = "round-robin"
rate = "ideal"
"""
STATION = '\n[[station]]\nname = "s{n}"\nrate = "VHT80 MCS9 2SS LGI"\n'
FLOW = '\n[[flow]]\nname = "call-{n}"\nkind = "voip"\nstation = "s{n}"\n'


def run(count, args):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = SCENARIO.format(count=count, seconds=args.seconds + 6)
        text += "".join(STATION.format(n=n) + FLOW.format(n=n) for n in range(count))
        (folder / "cell.toml").write_text(text)
        keys = [f"s{n} 0 {secrets.token_hex(16)}" for n in range(count)]
        for file, lines in [("keys", keys)] + [(f"key{n}", [keys[n]]) for n in range(count)]:
            (folder / file).touch(mode=0o600)
            (folder / file).write_text("\n".join(lines) + "\n")
        offered = max(2, int(args.offer * args.phy / count))
        server = [
            f"{args.datagrams} source 127.0.0.1:9000 {offered} 1172 {args.seconds + 5}",
            f"{args.relay} edge --listen 0.0.0.0:7000 --to 127.0.0.1:9000 --keys {folder}/keys --metrics off --journal {folder}/edge.jsonl",
        ]
        command = [args.airbound, "emulate", str(folder / "cell.toml"), "--without", "all", "--out", str(folder / "out"), "--for", f"{args.seconds + 5} s"]
        for line in server:
            command += ["--server", line]
        sink = (
            "edge=$(getent ahostsv4 server | head -1 | cut -d' ' -f1); {relay} client --edge $edge:7000 --listen 127.0.0.1:5000 --keys {folder}/key{n} "
            "--phy-rate '{phy} Mbit/s' --journal {folder}/client{n}.jsonl & sleep 1; "
            "{datagrams} sink 127.0.0.1:5000 {seconds} {skip} > {folder}/sink{n}.json; kill $!"
        )
        fill = dict(relay=args.relay, folder=folder, phy=args.phy, datagrams=args.datagrams, seconds=args.seconds, skip=args.skip)
        for n in range(1, count):
            command += ["--on", f"s{n}", sink.format(n=n, **fill)]
        command += ["--station", "s0", "--json", "--", "sh", "-c", sink.format(n=0, **fill)]
        done = subprocess.run(command, capture_output=True, text=True)
        if args.verbose:
            print(done.stderr[-3000:])
        sinks = [json.loads((folder / f"sink{n}.json").read_text() or "{}") for n in range(count)]
        rates = [sink["mbps"] for sink in sinks]
        levels = [float(level) for line in (folder / "edge.jsonl").read_text().splitlines() for level in re.findall(r'"level":([0-9.]+)', line)]
        summary = json.loads((folder / "out" / "summary.json").read_text())
        txops = summary.get("access_point", {})
        emulation = summary.get("emulation", {})
        packets = sum(sink["packets"] for sink in sinks)
        return {
            "stations": count,
            "mbps": round(sum(rates), 1),
            "jain": round(sum(rates) ** 2 / (count * sum(rate**2 for rate in rates)), 4),
            "lost": sum(sink["lost"] for sink in sinks),
            "packets": packets,
            "delay_ms": round(sum(sink["delay_us"]["mean"] * sink["packets"] for sink in sinks) / packets / 1e3, 2),
            "p95_ms": round(max(sink["delay_us"]["p95"] for sink in sinks) / 1e3, 2),
            "levels_told": levels[-count:],
            "counts": emulation.get("counts"),
            "late_share": emulation.get("late_share"),
            "access_point": txops if args.verbose else None,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", nargs="*", type=int, default=[1, 5, 10, 20])
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--skip", type=int, default=10)
    parser.add_argument("--phy", type=int, default=702)
    parser.add_argument("--offer", type=float, default=1.3, help="Mb/s of payload offered to all stations together, as a share of the PHY rate")
    parser.add_argument("--verbose", action="store_true")
    for name, default in [("airbound", "airbound"), ("relay", "airbound-relay"), ("datagrams", "target/quick/examples/datagrams")]:
        parser.add_argument(f"--{name}", default=default, type=program)
    args = parser.parse_args()
    for count in args.counts or [1, 5, 10, 20]:
        print(json.dumps(run(count, args)), flush=True)


if __name__ == "__main__":
    main()
