"""The paper's headlines, live: level, goodput, delay and loss of 1 to 20 stations; other rates, targets, and a rate that falls."""

import concurrent.futures
import json
import re
import statistics

from runs import ROOT, names, of, play, started, wlan


def cell(chosen, folder, stations, seconds=25, rule="airbound", scenario=None, arguments=(), seed=1, **options):
    """One run of the paper's network: means over stations."""
    file = folder / f"wlan-{stations}.toml"
    if scenario is None:
        file.write_text(wlan(stations))
    settings = {"rule": rule, "encoder": "even", "fps": 500, "spread": 1, "seconds": seconds, "skip": 10, "start": 1, "most": 1000} | options
    lines = play(chosen, scenario or file, names(stations), seed, settings, arguments)
    viewers, senders, airs = of(lines, "viewer"), of(lines, "sender"), of(lines, "air")
    goodputs = [viewer["goodput_mbps"] for viewer in viewers]
    packets = sum(viewer["packets"] for viewer in viewers)
    return {
        "level": statistics.fmean(air["level"] for air in airs),
        "sensed": statistics.fmean(sender.get("sensed_level", 0) for sender in senders),
        "goodput": sum(goodputs),
        "jain": sum(goodputs) ** 2 / (len(goodputs) * sum(value * value for value in goodputs)),
        "delay": statistics.fmean(viewer["packet_ms"]["mean"] for viewer in viewers),
        "p95": statistics.fmean(viewer["packet_ms"]["p95"] for viewer in viewers),
        "lost": sum(viewer["lost"] for viewer in viewers),
        "packets": packets,
    }


def headlines(chosen):
    folder = ROOT / "target/live"
    print("| stations | level | sensed | goodput, Mb/s | Jain | delay, ms | p95, ms | lost of packets |\n|---:|---:|---:|---:|---:|---:|---:|---:|")
    counts = [int(count) for count in chosen.stations.split(",")]
    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        for count, row in zip(counts, pool.map(lambda count: cell(chosen, folder, count, **chosen.extra), counts)):
            print(
                f"| {count} | {row['level']:.2f} | {row['sensed']:.2f} | {row['goodput']:.1f} | {row['jain']:.4f} | {row['delay']:.3f} "
                f"| {row['p95']:.3f} | {row['lost']} of {row['packets']} |",
                flush=True,
            )


# ---- other rates, targets, and a rate that falls ----

#: Half of the PHY rate from 20 s on, as in the reproduction: 702 and 351 Mb/s are the best rates of the two places.
FALL = """
channel = { kind = "log-distance", path = [["0 s", "8.4 m"], ["19.999 s", "8.4 m"], ["20 s", "18 m"]] }
"""
#: A level from which on frames count as full.
FULL = 62
DECISION = re.compile(r"^([\d.]+) stream \d+: ([\d.]+) Mb/s, level ([\d.]+)", re.M)


def rates(chosen):
    """Eight stations at one rate each (headline 4), and the knee between targets of 40 and 64 (headline 5)."""
    folder = ROOT / "target/live"
    print("| case | target | level | goodput, Mb/s | delay, ms | p95, ms | lost of packets |\n|---|---:|---:|---:|---:|---:|---:|", flush=True)
    cases = [("eight, MCS 9", 8, "VHT80 MCS9 1SS LGI", 1, "800 ns", 32), ("eight, MCS 4", 8, "VHT80 MCS4 1SS LGI", 1, "800 ns", 32)]
    cases += [(f"one, MCS 9, {streams} streams", 1, f"VHT80 MCS9 {streams}SS {'SGI' if guard == '400 ns' else 'LGI'}", streams, guard, target)
              for streams, guard in ((2, "800 ns"), (3, "400 ns")) for target in (30, 40, 64)]
    for place, (name, stations, rate, streams, guard, target) in enumerate(cases):
        file = folder / f"rates-{place}.toml"
        file.write_text(wlan(stations, rate, streams, guard))
        row = cell(chosen, folder, stations, scenario=file, target=target, **chosen.extra)
        print(
            f"| {name} | {target} | {row['level']:.2f} | {row['goodput']:.1f} | {row['delay']:.3f} | {row['p95']:.3f} | {row['lost']} of {row['packets']} |",
            flush=True,
        )


def fall(chosen):
    """Headline 6: rounds and time until frames are no longer full after the PHY rate has fallen by half."""
    file = ROOT / "target/live/fall.toml"
    text = wlan(1).replace('rate = "fixed"', 'rate = "ideal"').replace('rate = "VHT80 MCS9 2SS LGI"', FALL)
    file.write_text(text)
    options = {"rule": "airbound", "encoder": "even", "fps": 500, "spread": 1, "seconds": 40, "skip": 10, "start": 1, "most": 1000} | chosen.extra
    print("| seed | level before | full frames, messages | full frames, s | at its rate after, s | rate before, after, Mb/s | lost of packets |")
    print("|---:|---:|---:|---:|---:|---|---|", flush=True)
    for seed in range(1, chosen.seeds + 1):
        done = started(chosen, file, names(1), seed, options, environment={"LIVE_LOG": "1"})
        log = [tuple(map(float, found)) for found in DECISION.findall(done.stderr)]
        # The streamer's clock begins when its viewer has joined; the fall is where frames are full for the first time since the start.
        begun = next(at for at, _, level in log if at > 10 and level >= FULL)
        before, after = [one for one in log if begun - 5 <= one[0] < begun], [one for one in log if one[0] >= begun]
        last = statistics.fmean(rate for at, rate, _ in after if at > begun + 10)
        full = [at for at, _, level in after if level >= FULL]
        settled = next(at for at, rate, _ in reversed(after) if abs(rate / last - 1) > 0.05)
        viewer = of([json.loads(line) for line in done.stdout.splitlines()], "viewer")[0]
        print(
            f"| {seed} | {statistics.fmean(level for _, _, level in before):.2f} | {len(full)} | {full[-1] - before[-1][0]:.2f} "
            f"| {settled - before[-1][0]:.2f} | {before[-1][1]:.0f}, {last:.0f} | {viewer['lost']} of {viewer['packets']} |",
            flush=True,
        )
