#!/usr/bin/env python3
"""Throughput and lateness of the emulation, and what other tools carry on the same machine.

  speed.py [CASE ...] [--seconds 5] [--program airbound] [--rattan PATH]

PHY rates are fixed by width, streams and guard interval: 780 Mb/s (802.11ac, 80 MHz) and 2402 Mb/s (802.11ax, 160 MHz), two streams each,
no wire, one simulated call. Processors: the simulation, waiting busily, and system calls apart. `udp` counts what the receiver's socket had
no room for. The `ordinary` cases run without the right to a real-time class (setpriv). Absolute figures belong to an idle machine: steal and
load are printed. Needs the Python package airbound and iperf3; tools that are missing are SKIPPED aloud.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import airbound

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tools import program  # noqa: E402

AIR = """
title = "{title}"
duration = "1 s"
warm-up = "500 ms"
[air]
standard = "{standard}"
width = "{width}"
guard-interval = "{guard}"
[access-point]
preset = "mac80211"
streams = 2
[uplink]
queue = "linux"
preset = "mac80211"
[scheme]
queue = "linux"
rate = "ideal"
[[station]]
name = "laptop"
channel = {{ kind = "fixed", snr = "50 dB" }}
[[flow]]
name = "call"
kind = "voip"
station = "laptop"
"""
PHY = {
    780: {"title": "PHY 780", "standard": "vht", "width": "80 MHz", "guard": "800 ns"},
    2402: {"title": "PHY 2402", "standard": "he", "width": "160 MHz", "guard": "800 ns"},
}
#: PHY rate, options of iperf3, whether the emulator may be real-time.
CASES = {
    "tcp-up-780": (780, [], True),
    "tcp-down-780": (780, ["-R"], True),
    "tcp-up-2402": (2402, [], True),
    "tcp-down-2402": (2402, ["-R"], True),
    "udp-up-780": (780, ["-u", "-b", "500M", "-l", "1448"], True),
    "udp-down-780": (780, ["-u", "-b", "500M", "-l", "1448", "-R"], True),
    "udp-300-up": (780, ["-u", "-b", "300M", "-l", "1448"], True),
    "udp-300-up-ordinary": (780, ["-u", "-b", "300M", "-l", "1448"], False),
}


def socket_losses(net, host):
    """Datagrams for which the sockets of a host had no room, and those that they got."""
    text = net.host(host).run(["cat", "/proc/net/snmp"], capture_output=True, text=True, check=True).stdout
    head, row = [line.split()[1:] for line in text.splitlines() if line.startswith("Udp:")]
    figures = dict(zip(head, map(int, row)))
    return figures["RcvbufErrors"], figures["InDatagrams"]


def steal():
    figures = list(map(int, pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:9]))
    return figures[7], sum(figures)


def emulated(name, seconds, program):
    phy, options, real_time = CASES[name]
    with tempfile.TemporaryDirectory() as place:
        if not real_time:
            wrapper = pathlib.Path(place) / "airbound"
            wrapper.write_text(f'#!/bin/sh\nexec setpriv --bounding-set=-sys_nice {program or "airbound"} "$@"\n')
            wrapper.chmod(0o755)
            program = str(wrapper)
        with airbound.emulate(airbound.Scenario.from_text(AIR.format(**PHY[phy])), program=program) as net:
            net.server.popen(["iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
            net.server.wait_for_port(5201)
            done = net.station("laptop").run(["iperf3", "-c", "server", "-J", "-t", str(seconds), *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            end = json.loads(done.stdout)["end"]
            lost = ""
            if "-u" in options:
                full, taken = socket_losses(net, "laptop" if "-R" in options else "server")
                lost = f"{100 * full / max(1, full + taken):.2f} %"
                mbps = end["sum"]["bits_per_second"] * (1 - end["sum"]["lost_percent"] / 100) / 1e6
            else:
                mbps = end["sum_received"]["bits_per_second"] / 1e6
    timing = net.timing
    shown = lambda lateness: " / ".join(f"{lateness[key] or 0:.0f}" for key in ("p50_us", "p99_us", "p999_us", "max_us"))
    rest = timing["processors"] - timing["spinning"] - (timing["system"] or 0)
    parts = f"{timing['processors']:.2f} = {rest:.2f} + {timing['spinning']:.2f} + {timing['system'] or 0:.2f}"
    stolen = 100 * (timing["steal_share"] or 0)
    print(f"| {name} | {timing['class']} | {mbps:.0f} | {lost} | {100 * timing['late_share']:.2f} % | {shown(timing['first'])} | {shown(timing['last'])} | {parts} | {stolen:.1f} % | {'yes' if timing['counts'] else 'NO'} |", flush=True)


def iperf_between(enter, seconds, options, address):
    done = subprocess.run([*enter, "iperf3", "-c", address, "-J", "-t", str(seconds), *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    report = json.loads(done.stdout)
    if "error" in report:
        raise RuntimeError(report["error"])
    return report["end"]["sum_received"]["bits_per_second"] / 1e6


def queueing_discipline(seconds, words):
    """TCP between two namespaces over a veth pair with a queueing discipline of the kernel at the sender."""
    for name in ("speed-a", "speed-b"):
        subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "link", "add", "va", "netns", "speed-a", "type", "veth", "peer", "name", "vb", "netns", "speed-b"], check=True)
        for name, device, address in (("speed-a", "va", "10.9.9.1/24"), ("speed-b", "vb", "10.9.9.2/24")):
            subprocess.run(["ip", "-n", name, "address", "add", address, "dev", device], check=True)
            subprocess.run(["ip", "-n", name, "link", "set", device, "up"], check=True)
        done = subprocess.run(["tc", "-n", "speed-a", "qdisc", "add", "dev", "va", "root", *words], capture_output=True, text=True)
        if done.returncode != 0:
            return f"SKIPPED: {done.stderr.strip().splitlines()[0]}"
        server = subprocess.Popen(["ip", "netns", "exec", "speed-b", "iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
        subprocess.run(["sleep", "0.5"], check=True)
        mbps = iperf_between(["ip", "netns", "exec", "speed-a"], seconds, [], "10.9.9.2")
        server.wait(timeout=20)
        return f"{mbps:.0f} Mb/s"
    finally:
        for name in ("speed-a", "speed-b"):
            subprocess.run(["ip", "netns", "delete", name], check=False)


def rattan(seconds, program, options):
    """TCP from inside a Rattan link to a server on this host, as its guide does it."""
    if program is None or shutil.which(program) is None:
        return "SKIPPED: name its program with --rattan"
    server = subprocess.Popen(["iperf3", "-s", "-1", "-p", "5301"], stdout=subprocess.DEVNULL)
    subprocess.run(["sleep", "0.5"], check=True)
    client = f"iperf3 -c $RATTAN_BASE -p 5301 -J -t {seconds}"
    done = subprocess.run([program, "link", *options, "--", "bash", "-c", client], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=seconds + 30)
    server.terminate()
    server.wait()
    found = re.search(r"\{.*\}", done.stdout, re.S)
    if not found:
        return f"FAILED: {(done.stderr or done.stdout).strip()[-200:]}"
    report = json.loads(found[0])
    return f"{report['end']['sum_received']['bits_per_second'] / 1e6:.0f} Mb/s" if "sum_received" in report.get("end", {}) else f"FAILED: {report.get('error')}"


OTHERS = {
    "tbf 900 Mbit/s": lambda chosen: queueing_discipline(chosen.seconds, ["tbf", "rate", "900mbit", "burst", "256k", "latency", "20ms"]),
    "netem 900 Mbit/s": lambda chosen: queueing_discipline(chosen.seconds, ["netem", "rate", "900mbit", "limit", "2000"]),
    "veth alone": lambda chosen: queueing_discipline(chosen.seconds, ["pfifo", "limit", "1000"]),
    "Rattan 900 Mb/s": lambda chosen: rattan(chosen.seconds, chosen.rattan, ["--uplink-bandwidth", "900Mbps", "--downlink-bandwidth", "900Mbps", "--uplink-queue", "droptail", "--uplink-queue-args", '{"packet_limit": 2000}']),
    "Rattan unlimited": lambda chosen: rattan(chosen.seconds, chosen.rattan, ["--uplink-delay", "1ms", "--downlink-delay", "1ms"]),
    "mahimahi": lambda chosen: "SKIPPED: apt-get install mahimahi" if shutil.which("mm-link") is None else "there, not tried",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}, others; all by default")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--program", type=program)
    parser.add_argument("--rattan")
    chosen = parser.parse_args()
    for name in chosen.cases:
        if name not in [*CASES, "others"]:
            parser.error(f"no case is named {name}; they are {', '.join(CASES)}, others")
    if shutil.which("iperf3") is None:
        sys.exit("speed: there is no iperf3; on Debian: apt-get install iperf3")
    before = steal()
    print(f"load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores\n")
    print("| case | class | Mb/s | lost at the socket | late > 1 ms | first, us (p50 / p99 / p99.9 / max) | last | processors = simulation + spinning + system | steal | counts |")
    print("|---|---|---:|---:|---:|---|---|---|---:|---|")
    for name in chosen.cases or CASES:
        if name in CASES:
            emulated(name, chosen.seconds, chosen.program)
    if not chosen.cases or "others" in chosen.cases:
        for name, run in OTHERS.items():
            try:
                print(f"| {name} | | {run(chosen)} |", flush=True)
            except Exception as error:
                print(f"| {name} | | FAILED: {error} |", flush=True)
    after = steal()
    print(f"\nload {os.getloadavg()[0]:.2f} at the end; {100 * (after[0] - before[0]) / max(1, after[1] - before[1]):.1f} % of the machine's time was stolen")


if __name__ == "__main__":
    main()
