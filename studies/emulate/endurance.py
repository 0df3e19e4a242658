#!/usr/bin/env python3
"""What an emulation survives: applications that come and go, many stations at once, a stop of half a minute, hours.

  endurance.py churn [--minutes 10]     a new program on a station each second
  endurance.py crowd [--seconds 15]     20 stations, each with a client of its own
  endurance.py stop                     the emulator is stopped (SIGSTOP) for 30 s and goes on
  endurance.py step                     the wall clock of the emulator leaps by an hour, forth and back (needs cc)
  endurance.py memory [--minutes 30]    resident memory after 2 minutes and at the end

All take `--program airbound` and need the Python package airbound; all end with code 1 where they find a defect.
"""

import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import airbound

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from tools import program  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent

#: An access point of 802.11ac with 20 stations and one simulated call.
CROWD = """
title = "Twenty stations"
duration = "1 s"
warm-up = "1 s"
wire = { delay = "5 ms" }
[air]
standard = "vht"
width = "80 MHz"
[access-point]
streams = 2
[[station]]
name = "station"
count = 20
channel = { kind = "fixed", snr = "30 dB" }
[[flow]]
name = "call"
kind = "voip"
station = "station-1"
"""


def resident_kb(net):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{net._process.pid}/status").read_text())[1])


def tell(net, **figures):
    timing = net.timing
    figures |= {"late_percent": round(100 * (timing["late_share"] or 0), 3), "first_p99_us": timing["first"]["p99_us"], "counts": timing["counts"]}
    figures |= {"slips": timing["slips"], "device_drops": timing["device_drops"], "cores": round(timing["processors"], 2), "load": os.getloadavg()[0]}
    print(", ".join(f"{key} {value}" for key, value in figures.items()), flush=True)


def churn(program, minutes, seconds):
    failed = 0
    with airbound.emulate("my-flat", "linux", stations=["laptop", "phone"], program=program) as net:
        net.server.popen([sys.executable, "-m", "http.server", "8000"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        net.server.wait_for_port(8000)
        fetch = ["curl", "-s", "--noproxy", "*", "-o", "/dev/null", "-m", "20", "http://server:8000/"]
        begun, programs, running = time.monotonic(), 0, []
        while time.monotonic() < begun + 60 * minutes:
            station = net.station(("laptop", "phone")[programs % 2])
            running.append(station.popen(fetch))
            programs += 1
            if programs == 120:
                early = resident_kb(net)
            failed += sum(one.poll() not in (0, None) for one in running)
            running = [one for one in running if one.poll() is None]
            time.sleep(max(0, begun + programs - time.monotonic()))
        failed += sum(one.wait(timeout=60) != 0 for one in running)
        late = resident_kb(net)
    tell(net, programs=programs, failed=failed, kb_after_120=early if programs >= 120 else late, kb_at_end=late, flows=len(net.timing["flows"]))
    return failed == 0


def crowd(program, minutes, seconds):
    with airbound.emulate(airbound.Scenario.from_text(CROWD, "crowd"), "linux", program=program) as net:
        net.server.popen([sys.executable, str(HERE / "send.py"), "take"])
        ask = [sys.executable, str(HERE / "send.py"), "server", "500", str(seconds)]
        clients = [net.station(name).popen(["ping", "-q", "-i", "0.1", "-c", str(10 * seconds), "server"], stdout=subprocess.PIPE, text=True) for name in net.stations]
        senders = [net.station(name).popen(ask, stdout=subprocess.DEVNULL) for name in net.stations]
        answered = [int(re.search(r"(\d+) received", client.communicate(timeout=seconds + 60)[0])[1]) for client in clients]
        for sender in senders:
            sender.wait(timeout=60)
    tell(net, stations=len(answered), pings_each=10 * seconds, answered_least=min(answered), packets=net.timing["packets"])
    return min(answered) >= 9 * seconds


def stop(program, minutes, seconds):
    with airbound.emulate("my-flat", "linux", stations=["laptop"], program=program) as net:
        client = net.station("laptop").popen(["ping", "-q", "-i", "0.1", "-c", "450", "server"], stdout=subprocess.PIPE, text=True)
        time.sleep(5)
        os.kill(net._process.pid, signal.SIGSTOP)
        time.sleep(30)
        os.kill(net._process.pid, signal.SIGCONT)
        text = client.communicate(timeout=120)[0]
    answered = int(re.search(r"(\d+) received", text)[1])
    slipped = net.timing["slipped_s"]
    tell(net, answered=answered, of=450, slipped_s=slipped)
    # 15 s of 45 are outside of the stop.
    return answered >= 140 and net.timing["slips"] >= 1 and 29 < slipped < 32


def step(program, minutes, seconds):
    with tempfile.TemporaryDirectory() as place:
        library = f"{place}/step_clock.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-O", "-o", library, str(HERE / "step_clock.c")], check=True)
        leaping = os.environ | {"LD_PRELOAD": library}
        # That the clock does leap: the first second of a shell's `date`, and one six seconds later.
        first, second = map(int, subprocess.run(["python3", "-c", "import time\nprint(int(time.time())); time.sleep(6); print(int(time.time()))"], env=leaping, capture_output=True, text=True, check=True).stdout.split())
        os.environ["LD_PRELOAD"] = library
        try:
            with airbound.emulate("my-flat", "linux", stations=["laptop"], program=program) as net:
                # The clock of the emulator leaps, that of the program does not.
                words = ["env", "-u", "LD_PRELOAD", "ping", "-q", "-i", "0.1", "-c", "130", "server"]
                client = net.station("laptop").popen(words, stdout=subprocess.PIPE, text=True)
                text = client.communicate(timeout=120)[0]
        finally:
            del os.environ["LD_PRELOAD"]
    answered = int(re.search(r"(\d+) received", text)[1])
    mean = float(re.search(r"= [\d.]+/([\d.]+)/", text)[1])
    tell(net, leap_s=second - first, answered=answered, of=130, mean_ms=mean)
    return second - first > 3000 and answered >= 125 and net.timing["slips"] == 0


def memory(program, minutes, seconds):
    with airbound.emulate("my-flat", "linux", stations=["laptop"], program=program) as net:
        net.server.popen(["iperf3", "-s"], stdout=subprocess.DEVNULL)
        net.server.wait_for_port(5201)
        client = net.station("laptop").popen(["iperf3", "-c", "server", "-u", "-b", "3M", "-R", "-t", str(60 * minutes + 30)], stdout=subprocess.DEVNULL)
        found, begun = {}, time.monotonic()
        for minute in range(1, round(minutes) + 1):
            time.sleep(max(0, begun + 60 * minute - time.monotonic()))
            found[minute] = resident_kb(net)
            print(f"{minute} min: {found[minute]} kB", flush=True)
        client.terminate()
        client.wait()
    last = max(found)
    tell(net, kb_after_2=found[2], kb_at_end=found[last], grown_percent=round(100 * (found[last] / found[2] - 1), 2))
    return found[last] <= 1.05 * found[2]


def main():
    tries = {"churn": churn, "crowd": crowd, "stop": stop, "step": step, "memory": memory}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=tries)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--program", type=program)
    chosen = parser.parse_args()
    minutes = chosen.minutes or {"churn": 10, "memory": 30}.get(chosen.what, 0)
    sys.exit(not tries[chosen.what](chosen.program, minutes, chosen.seconds))


if __name__ == "__main__":
    main()
