"""Arenas: rules for the bitrate of a stream, built in or written in Python, over the same places and seeds, ranked."""

from __future__ import annotations

import json
import shutil
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from airbound import _native
from airbound.progress import Progress
from airbound.schemes import BitrateRule

if TYPE_CHECKING:
    from collections.abc import Sequence


class ArenaResult:
    """The standings of an arena."""

    def __init__(self, found: dict[str, Any], text: str, page: str) -> None:
        #: All figures, as in ``arena.json`` of ``airbound arena``.
        self.found = found
        self._text = text
        self._page = page

    @property
    def table(self) -> pl.DataFrame:
        """One row per rule and scheme, the best first: score with its interval, and means over places and seeds."""
        return pl.DataFrame([_row(row) for row in self.found["ranking"]])

    @property
    def places(self) -> pl.DataFrame:
        """One row per rule, scheme and place: score with its interval, and means over the seeds."""
        return pl.DataFrame(
            [{**_row({**row, **place}), "place": place["place"]} for row in self.found["ranking"] for place in row["places"]]
        )

    def report(self, page: str | PathLike[str]) -> Path:
        """Writes the page of ``airbound arena`` to ``page``; returns its path."""
        path = Path(page)
        _native.write_page(path, self._page)
        return path

    def to_text(self) -> str:
        """The table printed by ``airbound arena``, its verdict first."""
        return self._text

    def __repr__(self) -> str:
        return f"<ArenaResult: {len(self.found['ranking'])} rules, {self.found['runs']} runs>"


def _row(row: dict[str, Any]) -> dict[str, Any]:
    score = row["score"]
    return {
        "rule": row["rule"],
        "scheme": row["scheme"],
        "score": score["mean"],
        "score_low": score["low"],
        "score_high": score["high"],
        **row["figures"],
    }


def arena(
    rules: Sequence[str | type[BitrateRule]] | None = None,
    *,
    schemes: Sequence[str] = ("linux",),
    places: Sequence[str] | None = None,
    seeds: int | None = None,
    quick: bool = False,
    jobs: int | None = None,
    progress: bool | None = None,
) -> ArenaResult:
    """Lets rules send the same game over the same places and seeds, and ranks them (docs/use/arena.md).

    ``rules``
        Names of built-in rules, and classes that derive from :class:`airbound.BitrateRule`. All built-in ones by default.
    ``schemes``
        Queues of the access point that each rule meets.
    ``places``
        Shipped places, or files of scenarios with a flow of kind ``rtc`` in focus. All nine by default, four with ``quick``.
    ``seeds``
        Seeds of each rule at each place: 5 by default, 2 with ``quick``.
    ``quick``
        Runs of 12 s.
    ``jobs``
        Simulations in parallel, one per core by default.
    ``progress``
        Whether a progress bar is shown; by default after 2 s in a terminal or a notebook.

    Raises :class:`airbound.ScenarioError` for an unknown name, :class:`airbound.SchemeError` if a class fails.
    """
    if jobs is not None and not 1 <= jobs <= 1024:
        raise _native.ScenarioError(f"jobs is {jobs}; allowed is 1 to 1024")
    if seeds is not None and not 1 <= seeds <= 1000:
        raise _native.ScenarioError(f"seeds is {seeds}; allowed is 1 to 1000")
    for option, value in (("rules", rules), ("schemes", schemes), ("places", places)):
        if isinstance(value, str):
            raise _native.ScenarioError(f"{option} is {value!r}; allowed is a list, as [{value!r}]")
        if value is not None and not value:
            raise _native.ScenarioError(f"{option} is empty; allowed is a list of at least one")
    names: list[str] = []
    own: dict[str, type[BitrateRule]] = {}
    for rule in rules or ():
        if isinstance(rule, str):
            names.append(rule)
        elif isinstance(rule, type) and issubclass(rule, BitrateRule):
            name = rule.name or rule.__name__
            names.append(name)
            own[name] = rule
        else:
            raise _native.ScenarioError(
                f"{rule!r} is not a rule; allowed are a name and a class that derives from BitrateRule"
            )
    width = shutil.get_terminal_size((100, 24)).columns
    with Progress("arena", progress) as shown:
        text, found, page = _native.arena(
            names, list(own.items()), list(schemes), list(places or ()), quick, seeds, jobs, width, shown.callback
        )
    return ArenaResult(json.loads(found), text, page)
