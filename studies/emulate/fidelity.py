#!/usr/bin/env python3
"""Eight scenarios with a simulated sender, with a real one in the emulation, and on the real Linux stack in the laboratory.

  fidelity.py [CASE ...] [--runs 3] [--seconds 10] [--lab | --lab-only] [--program airbound]

Goodput is that of the probe's payload; latency is that of its packets, from their sender's network layer to their receiver's. Medians of
the runs, with seeds from 1 on. Bounds: UDP 5 % of goodput and 15 % of latency, TCP 10 and 25 %. Exit code 1 if the emulation misses one.
Needs the Python package airbound and iperf3; `--lab` a program airbound that cargo built, and QEMU; `--lab-only` leaves the emulation
out, since the laboratory needs no idle machine.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import airbound

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tools import program  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent

#: All of them play on the real stack, too: one stream of 802.11n at 20 MHz, 65 Mb/s at most.
AIR = """
title = "{title}"
duration = "{seconds} s"
warm-up = "2 s"
wire = {{ delay = "{delay}" }}
[air]
standard = "ht"
width = "20 MHz"
guard-interval = "800 ns"
[access-point]
preset = "mac80211"
streams = 1
[uplink]
queue = "linux"
preset = "mac80211"
[scheme]
queue = "{queue}"
rate = "minstrel-ht"
[[station]]
name = "near"
channel = {{ kind = "fixed", snr = "30 dB" }}
[[station]]
name = "far"
channel = {{ kind = "fixed", snr = "{far}" }}
"""
FLOW = '\n[[flow]]\nname = "{name}"\nkind = "{kind}"\nstation = "{station}"\ndirection = "{direction}"\n'
PROBE = "probe"


class Case:
    """A scenario, with the flow that is simulated or real, and others that are simulated."""

    def __init__(self, title, kind, direction, rate=None, others=(), queue="linux", delay="5 ms", far="20 dB"):
        self.title, self.kind, self.direction, self.rate = title, kind, direction, rate
        self.others, self.queue, self.delay, self.far = others, queue, delay, far

    @property
    def bounds(self):
        return (0.05, 0.15) if self.kind == "cbr" else (0.10, 0.25)

    def scenario(self, seconds):
        text = AIR.format(title=self.title, seconds=seconds, delay=self.delay, queue=self.queue, far=self.far)
        text += FLOW.format(name=PROBE, kind=self.kind, station="near", direction=self.direction) + 'start = "2 s"\n'
        text += f'rate = "{self.rate} kbit/s"\n' if self.rate else ""
        for number, (kind, direction, rate) in enumerate(self.others):
            text += FLOW.format(name=f"other-{number}", kind=kind, station="far", direction=direction)
            text += f'rate = "{rate} kbit/s"\n' if rate else ""
        # Something has to be there where the probe is real.
        text += FLOW.format(name="call", kind="voip", station="far", direction="up")
        return text


CASES = {
    "udp-down": Case("A stream down, alone", "cbr", "down", 10_000),
    "udp-up": Case("A stream up, alone", "cbr", "up", 10_000),
    "udp-beside-tcp": Case("A stream beside a download, FQ-CoDel", "cbr", "down", 4_000, [("tcp", "down", None)]),
    "udp-beside-udp": Case("A stream beside another one to a weak station", "cbr", "down", 4_000, [("cbr", "down", 8_000)], far="12 dB"),
    "udp-fifo": Case("A stream beside a download, one queue", "cbr", "down", 4_000, [("tcp", "down", None)], queue="fifo"),
    "tcp-down": Case("A download, alone", "tcp", "down"),
    "tcp-up": Case("An upload, alone", "tcp", "up"),
    "tcp-beside-tcp": Case("A download beside a download", "tcp", "down", None, [("tcp", "down", None)]),
}


def of_summary(summary, name, seconds, goodput=None):
    flow = next(flow for flow in summary["flows"] if flow["name"].split(" #")[0] == name or flow["name"] == name)
    latency = flow["latency_ms"]
    return {"goodput": flow["goodput_mbps"] if goodput is None else goodput, "p50": latency["p50"], "p95": latency["p95"]}


def simulated(case, seconds, seed):
    result = airbound.run(airbound.Scenario.from_text(case.scenario(seconds)), seed=seed, log_packets=False)
    return of_summary(result.summary, PROBE, seconds)


def emulated(case, seconds, seed, program):
    scenario = airbound.Scenario.from_text(case.scenario(seconds)).set("seed", seed)
    sender, receiver = ("server", "near") if case.direction == "down" else ("near", "server")
    with airbound.emulate(scenario, stations=["near"], without=[PROBE], program=program) as net:
        if case.kind == "cbr":
            net.host(receiver).popen([sys.executable, str(HERE / "send.py"), "take"])
            net.host(receiver).run(["sleep", "0.5"])
            net.host(sender).run([sys.executable, str(HERE / "send.py"), receiver, str(case.rate), str(seconds)], stdout=subprocess.DEVNULL, check=True)
            goodput, name = None, f"near {case.direction} udp 5000"
        else:
            net.server.popen(["iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
            net.server.wait_for_port(5201)
            back = ["-R"] if case.direction == "down" else []
            done = net.station("near").run(["iperf3", "-c", "server", "-J", "-C", "cubic", "-t", str(seconds), *back], capture_output=True, text=True, check=True)
            goodput, name = json.loads(done.stdout)["end"]["sum_received"]["bits_per_second"] / 1e6, None
    summary = net.result.summary
    if name is None:
        # The first connection of iperf3 is for control, the second one carries the data.
        flows = [flow for flow in summary["flows"] if flow["name"].startswith(f"near {case.direction} tcp 5201")]
        name = max(flows, key=lambda flow: flow["packets"]["delivered"])["name"]
    else:
        flow = next(flow for flow in summary["flows"] if flow["name"] == name)
        goodput = flow["packets"]["delivered"] * 8 * 1200 / seconds / 1e6
    figures = of_summary(summary, name, seconds, goodput)
    return figures | {"late": net.timing["late_share"], "counts": net.timing["counts"], "slips": net.timing["slips"]}


def laboratory(case, seconds, seed, program):
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place) / "case.toml"
        file.write_text(case.scenario(seconds))
        words = [program, "--quiet", "lab", "run", str(file), "--seed", str(seed), "--out", f"{place}/out"]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            return {"refused": (done.stderr.strip().splitlines() or ["?"])[-1]}
        return of_summary(json.loads((pathlib.Path(place) / "out/summary.json").read_text()), PROBE, seconds)


def tell_laboratory(name, case, chosen, model):
    """A row of the laboratory: its figures, and how far the simulated ones are from them."""
    real = laboratory(case, chosen.seconds, 1, chosen.program)
    if "refused" in real:
        cells = [f"not played: {real['refused']}", "", ""]
    else:
        cells = [f"{model[key]:.2f} / {real[key]:.2f} ({100 * (real[key] / model[key] - 1):+.0f} %)" for key in model]
    print(f"| {name}, laboratory | {' | '.join(cells)} | | | |", flush=True)


def median(rows):
    return {key: statistics.median(row[key] for row in rows) for key in ("goodput", "p50", "p95")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--lab", action="store_true", help="the laboratory besides, one run each")
    parser.add_argument("--lab-only", action="store_true", help="the laboratory in place of the emulation")
    parser.add_argument("--program", default="airbound", type=program)
    chosen = parser.parse_args()
    for name in chosen.cases:
        if name not in CASES:
            parser.error(f"no case is named {name}; they are {', '.join(CASES)}")
    print(f"{chosen.runs} runs of {chosen.seconds} s; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| case | goodput, Mb/s | p50, ms | p95, ms | of the bounds | late > 1 ms | counts |\n|---|---|---|---|---|---|---|")
    missed = False
    for name in chosen.cases or CASES:
        case, seeds = CASES[name], range(1, chosen.runs + 1)
        model = median([simulated(case, chosen.seconds, seed) for seed in seeds])
        if chosen.lab_only:
            tell_laboratory(name, case, chosen, model)
            continue
        runs = [emulated(case, chosen.seconds, seed, chosen.program) for seed in seeds]
        found = median(runs)
        off = {key: found[key] / model[key] - 1 for key in model}
        bounds = {"goodput": case.bounds[0], "p50": case.bounds[1], "p95": case.bounds[1]}
        wrong = [key for key in off if abs(off[key]) > bounds[key]]
        counted = sum(run["counts"] for run in runs)
        missed |= bool(wrong)
        cells = [f"{model[key]:.2f} / {found[key]:.2f} ({100 * off[key]:+.0f} %)" for key in model]
        late = 100 * max(run["late"] for run in runs)
        print(f"| {name} | {' | '.join(cells)} | {'misses ' + ', '.join(wrong) if wrong else 'within'} | {late:.2f} % | {counted} of {len(runs)} |", flush=True)
        if chosen.lab:
            tell_laboratory(name, case, chosen, model)
    sys.exit(missed)


if __name__ == "__main__":
    main()
