"""Gymnasium environments over any scenario with one network: docs/use/gym.md.

::

    import airbound.gym

    env = airbound.gym.WifiEnv("vr-congested", "queue", reward="frames")
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

    envs = airbound.gym.WifiVectorEnv(64, "vr-congested", "queue")    # all in this process, over its cores

``gymnasium.make("airbound.gym:airbound/Wifi-v0", scenario="vr-congested")`` and ``gymnasium.make_vec`` make the same. Needs the extra
``gym``: ``pip install 'airbound[gym]'``.
"""

from importlib.util import find_spec

if find_spec("gymnasium") is None:
    raise ImportError("airbound.gym needs gymnasium, which is not installed; to get it: pip install 'airbound[gym]'")

import gymnasium

from airbound._native import ActionError
from airbound.gym.environments import WifiEnv, WifiVectorEnv
from airbound.gym.rewards import GAUGES, REWARDS, Reward

__all__ = ["GAUGES", "REWARDS", "ActionError", "Reward", "WifiEnv", "WifiVectorEnv"]

gymnasium.register(
    "airbound/Wifi-v0", entry_point="airbound.gym:WifiEnv", vector_entry_point="airbound.gym:WifiVectorEnv"
)
