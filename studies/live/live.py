#!/usr/bin/env python3
"""The library's sender and receiver live: real C programs over the simulated air in virtual time, and the tables of docs/results/live.md.

  live.py places [--seeds 5] [--encoder x264]     bitrate rules on six places, for virtual reality and for a game
  live.py headlines                               the paper's headlines: level, goodput, delay, loss of 1 to 20 stations
  live.py rates; live.py fall                     its other headlines: other rates and targets, and a PHY rate that falls by half
  live.py lab [--rules airbound gcc]              a target of 14 over the laboratory's mac80211 and over the simulated air
  live.py against --rules airbound cubic          the same stations beside the kernel's TCP, in the laboratory
  live.py sensing [--busy 2]                      error of the sensed level over emulate, with kernel stamps
  live.py show FILE                               the tables of results that were kept

Needs `make capi`, `studies/live/build.sh` and `cargo build --release -p airbound-sim --example lockstep`.
"""

import argparse
import json
import sys

from headlines import fall, headlines, rates
from laboratory import against, lab
from rules import APPLICATIONS, PLACES, RULES, places, print_places
from runs import ROOT
from sensing import sensing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["places", "headlines", "rates", "fall", "lab", "against", "sensing", "show"])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--lockstep", default=str(ROOT / "target/release/examples/lockstep"))
    parser.add_argument("--streamer", default=str(ROOT / "target/live/live-lockstep"))
    parser.add_argument("--encoder", default="x264", choices=["x264", "sizes"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--places", nargs="+", default=list(PLACES), choices=list(PLACES))
    parser.add_argument("--rules", nargs="+", default=RULES)
    parser.add_argument("--applications", nargs="+", default=list(APPLICATIONS), choices=list(APPLICATIONS))
    parser.add_argument("--stations", default="1,5,10,20")
    parser.add_argument("--standards", nargs="+", default=["ht", "vht"], choices=["ht", "vht"])
    parser.add_argument("--where", nargs="+", default=["simulated air", "mac80211"], choices=["simulated air", "mac80211"])
    parser.add_argument("--live-lab", default=str(ROOT / "target/live/live-lab"))
    parser.add_argument("--airbound", default=str(ROOT / "target/release/airbound"))
    parser.add_argument("--sockets", default=str(ROOT / "target/live/live-sockets"))
    parser.add_argument("--busy", type=int, default=0, help="processes that burn a core each")
    parser.add_argument("--keep", help="a file to which each run adds a line")
    parser.add_argument("--option", action="append", default=[], help="a further option of the streamer, such as target=14")
    chosen = parser.parse_args()
    chosen.extra = dict(option.split("=", 1) for option in chosen.option)
    studies = {"places": places, "headlines": headlines, "rates": rates, "fall": fall, "lab": lab, "against": against, "sensing": sensing}
    if chosen.what in studies:
        try:
            studies[chosen.what](chosen)
        except FileNotFoundError as missing:
            parser.error(f"there is no {missing.filename}: build it as the head of this file says")
        except RuntimeError as failed:
            sys.exit(f"live.py: {failed}")
    else:
        if not chosen.file:
            parser.error("show needs a file")
        print_places([json.loads(line) for line in open(chosen.file, encoding="utf-8")])


if __name__ == "__main__":
    sys.exit(main())
