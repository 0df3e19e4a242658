#!/usr/bin/env bash
# Chromium gives frames to a receiver's RTCRtpScriptTransform at ticks of 64 Hz, up to 15.6 ms after
# they have arrived.
#
# Versions: Chromium 156.0.8078.108 of Debian 12, headless, VP8.
#
# Input: one page with two RTCPeerConnections over the loopback device, 30 pictures a second from a
# canvas, for 15 s. Two encoded transforms in workers: the sender's stamps each frame behind the
# encoder, the receiver's notes when it gets it. When the last packet of a frame arrived is
# `receiveTime` in the metadata of requestVideoFrameCallback (WICG video-rvfc). All three times are
# of one machine's monotonic clock (performance.timeOrigin + performance.now()).
#
# Expected: the transform gets a frame when it is complete, some tenths of a millisecond after its
# last packet, as the sender's transform gets one from the encoder.
#
# Seen: from the stamp to `receiveTime` 0.2 to 2 ms; from there to the receiver's transform anything
# from 0 to 16 ms, all alike: quartiles of 3.9, 7.6 and 10.9 ms. The times at which the transform
# gets frames have one phase of a period of 1000/64 ms (mean resultant length of their angles 0.91;
# 0.15 for `receiveTime`). Whether a decoder without a transform waits too is not looked at.
#
# Why it matters: a latency that is measured by encoded transforms (as end-to-end encryption and
# measuring tools stamp frames) has 8 ms of Chromium's own in it on average, and a uniform spread of
# 15.6 ms, which looks like jitter of the network. `receiveTime` has neither.
#
# Needs: chromium, python3. 17 s.
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
const work = `const now = () => performance.timeOrigin + performance.now(), log = [];
  onmessage = () => postMessage(log);
  onrtctransform = async ({ transformer }) => {
    const out = transformer.writable.getWriter();
    for await (const frame of transformer.readable) { log.push([frame.getMetadata().rtpTimestamp, now()]); out.write(frame); }
  };`;
const transform = (end) => {
  const worker = new Worker(URL.createObjectURL(new Blob([work])));
  end.transform = new RTCRtpScriptTransform(worker);
  return () => new Promise((done) => { worker.onmessage = (event) => done(event.data); worker.postMessage(0); });
};
async function run() {
  const canvas = document.getElementById("picture"), pen = canvas.getContext("2d"), video = document.getElementById("shown");
  setInterval(() => { for (let x = 0; x < 640; x += 40) { pen.fillStyle = `hsl(${Math.random() * 360} 50% 50%)`; pen.fillRect(x, 0, 40, 360); } }, 33);
  const one = new RTCPeerConnection(), other = new RTCPeerConnection(), arrived = [];
  one.onicecandidate = ({ candidate }) => candidate && other.addIceCandidate(candidate);
  other.onicecandidate = ({ candidate }) => candidate && one.addIceCandidate(candidate);
  const stream = canvas.captureStream(30), sent = transform(one.addTrack(stream.getTracks()[0], stream));
  let got = null;
  other.ontrack = ({ receiver, streams }) => { got = transform(receiver); video.srcObject = streams[0]; };
  const look = (_, about) => { arrived.push([about.rtpTimestamp, performance.timeOrigin + about.receiveTime]); video.requestVideoFrameCallback(look); };
  video.requestVideoFrameCallback(look);
  await one.setLocalDescription(await one.createOffer());
  await other.setRemoteDescription(one.localDescription);
  await other.setLocalDescription(await other.createAnswer());
  await one.setRemoteDescription(other.localDescription);
  await new Promise((done) => setTimeout(done, 15000));
  return { sent: await sent(), got: await got(), arrived };
}
const say = (what) => fetch("/said", { method: "POST", body: JSON.stringify(what) });
run().then(say, (error) => say({ error: String(error) }));
</script>
HTML
cat >"$work/try.py" <<'PY'
import cmath, http.server, json, math, pathlib, queue, subprocess, sys, threading
work, browser = pathlib.Path(sys.argv[1]), sys.argv[2]
said = queue.Queue()
class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Type", "text/html"); self.end_headers()
        self.wfile.write((work / "page.html").read_bytes())
    def do_POST(self):
        said.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200); self.end_headers()
    def log_message(self, *_): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
threading.Thread(target=server.serve_forever, daemon=True).start()
words = [browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server"]
words += ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={work}/profile", "--disable-features=WebRtcHideLocalIpsWithMdns"]
process = subprocess.Popen([*words, f"http://127.0.0.1:{server.server_port}/"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try:
    found = said.get(timeout=60)
except queue.Empty:
    sys.exit(2)
finally:
    process.terminate(); process.wait()
if "error" in found:
    print(found["error"]); sys.exit(2)
sent, got = dict(found["sent"]), dict(found["got"])
frames = [(sent[stamp], at, got[stamp]) for stamp, at in found["arrived"] if stamp in sent and stamp in got][60:]
if len(frames) < 150:
    print(f"only {len(frames)} frames"); sys.exit(2)
quartiles = lambda values: [round(sorted(values)[int(len(values) * share)], 1) for share in (0.02, 0.25, 0.5, 0.75, 0.98)]
def phase(times): return abs(sum(cmath.exp(2j * math.pi * (at % (1000 / 64)) / (1000 / 64)) for at in times)) / len(times)
path, wait = quartiles([at - s for s, at, _ in frames]), quartiles([g - at for _, at, g in frames])
ticks, free = phase([g for *_, g in frames]), phase([at for _, at, _ in frames])
print(f"{len(frames)} frames; percentiles 2, 25, 50, 75, 98 in ms")
print("sender's transform to the last packet  ", path)
print("last packet to the receiver's transform", wait)
print(f"one phase of 1000/64 ms: transform {ticks:.2f}, last packet {free:.2f} (1: all, 0: none)")
sys.exit(0 if ticks > 0.6 and wait[3] - wait[1] > 4 and wait[4] > 11 else 1)
PY
python3 "$work/try.py" "$work" "$browser" && exit 0
code=$?
[ "$code" = 2 ] && unable "Chromium did not answer"
echo "the behaviour has changed" >&2
exit 1
