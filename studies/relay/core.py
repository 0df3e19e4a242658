#!/usr/bin/env python3
"""The throughput of one edge on a core of its own: its backend and two clients are one process on another core.

  core.py [--mbps 800,1000,1200,1400] [--seconds 6] [--relay FILE] [--load FILE]

Prints a row for each rate: offered, delivered, the share of its core that the edge used. Needs two idle cores.
"""

import argparse
import json
import pathlib
import secrets
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tools import program  # noqa: E402


def cpu(process):
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


def run(args, folder, mbps):
    keys = [secrets.token_hex(16) for _ in range(2)]
    (folder / "keys").touch(mode=0o600)
    (folder / "keys").write_text("".join(f"c{place} 0 {key}\n" for place, key in enumerate(keys)))
    # Without a radio the rate is given, not allocated: 1 Gb/s for each client at least.
    edge = [args.relay, "edge", "--listen", "127.0.0.1:7000", "--to", "127.0.0.1:9000", "--keys", str(folder / "keys"), "--metrics", "off"]
    edge += ["--start", "1 Gbit/s", "--least", "1 Gbit/s", "--most", "10 Gbit/s", "--journal", str(folder / "edge.jsonl")]
    process = subprocess.Popen(["taskset", "-c", "0", *edge])
    try:
        time.sleep(0.3)
        words = ["taskset", "-c", "1", args.load, "127.0.0.1:7000", "127.0.0.1:9000", ",".join(keys), str(mbps), str(args.seconds), "2"]
        load = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        time.sleep(2.5)
        before, begin = cpu(process), time.time()
        time.sleep(args.seconds - 3)
        used = (cpu(process) - before) / (time.time() - begin)
        return json.loads(load.communicate()[0]) | {"edge_cores": round(used, 3)}
    finally:
        process.terminate()
        process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mbps", default="800,1000,1200,1400")
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--relay", default="airbound-relay", type=program)
    parser.add_argument("--load", default="target/quick/examples/edge_load", type=program)
    args = parser.parse_args()
    for mbps in args.mbps.split(","):
        with tempfile.TemporaryDirectory() as folder:
            print(json.dumps(run(args, pathlib.Path(folder), int(mbps))), flush=True)


if __name__ == "__main__":
    main()
