#!/usr/bin/env python3
"""The network plan of quic-network-simulator in namespaces, with Airbound in the simulator's place, tried with aioquic.

  interop.py [--scenario "my-flat --station laptop"] [--airbound airbound] [--megabytes 5]
  interop.py --airbound target/release/airbound

client 193.167.0.100 -- eth0 sim eth1 -- server 193.167.100.100, and the same in IPv6; endpoints are set up as its `setup.sh` does it, the
simulator by packaging/quic-network-simulator/run.sh. Needs iproute2 and ethtool, the right to raw sockets and namespaces (root, or user
namespaces); without aioquic the transfer is SKIPPED aloud. Exit code 1 if one fails or did not cross the air.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from peers import ROOT, Missing, Parser, at_least, need, own, program

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
        for name, end, number in ((host, "eth0", "100"), ("sim", device, "2")):
            ip("-n", name, "address", "add", f"{four}.{number}/24", "dev", end)
            ip("-n", name, "address", "add", f"{six}:{number}/64", "dev", end, "nodad")
            ip("-n", name, "link", "set", end, "up")
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


def round_trip(address):
    done = within("client", ["ping", "-q", "-i", "0.1", "-c", "20", address], capture_output=True)
    if done.returncode != 0:
        return None
    return float(done.stdout.split(" = ")[1].split("/")[1])


def play(scenario, airbound, megabytes):
    lay_out()
    failed, transfers = False, 0
    with tempfile.TemporaryDirectory() as place:
        logs = pathlib.Path(place)
        folder = logs / "bin"
        folder.mkdir()
        (folder / "airbound").symlink_to(airbound)
        environment = os.environ | {"SCENARIO": f"{scenario} --quiet", "LOGS": place, "PATH": f"{folder}:{os.environ['PATH']}"}
        run = ["ip", "netns", "exec", "sim", str(ROOT / "packaging/quic-network-simulator/run.sh")]
        simulator = subprocess.Popen(run, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        wait_for_simulator(simulator)
        print("| what | round trip or rate, IPv4 | IPv6 | |\n|---|---|---|---|")
        addresses = [f"{SIDES['server'][1]}.100", f"{SIDES['server'][2]}:100"]
        trips = [round_trip(address) for address in addresses]
        failed |= None in trips
        print(f"| ping | {trips[0]} ms | {trips[1]} ms | |", flush=True)
        if subprocess.run([sys.executable, "-c", "import aioquic"], stderr=subprocess.DEVNULL).returncode != 0:
            print("| aioquic | SKIPPED: pip install aioquic | | |")
        else:
            server = subprocess.Popen(["ip", "netns", "exec", "server", *own("quic.py", "serve")], stdin=subprocess.DEVNULL)
            time.sleep(1)
            cells = []
            transfers = len(addresses)
            for address in addresses:
                done = within("client", own("quic.py", "get", address, "--megabytes", megabytes), capture_output=True, timeout=240)
                failed |= done.returncode != 0
                cells.append(f"FAILED: {done.stderr.strip()[-200:]}" if done.returncode != 0 else f"{json.loads(done.stdout)['mbps']} Mb/s")
            print(f"| aioquic, {megabytes} MB | {cells[0]} | {cells[1]} | |", flush=True)
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
    parser = Parser(description=__doc__)
    parser.add_argument("--scenario", default="my-flat --station laptop")
    parser.add_argument("--airbound", default="airbound", type=program)
    parser.add_argument("--megabytes", type=at_least(1, int), default=5)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    try:
        for tool, package in {"ip": "iproute2", "ethtool": None, "ping": "iputils-ping", "unshare": "util-linux"}.items():
            need(tool, package)
    except Missing as error:
        print(f"interop: SKIPPED: {error}")
        return
    if not chosen.inside:
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        os.execvp("unshare", ["unshare", *user, "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, *sys.argv, "--inside"])
    play(chosen.scenario, chosen.airbound, chosen.megabytes)


if __name__ == "__main__":
    main()
