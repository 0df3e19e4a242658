"""Runs and comparisons: tables, plots, reports, determinism, interruption."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import airbound
import polars as pl
import pytest
from airbound.progress import Progress
from matplotlib.figure import Figure

from conftest import short


def test_summary_and_tables_agree(result: airbound.RunResult) -> None:
    assert result.seed == 3 and result.label == "linux" and result.summary["scenario"] == "vr-congested"
    focus = result.scenario.focus
    flow = next(flow for flow in result.summary["flows"] if flow["name"] == focus)
    warm_up = result.scenario.warm_up_ns
    packets = result.packets.filter((pl.col("flow_name") == focus) & (pl.col("sent_ns") >= warm_up))
    delivered = packets.filter(pl.col("fate") == 0).height
    assert delivered == flow["packets"]["delivered"] > 100
    assert result.latency_ms().len() >= delivered
    assert (result.packets["arrived_ns"] - result.packets["sent_ns"]).min() > 0  # type: ignore[operator]


def test_every_table_is_a_data_frame(result: airbound.RunResult) -> None:
    for frame, column in (
        (result.packets, "station_name"),
        (result.txops, "transmitter_name"),
        (result.frames, "flow_name"),
        (result.series, "flow_name"),
        (result.distributions, "flow_name"),
        (result.flows, "latency_p99_ms"),
    ):
        assert isinstance(frame, pl.DataFrame) and frame.height > 0 and frame[column].null_count() < frame.height
    assert result.txops.schema["start_ns"] == pl.Int64
    assert result.performance["events"] > 0


def test_the_same_seed_gives_the_same_rows(result: airbound.RunResult) -> None:
    again = airbound.run(short("vr-congested"), "linux", seed=3)
    other = airbound.run(short("vr-congested"), "linux", seed=4)
    assert again.packets.equals(result.packets) and again.summary == result.summary
    assert not other.packets.equals(result.packets)


def test_python_and_command_write_the_same_bytes(tmp_path: Path) -> None:
    airbound.run(short(), "pie", out=tmp_path / "python")
    arguments = ["run", "hello", "--scheme", "pie", "--set", "duration=1 s", "--set", "warm-up=100 ms", "--quiet"]
    command = [sys.executable, "-m", "airbound", *arguments, "--out", str(tmp_path / "command")]
    subprocess.run(command, check=True, timeout=60)
    for name in ("summary.json", "packets.parquet", "txops.parquet", "series.parquet", "scenario.toml"):
        assert (tmp_path / "python" / name).read_bytes() == (tmp_path / "command" / name).read_bytes(), name


def test_a_kept_run_is_loaded_again(tmp_path: Path) -> None:
    kept = airbound.run(short(), out=tmp_path / "run")
    loaded = airbound.load(tmp_path / "run")
    assert isinstance(loaded, airbound.RunResult)
    assert loaded.summary == kept.summary and loaded.folder == tmp_path / "run"
    with pytest.raises(airbound.RunError, match="neither a run nor a comparison"):
        airbound.load(tmp_path)


def test_temporary_results_are_removed_with_their_last_reference() -> None:
    comparison = airbound.compare(short(), ["fifo"])
    folder, run = comparison.folder, comparison.runs[0]
    del comparison
    assert run.packets.height > 0
    del run
    assert not folder.exists()


def test_a_page_is_not_written_over_a_file_of_another_kind(tmp_path: Path) -> None:
    letter = tmp_path / "letter.html"
    letter.write_text("Dear", encoding="utf-8")
    comparison = airbound.compare(short(), ["fifo"])
    for one in (comparison, comparison.runs[0]):
        with pytest.raises(airbound.RunError, match="letter.html is not an earlier report of airbound"):
            one.report(letter)
        assert letter.read_text(encoding="utf-8") == "Dear"
        assert one.report(tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_without_packet_log_packets_raise() -> None:
    run = airbound.run(short(), log_packets=False)
    assert run.series.height > 0
    with pytest.raises(airbound.RunError, match="has no packets; they need log_packets=True"):
        run.packets  # noqa: B018
    with pytest.raises(KeyError, match="there is no flow nobody"):
        run.plot_latency("nobody")


def test_a_folder_of_other_files_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(airbound.RunError, match="is not empty and not a run of Airbound"):
        airbound.run(short(), out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


def test_the_air_is_captured(tmp_path: Path) -> None:
    airbound.run(short(), pcap=tmp_path / "air.pcap")
    assert (tmp_path / "air.pcap").read_bytes()[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")


def test_a_comparison_contains_its_runs(comparison: airbound.Comparison, tmp_path: Path) -> None:
    assert comparison.schemes == ["fifo", "linux"] and len(comparison) == 4 == len(list(comparison))
    assert comparison.scenario == "vr-congested" and comparison.baseline == "linux"
    assert [run.seed for run in comparison["fifo"]] == [1, 2]
    assert comparison.table["scheme"].to_list() == ["fifo", "linux"]
    assert comparison.flows.height == sum(len(run.summary["flows"]) for run in comparison)
    assert "fifo" in comparison.to_text(80) and max(map(len, comparison.to_text(80).splitlines())) <= 80
    page = comparison.report(tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>") or "<html" in page[:200]
    verdict = comparison.verdict
    assert set(verdict) == {"advice", "choice", "bottleneck", "health"}
    assert verdict["bottleneck"]["flow"] == comparison.focus
    assert verdict["bottleneck"]["sentence"] in " ".join(comparison.to_text(1000).split())
    alone = comparison["linux"][0].verdict
    assert set(alone) == set(verdict) and alone["bottleneck"]["scheme"] == "linux"
    with pytest.raises(KeyError, match="pie was not compared; schemes are fifo, linux"):
        comparison["pie"]
    loaded = airbound.load(comparison.folder)
    assert isinstance(loaded, airbound.Comparison) and loaded.schemes == comparison.schemes


def test_flows_of_one_entry_are_a_group() -> None:
    scenario = airbound.Scenario.from_dict({
        "duration": "1 s",
        "focus": "web",
        "station": [{"name": "hall", "count": 20}, {"name": "desk"}],
        "flow": [
            {"name": "web", "kind": "cbr", "station": "hall", "rate": "500 kbit/s", "count": 2},
            {"name": "call", "kind": "voip", "station": "desk"},
        ],
    })
    comparison = airbound.compare(scenario, ["fifo", "linux"], seeds=2)
    groups = comparison.groups
    rows = [("fifo", "web", 40), ("fifo", "call", 1), ("linux", "web", 40), ("linux", "call", 1)]
    assert list(groups.select("scheme", "group", "members").iter_rows()) == rows
    flows = comparison.flows.filter((pl.col("scheme") == "linux") & pl.col("name").str.starts_with("web"))
    p95 = flows["latency_p95_ms"].sort()
    row = groups.row(2, named=True)
    assert row["latency_p95_ms"] == p95.median()
    # 80 values: the four lowest and highest lie outside.
    assert (row["latency_p95_ms_low"], row["latency_p95_ms_high"]) == (p95[4], p95[-5])
    text = comparison.to_text(200)
    assert "web (×40)" in text and f"{row['goodput_mbps']:.3f}" in text


def test_the_number_of_jobs_changes_nothing(comparison: airbound.Comparison) -> None:
    alone = airbound.compare(short("vr-congested"), ["fifo", "linux"], seeds=2, jobs=1)
    assert alone.flows.equals(comparison.flows)


def test_plots_are_figures(result: airbound.RunResult, comparison: airbound.Comparison, tmp_path: Path) -> None:
    figures = [
        result.plot_latency(),
        result.plot_timeline(),
        result.plot_airtime(),
        comparison.plot_latency(),
        comparison.plot_percentiles(),
    ]
    for number, figure in enumerate(figures):
        assert isinstance(figure, Figure) and figure.axes
        figure.savefig(tmp_path / f"{number}.png")
        assert figure._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]
    tails = comparison.plot_latency().axes[0].lines
    assert [line.get_label() for line in tails] == ["fifo", "linux"]
    later = tails[0].get_ydata()
    assert all(one >= other for one, other in zip(later, later[1:])), "a complementary distribution falls"  # type: ignore[arg-type, index]
    assert result.report(tmp_path / "run.html").stat().st_size > 10_000


def test_a_session_runs_too() -> None:
    run = airbound.run(short("vr-room"))
    assert run.label in ("plain", "last-n", "tack", "plum") and run.summary["scheme"]["session"] == run.label
    assert run.flows.height >= 4 and run.plot_latency().axes
    # One row per packet and access link.
    assert run.packets.height > 100


def test_the_lock_is_released() -> None:
    ticks = 0
    done = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not done.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    run = airbound.run(short("vr-congested").set("duration", "20 s"), log_packets=False)
    done.set()
    thread.join()
    assert ticks > 100 * run.performance["wall_s"], "another thread runs during the simulation"


def test_progress_reaches_the_bar() -> None:
    shares: list[float] = []
    with Progress("test", True) as shown:
        assert shown.callback is not None
        for share in (0.0, 0.5, 1.0):
            shown.callback(share)
            shares.append(shown._bar.n)
    assert shares == [0, 500, 1000]
    assert Progress("test", False).callback is None


def test_ctrl_c_ends_a_run_and_removes_its_files(tmp_path: Path) -> None:
    script = (
        "import airbound, sys\n"
        "scenario = airbound.Scenario.shipped('vr-congested').set('duration', '3600 s')\n"
        "print('begun', flush=True)\n"
        "try:\n"
        f"    airbound.run(scenario, out={str(tmp_path / 'run')!r})\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(42)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() == b"begun\n"
    time.sleep(1)
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=30) == 42
    child.stdout.close()
    left = os.listdir(tmp_path / "run") if (tmp_path / "run").exists() else []
    assert left == []


def test_the_module_is_the_command(tmp_path: Path) -> None:
    source = str(Path(airbound.__file__).parents[1])
    environment = os.environ | {"PYTHONPATH": source}

    def airbound_command(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "airbound", *arguments], capture_output=True, text=True, timeout=60, cwd=tmp_path, env=environment
        )

    listed = airbound_command("list", "scenarios", "--json")
    assert listed.returncode == 0
    assert [(entry["name"], entry["title"]) for entry in json.loads(listed.stdout)["scenarios"]] == airbound.shipped()
    wrong = airbound_command("run", "nowhere")
    assert wrong.returncode == 2 and wrong.stderr.startswith('airbound: there is no shipped scenario "nowhere"')
    lab = airbound_command("lab", "run", "lab-hello")
    assert lab.returncode == 2 and "make install" in lab.stderr
    assert airbound.__version__ in airbound_command("--version").stdout or airbound.__version__ == "0+unknown"
