"""A simulated network as a link for the caller's packets."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import airbound
from airbound import Link

MS = 1_000_000


def pings(link: Link) -> list[airbound.Arrival]:
    arrived: list[airbound.Arrival] = []
    for number in range(100):
        link.push(10 * MS * number, "down", bytes([number]) * 1200)
        link.push(10 * MS * number, "up", bytes([number]))
        arrived += link.take(10 * MS * number)
    while (following := link.next_event()) is not None:
        arrived += link.take(following)
    return arrived


def test_a_link_carries_bytes_and_its_seed_decides() -> None:
    shown = [(one.direction, one.sent_ns, one.at_ns, one.data) for one in pings(Link("my-flat"))]
    assert len(shown) > 180
    assert all(at - sent >= 8 * MS for _, sent, at, _ in shown)
    assert all(data == bytes([sent // (10 * MS)]) * (1200 if way == "down" else 1) for way, sent, _, data in shown)
    assert shown == [(one.direction, one.sent_ns, one.at_ns, one.data) for one in pings(Link("my-flat", scheme="linux"))]
    other = Link("my-flat", seed=2)
    assert shown != [(one.direction, one.sent_ns, one.at_ns, one.data) for one in pings(other)]
    pushed, arrived, lost = other.counts("up")
    assert pushed == arrived + lost == 100
    assert "direction=" in repr(pings(Link("home-quiet"))[0])


def test_wrong_calls_are_refused_in_a_sentence() -> None:
    with pytest.raises(airbound.ScenarioError, match="did you mean my-flat"):
        Link("my-flt")
    with pytest.raises(airbound.ScenarioError, match="did you mean codel"):
        Link("my-flat", scheme="codle")
    link = Link("home-quiet", demand_ns=20 * MS, scheme="last-pq")
    link.push(5 * MS, "down", b"one")
    with pytest.raises(airbound.ArgumentError, match="time runs backwards"):
        link.push(4 * MS, "down", b"two")
    with pytest.raises(airbound.ArgumentError, match="above the MTU"):
        link.push(5 * MS, "down", bytes(1473))
    with pytest.raises(airbound.ArgumentError, match='allowed are "down" and "up"'):
        link.push(5 * MS, "sideways", b"two")  # type: ignore[arg-type]
    with pytest.raises(airbound.ArgumentError, match="after the end of the link; a link lasts"):
        link.take(1 << 63)
    for time in (-1, 1 << 64, float("nan"), 5.5, 10**5000):
        with pytest.raises(airbound.ArgumentError, match=r"^a time is .*; allowed is .*0 to 18446744073709551615 ns"):
            link.push(time, "down", b"two")  # type: ignore[arg-type]
        with pytest.raises(airbound.ArgumentError, match="a time is"):
            link.take(time)  # type: ignore[arg-type]
    for wrong in ({"seed": -1}, {"seed": 1 << 64}, {"demand_ns": -1}):
        with pytest.raises(airbound.ArgumentError, match="allowed is 0 to"):
            Link("home-quiet", **wrong)  # type: ignore[arg-type]
    with ThreadPoolExecutor() as pool, pytest.raises(RuntimeError, match="the thread that made it"):
        pool.submit(link.take, 6 * MS).result()
    assert link.counts("down") == (1, 0, 0)


def test_a_scenario_of_ones_own_and_the_names_of_places() -> None:
    names = [name for name, _ in airbound.places()]
    assert len(names) == 10 and "hotel" in names
    text = (Path(__file__).parents[2] / "scenarios" / "hello.toml").read_text()
    station = airbound.Scenario.from_text(text).stations[0]
    assert pings(Link.of_scenario(text, station))
