"""The controllers on their own: the rules of the papers, properties, invalid parameters."""

from typing import Any

import pytest

import airbound
from airbound import control
from hypothesis import given, settings
from hypothesis import strategies as st

MS = 1_000_000

numbers = st.integers(0, 2**63)
moments = st.lists(st.tuples(st.integers(0, 10_000 * MS), st.integers(0, 3), st.integers(0, 200 * MS)), max_size=60)


def test_wqm_halves_at_the_second_alarm() -> None:
    wqm = control.Wqm(limit="2.5 ms", subframes=10)
    assert wqm.packets == 95
    wqm.begin(600_000_000)
    assert wqm.packets == 32 and wqm.bounds == (10, 95)
    # 8000 B take 1 ms at 64 Mb/s: 40 000 B take 5 ms, twice the limit.
    assert wqm.on_interval(40_000, 64_000_000, 1.0) == (5 * MS, True, True)
    assert wqm.packets == 32
    wqm.on_interval(40_000, 64_000_000, 1.0)
    assert wqm.packets == 16
    assert wqm.on_interval(40_000)[0] is None


@given(st.lists(st.tuples(numbers, st.none() | numbers, st.none() | st.floats()), max_size=50))
def test_wqm_stays_within_its_bounds_and_is_deterministic(observations: list[tuple[int, int | None, float | None]]) -> None:
    one, other = control.Wqm(), control.Wqm()
    for wqm in (one, other):
        wqm.begin(300_000_000)
    for seen in observations:
        assert one.on_interval(*seen) == other.on_interval(*seen)
        least, most = one.bounds
        assert least <= one.packets == other.packets <= most


def test_delay_controller_permits_less_under_late_packets() -> None:
    delay = control.DelayController(hold=False)
    delay.set_demand(0, 7, 20 * MS)
    assert delay.permitted(7) == 20 * MS and delay.next_deadline == 20 * MS
    for number in range(1, 30):
        delay.on_completion(number * MS // 2, 7, 30 * MS)
    delay.advance(20 * MS)
    permitted = delay.permitted(7)
    assert permitted is not None and permitted < 20 * MS and delay.latency(7) == 30 * MS
    assert delay.tightest(20 * MS) == permitted and delay.permitted(8) is None
    delay.set_demand(21 * MS, 7, None)
    assert delay.permitted(7) is None and delay.next_deadline is None


@given(moments, st.integers(2 * MS, 10_000 * MS), st.floats(1, 100))
def test_delay_controller_keeps_its_bounds_and_is_deterministic(
    completions: list[tuple[int, int, int]], demand: int, percentile: float
) -> None:
    one, other = control.DelayController(), control.DelayController()
    for delay in (one, other):
        for flow in range(3):
            try:
                delay.set_demand(0, flow, demand, percentile)
            except ValueError as error:
                assert "allowed is" in str(error)
    for at, flow, latency in completions:
        for delay in (one, other):
            delay.on_completion(at, flow, latency)
            delay.advance(at, {0: 0})
        assert one.permitted(flow) == other.permitted(flow)
        permitted = one.permitted(flow)
        assert permitted is None or MS <= permitted <= demand


def report(number: int, frames: int, level: int) -> dict[str, Any]:
    packets = frames * level
    return {
        "number": number, "slot": 100 * MS, "frames": frames, "packets": packets, "payload": packets * 1470,
        "transmissions": packets, "phy_rate": 400_000_000,
    }


def test_allocator_raises_rates_while_levels_are_low() -> None:
    allocator = control.RateAllocator(target=32, start="feedback")
    allocator.join(0, 1)
    before = allocator.rate(1)
    assert before == 1_000_000 and allocator.rate(2) == 0 and allocator.uplink_rate(1) == 0
    for number in range(1, 11):
        now = number * 500 * MS
        allocator.on_report(now - 1, 1, **report(number, 100, 2))
        allocator.on_deadline(now)
    assert allocator.rate(1) > before
    [(station, direction, rate, level, phy_rate, bottleneck)] = allocator.allocations()
    assert (station, direction, rate, level, phy_rate) == (1, "down", allocator.rate(1), 2.0, 400_000_000)
    assert bottleneck in (None, "wire", "wlan")
    allocator.on_report(6000 * MS, 9, **report(1, 1, 1))
    assert allocator.refused == 1
    allocator.join_uplink(6000 * MS, 1)
    assert allocator.uplink_rate(1) > 0
    allocator.leave_uplink(6000 * MS, 1)
    allocator.leave(6000 * MS, 1)
    assert allocator.next_deadline is None and allocator.allocations() == []


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 2000 * MS), st.integers(0, 4), st.integers(1, 500), st.integers(1, 200)), max_size=40))
def test_allocator_is_deterministic(steps: list[tuple[int, int, int, int]]) -> None:
    one, other = control.RateAllocator(), control.RateAllocator()
    now = 0
    for number, (passed, station, frames, level) in enumerate(steps, 1):
        now += passed
        for allocator in (one, other):
            allocator.join(now, station)
            allocator.on_report(now, station, **report(number, frames, level))
            allocator.on_deadline(now)
        assert one.allocations() == other.allocations()
        assert all(rate > 0 for _, _, rate, *_ in one.allocations())


def test_allocator_refuses_impossible_reports() -> None:
    allocator = control.RateAllocator()
    allocator.join(0, 1)
    wrong = report(1, 10, 2) | {"slot": 3600 * 1000 * MS}
    with pytest.raises(ValueError, match="the report is impossible: it has a slot"):
        allocator.on_report(1, 1, **wrong)


def test_plum_allocates_within_capacities() -> None:
    found = control.plum_allocation([10_000_000, 20_000_000, 5_000_000], rho=0.5)
    assert len(found.shares) == 3 and 0 <= found.fairness <= 1 and 0 <= found.mean <= 1
    for (up, down), capacity in zip(found.shares, (10_000_000, 20_000_000, 5_000_000)):
        assert up > 0 and down > 0 and up + down <= capacity
    assert found.bound is not None and found.utility <= found.bound + 1e-6
    assert found.utility == pytest.approx(0.5 * found.mean + 0.5 * found.fairness)
    assert control.plum_allocation([10_000_000, 9_000_000], qoe="convex-square").bound is None
    heavy = control.plum_allocation([8_000_000] * 3, weights=[10.0, 1.0, 1.0], rho=0.0)
    assert heavy.shares[0][1] >= heavy.shares[1][1]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(500_000, 100_000_000), min_size=2, max_size=6), st.floats(0, 1))
def test_plum_is_feasible_and_is_deterministic(capacities: list[int], rho: float) -> None:
    found = control.plum_allocation(capacities, rho=rho)
    assert found == control.plum_allocation(capacities, rho=rho)
    assert all(up + down <= capacity for (up, down), capacity in zip(found.shares, capacities))


def test_law_transmits_and_expires_packets() -> None:
    law = control.Law(limit_q="40 ms")
    for number in range(5):
        assert law.enqueue(0, 1, number) == []
    grant, dropped = law.next(0)
    assert grant is not None and dropped == [] and grant.station == 1 and grant.number == 0
    assert grant.packets == list(range(len(grant.packets))) and grant.series[0][1] >= 1
    assert grant.give_up_after is not None or grant.give_up_at is not None
    retry, lost = law.report(2 * MS, grant, 1, [True] * len(grant.packets))
    assert retry is None and lost == []
    view = law.view(1)
    assert view is not None and view["state"] == "stable" and view["successes"] >= 1
    assert law.view(9) is None
    with pytest.raises(ValueError, match="was already reported"):
        law.report(3 * MS, grant, 1, [True] * len(grant.packets))
    for number in range(100, 103):
        law.enqueue(3 * MS, 1, number)
    late, dropped = law.next(500 * MS)
    assert {number for number, _ in dropped} | set(late.packets if late else []) >= {100, 101, 102}
    assert all(reason == "expired" for _, reason in dropped)


def test_law_takes_rates() -> None:
    rate = control.Rate("HT20 MCS3 1SS LGI")
    law = control.Law([rate])
    law.enqueue(0, 2, 1)
    grant, _ = law.next(0)
    assert grant is not None and [step for step, _ in grant.series] == [rate]
    with pytest.raises(ValueError, match="acknowledged has 2 entries; allowed are 1"):
        law.report(MS, grant, 1, [True, False])


@settings(max_examples=60)
@given(st.lists(st.tuples(st.sampled_from("enr"), st.integers(0, 20 * MS), st.integers(0, 255)), max_size=80))
def test_law_loses_no_packet_in_any_order_of_calls(calls: list[tuple[str, int, int]]) -> None:
    law = control.Law()
    now, given_in, held, settled = 0, 0, [], []
    for call, passed, mask in calls:
        now += passed
        lost: list[tuple[int, str]] = []
        if call == "e":
            lost = law.enqueue(now, mask % 3, given_in)
            given_in += 1
        elif call == "n":
            grant, lost = law.next(now)
            held += [grant] if grant else []
        elif held:
            grant = held.pop(0)
            acknowledged = [bool(mask >> (place % 8) & 1) for place in range(len(grant.packets))]
            retry, lost = law.report(now, grant, mask % 4, acknowledged)
            settled += [packet for packet, got in zip(grant.packets, acknowledged) if got]
            held += [retry] if retry else []
        settled += [number for number, _ in lost]
    flying = [packet for grant in held for packet in grant.packets]
    assert len(settled) == len(set(settled)) and not set(settled) & set(flying)
    assert set(settled) | set(flying) <= set(range(given_in))


def reported(**values: float) -> None:
    """A station's report with some values of one's own."""
    usual = {"number": 1, "slot": 10**8, "frames": 1, "packets": 1, "payload": 1, "transmissions": 1}
    control.RateAllocator().on_report(0, 5, **{**usual, **values})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: control.Wqm(limit="0 ms"), "limit is 0 ms; allowed is 1 us to 10 s"),
        (lambda: control.Wqm(limits="1 ms"), "unknown field limits"),
        (lambda: control.Wqm(subframes=0), "subframes is 0; allowed is 1 to 1024"),
        (lambda: control.DelayController(window="1 us"), "delay.window is 1 us; allowed is 1 ms to 10 s"),
        (lambda: control.DelayController().set_demand(0, 1, 0), "demand.latency is 0"),
        (lambda: control.DelayController().set_demand(0, 1, 10**7, 101), "demand.percentile is 101"),
        (lambda: control.RateAllocator(target=0), "target is 0; allowed is 1 to 256"),
        (lambda: control.Law(limit_q="0 ms"), "limit-q"),
        (lambda: control.plum_allocation([10**7]), "a session needs at least 2 participants, not 1"),
        (lambda: control.plum_allocation([10**7, 10**7], rho=2.0), "rho is 2; allowed is 0 to 1"),
        (lambda: control.plum_allocation([10**7, 10**7], [1.0]), "1 weights are given for 2 capacities"),
        (lambda: control.plum_allocation([10**7, 10**7], qoe="cubic"), "cubic"),
        (lambda: control.Wqm(limit=[[[]]]), "invalid type"),
        (lambda: control.Wqm().begin(-1), "a rate is -1 bit/s; allowed is 0 to"),
        (lambda: control.DelayController().on_completion(0, 1 << 32, 0), "a flow is 4294967296; allowed is 0 to 4294967295"),
        (lambda: control.DelayController().advance(0, {1: -1}), "a time is -1 ns"),
        (lambda: control.RateAllocator().join(0, 70_000), "a receiver is 70000; allowed is 0 to 65535"),
        (lambda: reported(repeats=-1), "a number is -1"),
        (lambda: reported(spread=float("inf")), "a value is inf; allowed is a finite one, 0 or more"),
        (lambda: control.Law().enqueue(0, 0, 0, size=-1), "a number is -1"),
        (lambda: control.Law().next(-5), "a time is -5 ns"),
        (lambda: control.plum_allocation([-1, 2]), "a rate is -1 bit/s"),
        (lambda: control.StreamSender(receivers=-1), "a number is -1; allowed is 0 to 65535"),
        (lambda: control.StreamSender().poll(0.5, 0), "a time is 0.5 ns; allowed is a whole number, 0 to"),  # type: ignore[arg-type]
        (lambda: control.StreamReceiver().arrived(0, [(0, 0, -1, 5)]), "a number is -1; allowed is 0 to 4294967295"),
    ],
)
def test_invalid_values_are_refused_with_the_cores_message(make, sentence: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(airbound.ArgumentError, match=".") as caught:
        make()
    assert sentence in str(caught.value) and "\n" not in str(caught.value)
