"""Scenarios as arguments."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from airbound import _native

#: Scenario arguments: a scenario, the name of a shipped one, or a file.
AnyScenario = _native.Scenario | str | PathLike[str]


def scenario_of(scenario: AnyScenario) -> _native.Scenario:
    """The scenario of an argument. A string is a file if it contains ``/``, ends in ``.toml`` or names one, a shipped scenario otherwise.

    Raises :class:`airbound.ScenarioError` if neither exists.
    """
    if isinstance(scenario, _native.Scenario):
        return scenario
    if isinstance(scenario, str):
        is_file = "/" in scenario or scenario.endswith(".toml") or Path(scenario).is_file()
        return _native.Scenario.from_file(scenario) if is_file else _native.Scenario.shipped(scenario)
    return _native.Scenario.from_file(scenario)
