"""A client of GStreamer's webrtcbin: a test picture in H.264 or VP8 (CODEC), and what comes. Python of the system, with GStreamer's bindings.

usage: gstreamer_peer.py ADDRESS WAY NAME
"""

import json
import os
import sys
import threading
import urllib.request

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstSdp", "1.0")
gi.require_version("GstWebRTC", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC

Gst.init(None)
address, way, name, *rest = sys.argv[1:]
base, token = address.split("#")
codec = os.environ.get("CODEC", "H264")
encoder = {
    "H264": "x264enc tune=zerolatency speed-preset=ultrafast key-int-max=25 bitrate=300"
    " ! video/x-h264,profile=constrained-baseline ! rtph264pay config-interval=-1",
    "VP8": "vp8enc deadline=1 keyframe-max-dist=25 target-bitrate=300000 ! rtpvp8pay picture-id-mode=15-bit",
}[codec]
caps = f"application/x-rtp,media=video,encoding-name={codec},clock-rate=90000,payload=96"
camera = "videotestsrc is-live=true pattern=snow ! video/x-raw,width=160,height=120,framerate=25/1 ! "
text = "webrtcbin name=rtc bundle-policy=max-bundle"
if way != "whep":
    text = f"{camera}{encoder} pt=96 ! {caps} ! {text}"
pipeline = Gst.parse_launch(text)
if way == "whep":
    rtc, pipeline = pipeline, Gst.Pipeline.new()
    pipeline.add(rtc)
else:
    rtc = pipeline.get_by_name("rtc")
count, seat = {"frames": 0}, None
loop = GLib.MainLoop()


def say(value):
    os.write(1, json.dumps(value).encode() + b"\n")


def ask(method, path, body, kind):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
    request = urllib.request.Request(base + path.lstrip("/"), body.encode() or None, headers, method=method)
    return urllib.request.urlopen(request, timeout=10)


def offered(promise, *_):
    reply = promise.get_reply()
    offer = reply.get_value("offer")
    rtc.emit("set-local-description", offer, Gst.Promise.new())


def gathered(*_):
    global seat
    if rtc.get_property("ice-gathering-state") != GstWebRTC.WebRTCICEGatheringState.COMPLETE or seat:
        return
    sdp = rtc.get_property("local-description").sdp.as_text()
    try:
        if way == "join":
            body = {"name": name, "offer": {"type": "offer", "sdp": sdp}}
            if rest:
                body["resume"] = rest[0]
            joined = json.load(ask("POST", "join", json.dumps(body), "application/json"))
            answer, seat = joined["answer"]["sdp"], joined["resume"]
        else:
            reply = ask("POST", f"{way}?name={name}", sdp, "application/sdp")
            answer, seat = reply.read().decode(), reply.headers["Location"]
    except urllib.error.HTTPError as error:
        sys.stderr.write(f"{error.code} {error.read().decode()}\n")
        os._exit(1)
    _, message = GstSdp.SDPMessage.new_from_text(answer)
    description = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, message)
    rtc.emit("set-remote-description", description, Gst.Promise.new())
    say({"seat": seat})


def arrives(_, pad):
    if pad.get_direction() != Gst.PadDirection.SRC:
        return
    sink = Gst.ElementFactory.make("fakesink")
    sink.set_property("async", False)
    pipeline.add(sink)
    sink.set_state(Gst.State.PLAYING)
    pad.add_probe(Gst.PadProbeType.BUFFER, passed)
    pad.link(sink.get_static_pad("sink"))


def passed(*_):
    count["frames"] += 1
    return Gst.PadProbeReturn.OK


def tell():
    if seat:
        say(count)
    return True


def leave():
    sys.stdin.readline()
    if way == "join":
        ask("POST", "leave?room=test", seat, "text/plain")
    else:
        ask("DELETE", seat, "", "text/plain")
    os._exit(0)


rtc.connect("on-negotiation-needed", lambda *_: rtc.emit("create-offer", None, Gst.Promise.new_with_change_func(offered)))
rtc.connect("notify::ice-gathering-state", gathered)
rtc.connect("pad-added", arrives)
if way == "whep":
    flow = GstWebRTC.WebRTCRTPTransceiverDirection.RECVONLY
    rtc.emit("add-transceiver", flow, Gst.Caps.from_string(caps + ",rtcp-fb-nack-pli=true"))
pipeline.set_state(Gst.State.PLAYING)
GLib.timeout_add(200, tell)
threading.Thread(target=leave, daemon=True).start()
loop.run()
