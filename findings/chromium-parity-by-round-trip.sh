#!/usr/bin/env bash
# Chromium answers four lost packets in a thousand with 45 % of parity, if the round trip is 20 ms or
# longer; below 20 ms with none.
#
# Versions: Chromium 156.0.8078.108 of Debian 12, headless, VP8 with what it negotiates by default
# (RED, ULPFEC, retransmission).
#
# Input: one page with two RTCPeerConnections; their packets pass a relay in Python on this machine,
# which delays both directions alike and loses 20 packets of the video in a row, each 5 s. 640x360
# noise, 30 pictures a second, maxBitrate 8 Mb/s. 25 s each; counted are the last 8 s: bytes of RTP
# payload sent (`bytesSent` without retransmissions) over bytes that left the encoder (an encoded
# transform).
#
# Expected: parity in proportion to a loss that retransmission, in use beside it, repairs in a round
# trip; and an overhead that changes slowly with the round trip.
#
# Seen:
#   round trip   lost each 5 s   coded      sent over coded
#   30 ms        none            8.1 Mb/s   1.00
#   4 ms         20 packets      8.1        1.00
#   30 ms        20 packets      6.8        1.45
# The sender reads a table by the greatest loss of some ten seconds and by the packets of a frame,
# with nothing in it about the round trip but a threshold (libwebrtc, October 2024:
# `modules/video_coding/media_opt_util.cc`, `VCMFecMethod::ProtectionFactor`, where "adjustRtt" is 1;
# the 20 ms are `kLowRttNackMs` of `fec_controller_default.cc`). Longer bursts cost more: over a
# simulated channel of 20 MHz with bursts of noise of 160 ms each 6 s such a call sent 18.3 Mb/s for
# 8.6 coded, over two minutes.
#
# Why it matters: on Wi-Fi, where a bad moment loses some packets in a row, a call takes up to twice
# its airtime for ten seconds and more after each, and so do its neighbours' queues. A queue that
# turns delay into loss meets a sender that answers loss with load; and a test bed with a wire of
# 5 ms does not show what one of 10 ms does. setCodecPreferences without red and ulpfec avoids it.
#
# Needs: chromium, python3. 85 s.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }
browser=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || true)}
[ -n "$browser" ] || unable "no chromium"
command -v python3 >"$work/log" || unable "no python3"

cat >"$work/page.html" <<'HTML'
<!doctype html><canvas id="picture" width="640" height="360"></canvas><video id="shown" autoplay muted></video><script>
const work = `let bytes = 0;
  onmessage = () => postMessage(bytes);
  onrtctransform = async ({ transformer }) => {
    const out = transformer.writable.getWriter();
    for await (const frame of transformer.readable) { bytes += frame.data.byteLength; out.write(frame); }
  };`;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const post = async (path, what) => (await fetch(path, { method: "POST", body: JSON.stringify(what) })).json();
// Tells the relay the address of a candidate, and gives the other end the relay's port in its place.
const through = (end, to) => async ({ candidate }) => {
  if (!candidate || candidate.protocol !== "udp" || candidate.address.includes(":")) return;
  const { port } = await post("/candidate", { end, address: candidate.address, port: candidate.port });
  const words = candidate.candidate.split(" ");
  words[5] = String(port);
  await to.addIceCandidate({ ...candidate.toJSON(), candidate: words.join(" ") });
};
async function run() {
  const canvas = document.getElementById("picture"), pen = canvas.getContext("2d");
  const noise = new Uint8ClampedArray(4 * 640 * 720).map(() => 96 + Math.random() * 64), image = new ImageData(640, 360);
  setInterval(() => { image.data.set(noise.subarray(4 * Math.floor(Math.random() * 640 * 359)).subarray(0, 4 * 640 * 360)); pen.putImageData(image, 0, 0); }, 33);
  const one = new RTCPeerConnection(), other = new RTCPeerConnection();
  one.onicecandidate = through("one", other);
  other.onicecandidate = through("other", one);
  const stream = canvas.captureStream(30), sender = one.addTrack(stream.getTracks()[0], stream);
  const worker = new Worker(URL.createObjectURL(new Blob([work])));
  sender.transform = new RTCRtpScriptTransform(worker);
  other.ontrack = ({ streams }) => { document.getElementById("shown").srcObject = streams[0]; };
  await one.setLocalDescription(await one.createOffer());
  await other.setRemoteDescription(one.localDescription);
  await other.setLocalDescription(await other.createAnswer());
  await one.setRemoteDescription(other.localDescription);
  const parameters = sender.getParameters();
  parameters.encodings[0].maxBitrate = 8e6;
  await sender.setParameters(parameters);
  const count = async () => {
    const coded = await new Promise((done) => { worker.onmessage = (event) => done(event.data); worker.postMessage(0); });
    for (const line of (await one.getStats()).values()) if (line.type === "outbound-rtp")
      return { coded, sent: line.bytesSent - line.retransmittedBytesSent, packets: line.packetsSent, frames: line.framesEncoded };
  };
  await wait(17000);
  const before = await count();
  await wait(8000);
  const after = await count();
  return Object.fromEntries(Object.keys(after).map((key) => [key, after[key] - before[key]]));
}
const say = (what) => fetch("/said", { method: "POST", body: JSON.stringify(what) });
run().then(say, (error) => say({ error: String(error) }));
</script>
HTML
cat >"$work/try.py" <<'PY'
import asyncio, http.server, json, pathlib, queue, subprocess, sys, threading
work, browser = pathlib.Path(sys.argv[1]), sys.argv[2]
loop = asyncio.new_event_loop()
threading.Thread(target=loop.run_forever, daemon=True).start()

class Side(asyncio.DatagramProtocol):
    """Stands for one end towards the other."""
    def __init__(self, delay, burst):
        self.delay, self.burst, self.left, self.again, self.target, self.out = delay, burst, 0, loop.time() + 8, None, None
    def connection_made(self, transport):
        self.socket = transport
    def datagram_received(self, data, _):
        # What came for this end goes on to it, from the other side's port.
        if len(data) > 300:
            if loop.time() > self.again:
                self.left, self.again = self.burst, loop.time() + 5
            if self.left:
                self.left -= 1
                return
        loop.call_later(self.delay, self.forward, data)
    def forward(self, data):
        if self.target: self.out.socket.sendto(data, self.target)

async def relay(delay, burst):
    sides = {}
    for end, lost in (("one", 0), ("other", burst)):
        _, sides[end] = await loop.create_datagram_endpoint(lambda: Side(delay, lost), local_addr=("0.0.0.0", 0))
    sides["one"].out, sides["other"].out = sides["other"], sides["one"]
    return sides

def call(round_trip, burst):
    sides = asyncio.run_coroutine_threadsafe(relay(round_trip / 2000, burst), loop).result()
    said = queue.Queue()
    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer((work / "page.html").read_bytes(), "text/html")
        def do_POST(self):
            what, answer = json.loads(self.rfile.read(int(self.headers["Content-Length"]))), {}
            if self.path == "/candidate":
                side = sides[what["end"]]
                side.target = side.target or (what["address"], what["port"])
                answer = {"port": side.socket.get_extra_info("sockname")[1]}
            else:
                said.put(what)
            self.answer(json.dumps(answer).encode(), "application/json")
        def answer(self, body, kind):
            self.send_response(200); self.send_header("Content-Type", kind); self.end_headers()
            self.wfile.write(body)
        def log_message(self, *_): pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    words = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server"]
    words += ["--disable-background-networking", "--disable-component-update", "--disable-features=WebRtcHideLocalIpsWithMdns"]
    process = subprocess.Popen([*words, f"--user-data-dir={work}/{round_trip}-{burst}", f"http://127.0.0.1:{server.server_port}/"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        found = said.get(timeout=60)
    except queue.Empty:
        sys.exit(2)
    finally:
        process.terminate(); process.wait(); server.shutdown()
    if "error" in found or not found["coded"]:
        print(found); sys.exit(2)
    factor = found["sent"] / found["coded"]
    print(f"round trip {round_trip} ms, {burst} packets lost each 5 s: {8e-6 * found['coded'] / 8:.1f} Mb/s coded, {found['packets'] / found['frames']:.0f} packets a frame, sent over coded {factor:.2f}", flush=True)
    return factor

clean, near, far = call(30, 0), call(4, 20), call(30, 20)
sys.exit(0 if clean < 1.2 and near < 1.2 and far > 1.25 else 1)
PY
python3 "$work/try.py" "$work" "$browser" && exit 0
code=$?
[ "$code" = 2 ] && unable "Chromium did not answer"
echo "the behaviour has changed" >&2
exit 1
