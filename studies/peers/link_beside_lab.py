#!/usr/bin/env python3
"""One-way delays of `airbound.Link` beside those of the laboratory: the same packets at the same times.

  link_beside_lab.py RECORD FLOW... [--seeds 10]

RECORD is a folder of `airbound lab run --log-packets` or of `airbound validate lab --out`; the flows are datagrams in best effort to and
from one station, which the link carries in their place. A delay ends where the receiver's radio lets the packet go, upwards at the end
of the wire. Prints for each flow: packets of the record; the largest difference of both distributions (Kolmogorov); that of single
seeds, least and most; 5, 25, 50, 75 and 95 % in ms, laboratory and link. Needs Python 3.11 and the package airbound.
"""

import bisect
import math
import pathlib
import tomllib

import airbound
from peers import Parser, at_least

UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
#: Headers of IPv4 and UDP, which the link adds.
HEADERS = 28
DRAIN_NS = 2_000_000_000


def distance(one, other):
    """The largest difference of the distributions of two ascending lists."""
    share = lambda values, value: bisect.bisect_right(values, value) / len(values)
    return max(abs(share(one, value) - share(other, value)) for value in {*one, *other})


def quantiles(values):
    return ", ".join(f"{values[math.ceil(share * len(values)) - 1] / 1e6:.1f}" for share in (0.05, 0.25, 0.5, 0.75, 0.95))


def span(text):
    number, unit = text.split()
    return round(float(number) * UNITS[unit])


def carried(text, station, packets, seed):
    """The delays of packets `(time, flow, direction, bytes)` over a link, in ascending order by flow, ns."""
    link = airbound.Link.of_scenario(text, station, seed=seed)
    for number, (at, _, direction, size) in enumerate(packets):
        link.push(at, direction, number.to_bytes(size - HEADERS))
    delays = {}
    for arrival in link.take(packets[-1][0] + DRAIN_NS):
        delays.setdefault(packets[int.from_bytes(arrival.data)][1], []).append(arrival.at_ns - arrival.sent_ns)
    return {flow: sorted(values) for flow, values in delays.items()}


def main():
    parser = Parser(description=__doc__)
    parser.add_argument("record", type=pathlib.Path)
    parser.add_argument("flows", nargs="+")
    parser.add_argument("--seeds", type=at_least(1, int), default=10)
    asked = parser.parse_args()
    table = tomllib.loads((asked.record / "scenario.toml").read_text())
    own = {flow["name"]: flow for flow in table["flow"] if flow["name"] in asked.flows}
    stations = {flow["station"] for flow in own.values()}
    if set(own) != set(asked.flows) or len(stations) != 1 or any(flow["category"] != "be" for flow in own.values()):
        parser.error(f"{', '.join(asked.flows)}: allowed are flows of one station of the record, in best effort")
    wire, begin = span(table["wire"]["delay"]), span(table["warm-up"])
    table["flow"] = [flow for flow in table["flow"] if flow["name"] not in own]
    del table["focus"]
    text = airbound.Scenario.from_dict(table).to_toml()

    rows = airbound.load(asked.record).packets.sort("sent_ns").select("flow_name", "sent_ns", "size_bytes", "fate", "delivered_ns")
    rows = [row for row in rows.rows() if row[0] in own and row[1] >= begin]
    packets = [(sent - begin, name, own[name]["direction"], size) for name, sent, size, _, _ in rows]
    seeds = [carried(text, *stations, packets, seed) for seed in range(1, asked.seeds + 1)]
    print("| flow | packets | distance | of seeds | laboratory, ms | link, ms |\n|---|---:|---:|---:|---|---|")
    for name, flow in own.items():
        behind = wire if flow["direction"] == "up" else 0
        there = sorted(until - sent + behind for of, sent, _, fate, until in rows if of == name and fate == 0)
        here = sorted(delay for one in seeds for delay in one[name])
        each = [distance(there, one[name]) for one in seeds]
        print(f"| {name} | {len(there)} | {distance(there, here):.3f} | {min(each):.3f} to {max(each):.3f} "
              f"| {quantiles(there)} | {quantiles(here)} |")


if __name__ == "__main__":
    main()
