#!/usr/bin/env python3
"""Counts doc comments that begin with a question word or a pronoun for persons, and identifiers with an old name of the glossary.

usage: words.py [--list] [--renew]

doc-beginnings.json and old-names.json limit them by crate and by name; they may only decrease.
"""
import re
import sys
from collections import defaultdict

import workspace

BEGINNING = re.compile(r"^\s*//[/!] (?:What|How|Who|Whose|Somebody|Nobody|Everyone)\b")
EVERYWHERE = ()
# Old name: new name, and the crates where the old name has this meaning (all if empty).
RENAMED = {
    "Agreement": ("BlockAckRecipient", EVERYWHERE),
    "Cargo": ("content", EVERYWHERE),
    "Course": ("ExchangeTiming", EVERYWHERE),
    "Domain": ("air::Channel", EVERYWHERE),
    "Ends": ("Endpoint", ("sim",)),
    "Feed": ("Ingress", EVERYWHERE),
    "Grant": ("TxDescriptor", EVERYWHERE),
    "Maker": ("Plugin", EVERYWHERE),
    "Node": ("Transmitter", ("sim",)),
    "Nobody": ("NoObserver", EVERYWHERE),
    "Parcel": ("Packet", EVERYWHERE),
    "Quality": ("LinkQuality", EVERYWHERE),
    "Readiness": ("Eligibility", EVERYWHERE),
    "Series": ("RateChain", ("agent", "control")),
    "Session": ("RunRequest", ("cli",)),
    "Standby": ("BesideClassic", EVERYWHERE),
    "Told": ("LastReported", EVERYWHERE),
    "View": ("Snapshot", ("sim", "runs", "studies")),
    "Voice": ("Verbosity", EVERYWHERE),
    "Within": ("Host", EVERYWHERE),
    "books": ("conservation", ("sim",)),
    "inside": ("inner_queue", ("control",)),
    "ladder": ("rate_set", ("control",)),
    "or_none": ("optional", EVERYWHERE),
    "returns": ("tx_status", ("control",)),
}
IDENTIFIER = re.compile(r"(?<![\w'])(" + "|".join(RENAMED) + r")\b(?!!)")


def main():
    arguments = workspace.arguments()
    begun, begun_at = defaultdict(int), defaultdict(list)
    named, named_at = defaultdict(int), defaultdict(list)
    for crate, folder in workspace.crates().items():
        for file in sorted(folder.rglob("*.rs")):
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if BEGINNING.match(line):
                    begun[crate] += 1
                    begun_at[crate].append(f"{workspace.place(file)}:{number}: {line.strip()[:100]}")
        for file in workspace.sources(folder):
            for found in IDENTIFIER.finditer(workspace.code(file, strings=False)):
                name = found.group(1)
                if not RENAMED[name][1] or crate in RENAMED[name][1]:
                    named[name] += 1
                    named_at[name].append(f"{workspace.place(file)}: {name}, now {RENAMED[name][0]}")
    well = workspace.ratchet("doc-beginnings", begun, begun_at, arguments, "begin with the field's noun or a verb in the third person")
    well &= workspace.ratchet("old-names", named, named_at, arguments, "use the glossary's name")
    sys.exit(not well)


if __name__ == "__main__":
    main()
