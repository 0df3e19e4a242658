"""Action spaces, and the values that actions stand for."""

from __future__ import annotations

from typing import Any, TypeAlias

import gymnasium
import numpy as np
from numpy.typing import NDArray

from airbound._native import ActionError

Action: TypeAlias = NDArray[Any]

#: Decisions whose values have units and span decades: -1 is the least value, 1 the greatest, and the scale is logarithmic.
CONTINUOUS = ("queue", "sender")


class Actions:
    """The space of one environment's actions, from the name, the least and the greatest value of each knob."""

    def __init__(self, decision: str, knobs: list[tuple[str, int, int]]) -> None:
        self.names = [name for name, _, _ in knobs]
        self._least = np.array([least for _, least, _ in knobs], np.int64)
        self._most = np.array([most for _, _, most in knobs], np.int64)
        self.is_continuous = decision in CONTINUOUS
        unit: Action = np.ones(len(knobs))
        self._low: Action = -unit if self.is_continuous else self._least
        self._high: Action = unit if self.is_continuous else self._most
        self.space: gymnasium.Space[Action] = (
            gymnasium.spaces.Box(-1.0, 1.0, (len(knobs),), np.float32)
            if self.is_continuous
            else gymnasium.spaces.MultiDiscrete(self._most - self._least + 1, start=self._least)
        )

    def values(self, actions: Action) -> bytes:
        """The values of the actions of all environments, ``(environments, knobs)``, for the native module.

        Raises :class:`ActionError` for one out of range.
        """
        if not self.is_continuous and actions.dtype.kind not in "iu":
            raise ActionError(f"an action is of type {actions.dtype}; allowed are whole numbers")
        allowed = (actions >= self._low) & (actions <= self._high)
        if not allowed.all():
            environment, knob = np.argwhere(~allowed)[0]
            raise ActionError(
                f"{self.names[knob]} of action {environment} is {actions[environment, knob]}; "
                f"allowed is {self._low[knob]:g} to {self._high[knob]:g}"
            )
        if not self.is_continuous:
            return actions.astype(np.uint64).tobytes()
        share = (actions.astype(np.float64) + 1) / 2
        values = self._least * (self._most / self._least) ** share
        return np.clip(np.rint(values), self._least, self._most).astype(np.uint64).tobytes()
