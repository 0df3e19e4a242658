"""Error of the sensed level over emulate, in real time with kernel stamps."""

import json
import statistics
import subprocess
import sys

from runs import ROOT, wlan

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
