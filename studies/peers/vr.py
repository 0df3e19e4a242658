#!/usr/bin/env python3
"""A stream of frames in datagrams, and how late they come: the load of virtual reality without its picture.

  vr.py serve                          answers each viewer with a stream
  vr.py watch HOST [--seconds 10] [--skip 1] [--rate 25] [--fps 72] [--most 40]
  airbound emulate vr-congested --station headset --server "python3 studies/peers/vr.py serve" -- python3 studies/peers/vr.py watch server

`watch` prints frames, frames later than `--most` ms, and their latency in ms, from the moment at which the first byte of a frame was sent
until its last one came. The stream begins with a second of a tenth of the rate, which does not count (`--skip`): the access point's rate
control begins with its slowest rate. Both ends have one clock, since the hosts of an emulation are one machine.
"""

import json
import socket
import struct
import sys
import time

from peers import Parser, at_least

#: Time, number of the frame, packet in it, packets of it.
HEADER = struct.Struct("!dIHH")
SIZE = 1200
PORT = 5000


def stream(udp, viewer, seconds, rate, fps):
    """Sends frames, each of them over four fifths of its interval."""
    full = max(1, round(rate * 1e6 / 8 / fps / SIZE))
    begun = time.monotonic()
    for frame in range(round(seconds * fps)):
        parts = full if frame >= fps else max(1, full // 10)
        at = begun + frame / fps
        time.sleep(max(0, at - time.monotonic()))
        made = time.monotonic()
        for part in range(parts):
            # Groups of eight packets, so that the sender can sleep in between.
            if part % 8 == 0:
                time.sleep(max(0, made + 0.8 / fps * part / parts - time.monotonic()))
            udp.sendto(HEADER.pack(made, frame, part, parts) + bytes(SIZE - HEADER.size), viewer)


def serve():
    udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    udp.bind(("::", PORT))
    while True:
        words, viewer = udp.recvfrom(2000)
        try:
            seconds, rate, fps = map(float, words.split())
        except ValueError:
            continue
        stream(udp, viewer, seconds, rate, fps)


def watch(host, seconds, skip, rate, fps, most):
    udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    udp.connect((host, PORT))
    udp.settimeout(1)
    arrived, times = {}, {}
    end = time.monotonic() + 10
    udp.send(f"{seconds} {rate} {fps}".encode())
    while True:
        try:
            packet = udp.recv(2000)
        except (TimeoutError, ConnectionRefusedError):
            if arrived or time.monotonic() > end:
                break
            udp.send(f"{seconds} {rate} {fps}".encode())
            continue
        made, frame, _, parts = HEADER.unpack_from(packet)
        arrived[frame] = arrived.get(frame, 0) + 1
        if arrived[frame] == parts:
            times[frame] = 1000 * (time.monotonic() - made)
    if not arrived:
        sys.exit(f"vr: no stream came from {host}")
    first = round(skip * fps)
    ordered = sorted(time for frame, time in times.items() if frame >= first)
    sent = round(seconds * fps) - first
    if not ordered:
        sys.exit("vr: no frame came whole")
    late = sum(time > most for time in ordered)
    figures = {"frames": sent, "incomplete": sent - len(ordered), f"later_than_{most:g}_ms": late}
    for share in (50, 95, 99):
        figures[f"p{share}_ms"] = round(ordered[min(len(ordered) - 1, len(ordered) * share // 100)], 2)
    print(json.dumps(figures))


def main():
    parser = Parser(description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("serve")
    viewer = commands.add_parser("watch")
    viewer.add_argument("host")
    viewer.add_argument("--seconds", type=at_least(1), default=10.0)
    viewer.add_argument("--skip", type=at_least(0), default=1.0)
    viewer.add_argument("--rate", type=at_least(0.1), default=25.0, help="Mb/s")
    viewer.add_argument("--fps", type=at_least(1), default=72.0)
    viewer.add_argument("--most", type=at_least(0), default=40.0, help="ms")
    chosen = vars(parser.parse_args())
    if chosen.pop("command") == "serve":
        serve()
    if chosen["skip"] >= chosen["seconds"]:
        parser.error(f"--skip {chosen['skip']:g} leaves nothing of --seconds {chosen['seconds']:g}")
    try:
        watch(**chosen)
    except OSError as error:
        sys.exit(f"vr: {chosen['host']}: {error}")


if __name__ == "__main__":
    main()
