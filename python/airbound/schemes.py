"""Schemes of one's own: a queue, a rate control or a sender written in Python, beside those that are built in.

Derive a class from :class:`QueueScheme`, :class:`RateScheme` or :class:`SenderScheme`, and give it where a scheme is wanted::

    class LastInFirstOut(airbound.QueueScheme):
        def dequeue(self, now, station, category):
            return self.waiting(station, category).pop()

    airbound.compare("vr-congested", ["fifo", "linux", LastInFirstOut])

Each transmitter of a run (each connection, for a sender) gets an object of its own, made when it is first used. Times are whole
nanoseconds from the beginning of the run, rates bits per second. The same calls have to give the same answers: draw from
``self.random``, whose seed follows from that of the run, and read no clock. An exception ends the run with
:class:`airbound.SchemeError`, whose cause it is; so does an answer that cannot be followed. No packet is ever lost by a mistake.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from airbound import _native
from airbound._native import Ack, Packet, Rate, Window

__all__ = [
    "REASONS",
    "Ack",
    "AnyPart",
    "AnyScheme",
    "Packet",
    "QueueScheme",
    "Rate",
    "RateScheme",
    "Scheme",
    "SenderScheme",
    "Site",
    "Window",
    "asked",
]

#: Why a packet may be dropped; the names in records.
REASONS = ("queue_full", "memory_limit", "congestion", "expired")


@dataclass(frozen=True)
class Site:
    """For whom an object of a scheme is made."""

    name: str
    """The transmitter, such as ``access-point`` or the name of a station; for a sender the flow."""
    number: int
    """0 is the access point, 1 the first station; for a sender the number of the flow."""
    seed: int
    """From where it may draw what it leaves to chance."""


class _Part:
    name: ClassVar[str] = ""
    """The name in tables and plots, of letters, digits, ``-`` and ``_``; that of the class unless given."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.random = random.Random(site.seed)


class QueueScheme(_Part):
    """Which packets wait, are dropped, go next: the ``queue`` slot of a scheme.

    As it is, packets of each station and category leave in the order in which they came, the station of the oldest goes first, and
    a packet that finds ``limit`` packets waiting is dropped. Override what is to be otherwise.
    """

    limit: int = 1000
    """Most packets that wait, of all stations together."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self._lists: dict[tuple[int, str], deque[Packet]] = {}
        self._given_up: list[tuple[int, str]] = []

    def waiting(self, station: int, category: str) -> deque[Packet]:
        """The packets for a station in a category (``"bk"``, ``"be"``, ``"vi"``, ``"vo"``), the oldest first."""
        return self._lists.setdefault((station, category), deque())

    def __len__(self) -> int:
        """How many packets wait, of all stations together."""
        return sum(map(len, self._lists.values()))

    def drop(self, packet: Packet, reason: str = "congestion") -> None:
        """Gives up a packet that waits, or the one that has just come. ``reason`` is one of :data:`REASONS`.

        To be called in :meth:`enqueue` and :meth:`dequeue` only. The packet has to be out of the lists already. Raises
        ``ValueError`` for another reason.
        """
        if reason not in REASONS:
            raise ValueError(f"{reason} is no reason to drop a packet; allowed are {', '.join(REASONS)}")
        self._given_up.append((packet.number, reason))

    def enqueue(self, now: int, packet: Packet) -> None:
        """A packet came. It waits unless it is given to :meth:`drop`."""
        if len(self) >= self.limit:
            self.drop(packet, "queue_full")
        else:
            self.waiting(packet.station, packet.category).append(packet)

    def select(self, now: int, category: str, stations: Sequence[int]) -> int | None:
        """Which of ``stations`` is served next; ``None``: nobody now (say when in :meth:`next_deadline`).

        They are those that have packets, here or sent in vain below, and may send; the one whose oldest packet came first is the
        first. Never empty.
        """
        return stations[0]

    def dequeue(self, now: int, station: int, category: str) -> Packet | None:
        """The next packet for the station that is served, asked for until its aggregate is full; ``None``: no more now.

        Only asked for where the station has packets here. Packets may be dropped on the way.
        """
        packets = self.waiting(station, category)
        return packets.popleft() if packets else None

    def aggregate_bound(self, now: int, station: int, category: str) -> tuple[int, int] | None:
        """Most MPDUs, and longest airtime in ns, of the next aggregate to a station; ``None``: what standard and hardware allow."""
        return None

    def on_airtime(self, now: int, station: int, category: str, airtime: int, sent: bool) -> None:
        """A station took so much air, in ns: ``sent`` to it, or received from it. Tries that failed count."""

    def on_rate(self, now: int, station: int, rate: int, mpdus: int) -> None:
        """Data to a station goes out at ``rate`` bit/s now, at which an aggregate holds at most ``mpdus`` full-size packets."""

    def on_report(self, now: int, station: int, category: str, mpdus: int, acknowledged: int) -> None:
        """Of an aggregate of ``mpdus`` packets so many were acknowledged. The others are sent again or given up below."""

    def on_demand(self, now: int, flow: int, demand: tuple[int, float] | None) -> None:
        """A latency in ns is demanded of a flow at a percentile from now on, or none any more."""

    def next_deadline(self) -> int | None:
        """When :meth:`select` wants to be called again although nothing came."""
        return None


class RateScheme(_Part):
    """PHY rate and tries of each transmission: the ``rate`` slot of a scheme. :meth:`series` has to be written."""

    def __init__(self, site: Site) -> None:
        super().__init__(site)
        self.rates: dict[int, Sequence[Rate]] = {}
        """What each station can receive, the slowest rate first."""

    def add_station(self, station: int, rates: Sequence[Rate]) -> None:
        """A station is seen for the first time; called before anything else about it."""
        self.rates[station] = rates

    def series(self, now: int, station: int, mpdus: int) -> Sequence[tuple[Rate, int]]:
        """The rates of the next transmission to a station, each with its number of tries, 1 to 255: 1 to 4 steps.

        ``mpdus`` are likely to go out together.
        """
        raise NotImplementedError(f"{type(self).__name__} has to say in series() which rates to try")

    def on_report(
        self, now: int, station: int, used: Sequence[tuple[Rate, int]], mpdus: int, acknowledged: int
    ) -> None:
        """What came of a transmission: the steps with the tries made of each; success, if any, belongs to the last."""

    def on_link_stats(self, now: int, station: int, snr_db: float | None, rate: int | None) -> None:
        """News of the link: the signal-to-noise ratio at the receiver, and the rate in bit/s where something else decides it."""

    def next_deadline(self) -> int | None:
        """When the simulator wants to look at the rate control although nothing was reported."""
        return None


class SenderScheme(_Part):
    """The congestion window of TCP: the ``sender`` slot of a scheme. :meth:`on_ack` and :meth:`on_loss` have to be written.

    Everything else of TCP is Linux's. Windows count segments. During fast recovery proportional rate reduction rules, unless
    ``owns_window``.
    """

    owns_window: ClassVar[bool] = False
    """Whether :meth:`on_ack` sets the window in every phase, as BBR does."""

    def on_ack(self, window: Window, ack: Ack) -> None:
        """An acknowledgement came: change ``window.cwnd`` and ``window.ssthresh`` in place."""
        raise NotImplementedError(f"{type(self).__name__} has to say in on_ack() how the window grows")

    def on_loss(self, now: int, window: Window) -> int:
        """A new episode of loss begins; returns the new slow-start threshold in segments."""
        raise NotImplementedError(f"{type(self).__name__} has to say in on_loss() how the window shrinks")

    def on_timeout(self, window: Window) -> None:
        """The retransmission timer expired."""

    def on_undo(self, window: Window) -> None:
        """The last episode of loss proved spurious."""

    def on_restart(self, now: int, idle: int, app_limited: bool) -> None:
        """Sending starts again with nothing in flight, ``idle`` ns after the last transmission."""

    def pacing_rate(self) -> float | None:
        """The rate in bit/s at which segments are spaced. Who returns ``None`` when a connection begins is never paced."""
        return None


#: A class of one's own, for one slot.
AnyPart: TypeAlias = "type[QueueScheme] | type[RateScheme] | type[SenderScheme]"


@dataclass(frozen=True)
class Scheme:
    """Who decides, slot by slot: a name of what is built in, a class of one's own, or ``None`` for what the scenario has.

    ``Scheme(queue=MyQueue, rate="llra")`` is a queue of one's own over a rate control that is built in.
    """

    queue: str | type[QueueScheme] | None = None
    rate: str | type[RateScheme] | None = None
    sender: str | type[SenderScheme] | None = None
    session: str | None = None
    label: str | None = None
    """The name in tables and plots; the names of the parts, joined by ``+``, unless given."""


#: What may be given where a scheme is wanted.
AnyScheme: TypeAlias = "str | Scheme | AnyPart"

_SLOTS = (("queue", QueueScheme), ("rate", RateScheme), ("sender", SenderScheme))


def _name(part: type[_Part]) -> str:
    return part.name or part.__name__


def asked(scheme: AnyScheme | None, scenario: _native.Scenario) -> tuple[str, _native.Asked]:
    """The label of a scheme, and what the native module takes.

    Raises :class:`airbound.ScenarioError` for anything that is no scheme.
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
            f"{scheme!r} is no scheme; allowed are a name, a Scheme, and a class that derives from QueueScheme, RateScheme or "
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
