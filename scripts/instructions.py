#!/usr/bin/env python3
"""Counts the instructions of six short runs with callgrind, set-up and play apart, and compares them with the last counts.

usage: instructions.py [--renew] [--airbound PATH] [RUN...]

Set-up is a run of 1 ms: reading, building, tables, report. Play is what the whole run takes besides. Instructions do not depend on the load of the machine, unlike seconds. Counts of another compiler are printed but not compared.
scripts/instructions.json contains the last counts and their commit. --renew replaces them by those of the current commit; its message
gives the reason. Exit code 1 if a part takes more than 1.03 times the last count, or more than its ratio in `owed` (as "RUN PART"): a
temporary allowance of a redesign, which may only decrease.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COUNTED = ROOT / "scripts" / "instructions.json"
# Difference between machines: the C library chooses its functions by the processor.
MARGIN = 0.03
SET_UP = ["--set", "warm-up=0 s", "--set", "duration=1 ms"]
RUNS = {
    "vht-saturated-n20": ["--set", "warm-up=1 s", "--set", "duration=300 ms"],
    "vr-congested": ["--set", "warm-up=200 ms", "--set", "duration=800 ms"],
    "office": ["--scheme", "law", "--set", "warm-up=200 ms", "--set", "duration=1800 ms"],
    "vht-saturated-n1": ["--set", "warm-up=1 s", "--set", "duration=1 s"],
    "dense-floor": ["--set", "warm-up=100 ms", "--set", "duration=300 ms"],
    "vr-room": ["--set", "warm-up=500 ms", "--set", "duration=1 s"],
}


def compiler():
    """Release, host and LLVM version of the compiler, on which the counts depend."""
    lines = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout.splitlines()
    return ", ".join(line for line in lines if line.split(":")[0] in ("release", "host", "LLVM version"))


def commit():
    """The current commit."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def count(program, name, options, folder):
    # One thread, since threads that wait for each other spin for a varying time.
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(program), "run", name, *options,
               "--out", str(folder / name), "--jobs", "1", "--quiet", "--no-packet-log"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600)
    collected = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or collected is None:
        sys.exit(f"instructions: {' '.join(command)} failed:\n{run.stderr}")
    return int(collected.group(1)) / 1e6


def parts(program, name, options, folder):
    """Millions of instructions of the set-up of a run, and of the rest."""
    set_up = count(program, name, [*options, *SET_UP], folder)
    return {"set-up": round(set_up, 2), "play": round(count(program, name, options, folder) - set_up, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", action="store_true", help="write the counts to scripts/instructions.json")
    parser.add_argument("--commit", help="with --renew: the commit that --airbound was built from")
    parser.add_argument("--airbound", default=os.environ.get("AIRBOUND", str(ROOT / "target/debug/airbound")))
    parser.add_argument("runs", metavar="RUN", nargs="*", help=f"of {', '.join(RUNS)}; all by default")
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        sys.exit("instructions: valgrind is not installed; apt-get install -y --no-install-recommends valgrind")
    if not os.access(options.airbound, os.X_OK):
        sys.exit(f"instructions: {options.airbound} is missing; make build")

    unknown = [run for run in options.runs if run not in RUNS]
    if unknown:
        parser.error(f"there is no run {unknown[0]}; there are {', '.join(RUNS)}")
    if options.runs and options.renew:
        parser.error("--renew counts all runs")

    last = json.loads(COUNTED.read_text()) if COUNTED.exists() else {"commit": "", "compiler": "", "millions": {}}
    here = compiler()
    same = last["compiler"] == here
    if not same:
        print(f"last counts are of {last['compiler'] or 'no compiler'}, this is {here}: the counts are not compared")
    counts, failed = {}, False
    print(f"last counts are of commit {last.get('commit', 'unknown')}")
    print(f"{'run':20} {'part':6} {'last':>10} {'now':>10} {'ratio':>7}   (millions of instructions)")
    with tempfile.TemporaryDirectory() as name:
        for run in options.runs or RUNS:
            counts[run] = parts(options.airbound, run, RUNS[run], pathlib.Path(name))
            for part, now in counts[run].items():
                before = last["millions"].get(run, {}).get(part)
                ratio = now / before if before else 1.0
                owed = last.get("owed", {}).get(f"{run} {part}")
                worse = same and ratio > (owed or 1 + MARGIN)
                failed |= worse
                verdict = "  MORE" if worse else "  less: renew" if same and ratio < 1 - MARGIN else ""
                if owed and not worse:
                    verdict = f"  owed: up to {owed}" if ratio > 1 + MARGIN else "  no longer owed: remove it"
                print(f"{run:20} {part:6} {before or 0:10.2f} {now:10.2f} {ratio:7.3f}{verdict}")
    if options.renew:
        written = {"commit": options.commit or commit(), "compiler": here, "millions": counts}
        COUNTED.write_text(json.dumps(written, indent=2) + "\n")
        print(f"written to {COUNTED.relative_to(ROOT)}")
    elif failed:
        sys.exit("instructions: a part of a run takes more than its last count; if intended: make instructions ARGS=--renew")


if __name__ == "__main__":
    main()
