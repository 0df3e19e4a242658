#!/usr/bin/env python3
"""Programs that nobody here wrote, over the simulated air: what each of them reports, and whether the emulation counts.

  programs.py [PROGRAM ...] [--scenario my-flat] [--station laptop] [--scheme NAME] [--seconds 5] [--program airbound]

Without names all are run. One that is not installed is SKIPPED aloud. Needs the Python package airbound (pip install .).
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
import time

import airbound

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tools import program  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
#: Made by `cargo build --release --manifest-path studies/emulate/quinn/Cargo.toml`.
QUINN = HERE / "quinn/target/release/transfer-over-quinn"


class Lacking(Exception):
    """A program is not installed; the message says which, and how to get it."""


def need(program, package=None):
    found = shutil.which(program)
    if found is None:
        raise Lacking(f"there is no {program}; on Debian: apt-get install {package or program}")
    return found


def said(net, host, command, limit):
    """The standard output of a command on a host."""
    done = net.host(host).run(command, capture_output=True, text=True, timeout=limit, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def quiet(net, host, command):
    return net.host(host).popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def ping(net, station, seconds):
    """Round trips of ICMP, ten a second."""
    text = said(net, station, [need("ping", "iputils-ping"), "-q", "-i", "0.1", "-c", str(10 * seconds), "server"], seconds + 30)
    _, mean, longest, _ = map(float, re.search(r"= ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms", text).groups())
    return {"answered": int(re.search(r"(\d+) received", text)[1]), "mean_ms": mean, "max_ms": longest}


def iperf(*options):
    def run(net, station, seconds):
        server = quiet(net, "server", [need("iperf3"), "-s", "-1"])
        net.server.wait_for_port(5201)
        report = json.loads(said(net, station, ["iperf3", "-c", "server", "-J", "-t", str(seconds), *options], seconds + 60))
        server.wait(timeout=30)
        end = report["end"]
        if "-u" in options:
            # What came; the sender's own figure is in the same place of another table.
            received = end["sum"]
            return {"mbps": received["bits_per_second"] * (1 - received["lost_percent"] / 100) / 1e6, "lost_percent": received["lost_percent"]}
        figures = {"mbps": end["sum_received"]["bits_per_second"] / 1e6}
        if "--bidir" in options:
            figures["back_mbps"] = end["sum_received_bidir_reverse"]["bits_per_second"] / 1e6
        return figures

    return run


def curl(net, station, seconds):
    """A file of 4 MB over HTTP/2. One file a connection: Debian 12's curl 7.88.1 fails at the second one, on the loopback device, too."""
    server, client, size = need("nghttpd", "nghttp2-server"), need("curl"), 4_000_000
    with tempfile.TemporaryDirectory() as place:
        (pathlib.Path(place) / "file").write_bytes(bytes(size))
        quiet(net, "server", [server, "--no-tls", "-d", place, "8000"])
        net.server.wait_for_port(8000)
        words = [client, "-sS", "--noproxy", "*", "--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{http_version} %{size_download} %{time_total}"]
        version, taken, duration = said(net, station, [*words, "http://server:8000/file"], 120).split()
    return {"http": version, "bytes": int(taken), "mbps": 8e-6 * size / float(duration)}


def ffmpeg(net, station, seconds):
    """A film of 1280x720 at 30 frames a second, H.264 in MPEG-TS over UDP, decoded as it comes."""
    program = need("ffmpeg")
    with tempfile.TemporaryDirectory() as place:
        watched = pathlib.Path(place) / "frames.md5"
        viewer = quiet(net, station, [program, "-loglevel", "error", "-i", "udp://0.0.0.0:5004?timeout=5000000&fifo_size=50000", "-f", "framemd5", str(watched)])
        time.sleep(1)
        address = said(net, "server", ["getent", "ahostsv4", station], 10).split()[0]
        sender = ["-loglevel", "error", "-re", "-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=30", "-t", str(seconds)]
        sender += ["-c:v", "libx264", "-preset", "ultrafast", "-tune", "zerolatency", "-g", "30", "-b:v", "6M"]
        sender += ["-f", "mpegts", f"udp://{address}:5004?pkt_size=1316"]
        said(net, "server", [program, *sender], seconds + 60)
        viewer.wait(timeout=60)
        frames = sum(not line.startswith("#") for line in watched.read_text().splitlines())
    return {"frames": frames, "of": 30 * seconds}


def aioquic(net, station, seconds):
    """10 MB over one QUIC stream of aioquic."""
    if subprocess.run([sys.executable, "-c", "import aioquic"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Lacking("there is no aioquic; pip install aioquic")
    return quic(net, station, [sys.executable, str(HERE / "quic.py")], [])


def quinn(net, station, seconds):
    """10 MB over one QUIC stream of quinn."""
    if not QUINN.exists():
        raise Lacking(f"there is no {QUINN.name}; cargo build --release --manifest-path {HERE / 'quinn/Cargo.toml'}")
    return quic(net, station, [str(QUINN)], ["10"])


def quic(net, station, program, size):
    server = net.server.popen([*program, "serve"], stdin=subprocess.DEVNULL)
    time.sleep(1)
    figures = json.loads(said(net, station, [*program, "get", "server", *size], 120))
    server.terminate()
    return {"bytes": figures["bytes"], "mbps": figures["mbps"]}


def chromium(net, station, seconds):
    """WebRTC between two Chromiums."""
    need("chromium")
    server = net.server.popen([sys.executable, str(HERE / "call.py"), "serve"], stdin=subprocess.DEVNULL)
    net.server.wait_for_port(8080)
    call = [sys.executable, str(HERE / "call.py"), "join", "server", "--seconds", str(seconds)]
    figures = json.loads(said(net, station, call, seconds + 120))
    server.terminate()
    keys = ("frames", "kbps", "rtt_ms", "gap_p99_ms")
    return {f"{me} {key}": figures[me].get(key) for me in figures for key in keys}


def wireguard(net, station, seconds):
    """A tunnel between station and server, of the kernel or of wireguard-go, and TCP inside."""
    if os.geteuid() != 0:
        raise Lacking("a tunnel needs root, whose commands have capabilities in the emulation")
    wg, folder = need("wg", "wireguard-tools"), tempfile.TemporaryDirectory()
    need("iperf3")
    kind = "kernel"
    keys, ends = {}, {"server": "10.9.0.1", station: "10.9.0.2"}
    for host in ends:
        private = subprocess.run([wg, "genkey"], capture_output=True, text=True, check=True).stdout.strip()
        public = subprocess.run([wg, "pubkey"], input=private, capture_output=True, text=True, check=True).stdout.strip()
        keys[host] = (private, public)
    with folder as place:
        for host, other in (("server", station), (station, "server")):
            device = f"wg-{'a' if host == 'server' else 'b'}"
            made = net.host(host).run(["ip", "link", "add", device, "type", "wireguard"], stderr=subprocess.DEVNULL)
            if made.returncode != 0:
                kind = "wireguard-go"
                tunnel = net.host(host).popen([need("wireguard-go"), "-f", device], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ | {"WG_I_PREFER_BUGGY_USERSPACE_TO_POLISHED_KMOD": "1"})
                time.sleep(1)
                assert tunnel.poll() is None, "wireguard-go ended"
            file = pathlib.Path(place) / host
            file.write_text(keys[host][0])
            peer = ["peer", keys[other][1], "allowed-ips", f"{ends[other]}/32"]
            peer += ["endpoint", f"{said(net, host, ['getent', 'ahostsv4', other], 10).split()[0]}:51820"]
            said(net, host, [wg, "set", device, "listen-port", "51820", "private-key", str(file), *peer], 10)
            said(net, host, ["ip", "address", "add", f"{ends[host]}/24", "dev", device], 10)
            said(net, host, ["ip", "link", "set", device, "mtu", "1420", "up"], 10)
        quiet(net, "server", ["iperf3", "-s", "-1"])
        net.server.wait_for_port(5201)
        report = json.loads(said(net, station, ["iperf3", "-c", ends["server"], "-J", "-R", "-t", str(seconds)], seconds + 60))
    return {"tunnel": kind, "mbps": report["end"]["sum_received"]["bits_per_second"] / 1e6}


PROGRAMS = {
    "ping": ping,
    "iperf3 up": iperf(),
    "iperf3 down": iperf("-R"),
    "iperf3 both": iperf("--bidir"),
    "iperf3 udp": iperf("-u", "-b", "20M", "-R"),
    "curl": curl,
    "ffmpeg": ffmpeg,
    "aioquic": aioquic,
    "quinn": quinn,
    "chromium": chromium,
    "wireguard": wireguard,
}


def run(name, scenario, station, scheme=None, seconds=5, program=None, strict=False):
    """Runs one program in an emulation of its own: its figures, and the timing of the emulation."""
    with airbound.emulate(scenario, scheme, stations=[station], program=program, strict=strict) as net:
        figures = PROGRAMS[name](net, station, seconds)
    return figures, net.timing


def shown(value):
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)}")
    parser.add_argument("--scenario", default="my-flat")
    parser.add_argument("--station", default="laptop")
    parser.add_argument("--scheme")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--program", type=program, help="the program airbound; that of the Python package by default")
    chosen = parser.parse_args()
    for name in chosen.names:
        if name not in PROGRAMS:
            parser.error(f"no program is named {name}; they are {', '.join(PROGRAMS)}")
    print(f"{chosen.scenario}, {chosen.station}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| program | figures | late > 1 ms | first late p99, us | counts |\n|---|---|---|---|---|")
    failed = False
    for name in chosen.names or PROGRAMS:
        try:
            figures, timing = run(name, chosen.scenario, chosen.station, chosen.scheme, chosen.seconds, chosen.program)
        except Lacking as error:
            print(f"| {name} | SKIPPED: {error} | | | |", flush=True)
            continue
        except Exception as error:
            failed = True
            print(f"| {name} | FAILED: {error} | | | |", flush=True)
            continue
        text = ", ".join(f"{key} {shown(value)}" for key, value in figures.items())
        late, counts = 100 * (timing["late_share"] or 0), "yes" if timing["counts"] else "no"
        print(f"| {name} | {text} | {late:.2f} % | {timing['first']['p99_us'] or 0:.0f} | {counts} |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
