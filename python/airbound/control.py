"""The controllers by themselves, driven with observations of one's own.

Each is the same code as in the simulator and on an access point. Parameters are keyword arguments with the names of the scenario
files, underscores for hyphens, and units in texts: ``Wqm(limit="5 ms", max_packets=200)``. Times are whole nanoseconds, rates whole
bits per second, sizes bytes. A parameter that is unknown or out of its range raises ``ValueError`` with what is allowed. The same
calls give the same answers on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from airbound import _native
from airbound._native import DelayController, Grant, Law, Rate, RateAllocator, Wqm

__all__ = [
    "DelayController",
    "Grant",
    "Law",
    "PlumAllocation",
    "Rate",
    "RateAllocator",
    "Wqm",
    "plum_allocation",
]


class PlumAllocation(NamedTuple):
    """Bitrates for every participant of a session."""

    shares: list[tuple[int, int]]
    """For each participant the rate that it sends and the rate that it is sent, bit/s."""
    utility: float
    """(1 - rho) mean + rho fairness (Plum, equation 1)."""
    mean: float
    """The mean QoE, 0 to 1."""
    fairness: float
    """1 - 2 sigma of the QoE, 0 to 1 (equation 2)."""
    bound: float | None
    """No allocation has a utility above this, which is proven; ``None`` for the convex square, where local optima are compared."""


def plum_allocation(
    capacities: Sequence[int],
    weights: Sequence[float] | None = None,
    least_up: int = 100_000,
    **parameters: float | str,
) -> PlumAllocation:
    """The bitrates that maximise the utility of a session (Plum, Sec. III-C).

    ``capacities`` are what both directions of each participant's bottleneck carry together, bit/s; ``weights`` what its QoE counts,
    the same for all unless given; ``least_up`` what an encoder cannot go below. ``parameters`` are Plum's: ``rho``, ``qoe``
    (``"linear"``, ``"logarithmic"``, ``"concave-square"``, ``"convex-square"``), ``max_bitrate``, ``compressibility``.

    Raises ``ValueError`` for fewer than two participants and for numbers out of range.
    """
    solution = _native.plum_allocation(
        list(capacities), None if weights is None else list(weights), least_up, **parameters
    )
    return PlumAllocation(*solution)
