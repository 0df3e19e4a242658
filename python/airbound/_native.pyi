"""The native module. Use the package `airbound`, which exports its public names."""

from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any, Literal, TypeAlias, final

Category: TypeAlias = str
Loss: TypeAlias = tuple[int, str]
Asked: TypeAlias = tuple[str, str | None, list[tuple[str, str, Any]]]
Value: TypeAlias = bool | int | float | str | Sequence["Value"] | dict[str, "Value"]

class ScenarioError(ValueError):
    """A scenario, a change to it, or a scheme is invalid; the message says what, where, and what is allowed."""

class SchemeError(RuntimeError):
    """A scheme written in Python failed in a run; its own exception, with its trace, is the cause."""

class ArgumentError(ValueError):
    """An argument of a call is out of range, such as a time that runs backwards or a packet above the MTU; nothing has happened."""

class ActionError(ValueError):
    """An action of an environment has another number of values, or a value out of range; the message says which, and what is allowed."""

class RunError(RuntimeError):
    """A run cannot be written, read or finished; the message says why."""

def main(arguments: Sequence[str]) -> int: ...
def catalogue() -> dict[str, list[tuple[str, str]]]:
    """The words that a scenario may choose from, such as ``"queues"``: pairs of name and meaning."""

def shipped() -> list[tuple[str, str]]:
    """The shipped scenarios: pairs of name and title."""

def places() -> list[tuple[str, str]]:
    """The places of :class:`Link`: pairs of name and description."""

@final
class Arrival:
    """A packet that has arrived."""

    @property
    def direction(self) -> Literal["down", "up"]:
        """``"down"`` or ``"up"``."""

    @property
    def sent_ns(self) -> int:
        """The time at which it was pushed, ns."""

    @property
    def at_ns(self) -> int:
        """The time at which it arrived, ns."""

    @property
    def data(self) -> bytes:
        """Its bytes as they were pushed."""

@final
class Link:
    """A simulated Wi-Fi network between a server and a station, in a place with a name (:func:`places`).

    It has no clock, socket or thread: times are the caller's, whole nanoseconds since the start that never decrease, and the same calls
    and seed give the same arrivals on every machine. ``scheme`` is that of the access point, such as ``"codel"``; ``demand_ns`` the
    latency in which packets to the station are to arrive, ns. Raises :class:`ScenarioError` for an unknown place or scheme. Another
    thread than that which made it gets a ``RuntimeError``.
    """

    def __new__(
        cls, place: str, *, scheme: str | None = None, seed: int = 1, demand_ns: int | None = None
    ) -> Link: ...
    @staticmethod
    def of_scenario(
        text: str, station: str, *, scheme: str | None = None, seed: int = 1, demand_ns: int | None = None
    ) -> Link:
        """The link to a station of a scenario file's text (docs/use/scenarios.md). Times and seed as in the constructor."""

    def push(self, now_ns: int, direction: Literal["down", "up"], data: bytes) -> None:
        """Sends a packet at ``now_ns``: the payload of a UDP datagram, at most 1472 bytes. ``direction`` is ``"down"``, to the station,
        or ``"up"``. Raises ``ArgumentError``, without effect, for a larger packet and for a time before that of an earlier call."""

    def next_event(self) -> int | None:
        """The next time at which :meth:`take` may return a packet, ns; ``None`` while no packet is on its way."""

    def take(self, now_ns: int) -> list[Arrival]:
        """Advances to ``now_ns`` and returns the packets that have arrived since the last call, in order of time. Raises ``ArgumentError``
        for a time before that of an earlier call."""

    def counts(self, direction: Literal["down", "up"]) -> tuple[int, int, int]:
        """The packets of a direction so far: numbers of those pushed, arrived and lost."""

def run(
    scenario: Scenario,
    scheme: Asked,
    seed: int | None,
    folder: PathLike[str],
    log_packets: bool,
    capture: PathLike[str] | None,
    progress: Callable[[float], None] | None,
) -> None: ...
def compare(
    scenario: Scenario,
    schemes: list[Asked],
    seeds: int,
    folder: PathLike[str],
    log_packets: bool,
    jobs: int | None,
    progress: Callable[[float], None] | None,
) -> None: ...
def report(
    runs: Sequence[tuple[str, PathLike[str]]],
    page: PathLike[str] | None,
    focus: str | None,
    baseline: str | None,
    width: int,
) -> str: ...
def write_page(page: PathLike[str], html: str) -> None:
    """Writes a page; a file that is no page of Airbound is left alone, with ``RunError``."""

def verdict(runs: Sequence[tuple[str, PathLike[str]]], focus: str | None, baseline: str | None) -> str: ...
def groups(runs: Sequence[tuple[str, PathLike[str]]], focus: str | None) -> list[tuple[str, list[str]]]: ...
def arena(
    rules: list[str],
    own: list[tuple[str, type[object]]],
    schemes: list[str],
    places: list[str],
    quick: bool,
    seeds: int | None,
    jobs: int | None,
    width: int,
    progress: Callable[[float], None] | None,
) -> tuple[str, str, str]: ...
def execute(order: str) -> str:
    """Executes the run of an order of :meth:`Sweep.take`; called by workers."""

@final
class Sweep:
    """A running sweep. No method may be called after :meth:`finish`."""

    def __new__(
        cls, grid: str, folder: PathLike[str], until: str | None, seeds: int | None, replace: bool
    ) -> Sweep: ...
    @property
    def name(self) -> str: ...
    def is_done(self) -> bool: ...
    def progress(self) -> tuple[int, int, int]: ...
    def local(self, jobs: int | None, progress: Callable[[float], None] | None) -> None: ...
    def take(self) -> tuple[int, int, str] | None: ...
    def accept(self, point: int, number: int, result: str) -> None: ...
    def give_back(self, point: int, number: int) -> None: ...
    def finish(self, width: int) -> tuple[str, str]: ...
@final
class Stepper:
    """Episodes of one scenario, numbered from 0, each with a seed of its own. Values and measurements are arrays of bytes in the
    machine's order: 64-bit integers without sign, and 32-bit floats.
    """

    GREATEST: float
    def __new__(
        cls, scenario: Scenario, scheme: Asked, decision: str, step: int, episodes: int, threads: int
    ) -> Stepper: ...
    @staticmethod
    def gauges() -> list[str]: ...
    @property
    def knobs(self) -> list[tuple[str, int, int]]: ...
    def reset(self, seeds: list[int | None]) -> None: ...
    def step(self, values: bytes, moves: bytes) -> tuple[bytes, bytes]: ...
    def finish(self, numbers: list[int]) -> list[str]: ...
@final
class Scenario:
    """The description of a simulation. Immutable and always valid: :meth:`set` returns a changed one.

    All constructors raise :class:`ScenarioError` with file, line, key, the problem and the allowed values.
    """

    @staticmethod
    def shipped(name: str) -> Scenario:
        """The shipped scenario of a name; :func:`airbound.shipped` lists them."""

    @staticmethod
    def from_file(path: str | PathLike[str]) -> Scenario:
        """The scenario of a file (docs/reference/scenario-keys.md)."""

    @staticmethod
    def from_text(text: str, name: str = "scenario") -> Scenario:
        """The scenario of the text of a file. Its paths are relative to the working directory."""

    @staticmethod
    def from_dict(table: dict[str, Value], name: str = "scenario") -> Scenario:
        """The scenario of nested dicts and lists. Underscores in keys stand for hyphens."""

    def set(self, key: str, value: Value) -> Scenario:
        """The scenario with one value changed: ``set("flow.bulk.count", 1)``, ``set("air.width", "80 MHz")``."""

    def with_trace(self, path: str | PathLike[str]) -> Scenario:
        """The scenario with this trace for the first station with a trace channel."""

    @property
    def name(self) -> str:
        """The name in results."""

    @property
    def title(self) -> str:
        """The title, one line."""

    @property
    def description(self) -> str:
        """The description."""

    @property
    def seed(self) -> int:
        """The default seed of runs: an integer from 0 to 2^63 - 1."""

    @property
    def duration_ns(self) -> int:
        """The measured time after the warm-up, ns."""

    @property
    def warm_up_ns(self) -> int:
        """The time simulated before the measurement, ns."""

    @property
    def schemes(self) -> list[str]:
        """The schemes compared by default."""

    @property
    def own_scheme(self) -> str:
        """The name of the default scheme of runs."""

    @property
    def focus(self) -> str | None:
        """The focus flow."""

    @property
    def stations(self) -> list[str]:
        """The names of the stations."""

    @property
    def flows(self) -> list[str]:
        """The names of the flows."""

    def to_toml(self) -> str:
        """The text of the scenario with all defaults. Reading it gives the same scenario."""

    def to_json(self) -> str:
        """The scenario with all defaults as JSON."""

@final
class Packet:
    """A packet in a :class:`airbound.QueueScheme`."""

    @property
    def number(self) -> int:
        """The number in this queue, ascending."""

    @property
    def flow(self) -> int:
        """The number of the flow; TCP acknowledgements are a separate flow."""

    @property
    def station(self) -> int:
        """The number of the next hop."""

    @property
    def category(self) -> Category:
        """The access category: ``"bk"``, ``"be"``, ``"vi"`` or ``"vo"``."""

    @property
    def size(self) -> int:
        """The length from the IP header on, in bytes."""

    @property
    def enqueued(self) -> int:
        """The time of arrival in the queue, ns."""

    def __hash__(self) -> int: ...

@final
class Rate:
    """A PHY rate of the standard, such as ``Rate("VHT80 MCS7 2SS SGI")``. Raises ``ArgumentError`` for an unknown rate."""

    def __new__(cls, text: str) -> Rate: ...
    @property
    def bits_per_s(self) -> int:
        """The rate, bit/s."""

    @property
    def format(self) -> str:
        """``"OFDM"``, ``"HT"``, ``"VHT"`` or ``"HE"``."""

    @property
    def mcs(self) -> int:
        """The modulation and coding scheme index."""

    @property
    def streams(self) -> int:
        """The number of spatial streams, 1 to 4."""

    @property
    def width_mhz(self) -> int:
        """The channel width, MHz."""

    @property
    def guard_interval_ns(self) -> int:
        """The guard interval, ns."""

    def __hash__(self) -> int: ...

@final
class Window:
    """The congestion window, in segments."""

    cwnd: int
    """The congestion window, segments; at least 1."""
    ssthresh: int
    """The slow-start threshold, segments."""
    def __len__(self) -> int: ...

@final
class StreamReport:
    """News of a receiver, as a :class:`airbound.BitrateRule` sees them."""

    @property
    def now(self) -> int:
        """The time of its arrival at the sender, ns."""

    @property
    def rate(self) -> int:
        """The rate so far, bit/s: of all packets, parity and headers included."""

    @property
    def least(self) -> int:
        """The least rate, bit/s."""

    @property
    def most(self) -> int:
        """The highest rate, bit/s."""

    @property
    def packets(self) -> list[tuple[int, int, int]]:
        """Packets that arrived: departure in ns, bytes, and ns beyond the shortest way so far."""

    @property
    def lost(self) -> int:
        """Number of packets newly missing."""

    @property
    def frames(self) -> list[tuple[int, int, int]]:
        """Frames that arrived: bytes; ns from departure to the return of an answer; ns from first to last packet."""

    @property
    def frames_lost(self) -> int:
        """Number of frames that cannot become complete unless packets are sent again."""

    @property
    def round_trip(self) -> int | None:
        """The smoothed round trip, ns; ``None`` before the first packet."""

    @property
    def in_flight(self) -> int:
        """Number of bytes sent of which no report has said anything."""

@final
class Ack:
    """The content of an acknowledgement, after loss detection."""

    @property
    def now(self) -> int:
        """The time of arrival, ns."""

    @property
    def phase(self) -> Literal["open", "recovery", "loss"]:
        """The state of the connection after it."""

    @property
    def acked(self) -> int:
        """Acknowledged segments that may increase the window."""

    @property
    def delivered(self) -> int:
        """Newly delivered segments."""

    @property
    def lost(self) -> int:
        """Segments newly detected as lost."""

    @property
    def in_flight(self) -> int:
        """Segments in flight after it."""

    @property
    def prior_in_flight(self) -> int:
        """Segments in flight before it."""

    @property
    def window_limited(self) -> bool:
        """Whether the congestion window limited the segments in flight, rather than the application."""

    @property
    def rtt(self) -> int | None:
        """Round-trip time of the newest acknowledged segment, ns; ``None`` if it was retransmitted."""

    @property
    def smoothed_rtt(self) -> int | None:
        """Smoothed round-trip time, ns."""

    @property
    def min_rtt(self) -> int | None:
        """Least round-trip time of the last 300 s, ns."""

    @property
    def total_delivered(self) -> int:
        """Segments delivered since the connection began."""

    @property
    def delivery_rate(self) -> float | None:
        """The measured delivery rate in segments per second; ``None`` without a valid sample."""

    @property
    def app_limited(self) -> bool:
        """Whether the application limited the rate sample, rather than the network."""

@final
class Wqm:
    """WQM's buffer size (algorithm 1 of its paper), updated once per measurement interval.

    Parameters: ``limit``, ``interval``, ``subframes``, ``floor``, ``max_packets``, ``step`` (docs/understand/wqm.md).
    """

    def __new__(cls, **parameters: Value) -> Wqm: ...
    @property
    def packets(self) -> int:
        """B: the buffer size in packets."""

    @property
    def bounds(self) -> tuple[int, int]:
        """The current B_min and B_max, packets."""

    def begin(self, rate: int, subframes: int | None = None) -> None:
        """The initial stage: B from the bandwidth-delay product at ``rate`` bit/s (equation 1). Further calls have no effect."""

    def on_interval(
        self, backlog: int, rate: int | None = None, free: float | None = None, subframes: int | None = None
    ) -> tuple[int | None, bool, bool]:
        """Ends an interval with ``backlog`` bytes queued, the PHY rate ``rate``, and the share ``free`` of the channel available.

        Returns the drain time in ns (``None`` if unknown), whether the buffer is bloated, and whether the buffer size changed.
        """

@final
class DelayController:
    """LAST-PQ's delay controller: the permitted queueing time of each flow under its latency demand (Sec. IV).

    Parameters: ``window``, ``guard_interval``, ``oscillation``, ``decrease``, ``increase``, ``additive_increase``,
    ``least_permitted``, ``least_completions``, ``memory``, ``hold`` (docs/understand/last-pq.md).
    """

    def __new__(cls, **parameters: Value) -> DelayController: ...
    def set_demand(self, now: int, flow: int, latency: int | None, percentile: float = 95.0) -> None:
        """Sets the latency demand of a flow in ns; ``None`` removes it. Raises ``ArgumentError`` for a demand out of range."""

    def on_completion(self, now: int, flow: int, latency: int) -> None:
        """A packet of a flow was acknowledged ``latency`` ns after its arrival in the queue."""

    def advance(self, now: int, oldest: dict[int, int] | None = None) -> None:
        """Closes the windows that have ended. ``oldest`` is the arrival time of the oldest queued packet by flow, ns."""

    def permitted(self, flow: int) -> int | None:
        """The permitted queueing time of a flow, ns; ``None`` without a demand."""

    def latency(self, flow: int) -> int | None:
        """The latency of the last window with a sample, ns."""

    def tightest(self, now: int) -> int | None:
        """The least permitted latency of the recently active flows, ns."""

    @property
    def next_deadline(self) -> int | None:
        """The end of the current window, ns."""

@final
class RateAllocator:
    """The low-delay rate allocation: sending rates from the aggregation level that stations report.

    Parameters: ``target``, ``gain``, ``interval``, ``share``, ``form``, ``start``, ``start_rate``, ``packet``, ``hold``,
    ``forget``, ``steady`` and others (docs/understand/low-delay-rate-allocation.md).
    """

    def __new__(cls, **parameters: Value) -> RateAllocator: ...
    def join(self, now: int, station: int) -> None:
        """A station, by its number, starts to receive data at ``now`` (ns)."""

    def join_uplink(self, now: int, station: int) -> None:
        """A station, by its number, starts to send at ``now`` (ns)."""

    def leave(self, now: int, station: int) -> None:
        """A station, by its number, stops receiving data at ``now`` (ns)."""

    def leave_uplink(self, now: int, station: int) -> None:
        """A station, by its number, stops sending at ``now`` (ns)."""

    def on_report(
        self,
        now: int,
        station: int,
        *,
        number: int,
        slot: int,
        frames: int,
        packets: int,
        payload: int,
        transmissions: int,
        spread: float = 0.0,
        repeats: int = 0,
        phy_rate: int | None = None,
        retransmitted: int = 0,
        missing: int = 0,
        uplink_queue: int = 0,
        uplink_level: float = 0.0,
        companions: float = 0.0,
    ) -> None:
        """A station's measurement in a slot of ``slot`` ns: ``frames`` with ``packets`` packets of ``payload`` bytes in total.

        The aggregation level is ``transmissions / frames``. ``number`` ascends from report to report. Values are rounded as in the
        report's packet format. Raises ``ArgumentError`` for values that no sensor can measure.
        """

    def on_deadline(self, now: int) -> bool:
        """Allocates rates if the deadline has passed at ``now`` (ns). Returns whether they may have changed."""

    def rate(self, station: int) -> int:
        """The downlink rate of a station's payload, bit/s; 0 for an unknown station."""

    def uplink_rate(self, station: int) -> int:
        """The uplink rate of a station, bit/s."""

    def allocations(self) -> list[tuple[int, str, int, float | None, int | None, str | None]]:
        """Station, direction, rate (bit/s), level (packets), PHY rate (bit/s), bottleneck (``"wire"``, ``"wlan"``) of each."""

    @property
    def next_deadline(self) -> int | None:
        """The time of the next allocation, ns; ``None`` without stations."""

    @property
    def refused(self) -> int:
        """The number of reports of unknown stations and of late reports."""

@final
class StreamDecision:
    """Rates for one receiver, and the reason that limits them."""

    @property
    def reason(self) -> str:
        """``"rising"``, ``"air-full"``, ``"level-above-target"``, ``"radio-away"``, ``"application"``, ``"no-feedback"``, ``"wire"``,
        ``"not-aggregating"``, ``"most"`` or ``"latency"``."""

    @property
    def text(self) -> str:
        """The reason as a sentence for users."""

    @property
    def rate(self) -> int:
        """The payload rate of the receiver, error correction and the application's headers included, bit/s."""

    @property
    def encoder(self) -> int:
        """The rate for the encoder, bit/s."""

    @property
    def pacing(self) -> int:
        """The highest rate at which packets of a frame leave, bit/s."""

    @property
    def pacing_interval(self) -> int:
        """The time between two packets of the usual size at that rate, ns."""

    @property
    def largest_frame(self) -> int:
        """The largest frame that is sent within its interval, bytes."""

    @property
    def next(self) -> int:
        """The time of the next call if nothing happens before, ns."""

    @property
    def level(self) -> float | None:
        """The mean aggregation level of the last message with frames, packets; ``None`` before the first."""

    @property
    def target(self) -> float:
        """The level that is held, packets: ``target``, or less for a low PHY rate or for ``latency``."""

    @property
    def loss(self) -> float | None:
        """The share of packets lost in a queue or on the wire, 0 to 1, of the last message; ``None`` before the first."""

    @property
    def absence(self) -> tuple[int, int] | None:
        """Period and length of the absences of the receiver's radio, ns; ``None`` if there are none."""

    @property
    def reports(self) -> int:
        """The number of messages taken."""

    @property
    def refused(self) -> int:
        """The number of messages refused that named this receiver."""

@final
class StreamSender:
    """The sending end of live streams whose receivers share one access point: the library of docs/use/library.md.

    Parameters: ``receivers``, 1 to 256; ``start``, ``least`` and ``most``, rates in bit/s; ``interval`` of messages, 20 to 200 ms in ns,
    the same at both ends; ``frame_interval``, ns, until it is learnt; ``target``, the aggregation level to hold, 1 to 256 packets;
    ``latency``, from a frame to the arrival of its packets, ns, for which the target is lowered, or ``None``;
    ``share``, ``"optimal"`` or ``"equal-airtime"``; ``packet``, the usual payload of a packet, bytes; ``spread``, the share of a frame's
    interval over which its packets leave; ``encoder_share``, the encoder's share of the rate. Raises ``ArgumentError`` for a value out of
    range. Calls that name a receiver which has not joined raise ``KeyError``. ``now`` is a steady clock, ns.
    """

    def __new__(
        cls,
        *,
        receivers: int = 1,
        start: int = 5_000_000,
        least: int = 1_000_000,
        most: int = 1_000_000_000,
        interval: int = 100_000_000,
        frame_interval: int = 16_666_667,
        target: float = 32.0,
        latency: int | None = None,
        share: str = "optimal",
        packet: int = 1200,
        spread: float = 0.8,
        encoder_share: float = 0.9,
    ) -> StreamSender: ...
    def join(self, now: int, receiver: int, key: bytes = ...) -> None:
        """Adds a receiver, or begins anew with a known one. ``key``, 16 bytes, is that of its messages; zeros protect from accidents only.

        Raises ``RuntimeError`` if as many receivers have joined as were configured.
        """

    def leave(self, now: int, receiver: int) -> None:
        """Removes a receiver; the others share its rate."""

    def frame(self, now: int, receiver: int, size: int, packets: int, deadline: int | None = None) -> None:
        """Takes a frame of ``size`` bytes in ``packets`` packets, to be sent by ``deadline`` (ns) or within the usual interval of frames.

        Raises ``ArgumentError`` for a size out of range and ``RuntimeError`` if too much waits; the frame is not taken then.
        """

    def allowed(self, now: int, receiver: int) -> tuple[int, int | None]:
        """The number of packets that may be sent now, and when the next one may (ns); ``None`` if nothing waits."""

    def sent(self, now: int, receiver: int, packets: int, payload: int) -> None:
        """Notes packets handed to the network, ``payload`` bytes in all. Raises ``ArgumentError`` for a size out of range."""

    def report(self, now: int, message: bytes) -> int:
        """Takes a receiver's message; returns its receiver. Raises ``ArgumentError`` for one that is not believed, which is only counted."""

    def poll(self, now: int, receiver: int) -> StreamDecision:
        """Decides if it is due at ``now`` (ns), and returns rates and reason."""

    @property
    def refused(self) -> int:
        """The number of messages refused of all receivers."""

@final
class StreamReceiver:
    """The receiving end of a live stream: arrivals become messages to the sender.

    ``receiver`` is the number under which it joins; ``key`` 16 bytes; ``interval`` as at the sender, ns; ``exact_stamps`` is for a card's
    stamps, which are equal within an A-MPDU. Raises ``ArgumentError`` for a value out of range.
    """

    def __new__(cls, receiver: int = 0, *, key: bytes = ..., interval: int = 100_000_000, exact_stamps: bool = False) -> StreamReceiver: ...
    def arrived(
        self, now: int, batch: Sequence[tuple[int, int, int, int]], *, stamp_now: int | None = None, companion: bool = False
    ) -> None:
        """Takes arrivals in the order of their stamps: tuples of receive stamp (ns), sequence number of the first packet, number of packets
        (1 to 1024), and payload of all of them (bytes).

        ``stamp_now`` is the time of the call on the clock of stamps (ns), ``None`` if that is the clock of ``now``; ``companion`` marks
        packets of another flow of the device, whose numbers have no meaning. Raises ``ArgumentError`` for a value out of range; no arrival
        is taken then.
        """

    def phy_rate(self, rate: int | None) -> None:
        """Sets the PHY rate at which packets arrive from now on, bit/s; ``None`` if it is not known. Raises ``ArgumentError`` out of range."""

    def poll(self, now: int) -> bytes | None:
        """The message to the sender if it is due, 64 bytes, to be sent once; else ``None``."""

    @property
    def next_deadline(self) -> int | None:
        """The time of the next message, ns; ``None`` before the first arrival."""

@final
class Grant:
    """A transmission that Law gives to the hardware."""

    @property
    def number(self) -> int:
        """The number, ascending."""

    @property
    def station(self) -> int:
        """The number of the receiver."""

    @property
    def packets(self) -> list[int]:
        """The packets of the aggregate, by the caller's numbers."""

    @property
    def series(self) -> list[tuple[Rate, int]]:
        """The rate chain: rates, and the number of tries of each."""

    @property
    def give_up_after(self) -> int | None:
        """The time on the hardware after which it is returned, ns."""

    @property
    def give_up_at(self) -> int | None:
        """The time from which a failed try returns it, ns."""

@final
class Law:
    """Law for a transmitter: one queue with a time limit, and rate and retries of each transmission from one state.

    ``rates`` are the rates that stations can receive, VHT at 80 MHz with two streams by default. Parameters: ``limit_q``,
    ``limit_h`` and others (docs/understand/law.md).
    """

    def __new__(cls, rates: Sequence[Rate] | None = None, **parameters: Value) -> Law: ...
    def enqueue(self, now: int, station: int, number: int, size: int = 1500, flow: int = 0) -> list[Loss]:
        """Takes a packet of ``size`` bytes with the caller's number. Returns the dropped packets with their reasons."""

    def next(self, now: int) -> tuple[Grant | None, list[Loss]]:
        """Returns the next transmission, if any, and the dropped packets with their reasons."""

    def report(
        self, now: int, grant: Grant, tries: int, acknowledged: Sequence[bool], started: int | None = None
    ) -> tuple[Grant | None, list[Loss]]:
        """A transmission ended after ``tries`` tries; ``acknowledged`` has an entry for each packet.

        Returns the transmission to repeat at once, if any, and the dropped packets with their reasons. Raises ``ArgumentError`` for a
        transmission that was reported before.
        """

    def view(self, station: int) -> dict[str, Any] | None:
        """Law's state for a station: ``state``, ``rate``, ``successes``, ``threshold``, ``len_max`` and others (table 2)."""

def plum_allocation(
    capacities: list[int], weights: list[float] | None, least_up: int, **parameters: Value
) -> tuple[list[tuple[int, int]], float, float, float, float | None]: ...
