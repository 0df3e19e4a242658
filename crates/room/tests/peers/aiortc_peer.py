"""A client of aiortc: a camera of noise in VP8, and what comes.

usage: aiortc_peer.py ADDRESS WAY NAME [RESUME]
"""

import asyncio
import json
import os
import sys

import aiohttp
import av
from aiortc import RTCConfiguration, RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.mediastreams import VideoStreamTrack

address, way, name, *rest = sys.argv[1:]
codec = os.environ.get("CODEC", "VP8")
base, token = address.split("#")
bearer = {"Authorization": f"Bearer {token}"}


class Noise(VideoStreamTrack):
    async def recv(self):
        pts, base = await self.next_timestamp()
        frame = av.VideoFrame(160, 120, "yuv420p")
        for plane in frame.planes:
            plane.update(os.urandom(plane.buffer_size))
        frame.pts, frame.time_base = pts, base
        return frame


async def main():
    count = {"frames": 0}
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))

    @connection.on("track")
    def on_track(track):
        async def watch():
            while True:
                await track.recv()
                count["frames"] += 1

        asyncio.ensure_future(watch())

    flow = {"join": "sendrecv", "whip": "sendonly", "whep": "recvonly"}[way]
    track = None if way == "whep" else Noise()
    section = connection.addTransceiver(track or "video", direction=flow)
    known = RTCRtpSender.getCapabilities("video").codecs
    section.setCodecPreferences([one for one in known if one.mimeType in (f"video/{codec}", "video/rtx")])
    await connection.setLocalDescription(await connection.createOffer())
    offer = connection.localDescription
    async with aiohttp.ClientSession(base, headers=bearer) as http:
        if way == "join":
            body = {"name": name, "offer": {"type": "offer", "sdp": offer.sdp}}
            if rest:
                body["resume"] = rest[0]
            reply = await http.post("/join", json=body)
            reply.raise_for_status()
            joined = await reply.json()
            answer, seat = joined["answer"]["sdp"], joined["resume"]
        else:
            kind = {"Content-Type": "application/sdp"}
            reply = await http.post(f"/{way}?name={name}", data=offer.sdp, headers=kind)
            answer = await reply.text()
            if reply.status != 201:
                sys.exit(f"{reply.status} {answer}")
            seat = reply.headers["Location"]
        await connection.setRemoteDescription(RTCSessionDescription(answer, "answer"))
        print(json.dumps({"seat": seat}), flush=True)
        stop = asyncio.get_event_loop().run_in_executor(None, sys.stdin.readline)
        while not stop.done():
            print(json.dumps(count), flush=True)
            await asyncio.wait([stop], timeout=0.2)
        if way == "join":
            await http.post("/leave?room=test", data=seat)
        else:
            await http.delete(seat)
        await connection.close()


asyncio.run(main())
os._exit(0)
