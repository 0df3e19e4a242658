"""Rewards: functions of what a step measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from airbound import _native

Floats: TypeAlias = NDArray[np.floating[Any]]

#: The columns of an observation, whose rows are the flows. Names end in their units; a latency, and a PHY rate, is 0 in a step without any.
GAUGES: tuple[str, ...] = tuple(_native.Stepper.gauges())

#: A reward: takes observations, ``(..., flows, gauges)``, and returns a number for each, ``(...)``.
Reward: TypeAlias = Callable[[Floats], Floats]


def gauge(observation: Floats, name: str) -> Floats:
    """One column of observations, ``(..., flows)``, in the unit at the end of its name."""
    column: Floats = observation[..., GAUGES.index(name)]
    return column


def goodput(flow: int) -> Reward:
    """Goodput of all flows, Mb/s."""
    return lambda observation: gauge(observation, "goodput_mbps").sum(-1)


def fairness(flow: int) -> Reward:
    """Mean over flows of the logarithm of 1 and the goodput in Mb/s: proportional fairness."""
    return lambda observation: np.log1p(gauge(observation, "goodput_mbps")).mean(-1)


def latency(flow: int) -> Reward:
    """Less the largest latency of the focus flow's packets that arrived, ms."""
    return lambda observation: -gauge(observation, "latency_max_ms")[..., flow]


def frames(flow: int) -> Reward:
    """Frames of the focus flow that arrived in time, less those late, lost and skipped."""
    return lambda observation: (gauge(observation, "frames_in_time") - gauge(observation, "frames_missed"))[..., flow]


#: Rewards by name; each takes the index of the focus flow.
REWARDS: dict[str, Callable[[int], Reward]] = {
    "goodput": goodput,
    "fairness": fairness,
    "latency": latency,
    "frames": frames,
}


def reward_of(reward: str | Reward, flow: int) -> Reward:
    """The reward of an argument. Raises :class:`airbound.ScenarioError` for an unknown name."""
    if callable(reward):
        return reward
    if reward not in REWARDS:
        raise _native.ScenarioError(f"reward is {reward}; allowed are {', '.join(REWARDS)} and a function of observations")
    return REWARDS[reward](flow)
