"""Sweeps in this process and on Ray give the same files, also after lost workers."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import polars as pl
import pytest

import airbound

TINY = """
duration = "200 ms"
focus = "stream"
schemes = ["fifo", "linux"]
[[station]]
name = "near"
channel = { kind = "log-distance", distance = "5 m" }
[[flow]]
name = "stream"
kind = "poisson"
station = "near"
rate = "10 Mbit/s"
[[flow]]
name = "download"
kind = "tcp"
station = "near"
"""

GRID = """
scenario = "tiny.toml"
seeds = 4
[axes]
"flow.stream.rate" = { from = "5 Mbit/s", to = "20 Mbit/s", step = 5 }
"station.near.channel.distance" = ["10 m", "30 m"]
"""


@pytest.fixture
def grid(tmp_path: Path) -> Path:
    (tmp_path / "tiny.toml").write_text(TINY)
    (tmp_path / "grid.toml").write_text(GRID)
    return tmp_path / "grid.toml"


def files(folder: Path) -> dict[str, bytes]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_a_sweep_gives_data_frames(grid: Path, tmp_path: Path) -> None:
    result = airbound.sweep(grid, out=tmp_path / "out")
    with pytest.raises(airbound.RunError, match="grid.toml is not an earlier report of airbound"):
        result.report(grid)
    assert result.results.height == 4 * 2 * 2 * 4 * 2  # rates, distances, schemes, seeds, flows
    mean = result.scan().filter(pl.col("flow") == "stream").group_by("scheme").agg(pl.col("goodput_mbps").mean()).collect()
    assert set(mean["scheme"]) == {"fifo", "linux"}
    intervals = result.intervals
    assert intervals.height == 16
    assert (intervals["latency_p95_ms_low"] <= intervals["latency_p95_ms"]).all()
    assert result.found["runs"] == 64
    assert "latency p95" in result.to_text()
    assert result.report(tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
    assert len(result.plot("goodput_mbps", over="flow.stream.rate").axes[0].lines) == 2
    with pytest.raises(ValueError, match="no metric nonsense"):
        result.plot("nonsense")
    assert "64 runs" in repr(result)


def test_the_command_and_the_package_write_the_same_files(grid: Path, tmp_path: Path) -> None:
    airbound.sweep(grid, out=tmp_path / "here", until="20%", jobs=2)
    command = [sys.executable, "-m", "airbound", "sweep", str(grid), "--until", "20%", "--out", str(tmp_path / "there")]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert files(tmp_path / "here") == files(tmp_path / "there")


def test_invalid_grids_are_refused(grid: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(GRID.replace("Mbit/s", "parsec"))
    with pytest.raises(airbound.ScenarioError, match=r"wrong\.toml:5: flow\.stream\.rate = 5 parsec"):
        airbound.sweep(wrong, out=tmp_path / "out")
    for arguments in ({"until": "2"}, {"seeds": 0}, {"jobs": 0}):
        with pytest.raises(airbound.ScenarioError):
            airbound.sweep(grid, out=tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("all of it")
    with pytest.raises(airbound.RunError, match="not a sweep"):
        airbound.sweep(grid, out=tmp_path / "mine")


def test_orders_run_in_any_process(grid: Path, tmp_path: Path) -> None:
    """A custom driver of a sweep, with a lost run that is taken again."""
    native = airbound._native.Sweep(str(grid), tmp_path / "orders", None, None, False)
    first = native.take()
    assert first is not None
    native.give_back(first[0], first[1])
    while (run := native.take()) is not None:
        point, number, order = run
        native.accept(point, number, airbound._native.execute(order))
    assert native.is_done()
    assert native.progress() == (64, 0, 64)
    native.finish(100)
    with pytest.raises(airbound.ScenarioError, match="finished"):
        native.take()
    with pytest.raises(airbound.RunError, match="order"):
        airbound._native.execute("{}")
    airbound.sweep(grid, out=tmp_path / "plain")
    assert files(tmp_path / "orders") == files(tmp_path / "plain")


@pytest.mark.filterwarnings("ignore")
def test_a_lost_node_of_three_changes_no_file(grid: Path, tmp_path: Path) -> None:
    """A Ray cluster of three nodes on this machine, the third of which is killed during the sweep."""
    ray = pytest.importorskip("ray", reason="SKIPPED: ray is not installed; no sweep on a cluster is tested")
    from ray.cluster_utils import Cluster

    # Long enough for the third node to be busy when it is killed.
    grid.write_text(GRID.replace("seeds = 4", "seeds = 12"))
    (tmp_path / "tiny.toml").write_text(TINY.replace("200 ms", "10 s"))
    for jobs in (1, 2):
        airbound.sweep(grid, out=tmp_path / f"local-{jobs}", jobs=jobs)
    plain = files(tmp_path / "local-1")
    assert files(tmp_path / "local-2") == plain

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=1)
        doomed = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        ray.init(address=cluster.address, log_to_driver=False)
        seen: set[str] = set()

        def kill() -> None:
            # Waits for the first results.
            while not any((tmp_path / "nodes" / ".journal").glob("*.jsonl")):
                time.sleep(0.02)
            time.sleep(0.5)
            seen.add("killed" if not (tmp_path / "nodes" / "intervals.parquet").exists() else "too late")
            cluster.remove_node(doomed, allow_graceful=False)

        killer = threading.Thread(target=kill)
        killer.start()
        airbound.sweep(grid, out=tmp_path / "nodes", on="auto")
        killer.join()
        assert seen == {"killed"}
        assert sum(node["Alive"] for node in ray.nodes()) == 2
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert files(tmp_path / "nodes") == plain
