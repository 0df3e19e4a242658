"""Bitrate rules on six places, for virtual reality and for a game."""

import concurrent.futures
import json
import statistics

from runs import HERE, of, play, shown

#: `on-time` is the library with a demand on latency: that from which on a frame is late.
RULES = ["airbound", "on-time", "alvr", "nest-vr", "moonlight", "gcc"]
PLACES = {"room": 20, "corridor": 20, "calm": 20, "office": 20, "walk": 42, "away": 20}
#: Options of the streamer: frames a second, limits of the encoder in Mb/s, and from which latency on a frame is late: three intervals.
APPLICATIONS = {
    "vr": {"fps": 90, "start": 10, "least": 3, "most": 100, "late-ms": 33.3},
    "game": {"fps": 60, "start": 10, "least": 1, "most": 50, "late-ms": 50},
}


def place_run(chosen, job):
    place, application, rule, seed = job
    options = {"rule": rule, "encoder": chosen.encoder, "seconds": PLACES[place], "skip": 5} | APPLICATIONS[application] | chosen.extra
    if rule == "on-time":
        options |= {"rule": "airbound", "latency-ms": options["late-ms"]} | chosen.extra
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
    """Names the rules that are better than the library in both, by their means and seed by seed."""
    for own in ("airbound", "on-time"):
        for rule, viewers in cells.items():
            ours = cells.get(own)
            if rule in ("airbound", "on-time") or ours is None or len(viewers) != len(ours):
                continue
            better = lambda a, b: a["frame_ms"]["p99"] < b["frame_ms"]["p99"] and a["bitrate_mbps"] > b["bitrate_mbps"]
            mean = lambda all, get: statistics.fmean(get(one) for one in all)
            p99, bitrate = (lambda one: one["frame_ms"]["p99"]), (lambda one: one["bitrate_mbps"])
            if mean(viewers, p99) < mean(ours, p99) and mean(viewers, bitrate) > mean(ours, bitrate):
                seeds = sum(better(a, b) for a, b in zip(viewers, ours))
                print(f"| {place} | **{rule} is better than {own} in both** | in {seeds} of {len(ours)} seeds | | | | |")
