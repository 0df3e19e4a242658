"""Programs of others over the simulated air: found, started by `airbound emulate`, and what each of them reported.

A peer is a function of the station's name, the seconds of a run and an empty folder; it returns a `Work`. A program that is not installed is a
`Missing`, which callers say aloud as SKIPPED; all else that goes wrong is a `Failed`. The message of each is one sentence.
"""

import argparse
import collections.abc
import dataclasses
import json
import os
import pathlib
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import typing

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


class Missing(Exception):
    """A program is not installed, or the system does not permit what is needed."""


class Failed(Exception):
    """A peer, or the emulation, failed."""


@dataclasses.dataclass
class Work:
    """The ends of a peer: lines for the shell on `server`, the command on the station, and the figures in that command's output."""

    servers: list[str]
    command: list[str]
    read: collections.abc.Callable[[str], dict[str, typing.Any]]


class Parser(argparse.ArgumentParser):
    """The head of a script as its help; wrong arguments are one sentence and exit code 2."""

    def __init__(self, **options):
        super().__init__(**({"formatter_class": argparse.RawDescriptionHelpFormatter} | options))

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")


def at_least(least, kind=float):
    """A number of `kind` with a lower bound, as a type of argparse."""

    def number(text):
        try:
            value = kind(text)
        except ValueError:
            value = None
        if value is None or not least <= value < 1e9:
            raise argparse.ArgumentTypeError(f"{text} is no number from {least} to 1e9")
        return value

    return number


def program(name):
    """The path of a program, as a type of argparse."""
    found = shutil.which(name)
    if found is None:
        raise argparse.ArgumentTypeError(f"there is no program {name}; `make build` makes airbound, `make room` airbound-room")
    return str(pathlib.Path(found).resolve())


def need(name, package=None):
    """The path of a program of others."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")
    if found is None:
        raise Missing(f"there is no {name}; on Debian: apt-get install {package or name}")
    return found


def own(script, *words):
    """The command of a script of this folder, as words for a host."""
    return [sys.executable, str(HERE / script), *map(str, words)]


def line(words):
    """Words as a line for the shell whose output is not looked at."""
    return f"{shlex.join(words)} >/dev/null 2>&1"


def last_line(text):
    return (text.strip().splitlines() or ["it said nothing"])[-1]


def wait_for_port(port, process, seconds=20.0):
    """Waits until a process that was started accepts on a port of the loopback device."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            raise Failed(f"{process.args[0]} ended with {process.returncode} before it listened")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.1)
    raise Failed(f"{process.args[0]} did not listen on port {port} within {seconds:g} s")


def end(process):
    """Ends a process: asked first, killed after 10 s."""
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def emulate(peer, scenario, station, seconds, airbound, scheme=None, options=()):
    """Runs a peer over the air of a scenario: its figures, and the emulation's part of `summary.json`."""
    with tempfile.TemporaryDirectory(prefix="airbound-peer-") as place:
        folder = pathlib.Path(place)
        work = peer(station, seconds, folder)
        words = [airbound, "--quiet", "emulate", str(scenario), "--station", station, "--out", str(folder / "run"), *options]
        words += ["--scheme", scheme] if scheme else []
        for server in work.servers:
            words += ["--server", server]
        try:
            done = subprocess.run([*words, "--", *work.command], capture_output=True, text=True, timeout=seconds + 120, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Failed(f"{work.command[0]} did not end within {seconds + 120:g} s") from None
        if "is not available" in done.stderr and not (folder / "run/summary.json").exists():
            raise Missing(f"no emulation here: {last_line(done.stderr)}")
        if done.returncode != 0:
            raise Failed(f"{pathlib.Path(work.command[0]).name} ended with {done.returncode}: {last_line(done.stderr or done.stdout)}")
        try:
            figures = work.read(done.stdout)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise Failed(f"{pathlib.Path(work.command[0]).name} said what is not understood ({error!r}): {last_line(done.stdout)[:200]}") from error
        return figures, json.loads((folder / "run/summary.json").read_text())["emulation"]


def started(words, **options):
    """A process in the background, quiet unless PEERS_LOG is set in the environment."""
    log = None if os.environ.get("PEERS_LOG") else subprocess.DEVNULL
    return subprocess.Popen(words, **({"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log} | options))
