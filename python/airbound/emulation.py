"""Real programs over the simulated air, in real time: ``airbound emulate`` from Python. Linux only."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import Any

from airbound import _native
from airbound.results import Folder, RunResult
from airbound.scenarios import AnyScenario, scenario_of

#: A command with its arguments.
Command = Sequence[str | PathLike[str]]

#: Commands that keep hosts there until standard input ends; the word says that the emulation has begun.
_READY = "airbound-is-ready"
_HOLD = f"echo {_READY}; exec cat >/dev/null"


class EmulationError(_native.RunError):
    """An emulation cannot be started, ended with an error, or does not count; the message says why."""


class Host:
    """A host of a running emulation: a station, or a host behind the wire. Other hosts reach it by its name."""

    def __init__(self, net: Emulation, name: str) -> None:
        self._net = net
        #: Its name, on all hosts.
        self.name = name

    def popen(self, command: Command, **options: Any) -> subprocess.Popen[Any]:
        """Starts a command on the host and returns at once. ``options`` are those of :class:`subprocess.Popen`.

        The command is asked to end (SIGTERM) by ``terminate`` or ``kill``, and ends with the emulation at the latest.

        Raises :class:`EmulationError` if the emulation does not run.
        """
        started = subprocess.Popen(self._net._entering(self.name, command), **options)
        self._net._started.append(started)
        return started

    def run(self, command: Command, **options: Any) -> subprocess.CompletedProcess[Any]:
        """Runs a command on the host and waits for its end. ``options`` are those of :func:`subprocess.run`: ``check``, ``text``,
        ``capture_output``, ``timeout`` (in s).

        Raises :class:`EmulationError` if the emulation does not run, and what :func:`subprocess.run` raises.
        """
        return subprocess.run(self._net._entering(self.name, command), **options)

    def wait_for_port(self, port: int, timeout: float = 10.0) -> None:
        """Waits until a program on the host listens to TCP connections on a port, 1 to 65535, for at most ``timeout`` s.

        Raises :class:`EmulationError` if none does by then.
        """
        wanted = f":{port:04X}"
        end = time.monotonic() + timeout
        while True:
            tables = self.run(["cat", "/proc/net/tcp", "/proc/net/tcp6"], capture_output=True, text=True).stdout
            rows = [line.split() for line in tables.splitlines()]
            # 0A: the state of a socket that listens.
            if any(len(row) > 3 and row[1].endswith(wanted) and row[3] == "0A" for row in rows):
                return
            if time.monotonic() > end:
                raise EmulationError(f"no program on {self.name} listens on port {port} after {timeout:g} s")
            time.sleep(0.02)

    def __repr__(self) -> str:
        return f"<airbound.Host {self.name}>"


class Emulation:
    """An emulation, which :func:`emulate` describes. It runs inside its ``with`` block."""

    def __init__(
        self,
        scenario: _native.Scenario,
        program: list[str],
        arguments: list[str],
        folder: Folder,
        label: str,
        stations: list[str],
        wired: list[str],
        strict: bool,
    ) -> None:
        self._scenario = scenario
        self._program = program
        self._arguments = arguments
        self._folder = folder
        self._label = label
        self._strict = strict
        self._process: subprocess.Popen[str] | None = None
        #: The sentence with which the program ended.
        self._last_words = ""
        self._place: tempfile.TemporaryDirectory[str] | None = None
        self._result: RunResult | None = None
        self._started: list[subprocess.Popen[Any]] = []
        #: Names of the stations.
        self.stations = stations
        #: Names of the hosts behind the wire.
        self.wired = wired

    @property
    def server(self) -> Host:
        """The host ``server`` behind the wire, which is always there."""
        return Host(self, "server")

    def station(self, name: str) -> Host:
        """A station. Raises :class:`EmulationError` if it is none of :attr:`stations`."""
        if name not in self.stations:
            raise EmulationError(f'no station of this emulation is named "{name}"; stations are {", ".join(self.stations)}')
        return Host(self, name)

    def host(self, name: str) -> Host:
        """A station or a host behind the wire. Raises :class:`EmulationError` if there is none of this name."""
        if name not in (known := [*self.wired, *self.stations]):
            raise EmulationError(f'no host of this emulation is named "{name}"; hosts are {", ".join(known)}')
        return Host(self, name)

    @property
    def result(self) -> RunResult:
        """What it left, after its end: tables, summary, figures, report. Raises :class:`EmulationError` before."""
        if self._result is None:
            raise EmulationError("the emulation has no results before its end")
        return self._result

    @property
    def timing(self) -> dict[str, Any]:
        """How exactly it kept its times, after its end: the table ``emulation`` of ``summary.json``. ``late_share`` is the share of packets
        that were more than 1 ms late, ``counts`` whether that is at most 0.01, ``first`` and ``last`` the lateness of the first and the
        last packet of each aggregate in us."""
        timing: dict[str, Any] = self.result.summary["emulation"]
        return timing

    def __enter__(self) -> Emulation:
        if self._process is not None:
            raise EmulationError("an emulation runs once; call emulate again for another one")
        self._place = tempfile.TemporaryDirectory(prefix="airbound-")
        file = Path(self._place.name) / f"{self._scenario.name}.toml"
        file.write_text(self._scenario.to_toml(), encoding="utf-8")
        # Ctrl-C is for this program, which then ends it in order.
        with open(Path(self._place.name) / "said", "w") as said:
            self._process = subprocess.Popen(
                [*self._program, "--quiet", "emulate", str(file), *self._arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                start_new_session=True,
            )
        try:
            for _ in range(len(self.stations)):
                assert self._process.stdout is not None
                if self._process.stdout.readline().strip() != _READY:
                    self._end()
                    raise EmulationError(self._last_words)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None:
            self.close()
        else:
            self._end()

    def close(self) -> None:
        """Ends it before the end of the block, so that :attr:`result` is there; does nothing when it has ended.

        Raises :class:`EmulationError` if it had ended before, because of an error, or does not count and is ``strict``.
        """
        if self._process is None or self._result is not None:
            return
        is_early = self._process.poll() is not None
        code = self._end()
        if is_early or code != 0:
            raise EmulationError(f"the emulation ended {'too early' if is_early else f'with {code}'}: {self._last_words}")
        self._result = RunResult(self._folder.path, self._label, self._folder)
        if self._strict and not self.timing["counts"]:
            share = 100 * self.timing["late_share"]
            raise EmulationError(f"{share:.2f} % of the packets were more than 1 ms late; at most 1 % may be")

    def _end(self) -> int:
        """Ends it, and returns its exit code."""
        process, place = self._process, self._place
        assert process is not None and process.stdin is not None and process.stdout is not None and place is not None
        for one in self._started:
            one.terminate()
        for one in self._started:
            one.wait()
        # The commands that hold the hosts end with their standard input, and the emulation with them.
        process.stdin.close()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        said = Path(place.name) / "said"
        if said.exists():
            lines = [line for line in said.read_text(errors="replace").splitlines() if line.strip()]
            self._last_words = lines[-1].removeprefix("airbound: ") if lines else "it said nothing"
        place.cleanup()
        return process.returncode

    def _entering(self, host: str, command: Command) -> list[str]:
        if isinstance(command, str):
            raise TypeError(f"a command is a list of words: {command.split()}")
        if self._process is None or self._process.poll() is not None:
            raise EmulationError("the emulation does not run; use it in a with block")
        words = [fspath(word) for word in command]
        return [*self._program, "emulate", "enter", f"{self._process.pid}/{host}", "--", *words]

    def __repr__(self) -> str:
        return f"<airbound.Emulation {', '.join([*self.wired, *self.stations])}>"


def _names(names: Iterable[str]) -> list[str]:
    """Names as a list; a string is one name."""
    return [names] if isinstance(names, str) else list(names)


def emulate(
    scenario: AnyScenario,
    scheme: str | None = None,
    *,
    stations: Iterable[str] | None = None,
    wired: Iterable[str] = (),
    without: Iterable[str] = (),
    protect: Mapping[str, str] | None = None,
    out: str | PathLike[str] | None = None,
    pcap: str | PathLike[str] | None = None,
    internet: bool = False,
    log_packets: bool = False,
    strict: bool = False,
    program: str | PathLike[str] | None = None,
) -> Emulation:
    """Real programs over the simulated air of a scenario, in real time (``airbound emulate``; docs/use/emulate.md)::

        with airbound.emulate("vr-congested", scheme="last-pq") as net:
            net.server.popen(["iperf3", "-s"])
            net.server.wait_for_port(5201)
            net.station("headset").run(["iperf3", "-c", "server"], check=True)
        net.timing["counts"], net.result.flows

    ``scheme``
        The name of a built-in scheme, the scenario's by default.
    ``stations``
        Stations that become hosts; all by default. The others are simulated only.
    ``wired``
        Further hosts behind the wire, beside ``server``.
    ``without``
        Flows or groups of the scenario that are left out; ``["all"]`` leaves real traffic only.
    ``protect``
        Demands for connections that begin with a matching packet: ``{"udp dport 5000": "20 ms"}`` demands a 95th percentile of 20 ms.
    ``out``
        The folder of the results; an earlier run in it is replaced. A temporary folder by default.
    ``pcap``
        A file for the packets of the stations.
    ``internet``
        Whether stations have a way out, by the program passt.
    ``log_packets``
        Whether packets and transmissions are recorded.
    ``strict``
        Whether a run that does not count is an error.
    ``program``
        The program ``airbound``; by default that of this package, ``python -m airbound``. A program to which ``setcap cap_sys_nice+ep`` gave
        the right to a real-time class keeps its times better than an interpreter without.

    Commands share standard error and the environment of this process. When the block ends, all commands on all hosts do.

    Raises :class:`ScenarioError` for an invalid scenario. Entering the block raises :class:`EmulationError` with the program's sentence:
    no such station or scheme, or a system without TUN devices or user namespaces. Leaving it raises :class:`EmulationError` if it ended
    too early, or does not count and is ``strict``.
    """
    opened = scenario_of(scenario)
    names = opened.stations if stations is None else _names(stations)
    if not names:
        raise EmulationError("an emulation has at least one station")
    behind = _names(wired)
    folder = Folder(out)
    start = [sys.executable, "-m", "airbound"] if program is None else [fspath(program)]
    words = ["--out", str(folder.path)]
    words += [] if scheme is None else ["--scheme", scheme]
    for name in names:
        words += ["--on", name, _HOLD]
    for name in behind:
        words += ["--wired", name, "true"]
    for name in _names(without):
        words += ["--without", name]
    for condition, latency in (protect or {}).items():
        words += ["--protect", condition, "--p95", latency]
    words += [] if pcap is None else ["--pcap", fspath(pcap)]
    words += ["--internet"] if internet else []
    words += ["--log-packets"] if log_packets else []
    return Emulation(opened, start, words, folder, scheme or opened.own_scheme, names, ["server", *behind], strict)
