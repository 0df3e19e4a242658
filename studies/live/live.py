#!/usr/bin/env python3
"""The library's sender and receiver live: real C programs over the simulated air in virtual time, and the tables of docs/results/live.md.

  live.py places [--seeds 5] [--encoder x264]     bitrate rules on six places, for virtual reality and for a game
  live.py headlines                               the paper's headlines: level, goodput, delay, loss of 1 to 20 stations
  live.py lab [--rules airbound gcc]              a target of 14 over the laboratory's mac80211 and over the simulated air
  live.py against --rules airbound gcc cubic bbr  the same stations, by the laboratory's record
  live.py sensing [--busy 2]                      error of the sensed level over emulate, with kernel stamps
  live.py show FILE                               the tables of results that were kept

Needs `make capi`, `studies/live/build.sh` and `cargo build --release -p airbound-sim --example lockstep`.
"""

import argparse
import concurrent.futures
import json
import math
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
#: Student's t for 95 % by degrees of freedom.
T95 = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}

RULES = ["airbound", "alvr", "nest-vr", "moonlight", "gcc"]
PLACES = {"room": 20, "corridor": 20, "calm": 20, "office": 20, "walk": 42, "away": 20}
#: Options of the streamer: frames a second, limits of the encoder in Mb/s, and from which latency on a frame is late: three intervals.
APPLICATIONS = {
    "vr": {"fps": 90, "start": 10, "least": 3, "most": 100, "late-ms": 33.3},
    "game": {"fps": 60, "start": 10, "least": 1, "most": 50, "late-ms": 50},
}


def play(chosen, scenario, stations, seed, options, arguments=()):
    """Runs the streamer in virtual time; the lines of its results."""
    words = [chosen.lockstep, str(scenario), "--without", "probe", *arguments, "--seed", str(seed), "--stations", ",".join(stations)]
    words += [chosen.streamer, *(f"{key}={value}" for key, value in options.items()), f"seed={seed}"]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()[-400:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


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


# ---- bitrate rules on six places ----


def place_run(chosen, job):
    place, application, rule, seed = job
    options = {"rule": rule, "encoder": chosen.encoder, "seconds": PLACES[place], "skip": 5} | APPLICATIONS[application] | chosen.extra
    lines = play(chosen, HERE / "places" / f"{place}.toml", ["headset"], seed, options)
    viewer, sender, air = of(lines, "viewer")[0], of(lines, "sender")[0], of(lines, "air")[0]
    return {"place": place, "application": application, "rule": rule, "seed": seed, "viewer": viewer, "sender": sender, "air": air}


def places(chosen):
    jobs = [
        (place, application, rule, seed)
        for application in chosen.applications
        for place in chosen.places
        for rule in chosen.rules
        for seed in range(1, chosen.seeds + 1)
    ]
    rows = []
    with concurrent.futures.ThreadPoolExecutor(chosen.jobs) as pool:
        for row in pool.map(lambda job: place_run(chosen, job), jobs):
            rows.append(row)
            if chosen.keep:
                with open(chosen.keep, "a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
    print_places(rows)


def print_places(rows):
    names = sorted({row["application"] for row in rows}, reverse=True)
    for application in names:
        print(f"\n### {application}\n")
        print("| place | rule | bitrate, Mb/s | frame p50, ms | frame p99, ms | late, % | stalls, s |\n|---|---|---:|---:|---:|---:|---:|")
        for place in dict.fromkeys(row["place"] for row in rows):
            cells = {}
            for row in rows:
                if row["place"] == place and row["application"] == application:
                    cells.setdefault(row["rule"], []).append(row["viewer"])
            for rule, viewers in cells.items():
                p99 = [viewer["frame_ms"]["p99"] for viewer in viewers]
                bitrate = [viewer["bitrate_mbps"] for viewer in viewers]
                late = [100 * viewer["late"] / max(1, viewer["frames"]) for viewer in viewers]
                stalled = [viewer["stalled_ms"] / 1000 for viewer in viewers]
                p50 = [viewer["frame_ms"]["p50"] for viewer in viewers]
                figures = [shown(bitrate), shown(p50), shown(p99), shown(late), shown(stalled, 2)]
                print(f"| {place} | {rule} | {' | '.join(figures)} |")
            judge(place, cells)


def judge(place, cells):
    """Names the rules that are better in both, by their means and seed by seed."""
    if "airbound" not in cells:
        return
    ours = cells["airbound"]
    for rule, viewers in cells.items():
        if rule == "airbound" or len(viewers) != len(ours):
            continue
        better = lambda a, b: a["frame_ms"]["p99"] < b["frame_ms"]["p99"] and a["bitrate_mbps"] > b["bitrate_mbps"]
        mean = lambda all, get: statistics.fmean(get(one) for one in all)
        p99, bitrate = (lambda one: one["frame_ms"]["p99"]), (lambda one: one["bitrate_mbps"])
        if mean(viewers, p99) < mean(ours, p99) and mean(viewers, bitrate) > mean(ours, bitrate):
            seeds = sum(better(a, b) for a, b in zip(viewers, ours))
            print(f"| {place} | **{rule} is better in both** | in {seeds} of {len(ours)} seeds | | | | |")


# ---- the paper's headlines ----


#: A scenario has a flow; it is left out.
PROBE = """
[[flow]]
name = "probe"
kind = "cbr"
station = "station"
rate = "10 kbit/s"
"""


def wlan(stations, rate="VHT80 MCS9 2SS LGI", streams=2):
    """The network of Sec. 6.2 of the paper, as airbound reproduce has it."""
    return f"""
duration = "60 s"
warm-up = "1 s"

[air]
standard = "vht"
width = "80 MHz"
guard-interval = "800 ns"
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


# ---- the laboratory ----


def lab_scenario(stations, standard):
    """Stations at 65 Mb/s of PHY rate behind mac80211."""
    return f"""
duration = "15 s"
warm-up = "5 s"

[air]
standard = "{standard}"
width = "20 MHz"
guard-interval = "800 ns"

[access-point]
preset = "mac80211"
streams = 1

[uplink]
queue = "linux"
preset = "mac80211"

[scheme]
queue = "linux"
rate = "fixed"

[wire]
delay = "1 ms"

[[station]]
name = "station"
count = {stations}
rate = "{standard.upper()}20 MCS7 1SS LGI"
channel = {{ kind = "fixed", snr = "35 dB" }}
{PROBE}"""


TARGET = 14
LIVE = {"fps": 100, "spread": 1, "target": TARGET, "start": 1, "most": 100, "encoder": "even", "skip": 5, "seconds": 20}


def lab_words(rule):
    return [f"{key}={value}" for key, value in (LIVE | {"rule": rule}).items()]


def in_laboratory(chosen, folder, stations, standard, rule):
    """The streamer over the kernel's mac80211 in virtual time; the lines of its results."""
    file = folder / f"lab-{standard}-{stations}.toml"
    file.write_text(lab_scenario(stations, standard))
    out = folder / f"lab-{standard}-{stations}-{rule}"
    common = " ".join(lab_words(rule))
    words = [chosen.airbound, "lab", "exec", str(file), "--for", "60s", "--out", str(out), "--bring", chosen.live_lab]
    words += ["--env", "PHY_MBPS=65", "--server", f"{chosen.live_lab} send stations={stations} {common}"]
    for number, name in list(enumerate(names(stations)))[1:]:
        words += ["--on", name, f"{chosen.live_lab} view station={number} {common}"]
    words += ["--station", names(stations)[0], "--", chosen.live_lab, "view", "station=0", *lab_words(rule)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()[-600:]}")
    lines = [line for file in (out / "commands").iterdir() for line in file.read_text(errors="replace").splitlines()]
    return [json.loads(line) for line in lines if line.startswith("{")], out


def recorded(out):
    """Downlinks of programs in the laboratory's record: goodput, latency and queueing by the same definition for all."""
    flows = json.loads((out / "summary.json").read_text())["flows"]
    return [flow for flow in flows if " down " in flow["name"] and flow["goodput_mbps"] > 0.2]


def tcp_in_laboratory(chosen, folder, stations, standard, control):
    """Downloads of the kernel's TCP by iperf3 over mac80211; the folder of the record."""
    file, out = folder / f"lab-{standard}-{stations}.toml", folder / f"lab-{standard}-{stations}-{control}"
    file.write_text(lab_scenario(stations, standard))
    words = [chosen.airbound, "lab", "exec", str(file), "--for", "60s", "--out", str(out)]
    client = lambda number: ["iperf3", "-c", "server", "-p", str(5201 + number), "-R", "-C", control, "-t", "15"]
    for number, name in enumerate(names(stations)):
        words += ["--server", f"iperf3 -s -1 -p {5201 + number}"]
        words += ["--on", name, " ".join(client(number))] if number else []
    words += ["--station", names(stations)[0], "--", *client(0)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()[-600:]}")
    return out


def against(chosen):
    folder = ROOT / "target/live"
    print("| PHY | stations | sender | goodput, Mb/s | latency mean, ms | p95, ms | queueing, ms |\n|---|---:|---|---:|---:|---:|---:|", flush=True)
    for standard in chosen.standards:
        for count in [int(count) for count in chosen.stations.split(",")]:
            for sender in chosen.rules:
                if sender in ("cubic", "bbr", "reno"):
                    out = tcp_in_laboratory(chosen, folder, count, standard, sender)
                else:
                    _, out = in_laboratory(chosen, folder, count, standard, sender)
                flows = recorded(out)
                mean = lambda get: statistics.fmean(get(flow) for flow in flows)
                figures = [sum(flow["goodput_mbps"] for flow in flows), mean(lambda f: f["latency_ms"]["mean"]), mean(lambda f: f["latency_ms"]["p95"])]
                figures.append(mean(lambda f: f["split"]["queueing_ms"]))
                print(f"| {standard} | {count} | {sender} | {' | '.join(f'{figure:.2f}' for figure in figures)} |", flush=True)


def lab_row(lines):
    viewers, senders = of(lines, "viewer"), of(lines, "sender")
    return {
        "level": statistics.fmean([air["level"] for air in of(lines, "air")] or [sender.get("sensed_level", 0) for sender in senders]),
        "goodput": sum(viewer["goodput_mbps"] for viewer in viewers),
        "delay": statistics.fmean(viewer["packet_ms"]["mean"] for viewer in viewers),
        "p95": statistics.fmean(viewer["packet_ms"]["p95"] for viewer in viewers),
        "lost": sum(viewer["lost"] for viewer in viewers),
        "packets": sum(viewer["packets"] for viewer in viewers),
    }


def lab(chosen):
    folder = ROOT / "target/live"
    print("| PHY | stations | where | level | goodput, Mb/s | delay, ms | p95, ms | lost of packets |\n|---|---:|---|---:|---:|---:|---:|---:|", flush=True)
    for standard in chosen.standards:
        for count in [int(count) for count in chosen.stations.split(",")]:
            file = folder / f"sim-{standard}-{count}.toml"
            file.write_text(lab_scenario(count, standard))
            for where in chosen.where:
                for rule in chosen.rules:
                    if where == "simulated air":
                        row = lab_row(play(chosen, file, names(count), 1, LIVE | {"rule": rule}))
                    else:
                        row = lab_row(in_laboratory(chosen, folder, count, standard, rule)[0])
                    print(
                        f"| {standard} | {count} | {rule}, {where} | {row['level']:.2f} | {row['goodput']:.2f} | {row['delay']:.2f} | {row['p95']:.2f} "
                        f"| {row['lost']} of {row['packets']} |",
                        flush=True,
                    )


# ---- sensing in real time ----

#: Reports of 100 ms in a window of 500 ms.
WINDOW = 5


def sensed(log):
    """For each window of reports: packets that were sent before its end, frames and transmissions."""
    packets, reports = 0, []
    for line in log.read_text().splitlines():
        words = line.split()
        if words[0] == "P":
            packets = max(packets, int(words[2]) + 1)
        else:
            reports.append((packets, int(words[1]), int(words[2])))
    # The first second is the sensor's lively time, at 50 ms a report.
    reports = reports[30:]
    windows = [reports[at : at + WINDOW] for at in range(0, len(reports) - WINDOW, WINDOW)]
    return [(window[-1][0], sum(one[1] for one in window), sum(one[2] for one in window)) for window in windows]


def sent_frames(out):
    """Acknowledged MPDUs of each A-MPDU to a station."""
    import polars

    rows = polars.read_parquet(out / "txops.parquet").filter((polars.col("kind") == 0) & (polars.col("transmitter") == 0) & (polars.col("acked") > 0))
    # Others than the stream's data: the hello and address resolution are frames of a packet, and are few.
    return rows["acked"].to_list()


def window_errors(windows, frames):
    """Relative error of the sensed mean level in each window."""
    ends, total = [], 0
    for size in frames:
        total += size
        ends.append(total)
    errors, place = [], 0
    for (before, _, _), (packets, count, transmissions) in zip(windows, windows[1:]):
        while place < len(ends) and ends[place] <= before:
            place += 1
        last = place
        while last < len(ends) and ends[last] <= packets:
            last += 1
        if last > place and count > 0:
            true = statistics.fmean(frames[place:last])
            errors.append(abs(transmissions / count / true - 1))
        place = last
    return errors


def sensing(chosen):
    folder = ROOT / "target/live"
    file = folder / "sensing.toml"
    file.write_text(wlan(1))
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(chosen.busy)]
    print("| Mb/s | windows | level | error, mean % | worst % | packets more than 1 ms late, % |\n|---:|---:|---:|---:|---:|---:|", flush=True)
    try:
        for rate in (50, 150, 300):
            out, log = folder / f"sensing-{rate}", folder / f"sensing-{rate}.log"
            common = f"rule=fixed encoder=even fps=500 start={rate} most=1000 seconds=15 skip=1"
            words = [chosen.airbound, "emulate", str(file), "--without", "all", "--log-packets", "--for", "40s", "--out", str(out), "-q"]
            words += ["--server", f"{chosen.sockets} send stations=1 {common}", "--station", "station", "--"]
            words += ["env", "PHY_MBPS=780", chosen.sockets, "view", "station=0", *common.split(), f"log={log}"]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()[-600:]}")
            frames = sent_frames(out)
            errors = window_errors(sensed(log), frames)
            late = json.loads((out / "summary.json").read_text())["emulation"]
            print(
                f"| {rate} | {len(errors)} | {statistics.fmean(frames):.2f} | {100 * statistics.fmean(errors):.2f} | {100 * max(errors):.2f} "
                f"| {100 * late['late_share']:.2f} |",
                flush=True,
            )
    finally:
        for one in busy:
            one.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["places", "headlines", "lab", "against", "sensing", "show"])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--lockstep", default=str(ROOT / "target/release/examples/lockstep"))
    parser.add_argument("--streamer", default=str(ROOT / "target/live/live-lockstep"))
    parser.add_argument("--encoder", default="x264", choices=["x264", "sizes"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--places", nargs="+", default=list(PLACES), choices=list(PLACES))
    parser.add_argument("--rules", nargs="+", default=RULES)
    parser.add_argument("--applications", nargs="+", default=list(APPLICATIONS), choices=list(APPLICATIONS))
    parser.add_argument("--stations", default="1,5,10,20")
    parser.add_argument("--standards", nargs="+", default=["ht", "vht"], choices=["ht", "vht"])
    parser.add_argument("--where", nargs="+", default=["simulated air", "mac80211"], choices=["simulated air", "mac80211"])
    parser.add_argument("--live-lab", default=str(ROOT / "target/live/live-lab"))
    parser.add_argument("--airbound", default=str(ROOT / "target/release/airbound"))
    parser.add_argument("--sockets", default=str(ROOT / "target/live/live-sockets"))
    parser.add_argument("--busy", type=int, default=0, help="processes that burn a core each")
    parser.add_argument("--keep", help="a file to which each run adds a line")
    parser.add_argument("--option", action="append", default=[], help="a further option of the streamer, such as target=14")
    chosen = parser.parse_args()
    chosen.extra = dict(option.split("=", 1) for option in chosen.option)
    if chosen.what == "places":
        places(chosen)
    elif chosen.what == "headlines":
        headlines(chosen)
    elif chosen.what == "lab":
        lab(chosen)
    elif chosen.what == "against":
        against(chosen)
    elif chosen.what == "sensing":
        sensing(chosen)
    else:
        if not chosen.file:
            parser.error("show needs a file")
        print_places([json.loads(line) for line in open(chosen.file, encoding="utf-8")])


if __name__ == "__main__":
    sys.exit(main())
