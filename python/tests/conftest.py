"""What several tests need."""

import airbound
import pytest

#: A second of the smallest scenario.
SHORT = {"duration": "1 s", "warm-up": "100 ms"}


def short(name: str = "hello") -> airbound.Scenario:
    """A shipped scenario, cut to a second."""
    scenario = airbound.Scenario.shipped(name)
    for key, value in SHORT.items():
        scenario = scenario.set(key, value)
    return scenario


@pytest.fixture(scope="session")
def result() -> airbound.RunResult:
    """A run with everything logged."""
    return airbound.run(short("vr-congested"), "linux", seed=3)


@pytest.fixture(scope="session")
def comparison() -> airbound.Comparison:
    """Two schemes, two seeds."""
    return airbound.compare(short("vr-congested"), ["fifo", "linux"], seeds=2)
