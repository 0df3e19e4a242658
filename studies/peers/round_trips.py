#!/usr/bin/env python3
"""Round trips of irtt over the simulated air beside the record of the same packets, and beside irtt on the loopback device.

  round_trips.py [--scenario my-flat] [--station laptop] [--seconds 8] [--runs 3] [--airbound airbound]

Prints for each run: answered probes; round trips a minute (RPM: 60 000 over the mean of the least 95 % in ms, as in
draft-ietf-ippm-responsiveness-06) by the record and by irtt; how much longer a round trip of irtt is than that of the record, least, p50, p99 in us.
The last row is irtt on the loopback device, where all of it is the machine's. Needs irtt and the package airbound.
"""

import json
import math
import subprocess
import sys

from peers import Failed, Missing, Parser, Work, at_least, emulate, end, need, program, started

PORT = 2112
PROBE = ["client", "-Q", "-i", "20ms", "-o", "-"]
#: The largest packet of irtt that opens or closes a session, with headers.
OTHER = 60


def trips(text):
    """Round trips of irtt's JSON in ns, `None` for a lost one; its server's lines may stand before it."""
    lines = [line for line in text.splitlines() if not line.startswith("[")]
    report = json.loads("\n".join(lines))
    return [trip["delay"]["rtt"] if trip["lost"] == "false" else None for trip in report["round_trips"]]


def recorded(folder, station):
    """Round trips of the same probes in the packets of a run, ns: the way up and the way of its answer."""
    import airbound

    packets = airbound.load(folder).packets.sort("sent_ns")

    def delays(direction):
        own = packets.filter((packets["flow_name"] == f"{station} {direction} udp {PORT}") & (packets["size_bytes"] > OTHER))
        return [arrived and arrived - sent for sent, arrived in own.select("sent_ns", "arrived_ns").rows()]

    answers = iter(delays("down"))
    ways = [(up, next(answers, None)) if up is not None else (None, None) for up in delays("up")]
    return [None if up is None or down is None else up + down for up, down in ways]


def per_minute(trips):
    least = sorted(trips)[: math.ceil(0.95 * len(trips))]
    return 60e9 * len(least) / sum(least)


def compared(station, seconds, folder):
    irtt = need("irtt")

    def read(text):
        pairs = [pair for pair in zip(recorded(folder / "run", station), trips(text), strict=True) if None not in pair]
        ours, theirs = zip(*pairs)
        return {"rpm": per_minute(ours), "irtt": per_minute(theirs), "longer_us": sorted((their - our) / 1e3 for our, their in pairs)}

    return Work([f"{irtt} server -i 0 -b :{PORT} >/dev/null 2>&1"], [irtt, *PROBE, "-d", f"{seconds}s", "server"], read)


def loopback(seconds):
    irtt, address = need("irtt"), f"127.0.0.1:{PORT}"
    server = started([irtt, "server", "-i", "0", "-b", address])
    try:
        done = subprocess.run([irtt, *PROBE, "-d", f"{seconds}s", address], capture_output=True, text=True, check=True, timeout=seconds + 60)
    finally:
        end(server)
    return sorted(trip / 1e3 for trip in trips(done.stdout) if trip is not None)


def row(name, rpm, irtt, longer):
    at = lambda share: longer[min(len(longer) - 1, int(share * len(longer)))]
    print(f"| {name} | {len(longer)} | {rpm} | {irtt} | {at(0):.0f}, {at(0.5):.0f}, {at(0.99):.0f} |", flush=True)


def main():
    parser = Parser(description=__doc__)
    parser.add_argument("--scenario", default="my-flat")
    parser.add_argument("--station", default="laptop")
    parser.add_argument("--seconds", type=at_least(1, int), default=8)
    parser.add_argument("--runs", type=at_least(1, int), default=3)
    parser.add_argument("--airbound", type=program, default="airbound")
    options = parser.parse_args()
    print("| run | probes | RPM, record | RPM, irtt | longer, us |\n|---|---:|---:|---:|---:|")
    try:
        for number in range(options.runs):
            found, _ = emulate(compared, options.scenario, options.station, options.seconds, options.airbound, options=("--log-packets",))
            row(f"{options.scenario} {number + 1}", f"{found['rpm']:.0f}", f"{found['irtt']:.0f}", found["longer_us"])
        row("loopback", "", "", loopback(options.seconds))
    except (Missing, ImportError) as missing:
        print(f"SKIPPED: {missing}", file=sys.stderr)
    except Failed as failed:
        sys.exit(f"round_trips.py: {failed}")


if __name__ == "__main__":
    main()
