#!/usr/bin/env python3
"""The network plan of quic-network-simulator in namespaces, with Airbound in the simulator's place, tried with two QUIC stacks.

  interop.py [--scenario "my-flat --station laptop"] [--program airbound] [--megabytes 5]

client 193.167.0.100 -- eth0 sim eth1 -- server 193.167.100.100, and the same in IPv6; endpoints are set up as its `setup.sh` does it, the
simulator by packaging/quic-network-simulator/run.sh. Needs iproute2 and ethtool, the right to raw sockets and namespaces (root, or user
namespaces); a stack that is not installed is SKIPPED aloud. Exit code 1 if a transfer fails or did not cross the air.
"""

import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tools import program  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
QUINN = HERE / "quinn/target/release/transfer-over-quinn"
#: Host, device, and the device's peer in the simulator; numbers of the networks.
SIDES = {"client": ("eth0", "193.167.0", "fd00:cafe:cafe:0:"), "server": ("eth1", "193.167.100", "fd00:cafe:cafe:100:")}


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def lay_out():
    """The three hosts and the two networks, in a network namespace of this process."""
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
    for name in ("sim", *SIDES):
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
    for host, (device, four, six) in SIDES.items():
        ip("link", "add", "eth0", "netns", host, "type", "veth", "peer", "name", device, "netns", "sim")
        for name, own, number in ((host, "eth0", "100"), ("sim", device, "2")):
            ip("-n", name, "address", "add", f"{four}.{number}/24", "dev", own)
            ip("-n", name, "address", "add", f"{six}:{number}/64", "dev", own, "nodad")
            ip("-n", name, "link", "set", own, "up")
        ip("-n", host, "route", "add", "193.167.0.0/16", "via", f"{four}.2")
        ip("-n", host, "route", "add", "fd00:cafe:cafe::/48", "via", f"{six}:2")
        # The kernel leaves checksums to the device, which is none.
        within(host, ["ethtool", "-K", "eth0", "tx", "off"], stdout=subprocess.DEVNULL, check=True)


def within(host, words, **options):
    return subprocess.run(["ip", "netns", "exec", host, *words], stdin=subprocess.DEVNULL, text=True, **options)


def wait_for_simulator(process):
    """As endpoints do it: until the simulator's port 57832 accepts."""
    ask = "import socket; socket.create_connection(('193.167.0.2', 57832), 1)"
    for _ in range(300):
        if process.poll() is not None:
            sys.exit(f"interop: the simulator ended with {process.returncode}")
        if within("client", [sys.executable, "-c", ask], stderr=subprocess.DEVNULL).returncode == 0:
            return
        time.sleep(0.1)
    sys.exit("interop: the simulator did not come up in 30 s")


def stacks(megabytes):
    """Name, and the words of server and client."""
    found = {}
    if subprocess.run([sys.executable, "-c", "import aioquic"], stderr=subprocess.DEVNULL).returncode == 0:
        program = [sys.executable, str(HERE / "quic.py")]
        found["aioquic"] = ([*program, "serve"], [*program, "get", "HOST", "--megabytes", str(megabytes)])
    else:
        print("| aioquic | SKIPPED: pip install aioquic | | |")
    if QUINN.exists():
        found["quinn"] = ([str(QUINN), "serve"], [str(QUINN), "get", "HOST", str(megabytes)])
    else:
        print(f"| quinn | SKIPPED: cargo build --release --manifest-path {HERE / 'quinn/Cargo.toml'} | | |")
    return found


def round_trip(address):
    done = within("client", ["ping", "-q", "-i", "0.1", "-c", "20", address], capture_output=True)
    if done.returncode != 0:
        return None
    return float(done.stdout.split(" = ")[1].split("/")[1])


def play(scenario, program, megabytes):
    lay_out()
    failed, transfers = False, 0
    with tempfile.TemporaryDirectory() as place:
        logs = pathlib.Path(place)
        folder = logs / "bin"
        folder.mkdir()
        (folder / "airbound").symlink_to(pathlib.Path(shutil.which(program) or program).resolve())
        environment = os.environ | {"SCENARIO": f"{scenario} --quiet", "LOGS": place, "PATH": f"{folder}:{os.environ['PATH']}"}
        run = ["ip", "netns", "exec", "sim", str(ROOT / "packaging/quic-network-simulator/run.sh")]
        simulator = subprocess.Popen(run, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for_simulator(simulator)
        print("| what | round trip or rate, IPv4 | IPv6 | |\n|---|---|---|---|")
        addresses = [f"{SIDES['server'][1]}.100", f"{SIDES['server'][2]}:100"]
        trips = [round_trip(address) for address in addresses]
        failed |= None in trips
        print(f"| ping | {trips[0]} ms | {trips[1]} ms | |", flush=True)
        for name, (serve, get) in stacks(megabytes).items():
            server = subprocess.Popen(["ip", "netns", "exec", "server", *serve], stdin=subprocess.DEVNULL)
            time.sleep(1)
            cells = []
            transfers += len(addresses)
            for address in addresses:
                words = [address if word == "HOST" else word for word in get]
                done = within("client", words, capture_output=True, timeout=240)
                if done.returncode != 0:
                    failed = True
                    cells.append(f"FAILED: {done.stderr.strip()[-200:]}")
                    continue
                cells.append(f"{json.loads(done.stdout)['mbps']} Mb/s")
            print(f"| {name}, {megabytes} MB | {cells[0]} | {cells[1]} | |", flush=True)
            server.terminate()
            server.wait()
        simulator.send_signal(signal.SIGINT)
        code = simulator.wait(timeout=60)
        summary = json.loads((logs / "airbound/summary.json").read_text())
    flows = {flow["name"]: flow["packets"]["delivered"] for flow in summary["flows"] if flow["kind"] == "application"}
    timing = summary["emulation"]
    print(f"\n{len(flows)} flows over the air with {sum(flows.values())} packets; {100 * (timing['late_share'] or 0):.2f} % later than 1 ms, class {timing['class']}; exit code {code}")
    udp = sum(count for name, count in flows.items() if " udp" in name)
    if udp < 600 * megabytes * transfers:
        failed = True
        print("interop: transfers did not cross the air")
    sys.exit(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", default="my-flat --station laptop")
    parser.add_argument("--program", default="airbound", type=program)
    parser.add_argument("--megabytes", type=int, default=5)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    for tool in ("ip", "ethtool", "ping", "unshare", chosen.program):
        if shutil.which(tool) is None:
            sys.exit(f"interop: there is no {tool}")
    if not chosen.inside:
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        os.execvp("unshare", ["unshare", *user, "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, *sys.argv, "--inside"])
    play(chosen.scenario, chosen.program, chosen.megabytes)


if __name__ == "__main__":
    main()
