"""Fixtures and helpers of several tests."""

import airbound
import pytest

pytest_plugins = ["airbound.testing"]

#: Changes that shorten a scenario to 1 s.
SHORT = {"duration": "1 s", "warm-up": "100 ms"}


def short(name: str = "hello") -> airbound.Scenario:
    """A shipped scenario, shortened to 1 s."""
    scenario = airbound.Scenario.shipped(name)
    for key, value in SHORT.items():
        scenario = scenario.set(key, value)
    return scenario


@pytest.fixture(scope="session")
def result() -> airbound.RunResult:
    """A run with its packet log."""
    return airbound.run(short("vr-congested"), "linux", seed=3)


@pytest.fixture(scope="session")
def comparison() -> airbound.Comparison:
    """Two schemes, two seeds."""
    return airbound.compare(short("vr-congested"), ["fifo", "linux"], seeds=2)
