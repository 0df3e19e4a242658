#!/usr/bin/env python3
"""Counts kinds compared as text, identifiers that mean none, methods of traits beyond 12, and uses of I/O in crates without I/O.

usage: shapes.py [--list] [--renew]

text-as-type.json, sentinels.json, large-traits.json and io.json limit them by file or trait; they may only decrease.
"""
import re
import sys
from collections import defaultdict

import workspace

METHODS = 12
TEXT = re.compile(r"\b(?:kind|mode|policy)\.(?:starts_with|ends_with|contains)\(|\bkind == \"")
SENTINEL = re.compile(r"Id\(u(?:8|16|32|64)::MAX\)|\bNOBODY\b|\bFlowId\(0\)|const NO\w* *: *u(?:8|16|32|64) *= *u\d+::MAX")
TRAIT = re.compile(r"\btrait (\w+)[^{;]*\{")
METHOD = re.compile(r"\bfn \w+")
IO = re.compile(r"\bstd::(?:fs|net|process|io|env|os)\b|\b(?:rustix|libc|ctrlc)::|\b(?:File|OpenOptions)::|\b(?:fs|io|env|process)::\w")
# Crates that may use I/O.
MAY = {"formats", "scenario", "runs", "console", "corpus", "record", "lab", "linux", "agent", "cli", "report", "py", "studies", "emulate", "room", "relay", "capi"}


def body(text, at):
    """Text of the block at an offset."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return text[at:place]
    return text[at:]


def methods(text):
    """Number of methods of a trait: functions at the top level of its body."""
    depth, first = 0, []
    for letter in text:
        depth += letter == "{"
        if depth == 1:
            first.append(letter)
        depth -= letter == "}"
    return len(METHOD.findall("".join(first)))


def main():
    arguments = workspace.arguments()
    counts = {name: defaultdict(int) for name in ("text-as-type", "sentinels", "large-traits", "io")}
    places = {name: defaultdict(list) for name in counts}

    def note(name, key, place, count=1):
        counts[name][key] += count
        places[name][key].append(place)

    for crate, folder in workspace.crates().items():
        for file in workspace.sources(folder):
            place, text = workspace.place(file), workspace.code(file)
            for name, pattern in (("text-as-type", TEXT), ("sentinels", SENTINEL)):
                for found in pattern.finditer(text):
                    note(name, place, f"{place}: {found.group()}")
            if crate not in MAY:
                for found in IO.finditer(workspace.code(file, strings=False)):
                    note("io", place, f"{place}: {found.group()}")
            for found in TRAIT.finditer(text):
                number = methods(body(text, found.end() - 1))
                if number > METHODS:
                    note("large-traits", found.group(1), f"{place}: trait {found.group(1)} has {number} methods", number - METHODS)
    hints = {
        "text-as-type": "use an enum for kinds",
        "sentinels": "use an Option for none",
        "large-traits": f"a trait has at most {METHODS} methods",
        "io": f"only these crates may use I/O: {', '.join(sorted(MAY))}",
    }
    well = [workspace.ratchet(name, counts[name], places[name], arguments, hint) for name, hint in hints.items()]
    sys.exit(not all(well))


if __name__ == "__main__":
    main()
