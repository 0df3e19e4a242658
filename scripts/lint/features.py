#!/usr/bin/env python3
"""Compares the features of each library over the selections of packages that the workshop builds.

usage: features.py

A library with two sets of features is compiled twice: `make test` after `make demo` would build it again, and all that stands on it.
crates/features names the features that all selections share. The graph of units is an unstable option of cargo: SKIPPED without it.
"""
import json
import os
import subprocess
import sys

import workspace

PROGRAMS = ("cli", "studies", "relay")


def units(*words):
    """The units of a command of cargo: features by package, target, profile and platform; `None` without the option."""
    command = [os.environ.get("CARGO", "cargo"), *words, "-Z", "unstable-options", "--unit-graph"]
    run = subprocess.run(command, cwd=workspace.ROOT, env={**os.environ, "RUSTC_BOOTSTRAP": "1"}, capture_output=True, text=True)
    if run.returncode != 0:
        if "unit-graph" in run.stderr or "unstable" in run.stderr:
            print(f"features: SKIPPED, this cargo prints no graph of units: {run.stderr.strip()[-200:]}")
            return None
        sys.exit(f"features: {' '.join(command)} failed:\n{run.stderr}")
    found = {}
    for unit in json.loads(run.stdout)["units"]:
        if unit["mode"] == "build" and "lib" in unit["target"]["kind"][0]:
            name = unit["pkg_id"].split("#")[-1]
            is_host = unit["platform"] is None and unit["profile"]["opt_level"] == "0"
            found.setdefault((name, is_host), set()).add(frozenset(unit["features"]))
    return found


def main():
    workspace.arguments(options=())
    everything = units("test", "--workspace", "--exclude", "airbound-room")
    if everything is None:
        return
    members = sorted(path.parent.name for path in workspace.ROOT.glob("crates/*/Cargo.toml"))
    selections = {
        "make demo": ("build", "-p", "airbound-cli"),
        "make build": ("build", *(word for name in PROGRAMS for word in ("-p", f"airbound-{name}"))),
        "all with the room": ("test", "--workspace"),
        "make python": ("build", "-p", "airbound-py"),
    } | {f"the tests of {name}": ("test", "-p", f"airbound-{name}") for name in members if name not in ("py", "features")}
    wrong = 0
    for title, words in selections.items():
        for (name, is_host), sets in sorted(units(*words).items(), key=str):
            known = everything.get((name, is_host))
            for features in map(set, sets - (known or sets)):
                usual = set(next(iter(known), ()))
                print(f"{title}: {name}{' (macros)' if is_host else ''} has other features than in `make test`:"
                      f" {', '.join(sorted(usual - features)) or 'none'} missing, {', '.join(sorted(features - usual)) or 'none'} more;"
                      " name them in crates/features")
                wrong += 1
    print(f"{len(selections)} selections, {len(everything)} libraries, {wrong} compiled twice")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
