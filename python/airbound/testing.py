"""A fixture for pytest: programs over modelled Wi-Fi in a project's own tests.

In ``conftest.py``::

    pytest_plugins = ["airbound.testing"]

In a test::

    def test_the_stream_survives_a_congested_access_point(emulate):
        net = emulate("vr-congested", scheme="last-pq", protect={"udp dport 5000": "20 ms"})
        net.server.popen(["./my-server"])
        net.station("headset").run(["./my-client", "server", "5000"], check=True, timeout=60)
        net.close()
        assert net.timing["counts"]
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import pytest

from airbound.emulation import Emulation, EmulationError
from airbound.emulation import emulate as prepare
from airbound.scenarios import AnyScenario


class Emulate(Protocol):
    """What the fixture ``emulate`` is: :func:`airbound.emulate`, whose emulation has begun."""

    def __call__(self, scenario: AnyScenario, scheme: str | None = None, **options: Any) -> Emulation: ...


@pytest.fixture
def emulate() -> Iterator[Emulate]:
    """Starts emulations, which end with the test. Where the system permits none (no TUN devices, no user namespaces) the test is skipped."""
    with ExitStack() as running:

        def start(scenario: AnyScenario, scheme: str | None = None, **options: Any) -> Emulation:
            try:
                return running.enter_context(prepare(scenario, scheme, **options))
            except EmulationError as error:
                if "is not available" in str(error):
                    pytest.skip(f"SKIPPED: no emulation here: {error}")
                raise

        yield start
