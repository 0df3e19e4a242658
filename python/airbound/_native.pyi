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

class RunError(RuntimeError):
    """A run cannot be written, read or finished; the message says why."""

def main(arguments: Sequence[str]) -> int: ...
def shipped() -> list[tuple[str, str]]:
    """The shipped scenarios: pairs of name and title."""

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
def verdict(runs: Sequence[tuple[str, PathLike[str]]], focus: str | None, baseline: str | None) -> str: ...
def groups(runs: Sequence[tuple[str, PathLike[str]]], focus: str | None) -> list[tuple[str, list[str]]]: ...
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
    """A PHY rate of the standard, such as ``Rate("VHT80 MCS7 2SS SGI")``. Raises ``ValueError`` for an unknown rate."""

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
        """Sets the latency demand of a flow in ns; ``None`` removes it. Raises ``ValueError`` for a demand out of range."""

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
        report's packet format. Raises ``ValueError`` for values that no sensor can measure.
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

        Returns the transmission to repeat at once, if any, and the dropped packets with their reasons. Raises ``ValueError`` for a
        transmission that was reported before.
        """

    def view(self, station: int) -> dict[str, Any] | None:
        """Law's state for a station: ``state``, ``rate``, ``successes``, ``threshold``, ``len_max`` and others (table 2)."""

def plum_allocation(
    capacities: list[int], weights: list[float] | None, least_up: int, **parameters: Value
) -> tuple[list[tuple[int, int]], float, float, float, float | None]: ...
