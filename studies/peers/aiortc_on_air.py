#!/usr/bin/env python3
"""A video call of aiortc over the simulated air: `airbound.Link` in place of the sockets of both ends, which are in this process.

  aiortc_on_air.py [--seconds 20] [WAY...]   prints a table: the rate that the receiver asks for (REMB), losses, one-way delays

A WAY is a place of `airbound.places()`, or `uniform` (8 to 13 ms each way, none lost); the station receives, with `/up` behind the name it sends. Time
is the machine's. Needs the packages airbound and aiortc (1.16).
"""

import asyncio
import random
import time
from types import SimpleNamespace

from peers import Missing, Parser, at_least

try:
    import aioice
    import airbound
    from aiortc import RTCConfiguration, RTCPeerConnection, VideoStreamTrack, rate
    from aiortc.contrib.media import MediaBlackhole
    from av import VideoFrame
except ImportError as missing:
    LACKING, VideoStreamTrack = f"there is no package {missing.name}; to get it: pip install aiortc", object
else:
    LACKING = None


#: Edge of a square of one colour in pixels; smaller ones take more than the encoder is given.
SQUARE = 16


class Air:
    """The air between both ends."""

    def __init__(self, link):
        self.link, self.began, self.way, self.ends, self.inside, self.delays = link, time.monotonic_ns(), "down", {}, [], []
        aioice.ice.StunProtocol.connection_made = lambda protocol, transport: self.attach(protocol, transport)

    def attach(self, protocol, transport):
        source, way = transport.get_extra_info("sockname")[:2], self.way
        self.ends[source] = protocol
        send = lambda data, to: self.send(way, source, to, data)
        protocol.transport = SimpleNamespace(sendto=send, get_extra_info=transport.get_extra_info, close=transport.close)

    def send(self, way, source, to, data):
        self.inside.append((source, to))
        self.link.push(time.monotonic_ns() - self.began, way, (len(self.inside) - 1).to_bytes(4, "big") + data)

    async def carry(self):
        while True:
            for one in self.link.take(time.monotonic_ns() - self.began):
                source, to = self.inside[int.from_bytes(one.data[:4], "big")]
                self.delays.append((one.direction, len(one.data), (one.at_ns - one.sent_ns) / 1e6))
                self.ends[to].datagram_received(one.data[4:], source)
            await asyncio.sleep(0.001)


class Uniform:
    """A delay drawn between 8 and 13 ms, with the calls of a link."""

    def __init__(self):
        self.draws, self.held = random.Random(1), []

    def push(self, now_ns, way, data):
        self.held.append(SimpleNamespace(direction=way, sent_ns=now_ns, at_ns=now_ns + self.draws.randint(8_000_000, 13_000_000), data=data))

    def take(self, now_ns):
        due = sorted((one for one in self.held if one.at_ns <= now_ns), key=lambda one: one.at_ns)
        self.held = [one for one in self.held if one.at_ns > now_ns]
        return due

    def counts(self, way):
        return 0, 0, 0


class Noise(VideoStreamTrack):
    """320 x 240 of squares that change each frame: they take each rate that the encoder has."""

    def __init__(self):
        super().__init__()
        draws = random.Random(1)
        self.frames = [VideoFrame(320, 240) for _ in range(8)]
        for frame in self.frames:
            for plane, edge in zip(frame.planes, (SQUARE, SQUARE // 2, SQUARE // 2)):
                line = plane.line_size
                rows = (b"".join(bytes([draws.randrange(256)]) * edge for _ in range(line // edge + 1))[:line] * edge for _ in range(plane.height))
                plane.update(b"".join(rows)[: plane.buffer_size])

    async def recv(self):
        pts, base = await self.next_timestamp()
        frame = self.frames[pts // 3000 % len(self.frames)]
        frame.pts, frame.time_base = pts, base
        return frame


async def call(way, seconds):
    """Holds a call of some seconds. Returns its figures."""
    if LACKING:
        raise Missing(LACKING)
    place, _, direction = way.partition("/")
    direction = direction or "down"
    air = Air(Uniform() if place == "uniform" else airbound.Link(place))
    carrying = asyncio.create_task(air.carry())
    asked, add = [], rate.RemoteBitrateEstimator.add

    def noted(self, **values):
        estimate = add(self, **values)
        if estimate is not None:
            asked.append(estimate[0] / 1e3)
        return estimate

    rate.RemoteBitrateEstimator.add = noted
    sender, receiver = (RTCPeerConnection(RTCConfiguration([])) for _ in range(2))
    received, sink = asyncio.Event(), MediaBlackhole()

    @receiver.on("track")
    async def on_track(track):
        await track.recv()
        received.set()
        sink.addTrack(track)
        await sink.start()

    sender.addTrack(Noise())
    air.way = direction
    await sender.setLocalDescription(await sender.createOffer())
    air.way = {"down": "up", "up": "down"}[direction]
    await receiver.setRemoteDescription(sender.localDescription)
    await receiver.setLocalDescription(await receiver.createAnswer())
    await sender.setRemoteDescription(receiver.localDescription)
    await asyncio.wait_for(received.wait(), 30)
    began, seen = len(air.delays), []
    for _ in range(int(10 * seconds)):
        await asyncio.sleep(0.1)
        seen += asked[-1:]
    arrived = [(size, delay) for way, size, delay in air.delays[began:] if way == direction and size > 300]
    delays = sorted(delay for _, delay in arrived)
    pushed, _, lost = air.link.counts(direction)
    await sink.stop()
    await sender.close()
    await receiver.close()
    carrying.cancel()
    rate.RemoteBitrateEstimator.add = add
    return SimpleNamespace(
        asked=sum(seen) / max(len(seen), 1), least=min(seen, default=0), rate=8 * sum(size for size, _ in arrived) / seconds / 1e3,
        lost=100 * lost / max(pushed, 1), packets=len(delays),
        p50=delays[len(delays) // 2], p99=delays[len(delays) * 99 // 100],
    )


def main():
    parser = Parser(description=__doc__)
    parser.add_argument("ways", nargs="*", metavar="WAY", default=["uniform", "home-quiet", "my-flat", "walking/up", "microwave/up", "hotel"])
    parser.add_argument("--seconds", type=at_least(1), default=20.0)
    chosen = parser.parse_args()
    if LACKING:
        parser.exit(0, f"SKIPPED: {LACKING}\n")
    places = [name for name, _ in airbound.places()] + ["uniform"]
    for way in chosen.ways:
        if way.removesuffix("/up") not in places:
            parser.error(f"there is no way {way}; ways are {', '.join(places)}, each perhaps with /up")
    print("| way | asked, kb/s | least | received, kb/s | lost, % | delay p50, p99, ms |\n|---|---:|---:|---:|---:|---:|")
    for way in chosen.ways:
        one = asyncio.run(call(way, chosen.seconds))
        figures = f"{one.asked:.0f} | {one.least:.0f} | {one.rate:.0f} | {one.lost:.1f} | {one.p50:.0f}, {one.p99:.0f}"
        print(f"| `{way}` | {figures} |", flush=True)


if __name__ == "__main__":
    main()
