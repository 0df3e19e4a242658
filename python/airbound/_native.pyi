"""The native module. Use the package `airbound`, which exports what is meant for others."""

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
    """The scenarios that come with the package: pairs of name and title."""

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
def execute(order: str) -> str:
    """Does the run that an order of :meth:`Sweep.take` describes; what a worker calls."""

@final
class Sweep:
    """A sweep under way; after :meth:`finish` nothing else may be asked of it."""

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
    """What is simulated. It is checked when it is made, and never changes: :meth:`set` makes another one.

    All ways to make one raise :class:`ScenarioError` with file, line, key, what is wrong and what is allowed.
    """

    @staticmethod
    def shipped(name: str) -> Scenario:
        """The scenario of that name that comes with the package; :func:`airbound.shipped` lists them."""

    @staticmethod
    def from_file(path: str | PathLike[str]) -> Scenario:
        """A scenario file (docs/reference/scenario-keys.md)."""

    @staticmethod
    def from_text(text: str, name: str = "scenario") -> Scenario:
        """The text of a scenario file. Files that it names are relative to the working directory."""

    @staticmethod
    def from_dict(table: dict[str, Value], name: str = "scenario") -> Scenario:
        """The same as nested dicts and lists. Underscores in keys stand for hyphens."""

    def set(self, key: str, value: Value) -> Scenario:
        """The scenario with one value changed: ``set("flow.bulk.count", 1)``, ``set("air.width", "80 MHz")``."""

    def with_trace(self, path: str | PathLike[str]) -> Scenario:
        """The scenario with this trace for the first station whose channel is a trace."""

    @property
    def name(self) -> str:
        """What it is called in results."""

    @property
    def title(self) -> str:
        """One line that says what it is."""

    @property
    def description(self) -> str:
        """What it shows."""

    @property
    def seed(self) -> int:
        """From where all randomness comes, unless a run says otherwise."""

    @property
    def duration_ns(self) -> int:
        """How long is measured, after the warm-up."""

    @property
    def warm_up_ns(self) -> int:
        """How long is simulated before that."""

    @property
    def schemes(self) -> list[str]:
        """The schemes that are compared unless told otherwise."""

    @property
    def own_scheme(self) -> str:
        """The name of the scheme that a run has unless told otherwise."""

    @property
    def focus(self) -> str | None:
        """The flow that the headline is about."""

    @property
    def stations(self) -> list[str]:
        """The names of the stations."""

    @property
    def flows(self) -> list[str]:
        """The names of the flows."""

    def to_toml(self) -> str:
        """The scenario with every default written out; read again it is the same."""

    def to_json(self) -> str:
        """The same as JSON."""

@final
class Packet:
    """A packet that waits in a :class:`airbound.QueueScheme`."""

    @property
    def number(self) -> int:
        """Its number in this queue, which ascends from packet to packet."""

    @property
    def flow(self) -> int:
        """The number of its flow; acknowledgements of TCP are a flow of their own."""

    @property
    def station(self) -> int:
        """The peer to which it goes next."""

    @property
    def category(self) -> Category:
        """``"bk"``, ``"be"``, ``"vi"`` or ``"vo"``."""

    @property
    def size(self) -> int:
        """Its length from the IP header on, in bytes."""

    @property
    def enqueued(self) -> int:
        """When it entered the queue, ns."""

    def __hash__(self) -> int: ...

@final
class Rate:
    """A PHY rate of the standard, such as ``Rate("VHT80 MCS7 2SS SGI")``. Raises ``ValueError`` if there is no such rate."""

    def __new__(cls, text: str) -> Rate: ...
    @property
    def bits_per_s(self) -> int:
        """The bit rate."""

    @property
    def format(self) -> str:
        """``"OFDM"``, ``"HT"``, ``"VHT"`` or ``"HE"``."""

    @property
    def mcs(self) -> int:
        """The index of modulation and coding."""

    @property
    def streams(self) -> int:
        """Spatial streams, 1 to 4."""

    @property
    def width_mhz(self) -> int:
        """The width of the channel."""

    @property
    def guard_interval_ns(self) -> int:
        """The guard interval."""

    def __hash__(self) -> int: ...

@final
class Window:
    """The congestion window, in segments."""

    cwnd: int
    """Segments that may be in flight, at least 1."""
    ssthresh: int
    """Below it the window is in slow start."""
    def __len__(self) -> int: ...

@final
class Ack:
    """What one acknowledgement told, after losses were marked."""

    @property
    def now(self) -> int:
        """When it arrived, ns."""

    @property
    def phase(self) -> Literal["open", "recovery", "loss"]:
        """State of the connection after it."""

    @property
    def acked(self) -> int:
        """Segments that may count as growth."""

    @property
    def delivered(self) -> int:
        """Segments newly delivered."""

    @property
    def lost(self) -> int:
        """Segments newly marked as lost."""

    @property
    def in_flight(self) -> int:
        """Segments in flight now."""

    @property
    def prior_in_flight(self) -> int:
        """Segments in flight before it."""

    @property
    def window_limited(self) -> bool:
        """Whether the window, not the application, limited the flight."""

    @property
    def rtt(self) -> int | None:
        """Round trip of the newest segment that it acknowledged, ns, if that was sent once."""

    @property
    def smoothed_rtt(self) -> int | None:
        """Smoothed round trip, ns."""

    @property
    def min_rtt(self) -> int | None:
        """Smallest round trip of the last 300 s, ns."""

    @property
    def total_delivered(self) -> int:
        """Segments delivered on the whole."""

    @property
    def delivery_rate(self) -> float | None:
        """The measured delivery rate in segments per second, where the sample is valid."""

    @property
    def app_limited(self) -> bool:
        """Whether the application, not the network, limited that sample."""

@final
class Wqm:
    """WQM's buffer size (algorithm 1 of its paper): feed it once in a measurement interval.

    Parameters: ``limit``, ``interval``, ``subframes``, ``floor``, ``max_packets``, ``step`` (docs/understand/wqm.md).
    """

    def __new__(cls, **parameters: Value) -> Wqm: ...
    @property
    def packets(self) -> int:
        """B: most packets that may wait."""

    @property
    def bounds(self) -> tuple[int, int]:
        """B_min and B_max as they are now."""

    def begin(self, rate: int, subframes: int | None = None) -> None:
        """The initial stage: B from the bandwidth-delay product at ``rate`` bit/s (equation 1). Further calls change nothing."""

    def on_interval(
        self, backlog: int, rate: int | None = None, free: float | None = None, subframes: int | None = None
    ) -> tuple[int | None, bool, bool]:
        """An interval has passed: ``backlog`` bytes wait, the PHY rate is ``rate``, the share ``free`` of the channel is ours.

        Returns the drain time in ns (``None`` if it cannot be known), whether the buffer is bloated, and whether anything changed.
        """

@final
class DelayController:
    """LAST-PQ's delay controller: how long the packets of each flow may queue, so that its demand is met (Sec. IV).

    Parameters: ``window``, ``guard_interval``, ``oscillation``, ``decrease``, ``increase``, ``additive_increase``,
    ``least_permitted``, ``least_completions``, ``memory``, ``hold`` (docs/understand/last-pq.md).
    """

    def __new__(cls, **parameters: Value) -> DelayController: ...
    def set_demand(self, now: int, flow: int, latency: int | None, percentile: float = 95.0) -> None:
        """Demands a latency in ns of a flow; ``None``: none any more. Raises ``ValueError`` for one that cannot be met at all."""

    def on_completion(self, now: int, flow: int, latency: int) -> None:
        """A packet of a flow was acknowledged, ``latency`` ns after it had entered the queue."""

    def advance(self, now: int, oldest: dict[int, int] | None = None) -> None:
        """Closes the windows that have ended. ``oldest`` tells since when the oldest packet of a flow waits, ns."""

    def permitted(self, flow: int) -> int | None:
        """How long packets of a flow may queue, ns; ``None`` without a demand."""

    def latency(self, flow: int) -> int | None:
        """The latency of the last window in which one was found, ns."""

    def tightest(self, now: int) -> int | None:
        """The least permitted latency of the flows that were active of late, ns."""

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
        """A station wants data from now on."""

    def join_uplink(self, now: int, station: int) -> None:
        """A station wants to send from now on."""

    def leave(self, now: int, station: int) -> None:
        """A station wants no more data."""

    def leave_uplink(self, now: int, station: int) -> None:
        """A station wants to send no more."""

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
        """What a station saw in a slot of ``slot`` ns: so many ``frames`` with ``packets`` of ``payload`` bytes together.

        The aggregation level is ``transmissions / frames``. ``number`` ascends from report to report. Numbers are rounded as on the
        wire. Raises ``ValueError`` for what no sensor can see.
        """

    def on_deadline(self, now: int) -> bool:
        """Decides, if it is time. Returns whether rates may have changed."""

    def rate(self, station: int) -> int:
        """The rate of a station's payload, bit/s; 0 for one that is not known."""

    def uplink_rate(self, station: int) -> int:
        """The rate of what a station sends, bit/s."""

    def allocations(self) -> list[tuple[int, str, int, float | None, int | None, str | None]]:
        """Station, direction, rate (bit/s), level (packets), PHY rate (bit/s), bottleneck (``"wire"``, ``"wlan"``) of each."""

    @property
    def next_deadline(self) -> int | None:
        """When it decides next, ns; ``None`` without stations."""

    @property
    def refused(self) -> int:
        """Reports of stations that are not known, or that came late."""

@final
class Grant:
    """What Law hands to the hardware."""

    @property
    def number(self) -> int:
        """Its number, which ascends."""

    @property
    def station(self) -> int:
        """The receiver."""

    @property
    def packets(self) -> list[int]:
        """The packets of the aggregate, by the caller's numbers."""

    @property
    def series(self) -> list[tuple[Rate, int]]:
        """The rates to try, and how often."""

    @property
    def give_up_after(self) -> int | None:
        """The hardware is to give it back after so many ns of work on it."""

    @property
    def give_up_at(self) -> int | None:
        """The hardware is to give it back after the first try that fails then or later, ns."""

@final
class Law:
    """Law as a link: one queue with a time limit, and rate and retries of each transmission, decided by one state.

    ``rates`` are what stations can receive; VHT at 80 MHz with two streams unless given. Parameters: ``limit_q``, ``limit_h``
    and others (docs/understand/law.md).
    """

    def __new__(cls, rates: Sequence[Rate] | None = None, **parameters: Value) -> Law: ...
    def enqueue(self, now: int, station: int, number: int, size: int = 1500, flow: int = 0) -> list[Loss]:
        """Takes a packet of ``size`` bytes under a number of the caller's. Returns who was dropped, and why."""

    def next(self, now: int) -> tuple[Grant | None, list[Loss]]:
        """What is sent next, if anything may be, and who was dropped, and why."""

    def report(
        self, now: int, grant: Grant, tries: int, acknowledged: Sequence[bool], started: int | None = None
    ) -> tuple[Grant | None, list[Loss]]:
        """The hardware is done with a grant after ``tries`` tries; ``acknowledged`` has an entry for each packet.

        Returns what is to be sent again at once, and who was given up, and why. Raises ``ValueError`` for a grant that was reported
        before.
        """

    def view(self, station: int) -> dict[str, Any] | None:
        """How Law treats a station: ``state``, ``rate``, ``successes``, ``threshold``, ``len_max`` and others (table 2)."""

def plum_allocation(
    capacities: list[int], weights: list[float] | None, least_up: int, **parameters: Value
) -> tuple[list[tuple[int, int]], float, float, float, float | None]: ...
