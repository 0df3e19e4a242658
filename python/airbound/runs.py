"""Runs and comparisons."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from airbound import _native
from airbound.progress import Progress
from airbound.results import Comparison, Folder, RunResult
from airbound.schemes import AnyScheme, asked

#: What may be given where a scenario is wanted: one, the name of a shipped one, or a file.
AnyScenario = _native.Scenario | str | PathLike[str]


def scenario_of(scenario: AnyScenario) -> _native.Scenario:
    """The scenario that was meant: a file if the text looks like one or there is one of that name, a shipped one otherwise.

    Raises :class:`airbound.ScenarioError` if there is neither.
    """
    if isinstance(scenario, _native.Scenario):
        return scenario
    if isinstance(scenario, str):
        is_file = "/" in scenario or scenario.endswith(".toml") or Path(scenario).is_file()
        return _native.Scenario.from_file(scenario) if is_file else _native.Scenario.shipped(scenario)
    return _native.Scenario.from_file(scenario)


def run(
    scenario: AnyScenario,
    scheme: AnyScheme | None = None,
    seed: int | None = None,
    *,
    out: str | PathLike[str] | None = None,
    log_packets: bool = True,
    pcap: str | PathLike[str] | None = None,
    progress: bool | None = None,
) -> RunResult:
    """Simulates a scenario with one scheme.

    ``scheme``
        Who decides: a name such as ``"pie"`` or ``"pie+minstrel-ht+bbr"``, a :class:`Scheme`, or a class that derives from
        :class:`QueueScheme`, :class:`RateScheme` or :class:`SenderScheme`. That of the scenario unless given.
    ``seed``
        From where all randomness comes, 0 to 2^63 - 1. That of the scenario unless given.
    ``out``
        A folder for the run, with the files of ``airbound run``. A temporary one unless given. An earlier run in it is replaced.
    ``log_packets``
        Whether each packet and each transmission is kept: :attr:`RunResult.packets`, :attr:`RunResult.txops`.
    ``pcap``
        A file for the air as a radiotap capture.
    ``progress``
        Whether a bar is shown; where somebody watches and it takes longer than 2 s, unless given.

    The interpreter's lock is released, and Ctrl-C ends the run (``KeyboardInterrupt``), of which nothing remains then.

    Raises :class:`ScenarioError` for a wrong scenario, scheme or seed, :class:`SchemeError` if a scheme written in Python fails,
    ``OSError`` or :class:`RunError` if the run cannot be written.
    """
    opened = scenario_of(scenario)
    if seed is not None and not 0 <= seed < 1 << 63:
        raise _native.ScenarioError(f"seed is {seed}; allowed is 0 to {(1 << 63) - 1}")
    folder = Folder(out)
    label, native = asked(scheme, opened)
    with Progress(f"{opened.name}, {label}", progress) as shown:
        _native.run(
            opened, native, seed, folder.path, log_packets, None if pcap is None else Path(pcap), shown.callback
        )
    return RunResult(folder.path, label, folder)


def compare(
    scenario: AnyScenario,
    schemes: Iterable[AnyScheme] | None = None,
    seeds: int = 1,
    *,
    out: str | PathLike[str] | None = None,
    log_packets: bool = True,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Simulates a scenario with several schemes, each with ``seeds`` seeds counted up from the scenario's.

    Every scheme meets exactly the same channel. ``schemes`` are those of the scenario unless given, each as in :func:`run`.
    ``jobs`` simulations run at once, one for each core unless given; the results do not depend on it. The other arguments and
    the errors are those of :func:`run`.
    """
    opened = scenario_of(scenario)
    if not 1 <= seeds <= 10_000:
        raise _native.ScenarioError(f"seeds is {seeds}; allowed is 1 to 10000")
    if jobs is not None and not 1 <= jobs <= 1024:
        raise _native.ScenarioError(f"jobs is {jobs}; allowed is 1 to 1024")
    wanted = [asked(scheme, opened) for scheme in (opened.schemes if schemes is None else schemes)]
    if not wanted:
        raise _native.ScenarioError("there is no scheme to compare; name at least one")
    labels = [label for label, _ in wanted]
    for label in labels:
        if labels.count(label) > 1:
            raise _native.ScenarioError(f"scheme {label} is given twice")
    folder = Folder(out)
    with Progress(f"{opened.name}, {len(wanted) * seeds} runs", progress) as shown:
        _native.compare(opened, [native for _, native in wanted], seeds, folder.path, log_packets, jobs, shown.callback)
    return Comparison(folder.path, folder)
