"""Schemes written in Python, next to built-in schemes."""

import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import airbound
import pytest
from airbound.schemes import Ack, Site, Window

from conftest import short


class Fifo(airbound.QueueScheme):
    """The base class without a limit."""

    limit = 1_000_000


class LastInFirstOut(airbound.QueueScheme):
    name = "lifo"

    def dequeue(self, now: int, station: int, category: str) -> airbound.Packet | None:
        packets = self.waiting(station, category)
        return packets.pop() if packets else None


class Coin(airbound.QueueScheme):
    """Drops half of the packets."""

    def enqueue(self, now: int, packet: airbound.Packet) -> None:
        if self.random.random() < 0.5:
            self.drop(packet)
        else:
            super().enqueue(now, packet)


class Fastest(airbound.RateScheme):
    def series(self, now: int, station: int, mpdus: int) -> Sequence[tuple[airbound.Rate, int]]:
        return [(self.rates[station][-1], 2), (self.rates[station][0], 4)]


class Halving(airbound.SenderScheme):
    """A simplified Reno."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.credit = 0

    def on_ack(self, window: Window, ack: Ack) -> None:
        if ack.phase == "recovery" or not ack.window_limited:
            return
        if window.cwnd < window.ssthresh:
            window.cwnd += ack.acked
            return
        self.credit += ack.acked
        window.cwnd += self.credit // window.cwnd
        self.credit %= window.cwnd

    def on_loss(self, now: int, window: Window) -> int:
        return max(window.cwnd // 2, 2)


def focus(run: airbound.RunResult) -> dict[str, object]:
    name = short("vr-congested").focus
    return next(flow for flow in run.summary["flows"] if flow["name"] == name)


def test_the_base_queue_equals_the_built_in_fifo() -> None:
    """The same decisions in Python and in Rust give the same run, packet by packet.

    They differ on overflow: the built-in queue reports the size of its next packet, so a packet that does not fit in an aggregate
    stays in the queue and counts towards its limit.
    """
    scenario = short("vr-congested")
    own = airbound.run(scenario, Fifo)
    built_in = airbound.run(scenario.set("scheme.queue", {"kind": "fifo", "limit": {"packets": 1_000_000}}))
    assert own.packets.equals(built_in.packets)
    assert own.txops.equals(built_in.txops)
    assert own.summary["scheme"]["queue"] == "Fifo" and own.label == "Fifo"


def test_waiting_packets_can_be_taken_from_anywhere() -> None:
    taken: list[int] = []

    class SecondFirst(airbound.QueueScheme):
        def dequeue(self, now: int, station: int, category: str) -> airbound.Packet | None:
            packets = self.waiting(station, category)
            packet = packets.pop(1) if len(packets) > 1 else packets.pop(0)
            assert packet not in packets
            taken.append(packet.number)
            return packet

    airbound.run(airbound.Scenario.shipped("hello").set("duration", "200 ms"), scheme=SecondFirst)
    assert len(taken) > 50 and len(set(taken)) == len(taken)

    numbers: Any = range(6)
    waiting: Any = airbound.schemes.Waiting(numbers)
    assert [waiting.pop(2), waiting.pop(0), waiting.pop(), waiting.pop(-2)] == [2, 0, 5, 3]
    assert list(waiting) == [1, 4]
    for empty, index in ((airbound.schemes.Waiting(), -1), (waiting, 2), (waiting, -3)):
        with pytest.raises(IndexError):
            empty.pop(index)


def test_custom_and_built_in_schemes_share_a_report(tmp_path) -> None:  # type: ignore[no-untyped-def]
    schemes: list[airbound.schemes.AnyScheme] = ["fifo", LastInFirstOut, airbound.Scheme(queue=Coin, rate="llra")]
    first = airbound.compare(short("vr-congested"), schemes, seeds=2, jobs=2)
    again = airbound.compare(short("vr-congested"), schemes, seeds=2, jobs=1)
    assert first.schemes == ["fifo", "lifo", "Coin+llra"]
    assert first.flows.equals(again.flows), "the order of runs does not change the rows"
    assert all(name in first.to_text() for name in first.schemes)
    assert "lifo" in first.report(tmp_path / "report.html").read_text()
    assert first["lifo"][0].summary != first["fifo"][0].summary
    drops = [flow["drops"].get("congestion", 0) for flow in first["Coin+llra"][0].summary["flows"]]
    assert sum(drops) > 20


def test_every_hook_of_a_queue_is_called() -> None:
    called: set[str] = set()

    class Curious(airbound.QueueScheme):
        def select(self, now: int, category: str, stations: Sequence[int]) -> int | None:
            assert stations and category in ("bk", "be", "vi", "vo") and now >= 0
            called.add("select")
            return stations[-1]

        def aggregate_bound(self, now: int, station: int, category: str) -> tuple[int, int] | None:
            called.add("aggregate_bound")
            return (4, 10_000_000)

        def on_airtime(self, now: int, station: int, category: str, airtime: int, sent: bool) -> None:
            assert airtime > 0
            called.add(f"on_airtime {sent}")

        def on_rate(self, now: int, station: int, rate: int, mpdus: int) -> None:
            assert rate > 1_000_000 and mpdus >= 1
            called.add("on_rate")

        def on_report(self, now: int, station: int, category: str, mpdus: int, acknowledged: int) -> None:
            assert 0 <= acknowledged <= mpdus <= 4
            called.add("on_report")

        def on_demand(self, now: int, flow: int, demand: tuple[int, float] | None) -> None:
            if demand is not None:
                assert demand == (20_000_000, 95.0)
                called.add("on_demand")

        def next_deadline(self) -> int | None:
            called.add("next_deadline")
            return None

    run = airbound.run(short("vr-congested").set("flow.vr.demand", "20 ms"), Curious)
    assert called >= {
        "select", "aggregate_bound", "on_airtime True", "on_rate", "on_report", "on_demand", "next_deadline"
    }
    assert run.txops.filter(run.txops["transmitter"] == 0)["mpdus"].max() == 4


def test_a_queue_is_called_at_its_deadline() -> None:
    class Patient(airbound.QueueScheme):
        """Serves in the second half of each 10 ms only."""

        now = 0

        def select(self, now: int, category: str, stations: Sequence[int]) -> int | None:
            self.now = now
            return stations[0] if now % 10_000_000 >= 5_000_000 else None

        def next_deadline(self) -> int | None:
            return self.now - self.now % 5_000_000 + 5_000_000 if len(self) else None

    run = airbound.run(short("hello"), airbound.Scheme(queue=Patient))
    handed = run.txops.filter(run.txops["transmitter"] == 0)["contending_ns"]
    assert handed.len() > 10


def test_a_custom_rate_control() -> None:
    run = airbound.run(short("vr-congested"), Fastest)
    assert run.summary["scheme"] == {"queue": "linux", "rate": "Fastest", "sender": "cubic"} | (
        {"session": None} if "session" in run.summary["scheme"] else {}
    )
    sent = run.txops.filter((run.txops["transmitter"] == 0) & (run.txops["kind"] == 0))
    assert sent["rate_kbps"].n_unique() <= 2 * len(run.summary["stations"]) and sent.height > 10


def test_rate_control_receives_reports() -> None:
    heard: list[tuple[int, int]] = []

    class Attentive(Fastest):
        def on_report(
            self, now: int, station: int, used: Sequence[tuple[airbound.Rate, int]], mpdus: int, acknowledged: int
        ) -> None:
            assert sum(tries for _, tries in used) >= 1 and used[0][0] in self.rates[station]
            heard.append((mpdus, acknowledged))

        def on_link_stats(self, now: int, station: int, snr_db: float | None, rate: int | None) -> None:
            assert snr_db is None or -50 < snr_db < 120

        def next_deadline(self) -> int | None:
            return None

    airbound.run(short("vr-congested"), Attentive)
    assert heard and all(0 <= acknowledged <= mpdus for mpdus, acknowledged in heard)


def test_a_custom_sender() -> None:
    scenario = short("vr-congested").set("duration", "3 s")
    own = airbound.run(scenario, Halving)
    assert own.summary["scheme"]["sender"] == "Halving"
    bulk = [flow["goodput_mbps"] for flow in own.summary["flows"] if flow["kind"].startswith("tcp")]
    assert sum(bulk) > 1
    assert own.packets.equals(airbound.run(scenario, Halving).packets)


def test_a_sender_may_pace_and_own_its_window() -> None:
    called: set[str] = set()

    class Paced(Halving):
        owns_window = True

        def pacing_rate(self) -> float | None:
            called.add("pacing_rate")
            return 2e6

        def on_restart(self, now: int, idle: int, app_limited: bool) -> None:
            called.add("on_restart")

        def on_timeout(self, window: Window) -> None:
            assert len(window) == window.cwnd
            called.add("on_timeout")

        def on_undo(self, window: Window) -> None:
            called.add("on_undo")

    scenario = short("vr-congested").set("duration", "2 s")
    run = airbound.run(scenario, Paced)
    assert "pacing_rate" in called
    rates = [flow["goodput_mbps"] for flow in run.summary["flows"] if flow["kind"] == "tcp"]
    assert rates and all(rate < 2.2 for rate in rates)


class Broken(airbound.QueueScheme):
    def dequeue(self, now: int, station: int, category: str) -> airbound.Packet | None:
        if now > 500_000_000:
            raise ZeroDivisionError("my own mistake")
        return super().dequeue(now, station, category)


def test_an_exception_ends_the_run_with_its_trace(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(airbound.SchemeError) as caught:
        airbound.run(short("vr-congested"), Broken, out=tmp_path / "run")
    assert "scheme Broken failed at access-point, 0.50" in str(caught.value)
    assert "ZeroDivisionError: my own mistake" in str(caught.value)
    cause = caught.value.__cause__
    assert isinstance(cause, ZeroDivisionError)
    assert "in dequeue" in "".join(traceback.format_exception(cause))
    assert not (tmp_path / "run" / "summary.json").exists()
    with pytest.raises(airbound.SchemeError):
        airbound.compare(short("vr-congested"), ["fifo", Broken], jobs=2)


class Thief(airbound.QueueScheme):
    """Returns the same packet twice."""

    first: airbound.Packet | None = None

    def dequeue(self, now: int, station: int, category: str) -> airbound.Packet | None:
        self.first = self.first or super().dequeue(now, station, category)
        return self.first


class Elsewhere(airbound.QueueScheme):
    def select(self, now: int, category: str, stations: Sequence[int]) -> int | None:
        return 4711


class Misspelt(airbound.QueueScheme):
    def enqueue(self, now: int, packet: airbound.Packet) -> None:
        self.drop(packet, "boredom")


class Nothing(airbound.QueueScheme):
    def dequeue(self, now: int, station: int, category: str) -> airbound.Packet | None:
        return "a packet"  # type: ignore[return-value]


class NoConstructor(airbound.QueueScheme):
    def __init__(self) -> None:
        """Has no site parameter."""


class NoSteps(airbound.RateScheme):
    def series(self, now: int, station: int, mpdus: int) -> Sequence[tuple[airbound.Rate, int]]:
        return []


class Foreign(airbound.RateScheme):
    def series(self, now: int, station: int, mpdus: int) -> Sequence[tuple[airbound.Rate, int]]:
        return [(airbound.Rate("HE160 MCS11 4SS 0.8us"), 1)]


class NoTries(airbound.RateScheme):
    def series(self, now: int, station: int, mpdus: int) -> Sequence[tuple[airbound.Rate, int]]:
        return [(self.rates[station][0], 0)]


class Silent(airbound.RateScheme):
    pass


class Mute(airbound.SenderScheme):
    pass


@pytest.mark.parametrize(
    ("scheme", "sentence"),
    [
        (Thief, "is not waiting in this queue"),
        (Elsewhere, "`select` returned station 4711, which is not eligible now"),
        (Misspelt, "boredom is not a drop reason; allowed are queue_full"),
        (Nothing, "Packet"),
        (NoConstructor, "__init__"),
        (NoSteps, "a chain has 0 steps; allowed are 1 to 4"),
        (Foreign, "which the station cannot receive"),
        (NoTries, "a step of a chain has no tries"),
        (Silent, "Silent does not implement series(), which returns the rates to try"),
        (Mute, "Mute does not implement on_ack(), which increases the window"),
    ],
)
def test_invalid_results_end_the_run(scheme: airbound.schemes.AnyPart, sentence: str) -> None:
    with pytest.raises(airbound.SchemeError) as caught:
        airbound.run(short("vr-congested"), scheme)
    assert sentence in str(caught.value)


def test_names_are_checked() -> None:
    class Taken(airbound.QueueScheme):
        name = "fifo"

    class Odd(airbound.QueueScheme):
        name = "../../etc"

    with pytest.raises(airbound.ScenarioError, match='"fifo" is the name of a part of this program'):
        airbound.run(short(), Taken)
    with pytest.raises(airbound.ScenarioError, match="is not a name for a scheme; allowed are 1 to 60 letters"):
        airbound.run(short(), Odd)


def test_a_custom_queue_replaces_law() -> None:
    scenario = short().set("scheme", {"queue": "law"})
    assert airbound.run(scenario, Fifo).summary["scheme"]["rate"] == "minstrel-ht"
    with pytest.raises(airbound.ScenarioError, match="law controls queue and rate"):
        airbound.run(scenario, airbound.Scheme(queue=Fifo, rate="law"))


def test_a_file_cannot_name_a_custom_scheme(tmp_path) -> None:  # type: ignore[no-untyped-def]
    run = airbound.run(short(), Fifo, out=tmp_path / "run")
    with pytest.raises(airbound.ScenarioError, match="custom"):
        run.scenario  # noqa: B018
    assert run.plot_latency().axes


def test_properties_of_packets_and_rates() -> None:
    seen: list[airbound.Packet] = []

    class Looking(airbound.QueueScheme):
        def enqueue(self, now: int, packet: airbound.Packet) -> None:
            assert packet.enqueued == now and packet.size >= 40 and packet.category == "be"
            seen.append(packet)
            super().enqueue(now, packet)

    airbound.run(short(), Looking)
    assert len({hash(packet) for packet in seen}) <= len(seen) and "station" in repr(seen[0])
    rate = airbound.Rate("VHT80 MCS7 2SS SGI")
    assert (rate.format, rate.mcs, rate.streams, rate.width_mhz, rate.guard_interval_ns) == ("VHT", 7, 2, 80, 400)
    assert rate.bits_per_s == 650_000_000 and airbound.Rate(str(rate)) == rate and hash(airbound.Rate(str(rate))) == hash(rate)
    with pytest.raises(ValueError, match="no PHY rate|not a"):
        airbound.Rate("warp 9")


def test_a_misspelt_method_is_named() -> None:
    with pytest.warns(UserWarning, match=r"no run calls Misspelt\.dequeu; did you mean dequeue\?"):

        class Misspelt(airbound.QueueScheme):
            def dequeu(self, now: int, station: int, category: str) -> airbound.Packet | None:
                return None

    with warnings.catch_warnings():
        warnings.simplefilter("error")

        class Helped(airbound.QueueScheme):
            def next_packet(self) -> None:
                """A method of its own is no mistake."""
