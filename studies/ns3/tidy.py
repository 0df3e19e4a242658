#!/usr/bin/env python3
"""From the tables that the ns-3 programs leave behind to the files in ../data that airbound is compared with.

usage: tidy.py REFERENCE_FOLDER [DATA_FOLDER]
"""
import csv
import pathlib
import sys

HEAD = """\
# Measured with ns-3 by the programs in studies/ns3 (`studies/ns3/run` makes this file again).
# {what}
# build: apt = Debian's ns-3.37-2, wheel = ns-3.44 from PyPI.
"""


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def shortened(value):
    try:
        return f"{float(value):.7g}"
    except ValueError:
        return value


def kept(path, rows):
    """Rows already in the file, of builds that were not run again."""
    if not path.exists():
        return []
    with open(path, newline="") as file:
        old = list(csv.DictReader(line for line in file if not line.startswith("#")))
    run_again = {row["build"] for row in rows}
    return [row for row in old if row["build"] not in run_again]


def write(path, what, columns, rows):
    rows = rows + kept(path, rows)
    with open(path, "w", newline="") as file:
        file.write(HEAD.format(what=what))
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([shortened(row[column]) for column in columns])
    print(f"{path}: {len(rows)} rows")


def gathered(source, name, builds):
    rows = []
    for build in builds:
        path = source / name.format(build)
        if path.exists():
            rows += [dict(row, build=build) for row in rows_of(path)]
    return rows


def main():
    source = pathlib.Path(sys.argv[1])
    data = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).parent.parent / "data"
    vht = gathered(source, "vht_udp-{}.csv", ["apt", "wheel"])
    if vht:
        write(data / "ns3-vht.csv",
              "802.11ac 80 MHz MCS 9, 2 streams: UDP to n stations; sat: 2 % above capacity, p80: 80 % of it.",
              ["build", "n", "load", "offered_total_mbps", "goodput_total_mbps", "delay_mean_ms", "delay_p95_ms",
               "mpdus_per_ampdu", "data_airtime"], vht)
    tcp = gathered(source, "tcp_ht-{}-mean.csv", ["wheel"])
    if tcp:
        write(data / "ns3-tcp.csv",
              "802.11n 40 MHz: TCP CUBIC to n stations over a queueing discipline and a MAC queue; delay: AP to station.\n"
              "# arc_degrees: 360: stations evenly on a circle of 2 m (frames are captured in collisions); 1: all in one "
              "place (they are not).",
              ["build", "ht_mcs", "n", "arc_degrees", "qdisc", "mac_queue_pkts", "runs", "goodput_mbps", "goodput_min", "goodput_max",
               "jain", "delay_p50_ms", "delay_p95_ms", "mpdus_per_ampdu", "dead_flows"], tcp)
    for control, name in (("minstrel", "Minstrel-HT"), ("thompson", "Thompson sampling"),
                          ("thompson_loud", "Thompson sampling, acknowledgements 20 dB louder,")):
        rows = [row for row in gathered(source, control + "_dist-{}.csv", ["apt"]) if row["goodput_mean_mbps"]]
        if rows:
            write(data / f"ns3-{control.replace('_', '-')}.csv",
                  f"802.11n 20 MHz, 1 stream, {name} over distance; UDP at 75 Mb/s; mean over seeds.",
                  ["build", "nakagami", "distance_m", "runs", "goodput_mean_mbps", "goodput_min", "goodput_max",
                   "mpdus_per_ampdu", "mpdu_delivery_ratio", "mode_share"], rows)
    dcf = gathered(source, "dcf_sat-{}.csv", ["apt"])
    if dcf:
        write(data / "ns3-dcf.csv",
              "802.11a DCF, n saturated senders, payload 1470 B, 7 attempts.",
              ["build", "data_rate", "ack_rate", "n", "offered_per_sta_mbps", "goodput_total_mbps", "collision_prob",
               "data_ppdu_us", "ack_us"], dcf)


if __name__ == "__main__":
    main()
