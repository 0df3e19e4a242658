#!/usr/bin/env python3
"""Packets that are forwarded in one second of processor time, and memory: the room beside LiveKit, the same clients and load, in turn.

  livekit.py target/release/airbound-room [--rounds 3] [--members 10] [--rate 1e6] [--seconds 20]

Each member is a client of pion (livekit/main.go; at LiveKit inside its own SDK) that sends one VP8 stream and receives those of all others.
Packets are counted where they arrive. LiveKit is built from Go's proxy; without Go or its modules the script says SKIPPED.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from peers import HERE, ROOT, Failed, Missing, Parser, at_least, end, last_line, need, program, started, wait_for_port

PORT, SECRET, WARM_UP = 7880, "a secret of thirty-two characters", 30.0
#: A single node without Redis, all else by default.
SETTINGS = """port: {port}
bind_addresses: [127.0.0.1]
rtc: {{ node_ip: 10.99.0.1, use_external_ip: false }}
keys: {{ key: {secret} }}
logging: {{ level: error }}
"""


def build(folder):
    """Builds the clients and LiveKit in a folder, from the modules that go.mod names."""
    environment = os.environ | {"GOFLAGS": "-mod=mod -modcacherw", "CGO_ENABLED": "0"}
    for words in (["-o", "load", "."], ["-o", "server", "github.com/livekit/livekit-server/cmd/server"]):
        done = subprocess.run([need("go", "golang"), "build", "-p", "1", *words], cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise Missing(f"go cannot build LiveKit: {last_line(done.stderr)}")


class Server:
    """A server that runs, and the address that its clients are given."""

    def __init__(self, kind, room, folder):
        if kind == "room":
            words = [room, "room", "--listen", f"127.0.0.1:{PORT}", "--media", "10.99.0.1", "--room", "test", "--policy", "plain"]
            self.process = started(words, stdout=subprocess.PIPE, text=True)
            lines = iter(self.process.stdout.readline, "")
            self.address = next((word for line in lines for word in line.split() if "#" in word), None)
            if self.address is None:
                raise Failed("the room printed no address")
        else:
            (folder / "livekit.yaml").write_text(SETTINGS.format(port=PORT, secret=SECRET))
            self.process = started([folder / "server", "--config", folder / "livekit.yaml"])
            self.address = f"ws://127.0.0.1:{PORT}#{SECRET}"
        wait_for_port(PORT, self.process)

    def processor_time(self):
        """Time of user and kernel together, in s."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory(self, name):
        """`VmRSS` or `VmHWM`, in MB."""
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(name))


def measure(kind, chosen, folder):
    """One run: packets, processor time and memory of a server."""
    server = Server(kind, chosen.program, folder)
    idle, load = server.memory("VmRSS"), None
    try:
        words = [folder / "load", kind, server.address, str(chosen.members), str(round(chosen.rate))]
        environment = os.environ | {"FRAMES": str(ROOT / "crates/room/frames")}
        load = started(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=None, text=True, env=environment)

        def ask():
            load.stdin.write("\n")
            load.stdin.flush()
            line = load.stdout.readline()
            if not line:
                raise Failed(f"the clients of {kind} ended with {load.wait()}")
            return json.loads(line)

        ask()
        time.sleep(WARM_UP)
        before, used, began = ask(), server.processor_time(), time.monotonic()
        time.sleep(chosen.seconds)
        after, spent, lasted = ask(), server.processor_time() - used, time.monotonic() - began
        wanted = chosen.members * (chosen.members - 1)
        if after["streams"] != wanted:
            raise Failed(f"{after['streams']} of {wanted} streams arrive from {kind}")
        counts = {key: after[key] - before[key] for key in after}
        return {
            "kind": kind,
            "packets": counts["packets"],
            "cores": spent / lasted,
            "per_second": counts["packets"] / spent,
            "received": counts["bytes"] * 8 / lasted / chosen.members / 1e6,
            "idle": idle,
            "resident": server.memory("VmRSS"),
            "largest": server.memory("VmHWM"),
            "load": os.getloadavg()[0],
        }
    finally:
        for process in (load, server.process):
            if process is not None:
                end(process)


def study(chosen, folder):
    runs = []
    for number in range(chosen.rounds):
        for kind in ("room", "livekit"):
            runs.append(measure(kind, chosen, folder))
            print(json.dumps({"round": number + 1} | {key: round(value, 2) if isinstance(value, float) else value for key, value in runs[-1].items()}), flush=True)
    means = {kind: {key: statistics.mean(run[key] for run in runs if run["kind"] == kind) for key in ("per_second", "resident", "largest")} for kind in ("room", "livekit")}
    room, livekit = means["room"], means["livekit"]
    print(f"packets in a second of processor time: room {room['per_second']:.0f}, LiveKit {livekit['per_second']:.0f}, {room['per_second'] / livekit['per_second']:.2f} times as many")
    print(f"largest memory, MB: room {room['largest']:.1f}, LiveKit {livekit['largest']:.1f}, a part of {room['largest'] / livekit['largest']:.3f}")


def main():
    parser = Parser(description=__doc__)
    parser.add_argument("program", type=program, help="airbound-room, a release build")
    parser.add_argument("--rounds", type=at_least(1, int), default=3)
    parser.add_argument("--members", type=at_least(2, int), default=10)
    parser.add_argument("--rate", type=at_least(1e5), default=1e6, help="of each stream, bit/s")
    parser.add_argument("--seconds", type=at_least(1), default=20.0)
    parser.add_argument("--inside", type=pathlib.Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    try:
        if chosen.inside:
            return study(chosen, chosen.inside)
        with tempfile.TemporaryDirectory(prefix="airbound-livekit-") as place:
            folder = pathlib.Path(place)
            shutil.copytree(HERE / "livekit", folder, dirs_exist_ok=True)
            build(folder)
            device = "ip link set lo up && ip link add host type veth peer name peer && ip addr add 10.99.0.1/24 dev host && ip link set host up && ip link set peer up"
            inside = ["sh", "-c", f'{device} && exec "$@"', "sh", sys.executable, *sys.argv, "--inside", folder]
            sys.exit(subprocess.run([need("unshare"), "--map-root-user", "--net", *inside]).returncode)
    except Missing as error:
        print(f"livekit: SKIPPED: {error}")
    except (Failed, OSError) as error:
        sys.exit(f"livekit: {error}")


if __name__ == "__main__":
    main()
