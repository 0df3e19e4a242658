#!/usr/bin/env python3
"""The relay over loopback: throughput, processor time, added delay, and the cost of a flood.

  loopback.py [throughput|delay|flood ...] [--mbps 1000] [--seconds 8] [--relay FILE] [--datagrams FILE]

throughput: a source behind an edge, a client, a sink. delay: the same at 50 Mb/s, with the relay and without. flood: 100,000 packets of
strangers a second at an edge, and at a loop that receives and discards. Needs a quiet machine.
"""

import argparse
import contextlib
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
    """CPU time of a process in s, and that of the kernel's part."""
    fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100


@contextlib.contextmanager
def relay(args, folder, to, extra=()):
    (folder / "keys").touch(mode=0o600)
    (folder / "keys").write_text(f"a 0 {secrets.token_hex(16)}\n")
    keys = ["--keys", str(folder / "keys"), "--largest", "1472"]
    edge = [args.relay, "edge", "--listen", "127.0.0.1:7000", "--to", to, "--metrics", "off", "--most", "10 Gbit/s", "--journal", str(folder / "edge.jsonl"), *extra]
    client = [args.relay, "client", "--edge", "127.0.0.1:7000", "--listen", "127.0.0.1:5000", "--journal", str(folder / "client.jsonl")]
    ends = [subprocess.Popen(edge + keys), subprocess.Popen(client + keys)]
    try:
        time.sleep(0.5)
        yield ends
    finally:
        for end in ends:
            end.terminate()
            end.wait()


def through(args, to, mbps, seconds, skip, ends=()):
    source = subprocess.Popen([args.datagrams, "source", "127.0.0.1:9000", str(mbps), "1172", str(seconds + 1)], stdout=subprocess.DEVNULL)
    sink = subprocess.Popen([args.datagrams, "sink", to, str(seconds), str(skip)], stdout=subprocess.PIPE, text=True)
    time.sleep(skip)
    before, begin = [cpu(end) for end in ends], time.time()
    time.sleep(max(0, seconds - skip - 0.5))
    used = [round((cpu(end) - one) / (time.time() - begin), 3) for end, one in zip(ends, before)]
    result = json.loads(sink.communicate()[0])
    source.wait()
    return result, used


def throughput(args, folder):
    # Without a radio packets less than 100 us apart look like one frame: the rate is given, not allocated.
    with relay(args, folder, "127.0.0.1:9000", ["--least", "1 Gbit/s", "--start", "1 Gbit/s"]) as ends:
        result, used = through(args, "127.0.0.1:5000", args.mbps, args.seconds, args.seconds // 2, ends)
    print(json.dumps({"throughput": result, "edge_cores": used[0], "client_cores": used[1]}))


def delay(args, folder):
    bare, _ = through(args, "127.0.0.1:9000", 50, args.seconds, args.seconds // 2)
    with relay(args, folder, "127.0.0.1:9000") as ends:
        result, used = through(args, "127.0.0.1:5000", 50, args.seconds, args.seconds // 2, ends)
    added = {share: result["delay_us"][share] - bare["delay_us"][share] for share in ("p50", "p95", "p99")}
    print(json.dumps({"without": bare, "with": result, "added_us": added, "cores": used}))


def flood(args, folder):
    seconds = str(args.seconds)
    for repeat in range(3):
        loop = subprocess.Popen([args.datagrams, "discard", "127.0.0.1:7000", seconds], stdout=subprocess.PIPE, text=True)
        time.sleep(0.2)
        sent = subprocess.run([args.datagrams, "flood", "127.0.0.1:7000", "100000", "100", str(args.seconds - 1)], capture_output=True, text=True)
        discarded = json.loads(loop.communicate()[0])
        with relay(args, folder, "127.0.0.1:9000") as ends:
            ends[1].terminate()
            time.sleep(0.3)
            before = cpu(ends[0])
            again = subprocess.run([args.datagrams, "flood", "127.0.0.1:7000", "100000", "100", str(args.seconds - 1)], capture_output=True, text=True)
            used = cpu(ends[0]) - before
        ratio = used / discarded["cpu_s"]
        print(json.dumps({"sent": json.loads(sent.stdout), "discard": discarded, "again": json.loads(again.stdout), "edge_cpu_s": round(used, 3), "ratio": round(ratio, 3)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", default=["throughput", "delay", "flood"])
    parser.add_argument("--mbps", type=int, default=1000)
    parser.add_argument("--seconds", type=int, default=8)
    parser.add_argument("--relay", default="airbound-relay", type=program)
    parser.add_argument("--datagrams", default="target/quick/examples/datagrams", type=program)
    args = parser.parse_args()
    for name in args.what:
        with tempfile.TemporaryDirectory() as folder:
            {"throughput": throughput, "delay": delay, "flood": flood}[name](args, pathlib.Path(folder))


if __name__ == "__main__":
    main()
