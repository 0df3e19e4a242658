"""Sweeps: the runs of a grid or a random sample, on all cores of this machine or on a Ray cluster.

``airbound sweep --on`` calls ``python -m airbound.sweeps GRID.toml --on local-cluster``.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from airbound import _native
from airbound.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

#: Stands for a new cluster on this machine, in place of an address.
LOCAL_CLUSTER = "local-cluster"
#: Intended length of a worker's task in s, a number of runs: Ray's overhead per task is then below 1 %.
TASK_S = 0.5
#: Most runs of a task, which a lost worker loses.
MOST_RUNS = 64
#: Losses of a run before the sweep fails: the run is then taken to crash its workers.
MOST_LOSSES = 5


class SweepResult:
    """The result of a sweep."""

    def __init__(self, folder: Path, found: dict[str, Any], text: str) -> None:
        #: The folder.
        self.folder = folder
        #: All cells under all schemes with the intervals of the grid's metrics, as printed by ``airbound sweep --json``.
        self.found = found
        self._text = text

    def scan(self) -> pl.LazyFrame:
        """The data set, read lazily: one row per run and flow (columns: docs/use/sweep.md)."""
        return pl.scan_parquet(self.folder / "results" / "**" / "*.parquet", hive_partitioning=False)

    @property
    def results(self) -> pl.DataFrame:
        """The data set, one row per run and flow: by cell, scheme in the order of the grid, seed and flow. Units end the columns' names."""
        return self.scan().collect()

    @property
    def intervals(self) -> pl.DataFrame:
        """One row per cell and scheme: mean and confidence interval of each metric of the grid."""
        return pl.read_parquet(self.folder / "intervals.parquet")

    def plot(self, metric: str | None = None, over: str | None = None) -> Figure:
        """A metric of the grid over one of its parameters: a line with its confidence band per scheme.

        Averages over the other parameters. Raises ``ValueError`` for an unknown metric or parameter.
        """
        from matplotlib.figure import Figure

        table = self.intervals
        metrics = [name.removesuffix("_low") for name in table.columns if name.endswith("_low")]
        index = json.loads((self.folder / "sweep.json").read_text())
        parameters = [parameter["name"] for parameter in index["parameters"]]
        metric = metrics[0] if metric is None else metric
        over = parameters[0] if over is None else over
        for wanted, known, kind in [(metric, metrics, "metric"), (over, parameters, "parameter")]:
            if wanted not in known:
                raise ValueError(f"there is no {kind} {wanted}; the grid has {', '.join(known)}")
        figure = Figure(layout="constrained")
        axes = figure.subplots()
        columns = [metric, f"{metric}_low", f"{metric}_high"]
        for scheme in index["schemes"]:
            rows = table.filter(pl.col("scheme") == scheme)
            line = rows.group_by(over).agg([pl.col(column).mean() for column in columns]).sort(over)
            axes.plot(line[over].to_list(), line[metric].to_list(), marker="o", label=scheme)
            ends = line.drop_nulls(columns)
            axes.fill_between(ends[over].to_list(), ends[columns[1]].to_list(), ends[columns[2]].to_list(), alpha=0.2)
        axes.set_xlabel(over)
        axes.set_ylabel(metric)
        axes.set_ylim(bottom=0)
        axes.legend()
        return figure

    def report(self, page: str | PathLike[str]) -> Path:
        """Copies the self-contained HTML page of the sweep to ``page``; returns its path."""
        path = Path(page)
        _native.write_page(path, (self.folder / "report.html").read_text(encoding="utf-8"))
        return path

    def to_text(self) -> str:
        """The table printed by ``airbound sweep``."""
        return self._text

    def __repr__(self) -> str:
        return f"<SweepResult of {self.found['sweep']}: {self.found['runs']} runs in {self.folder}>"


def sweep(
    grid: str | PathLike[str],
    *,
    out: str | PathLike[str] | None = None,
    until: str | None = None,
    seeds: int | None = None,
    jobs: int | None = None,
    replace: bool = False,
    on: str | None = None,
    progress: bool | None = None,
) -> SweepResult:
    """Runs a grid or a sample over keys of a scenario, schemes and seeds (grid files: docs/use/sweep.md).

    ``grid``
        A grid file, or the name of a shipped one.
    ``out``
        The folder, ``runs/sweep-GRID`` by default. An interrupted sweep in it is resumed.
    ``until``
        Ends a cell once half its interval is at most this share of its mean, such as ``"2%"``.
    ``seeds``
        Most seeds per cell and scheme, the grid's by default.
    ``jobs``
        Simulations in parallel, one per core by default.
    ``replace``
        Whether runs in the folder that do not belong to this sweep may be removed.
    ``on``
        ``"local-cluster"`` for a Ray cluster on this machine, or the address of one such as ``"ray://head:10001"`` or ``"auto"``.
        Threads of this process by default. The files are the same.
    ``progress``
        Whether a progress bar is shown; by default after 2 s in a terminal or a notebook.

    Raises :class:`airbound.ScenarioError` for an invalid grid, :class:`airbound.RunError` if the folder contains something else or a
    run fails, ``OSError`` if it cannot be written, ``ImportError`` if ``on`` is given and Ray is not installed.
    """
    name = fspath(grid)
    folder = Path(out) if out is not None else Path("runs") / f"sweep-{Path(name).stem}"
    if jobs is not None and not 1 <= jobs <= 1024:
        raise _native.ScenarioError(f"jobs is {jobs}; allowed is 1 to 1024")
    if seeds is not None and not 1 <= seeds <= 10_000:
        raise _native.ScenarioError(f"seeds is {seeds}; allowed is 1 to 10000")
    if on is not None:
        # Fails before any file is written.
        import ray  # noqa: F401
    native = _native.Sweep(name, folder, until, seeds, replace)
    with Progress(f"{native.name}, up to {native.progress()[2]} runs", progress) as shown:
        if on is None:
            native.local(jobs, shown.callback)
        else:
            _over_ray(native, on, jobs, shown.callback)
    text, found = native.finish(shutil.get_terminal_size((100, 24)).columns)
    return SweepResult(folder, json.loads(found), text)


def _execute(orders: list[str]) -> tuple[float, list[str]]:
    """Executes a worker's task; returns the time that it took in s, and the results."""
    begun = time.monotonic()
    results = [_native.execute(order) for order in orders]
    return time.monotonic() - begun, results


def _over_ray(
    native: _native.Sweep, cluster: str, jobs: int | None, progress: Callable[[float], None] | None
) -> None:
    """Submits runs as tasks. Tasks of a lost worker or node are submitted again."""
    import ray
    from ray.exceptions import RayError, RayTaskError

    own = not ray.is_initialized()
    if own:
        address = None if cluster == LOCAL_CLUSTER else cluster
        ray.init(address=address, num_cpus=jobs if address is None else None, log_to_driver=False, include_dashboard=False)
    try:
        # Lost tasks are counted and retried here rather than by Ray: only the runs still needed are retried.
        task = ray.remote(max_retries=0, num_cpus=1)(_execute)
        pending: dict[Any, list[tuple[int, int, str]]] = {}
        losses: dict[tuple[int, int], int] = {}
        first_runs = native.progress()[2]
        mean_s = TASK_S
        while not native.is_done():
            cores = jobs or int(ray.cluster_resources().get("CPU", 1))
            # Twice as many tasks as cores keep all workers busy.
            while len(pending) < 2 * max(cores, 1):
                chunk = []
                for _ in range(min(MOST_RUNS, max(1, round(TASK_S / mean_s)))):
                    run = native.take()
                    if run is None:
                        break
                    chunk.append(run)
                if not chunk:
                    break
                pending[task.remote([order for _, _, order in chunk])] = chunk
            ready, _ = ray.wait(list(pending), num_returns=1, timeout=1.0)
            for done in ready:
                chunk = pending.pop(done)
                try:
                    took, results = ray.get(done)
                except RayTaskError as error:
                    # The run failed, not the worker.
                    raise _native.RunError(str(error.cause)) from error
                except RayError as error:
                    for point, number, _ in chunk:
                        losses[point, number] = losses.get((point, number), 0) + 1
                        if losses[point, number] > MOST_LOSSES:
                            raise _native.RunError(f"a run was lost with its worker {MOST_LOSSES + 1} times: {error}") from error
                        native.give_back(point, number)
                    continue
                mean_s = 0.5 * mean_s + 0.5 * max(took / len(chunk), 1e-4)
                for (point, number, _), result in zip(chunk, results, strict=True):
                    native.accept(point, number, result)
            if progress is not None:
                finished, _, runs = native.progress()
                progress(1 - (runs - finished) / max(first_runs, 1))
    finally:
        if own:
            ray.shutdown()


def main() -> int:
    """The command line called by ``airbound sweep --on``; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m airbound.sweeps", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("grid")
    parser.add_argument("--on", metavar="WHERE", help="local-cluster, or the address of a Ray cluster")
    parser.add_argument("--out", metavar="DIR")
    parser.add_argument("--until", metavar="PERCENT")
    parser.add_argument("--seeds", metavar="N", type=int)
    parser.add_argument("--jobs", metavar="N", type=int)
    parser.add_argument("--replace", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    try:
        result = sweep(
            options.grid,
            out=options.out,
            until=options.until,
            seeds=options.seeds,
            jobs=options.jobs,
            replace=options.replace,
            on=options.on,
            progress=False if options.json or options.quiet else None,
        )
    except (_native.ScenarioError, _native.RunError, OSError, ImportError) as error:
        print(f"airbound: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("airbound: interrupted; finished runs are kept, and the same command resumes the sweep", file=sys.stderr)
        return 130
    if options.json:
        print(json.dumps(result.found, indent=2))
    elif not options.quiet:
        print(f"{result.to_text()}\nResults: {result.folder / 'results'}\nReport:  {result.folder / 'report.html'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
