"""Environments of Gymnasium: the interface's own check, spaces, rewards, many at once, wrong input."""

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import airbound

gymnasium = pytest.importorskip("gymnasium", reason="SKIPPED: no gymnasium; to get it: pip install 'airbound[gym]'")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from airbound import gym  # noqa: E402

DECISIONS = ("queue", "rate", "sender", "contention")
#: A downlink and an uplink of two stations, 0.2 s of 10 ms.
SMALL: dict[str, Any] = {
    "duration": "200 ms",
    "warm-up": "0 s",
    "station": [{"name": "a"}, {"name": "b"}],
    "flow": [
        {"name": "down", "kind": "tcp", "station": "a"},
        {"name": "up", "kind": "cbr", "station": "b", "rate": "20 Mbit/s", "direction": "up"},
    ],
}


@pytest.mark.parametrize("decision", DECISIONS)
def test_gymnasium_accepts_each_decision(decision: str) -> None:
    env = gymnasium.make("airbound.gym:airbound/Wifi-v0", scenario=SMALL, decision=decision, reward="goodput")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def played(env: gym.WifiEnv, seed: int, action: Any) -> tuple[list[Any], float, dict[str, Any]]:
    """Observations, return and last info of an episode of one action."""
    env.reset(seed=seed)
    observations: list[Any] = []
    info: dict[str, Any] = {}
    total, ended = 0.0, False
    while not ended:
        observation, reward, terminated, ended, info = env.step(action)
        assert not terminated and env.observation_space.contains(observation)
        observations.append(observation)
        total += reward
    return observations, total, info


def test_an_episode_is_the_run_in_steps() -> None:
    env = gym.WifiEnv(SMALL, "contention", reward="goodput")
    assert env.knobs == ["access-point.cw-min-exponent", "access-point.aifsn", "stations.cw-min-exponent", "stations.aifsn"]
    observations, total, info = played(env, 3, np.array([4, 3, 4, 3]))
    assert len(observations) == 20
    summary = info["summary"]
    assert (summary["seed"], [flow["name"] for flow in summary["flows"]]) == (3, env.flows)
    goodput = np.mean([gym.rewards.gauge(one, "goodput_mbps") for one in observations], axis=0)
    np.testing.assert_allclose(goodput, [flow["goodput_mbps"] for flow in summary["flows"]], rtol=1e-4)
    assert total == pytest.approx(20 * goodput.sum(), rel=1e-4)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.array([4, 3, 4, 3]))
    again = played(env, 3, np.array([4, 3, 4, 3]))[0]
    assert np.array_equal(observations, again), "the same seed, the same episode"
    assert not np.array_equal(observations, played(env, 4, np.array([4, 3, 4, 3]))[0])


def test_an_action_counts() -> None:
    env = gym.WifiEnv(SMALL, "sender", reward="goodput")
    slow, fast = (played(env, 1, np.array([value]))[1] for value in (-0.5, 0.25))
    assert fast > slow
    rate = gym.WifiEnv(SMALL, "rate")
    assert isinstance(rate.action_space, gymnasium.spaces.MultiDiscrete)
    lowest, highest = np.zeros(2, np.int64), rate.action_space.nvec - 1
    assert played(rate, 1, highest)[2]["summary"]["flows"][0]["goodput_mbps"] > 2 * (
        played(rate, 1, lowest)[2]["summary"]["flows"][0]["goodput_mbps"]
    )


def test_rewards_are_functions_of_observations() -> None:
    observation = np.zeros((2, len(gym.GAUGES)), np.float32)
    for name, row in {"goodput_mbps": (9, 1), "latency_max_ms": (5, 7), "frames_in_time": (0, 3), "frames_missed": (0, 1)}.items():
        observation[:, gym.GAUGES.index(name)] = row
    rewards = {name: float(make(1)(observation)) for name, make in gym.REWARDS.items()}
    assert rewards == pytest.approx(
        {"goodput": 10, "fairness": (np.log(10) + np.log(2)) / 2, "latency": -7, "frames": 2}, rel=1e-6
    )
    env = gym.WifiEnv(SMALL, "sender", reward=lambda observations: observations[..., 0, 0] * 0 + 7)
    env.reset(seed=1)
    assert env.step(np.zeros(1))[1] == 7


def stepped(threads: int) -> list[Any]:
    """Everything that 64 environments return over more than an episode, with actions by chance."""
    envs = gym.WifiVectorEnv(64, SMALL, "queue", reward="fairness", threads=threads)
    envs.action_space.seed(5)
    envs.reset(seed=10)
    results = []
    for _ in range(23):
        observations, rewards, _, truncated, infos = envs.step(envs.action_space.sample())
        results += [observations, rewards, truncated, [one and one["flows"] for one in infos.get("summary", [])]]
    return results


def test_64_environments_do_not_depend_on_threads() -> None:
    one, three = stepped(1), stepped(3)
    for first, second in zip(one, three, strict=True):
        assert np.array_equal(first, second) if isinstance(first, np.ndarray) else first == second
    assert one[19 * 4 + 2].all() and not one[20 * 4 + 2].any(), "all end with step 20, and begin anew"
    assert not one[20 * 4].any() and one[21 * 4].any()


def test_one_of_many_is_as_one_alone() -> None:
    envs = gymnasium.make_vec("airbound.gym:airbound/Wifi-v0", num_envs=3, scenario=SMALL, decision="queue", threads=2)
    assert isinstance(envs, gym.WifiVectorEnv)
    actions = np.array([[0, 0], [-0.5, 0.5], [1, -1]], np.float32)
    envs.reset(seed=[7, 8, 9])
    together = [envs.step(actions)[0] for _ in range(20)]
    for number, seed in enumerate((7, 8, 9)):
        alone = played(gym.WifiEnv(SMALL, "queue"), seed, actions[number])[0]
        assert np.array_equal([one[number] for one in together], alone)


def test_an_episode_may_begin_anew_in_the_step_that_ends_it() -> None:
    envs = gym.WifiVectorEnv(2, SMALL, "queue", reward="goodput", autoreset_mode="SameStep")
    assert envs.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
    assert gym.WifiVectorEnv(2, SMALL).metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.NEXT_STEP
    envs.reset(seed=[7, 8])
    actions = np.zeros((2, 2), np.float32)
    for _ in range(19):
        assert not envs.step(actions)[4]
    observations, rewards, _, truncated, infos = envs.step(actions)
    assert truncated.all() and rewards.all() and not observations.any(), "those of the episode that has begun"
    for number, seed in enumerate((7, 8)):
        alone, _, info = played(gym.WifiEnv(SMALL, "queue"), seed, actions[number])
        assert np.array_equal(infos["final_obs"][number], alone[-1])
        assert infos["final_info"]["summary"][number]["flows"] == info["summary"]["flows"]
    for number in range(20):
        observations, _, _, truncated, _ = envs.step(actions)
        assert truncated.all() == (number == 19), "no step is lost"
        assert number or observations.any(), "the first action of the next episode counts"


def test_stable_baselines3_takes_the_environments() -> None:
    pytest.importorskip("stable_baselines3", reason="SKIPPED: no stable-baselines3; to get it: pip install stable-baselines3")
    from airbound.gym.stable_baselines import WifiVecEnv
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_checker import check_env as check
    from stable_baselines3.common.vec_env import DummyVecEnv

    for decision in DECISIONS:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message="Your observation  has an unconventional shape")  # rows of flows
            warnings.filterwarnings("ignore", message=".*with a non-zero start")  # AIFSN; WifiVecEnv counts from 0
            check(gym.WifiEnv(SMALL, decision, reward="goodput"))

    # Episode by episode as its own adapter of single environments has them.
    ours = WifiVecEnv(2, SMALL, "queue", reward="goodput")
    theirs = DummyVecEnv([lambda: gym.WifiEnv(SMALL, "queue", reward="goodput")] * 2)
    for envs in (ours, theirs):
        envs.seed(7)
    assert np.array_equal(ours.reset(), theirs.reset())
    actions = np.array([[0, 0.5], [1, -1]], np.float32)
    for _ in range(20):
        ours_step, theirs_step = ours.step(actions), theirs.step(actions)
        for one, other in zip(ours_step[:3], theirs_step[:3], strict=True):
            np.testing.assert_array_equal(one, other)
    assert ours_step[2].all()
    for one, other in zip(ours_step[3], theirs_step[3], strict=True):
        assert np.array_equal(one.pop("terminal_observation"), other.pop("terminal_observation"))
        assert one["TimeLimit.truncated"] and one["summary"]["flows"] == other["summary"]["flows"]
    assert ours.get_attr("knobs", [1]) == [["a", "b"]]

    contention = WifiVecEnv(2, SMALL, "contention", reward="goodput")
    assert contention.action_space == gymnasium.spaces.MultiDiscrete([11, 15, 11, 15])
    contention.reset()
    for action in ([0, 0, 0, 0], [10, 14, 10, 14]):
        contention.step(np.array([action] * 2))

    for envs in (ours, contention):
        model = PPO("MlpPolicy", envs, n_steps=16, batch_size=16, n_epochs=1, seed=1, device="cpu").learn(64)
        assert model.num_timesteps == 64


def test_without_stable_baselines3_the_package_is_named() -> None:
    text = (
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'stable_baselines3' else find(name, package)\n"
        "import airbound.gym.stable_baselines"
    )
    failed = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert "needs stable-baselines3, which is not installed; to get it: pip install stable-baselines3" in failed.stderr


def test_a_scheme_in_python_is_called_and_its_fault_raised() -> None:
    class Careless(airbound.QueueScheme):
        def enqueue(self, now: int, packet: airbound.Packet) -> None:
            raise RuntimeError("on purpose")

    env = gym.WifiEnv(SMALL, "sender", scheme=Careless)
    env.reset(seed=1)
    with pytest.raises(airbound.SchemeError, match="on purpose"):
        for _ in range(20):
            env.step(np.zeros(1))


def test_actors_of_ray_play_the_same_episodes() -> None:
    ray = pytest.importorskip("ray", reason="SKIPPED: no ray; to get it: pip install 'airbound[ray]'")

    class Player:
        def __init__(self, seeds: list[int]) -> None:
            self.envs, self.seeds = gym.WifiVectorEnv(len(seeds), SMALL, "queue", reward="goodput", threads=1), seeds

        def play(self) -> Any:
            self.envs.reset(seed=self.seeds)
            return sum(self.envs.step(np.full((len(self.seeds), 2), 0.5))[1] for _ in range(20))

    python = str(Path(airbound.__file__).parents[1])
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": python}})
    try:
        players = [ray.remote(Player).remote(seeds) for seeds in ([1, 2], [3])]
        returns = np.concatenate(ray.get([player.play.remote() for player in players]))
    finally:
        ray.shutdown()
    assert np.array_equal(returns, Player([1, 2, 3]).play())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"scenario": "nowhere"}, "no shipped scenario|nowhere"),
        ({"scenario": {**SMALL, "duration": 3}}, "duration"),
        ({"decision": "colour"}, "decision is colour; allowed are queue, rate, sender, contention"),
        ({"flow": "sideways"}, "no flow is named sideways; allowed are down, up"),
        ({"reward": "applause"}, "reward is applause; allowed are goodput, fairness, latency, frames and a function"),
        ({"step_ms": 0.5}, "step_ms is 0.5; allowed is 1 to 3600000"),
        ({"scenario": "vr-room"}, "the scenario has a session; allowed is one network without a session"),
        ({"scenario": "hello", "decision": "sender"}, "nothing to decide for sender"),
        ({"scheme": "no-such"}, "no-such"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(airbound.ScenarioError, match=sentence):
        gym.WifiEnv(**{"scenario": SMALL, **arguments})


def test_wrong_actions_and_seeds_are_refused() -> None:
    env = gym.WifiEnv(SMALL, "queue")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(2))
    with pytest.raises(airbound.ScenarioError, match="seed is -1; allowed is a whole number from 0"):
        gym.WifiVectorEnv(2, SMALL).reset(seed=[-1, 2])
    for seed in (-1, 1 << 63, 1.5, float("nan")):
        for one in (gym.WifiEnv(SMALL), gym.WifiVectorEnv(2, SMALL)):
            with pytest.raises(airbound.ScenarioError, match=f"seed is {seed}"):
                one.reset(seed=seed)  # type: ignore[arg-type]
    with pytest.raises(airbound.ScenarioError, match="there are 1 seeds; allowed are 2"):
        gym.WifiVectorEnv(2, SMALL).reset(seed=[1])
    with pytest.raises(airbound.ScenarioError, match="autoreset_mode is Disabled; allowed are NextStep and SameStep"):
        gym.WifiVectorEnv(2, SMALL, autoreset_mode="Disabled")
    with pytest.raises(airbound.ScenarioError, match="there are 0 environments"):
        gym.WifiVectorEnv(0, SMALL)
    env.reset(seed=1)
    with pytest.raises(gym.ActionError, match="b of action 0 is 1.5; allowed is -1 to 1"):
        env.step(np.array([0, 1.5]))
    with pytest.raises(gym.ActionError, match="is nan; allowed"):
        env.step(np.array([np.nan, 0]))
    with pytest.raises(gym.ActionError, match=r"shape \(3,\); allowed is \(2,\)"):
        env.step(np.zeros(3))
    contention = gym.WifiEnv(SMALL, "contention")
    contention.reset(seed=1)
    with pytest.raises(gym.ActionError, match="stations.aifsn of action 0 is 0; allowed is 1 to 15"):
        contention.step(np.array([4, 2, 4, 0]))
    with pytest.raises(gym.ActionError, match="of type float64; allowed are whole numbers"):
        contention.step(np.array([4, 2, 4, 2.5]))
    assert len(played(env, 1, np.zeros(2))[0]) == 20, "nothing was done"


@pytest.mark.parametrize(
    ("module", "absent"), [("airbound", "polars matplotlib numpy gymnasium"), ("airbound.gym", "polars matplotlib")]
)
def test_imports_are_few(module: str, absent: str) -> None:
    text = f"import sys, {module}; print([one for one in {absent.split()} if one in sys.modules])"
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_without_gymnasium_the_extra_is_named() -> None:
    text = (
        "import importlib.util as u; find = u.find_spec\n"
        "u.find_spec = lambda name, package=None: None if name == 'gymnasium' else find(name, package)\n"
        "import airbound.gym"
    )
    failed = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert "airbound.gym needs gymnasium, which is not installed; to get it: pip install 'airbound[gym]'" in failed.stderr
