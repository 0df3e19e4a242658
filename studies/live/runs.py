"""Runs of the streamer in virtual time, the paper's network, and figures with intervals."""

import json
import math
import os
import pathlib
import statistics
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
#: Student's t for 95 % by degrees of freedom.
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}


def started(chosen, scenario, stations, seed, options, arguments=(), environment=None):
    """Runs the streamer in virtual time; its output and its log."""
    words = [chosen.lockstep, str(scenario), "--without", "probe", *arguments, "--seed", str(seed), "--stations", ",".join(stations)]
    words += [chosen.streamer, *(f"{key}={value}" for key, value in options.items()), f"seed={seed}"]
    done = subprocess.run(words, capture_output=True, text=True, env=os.environ | (environment or {}))
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()[-400:]}")
    return done


def play(chosen, scenario, stations, seed, options, arguments=()):
    """Runs the streamer in virtual time; the lines of its results."""
    return [json.loads(line) for line in started(chosen, scenario, stations, seed, options, arguments).stdout.splitlines()]


def of(lines, role):
    return [line for line in lines if line["role"] == role]


def interval(values):
    """Mean and half the width of its 95 % interval."""
    if len(values) < 2:
        return statistics.fmean(values), 0.0
    return statistics.fmean(values), T95.get(len(values) - 1, 1.96) * statistics.stdev(values) / math.sqrt(len(values))


def shown(values, digits=1):
    mean, half = interval(values)
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


#: A scenario has a flow; it is left out.
PROBE = """
[[flow]]
name = "probe"
kind = "cbr"
station = "station"
rate = "10 kbit/s"
"""


def wlan(stations, rate="VHT80 MCS9 2SS LGI", streams=2, guard="800 ns"):
    """The network of Sec. 6.2 of the paper, as airbound reproduce has it."""
    return f"""
duration = "60 s"
warm-up = "1 s"

[air]
standard = "vht"
width = "80 MHz"
guard-interval = "{guard}"
control-rate = "24 Mbit/s"
edca = "equal"

[access-point]
preset = "direct"
streams = {streams}
path = {{ hardware-tries = 1 }}

[scheme]
queue = {{ kind = "round-robin", limit = {{ packets = 1000 }} }}
rate = "fixed"

[wire]
rate = "unlimited"
delay = "0 ms"

[[station]]
name = "station"
count = {stations}
rate = "{rate}"
{PROBE}"""


def names(stations):
    return [f"station-{number + 1}" for number in range(stations)] if stations > 1 else ["station"]
