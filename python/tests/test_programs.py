"""Programs of others over the simulated air (studies/peers). One that is not installed is skipped."""

import asyncio
import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "studies/peers"
sys.path.insert(0, str(FOLDER))
peers: Any = importlib.import_module("peers")
programs: Any = importlib.import_module("programs")

#: That of the environment in which the package is installed, else the one on the PATH.
AIRBOUND = shutil.which("airbound", path=str(Path(sys.executable).parent)) or shutil.which("airbound") or "airbound"

#: 8 ms of wire each way, and a wire of 50 Mb/s that no transport outruns; the channel is fast.
AIR = """
duration = "1 s"
wire = { rate = "50 Mbit/s", delay = "8 ms" }
[[station]]
name = "laptop"
[[flow]]
name = "call"
kind = "voip"
station = "laptop"
"""

#: What must hold of the figures of each program, on however slow a machine.
HOLDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "ping": lambda found: found["answered"] == 20 and found["mean_ms"] >= 16,
    "iperf3 up": lambda found: 1 < found["mbps"] < 51,
    "iperf3 down": lambda found: 1 < found["mbps"] < 51,
    "iperf3 both": lambda found: 1 < found["mbps"] < 51 and 1 < found["back_mbps"] < 51,
    "iperf3 udp": lambda found: 1 < found["mbps"] < 21,
    "curl": lambda found: found["http"] == "2" and found["bytes"] == 4_000_000 and found["mbps"] < 51,
    "ffmpeg": lambda found: 30 <= found["frames"] <= 60 == found["of"],
    "aioquic": lambda found: found["bytes"] == 10_000_000 and found["mbps"] < 51,
    "vr": lambda found: found["frames"] == 72 and found["incomplete"] < 36 and found["p50_ms"] > 8,
    "chromium": lambda found: found["caller frames"] > 5 and found["answerer frames"] > 5 and found["caller rtt_ms"] >= 16,
    "wireguard": lambda found: 1 < found["mbps"] < 50,
}


def test_each_program_is_tried() -> None:
    assert set(HOLDS) == set(programs.PROGRAMS)
    scripts = sorted(FOLDER.glob("*.py"))
    scripts.remove(FOLDER / "peers.py")
    for script in scripts:
        told, refused = (subprocess.run([sys.executable, script, word], capture_output=True, text=True) for word in ("--help", "--no-such"))
        assert told.returncode == 0 and f"\n  {script.name} " in told.stdout, told.stderr
        assert refused.returncode == 2 and refused.stderr.startswith(script.name) and refused.stderr.count("\n") == 1, refused.stderr


@pytest.mark.parametrize("name", HOLDS)
def test_a_program_works_over_the_air(name: str, tmp_path: Path) -> None:
    (tmp_path / "air.toml").write_text(AIR)
    try:
        figures, timing = peers.emulate(programs.PROGRAMS[name], tmp_path / "air.toml", "laptop", 2, AIRBOUND)
    except peers.Missing as missing:
        pytest.skip(f"SKIPPED: {missing}")
    assert HOLDS[name](figures), figures
    assert timing["packets"] > 20


def test_the_network_plan_of_a_quic_simulator(tmp_path: Path) -> None:
    (tmp_path / "air.toml").write_text(AIR)
    try:
        peers.emulate(programs.PROGRAMS["ping"], tmp_path / "air.toml", "laptop", 1, AIRBOUND)
    except peers.Missing as missing:
        pytest.skip(f"SKIPPED: {missing}")
    words = [sys.executable, str(FOLDER / "interop.py"), "--airbound", AIRBOUND, "--megabytes", "1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if "SKIPPED" in done.stdout and "| ping" not in done.stdout:
        pytest.skip(done.stdout.strip())
    if "Operation not permitted" in done.stderr and os.geteuid() != 0:
        pytest.skip(f"SKIPPED: no namespaces here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| ping |" in done.stdout


def test_a_call_of_aiortc_over_a_link() -> None:
    """Frames arrive through the air, none before its wire of 8 ms, and the receiver asks for a rate."""
    air: Any = importlib.import_module("aiortc_on_air")
    try:
        figures = asyncio.run(air.call("home-quiet", 3))
    except peers.Missing as missing:
        pytest.skip(f"SKIPPED: {missing}")
    assert figures.packets > 20 and figures.p50 >= 8, figures
    assert figures.rate > 50 and figures.lost < 1, figures
