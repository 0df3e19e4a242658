"""The environments: one episode, and many in one process."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from airbound import _native
from airbound.gym.actions import Action, Actions
from airbound.gym.rewards import GAUGES, Floats, Reward, reward_of
from airbound.scenarios import AnyScenario, scenario_of
from airbound.schemes import AnyScheme, resolve


class _Episodes:
    """Episodes of one scenario, and the spaces of their actions and observations."""

    def __init__(
        self,
        episodes: int,
        scenario: AnyScenario | dict[str, Any],
        decision: str,
        scheme: AnyScheme | None,
        reward: str | Reward,
        flow: str | None,
        step_ms: float,
        threads: int,
    ) -> None:
        self.scenario = _native.Scenario.from_dict(scenario) if isinstance(scenario, dict) else scenario_of(scenario)
        if not (1 <= episodes <= 4096 and 1 <= threads <= 1024):
            raise _native.ScenarioError(
                f"there are {episodes} environments and {threads} threads; allowed are 1 to 4096 and 1 to 1024"
            )
        if not 1 <= step_ms <= 3_600_000:
            raise _native.ScenarioError(f"step_ms is {step_ms}; allowed is 1 to 3600000")
        _, asked = resolve(scheme, self.scenario)
        self.native = _native.Stepper(self.scenario, asked, decision, round(step_ms * 1e6), episodes, threads)
        self.flows = self.scenario.flows
        focus = flow or self.scenario.focus or next(iter(self.flows), "")
        if focus not in self.flows:
            raise _native.ScenarioError(f"no flow is named {focus}; allowed are {', '.join(self.flows)}")
        self.actions = Actions(decision, self.native.knobs)
        self.reward = reward_of(reward, self.flows.index(focus))
        self.space = gymnasium.spaces.Box(0.0, _native.Stepper.GREATEST, (len(self.flows), len(GAUGES)), np.float32)

    @staticmethod
    def check(seeds: Sequence[int | None]) -> None:
        for seed in seeds:
            if seed is not None and not (isinstance(seed, int) and 0 <= seed < 1 << 63):
                raise _native.ScenarioError(f"seed is {seed}; allowed is a whole number from 0 to {(1 << 63) - 1}")

    def begin(self, seeds: Sequence[int | None]) -> None:
        self.check(seeds)
        self.native.reset(list(seeds))

    def step(self, actions: Action, moves: NDArray[np.bool_]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        measured, more = self.native.step(self.actions.values(actions), moves.tobytes())
        observations = np.frombuffer(measured, np.float32).reshape(len(moves), len(self.flows), len(GAUGES))
        return observations.copy(), np.frombuffer(more, np.bool_)

    def summaries(self, episodes: Sequence[int]) -> list[dict[str, Any]]:
        return [json.loads(text) for text in self.native.finish(list(episodes))]


class WifiEnv(gymnasium.Env[NDArray[np.float32], Action]):
    """One episode: the run of a scenario in steps of ``step_ms``, with a decision before each.

    ``scenario``
        A :class:`airbound.Scenario`, the name of a shipped one, a file, or nested dicts. One network, without a session.
    ``decision``
        ``"queue"``, ``"rate"``, ``"sender"`` or ``"contention"``; ``knobs`` names what is decided, in the order of an action.
    ``scheme``
        The parts that are not decided, as for :func:`airbound.run`.
    ``reward``
        A name of :data:`REWARDS`, or a function of observations.
    ``flow``
        The focus flow of the reward; the scenario's, or its first, by default.
    ``step_ms``
        The length of a step, 1 ms to 1 h.

    An observation has a row for each flow of ``flows`` and a column for each of :data:`GAUGES`. An episode is truncated at the end of
    the scenario; ``info["summary"]`` is then the summary of the run. Raises :class:`airbound.ScenarioError` for a wrong argument, and
    :class:`ActionError` for an action out of range.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}  # type: ignore[misc]

    def __init__(
        self,
        scenario: AnyScenario | dict[str, Any] = "vr-congested",
        decision: str = "queue",
        *,
        scheme: AnyScheme | None = None,
        reward: str | Reward = "frames",
        flow: str | None = None,
        step_ms: float = 10.0,
        render_mode: str | None = None,
    ) -> None:
        self._episodes = _Episodes(1, scenario, decision, scheme, reward, flow, step_ms, 1)
        self.action_space = self._episodes.actions.space
        self.observation_space = self._episodes.space
        self.render_mode = render_mode
        self.flows = self._episodes.flows
        self.knobs = self._episodes.actions.names
        self._moves = np.ones(1, np.bool_)
        self._is_running = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins an episode. ``seed`` is that of the run; without one, the scenario's at first, then others that follow from it."""
        if seed is None and self._np_random is None:
            seed = self._episodes.scenario.seed
        self._episodes.check([seed])
        super().reset(seed=seed)
        self._episodes.begin([seed if seed is not None else int(self.np_random.integers(1 << 63))])
        self._is_running = True
        return np.zeros(self.observation_space.shape or (), np.float32), {}

    def step(self, action: Action) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Advances by a step of ``step_ms``; see the class for observation, reward and the end."""
        if not self._is_running:
            raise gymnasium.error.ResetNeeded("the episode has not begun, or has ended; reset() begins one")
        one = np.asarray(action)
        if one.shape != self.action_space.shape:
            raise _native.ActionError(f"an action has shape {one.shape}; allowed is {self.action_space.shape}")
        observations, more = self._episodes.step(one[np.newaxis], self._moves)
        reward = float(self._episodes.reward(observations)[0])
        self._is_running = bool(more[0])
        info = {} if self._is_running else {"summary": self._episodes.summaries([0])[0]}
        return observations[0], reward, False, not self._is_running, info


class WifiVectorEnv(VectorEnv[NDArray[np.float32], Action, NDArray[Any]]):
    """Many episodes of one scenario in one process, each with a seed of its own, advanced by one call over ``threads``.

    The other arguments are those of :class:`WifiEnv`. Results do not depend on the number of threads, one for each core by default.
    An episode that has ended begins anew at the next step, whose action is not used; with ``AutoresetMode.SAME_STEP`` at once, and
    ``infos`` has its last observation and info in ``final_obs`` and ``final_info``.
    """

    def __init__(
        self,
        num_envs: int = 64,
        scenario: AnyScenario | dict[str, Any] = "vr-congested",
        decision: str = "queue",
        *,
        scheme: AnyScheme | None = None,
        reward: str | Reward = "frames",
        flow: str | None = None,
        step_ms: float = 10.0,
        threads: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        allowed = (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP)
        self._mode = next((mode for mode in allowed if autoreset_mode in (mode, mode.value)), None)
        if self._mode is None:
            raise _native.ScenarioError(
                f"autoreset_mode is {autoreset_mode}; allowed are {' and '.join(mode.value for mode in allowed)}"
            )
        self.metadata = {"render_modes": [], "autoreset_mode": self._mode}
        threads = threads if threads is not None else min(os.cpu_count() or 1, 1024)
        self._episodes = _Episodes(num_envs, scenario, decision, scheme, reward, flow, step_ms, threads)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.single_action_space = self._episodes.actions.space
        self.single_observation_space = self._episodes.space
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.flows = self._episodes.flows
        self.knobs = self._episodes.actions.names
        self._ended = np.ones(num_envs, np.bool_)
        self._has_begun = False

    def reset(
        self, *, seed: int | Sequence[int] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begins all episodes, with the seeds from ``seed`` on, or those of a list; without one as :meth:`WifiEnv.reset`."""
        if seed is None and self._np_random is None:
            seed = self._episodes.scenario.seed
        if isinstance(seed, int | float):
            self._episodes.check([seed, seed + self.num_envs - 1])
            super().reset(seed=seed)
            seeds = [seed + number for number in range(self.num_envs)]
        else:
            seeds = self._drawn(self.num_envs) if seed is None else [int(one) for one in seed]
        if len(seeds) != self.num_envs:
            raise _native.ScenarioError(f"there are {len(seeds)} seeds; allowed are {self.num_envs}")
        self._episodes.begin(seeds)
        self._ended[:] = False
        self._has_begun = True
        return np.zeros(self.observation_space.shape or (), np.float32), {}

    def step(
        self, actions: Action
    ) -> tuple[NDArray[np.float32], NDArray[Any], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Advances all episodes by a step of ``step_ms``.

        Those that ended with the step before begin anew instead, with reward 0; with ``SAME_STEP`` those that end begin anew besides.
        """
        if not self._has_begun:
            raise gymnasium.error.ResetNeeded("no episode has begun; reset() begins all")
        actions = np.asarray(actions)
        if actions.shape != self.action_space.shape:
            raise _native.ActionError(f"actions have shape {actions.shape}; allowed is {self.action_space.shape}")
        moves = ~self._ended
        self._begin_anew()
        observations, more = self._episodes.step(actions, moves)
        rewards: Floats = np.where(moves, self._episodes.reward(observations), 0.0)
        ended = ~more
        infos: dict[str, Any] = {}
        if ended.any():
            summaries = self._of_ended(ended, self._episodes.summaries([int(number) for number in np.flatnonzero(ended)]))
            infos = {"summary": summaries, "_summary": ended}
        self._ended = ended.copy()
        if self._mode is AutoresetMode.SAME_STEP and infos:
            last = self._of_ended(ended, list(observations[ended]))
            infos = {"final_obs": last, "_final_obs": ended, "final_info": infos, "_final_info": ended}
            self._begin_anew()
            observations[ended] = 0
        return observations, rewards, np.zeros(self.num_envs, np.bool_), ended, infos

    def _of_ended(self, ended: NDArray[np.bool_], values: list[Any]) -> NDArray[Any]:
        """One value for each environment that has ended, and ``None`` for the others."""
        column = np.full(self.num_envs, None, object)
        for number, value in zip(np.flatnonzero(ended), values, strict=True):
            column[number] = value
        return column

    def _begin_anew(self) -> None:
        """Begins the episodes that have ended, with drawn seeds."""
        if self._ended.any():
            fresh = iter(self._drawn(int(self._ended.sum())))
            self._episodes.begin([next(fresh) if ended else None for ended in self._ended])
            self._ended[:] = False

    def _drawn(self, count: int) -> list[int]:
        """Seeds for so many episodes."""
        return [int(seed) for seed in self.np_random.integers(1 << 63, size=count)]
