#!/usr/bin/env python3
"""A real WebRTC video under schemes in the surroundings of the Law study, beside the simulated GCC in the same place.

  video.py [--schemes law,linux] [--seconds 60] [--runs 1] [--surroundings hidden] [--program airbound]

Chromium to Chromium: 640x360, 30 frames a second, 2 Mb/s at most, from behind the wire to the station, with 10 ms of wire each way. The
simulated video has the same frame rate and bound. A frame is late after 100 ms from its capture; the simulated one ends when it can be
decoded, Chromium's when it is displayed, which takes two to four frames more. Needs the Python package airbound and Chromium.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

import airbound

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tools import program  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
MOST_KBPS = 2000
AIR = """
title = "A video call downwards in the surroundings of the Law study"
surroundings = "{surroundings}"
duration = "{seconds} s"
warm-up = "2 s"
wire = {{ delay = "10 ms" }}
[air]
standard = "ht"
width = "20 MHz"
[access-point]
preset = "openwifi"
streams = 1
[[station]]
name = "laptop"
[[flow]]
name = "video"
kind = "rtc"
station = "laptop"
rate = "{most} kbit/s"
max-rate = "{most} kbit/s"
fps = 30
fec = "none"
deadline = "100 ms"
[[flow]]
name = "call"
kind = "voip"
station = "laptop"
"""


def scenario(chosen, seed):
    text = AIR.format(surroundings=chosen.surroundings, seconds=chosen.seconds, most=MOST_KBPS)
    return airbound.Scenario.from_text(text, "video").set("seed", seed)


def simulated(chosen, scheme, seed):
    result = airbound.run(scenario(chosen, seed), scheme, seed=seed, log_packets=False)
    flow = next(flow for flow in result.summary["flows"] if flow["name"] == "video")
    latency = flow["frame_latency_ms"]
    return {"p50": latency["p50"], "p95": latency["p95"], "p99": latency["p99"], "late": 100 * late_share(result), "kbps": 1000 * flow["goodput_mbps"]}


def late_share(result):
    """Frames later than 100 ms, or never there, of all that were made in the measured time."""
    frames = result.frames
    frames = frames.filter((frames["flow"] == 0) & (frames["fate"] != 4))
    lasted = (frames["delivered_ns"] - frames["created_ns"]).fill_null(1 << 60)
    return (lasted > 100_000_000).sum() / max(1, len(frames))


def emulated(chosen, scheme, seed):
    with airbound.emulate(scenario(chosen, seed), scheme, stations=["laptop"], without=["video"], program=chosen.program) as net:
        net.server.popen([sys.executable, str(HERE / "call.py"), "serve"], stdin=subprocess.DEVNULL)
        net.server.wait_for_port(8080)
        words = [sys.executable, str(HERE / "call.py"), "join", "server", "--seconds", str(chosen.seconds)]
        words += ["--size", "640x360", "--most", str(MOST_KBPS), "--one-way"]
        done = net.station("laptop").run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=chosen.seconds + 120)
        if done.returncode != 0:
            sys.exit(f"video: the call failed: {done.stdout}{done.stderr}")
        seen = json.loads(done.stdout)["caller"]
    found = {f"p{share}": seen.get(f"latency_p{share}_ms") for share in (50, 95, 99)}
    made = 30 * chosen.seconds
    found |= {"late": 100 * seen["later_than_100_ms"] / max(1, seen["of"]), "kbps": seen["kbps"], "frames": f"{seen['frames']:.0f} of {made}"}
    found |= {"gap_p99": seen["gap_p99_ms"], "freezes": seen["freezes"], "lost": seen["lost"]}
    flow = max((flow for flow in net.result.summary["flows"] if flow["name"].startswith("laptop down udp")), key=lambda flow: flow["packets"]["delivered"])
    found |= {"packet_p99": flow["latency_ms"]["p99"]}
    return found | {"timing": 100 * (net.timing["late_share"] or 0), "counts": net.timing["counts"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schemes", default="law,linux")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--surroundings", default="hidden")
    parser.add_argument("--program", type=program)
    chosen = parser.parse_args()
    print(f"{chosen.surroundings}, {chosen.runs} runs of {chosen.seconds} s; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for scheme in chosen.schemes.split(","):
        rows = {"simulated GCC": [simulated(chosen, scheme, seed) for seed in range(1, chosen.runs + 1)]}
        rows["Chromium"] = [emulated(chosen, scheme, seed) for seed in range(1, chosen.runs + 1)]
        for name, runs in rows.items():
            cells = {key: [run[key] for run in runs] for key in runs[0]}
            shown = {key: statistics.median(values) if all(isinstance(value, float) for value in values) else values for key, values in cells.items()}
            print(f"{scheme}, {name}: " + ", ".join(f"{key} {value:.1f}" if isinstance(value, float) else f"{key} {value}" for key, value in shown.items()), flush=True)


if __name__ == "__main__":
    main()
