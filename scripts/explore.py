#!/usr/bin/env python3
"""Repeats the property tests with new random inputs, and prints the seeds of failures.

usage: explore.py [--minutes N] [PACKAGE ...]

`make test` draws new inputs once per run; CI always draws the same ones. Packages are by default those that depend on proptest or
bolero. Exit code 1 if a round failed.
"""
import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TESTED_WITH = {"proptest", "bolero"}


def packages():
    """Names of the packages with property tests."""
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    listed = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)["packages"]
    return sorted(p["name"] for p in listed if TESTED_WITH & {d["name"] for d in p["dependencies"]})


def draws(target):
    """Whether a target contains property tests: in its file for a test, in its folder for a library."""
    path = pathlib.Path(target["src_path"])
    files = path.parent.rglob("*.rs") if path.name in ("lib.rs", "main.rs") else [path]
    return any(word in file.read_text() for file in files for word in ("proptest!", "check!("))


def programs(wanted):
    """Builds the tests; yields the programs with cargo's working directories."""
    command = ["cargo", "test", "--no-run", "--lib", "--bins", "--tests", "--message-format", "json-render-diagnostics"]
    for name in wanted:
        command += ["--package", name]
    built = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT).stdout.splitlines()
    for line in built:
        message = json.loads(line)
        if message.get("executable") and message["profile"]["test"] and draws(message["target"]):
            yield pathlib.Path(message["executable"]), pathlib.Path(message["manifest_path"]).parent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="duration, 10 by default; the last round is completed")
    parser.add_argument("packages", nargs="*", metavar="PACKAGE")
    asked = parser.parse_args()
    if not asked.minutes > 0.0:
        parser.error(f"{asked.minutes} minutes; allowed is more than 0")
    known = packages()
    for name in asked.packages:
        if name not in known:
            parser.error(f"{name} has no property tests; allowed are {', '.join(known)}")

    tests = list(programs(asked.packages or known))
    end, rounds, failures = time.monotonic() + 60.0 * asked.minutes, 0, 0
    while time.monotonic() < end:
        rounds += 1
        seed = random.SystemRandom().getrandbits(64)
        for program, folder in tests:
            ran = subprocess.run([program, "--quiet"], cwd=folder, capture_output=True, text=True,
                                 env=os.environ | {"PROPTEST_RNG_SEED": str(seed)})
            if ran.returncode:
                failures += 1
                print(ran.stdout + ran.stderr)
                print(f"FAILED: {program.name.rsplit('-', 1)[0]}; to repeat: "
                      f"(cd {folder.relative_to(ROOT)} && PROPTEST_RNG_SEED={seed} {program})", flush=True)
        print(f"round {rounds} of {len(tests)} programs, seed {seed}, {failures} failures", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
