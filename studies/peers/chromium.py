#!/usr/bin/env python3
"""A call between two Chromiums, WebRTC as it is on any site, and what each of them sees.

  chromium.py serve                        the signalling server and one end of the call, on HTTP port 8080
  chromium.py join HOST [--seconds 20]     the other end; prints the figures of both as JSON
              [--size 320x180] [--most KBPS] [--one-way] [--block 10] [--change 1] [--frames FILE]
  airbound emulate my-flat --server "python3 studies/peers/chromium.py serve" -- python3 studies/peers/chromium.py join server

Each end sends a video of noise (30 frames a second), since the picture of Chromium's own false camera hardly takes a bit; with `--one-way`
only the server does. The latency of a frame is from its capture to its display; both ends have one clock.
`--frames` writes each coded frame of the server: an encoded transform stamps it between encoder and packets, another reads the stamp when all
packets are there, before decoder and jitter buffer. `--change` is the share of the picture's blocks that change with each frame: with all of
them a key frame costs no more than another.
Addresses are shown to the other end (`WebRtcHideLocalIpsWithMdns` off): hosts of an emulation have no multicast DNS.
"""

import argparse
import http.server
import json
import os
import pathlib
import random
import re
import shutil
import socket
import sys
import tempfile
import time
import urllib.error
import urllib.request

from peers import Failed, Missing, Parser, at_least, end, need, started

PORT = 8080
FPS = 30
#: Edge of a block of one brightness; smaller ones take more than a call of this size is given.
BLOCK = 10
#: Range of the brightness of pixels within a block.
GRAIN = 64

#: One end of a call. The one that answers is the server's own.
PAGE = """<!doctype html><title>call</title><video id="other" autoplay muted playsinline></video><script>
const words = new URLSearchParams(location.search);
const me = words.get("me"), other = me === "caller" ? "answerer" : "caller", seconds = Number(words.get("seconds"));
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const post = (name, value) => fetch("/" + name, { method: "POST", body: JSON.stringify(value) });
const take = async (name) => { for (;;) { const got = await fetch("/" + name); if (got.status === 200) return got.json(); await wait(100); } };
const gaps = [], latencies = [], [width, height] = words.get("size").split("x").map(Number), most = Number(words.get("most"));
const sends = me === "answerer" || words.get("both") === "1";
const traced = words.get("traced") === "1";
let before = null;
// Each coded frame carries its number and the time at which it left the encoder behind its data; both workers' clock is the machine's.
const stamps = `const now = () => performance.timeOrigin + performance.now(), log = []; let number = 0;
  onmessage = () => postMessage(log);
  onrtctransform = async ({ transformer }) => {
    const out = transformer.writable.getWriter(), sends = transformer.options.sends;
    for await (const frame of transformer.readable) {
      const at = now(), key = Number(frame.type === "key"), size = frame.data.byteLength, stamp = frame.getMetadata().rtpTimestamp;
      if (sends) {
        const longer = new Uint8Array(size + 16), view = new DataView(longer.buffer);
        longer.set(new Uint8Array(frame.data));
        view.setFloat64(size, number); view.setFloat64(size + 8, at);
        log.push([number++, at, size, key, stamp]);
        frame.data = longer.buffer;
      } else {
        const view = new DataView(frame.data);
        log.push([view.getFloat64(size - 16), view.getFloat64(size - 8), at, key, stamp]);
        frame.data = frame.data.slice(0, size - 16);
      }
      out.write(frame);
    }
  };`;
let worker = null;
const shown = [], seconds_of = [];
function trace(end, sends) {
  if (!traced) return;
  worker = new Worker(URL.createObjectURL(new Blob([stamps])));
  end.transform = new RTCRtpScriptTransform(worker, { sends });
}
const log = () => new Promise((done) => { worker.onmessage = (event) => done(event.data); worker.postMessage(0); });
// All counters of WebRTC's statistics that concern video, once a second.
async function look(peer) {
  const found = { at: performance.timeOrigin + performance.now() };
  for (const one of (await peer.getStats()).values())
    if (["outbound-rtp", "inbound-rtp", "media-source", "remote-inbound-rtp"].includes(one.type) || (one.type === "candidate-pair" && one.nominated))
      found[one.type] = one;
  seconds_of.push(found);
}
function onFrame(now, about) {
  if (about.captureTime !== undefined) latencies.push(now - about.captureTime);
  if (before !== null) gaps.push(now - before);
  before = now;
  if (traced) shown.push([about.rtpTimestamp, performance.timeOrigin + about.expectedDisplayTime, performance.timeOrigin + about.receiveTime]);
  document.getElementById("other").requestVideoFrameCallback(onFrame);
}
async function call() {
  const peer = new RTCPeerConnection();
  if (sends) {
    const camera = await navigator.mediaDevices.getUserMedia({ video: { width, height, frameRate: %d } });
    camera.getTracks().forEach((track) => trace(peer.addTrack(track, camera), true));
  } else {
    const way = peer.addTransceiver("video", { direction: "recvonly" });
    trace(way.receiver, false);
    const codecs = RTCRtpReceiver.getCapabilities("video").codecs;
    if (words.get("parity") === "0") way.setCodecPreferences(codecs.filter(({ mimeType }) => !/red|fec/i.test(mimeType)));
  }
  peer.ontrack = (event) => { const video = document.getElementById("other"); video.srcObject = event.streams[0];
    video.requestVideoFrameCallback(onFrame); };
  const gathered = new Promise((done) => { peer.onicegatheringstatechange = () => peer.iceGatheringState === "complete" && done(); });
  if (me === "caller") {
    await peer.setLocalDescription(await peer.createOffer());
    await gathered;
    await post("offer", peer.localDescription);
    await peer.setRemoteDescription(await take("answer"));
  } else {
    await peer.setRemoteDescription(await take("offer"));
    await peer.setLocalDescription(await peer.createAnswer());
    await gathered;
    await post("answer", peer.localDescription);
  }
  for (let tries = 0; peer.connectionState !== "connected"; tries++) {
    if (tries > 150) throw new Error("no connection: " + peer.iceConnectionState);
    await wait(100);
  }
  if (sends && most > 0) for (const sender of peer.getSenders()) {
    const parameters = sender.getParameters();
    parameters.encodings.forEach((encoding) => { encoding.maxBitrate = 1000 * most; });
    if (traced) parameters.degradationPreference = "maintain-framerate-and-resolution";
    await sender.setParameters(parameters);
  }
  for (let second = 0; traced && second < seconds; second++) { await wait(1000); await look(peer); }
  if (!traced) await wait(1000 * seconds);
  if (traced) await post(me + "-frames", { frames: await log(), shown, seconds: seconds_of });
  const figures = {};
  for (const one of (await peer.getStats()).values()) {
    if (one.type === "inbound-rtp" && one.kind === "video") Object.assign(figures, {
      frames: one.framesDecoded, kbps: 8 * one.bytesReceived / 1000 / seconds, lost: one.packetsLost, freezes: one.freezeCount,
      jitter_buffer_ms: 1000 * one.jitterBufferDelay / one.jitterBufferEmittedCount });
    if (one.type === "candidate-pair" && one.nominated) figures.rtt_ms = 1000 * one.totalRoundTripTime / one.responsesReceived;
    if (one.type === "outbound-rtp") figures.target_kbps = one.targetBitrate / 1000;
  }
  gaps.sort((a, b) => a - b);
  figures.gap_p99_ms = gaps[Math.floor(gaps.length * 0.99)];
  latencies.sort((a, b) => a - b);
  for (const share of [50, 95, 99]) figures["latency_p" + share + "_ms"] = latencies[Math.floor(latencies.length * share / 100)];
  figures.later_than_100_ms = latencies.filter((latency) => latency > 100).length;
  figures.of = latencies.length;
  figures.gaps_over_100_ms = gaps.filter((gap) => gap > 100).length;
  for (const key in figures) if (figures[key] !== undefined) figures[key] = Math.round(figures[key] * 10) / 10;
  await post(me, figures);
}
call().catch((error) => post(me, { error: String(error) }));
</script>""" % FPS


class Meeting(http.server.BaseHTTPRequestHandler):
    """Serves the page, and keeps what one end says until the other end asks."""

    said = {}
    running = []

    def answer(self, code, body=b"", kind="application/json"):
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/page":
            self.answer(200, PAGE.encode(), "text/html")
        elif path in self.said:
            self.answer(200, self.said[path])
        else:
            self.answer(404)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/begin":
            Meeting.said.clear()
            Meeting.running.append(call("localhost", "answerer", json.loads(body)))
        elif self.path == "/end":
            while Meeting.running:
                Meeting.running.pop().end()
        else:
            Meeting.said[self.path] = body
        self.answer(200)

    def log_message(self, *_):
        pass


def noise(path, width, height, block, change):
    """A second of noise as Y4M, which an encoder cannot make small; it repeats itself without a seam. Blocks differ in brightness, and with `change`
    below 1 in their pixels too, so that the fewer bits there are the less of it is coded."""
    source = random.Random(1)
    grain = 0 if change >= 1 else GRAIN
    steps = [bytes(base + value * grain // 256 for value in range(256)) for base in range(256 - grain)]
    places = [(row * block * width + column * block) for row in range(height // block) for column in range(width // block)]
    picture = bytearray(width * height)

    def draw(place):
        step = steps[source.randrange(len(steps))]
        for row in range(place, place + block * width, width):
            picture[row : row + block] = source.randbytes(block).translate(step)

    for place in places:
        draw(place)
    first = bytes(picture)
    # A block has its first look again at its last change.
    changes = [[frame for frame in range(FPS) if source.random() < change] for _ in places]
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{width} H{height} F{FPS}:1 Ip A1:1 C420jpeg\n".encode())
        for frame in range(FPS):
            for place, times in zip(places, changes):
                if frame in times[:-1]:
                    draw(place)
                elif frame in times:
                    for row in range(place, place + block * width, width):
                        picture[row : row + block] = first[row : row + block]
            file.write(b"FRAME\n" + picture + bytes([128]) * (width * height // 2))


class Browser:
    """A Chromium without a window, whose camera shows noise and is permitted."""

    def __init__(self, address, size, block=BLOCK, change=1.0):
        program = os.environ.get("CHROMIUM") or shutil.which("chromium-browser") or need("chromium")
        self.place = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        film = pathlib.Path(self.place.name) / "noise.y4m"
        noise(film, *map(int, size.split("x")), block, change)
        site = "/".join(address.split("/")[:3])
        words = [program, "--headless=new", "--no-first-run", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={self.place.name}/profile"]
        words += ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", f"--use-file-for-fake-video-capture={film}"]
        words += [f"--unsafely-treat-insecure-origin-as-secure={site}", "--disable-features=WebRtcHideLocalIpsWithMdns"]
        words += ["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-proxy-server"]
        # Chromium's own sandbox refuses root.
        words += ["--no-sandbox"] if os.geteuid() == 0 else []
        self.process = started([*words, address])

    def end(self):
        end(self.process)
        self.place.cleanup()


def call(host, me, asked):
    """Starts one end of the call."""
    words = "&".join(f"{key}={value}" for key, value in asked.items())
    return Browser(f"http://{host}:{PORT}/page?me={me}&{words}", asked["size"], asked["block"], asked["change"])


def serve():
    class Both(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6  # IPv4 with it

    Both(("::", PORT), Meeting).serve_forever()


def join(host, seconds, size, most, one_way, block, change, frames, no_parity):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    site = f"http://{host}:{PORT}"
    wanted = {"seconds": seconds, "size": size, "most": most, "both": int(not one_way), "block": block, "change": change}
    wanted |= {"traced": int(frames is not None), "parity": int(not no_parity)}
    try:
        opener.open(f"{site}/begin", json.dumps(wanted).encode(), timeout=30).read()
    except OSError as error:
        raise Failed(f"no call server answers at {site}: {error}") from error
    own, figures = call(host, "caller", wanted), {}
    try:
        limit = time.monotonic() + seconds + 60
        for me in ("caller", "answerer"):
            while me not in figures:
                try:
                    figures[me] = json.load(opener.open(f"{site}/{me}", timeout=30))
                except urllib.error.HTTPError:
                    if time.monotonic() > limit:
                        raise Failed(f"the {me} said nothing within {seconds + 60:g} s; PEERS_LOG=1 shows what Chromium says") from None
                    time.sleep(0.2)
        if frames is not None:
            ends = {me: json.load(opener.open(f"{site}/{me}-frames", timeout=30)) for me in ("caller", "answerer")}
            frames.write_text(json.dumps(ends))
    finally:
        own.end()
        try:
            opener.open(f"{site}/end", b"", timeout=15).read()
        except OSError:
            # The emulation ends it with its host.
            pass
    if wrong := [f"the {me}: {one['error']}" for me, one in figures.items() if "error" in one]:
        raise Failed("; ".join(wrong))
    print(json.dumps(figures))


def size(text):
    found = re.fullmatch(r"(\d+)x(\d+)", text)
    if not found or not all(0 < int(edge) <= 4000 and int(edge) % (2 * BLOCK) == 0 for edge in found.groups()):
        raise argparse.ArgumentTypeError(f"{text} is no size such as 320x180, in multiples of {2 * BLOCK}")
    return text


def main():
    parser = Parser(description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("serve")
    other = commands.add_parser("join")
    other.add_argument("host")
    other.add_argument("--seconds", type=at_least(1), default=20.0)
    other.add_argument("--size", type=size, default="320x180", help=f"multiples of {2 * BLOCK}")
    other.add_argument("--most", type=at_least(0, int), default=0, help="kb/s of the video at most; 0: as Chromium likes")
    other.add_argument("--one-way", action="store_true")
    other.add_argument("--block", type=at_least(1, int), default=BLOCK, help="edge of a block of one brightness; divides the size")
    other.add_argument("--change", type=at_least(0), default=1.0, help="share of the blocks that change with each frame")
    other.add_argument("--no-parity", action="store_true", help="with --one-way: without RED and ULPFEC")
    other.add_argument("--frames", type=pathlib.Path, help="with --one-way: each frame, and the statistics of each second, as JSON")
    chosen = vars(parser.parse_args())
    try:
        serve() if chosen.pop("command") == "serve" else join(**chosen)
    except (Missing, Failed) as error:
        sys.exit(f"chromium: {error}")


if __name__ == "__main__":
    main()
