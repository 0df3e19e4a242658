#!/usr/bin/env python3
"""Plum's testbed (Sec. IV-E) over `airbound emulate`: five participants, one on Wi-Fi beside another user's upload, four on wires.

  testbed.py [--policies plain last-n plum] [--repeats 3] [--seconds 60] [--camera 4e6] [--browsers] [--set KEY=VALUE ...]
  testbed.py --virtual PROGRAM [--rate "VHT20 MCS5 1SS LGI" --camera 30e6 --upload 10000] [--policies plain plum coordinated] ...

The paper: one desktop on 802.11ac shares the channel with a laptop that sends 10 Mb/s over TCP, and the link carries some 37 Mb/s. Here all
rates are a seventh of that, as five participants of 30 Mb/s are more than two cores can forward: MCS 0, cameras of 4 Mb/s, an upload of
1.4 Mb/s. Participants are synthetic (`airbound-room synthetic`), media go through str0m's congestion control at both ends.

With `--virtual` the same room, participants and scenario run in virtual time, at the paper's rates if wished: PROGRAM is the room's example `wifi`
(`cargo build --release --manifest-path crates/room/Cargo.toml --example wifi`). Nothing is late there; runs of one seed differ by the numbers that str0m draws.

With `--browsers` the participants are Chromiums at 320x180 (one on Wi-Fi, three on wires), by node and playwright-core from npm. Then also: frames
a second that each decodes of each other, and the load of the machine; two cores are little for four of them.

For each policy: mean goodput of all participants, median over participants and seconds, what the desktop sends and receives; gains over the
first policy with their 95 % intervals over the repeats, which are pairs of runs of one seed. A run that does not count (more than 1 % of its
packets late) is repeated once, then said so.
"""

import argparse
import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tools import program  # noqa: E402

SCENARIO = """
title = "Plum's testbed"
duration = "{duration} s"
warm-up = "1 s"
wire = {{ delay = "5 ms" }}

[air]
standard = "vht"
width = "20 MHz"

[scheme]
queue = "{queue}"
rate = "fixed"

[[station]]
name = "desktop"
rate = "{rate}"

[[station]]
name = "laptop"
rate = "{rate}"
"""
UPLOAD = """
[[flow]]
name = "upload"
kind = "tcp"
station = "laptop"
direction = "up"
limit = "{upload} kbit/s"
"""
#: The flows of a participant in virtual time.
CARRIED = """
[[flow]]
name = "to-participant"
kind = "cbr"
station = "desktop"
direction = "down"
rate = "1 kbit/s"

[[flow]]
name = "to-room"
kind = "cbr"
station = "desktop"
direction = "up"
rate = "1 kbit/s"
"""
#: Of Student's distribution, two-sided 95 %, by degrees of freedom.
STUDENT = {1: 12.71, 2: 4.30, 3: 3.18, 4: 2.78, 5: 2.57, 6: 2.45, 7: 2.36, 8: 2.31, 9: 2.26}
BROWSERS = pathlib.Path(__file__).resolve().parents[2] / "crates/room/tests/browsers"


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--policies", nargs="+", default=["plain", "last-n", "plum"])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=60, help="measured time of each run")
    parser.add_argument("--warm-up", type=int, default=20)
    parser.add_argument("--camera", type=float, default=4e6, help="bit/s")
    parser.add_argument("--upload", type=int, default=1400, help="kbit/s of the laptop; 0 for none")
    parser.add_argument("--rate", default="VHT20 MCS0 1SS LGI", help="PHY rate of both stations")
    parser.add_argument("--queue", default="linux")
    parser.add_argument("--rho", type=float, default=0.0)
    parser.add_argument("--browsers", action="store_true", help="Chromiums in the place of synthetic participants")
    parser.add_argument("--virtual", type=program, metavar="PROGRAM", help="the room's example wifi, for virtual time")
    parser.add_argument("--wired", type=int, help="participants on wires")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="changes the scenario")
    parser.add_argument("--program", default="airbound", help="not needed with --virtual")
    parser.add_argument("--room", default="airbound-room")
    parser.add_argument("--json", help="file for all figures")
    options = parser.parse_args()
    if options.virtual and options.browsers:
        parser.error("--browsers needs real time, and --virtual has none: choose one")
    if not options.virtual:
        try:
            options.program = program(options.program)
        except argparse.ArgumentTypeError as error:
            parser.error(f"argument --program: {error}")
    options.wired = options.wired or (3 if options.browsers else 4)
    return options


def installed(folder):
    """Puts the program of a Chromium in a room into a folder; `False` where something is missing."""
    if shutil.which("chromium") is None or shutil.which("npm") is None:
        return False
    for file in [*BROWSERS.glob("*.mjs"), BROWSERS / "package.json"]:
        shutil.copy(file, folder)
    return subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund"], cwd=folder, capture_output=True).returncode == 0


class Hosts:
    """A room and its participants on the hosts of an emulation: their commands, and what they left behind."""

    def __init__(self, options, folder, policy, *, slots, source, active=3):
        self.options, self.folder, self.slots = options, folder, slots
        self.room = shutil.which(options.room) or options.room
        (folder / "secret").write_bytes(os.urandom(32))
        command = [self.room, "token", "--secret-file", folder / "secret", "--host"]
        self.token = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        self.address = "$(getent ahostsv4 server | head -n 1 | cut -d ' ' -f 1)"
        rates = f"--source '{source / 1e3:.0f} kbit/s' --rho {options.rho} --active {active}"
        self.serve = f"exec {self.room} room --listen {self.address}:8088 --without-tls --secret-file {folder}/secret --policy {policy} {rates} > {folder}/room.log 2>&1"

    def join(self, name, *, camera, browser=None, longer=0):
        """The command of a participant; `browser` is the folder of its program."""
        options, folder = self.options, self.folder
        if browser:
            numbers = f"{self.slots} {camera:.0f} {options.warm_up} {options.seconds + longer}"
            place = f"mkdir -p {folder}/home-{name} && export HOME={folder}/home-{name} TMPDIR={folder}/home-{name}"
            script = f"node {browser}/member.mjs http://{self.address}:8088/#{self.token} {name} {numbers} {shutil.which('chromium')}"
            return f"{place} && {script} > {folder}/{name}.json 2> {folder}/{name}.err"
        return (
            f"{self.room} synthetic http://{self.address}:8088/#{self.token} --camera '{camera / 1e3:.0f} kbit/s' --slots {self.slots}"
            f" --seconds {options.warm_up + options.seconds + longer} --warm-up {options.warm_up} > {folder}/{name}.json 2> {folder}/{name}.err"
        )

    def run(self, text, seed, names, arguments):
        """Runs the emulation of a scenario; what each participant says, and the share of late packets."""
        options, folder = self.options, self.folder
        (folder / "scenario.toml").write_text(text)
        command = [options.program, "emulate", str(folder / "scenario.toml"), "--seed", str(seed), "--out", str(folder / "out"), "--json", "--server", self.serve]
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=options.warm_up + options.seconds + 120)
        try:
            said = [json.loads((folder / f"{name}.json").read_text()) for name in names]
            members = [one[0] if isinstance(one, list) else one for one in said]
        except (OSError, ValueError, LookupError):
            logs = [*folder.glob("*.err"), *folder.glob("room.log")]
            sys.exit(f"testbed: a run gave no figures: {done.stderr.strip()[-500:]} {''.join(path.read_text()[-300:] for path in logs)}")
        try:
            late = json.loads((folder / "out" / "summary.json").read_text())["emulation"]["late_share"]
        except (OSError, ValueError, KeyError):
            late = None
        return members, late


def scenario(options, duration):
    return SCENARIO.format(rate=options.rate, queue=options.queue, duration=duration)


def virtual(options, policy, seed):
    """The same in virtual time."""
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place) / "scenario.toml"
        upload = UPLOAD.format(upload=options.upload) if options.upload else ""
        file.write_text(scenario(options, options.warm_up + options.seconds) + CARRIED + upload)
        policy = "coordinated" if policy == "plum --coordinated" else policy
        numbers = [options.camera, options.rho, options.wired, options.warm_up, options.seconds]
        done = subprocess.run([options.virtual, file, str(seed), policy, *map(str, numbers), *options.set], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"testbed: {done.stderr.strip()[-500:]}")
        members = json.loads(done.stdout)
        return [member | {"seconds_mbps": member["received"], "sent_mbps": statistics.mean(member["sent"])} for member in members], None


def run(options, policy, seed):
    """One run: what each participant received in each second, and the sums; the desktop first."""
    if options.virtual:
        return virtual(options, policy, seed)
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        folder.chmod(0o755)
        hosts = Hosts(options, folder, policy, slots=options.wired, source=options.camera)
        part = {"camera": options.camera, "browser": options.scripts if options.browsers else None}
        arguments = [part for change in options.set for part in ("--set", change)]
        # A scenario has at least one flow as it is read.
        arguments += ["--without", "upload"] if options.upload == 0 else []
        wired = [f"wired-{number}" for number in range(options.wired)]
        arguments += [word for name in wired for word in ("--wired", name, hosts.join(name, **part))]
        arguments += ["--station", "desktop", "--", "sh", "-c", hosts.join("desktop", **part, longer=10 if options.browsers else 3)]
        return hosts.run(scenario(options, 60) + UPLOAD.format(upload=max(1, options.upload)), seed, ["desktop", *wired], arguments)


def figures(members, seconds):
    rows = [member["seconds_mbps"][:seconds] for member in members]
    seen = [rate for member in members for rate in member.get("fps", [])]
    decoded = {"pictures": len(seen), "fps": statistics.mean(seen), "least fps": min(seen)} if seen else {}
    return {
        "mean": statistics.mean(statistics.mean(row) for row in rows),
        "median": statistics.median(rate for row in rows for rate in row),
        "wired": statistics.mean(statistics.mean(row) for row in rows[1:]),
        "up": members[0]["sent_mbps"],
        "down": statistics.mean(rows[0]),
        "least": min(rows[0]),
        **decoded,
    }


def interval(values):
    """Mean and half the width of its 95 % interval."""
    if len(values) < 2:
        return statistics.mean(values), math.nan
    return statistics.mean(values), STUDENT.get(len(values) - 1, 2.0) * statistics.stdev(values) / math.sqrt(len(values))


def main():
    options = parse()
    with tempfile.TemporaryDirectory() as options.scripts:
        os.chmod(options.scripts, 0o755)
        if options.browsers and not installed(options.scripts):
            print("testbed: SKIPPED, --browsers needs chromium, npm and its registry; to get them: sudo apt-get install chromium npm")
            return
        compare(options)


def compare(options):
    found = {policy: [] for policy in options.policies}
    for seed in range(1, options.repeats + 1):
        for policy in options.policies:
            members, late = run(options, policy, seed)
            if late is not None and late > 0.01:
                members, late = run(options, policy, seed)
            one = figures(members, options.seconds) | {"late": late, "load": os.getloadavg()[0]}
            found[policy].append(one | {"members": members})
            shown = " ".join(f"{key} {value:.3f}" for key, value in one.items() if value is not None)
            print(f"seed {seed} {policy}: {shown}{'  (does not count: late)' if late and late > 0.01 else ''}", flush=True)
    print("| policy | mean | median | wired | desktop sends | receives | least second |\n|---|---:|---:|---:|---:|---:|---:|")
    for policy, runs in found.items():
        cells = [statistics.mean(one[key] for one in runs) for key in ("mean", "median", "wired", "up", "down", "least")]
        print(f"| `{policy}` | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    base = found[options.policies[0]]
    for policy in options.policies[1:]:
        for key in ("mean", "median"):
            gains = [100 * (one[key] / before[key] - 1) for one, before in zip(found[policy], base)]
            mean, half = interval(gains)
            print(f"{policy} over {options.policies[0]}, {key}: {mean:+.1f} % ± {half:.1f} ({', '.join(f'{gain:+.1f}' for gain in gains)})")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
