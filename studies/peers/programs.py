#!/usr/bin/env python3
"""Programs of others over the simulated air: what each of them reports, and whether the emulation counts.

  programs.py [PROGRAM ...] [--scenario my-flat] [--station laptop] [--scheme NAME] [--seconds 5] [--airbound airbound]
  programs.py ping "iperf3 down" --scheme fifo

Without names all are run. One that is not installed is SKIPPED aloud; exit code 1 if one failed.
"""

import json
import os
import re
import subprocess
import sys

from peers import Failed, Missing, Parser, Work, at_least, emulate, line, need, own, program


def ping(station, seconds, folder):
    """Round trips of ICMP, ten a second."""

    def read(text):
        _, mean, longest, _ = map(float, re.search(r"= ([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+) ms", text).groups())
        return {"answered": int(re.search(r"(\d+) received", text)[1]), "mean_ms": mean, "max_ms": longest}

    return Work([], [need("ping", "iputils-ping"), "-q", "-i", "0.1", "-c", str(10 * seconds), "server"], read)


def iperf(*options):
    """Streams of TCP or UDP."""

    def read(text):
        end = json.loads(text)["end"]
        if "-u" in options:
            # Received data; the sender's own figure is in the same place of another table.
            received = end["sum"]
            return {"mbps": received["bits_per_second"] * (1 - received["lost_percent"] / 100) / 1e6, "lost_percent": received["lost_percent"]}
        figures = {"mbps": end["sum_received"]["bits_per_second"] / 1e6}
        if "--bidir" in options:
            figures["back_mbps"] = end["sum_received_bidir_reverse"]["bits_per_second"] / 1e6
        return figures

    def work(station, seconds, folder):
        iperf3 = need("iperf3")
        return Work([line([iperf3, "-s", "-1"])], [iperf3, "-c", "server", "-J", "-t", str(seconds), *options], read)

    return work


def curl(station, seconds, folder):
    """A file of 4 MB over HTTP/2. One file a connection: Debian 12's curl 7.88.1 fails at the second one, on the loopback device, too."""
    (folder / "file").write_bytes(bytes(4_000_000))

    def read(text):
        version, taken, duration = text.split()
        return {"http": version, "bytes": int(taken), "mbps": 8e-6 * int(taken) / float(duration)}

    words = [need("curl"), "-sS", "--noproxy", "*", "--http2-prior-knowledge", "-o", "/dev/null", "-w", "%{http_version} %{size_download} %{time_total}"]
    return Work([line([need("nghttpd", "nghttp2-server"), "--no-tls", "-d", str(folder), "8000"])], [*words, "http://server:8000/file"], read)


def address_of(host):
    return f"$(getent ahostsv4 {host} | head -n 1 | cut -d ' ' -f 1)"


def ffmpeg(station, seconds, folder):
    """A film of 1280x720 at 30 frames a second, H.264 in MPEG-TS over UDP, decoded as it comes."""
    name = need("ffmpeg")
    film = f"{name} -loglevel error -re -f lavfi -i testsrc2=size=1280x720:rate=30 -t {seconds} -c:v libx264 -preset ultrafast"
    film += f" -tune zerolatency -g 30 -b:v 6M -f mpegts udp://{address_of(station)}:5004?pkt_size=1316"
    # The viewer starts 2 s after the server, which listens nowhere, and ends with an error when nothing comes any more.
    viewer = f"{name} -loglevel error -i 'udp://0.0.0.0:5004?timeout=5000000&fifo_size=50000' -f framemd5 - || true"
    read = lambda text: {"frames": sum(not row.startswith("#") for row in text.splitlines()), "of": 30 * seconds}
    return Work([f"sleep 4; {film} >/dev/null 2>&1"], ["sh", "-c", viewer], read)


def wireguard(station, seconds, folder):
    """A tunnel between station and server, of the kernel or of wireguard-go, and TCP inside."""
    if os.geteuid() != 0:
        raise Missing("a tunnel needs root, whose commands have capabilities in the emulation")
    wg, iperf3, ends = need("wg", "wireguard-tools"), need("iperf3"), {"server": "10.9.0.1", station: "10.9.0.2"}
    keys = {}
    for host in ends:
        private = subprocess.run([wg, "genkey"], capture_output=True, text=True, check=True).stdout
        (folder / host).write_text(private)
        keys[host] = subprocess.run([wg, "pubkey"], input=private, capture_output=True, text=True, check=True).stdout.strip()

    def tunnel(host, other):
        device = "wg-a" if host == "server" else "wg-b"
        lines = [f"ip link add {device} type wireguard 2>/dev/null || WG_I_PREFER_BUGGY_USERSPACE_TO_POLISHED_KMOD=1 wireguard-go {device} >/dev/null 2>&1"]
        lines += [f"{wg} set {device} listen-port 51820 private-key {folder / host} peer {keys[other]} allowed-ips {ends[other]}/32 endpoint {address_of(other)}:51820"]
        lines += [f"ip address add {ends[host]}/24 dev {device}", f"ip link set {device} mtu 1420 up"]
        return "set -e; " + "; ".join(lines)

    server = f"{tunnel('server', station)}; {line([iperf3, '-s', '-1'])}"
    client = f"{tunnel(station, 'server')}; exec {iperf3} -c {ends['server']} -J -R -t {seconds}"
    return Work([server], ["sh", "-c", client], lambda text: {"mbps": json.loads(text)["end"]["sum_received"]["bits_per_second"] / 1e6})


def aioquic(station, seconds, folder):
    """10 MB over one QUIC stream."""
    if subprocess.run([sys.executable, "-c", "import aioquic"], stderr=subprocess.DEVNULL).returncode != 0:
        raise Missing("there is no aioquic; pip install aioquic")
    return Work([line(own("quic.py", "serve"))], own("quic.py", "get", "server"), json.loads)


def vr(station, seconds, folder):
    """Frames of a VR stream, the first second left out."""
    return Work([line(own("vr.py", "serve"))], own("vr.py", "watch", "server", "--seconds", seconds), json.loads)


def chromium(station, seconds, folder):
    """WebRTC between two Chromiums."""
    need("chromium")
    keys = ("frames", "kbps", "rtt_ms", "gap_p99_ms")
    read = lambda text: {f"{me} {key}": figures.get(key) for me, figures in json.loads(text).items() for key in keys}
    return Work([line(own("chromium.py", "serve"))], own("chromium.py", "join", "server", "--seconds", seconds), read)


PROGRAMS = {
    "ping": ping,
    "iperf3 up": iperf(),
    "iperf3 down": iperf("-R"),
    "iperf3 both": iperf("--bidir"),
    "iperf3 udp": iperf("-u", "-b", "20M", "-R"),
    "curl": curl,
    "ffmpeg": ffmpeg,
    "aioquic": aioquic,
    "vr": vr,
    "chromium": chromium,
    "wireguard": wireguard,
}


def main():
    parser = Parser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help=f"of {', '.join(PROGRAMS)}")
    parser.add_argument("--scenario", default="my-flat")
    parser.add_argument("--station", default="laptop")
    parser.add_argument("--scheme")
    parser.add_argument("--seconds", type=at_least(2, int), default=5)
    parser.add_argument("--airbound", default="airbound", type=program)
    chosen = parser.parse_args()
    if unknown := [name for name in chosen.names if name not in PROGRAMS]:
        parser.error(f"no program is named {unknown[0]}; they are {', '.join(PROGRAMS)}")
    print(f"{chosen.scenario}, {chosen.station}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| program | figures | late > 1 ms | first late p99, us | counts |\n|---|---|---|---|---|")
    failed = False
    for name in chosen.names or PROGRAMS:
        try:
            figures, timing = emulate(PROGRAMS[name], chosen.scenario, chosen.station, chosen.seconds, chosen.airbound, chosen.scheme)
        except (Missing, Failed) as error:
            failed |= isinstance(error, Failed)
            print(f"| {name} | {'FAILED' if isinstance(error, Failed) else 'SKIPPED'}: {error} | | | |", flush=True)
            continue
        text = ", ".join(f"{key} {value:.1f}" if isinstance(value, float) else f"{key} {value}" for key, value in figures.items())
        late, counts = 100 * (timing["late_share"] or 0), "yes" if timing["counts"] else "no"
        print(f"| {name} | {text} | {late:.2f} % | {timing['first']['p99_us'] or 0:.0f} | {counts} |", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
