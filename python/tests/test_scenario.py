"""Scenarios: construction, changes, and errors as on the command line."""

import json
from pathlib import Path

import airbound
import pytest

from conftest import short


def test_the_parts_of_a_scheme_are_listed() -> None:
    parts = airbound.catalogue()
    assert ("reno", "TCP Reno") in parts["senders"]
    names = [name for name, _ in parts["queues"]]
    assert {"fifo", "linux", "law-last-pq"} < set(names) and len(set(names)) == len(names)


def test_shipped_scenarios_are_listed_and_open() -> None:
    shipped = airbound.shipped()
    assert len(shipped) >= 20 and shipped[0][0] == "vr-congested"
    for name, title in shipped:
        scenario = airbound.Scenario.shipped(name)
        assert (scenario.name, scenario.title) == (name, title)


def test_properties_of_a_scenario() -> None:
    scenario = short("vr-congested")
    assert scenario.duration_ns == 10**9 and scenario.warm_up_ns == 10**8
    assert scenario.seed == 1 and scenario.own_scheme == "linux"
    assert scenario.focus in scenario.flows and scenario.stations and scenario.description
    assert "linux" in scenario.schemes
    assert repr(scenario).startswith("Scenario(\"vr-congested\"")


def test_set_makes_another_scenario() -> None:
    before = airbound.Scenario.shipped("vr-multi-flow")
    after = before.set("flow.bulk.count", 1)
    assert len(after.flows) < len(before.flows) == len(airbound.Scenario.shipped("vr-multi-flow").flows)
    assert short("hello").set("seed", 7).seed == 7


def test_text_dict_and_file_give_the_same(tmp_path: Path) -> None:
    text = airbound.Scenario.shipped("hello").to_toml()
    path = tmp_path / "hello.toml"
    path.write_text(text)
    from_text = airbound.Scenario.from_text(text, "hello")
    assert airbound.Scenario.from_file(path).to_toml() == from_text.to_toml() == text
    assert airbound.Scenario.from_dict(json.loads(from_text.to_json())).to_toml() == text


def test_a_scenario_is_built_from_python() -> None:
    scenario = airbound.Scenario.from_dict({
        "duration": "1 s",
        "station": [{"name": "phone"}],
        "flow": [{"name": "call", "kind": "cbr", "station": "phone", "rate": "5 Mbit/s"}],
        "scheme": {"queue": {"kind": "fifo", "limit": {"packets": 50}}},
    })
    assert scenario.flows == ["call"] and scenario.own_scheme == "fifo"


def test_a_trace_is_replaced(tmp_path: Path) -> None:
    trace = tmp_path / "flat.csv"
    trace.write_text(Path("scenarios/traces/corridor.csv").read_text())
    scenario = airbound.Scenario.shipped("trace-snr").with_trace(trace)
    assert "flat.csv" in scenario.to_toml()
    with pytest.raises(airbound.ScenarioError, match="--trace .*no effect"):
        airbound.Scenario.shipped("hello").with_trace(trace)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: airbound.Scenario.shipped("nowhere"), 'there is no shipped scenario "nowhere"'),
        (lambda: airbound.Scenario.from_file("no/such.toml"), "no/such.toml: cannot be read"),
        (lambda: airbound.Scenario.from_text("duration = 1 s", "mine"), "mine:1: not valid TOML"),
        (lambda: airbound.Scenario.from_text('durations = "1 s"', "mine"), "mine:1: unknown key durations"),
        (lambda: short().set("air.width", "30 MHz"), '--set air.width="30 MHz": air.width'),
        (lambda: short().set("flow.nobody.rate", "1 Mbit/s"), "there is no flow nobody"),
        (lambda: short().set("", 1), "is not of the form key=value"),
        (lambda: airbound.Scenario.from_dict({"duration": "1 s"}), "station is missing"),
        (lambda: airbound.run("nowhere"), 'there is no shipped scenario "nowhere"'),
        (lambda: airbound.run(short(), "lunix"), 'scheme "lunix" names "lunix"'),
        (lambda: airbound.run(short(), seed=-1), "seed is -1; allowed is 0 to"),
        (lambda: airbound.run(short(), 3), "3 is not a scheme"),  # type: ignore[arg-type]
        (lambda: airbound.run(short(), airbound.Scheme(queue=int)), "queue of a scheme is"),  # type: ignore[arg-type]
        (lambda: airbound.compare(short(), ["pie", "pie"]), "scheme pie occurs twice"),
        (lambda: airbound.compare(short(), "fifo,fifo"), "scheme fifo occurs twice"),
        (lambda: airbound.compare(short(), "FIFO"), "did you mean fifo?"),
        (lambda: airbound.compare(short(), []), "no scheme to compare"),
        (lambda: airbound.compare(short(), seeds=0), "seeds is 0; allowed is 1 to 10000"),
        (lambda: airbound.compare(short(), jobs=0), "jobs is 0; allowed is 1 to 1024"),
    ],
)
def test_errors_are_one_line(make, sentence: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(airbound.ScenarioError) as caught:
        make()
    assert sentence in str(caught.value) and "\n" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_values_of_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="a value is of type object"):
        short().set("seed", object())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="does not fit in 64 bits"):
        short().set("seed", 1 << 70)
