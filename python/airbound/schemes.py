"""Custom schemes: a queue, a rate control or a sender written in Python; and rules for the bitrate of a stream.

Derive a class from :class:`QueueScheme`, :class:`RateScheme` or :class:`SenderScheme`, and pass it as a scheme::

    class LastInFirstOut(airbound.QueueScheme):
        def dequeue(self, now, station, category):
            return self.waiting(station, category).pop()

    airbound.compare("vr-congested", ["fifo", "linux", LastInFirstOut])

Each transmitter of a run (for senders, each connection) has its own object, made on first use. Times are whole nanoseconds since the
start of the run, rates bits per second. The same calls have to return the same results: draw from ``self.random``, whose seed derives
from that of the run, and read no clock. An exception ends the run with :class:`airbound.SchemeError`, whose cause it is; so does an
invalid result. Errors never lose packets.
"""

from __future__ import annotations

import difflib
import random
import warnings
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from airbound import _native
from airbound._native import Ack, Packet, Rate, StreamReport, Window

__all__ = [
    "REASONS",
    "Ack",
    "AnyPart",
    "AnyScheme",
    "BitrateRule",
    "Packet",
    "QueueScheme",
    "Rate",
    "RateScheme",
    "Scheme",
    "SenderScheme",
    "Site",
    "StreamReport",
    "Waiting",
    "Window",
    "resolve",
]

#: Drop reasons, by their names in records.
REASONS = ("queue_full", "memory_limit", "congestion", "expired")


@dataclass(frozen=True)
class Site:
    """The transmitter or flow that an object of a scheme serves."""

    name: str
    """The transmitter, ``access-point`` or the name of a station; for senders the flow."""
    number: int
    """0 is the access point, 1 the first station; for senders the number of the flow."""
    seed: int
    """The seed of its random numbers: an integer of 64 bits."""


class _Part:
    name: ClassVar[str] = ""
    """The name in tables and plots, of letters, digits, ``-`` and ``_``; the name of the class by default."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.random = random.Random(site.seed)

    def __init_subclass__(cls) -> None:
        """Warns of a method that nothing calls and whose name is nearly that of one that a run calls."""
        super().__init_subclass__()
        called = {name for base in cls.__mro__[1:] for name, one in vars(base).items() if callable(one) and not name.startswith("_")}
        for name, one in vars(cls).items():
            near = difflib.get_close_matches(name, called, n=1, cutoff=0.85)
            if callable(one) and name not in called and near and not name.startswith("_"):
                warnings.warn(f"no run calls {cls.__name__}.{name}; did you mean {near[0]}?", stacklevel=2)


class Waiting(deque[Packet]):
    """Queued packets, the oldest first: a deque that takes packets out of its middle, too."""

    def pop(self, index: int = -1) -> Packet:
        """Removes the packet at ``index`` and returns it; the newest without one, as a list does.

        Raises ``IndexError`` where there is none. Both ends take the same time for any length; elsewhere it grows with the distance
        from the nearer end.
        """
        if index == -1 or index == len(self) - 1:
            return super().pop()
        if index == 0:
            return self.popleft()
        packet = self[index]
        del self[index]
        return packet


class QueueScheme(_Part):
    """The queue of a transmitter: admission, drops, order. Fills the ``queue`` slot of a scheme.

    By default packets of a station and access category leave in order of arrival, the station with the oldest packet is served first,
    and packets are dropped on arrival if ``limit`` packets are queued. Override methods to change this.
    """

    limit: int = 1000
    """The limit of queued packets, all stations together."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._lists: dict[tuple[int, str], Waiting] = {}
        self._given_up: list[tuple[int, str]] = []

    def waiting(self, station: int, category: str) -> Waiting:
        """The queued packets for a station in an access category (``"bk"``, ``"be"``, ``"vi"``, ``"vo"``), the oldest first.

        It is the queue itself: ``pop(i)``, ``popleft()``, ``append(packet)``, ``insert(i, packet)`` and ``del`` change it.
        """
        return self._lists.setdefault((station, category), Waiting())

    def __len__(self) -> int:
        """The number of queued packets, all stations together."""
        return sum(map(len, self._lists.values()))

    def drop(self, packet: Packet, reason: str = "congestion") -> None:
        """Drops a queued packet, or the one that arrived. ``reason`` is one of :data:`REASONS`.

        Only :meth:`enqueue` and :meth:`dequeue` may call it, after removing the packet from the lists. Raises ``ValueError`` for
        another reason.
        """
        if reason not in REASONS:
            raise ValueError(f"{reason} is not a drop reason; allowed are {', '.join(REASONS)}")
        self._given_up.append((packet.number, reason))

    def enqueue(self, now: int, packet: Packet) -> None:
        """A packet arrived. Queues it or passes it to :meth:`drop`."""
        if len(self) >= self.limit:
            self.drop(packet, "queue_full")
        else:
            self.waiting(packet.station, packet.category).append(packet)

    def select(self, now: int, category: str, stations: Sequence[int]) -> int | None:
        """Returns which of ``stations`` is served next, or ``None`` for none until :meth:`next_deadline`.

        ``stations`` have packets, here or awaiting retransmission below, and may be served; the one with the oldest packet is first.
        Never empty.
        """
        return stations[0]

    def dequeue(self, now: int, station: int, category: str) -> Packet | None:
        """Returns the next packet for the station being served, or ``None`` to end its aggregate.

        Called while the aggregate has room and the station has packets here. May drop packets.
        """
        packets = self.waiting(station, category)
        return packets.popleft() if packets else None

    def aggregate_bound(self, now: int, station: int, category: str) -> tuple[int, int] | None:
        """Limits of the next aggregate to a station: MPDUs and airtime in ns; ``None`` for those of standard and hardware."""
        return None

    def on_airtime(self, now: int, station: int, category: str, airtime: int, sent: bool) -> None:
        """A station used ``airtime`` ns: ``sent`` to it, or received from it. Includes failed tries."""

    def on_rate(self, now: int, station: int, rate: int, mpdus: int) -> None:
        """The rate of data to a station changed to ``rate`` bit/s, with at most ``mpdus`` full-size packets per aggregate."""

    def on_report(self, now: int, station: int, category: str, mpdus: int, acknowledged: int) -> None:
        """``acknowledged`` of the ``mpdus`` packets of an aggregate were acknowledged. The others are retransmitted or dropped below."""

    def on_demand(self, now: int, flow: int, demand: tuple[int, float] | None) -> None:
        """A flow's latency demand changed: latency in ns and percentile, or none."""

    def next_deadline(self) -> int | None:
        """When to call :meth:`select` again without an event, ns."""
        return None


class RateScheme(_Part):
    """PHY rate and tries of each transmission. Fills the ``rate`` slot of a scheme. :meth:`series` is required."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.rates: dict[int, Sequence[Rate]] = {}
        """The rates that each station can receive, in ascending order."""

    def add_station(self, station: int, rates: Sequence[Rate]) -> None:
        """A station appeared: its number, and its rates in ascending order of bit/s. Called before any other method about it."""
        self.rates[station] = rates

    def series(self, now: int, station: int, mpdus: int) -> Sequence[tuple[Rate, int]]:
        """Returns the rate chain of the next transmission to a station: 1 to 4 steps of a rate and its tries, 1 to 255.

        ``mpdus`` is the expected number of packets in the aggregate.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement series(), which returns the rates to try")

    def on_report(
        self, now: int, station: int, used: Sequence[tuple[Rate, int]], mpdus: int, acknowledged: int
    ) -> None:
        """A transmission ended at ``now`` (ns): the steps used, with the number of tries made of each, and its MPDUs.

        A success is that of the last step.
        """

    def on_link_stats(self, now: int, station: int, snr_db: float | None, rate: int | None) -> None:
        """The link changed: signal-to-noise ratio at the receiver, and the rate in bit/s if it is set elsewhere."""

    def next_deadline(self) -> int | None:
        """When to call the rate control again without a report, ns."""
        return None


class SenderScheme(_Part):
    """The congestion control of TCP. Fills the ``sender`` slot of a scheme. :meth:`on_ack` and :meth:`on_loss` are required.

    The rest of TCP is as in Linux. Windows are in segments. During fast recovery proportional rate reduction sets the window, unless
    ``owns_window``.
    """

    owns_window: ClassVar[bool] = False
    """Whether :meth:`on_ack` sets the window in every phase, as BBR does."""

    def on_ack(self, window: Window, ack: Ack) -> None:
        """An acknowledgement arrived. Changes ``window.cwnd`` and ``window.ssthresh`` in place."""
        raise NotImplementedError(f"{type(self).__name__} does not implement on_ack(), which increases the window")

    def on_loss(self, now: int, window: Window) -> int:
        """A loss episode began. Returns the new slow-start threshold in segments."""
        raise NotImplementedError(f"{type(self).__name__} does not implement on_loss(), which returns the slow-start threshold")

    def on_timeout(self, window: Window) -> None:
        """The retransmission timer expired."""

    def on_undo(self, window: Window) -> None:
        """The last loss episode was spurious."""

    def on_restart(self, now: int, idle: int, app_limited: bool) -> None:
        """Sending resumes with nothing in flight, ``idle`` ns after the last transmission."""

    def pacing_rate(self) -> float | None:
        """The pacing rate in bit/s; ``None`` at the start of a connection disables pacing for it."""
        return None


class BitrateRule(_Part):
    """A rule for the bitrate of a stream of video, which enters :func:`airbound.arena`. :meth:`on_report` is required."""

    def on_report(self, report: StreamReport) -> float:
        """A report of the receiver arrived, one each 50 to 250 ms. Returns the next rate in bit/s; ``report.rate`` for no change.

        The rate is that of all packets, and is kept within ``report.least`` and ``report.most``. Without reports it stays.
        """
        raise NotImplementedError(f"{type(self).__name__} does not implement on_report(), which returns the next rate")


#: A custom class for one slot.
AnyPart: TypeAlias = "type[QueueScheme] | type[RateScheme] | type[SenderScheme]"


@dataclass(frozen=True)
class Scheme:
    """A scheme, slot by slot: the name of a built-in part, a custom class, or ``None`` for the scenario's part.

    ``Scheme(queue=MyQueue, rate="llra")`` is a custom queue with a built-in rate control.
    """

    queue: str | type[QueueScheme] | None = None
    rate: str | type[RateScheme] | None = None
    sender: str | type[SenderScheme] | None = None
    session: str | None = None
    label: str | None = None
    """The name in tables and plots; the names of the parts, joined by ``+``, by default."""


#: Scheme arguments.
AnyScheme: TypeAlias = "str | Scheme | AnyPart"

_SLOTS = (("queue", QueueScheme), ("rate", RateScheme), ("sender", SenderScheme))


def _name(part: type[_Part]) -> str:
    return part.name or part.__name__


def resolve(scheme: AnyScheme | None, scenario: _native.Scenario) -> tuple[str, _native.Asked]:
    """Label of a scheme, and the argument of the native module.

    Raises :class:`airbound.ScenarioError` if it is not a scheme.
    """
    if isinstance(scheme, type):
        slot = next((slot for slot, base in _SLOTS if issubclass(scheme, base)), None)
        if slot is not None:
            scheme = Scheme(**{slot: scheme})  # type: ignore[arg-type]
    if scheme is None or isinstance(scheme, str):
        label = scenario.own_scheme if scheme is None else scheme
        return label, (label, scheme, [])
    if not isinstance(scheme, Scheme):
        raise _native.ScenarioError(
            f"{scheme!r} is not a scheme; allowed are a name, a Scheme, and a class that derives from QueueScheme, RateScheme or "
            "SenderScheme"
        )
    built_in, own, names = [], [], []
    for slot, base in _SLOTS:
        part = getattr(scheme, slot)
        if isinstance(part, str):
            built_in.append(part)
            names.append(part)
        elif isinstance(part, type) and issubclass(part, base):
            own.append((slot, _name(part), part))
            names.append(_name(part))
        elif part is not None:
            raise _native.ScenarioError(
                f"{slot} of a scheme is {part!r}; allowed are a name and a class that derives from {base.__name__}"
            )
    laws = [part for part in built_in if part.split("-")[0] == "law"]
    if laws and any(slot != "sender" for slot, _, _ in own):
        raise _native.ScenarioError(
            f"law controls queue and rate with one state, so {laws[0]} cannot be combined with {own[0][1]}"
        )
    if scheme.session is not None:
        built_in.append(scheme.session)
        names.append(scheme.session)
    label = scheme.label or "+".join(names) or scenario.own_scheme
    return label, (label, "+".join(built_in) or None, own)
