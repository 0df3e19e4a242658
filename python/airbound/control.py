"""The controllers on their own, driven by the caller's observations.

Each is the code that the simulator and the agent run. Parameters are keyword arguments named as in scenario files, with underscores
for hyphens, and strings with units: ``Wqm(limit="5 ms", max_packets=200)``. Times are whole nanoseconds, rates whole bits per second,
sizes bytes. An unknown or out-of-range parameter raises :class:`airbound.ArgumentError` with the allowed values. The same calls give the same results
on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from airbound import _native
from airbound._native import (
    DelayController,
    Grant,
    Law,
    Rate,
    RateAllocator,
    StreamDecision,
    StreamReceiver,
    StreamSender,
    Wqm,
)

__all__ = [
    "DelayController",
    "Grant",
    "Law",
    "PlumAllocation",
    "Rate",
    "RateAllocator",
    "StreamDecision",
    "StreamReceiver",
    "StreamSender",
    "Wqm",
    "plum_allocation",
]


class PlumAllocation(NamedTuple):
    """Bitrates of all participants of a session."""

    shares: list[tuple[int, int]]
    """Uplink and downlink rate of each participant, bit/s."""
    utility: float
    """(1 - rho) mean + rho fairness (Plum, equation 1), without a unit."""
    mean: float
    """The mean QoE, 0 to 1."""
    fairness: float
    """1 - 2 sigma of the QoE, 0 to 1 (equation 2)."""
    bound: float | None
    """A proven upper bound of the utility of any allocation, without a unit; ``None`` for the convex square, where local optima are compared."""


def plum_allocation(
    capacities: Sequence[int],
    weights: Sequence[float] | None = None,
    least_up: int = 100_000,
    **parameters: float | str,
) -> PlumAllocation:
    """The bitrates that maximise the utility of a session (Plum, Sec. III-C).

    ``capacities`` are the capacities of the participants' bottlenecks, both directions together, bit/s; ``weights`` the weights of their
    QoE, equal by default; ``least_up`` the lowest bitrate of an encoder. ``parameters`` are Plum's: ``rho``, ``qoe`` (``"linear"``,
    ``"logarithmic"``, ``"concave-square"``, ``"convex-square"``), ``max_bitrate``, ``compressibility``.

    Raises :class:`airbound.ArgumentError` for fewer than two participants and for values out of range.
    """
    solution = _native.plum_allocation(
        list(capacities), None if weights is None else list(weights), least_up, **parameters
    )
    return PlumAllocation(*solution)
