"""A target of 14 over the laboratory's mac80211 and over the simulated air, beside the kernel's TCP."""

import json
import statistics
import subprocess

from runs import PROBE, ROOT, names, of, play


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


#: A download of the kernel's TCP (CUBIC) to each station.
DOWNLOAD = """
[[flow]]
name = "download"
kind = "tcp"
station = "station"
direction = "down"
"""


def tcp_in_laboratory(chosen, folder, stations, standard):
    """Downloads of the kernel's TCP over mac80211: goodput in Mb/s, and the mean latency of packets in ms."""
    file, out = folder / f"tcp-{standard}-{stations}.toml", folder / f"tcp-{standard}-{stations}"
    file.write_text(lab_scenario(stations, standard) + DOWNLOAD)
    words = [chosen.airbound, "--quiet", "lab", "run", str(file), "--out", str(out)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()[-600:]}")
    flows = json.loads((out / "summary.json").read_text())["flows"]
    flows = [flow for flow in flows if flow["name"].startswith("download")]
    return sum(flow["goodput_mbps"] for flow in flows), statistics.fmean(flow["latency_ms"]["mean"] for flow in flows)


def against(chosen):
    """The library beside the kernel's TCP: mean delay of packets, less the wire's 1 ms."""
    folder = ROOT / "target/live"
    print("| PHY | stations | sender | goodput, Mb/s | delay without the wire, ms |\n|---|---:|---|---:|---:|", flush=True)
    for standard in chosen.standards:
        for count in [int(count) for count in chosen.stations.split(",")]:
            for sender in chosen.rules:
                if sender == "cubic":
                    goodput, delay = tcp_in_laboratory(chosen, folder, count, standard)
                else:
                    row = lab_row(in_laboratory(chosen, folder, count, standard, sender)[0])
                    goodput, delay = row["goodput"], row["delay"]
                print(f"| {standard} | {count} | {sender} | {goodput:.2f} | {delay - 1:.2f} |", flush=True)


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
