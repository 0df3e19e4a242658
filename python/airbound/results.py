"""Results of runs and comparisons: summaries, data frames, plots, reports."""

from __future__ import annotations

import json
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from airbound import _native, plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Index columns, the list of the run that they index, and the column of names that is added.
_NAMES = (
    ("flow", "flows", "flow_name"),
    ("station", "stations", "station_name"),
    ("transmitter", "transmitters", "transmitter_name"),
    ("receiver", "transmitters", "receiver_name"),
)


class Folder:
    """A folder of results; a temporary one is removed with the last result that refers to it."""

    def __init__(self, path: str | PathLike[str] | None) -> None:
        if path is None:
            temporary = tempfile.mkdtemp(prefix="airbound-")
            weakref.finalize(self, shutil.rmtree, temporary, ignore_errors=True)
            path = Path(temporary) / "results"
        self.path = Path(path)


class RunResult:
    """One run: its summary, its tables as data frames, plots.

    Made by :func:`airbound.run`, :func:`airbound.compare` or :func:`airbound.load`. Tables are read on first use. Without ``out=``
    the run is in a temporary folder, removed with the last result that refers to it.
    """

    def __init__(self, folder: Path, label: str, temporary: Folder | None = None) -> None:
        self.folder = folder
        """The folder of the run, with the files of ``airbound run`` (docs/reference/file-formats.md)."""
        self.label = label
        """The scheme, as named in the call."""
        # Removes a temporary folder once no result refers to it.
        self._temporary = temporary

    @cached_property
    def summary(self) -> dict[str, Any]:
        """``summary.json`` as a dict: ``scenario``, ``scheme``, ``seed``, ``flows``, ``stations``, ``air``, ``jain``.

        Sessions add ``session``. Keys are stable and end in their units.
        """
        return self._json("summary.json")

    @cached_property
    def performance(self) -> dict[str, Any]:
        """Cost of the run: ``events``, ``wall_s``, ``simulated_s_per_wall_s``, ``peak_rss_mb``."""
        return self._json("performance.json")

    @cached_property
    def scenario(self) -> _native.Scenario:
        """The resolved scenario, which reproduces the run.

        Raises :class:`airbound.ScenarioError` if the scheme was written in Python, which a file cannot name.
        """
        return _native.Scenario.from_file(self.folder / "scenario.toml")

    @property
    def seed(self) -> int:
        """The seed of the run: an integer from 0 to 2^63 - 1."""
        seed: int = self.summary["seed"]
        return seed

    @cached_property
    def packets(self) -> pl.DataFrame:
        """One row per packet, in order of delivery or drop; timestamps in ns since the start of the run.

        Raises :class:`airbound.RunError` if packets were not logged (``log_packets=False``).
        """
        return self._table("packets", "log_packets=True")

    @cached_property
    def txops(self) -> pl.DataFrame:
        """One row per transmission opportunity: transmitter, receiver, start (ns), rate (kb/s), MPDUs sent and acknowledged.

        Raises :class:`airbound.RunError` if packets were not logged.
        """
        return self._table("txops", "log_packets=True")

    @cached_property
    def senders(self) -> pl.DataFrame:
        """One row per acknowledgement of TCP and report of ``rtc``: window (B), round trips (ns), rate (kb/s).

        Raises :class:`airbound.RunError` if packets were not logged, or no flow has such a sender.
        """
        return self._table("senders", "log_packets=True and a flow of TCP or rtc")

    @cached_property
    def frames(self) -> pl.DataFrame:
        """One row per video frame and per transfer of a ``tcp-short`` flow; empty if the scenario has neither."""
        return self._table("frames", "a scenario without [session]")

    @cached_property
    def series(self) -> pl.DataFrame:
        """One row per flow and window of time: rates in Mb/s, latency in ms, queue in packets."""
        return self._table("series", "a scenario without [session]")

    @cached_property
    def distributions(self) -> pl.DataFrame:
        """Latency distributions: one row per flow, component and bucket, in ns."""
        return self._table("distributions", "a new run")

    @cached_property
    def flows(self) -> pl.DataFrame:
        """The flows of the summary, one row per flow: rates in Mb/s, latency in ms (``latency_p50_ms`` to ``latency_max_ms``)."""
        rows = []
        for flow in self.summary["flows"]:
            row = {"scheme": self.label, "seed": self.seed}
            row |= {key: flow[key] for key in ("name", "kind", "station", "direction")}
            row |= {key: flow[key] for key in ("offered_mbps", "goodput_mbps", "loss_rate")}
            row |= {f"latency_{name}_ms": value for name, value in flow["latency_ms"].items()}
            rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    @cached_property
    def verdict(self) -> dict[str, Any]:
        """The verdict of ``airbound run --json``: ``choice`` (of its demands), ``bottleneck``, ``advice`` and ``health``, each with its sentences.

        ``docs/understand/verdicts.md`` has the rules.
        """
        return _verdict([self], self._focus, None)

    def latency_ms(self, flow: str | None = None) -> pl.Series:
        """The latencies of a flow's delivered packets, in ms, from its source to its destination, warm-up included.

        ``flow`` is its name, the focus flow by default. Raises ``KeyError`` for an unknown flow.
        """
        name = self._flow(flow)
        rows = self.packets.filter((pl.col("flow_name") == name) & (pl.col("fate") == 0))
        return rows.select(((pl.col("arrived_ns") - pl.col("sent_ns")) / 1e6).alias("latency_ms")).to_series()

    def plot_latency(self, flow: str | None = None) -> Figure:
        """The complementary latency distribution of a flow, on a logarithmic scale."""
        return plots.latency({self.label: [self]}, self._flow(flow))

    def plot_timeline(self, flow: str | None = None) -> Figure:
        """Goodput, latency and queue of a flow over time."""
        return plots.timeline(self, self._flow(flow))

    def plot_airtime(self) -> Figure:
        """The share of airtime of each station, both directions."""
        return plots.airtime(self)

    def report(self, page: str | PathLike[str]) -> Path:
        """Writes the self-contained HTML page of this run; returns its path."""
        path = Path(page)
        _native.report([(self.label, self.folder)], path, None, None, 100)
        return path

    def _flow(self, flow: str | None) -> str:
        names = [entry["name"] for entry in self.summary["flows"]]
        if flow is None:
            flow = self._focus or names[0]
        if flow not in names:
            raise KeyError(f"there is no flow {flow}; flows are {', '.join(names[:20])}")
        return flow

    @cached_property
    def _focus(self) -> str | None:
        applications = self.summary.get("emulation", {}).get("flows", [])
        if applications:
            # As `airbound emulate`: the protected connection, else the largest one.
            protected = {flow["name"] for flow in self.summary["flows"] if "demand" in flow}
            most = max(applications, key=lambda flow: (flow["name"] in protected, flow.get("delivered_bytes", 0)))
            return str(most["name"])
        try:
            return self.scenario.focus
        except _native.ScenarioError:
            return None

    def _json(self, name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.folder / name).read_text(encoding="utf-8"))
        return content

    def _table(self, name: str, remedy: str) -> pl.DataFrame:
        path = self.folder / f"{name}.parquet"
        if not path.is_file():
            raise _native.RunError(f"the run has no {name}; they need {remedy}")
        frame = pl.read_parquet(path)
        names = json.loads(pl.read_parquet_metadata(path)["airbound.run"])
        beside = [
            pl.col(number).replace_strict(
                list(range(len(names[known]))), names[known], default=None, return_dtype=pl.String
            ).alias(column)
            for number, known, column in _NAMES
            if number in frame.columns
        ]
        return frame.with_columns(beside)

    def __repr__(self) -> str:
        return f"RunResult({self.summary['scenario']}, {self.label}, seed {self.seed})"


class Comparison:
    """Runs of one scenario side by side: several schemes, each with one or more seeds.

    Made by :func:`airbound.compare` or :func:`airbound.load`.
    """

    def __init__(self, folder: Path, temporary: Folder | None = None) -> None:
        index = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
        self.folder = folder
        """The folder of the comparison, which contains ``report.html``."""
        self.scenario: str = index["scenario"]
        """The scenario's name."""
        self.focus: str | None = index["focus"]
        """The focus flow."""
        self.baseline: str | None = index["baseline"]
        """The baseline: the scheme that the others are compared to."""
        self.runs: list[RunResult] = [
            RunResult(folder / entry["folder"], entry["scheme"], temporary) for entry in index["runs"]
        ]
        """The runs, by scheme and seed."""

    @property
    def schemes(self) -> list[str]:
        """The labels of the schemes, in the order of the call."""
        return list(dict.fromkeys(run.label for run in self.runs))

    def __getitem__(self, scheme: str) -> list[RunResult]:
        """The runs of a scheme, by seed. Raises ``KeyError`` for an unknown scheme."""
        found = [run for run in self.runs if run.label == scheme]
        if not found:
            raise KeyError(f"{scheme} was not compared; schemes are {', '.join(self.schemes)}")
        return found

    def __iter__(self) -> Iterator[RunResult]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    @cached_property
    def flows(self) -> pl.DataFrame:
        """The flows of all runs, one row per scheme, seed and flow; see :attr:`RunResult.flows`."""
        return pl.concat([run.flows for run in self.runs], how="vertical_relaxed")

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per scheme: goodput, loss and latency of the focus flow, as means over the seeds."""
        rows = self.flows.filter(pl.col("name") == self.focus) if self.focus else self.flows
        columns = pl.exclude("scheme", "seed", "name", "kind", "station", "direction")
        return rows.group_by("scheme", maintain_order=True).agg(columns.mean())

    @cached_property
    def verdict(self) -> dict[str, Any]:
        """The verdict of ``airbound compare --json``: ``choice``, ``bottleneck``, ``advice`` and ``health``, each with its sentences.

        ``docs/understand/verdicts.md`` has the rules.
        """
        return _verdict(self.runs, self.focus, self.baseline)

    @cached_property
    def groups(self) -> pl.DataFrame:
        """One row per scheme and group: the flows of one entry of the scenario, as the tables of ``airbound compare`` show them.

        ``members`` is their number. Each figure of :attr:`RunResult.flows` (Mb/s, ms, shares) is the median over members and seeds;
        ``..._low`` and ``..._high`` hold nine tenths of them, or all of fewer than 20.
        """
        found = _native.groups([(run.label, run.folder) for run in self.runs], self.focus)
        figures = [name for name, kind in self.flows.schema.items() if kind.is_numeric() and name != "seed"]
        rows = []
        for scheme in self.schemes:
            for group, members in found:
                flows = self.flows.filter((pl.col("scheme") == scheme) & pl.col("name").is_in(members))
                row: dict[str, Any] = {"scheme": scheme, "group": group, "members": len(members)}
                for name in figures:
                    values = flows[name].drop_nulls().sort()
                    beyond = len(values) // 20 if len(members) > 1 else 0
                    row[name] = values.median()
                    row[f"{name}_low"] = values[beyond] if len(values) else None
                    row[f"{name}_high"] = values[-1 - beyond] if len(values) else None
                rows.append(row)
        return pl.DataFrame(rows, infer_schema_length=None)

    def plot_latency(self, flow: str | None = None) -> Figure:
        """The latency distributions of a flow under each scheme, all seeds together."""
        return plots.latency({scheme: self[scheme] for scheme in self.schemes}, self.runs[0]._flow(flow or self.focus))

    def plot_percentiles(self, flow: str | None = None) -> Figure:
        """Bars of the median, 95th and 99th percentile of a flow's latency under each scheme; means over the seeds."""
        return plots.percentiles(self, self.runs[0]._flow(flow or self.focus))

    def to_text(self, width: int = 100) -> str:
        """The tables of ``airbound compare``, for ``width`` columns."""
        return _native.report([(run.label, run.folder) for run in self.runs], None, self.focus, self.baseline, width)

    def report(self, page: str | PathLike[str]) -> Path:
        """Copies the self-contained HTML page of the comparison to ``page``; returns its path."""
        path = Path(page)
        _native.write_page(path, (self.folder / "report.html").read_text(encoding="utf-8"))
        return path

    def __repr__(self) -> str:
        return f"Comparison({self.scenario}: {', '.join(self.schemes)}; {len(self.runs)} runs)"


def _verdict(runs: list[RunResult], focus: str | None, baseline: str | None) -> dict[str, Any]:
    verdict: dict[str, Any] = json.loads(_native.verdict([(run.label, run.folder) for run in runs], focus, baseline))
    return verdict


def load(folder: str | PathLike[str]) -> RunResult | Comparison:
    """Opens a folder of ``airbound run``, ``airbound compare`` or ``out=``.

    Raises :class:`airbound.RunError` if it contains neither a run nor a comparison.
    """
    path = Path(folder)
    if (path / "comparison.json").is_file():
        return Comparison(path)
    if not (path / "summary.json").is_file():
        raise _native.RunError(f"{path} contains neither a run nor a comparison")
    scheme = json.loads((path / "summary.json").read_text(encoding="utf-8"))["scheme"]
    return RunResult(path, "+".join(name for name in scheme.values() if name))
