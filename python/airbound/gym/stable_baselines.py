"""Many environments as Stable-Baselines3 takes them: docs/use/gym.md. Needs the package ``stable-baselines3``, which brings torch.

::

    from airbound.gym.stable_baselines import WifiVecEnv
    from stable_baselines3 import PPO

    PPO("MlpPolicy", WifiVecEnv(16, "vr-congested", "queue", step_ms=50)).learn(100_000)
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

if find_spec("stable_baselines3") is None:
    raise ImportError(
        "airbound.gym.stable_baselines needs stable-baselines3, which is not installed; to get it: pip install stable-baselines3"
    )

import numpy as np
from gymnasium.spaces import MultiDiscrete
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv

from airbound.gym.environments import WifiVectorEnv


class WifiVecEnv(VecEnv):  # type: ignore[misc]
    """The episodes of a :class:`airbound.gym.WifiVectorEnv`, whose arguments it takes, in one process over its cores.

    An episode that has ended begins anew at once; its info has the ``summary`` of the run. ``seed`` holds for the next reset: the
    episodes have the seeds from it on, later ones follow from it. Discrete actions count from 0, as Stable-Baselines3 has them: 0 is
    the least value. Attributes are those of all episodes, and none has methods.
    """

    def __init__(self, num_envs: int = 64, *args: Any, **settings: Any) -> None:
        self.envs = WifiVectorEnv(num_envs, *args, autoreset_mode=AutoresetMode.SAME_STEP, **settings)
        self.render_mode = None
        space = self.envs.single_action_space
        self._least: Any = 0
        if isinstance(space, MultiDiscrete):
            self._least, space = space.start, MultiDiscrete(space.nvec)
        super().__init__(num_envs, self.envs.single_observation_space, space)

    def reset(self) -> np.ndarray:
        observations, _ = self.envs.reset(seed=self._seeds[0])
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions + self._least

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        observations, rewards, _, ended, infos = self.envs.step(self._actions)
        each: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for number in np.flatnonzero(ended):
            each[number] = {
                "terminal_observation": infos["final_obs"][number],
                "TimeLimit.truncated": True,
                "summary": infos["final_info"]["summary"][number],
            }
        return observations, rewards.astype(np.float32), ended, each

    def close(self) -> None:
        self.envs.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        if attr_name == "render_mode":
            return [None for _ in self._get_indices(indices)]
        return [getattr(self.envs, attr_name) for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        raise AttributeError(f"{attr_name} cannot be set; make another WifiVecEnv")

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        raise AttributeError(f"an episode has no method {method_name}")

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]
