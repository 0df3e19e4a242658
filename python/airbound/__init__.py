"""Simulates Wi-Fi and compares schemes that bound its latency.

First steps::

    import airbound

    result = airbound.run("vr-congested", scheme="linux")
    result.summary["flows"][0]["latency_ms"]["p99"]   # ms
    result.packets                                     # a polars data frame, one row per packet
    result.plot_latency()                              # a matplotlib figure

    airbound.compare("vr-congested", ["fifo", "linux", "last-pq"]).table

    with airbound.emulate("vr-congested", scheme="last-pq") as net:    # real programs, on Linux
        net.station("headset").run(["ping", "-c", "3", "server"])

Names of columns and keys end in their units (``_ns``, ``_ms``, ``_mbps``, ``_bytes``; see docs/reference/file-formats.md). The same
scenario, scheme and seed give the same rows on every machine.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from airbound import control
from airbound._native import (
    ArgumentError,
    Arrival,
    Link,
    Rate,
    RunError,
    Scenario,
    ScenarioError,
    SchemeError,
    StreamReport,
    catalogue,
    places,
    shipped,
)
from airbound.schemes import BitrateRule, Packet, QueueScheme, RateScheme, Scheme, SenderScheme

if TYPE_CHECKING:
    from airbound.arenas import ArenaResult, arena
    from airbound.emulation import Emulation, EmulationError, Host, emulate
    from airbound.results import Comparison, RunResult, load
    from airbound.runs import compare, run
    from airbound.sweeps import SweepResult, sweep

    __version__: str

__all__ = [
    "ArenaResult",
    "ArgumentError",
    "Arrival",
    "BitrateRule",
    "Comparison",
    "Emulation",
    "EmulationError",
    "Host",
    "Link",
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
    "StreamReport",
    "SweepResult",
    "__version__",
    "arena",
    "catalogue",
    "compare",
    "control",
    "emulate",
    "load",
    "places",
    "run",
    "shipped",
    "sweep",
]

#: Names that need polars and matplotlib, whose import takes most of a second; the command does not need them.
_LAZY = {
    "ArenaResult": "airbound.arenas",
    "arena": "airbound.arenas",
    "Comparison": "airbound.results",
    "Emulation": "airbound.emulation",
    "EmulationError": "airbound.emulation",
    "Host": "airbound.emulation",
    "RunResult": "airbound.results",
    "SweepResult": "airbound.sweeps",
    "load": "airbound.results",
    "compare": "airbound.runs",
    "emulate": "airbound.emulation",
    "run": "airbound.runs",
    "sweep": "airbound.sweeps",
}


if not TYPE_CHECKING:  # a type checker reports undefined names this way

    def __getattr__(name: str) -> object:
        if name in _LAZY:
            value: object = getattr(import_module(_LAZY[name]), name)
        elif name == "__version__":
            from importlib.metadata import PackageNotFoundError, version

            try:
                value = version("airbound")
            except PackageNotFoundError:  # imported from the source tree, not installed
                value = "0+unknown"
        else:
            raise AttributeError(f"module airbound has no attribute {name}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
