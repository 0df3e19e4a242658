#!/usr/bin/env python3
"""Cost of a room: processor time, packets, memory; and whether it grows while participants come and go. On loopback.

  load.py room [--count 20] [--camera 1e6] [--seconds 60]     cores of the room, packets, memory by participants
  load.py churn [--minutes 10] [--count 8]                    one participant a second leaves, vanishes or comes back; memory over time
  load.py allocator [--seconds 10]                            p99 at 200 participants, 1000 rooms of 10 (builds an example)

All take `--room airbound-room`. `churn` ends with code 1 where memory or open files grow after the first quarter.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time


def status(process, field):
    return int(re.search(rf"{field}:\s+(\d+)", pathlib.Path(f"/proc/{process}/status").read_text())[1])


def seconds_of(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Room:
    """A running room, and what it says of itself."""

    def __init__(self, program, *options, listen="127.0.0.1:0"):
        command = [program, "room", "--listen", listen, "--room", "load", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().split(": ", 1)[1].strip()
        self.base, self.token = self.address.split("#")

    def state(self):
        command = ["curl", "-s", "-m", "5", "-H", f"Authorization: Bearer {self.token}", f"{self.base}state"]
        # A room that has just started has not told its state yet.
        for _ in range(20):
            text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            if text:
                return json.loads(text)
            time.sleep(0.2)
        sys.exit("load: the room does not tell its state")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def room(options):
    with Room(options.room, "--source", f"{options.camera / 1e3:.0f} kbit/s") as own:
        pid, empty = own.process.pid, status(own.process.pid, "VmRSS")
        warm_up, seconds = 20, options.seconds
        command = [options.room, "synthetic", own.address, "--count", str(options.count), "--camera", f"{options.camera / 1e3:.0f} kbit/s"]
        with subprocess.Popen([*command, "--seconds", str(warm_up + seconds + 2), "--warm-up", str(warm_up)], stdout=subprocess.PIPE, text=True) as clients:
            memory = {}
            deadline = time.monotonic() + warm_up
            while time.monotonic() < deadline:
                memory[len(own.state()["members"])] = status(pid, "VmRSS")
                time.sleep(0.5)
            before, used, began = own.state(), seconds_of(pid), time.monotonic()
            time.sleep(seconds)
            after, wall = own.state(), time.monotonic() - began
            cores, resident = (seconds_of(pid) - used) / wall, status(pid, "VmRSS")
            rows = json.loads(clients.stdout.read())
        forwarded = (after["counts"]["forwarded"] - before["counts"]["forwarded"]) / (after["seconds"] - before["seconds"])
        taken = (after["counts"]["datagrams"] - before["counts"]["datagrams"]) / (after["seconds"] - before["seconds"])
        rates = [row["received_mbps"] for row in rows]
        print(
            f"{options.count} participants of {options.camera / 1e6:.1f} Mb/s: {cores:.3f} cores of the room at a load of {os.getloadavg()[0]:.1f}; "
            f"takes {taken:.0f} and forwards {forwarded:.0f} packets a second, {forwarded / max(cores, 1e-6):.0f} on a core; "
            f"each receives {sum(rates) / len(rates):.2f} Mb/s ({min(rates):.2f} to {max(rates):.2f}); connected {sum(row['connected'] for row in rows)}"
        )
        print(f"memory: {empty} kB empty, {resident} kB at the end, {(resident - empty) / options.count:.0f} kB a participant; by members {memory}")


def churn(options):
    seconds = int(options.minutes * 60)
    with Room(options.room) as own:
        pid = own.process.pid
        command = [options.room, "synthetic", own.address, "--count", str(options.count), "--camera", "400 kbit/s", "--churn"]
        with subprocess.Popen([*command, "--seconds", str(seconds + 10), "--warm-up", "5"], stdout=subprocess.PIPE, text=True) as clients:
            began, seen = time.monotonic(), []
            while time.monotonic() - began < seconds:
                time.sleep(10)
                files = len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))
                members = len(own.state()["members"])
                seen.append((time.monotonic() - began, status(pid, "VmRSS"), files, status(pid, "Threads"), members))
                if clients.poll() is not None:
                    sys.exit(f"load: the participants ended: {clients.stdout.read()[-300:]}")
            rows = json.loads(clients.stdout.read())
    quarter = [one for one in seen if one[0] > seconds / 4]
    for at, resident, files, threads, members in seen[:: max(1, len(seen) // 12)]:
        print(f"{at:6.0f} s: {resident} kB, {files} files, {threads} threads, {members} members")
    first, last = quarter[: max(1, len(quarter) // 3)], quarter[-max(1, len(quarter) // 3) :]
    mean = lambda part, field: sum(one[field] for one in part) / len(part)
    growth = mean(last, 1) / mean(first, 1) - 1
    print(f"{seconds} s, one change a second: memory {100 * growth:+.1f} %, files {mean(first, 2):.1f} -> {mean(last, 2):.1f}; {sum(row['connected'] for row in rows)} of {options.count} connected at the end")
    return 1 if growth > 0.05 or mean(last, 2) > mean(first, 2) + 2 else 0


def allocator(options):
    root = pathlib.Path(__file__).resolve().parents[2]
    socket = f"/tmp/airbound-allocator-{os.getpid()}.sock"
    example = ["cargo", "run", "--quiet", "--release", "--locked", "--manifest-path", str(root / "crates/room/Cargo.toml"), "--target-dir", str(root / "target/room")]
    example = [options.load] if options.load else [*example, "--example", "allocator_load", "--"]
    with subprocess.Popen([options.room, "allocator", "--socket", socket], stdout=subprocess.PIPE, text=True) as own:
        own.stdout.readline()
        try:
            subprocess.run([*example, socket, str(own.pid), str(options.seconds)], check=True)
        finally:
            own.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["room", "churn", "allocator"])
    parser.add_argument("--room", default="airbound-room")
    parser.add_argument("--count", type=int)
    parser.add_argument("--camera", type=float, default=1e6, help="bit/s")
    parser.add_argument("--seconds", type=int)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--load", help="built example allocator_load")
    options = parser.parse_args()
    options.count = options.count or {"room": 20, "churn": 8}.get(options.what)
    options.seconds = options.seconds or {"room": 60, "allocator": 10}.get(options.what)
    return {"room": room, "churn": churn, "allocator": allocator}[options.what](options)


if __name__ == "__main__":
    sys.exit(main())
