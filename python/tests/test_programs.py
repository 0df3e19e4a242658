"""Programs that nobody here wrote, over the simulated air (studies/emulate/programs.py). One that is not installed is skipped."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import airbound
import pytest
from airbound.testing import Emulate

FILE = Path(__file__).parents[2] / "studies/emulate/programs.py"
SPEC = importlib.util.spec_from_file_location("programs", FILE)
assert SPEC is not None
assert SPEC.loader is not None
programs: Any = importlib.util.module_from_spec(SPEC)
sys.modules["programs"] = programs
SPEC.loader.exec_module(programs)

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
    "quinn": lambda found: found["bytes"] == 10_000_000 and found["mbps"] < 51,
    "chromium": lambda found: found["caller frames"] > 5 and found["answerer frames"] > 5 and found["caller rtt_ms"] >= 16,
    "wireguard": lambda found: 1 < found["mbps"] < 50,
}


def test_each_program_is_tried() -> None:
    assert set(HOLDS) == set(programs.PROGRAMS)


@pytest.mark.parametrize("name", HOLDS)
def test_a_program_works_over_the_air(name: str, emulate: Emulate) -> None:
    net = emulate(airbound.Scenario.from_text(AIR, "air"))
    try:
        figures = programs.PROGRAMS[name](net, "laptop", 2)
    except programs.Lacking as lacking:
        pytest.skip(f"SKIPPED: {lacking}")
    assert HOLDS[name](figures), figures
    net.close()
    assert net.timing["packets"] > 20


def test_the_network_plan_of_a_quic_simulator() -> None:
    for tool in ("ip", "ethtool", "ping", "unshare"):
        if shutil.which(tool) is None:
            pytest.skip(f"SKIPPED: there is no {tool}")
    try:
        with airbound.emulate("hello"):
            pass
    except airbound.EmulationError as error:
        pytest.skip(f"SKIPPED: no emulation here: {error}")
    own = Path(sys.executable).with_name("airbound")
    words = [sys.executable, str(FILE.with_name("interop.py")), "--program", str(own), "--megabytes", "1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if "Operation not permitted" in done.stderr and os.geteuid() != 0:
        pytest.skip(f"SKIPPED: no namespaces here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ping" in done.stdout
