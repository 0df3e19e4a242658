"""Runs and comparisons."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from airbound import _native
from airbound.progress import Progress
from airbound.results import Comparison, Folder, RunResult
from airbound.scenarios import AnyScenario, scenario_of
from airbound.schemes import AnyScheme, resolve


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
        A name such as ``"pie"`` or ``"pie+minstrel-ht+bbr"``, a :class:`Scheme`, or a class that derives from :class:`QueueScheme`,
        :class:`RateScheme` or :class:`SenderScheme`. The scenario's by default.
    ``seed``
        The seed of all random numbers, 0 to 2^63 - 1. The scenario's by default.
    ``out``
        The folder for the files of ``airbound run``; an earlier run in it is replaced. A temporary folder by default.
    ``log_packets``
        Whether packets and transmissions are recorded (:attr:`RunResult.packets`, :attr:`RunResult.txops`).
    ``pcap``
        A file for a radiotap capture of the channel.
    ``progress``
        Whether a progress bar is shown; by default after 2 s in a terminal or a notebook.

    The interpreter's lock is released. Ctrl-C ends the run (``KeyboardInterrupt``) and removes its files.

    Raises :class:`ScenarioError` for an invalid scenario, scheme or seed, :class:`SchemeError` if a scheme written in Python fails,
    ``OSError`` or :class:`RunError` if the run cannot be written.
    """
    opened = scenario_of(scenario)
    if seed is not None and not 0 <= seed < 1 << 63:
        raise _native.ScenarioError(f"seed is {seed}; allowed is 0 to {(1 << 63) - 1}")
    folder = Folder(out)
    label, native = resolve(scheme, opened)
    with Progress(f"{opened.name}, {label}", progress) as shown:
        _native.run(
            opened, native, seed, folder.path, log_packets, None if pcap is None else Path(pcap), shown.callback
        )
    return RunResult(folder.path, label, folder)


def compare(
    scenario: AnyScenario,
    schemes: Iterable[AnyScheme] | AnyScheme | None = None,
    seeds: int = 1,
    *,
    out: str | PathLike[str] | None = None,
    log_packets: bool | None = None,
    jobs: int | None = None,
    progress: bool | None = None,
) -> Comparison:
    """Simulates a scenario with several schemes, each with ``seeds`` consecutive seeds from the scenario's on.

    The channel is identical for all schemes. ``schemes`` are as in :func:`run`, the scenario's by default; a string names one, or several with commas between. ``jobs`` simulations run
    in parallel, one per core by default; the results do not depend on it. ``log_packets`` is as in :func:`run`, by default
    of one run yes, of several no. The other arguments and the errors are those of :func:`run`.
    """
    opened = scenario_of(scenario)
    if not 1 <= seeds <= 10_000:
        raise _native.ScenarioError(f"seeds is {seeds}; allowed is 1 to 10000")
    if jobs is not None and not 1 <= jobs <= 1024:
        raise _native.ScenarioError(f"jobs is {jobs}; allowed is 1 to 1024")
    # One scheme is a comparison of one; a string may name several, as on the command line.
    if isinstance(schemes, str):
        schemes = [name.strip() for name in schemes.split(",")]
    elif schemes is not None and not isinstance(schemes, Iterable):
        schemes = [schemes]
    wanted = [resolve(scheme, opened) for scheme in (opened.schemes if schemes is None else schemes)]
    if not wanted:
        raise _native.ScenarioError("no scheme to compare; at least one is required")
    labels = [label for label, _ in wanted]
    for label in labels:
        if labels.count(label) > 1:
            raise _native.ScenarioError(f"scheme {label} occurs twice")
    logs = log_packets if log_packets is not None else len(wanted) * seeds == 1
    folder = Folder(out)
    with Progress(f"{opened.name}, {len(wanted) * seeds} runs", progress) as shown:
        _native.compare(opened, [native for _, native in wanted], seeds, folder.path, logs, jobs, shown.callback)
    return Comparison(folder.path, folder)
