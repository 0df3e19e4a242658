#!/usr/bin/env python3
"""Forwarded packets a second of processor time: the room beside Janus' videoroom, the same synthetic publishers and viewers, in turn.

  beside.py [--rounds 4] [--count 10] [--camera 3e5] [--seconds 20] [--room airbound-room] [--janus janus]

Every round runs the room, Janus with all largest layers, and Janus with all smallest ones, over loopback in a network namespace of its own. The load is `crates/room/examples/beside.rs`: publishers
with three layers, each of whom all others watch. Packets are those that arrive at viewers, processor time is the server's (/proc/PID/stat).
The room's policy is `plain`. With cameras of up to 300 kb/s a frame of any layer is one packet, so that all forward the same packets; the room
chooses layers by its estimates, and its bytes lie between those of the two cases of Janus.
Without Janus the study says SKIPPED.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from load import Room

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ADDRESS, PORT = "10.99.0.1", 8188
LIBRARIES = "/usr/lib/x86_64-linux-gnu/janus"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--camera", type=float, default=3e5, help="bit/s")
    parser.add_argument("--warm-up", type=int, default=15)
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--room", default="airbound-room")
    parser.add_argument("--janus", default="janus")
    parser.add_argument("--load", help="built example `beside` of crates/room; built if not given")
    parser.add_argument("--json", type=pathlib.Path, help="file for all figures")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def built():
    manifest = ["--release", "--locked", "--manifest-path", str(ROOT / "crates/room/Cargo.toml"), "--target-dir", str(ROOT / "target/room")]
    subprocess.run(["cargo", "build", "--quiet", *manifest, "--example", "beside"], check=True)
    return str(ROOT / "target/room/release/examples/beside")


def load(options, kind, address, process):
    numbers = [options.count, options.camera, options.warm_up, options.seconds]
    done = subprocess.run([options.load, kind, address, str(process), *map(str, numbers)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"beside: {kind}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def answers(address):
    """Waits until something accepts connections there, for at most 30 s."""
    host, port = address.split(":")
    for _ in range(300):
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"beside: nothing answers at {address}")


def room(options):
    source = f"{options.camera / 1e3:.0f} kbit/s"
    with Room(options.room, "--policy", "plain", "--source", source, "--without-tls", listen=f"{ADDRESS}:0") as own:
        return load(options, "room", own.address, own.process.pid)


def janus(options, layer):
    with tempfile.TemporaryDirectory() as place:
        values = {"FOLDER": place, "LIBRARIES": LIBRARIES, "PORT": str(PORT), "INTERFACE": "host"}
        for file in (HERE / "janus/settings").iterdir():
            (pathlib.Path(place) / file.name).write_text(re.sub("@([A-Z]+)@", lambda found: values[found[1]], file.read_text()))
        with open(f"{place}/log", "w") as log:
            process = subprocess.Popen([options.janus, "-F", place, "-C", f"{place}/janus.jcfg"], stdout=log, stderr=log)
        try:
            answers(f"{ADDRESS}:{PORT}")
            return load(options, layer, f"{ADDRESS}:{PORT}", process.pid)
        finally:
            process.kill()
            process.wait()


def main():
    options = parse()
    if shutil.which(options.janus) is None:
        print("beside: SKIPPED, it needs janus; to get it: sudo apt-get install janus")
        return
    if not options.inside:
        # Janus offers no loopback addresses: it gets an interface that leads nowhere.
        options.load = options.load or built()
        network = f"ip link set lo up && ip link add host type veth peer name peer && ip addr add {ADDRESS}/24 dev host && ip link set host up && ip link set peer up"
        command = ["unshare", "--map-root-user", "--net", "sh", "-c", f'{network} && exec "$@"', "sh", sys.executable, *sys.argv, "--inside", "--load", options.load]
        os.execvp(command[0], command)
    runs = {"room": room, "janus, largest": lambda options: janus(options, "largest"), "janus, smallest": lambda options: janus(options, "smallest")}
    found = {kind: [] for kind in runs}
    for number in range(options.rounds):
        for kind, run in runs.items():
            one = run(options)
            spent = one["user"] + one["system"]
            one |= {"rate": one["packets"] / one["seconds"], "cores": spent / one["seconds"], "per_core": one["packets"] / spent, "load": os.getloadavg()[0]}
            found[kind].append(one)
            print(
                f"{number + 1} {kind}: {one['rate']:.0f} packets a second forwarded, {8e-6 * one['bytes'] / one['seconds']:.1f} Mb/s, {one['cores']:.3f} cores "
                f"(system {one['system'] / spent:.0%}), {one['per_core']:.0f} on a core; connected {one['connected']} of {one['clients']}, load {one['load']:.1f}",
                flush=True,
            )
    means = {kind: statistics.mean(one["per_core"] for one in found[kind]) for kind in runs}
    for kind in list(runs)[1:]:
        ratios = [own["per_core"] / other["per_core"] for own, other in zip(found["room"], found[kind])]
        print(f"on a core: room {means['room']:.0f}, {kind} {means[kind]:.0f}: {means['room'] / means[kind]:.2f} times ({min(ratios):.2f} to {max(ratios):.2f} by round)")
    if options.json:
        options.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
