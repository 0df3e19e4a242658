#!/usr/bin/env python3
"""A picture of emulations: the latency of the busiest downlink flow of an application in each of them.

  picture.py LABEL=FOLDER ... --out FILE.svg [--title TEXT] [--longest 150]

Needs the Python package airbound.
"""

import argparse
import pathlib

import airbound
import matplotlib.pyplot as plt
import polars as pl

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="LABEL=FOLDER")
    parser.add_argument("--out", required=True)
    parser.add_argument("--title", default="")
    parser.add_argument("--longest", type=float, default=150.0, help="end of the axis, ms")
    chosen = parser.parse_args()
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "airbound", "font.family": "sans-serif"})
    figure, axes = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
    for run, colour in zip(chosen.runs, COLOURS):
        label, _, folder = run.partition("=")
        result = airbound.load(folder)
        flows = [flow for flow in result.summary["flows"] if flow["kind"] == "application" and flow["direction"] == "downlink"]
        flow = max(flows, key=lambda flow: flow["packets"]["delivered"])
        buckets = result.distributions.filter((pl.col("flow_name") == flow["name"]) & (pl.col("component") == 0)).sort("high_ns")
        shares = buckets["count"].cum_sum() / buckets["count"].sum()
        # Two points a millisecond are as fine as a page shows.
        points = {round(high / 5e5): share for high, share in zip(buckets["high_ns"], shares)}
        axes.plot([x / 2 for x in points], list(points.values()), label=label, color=colour)
    axes.set(xlabel="latency of packets to the station, ms", ylabel="share that came by then", title=chosen.title)
    axes.set(xlim=(0, chosen.longest), ylim=(0, 1.01))
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.savefig(pathlib.Path(chosen.out), metadata={"Date": None})


if __name__ == "__main__":
    main()
