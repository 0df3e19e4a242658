"""Rules for a bitrate written in Python, in the table of the built-in ones."""

from pathlib import Path
from typing import Any

import airbound
import pytest


class Careful(airbound.BitrateRule):
    """Falls by a fifth when packets wait or frames are lost, else grows slowly."""

    name = "careful"

    def on_report(self, report: airbound.StreamReport) -> float:
        waited = max((delay for _, _, delay in report.packets), default=0)
        if waited > 25_000_000 or report.frames_lost > 0:
            return 0.8 * report.rate
        return 1.005 * report.rate


class Stays(airbound.BitrateRule):
    def on_report(self, report: airbound.StreamReport) -> float:
        return report.rate


class Broken(airbound.BitrateRule):
    def on_report(self, report: airbound.StreamReport) -> float:
        raise RuntimeError("no idea")


class Endless(airbound.BitrateRule):
    def on_report(self, report: airbound.StreamReport) -> float:
        return float("inf")


def test_a_rule_of_ones_own_is_ranked_beside_built_in_ones(tmp_path: Path) -> None:
    rules: list[str | type[airbound.BitrateRule]] = ["fixed", Careful, Stays]
    found = airbound.arena(rules, places=["calm", "saturated"], seeds=2, quick=True)
    table = found.table
    assert sorted(table["rule"].to_list()) == ["Stays", "careful", "fixed"]
    assert table["score"].is_sorted(descending=True)
    assert found.places.height == 6 and set(found.places["place"]) == {"calm", "saturated"}
    bitrate = dict(zip(table["rule"], table["bitrate_mbps"], strict=True))
    # Without parity `fixed` has 20 Mb/s of video; a rule's rate holds parity and headers, too.
    assert 0.7 * bitrate["fixed"] < bitrate["Stays"] < bitrate["fixed"]
    changes = dict(zip(table["rule"], table["changes_per_minute"], strict=True))
    assert changes["Stays"] == 0 and changes["careful"] > 10
    assert "careful" in found.to_text()
    assert "careful" in found.report(tmp_path / "page.html").read_text(encoding="utf-8")
    found.report(tmp_path / "page.html")
    letter = tmp_path / "letter.html"
    letter.write_text("Dear", encoding="utf-8")
    with pytest.raises(airbound.RunError, match="letter.html is not an earlier report of airbound"):
        found.report(letter)
    assert letter.read_text(encoding="utf-8") == "Dear"
    again = airbound.arena(rules, places=["calm", "saturated"], seeds=2, quick=True, jobs=1)
    assert again.found == found.found


def test_what_is_wrong_is_said_in_a_sentence() -> None:
    def error(kind: type[Exception], rules: list[Any], **options: Any) -> str:
        with pytest.raises(kind) as raised:
            airbound.arena(rules, places=["calm"], seeds=1, quick=True, **options)
        return str(raised.value)

    assert "Broken failed at game" in error(airbound.SchemeError, [Broken])
    assert "on_report() returned inf" in error(airbound.SchemeError, [Endless])
    assert "is not a rule" in error(airbound.ScenarioError, [int])
    assert "there is no such rule" in error(airbound.ScenarioError, ["best"])
    assert "names Stays twice" in error(airbound.ScenarioError, [Stays, Stays])
    taken = type("Taken", (Stays,), {"name": "gcc"})
    assert "gcc is the name of a built-in rule" in error(airbound.ScenarioError, [taken])
    assert "rules is empty" in error(airbound.ScenarioError, [])
