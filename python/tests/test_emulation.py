"""Real programs over the simulated air. Where the system permits no emulation, the tests say so and are skipped."""

import subprocess
import sys
import time
from pathlib import Path

import airbound
import pytest
from airbound.testing import Emulate

#: Two stations behind 20 ms of wire, and a film.
AIR = """
duration = "1 s"
wire = { delay = "20 ms" }
[[station]]
name = "near"
[[station]]
name = "far"
[[flow]]
name = "film"
kind = "cbr"
station = "far"
rate = "5 Mbit/s"
"""

#: Sends back what comes, to everybody.
ECHO = """
import socket
own = socket.create_server(("0.0.0.0", 5000))
while True:
    other, _ = own.accept()
    with other:
        other.sendall(other.recv(100))
"""

#: Prints the round trip of a connection and its answer in ms: two round trips of the path.
ASK = """
import socket, time
begun = time.monotonic()
with socket.create_connection(("server", 5000)) as server:
    server.sendall(b"hello")
    assert server.recv(100) == b"hello"
print(1000 * (time.monotonic() - begun))
"""


def air() -> airbound.Scenario:
    return airbound.Scenario.from_text(AIR, "air")


def test_programs_talk_and_results_are_there(emulate: Emulate) -> None:
    net = emulate(air(), "last-pq", protect={"tcp dport 5000": "50 ms"})
    assert (net.stations, net.wired) == (["near", "far"], ["server"])
    with pytest.raises(airbound.EmulationError, match="no results before its end"):
        _ = net.result
    server = net.server.popen([sys.executable, "-c", ECHO])
    net.server.wait_for_port(5000)
    done = net.station("near").run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True)
    assert 80 <= float(done.stdout) < 2000, "twice over the wire and back"
    assert server.poll() is None
    net.close()
    net.close()
    server.wait(timeout=30)
    flows = {flow["name"]: flow for flow in net.result.summary["flows"]}
    assert flows["near up tcp 5000"]["packets"]["delivered"] >= 3
    assert flows["near up tcp 5000"]["demand"]["latency_ms"] == 50
    assert flows["film"]["packets"]["delivered"] > 0
    assert net.timing["packets"] >= 6
    assert net.timing["first"]["p50_us"] >= 0
    assert net.result.label == "last-pq"
    assert net.result.scenario.name == "scenario"


def test_a_command_ends_with_its_handle(emulate: Emulate) -> None:
    net = emulate(air(), stations=["near"], without=["all"])
    sleeper = net.station("near").popen(["sleep", "987655.25"])
    count = ["sh", "-c", "grep -alx 'sleep.987655.25.' /proc/[0-9]*/cmdline 2>/dev/null | wc -l"]

    def sleeping() -> int:
        return int(net.server.run(count, capture_output=True, text=True).stdout)

    end = time.monotonic() + 30
    while sleeping() == 0 and time.monotonic() < end:
        time.sleep(0.01)
    assert sleeping() == 1
    sleeper.kill()
    sleeper.wait()
    while sleeping() > 0 and time.monotonic() < end:
        time.sleep(0.01)
    assert sleeping() == 0


def test_codes_and_hosts_behind_the_wire(emulate: Emulate) -> None:
    net = emulate(air(), stations=["near"], wired=["cloud"])
    assert net.host("cloud").run(["sh", "-c", "exit 7"]).returncode == 7
    hosts = net.station("near").run(["cat", "/etc/hosts"], capture_output=True, text=True).stdout
    assert "10.77.0.3 cloud" in hosts
    for name in ("far", "nobody"):
        with pytest.raises(airbound.EmulationError, match=f'named "{name}"'):
            net.station(name)
    with pytest.raises(airbound.EmulationError, match="hosts are server, cloud, near"):
        net.host("x")
    with pytest.raises(TypeError, match="list of words"):
        net.server.run("ls -l")
    with pytest.raises(airbound.EmulationError, match="listens on port 1 "):
        net.server.wait_for_port(1, timeout=0.01)


def test_an_error_inside_the_block_passes_and_nothing_is_left(emulate: Emulate) -> None:
    emulate(air()).close()
    with pytest.raises(ZeroDivisionError), airbound.emulate(air()) as net:
        held = net.server.popen(["sleep", "1000"])
        _ = 1 / 0
    assert held.wait(timeout=30) != 0
    with pytest.raises(airbound.EmulationError, match="does not run"):
        net.server.run(["true"])
    with pytest.raises(airbound.EmulationError, match="runs once"), net:
        pass


def test_it_ends_with_the_program_that_began_it(emulate: Emulate, tmp_path: Path) -> None:
    emulate(air()).close()
    text = f"""
import airbound, os
net = airbound.emulate(airbound.Scenario.from_text({AIR!r}), out={str(tmp_path / "out")!r})
with net:
    print(net._process.pid, flush=True)
    os._exit(3)
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    end = time.monotonic() + 60
    # Its standard input ended; it writes its results and goes.
    while not (tmp_path / "out/report.html").exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert (tmp_path / "out/summary.json").exists()
    assert isinstance(airbound.load(tmp_path / "out"), airbound.RunResult)


def test_wrong_requests_have_the_sentence_of_the_program(emulate: Emulate) -> None:
    emulate(air()).close()
    wrong = [
        ({"scheme": "best"}, 'scheme "best"'),
        ({"stations": ["fat"]}, 'no station named "fat"; stations are near, far'),
        ({"without": ["game"]}, "there is no such flow; flows are film"),
        ({"wired": ["far"]}, 'no host can be named "far"'),
        ({"protect": {"udp dport": "1 ms"}}, "--protect \"udp dport\": column"),
    ]
    for options, sentence in wrong:
        with pytest.raises(airbound.EmulationError) as caught, airbound.emulate(air(), **options):  # type: ignore[arg-type]
            pass
        assert sentence in str(caught.value)
    with pytest.raises(airbound.EmulationError, match="at least one station"):
        airbound.emulate(air(), stations=[])
    with pytest.raises(airbound.ScenarioError):
        airbound.emulate("no-such-scenario")
