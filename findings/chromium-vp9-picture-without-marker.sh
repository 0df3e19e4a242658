#!/usr/bin/env bash
# Chromium's scalable VP9 leaves the RTP marker out where its encoder has dropped the larger size.
#
# Versions: Chromium 156.0.8078.108 of Debian 12, headless; werift 0.25.2 (npm) as the receiver.
#
# Input: a canvas of 640 by 360, 25 pictures a second of coloured blocks, sent as VP9 at 1 Mb/s over
# the loopback device for 20 s, once with scalabilityMode L3T3_KEY and once with L1T3. werift
# decrypts the packets; sizes are read from the payload descriptor (RFC 9628, section 4.2). Pictures
# with a number missing in them or beside them are not counted.
#
# Expected: as RFC 9628, section 4.1, has it, the last packet of a picture (all frames of one
# timestamp and picture id) has the marker, by which a decoder need not wait for the next packet.
#
# Seen, two runs: of 128 and 119 pictures of L3T3_KEY 10 and 13 have no marker at all. All of these
# consist of the small size alone; every picture with the larger size (42, 28) has its marker, and
# so have all 251 and 237 pictures of L1T3. The encoder drops the small size alone, too: 10 and 11
# pictures have only the larger one.
#
# Why it matters: who takes the marker for the end of a picture (a jitter buffer, a recorder, a
# meter of frame delays) learns of the end of these one picture later, some 40 ms that no link has
# caused; and a forwarder that thins layers out cannot suppose that a picture has the sizes below.
#
# Needs: chromium, node and npm (18 or later). 45 s.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }
browser=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || true)}
[ -n "$browser" ] || unable "no chromium"
for tool in node npm; do
    type "$tool" >"$work/log" 2>&1 || unable "no $tool"
done
echo '{"private": true}' >"$work/package.json"
(cd "$work" && timeout 120 npm install --silent --no-audit --no-fund --ignore-scripts \
    --cache "$work/npm" werift@0.25.2) >"$work/log" 2>&1 || unable "werift could not be installed"

cat >"$work/page.html" <<'HTML'
<!doctype html><canvas id="picture" width="640" height="360"></canvas><script>
async function run() {
  const canvas = document.getElementById("picture"), pen = canvas.getContext("2d");
  setInterval(() => {
    for (let block = 0; block < 24; block += 1) {
      pen.fillStyle = `hsl(${Math.random() * 360} 60% 50%)`;
      pen.fillRect(Math.random() * 600, Math.random() * 330, 60, 40);
    }
  }, 40);
  const one = new RTCPeerConnection();
  const sendEncodings = [{ scalabilityMode: location.hash.slice(1), maxBitrate: 1e6 }];
  const sent = one.addTransceiver(canvas.captureStream(25).getTracks()[0], { direction: "sendonly", sendEncodings });
  sent.setCodecPreferences(RTCRtpSender.getCapabilities("video").codecs.filter((one) => one.mimeType === "video/VP9" && /profile-id=0/.test(one.sdpFmtpLine)));
  await one.setLocalDescription(await one.createOffer());
  while (one.iceGatheringState !== "complete") await new Promise((done) => setTimeout(done, 50));
  const answer = await fetch("/offer", { method: "POST", body: one.localDescription.sdp });
  await one.setRemoteDescription({ type: "answer", sdp: await answer.text() });
}
run().catch((error) => fetch("/error", { method: "POST", body: String(error) }));
</script>
HTML
cat >"$work/try.js" <<'JS'
"use strict";
const { RTCPeerConnection, RTCRtpCodecParameters } = require("werift");
const { spawn } = require("child_process"), fs = require("fs"), http = require("http");
const [work, browser] = process.argv.slice(2);
const packets = new Map();
let unwrapped = null;
/** Sequence number without wrapping, timestamp, marker, spatial layer (RFC 9628, section 4.2). */
function take({ header, payload }) {
  if (payload.length < 4 || !(payload[0] & 0x20)) return;
  unwrapped = unwrapped === null ? header.sequenceNumber : unwrapped + (((header.sequenceNumber - unwrapped) << 16) >> 16);
  const layer = payload[payload[0] & 0x80 ? (payload[1] & 0x80 ? 3 : 2) : 1];
  packets.set(unwrapped, { timestamp: header.timestamp, marker: header.marker, size: (layer >> 1) & 7 });
}
async function answer(sdp) {
  const codec = new RTCRtpCodecParameters({ mimeType: "video/VP9", clockRate: 90000, parameters: "profile-id=0;x-google-min-bitrate=1000;x-google-start-bitrate=1000", rtcpFeedback: [{ type: "nack" }, { type: "nack", parameter: "pli" }, { type: "goog-remb" }] });
  const peer = new RTCPeerConnection({ codecs: { video: [codec] }, iceServers: [] });
  peer.onTrack.subscribe((track) => {
    track.onReceiveRtp.subscribe(take);
    setTimeout(() => peer.getTransceivers()[0].receiver.sendRtcpPLI(track.ssrc), 1000);
  });
  await peer.setRemoteDescription({ type: "offer", sdp });
  await peer.setLocalDescription(await peer.createAnswer());
  return peer.localDescription.sdp;
}
const site = http.createServer((request, response) => {
  let body = "";
  request.on("data", (part) => { body += part; });
  request.on("end", async () => {
    if (request.url === "/error") { console.log(body); process.exitCode = 2; return response.end(); }
    if (request.url !== "/offer") return response.setHeader("Content-Type", "text/html").end(fs.readFileSync(`${work}/page.html`));
    response.end(await answer(body));
  });
});
function judge(mode) {
  const pictures = [];
  for (const [number, packet] of [...packets].sort(([one], [other]) => one - other)) {
    const last = pictures.at(-1);
    if (last?.packets[0].timestamp === packet.timestamp) { last.packets.push(packet); last.to = number; }
    else pictures.push({ packets: [packet], from: number, to: number });
  }
  const isWhole = ({ packets: own, from, to }) => to - from + 1 === own.length && packets.has(from - 1) && packets.has(to + 1);
  const whole = pictures.slice(25).filter(isWhole).map(({ packets: own }) => ({ sizes: [...new Set(own.map((one) => one.size))].sort().join(" "), marker: own.at(-1).marker }));
  const largest = String(Math.max(...whole.map(({ sizes }) => sizes.at(-1))));
  const without = whole.filter(({ marker }) => !marker);
  const table = {};
  for (const { sizes, marker } of whole) {
    const row = (table[`sizes ${sizes}`] ??= { pictures: 0, "without a marker": 0 });
    row.pictures += 1;
    row["without a marker"] += marker ? 0 : 1;
  }
  console.log(mode, `${whole.length} pictures, ${without.length} without a marker`);
  console.table(table);
  return { whole: whole.length, without: without.length, withLargest: without.filter(({ sizes }) => sizes.endsWith(largest)).length };
}
async function play(mode) {
  packets.clear();
  unwrapped = null;
  const words = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--no-proxy-server",
    "--disable-background-networking", "--disable-component-update", `--user-data-dir=${work}/${mode}`, "--disable-features=WebRtcHideLocalIpsWithMdns"];
  const chromium = spawn(browser, [...words, `http://127.0.0.1:${site.address().port}/#${mode}`], { stdio: "ignore" });
  await new Promise((done) => setTimeout(done, 20000));
  chromium.kill();
  return judge(mode);
}
site.listen(0, "127.0.0.1", async () => {
  const scalable = await play("L3T3_KEY"), single = await play("L1T3");
  if (process.exitCode || scalable.whole < 50 || single.whole < 50) process.exit(2);
  process.exit(scalable.without >= 3 && scalable.withLargest === 0 && single.without === 0 ? 0 : 1);
});
JS
code=0
(cd "$work" && timeout 90 node try.js "$work" "$browser") || code=$?
[ "$code" = 0 ] && exit 0
[ "$code" = 1 ] || unable "Chromium and werift did not meet, or few pictures came"
echo "the behaviour has changed" >&2
exit 1
