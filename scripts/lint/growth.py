#!/usr/bin/env python3
"""Compares lines of code and words of Markdown (scripts/lines) with the figures of growth.json.

usage: growth.py [--renew REASON]

More than that and ROOM is an error: a mend of ten lines needs no reason, the sum of many does. --renew writes today's figures: with a
reason where one of them rises, which the commit shows.
"""
import argparse
import importlib.machinery
import json
import sys

import workspace

# Share by which a figure may pass the stored one.
ROOM = 0.002
STORED = workspace.HERE / "growth.json"
lines = importlib.machinery.SourceFileLoader("lines", str(workspace.ROOT / "scripts/lines")).load_module()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", metavar="REASON", nargs="?", const="")
    arguments = parser.parse_args()
    counted = lines.count(None)
    now = {"code lines": counted["lines"]["all"], "words": counted["words"]["pages"]}
    stored = json.loads(STORED.read_text())
    risen = [name for name in now if now[name] > stored[name]]
    if arguments.renew is not None:
        if risen and not arguments.renew.strip():
            print(f"growth: {' and '.join(risen)} rise: name a reason, as in --renew 'REASON'", file=sys.stderr)
            sys.exit(2)
        reason = arguments.renew if risen else stored.get("reason", "")
        STORED.write_text(json.dumps(now | {"reason": reason}, indent=2) + "\n")
        return
    allowed = {name: int(stored[name] * (1 + ROOM)) for name in now}
    for name, figure in now.items():
        print(f"{name}: {figure}, stored {stored[name]}, allowed {allowed[name]}")
    more = [name for name in now if now[name] > allowed[name]]
    if more:
        sys.exit(f"growth: more {' and '.join(more)} than allowed; take something away, or: scripts/lint/growth.py --renew 'REASON'")


if __name__ == "__main__":
    main()
