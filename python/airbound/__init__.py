"""Simulates Wi-Fi, and compares what keeps its latency bounded.

First steps::

    import airbound

    result = airbound.run("vr-congested", scheme="linux")
    result.summary["flows"][0]["latency_ms"]["p99"]   # ms
    result.packets                                     # a polars data frame, one row a packet
    result.plot_latency()                              # a matplotlib figure

    airbound.compare("vr-congested", ["fifo", "linux", "last-pq"]).table

Names of columns and keys carry their units (``_ns``, ``_ms``, ``_mbps``, ``_bytes``), as docs/file-formats.md says. The same
scenario, scheme and seed give the same rows on every machine.
"""

from importlib.metadata import PackageNotFoundError, version

from airbound import control
from airbound._native import Rate, RunError, Scenario, ScenarioError, SchemeError, shipped
from airbound.results import Comparison, RunResult, load
from airbound.runs import compare, run
from airbound.schemes import Packet, QueueScheme, RateScheme, Scheme, SenderScheme
from airbound.sweeps import SweepResult, sweep

try:
    __version__ = version("airbound")
except PackageNotFoundError:  # imported from the source tree without being installed
    __version__ = "0+unknown"

__all__ = [
    "Comparison",
    "Packet",
    "QueueScheme",
    "Rate",
    "RateScheme",
    "RunError",
    "RunResult",
    "Scenario",
    "ScenarioError",
    "Scheme",
    "SchemeError",
    "SenderScheme",
    "SweepResult",
    "__version__",
    "compare",
    "control",
    "load",
    "run",
    "shipped",
    "sweep",
]
