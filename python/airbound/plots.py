"""Plots of runs, as matplotlib figures owned by the caller."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import polars as pl
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from airbound.results import Comparison, RunResult

#: The colours of Okabe and Ito, distinguishable with colour vision deficiencies.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442")

#: ``component`` of a packet's total latency in ``distributions``.
_LATENCY = 0


class Picture(Figure):
    """A figure that is displayed in notebooks under any backend."""

    def _repr_png_(self) -> bytes:
        png = io.BytesIO()
        self.savefig(png, format="png", dpi=100)
        return png.getvalue()


def _figure(height: float = 3.6, rows: int = 1) -> Figure:
    return Picture(figsize=(6.4, height * (0.4 + 0.6 * rows)), layout="constrained")


def latency(runs: Mapping[str, Sequence[RunResult]], flow: str) -> Figure:
    """Complementary distribution of a flow's latency for each scheme; all seeds together, without warm-up."""
    figure = _figure()
    axes = figure.subplots()
    for (label, seeds), colour in zip(runs.items(), COLOURS * (1 + len(runs) // len(COLOURS))):
        buckets = pl.concat(
            run.distributions.filter((pl.col("flow_name") == flow) & (pl.col("component") == _LATENCY)) for run in seeds
        )
        steps = buckets.group_by("high_ns").agg(pl.col("count").sum()).sort("high_ns")
        if steps.is_empty():
            continue
        later = 1.0 - steps["count"].cum_sum() / steps["count"].sum()
        axes.step(steps["high_ns"] / 1e6, later, where="post", label=label, color=colour)
    axes.set(xlabel="latency, ms", ylabel="share of packets that are later", yscale="log", ylim=(1e-4, 1), title=flow)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    if len(axes.lines) > 0:
        axes.legend()
    return figure


def timeline(run: RunResult, flow: str) -> Figure:
    """Goodput, latency and queue of a flow by window of time."""
    rows = run.series.filter(pl.col("flow_name") == flow).sort("window_start_ns")
    seconds = rows["window_start_ns"] / 1e9
    figure = _figure(rows=3)
    rate, late, queue = figure.subplots(3, sharex=True)
    rate.plot(seconds, rows["offered_mbps"], label="offered", color=COLOURS[5])
    rate.plot(seconds, rows["goodput_mbps"], label="goodput", color=COLOURS[0])
    rate.set(ylabel="Mb/s", title=f"{flow} under {run.label}")
    rate.legend()
    late.plot(seconds, rows["latency_p95_ms"], label="p95", color=COLOURS[1])
    late.plot(seconds, rows["latency_p50_ms"], label="median", color=COLOURS[0])
    late.set(ylabel="latency, ms", ylim=(0, None))
    late.legend()
    queue.step(seconds, rows["queue_packets"], where="post", color=COLOURS[0])
    queue.set(ylabel="queue, packets", xlabel="time, s", ylim=(0, None))
    for axes in (rate, late, queue):
        axes.grid(alpha=0.3)
    return figure


def airtime(run: RunResult) -> Figure:
    """The share of airtime of each station, both directions."""
    stations = run.summary["stations"]
    figure = _figure()
    axes = figure.subplots()
    axes.barh([s["name"] for s in stations], [s["airtime_share"] or 0.0 for s in stations], color=COLOURS[0])
    axes.invert_yaxis()
    axes.set(xlabel="share of the time", title=f"airtime under {run.label}")
    axes.grid(alpha=0.3, axis="x")
    return figure


def percentiles(comparison: Comparison, flow: str) -> Figure:
    """Bars of the median, 95th and 99th percentile of a flow's latency under each scheme; means over the seeds."""
    rows = comparison.flows.filter(pl.col("name") == flow).group_by("scheme", maintain_order=True)
    means = rows.agg(pl.col("latency_p50_ms", "latency_p95_ms", "latency_p99_ms").mean())
    figure = _figure()
    axes = figure.subplots()
    places = range(means.height)
    for number, (name, title) in enumerate((("p50", "median"), ("p95", "p95"), ("p99", "p99"))):
        heights = means[f"latency_{name}_ms"].fill_null(0.0)
        axes.bar([place + 0.27 * (number - 1) for place in places], heights, 0.25, label=title, color=COLOURS[number])
    axes.set_xticks(list(places), means["scheme"].to_list(), rotation=20, ha="right")
    axes.set(ylabel="latency, ms", title=flow)
    axes.grid(alpha=0.3, axis="y")
    axes.legend()
    return figure
