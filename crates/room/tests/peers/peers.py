#!/usr/bin/env python3
"""Clients of the registries in a room: each joins, publishes, watches, leaves, and comes back; with pictures in H.264, too.

usage: peers.py PROGRAM FOLDER [CLIENT...]

FOLDER is where run.sh has installed them. Exit code 1 if a step fails that the table of docs/results/room.md has.
"""

import json
import os
import pathlib
import queue
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.request

HERE = pathlib.Path(__file__).parent
PROGRAM, FOLDER, *CHOSEN = sys.argv[1:]
PYTHON, SYSTEM = f"{FOLDER}/venv/bin/python", "/usr/bin/python3"
# Command, ways, and the codecs of its pictures.
CLIENTS = {
    "aiortc": ([PYTHON, HERE / "aiortc_peer.py"], "join whip whep", "VP8 H264"),
    "werift": (["node", f"{FOLDER}/werift.mjs"], "join whip whep", "VP8"),
    "node-datachannel": (["node", f"{FOLDER}/node-datachannel.mjs"], "join whip whep", "VP8"),
    "pion": ([f"{FOLDER}/pion/peer"], "join whip whep", "VP8"),
    "gstreamer": ([SYSTEM, HERE / "gstreamer_peer.py"], "join whip whep", "VP8 H264"),
    "ffmpeg": ([PYTHON, HERE / "ffmpeg_peer.py"], "whip", "H264"),
}
# Files without which a client is not there; the others need their program.
NEEDS = {"aiortc": PYTHON, "ffmpeg": PYTHON, "gstreamer": f"{FOLDER}/gstreamer"}
ENV = {**os.environ, "FRAMES": str(HERE / "../../frames")}
failed = 0


def check(what, holds, seen):
    global failed
    failed += not holds
    print(f"{'held  ' if holds else 'MISSED'} {what}: {json.dumps(seen)}", flush=True)
    return holds


class Client:
    """A running client."""

    def __init__(self, name, way, codec, address, resume=None, label=None):
        self.name, self.began = label or name, time.monotonic()
        command = [*CLIENTS[name][0], address, way, self.name, *([resume] if resume else [])]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env={**ENV, "CODEC": codec}
        )
        self.seat, self.frames, self.first, self.errors = None, 0, None, queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=lambda: [self.errors.put(line) for line in self.process.stderr], daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            told = json.loads(line) if line.startswith("{") else {}
            self.seat = told.get("seat", self.seat)
            self.frames = told.get("frames", self.frames)
            self.first = told.get("first", self.first)

    def leave(self):
        try:
            self.process.communicate("\n", timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None
        return self.process.returncode

    def words(self):
        return [self.errors.get()[:200] for _ in range(self.errors.qsize())][-3:]


def until(seconds, ask, holds):
    began = time.monotonic()
    while True:
        seen = ask()
        if holds(seen) or time.monotonic() - began > seconds:
            return seen
        time.sleep(0.2)


def state(address):
    base, token = address.split("#")
    request = urllib.request.Request(f"{base}state", headers={"Authorization": f"Bearer {token}"})
    return json.load(urllib.request.urlopen(request, timeout=10))


def member(address, name):
    return next((one for one in state(address)["members"] if one["name"] == name), None)


def steps(name, way, codec, address):
    """Each step of one client by one way."""
    label = f"{name} {way} {codec}"
    client = Client(name, way, codec, address)
    seated = until(20, lambda: client.seat is not None and member(address, name), bool)
    if not check(f"{label}: join", seated, client.words()):
        client.leave()
        return
    coded = lambda: (member(address, name) or {}).get("codec")
    sends = lambda: (member(address, name) or {}).get("layers", [0])[0]
    if way != "whep":
        rate = until(15, sends, lambda rate: rate > 8e3)
        check(f"{label}: publish", rate > 8e3, [rate, client.words()])
        check(f"{label}: its codec is seen", coded() == codec, coded())
    if way != "whip":
        frames = until(15, lambda: client.frames, lambda frames: frames > 20)
        check(f"{label}: watch", frames > 20, [frames, (member(address, name) or {}).get("down"), client.words()])
    seat, number = client.seat, (member(address, name) or {}).get("id")
    code = client.leave()
    gone = until(5, lambda: member(address, name), lambda one: one is None)
    check(f"{label}: leave", gone is None, [code, client.words()])
    again = Client(name, way, codec, address, resume=seat if way == "join" else None)
    back = until(20, lambda: member(address, name), bool) or {}
    same = way != "join" or back.get("id") == number
    moves = lambda: again.frames > 5 if way == "whep" else sends() > 8e3
    check(f"{label}: come back", same and until(15, moves, bool), [back.get("id"), number, again.words()])
    again.leave()
    until(5, lambda: member(address, name), lambda one: one is None)


def watch_h264(publisher, watcher, address):
    """Pictures in H.264 of one kind of client reach another one."""
    camera = Client(publisher, "whip", "H264", address, label="camera")
    until(20, lambda: (member(address, "camera") or {"layers": [0]})["layers"][0], lambda rate: rate > 8e3)
    viewer = Client(watcher, "whep", "H264", address, label="tv")
    frames = until(15, lambda: viewer.frames, lambda frames: frames > 20)
    check(f"{watcher} watches H.264 of {publisher}", frames > 20, [frames, camera.words(), viewer.words()])
    viewer.leave()
    camera.leave()


def first_pictures(address, count=50):
    """Times from a join, requests included, to the first packet of a picture: a new client of pion each."""
    times = []
    for _ in range(count):
        client = Client("pion", "whep", "VP8", address)
        times.append(until(10, lambda: client.first, lambda first: first is not None) or 10_000)
        client.leave()
        # The room takes 120 offers a minute.
        time.sleep(0.3)
    times.sort()
    check("first picture, p95 within 400 ms", times[int(0.95 * count) - 1] <= 400, [times[count // 2], times[int(0.95 * count) - 1], times[-1]])


def own_address():
    """An address of this machine other than loopback, where there is one: GStreamer's libnice looks for no way from 127.0.0.1."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            one.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return one.getsockname()[0]


def main():
    known = [name for name in CLIENTS if pathlib.Path(NEEDS.get(name, CLIENTS[name][0][-1])).exists()]
    chosen = [name for name in CHOSEN or known if name in known]
    command = [PROGRAM, "room", "--listen", "127.0.0.1:0", "--media", own_address(), "--room", "test"]
    room = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    _, address = [re.search(r": (http\S+)", room.stdout.readline())[1] for _ in ("host", "guest")]
    others = None
    try:
        for watcher in [name for name in ("aiortc", "gstreamer") if name in chosen]:
            for publisher in [name for name in chosen if "H264" in CLIENTS[name][2]]:
                watch_h264(publisher, watcher, address)
        command = [PROGRAM, "synthetic", address, "--count", "2", "--camera", "400 kbit/s", "--seconds", "3600"]
        others = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        until(10, lambda: len(state(address)["members"]), lambda count: count == 2)
        if "pion" in chosen:
            first_pictures(address)
        for name in chosen:
            for way in CLIENTS[name][1].split():
                for codec in CLIENTS[name][2].split():
                    if codec == "VP8" or way == "whip":
                        steps(name, way, codec, address)
    finally:
        room.kill()
        if others:
            others.kill()
    sys.exit(1 if failed else 0)


main()
