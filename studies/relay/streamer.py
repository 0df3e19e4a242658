#!/usr/bin/env python3
"""The library's streamer over the relay, over `airbound emulate`: the paper's topology with one edge and 1 to 20 stations.

  streamer.py [COUNT ...] [--seconds 16] [--skip 8] [--airbound FILE] [--relay FILE] [--live FILE]

The server runs the edge and one streamer for all stations, each station a relay client and a viewer. The streamer's own rule holds the
level through what its viewers sense behind the relay; --rule fixed sends at --start Mb/s instead, and the edge alone holds it.
"""

import argparse
import json
import pathlib
import secrets
import subprocess
import sys
import tempfile

import stations

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tools import program  # noqa: E402


def run(count, args):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        text = stations.SCENARIO.format(count=count, seconds=args.seconds + 10)
        text += "".join(stations.STATION.format(n=n) + stations.FLOW.format(n=n) for n in range(count))
        (folder / "cell.toml").write_text(text)
        keys = [f"s{n} 0 {secrets.token_hex(16)}" for n in range(count)]
        for file, lines in [("keys", keys)] + [(f"key{n}", [keys[n]]) for n in range(count)]:
            (folder / file).touch(mode=0o600)
            (folder / file).write_text("\n".join(lines) + "\n")
        stream = f"rule={args.rule} encoder=even fps={args.fps} spread=1 seconds={args.seconds} skip={args.skip} most=1000"
        stream += f" start={args.start / count} target={args.target}"
        # The size of a packet with the relay's header: 1228 B.
        edge = f"{args.relay} edge --listen 0.0.0.0:7000 --to 127.0.0.1:9000 --keys {folder}/keys --metrics off --journal {folder}/edge.jsonl"
        command = [args.airbound, "emulate", str(folder / "cell.toml"), "--without", "all", "--out", str(folder / "out"), "--for", f"{args.seconds + 6} s"]
        command += ["--server", f"{args.live} send {stream} stations={count} port=9000 > {folder}/sender.json", "--server", edge]
        viewer = (
            "edge=$(getent ahostsv4 server | head -1 | cut -d' ' -f1); {relay} client --edge $edge:7000 --listen 127.0.0.1:5000 --keys {folder}/key{n} "
            "--phy-rate '{phy} Mbit/s' --journal {folder}/client{n}.jsonl & sleep 1; "
            "PHY_MBPS={phy} {live} view {stream} station={n} host=127.0.0.1 port=5000 > {folder}/view{n}.json; kill $!"
        )
        fill = dict(relay=args.relay, folder=folder, phy=args.phy, live=args.live, stream=stream)
        for n in range(1, count):
            command += ["--on", f"s{n}", viewer.format(n=n, **fill)]
        command += ["--station", "s0", "--json", "--", "sh", "-c", viewer.format(n=0, **fill)]
        done = subprocess.run(command, capture_output=True, text=True)
        if args.verbose:
            print(done.stderr[-3000:], (folder / "edge.jsonl").read_text()[-3000:], (folder / "sender.json").read_text()[-1500:])
        views = [json.loads((folder / f"view{n}.json").read_text()) for n in range(count)]
        summary = json.loads((folder / "out" / "summary.json").read_text())
        emulation = summary.get("emulation", {})
        rates = [view["goodput_mbps"] for view in views]
        aggregation = [flow.get("mean_aggregation", flow.get("aggregation")) for flow in summary.get("flows", [])]
        return {
            "stations": count,
            "mbps": round(sum(rates), 1),
            "jain": round(sum(rates) ** 2 / (count * sum(rate**2 for rate in rates)), 4),
            "lost": sum(view["lost"] for view in views),
            "packets": sum(view["packets"] for view in views),
            "delay_ms": round(sum(view["packet_ms"]["mean"] for view in views) / count, 3),
            "p95_ms": round(sum(view["packet_ms"]["p95"] for view in views) / count, 3),
            "counts": emulation.get("counts"),
            "late_share": emulation.get("late_share"),
            "levels": aggregation,
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", nargs="*", type=int)
    parser.add_argument("--seconds", type=int, default=16)
    parser.add_argument("--skip", type=int, default=8)
    parser.add_argument("--phy", type=int, default=702)
    parser.add_argument("--rule", default="airbound")
    parser.add_argument("--start", type=float, default=20, help="Mb/s of all stations together")
    parser.add_argument("--fps", type=int, default=500)
    parser.add_argument("--target", type=float, default=32)
    parser.add_argument("--verbose", action="store_true")
    for name, default in [("airbound", "airbound"), ("relay", "airbound-relay"), ("live", "target/live/live-sockets")]:
        parser.add_argument(f"--{name}", default=default, type=program)
    args = parser.parse_args()
    for count in args.counts or [1, 5, 10, 20]:
        print(json.dumps(run(count, args)), flush=True)


if __name__ == "__main__":
    main()
