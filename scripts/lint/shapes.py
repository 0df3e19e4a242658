#!/usr/bin/env python3
"""Counts kinds that are compared as text, identities that stand for none, traits with more than 12 methods; looks for I/O where none belongs.

usage: shapes.py [--list] [--renew]

text-as-type.json, sentinels.json, large-traits.json and io.json say how many there may be, by file or by trait; they may only
become fewer.
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
# Studies may do anything; `report` writes its page.
MAY = {"scenario", "runs", "record", "lab", "linux", "agent", "cli", "console", "report", "py", "studies", "emulate", "room", "relay", "capi"}


def body(text, at):
    """Text of the block that begins at a place."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return text[at:place]
    return text[at:]


def methods(text):
    """Number of methods of a trait: functions at the first level of its body."""
    depth, first = 0, []
    for letter in text:
        depth += letter == "{"
        if depth == 1:
            first.append(letter)
        depth -= letter == "}"
    return len(METHOD.findall("".join(first)))


def main():
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
    arguments = sys.argv[1:]
    hints = {
        "text-as-type": "an enum says which kinds there are",
        "sentinels": "an Option says that there is none",
        "large-traits": f"a trait has at most {METHODS} methods",
        "io": f"only these crates read and write: {', '.join(sorted(MAY))}",
    }
    well = [workspace.ratchet(name, counts[name], places[name], arguments, hint) for name, hint in hints.items()]
    sys.exit(not all(well))


if __name__ == "__main__":
    main()
