#!/usr/bin/env python3
"""CUBIC inside a WireGuard tunnel, with and without the relay below it, over `airbound emulate`.

  tunnel.py [--seconds 20] [--schemes fifo,linux] [--kinds voip,tcp] [--edge OPTIONS] [--airbound FILE] [--relay FILE]

A server and a station of 135 Mb/s have a tunnel (wireguard-go); iperf3 downloads through it for so long, and a ping measures the round
trip inside; queueing is what it is above that of an idle access point. Idle: nothing else is there. Beside: another station has a
simulated download. Needs wireguard-go, wg, ip and iperf3.
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

SCENARIO = """
title = "A tunnel to a station"
duration = "{seconds} s"
warm-up = "1 s"
wire = {{ delay = "5 ms" }}
[air]
standard = "vht"
width = "40 MHz"
guard-interval = "800 ns"
[access-point]
preset = "direct"
streams = 1
[scheme]
queue = "{scheme}"
rate = "ideal"
[[station]]
name = "near"
rate = "VHT40 MCS7 1SS LGI"
[[station]]
name = "other"
rate = "VHT40 MCS7 1SS LGI"
[[flow]]
name = "{kind}"
kind = "{kind}"
station = "other"
direction = "down"
"""


def up(name, private, port, public, endpoint, address, mtu):
    wait = "for t in 1 2 3 4 5 6 7 8 9; do [ -S /var/run/wireguard/{0}.sock ] && break; sleep 0.2; done".format(name)
    peer = f"wg set {name} private-key {private} listen-port {port} peer {public} allowed-ips 10.99.0.0/24"
    peer += f" endpoint {endpoint} persistent-keepalive 1" if endpoint else ""
    return f"WG_I_PREFER_BUGGY_USERSPACE_TO_POLISHED_KMOD=1 wireguard-go -f {name} & {wait}; {peer}; ip address add {address}/24 dev {name}; ip link set {name} mtu {mtu} up"


def run(args, scheme, kind, relayed, base):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "cell.toml").write_text(SCENARIO.format(seconds=args.seconds + 20, scheme=scheme, kind=kind))
        public = {}
        for host in ("server", "near"):
            key = subprocess.run(["wg", "genkey"], capture_output=True, text=True, check=True).stdout
            (folder / host).touch(mode=0o600)
            (folder / host).write_text(key)
            public[host] = subprocess.run(["wg", "pubkey"], input=key, capture_output=True, text=True, check=True).stdout.strip()
        (folder / "keys").touch(mode=0o600)
        (folder / "keys").write_text(f"near 0 {secrets.token_hex(16)}\n")
        tag = secrets.token_hex(2)
        edge = f"{args.relay} edge --listen 0.0.0.0:7000 --to 127.0.0.1:51820 --keys {folder}/keys --metrics off --journal {folder}/edge.jsonl {args.edge}"
        client = f"{args.relay} client --edge $edge:7000 --listen 127.0.0.1:51821 --keys {folder}/keys --phy-rate '135 Mbit/s' --journal {folder}/client.jsonl & "
        endpoint = "127.0.0.1:51821" if relayed else "$edge:51820"
        server = up(f"wgs{tag}", folder / "server", 51820, public["near"], None, "10.99.0.1", 1380) + "; iperf3 -s -B 10.99.0.1"
        station = "edge=$(getent ahostsv4 server | head -1 | cut -d' ' -f1); " + (client if relayed else "")
        station += up(f"wgn{tag}", folder / "near", 51822, public["server"], endpoint, "10.99.0.2", 1380)
        station += f"; sleep 2; ping -c 20 -i 0.1 -q 10.99.0.1 > {folder}/before.txt; (sleep 5; ping -i 0.1 -w {args.seconds - 6} -q 10.99.0.1 > {folder}/ping.txt) & "
        station += f"iperf3 -c 10.99.0.1 -R -J -C cubic -t {args.seconds} -O 5 > {folder}/iperf.json; sleep 1; exit 0"
        command = [args.airbound, "emulate", str(folder / "cell.toml"), "--out", str(folder / "out"), "--for", f"{args.seconds + 20} s", "--server", server]
        command += ["--server", edge] if relayed else []
        command += ["--without", kind] if kind == "voip" else []
        command += ["--station", "near", "--json", "--", "sh", "-c", station]
        done = subprocess.run(command, capture_output=True, text=True)
        if args.verbose:
            print(done.stderr[-2000:], (folder / "iperf.json").read_text()[-300:])
        mean = lambda file: float(re.search(r"= [\d.]+/([\d.]+)/", (folder / file).read_text()).group(1))
        result = json.loads((folder / "iperf.json").read_text())["end"]
        summary = json.loads((folder / "out" / "summary.json").read_text())
        goodput = result["sum_received"]["bits_per_second"] / 1e6
        other = [flow["goodput_mbps"] for flow in summary["flows"] if flow["name"].split(" #")[0] == kind]
        return {
            "scheme": scheme,
            "beside": kind != "voip",
            "relay": relayed,
            "mbps": round(goodput, 1),
            "idle_ping_ms": mean("before.txt"),
            "ping_ms": mean("ping.txt"),
            "queueing_ms": round(mean("ping.txt") - (base or mean("before.txt")), 2),
            "other_mbps": other,
            "retransmits": result.get("sum_sent", {}).get("retransmits"),
            "counts": summary.get("emulation", {}).get("counts"),
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--schemes", default="fifo,linux")
    parser.add_argument("--kinds", default="voip,tcp")
    parser.add_argument("--edge", default="", help="further options of the edge, such as '--target 16'")
    parser.add_argument("--only-relay", action="store_true", help="without the runs that have no relay")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--airbound", default="airbound", type=program)
    parser.add_argument("--relay", default="airbound-relay", type=program)
    args = parser.parse_args()
    base = None
    for scheme in args.schemes.split(","):
        for kind in args.kinds.split(","):
            for relayed in (True,) if args.only_relay else (False, True):
                row = run(args, scheme, kind, relayed, base)
                # The round trip over an idle access point is the same for all: the first that is measured.
                base = base or row["idle_ping_ms"]
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
