#!/usr/bin/env python3
"""The simulator's sender of video (`kind = "rtc"`, congestion `gcc`) beside the one of a real Chromium.

  model.py [--seeds 5] [--seconds 120] [--airbound FILE] [--out FOLDER] [--parity]

Each seed and scheme (Law, Linux with Minstrel-HT) is played twice in the place of `video.toml`: by two Chromiums over `airbound emulate`, the
one behind the wire sending 640x360 at 30 frames/s and 10 Mb/s at most, and by `airbound run`. Both begin at 300 kb/s, and both are measured
from 10 s after the first frame. The latency of a frame runs from the encoder's end until the frame can be decoded: it and the frames before it
are complete. Chromium's is that from an encoded transform, behind the encoder, to the arrival of the last packet (`receiveTime` of a displayed
frame; of one that is not, the time at the receiver's transform less what that is later on average). So neither encoder nor decoder counts.
Frames that are not coded, never decodable or later than 100 ms are late.

Prints a table for docs/results/law.md; the runs stay in FOLDER, and those that are there are not played again. Runs that do not count (lateness
of the emulation) are played again, twice at most. Needs Chromium; as root all of it runs in a real-time class. Five seeds take 25 minutes.
"""

import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys

from peers import HERE, ROOT, Failed, Missing, Parser, at_least, last_line, need, own, program

SCENARIO = HERE / "video.toml"
SCHEMES = {"law": ["--set", 'scheme.queue={kind="law",inside="fifo"}', "--set", "scheme.rate=law"], "linux": ["--scheme", "linux+minstrel-ht"]}
WARM_UP_MS = 10_000
LATE_MS = 100
#: Ticks of RTP's clock for video in a frame's interval.
TICKS = 90_000 // 30
FIGURES = {"p50": "p50, ms", "p95": "p95, ms", "p99": "p99, ms", "late": "late, %", "mbps": "video, Mb/s"}


def emulated(airbound, scheme, seed, seconds, folder, parity):
    """The frames of a call over the air, from a file if there is one."""
    frames = folder / f"{scheme}-{seed}.json"
    urgent = ["chrt", "--rr", "2"] if os.geteuid() == 0 and shutil.which("chrt") else []
    join = ["join", "server", "--one-way", "--seconds", seconds, "--size", "640x360", "--block", 40, "--change", 0.3, "--most", 10_000]
    join += ["--frames", frames] + ([] if parity else ["--no-parity"])
    for _ in range(3):
        if frames.exists():
            return json.loads(frames.read_text())
        out = folder / f"{scheme}-{seed}-emulated"
        words = [airbound, "--quiet", "emulate", str(SCENARIO), "--without", "video", *SCHEMES[scheme], "--seed", str(seed), "--out", str(out)]
        words += ["--server", shlex.join([*urgent, *own("chromium.py", "serve")]), "--", *urgent, *own("chromium.py", *join)]
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=seconds + 180)
        if done.returncode != 0:
            raise Failed(f"the call over {scheme} ended with {done.returncode}: {last_line(done.stderr)}")
        if not json.loads((out / "summary.json").read_text())["emulation"]["counts"]:
            frames.unlink()
    raise Failed(f"three runs over {scheme} with seed {seed} do not count: packets were late; try on an idle machine")


def quantile(latencies, share):
    return latencies[min(len(latencies) - 1, int(share * len(latencies)))]


def real(call):
    """The figures of a call."""
    sent, caller = call["answerer"]["frames"], call["caller"]
    arrived = {stamp: at for stamp, _, at in caller["shown"]}
    behind = statistics.median(at - arrived[stamp] for _, _, at, _, stamp in caller["frames"] if stamp in arrived)
    complete = {number: (arrived.get(stamp, at - behind), key) for number, _, at, key, stamp in caller["frames"]}
    decodable, following = {}, 0
    for number, (at, key) in sorted(complete.items(), key=lambda frame: frame[1]):
        if key and number > following:
            following = number
        while following in complete and complete[following][0] <= at:
            decodable[following] = at
            following += 1
    judged = [frame for frame in sent if sent[0][1] + WARM_UP_MS <= frame[1] < sent[-1][1] - 1000]
    captured = round((judged[-1][4] - judged[0][4]) % 2**32 / TICKS) + 1
    latencies = sorted(decodable[number] - at for number, at, *_ in judged if number in decodable)
    in_time = sum(latency <= LATE_MS for latency in latencies)
    figures = {f"p{share}": quantile(latencies, share / 100) for share in (50, 95, 99)}
    seconds = captured * TICKS / 90_000
    return figures | {"late": 100 * (1 - in_time / captured), "mbps": 8e-6 * sum(size for _, _, size, *_ in judged) / seconds}


def simulated(airbound, scheme, seed, seconds, folder, parity):
    out = folder / f"{scheme}-{seed}-simulated"
    words = [airbound, "--quiet", "run", str(SCENARIO), *SCHEMES[scheme], "--seed", str(seed), "--out", str(out), "--set", f'duration="{seconds:g} s"']
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise Failed(f"the simulation of {scheme} ended with {done.returncode}: {last_line(done.stderr)}")
    flow = json.loads((out / "summary.json").read_text())["flows"][0]
    shares = {name: flow["frame_latency_ms"][name] for name in ("p50", "p95", "p99")}
    return shares | {"late": 100 * flow["rtc"]["deadline_miss_rate"], "mbps": flow["rtc"]["bitrate_mbps"]}


def spread(values):
    return f"{statistics.mean(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def compare(seeds, seconds, airbound, out, parity):
    need("chromium")
    out.mkdir(parents=True, exist_ok=True)
    print("| | figure | Chromium | simulated | difference |\n|---|---|---|---|---|")
    within = True
    for scheme in SCHEMES:
        seen, made = [], []
        for seed in range(1, seeds + 1):
            seen.append(real(emulated(airbound, scheme, seed, seconds, out, parity)))
            made.append(simulated(airbound, scheme, seed, seconds, out, parity))
        for key, name in FIGURES.items():
            theirs, ours = ([run[key] for run in runs] for runs in (seen, made))
            change = 100 * (statistics.mean(ours) / statistics.mean(theirs) - 1)
            inside = abs(change) <= 20 or min(theirs) <= statistics.mean(ours) <= max(theirs)
            within &= inside
            print(f"| {scheme} | {name} | {spread(theirs)} | {spread(ours)} | {change:+.0f} %{'' if inside else ': outside'} |", flush=True)
    return within


def main():
    parser = Parser(description=__doc__)
    parser.add_argument("--seeds", type=at_least(1, int), default=5)
    parser.add_argument("--seconds", type=at_least(30), default=120.0)
    parser.add_argument("--airbound", type=program, default=None)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "runs/chromium-model")
    parser.add_argument("--parity", action="store_true", help="Chromium protects as it likes (ULPFEC); the simulation does not")
    chosen = vars(parser.parse_args())
    chosen["airbound"] = chosen["airbound"] or program("airbound")
    try:
        sys.exit(0 if compare(**chosen) else 1)
    except (Missing, Failed) as error:
        sys.exit(f"model: {error}")


if __name__ == "__main__":
    main()
