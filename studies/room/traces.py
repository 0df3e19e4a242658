#!/usr/bin/env python3
"""Tr-Game and Tr-Restaurant with eight clients: the room over str0m in virtual time beside the simulator, over the same half-duplex links.

  traces.py --traces FOLDER [--seeds 2] [--sets game restaurant constant] [--policies plain last-n plum coordinated] [--kinds live "room, gcc" gcc bbr]
            [--scale 1] [--slower 1] [--seconds 60] [--warm-up 60]

FOLDER holds `hairpin-wifi` (times 1.5, as in the reproduction of Plum) and `restaurant-wifi`; without it the study says SKIPPED. Each client picks
a trace by the seed. The set `constant` has links of 16 Mb/s and needs no folder. `--scale` multiplies bandwidths, cameras and Plum's M alike,
`--slower` the times of the traces.

| kind | |
|---|---|
| `live` | `crates/room/examples/traces.rs`: the room and synthetic participants in virtual time |
| `room, gcc`, `room, bbr` | `airbound run`: the room's decisions and layers, over RTP or TCP |
| `gcc`, `bbr` | `airbound run`: Plum over scalable streams; `bbr` is the reproduction's |
| `emulate` | `airbound emulate` in real time: each client alone on its channel, whose PHY rate follows the trace; a scale of 0.2 on two cores |

For each set and seed: what a client receives in the mean, Mb/s, and gains over the first policy. Live also what it sends, and the shares of the
time in which a link was measured and held.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from testbed import Hosts  # noqa: E402
from tools import program  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: Folder of each set and factor on its bandwidths; `constant` is made here.
SETS = {"game": ("hairpin-wifi", 1.5), "restaurant": ("restaurant-wifi", 1.0), "constant": ("", 1.0)}
#: Mb/s of the links of the set `constant`.
CONSTANT = 16
CLIENTS = 8


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--traces", type=pathlib.Path, help="folder of the measured traces")
    parser.add_argument("--sets", nargs="+", default=["game", "restaurant"], choices=list(SETS))
    parser.add_argument("--policies", nargs="+", default=["plain", "last-n", "plum"], choices=["plain", "last-n", "plum", "coordinated"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--slower", type=float, default=1.0, help="factor on the times of the traces")
    parser.add_argument("--scale", type=float, default=1.0, help="factor on all rates")
    parser.add_argument("--camera", type=float, default=10e6, help="bit/s, before the scale")
    parser.add_argument("--source", type=float, default=30e6 / CLIENTS, help="largest useful rate of a sender, M/V of the paper, bit/s, before the scale")
    parser.add_argument("--rho", type=float, default=0.0)
    parser.add_argument("--warm-up", type=int, default=60)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--kinds", nargs="+", default=["live", "room, gcc", "gcc", "bbr"], choices=["live", "emulate", "room, gcc", "room, bbr", "gcc", "bbr"])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--program", default="airbound", type=program)
    parser.add_argument("--room", default="airbound-room")
    parser.add_argument("--live", help="built example `traces` of crates/room; built if not given")
    parser.add_argument("--json", type=pathlib.Path, help="file for all figures")
    options = parser.parse_args()
    without = [kind for kind in options.kinds if kind != "live" and not kind.startswith("room")]
    if "coordinated" in options.policies and without:
        parser.error(f"coordinated is a policy of the kinds live and room only; asked for: {', '.join(without)}")
    return options


def built():
    manifest = ["--release", "--locked", "--manifest-path", str(ROOT / "crates/room/Cargo.toml"), "--target-dir", str(ROOT / "target/room")]
    subprocess.run(["cargo", "build", "--quiet", *manifest, "--example", "traces"], check=True)
    return str(ROOT / "target/room/release/examples/traces")


def picked(options, name, seed):
    """The traces of all clients, the same for every policy."""
    if name == "constant":
        made = options.made / "constant.log"
        made.write_text(f"0 {CONSTANT}\n")
        return [made] * CLIENTS
    files = sorted((options.traces / SETS[name][0]).glob("*.log"))
    draw = random.Random(f"{name} {seed}")
    return [slowed(options, draw.choice(files).resolve()) for _ in range(CLIENTS)]


def slowed(options, file):
    """A trace whose values last longer."""
    if options.slower == 1.0:
        return file
    made = options.made / f"{file.parent.name}-{file.name}"
    if not made.exists():
        rows = [line.split() for line in file.read_text().splitlines() if line.strip()]
        first = float(rows[0][0])
        made.write_text("".join(f"{(float(row[0]) - first) * options.slower:.3f} {row[1]}\n" for row in rows))
    return made


def live(options, name, policy, seed):
    scale = options.scale * SETS[name][1]
    numbers = [scale, options.camera * options.scale, options.source * options.scale, options.rho, CLIENTS - 1, options.warm_up, options.seconds]
    command = [options.live, policy, *map(str, numbers), *map(str, picked(options, name, seed))]
    members = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    mean = lambda key: statistics.mean(statistics.mean(member[key]) for member in members)
    shares = {key: statistics.mean(member[key] for member in members) for key in ("measured", "sender-held", "forwarding-held")}
    return {"received": mean("received"), "sent": mean("sent"), "clients": [statistics.mean(member["received"]) for member in members], **shares}


def session(options, policy, layered):
    """The session policy of the simulator."""
    source = f"{options.source * options.scale / 1e3:.0f} kbit/s"
    if layered:
        policy, coordinated = ("plum", "true") if policy == "coordinated" else (policy, "false")
        return f'{{ kind = "room", policy = "{policy}", coordinated = {coordinated}, source = "{source}", active = {CLIENTS - 1}, rho = {options.rho} }}'
    if policy == "plum":
        return f'{{ kind = "plum", rho = {options.rho}, max-bitrate = "{options.source * options.scale * CLIENTS / 1e3:.0f} kbit/s" }}'
    return f'{{ kind = "{policy}" }}'


def simulated(options, name, policy, seed, kind):
    scale = options.scale * SETS[name][1]
    camera = options.camera * options.scale / 1e3
    clients = "".join(
        f'\n[[session.client]]\nname = "client-{number}"\ntrace = {{ file = "{file}", format = "bandwidth", scale = {scale:.6f} }}\n'
        for number, file in enumerate(picked(options, name, seed))
    )
    text = (
        f'duration = "{options.seconds} s"\nwarm-up = "{options.warm_up} s"\n\n[scheme]\nsession = {session(options, policy, kind.startswith("room"))}\n\n'
        f'[session]\ncongestion = "{kind.rsplit(" ", 1)[-1]}"\n\n[session.encoder]\nmin-rate = "{camera / 10:.0f} kbit/s"\nmax-rate = "{camera:.0f} kbit/s"\n{clients}'
    )
    with tempfile.TemporaryDirectory() as place:
        scenario = pathlib.Path(place) / "traces.toml"
        scenario.write_text(text)
        command = [options.program, "run", str(scenario), "--seed", str(seed), "--out", f"{place}/out"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"traces: {done.stderr.strip()[-500:]}")
        flows = json.loads((pathlib.Path(place) / "out" / "summary.json").read_text())["flows"]
    ways = {way: [flow["goodput_mbps"] for flow in flows if flow["direction"] == way] for way in ("downlink", "uplink")}
    return {"received": statistics.mean(ways["downlink"]), "sent": statistics.mean(ways["uplink"]), "clients": ways["downlink"]}


EMULATED = """
title = "A network and a channel for each participant"
duration = "60 s"
warm-up = "1 s"
wire = {{ delay = "5 ms" }}

[air]
standard = "ht"

[scheme]
queue = "linux"
{networks}
[[flow]]
name = "mark"
kind = "cbr"
station = "client-0"
rate = "1 kbit/s"
size = "100 B"
"""
NETWORK = """
[[network]]
name = "network-{number}"
channel = {channel}

[[station]]
name = "client-{number}"
network = "network-{number}"
channel = {{ kind = "trace", file = "{file}", format = "bandwidth", as = "phy", scale = {scale:.6f} }}
"""


def emulated(options, name, policy, seed):
    """The room and synthetic participants in real time: each a station alone on its channel, whose PHY rate follows its trace."""
    scale, camera = options.scale * SETS[name][1], options.camera * options.scale
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        folder.chmod(0o755)
        hosts = Hosts(options, folder, policy, slots=CLIENTS - 1, source=options.source * options.scale, active=CLIENTS - 1)
        networks = [NETWORK.format(number=number, channel=number + 1, file=file, scale=scale) for number, file in enumerate(picked(options, name, seed))]
        first, *others = [f"client-{number}" for number in range(CLIENTS)]
        arguments = [word for other in others for word in ("--on", other, hosts.join(other, camera=camera))]
        arguments += ["--station", first, "--", "sh", "-c", hosts.join(first, camera=camera)]
        members, late = hosts.run(EMULATED.format(networks="".join(networks)), seed, [first, *others], arguments)
    clients = [member["received_mbps"] for member in members]
    sent = statistics.mean(member["sent_mbps"] for member in members)
    return {"received": statistics.mean(clients), "sent": sent, "clients": clients, "late": late or 0.0, "load": os.getloadavg()[0]}


def one(options, task):
    name, seed, kind, policy = task
    if kind == "emulate":
        return emulated(options, name, policy, seed)
    return live(options, name, policy, seed) if kind == "live" else simulated(options, name, policy, seed, kind)


def main():
    options = parse()
    measured = [SETS[name][0] for name in options.sets if name != "constant"]
    if measured and (options.traces is None or not all((options.traces / folder).is_dir() for folder in measured)):
        print("traces: SKIPPED, it needs --traces FOLDER with hairpin-wifi and restaurant-wifi, which are not part of the repository")
        return
    with tempfile.TemporaryDirectory() as made:
        options.made = pathlib.Path(made)
        compare(options)


def compare(options):
    options.live = options.live or ("live" in options.kinds and built())
    tasks = [(name, seed, kind, policy) for name in options.sets for seed in range(1, options.seeds + 1) for kind in options.kinds for policy in options.policies]
    found = {}
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for task, figures in zip(tasks, pool.map(lambda task: one(options, task), tasks)):
            found[task] = figures
            name, seed, kind, policy = task
            gain = 100 * (figures["received"] / found[name, seed, kind, options.policies[0]]["received"] - 1)
            more = "".join(f", {key} {value:.2f}" for key, value in figures.items() if key not in ("received", "clients"))
            print(f"{name} {seed} {kind} {policy}: receives {figures['received']:.3f} Mb/s ({gain:+.1f} %){more}", flush=True)
    print(f"\n| set, seed | kind | {' | '.join(f'`{policy}`' for policy in options.policies)} |\n|---|---|{'---|' * len(options.policies)}")
    for name in options.sets:
        for seed in range(1, options.seeds + 1):
            for kind in options.kinds:
                rates = [found[name, seed, kind, policy]["received"] for policy in options.policies]
                cells = [f"{rates[0]:.2f}", *(f"{rate:.2f} ({100 * (rate / rates[0] - 1):+.0f} %)" for rate in rates[1:])]
                print(f"| {name}, {seed} | {kind} | {' | '.join(cells)} |")
    if options.json:
        options.json.write_text(json.dumps([[*task, figures] for task, figures in found.items()]))


if __name__ == "__main__":
    main()
