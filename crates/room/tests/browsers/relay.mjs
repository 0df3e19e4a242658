// A browser that reaches the room by TURN alone (Debian's coturn): by the page, and by WHIP with the Link fields of the answer to OPTIONS. Once
// with a user's password from a file, once with the secret from which the room makes passwords that end, once over TLS.
// usage: node relay.mjs PROGRAM [CHROMIUM]
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { chromium } from "playwright-core";

const [program, browser = "/usr/bin/chromium"] = process.argv.slice(2);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "airbound-relay-"));
const port = 20000 + (process.pid % 10000);
const [user, password] = ["ann", 'a "quoted\\" one, with a comma'];
const secret = "a secret of the test";
let [log, failed] = ["", 0];

/** Starts coturn and the room with some of their options; returns the room's address, its token, and both programs. */
async function start(turnOptions, roomOptions) {
  const turn = spawn("turnserver", [
    "-n", "--listening-ip=127.0.0.1", "--relay-ip=127.0.0.1", `--listening-port=${port}`, `--tls-listening-port=${port + 1}`, "--no-dtls", "--no-cli", "--allow-loopback-peers",
    "--realm=room", `--pidfile=${folder}/pid`, `--userdb=${folder}/users`, "--log-file=stdout", ...turnOptions,
  ], { stdio: ["ignore", "pipe", "pipe"] });
  for (const pipe of [turn.stdout, turn.stderr]) pipe.on("data", (part) => { log += part; });
  const server = spawn(program, ["room", "--listen", "127.0.0.1:0", ...roomOptions], { stdio: ["ignore", "pipe", "inherit"] });
  const printed = await new Promise((done) => {
    let text = "";
    server.stdout.on("data", (part) => { text += part; if (text.split("\n").length > 2) done(text); });
  });
  const [base, token] = printed.match(/guest: (\S+)/)[1].split("#");
  return { base, token, programs: [server, turn] };
}

/** A file that nobody else may read. */
function hidden(name, text) {
  const file = path.join(folder, name);
  fs.writeFileSync(file, text, { mode: 0o600 });
  return file;
}

/** The kinds and addresses of the pair in use, and the frames sent. */
async function pair(connection) {
  if (!connection) return {};
  const stats = await connection.getStats();
  const all = [...stats.values()];
  const used = all.find((one) => one.type === "candidate-pair" && one.nominated && one.state === "succeeded");
  const frames = all.filter((one) => one.type === "outbound-rtp").reduce((sum, one) => sum + (one.framesSent ?? 0), 0);
  const [own, other] = [used?.localCandidateId, used?.remoteCandidateId].map((id) => stats.get(id));
  return { own: own?.candidateType, by: own?.relayProtocol, other: other?.candidateType, frames, state: connection.connectionState };
}

async function holds(name, page, by) {
  let seen;
  const until = Date.now() + 30e3;
  do {
    await new Promise((done) => setTimeout(done, 250));
    seen = await page.evaluate(`(${pair})(window.connection)`);
  } while (!(seen.own === "relay" && seen.by === by && seen.frames > 25) && Date.now() < until);
  const right = seen.own === "relay" && seen.by === by && seen.frames > 25;
  if (!right) failed += 1;
  console.log(`${right ? "held  " : "MISSED"} ${name}: ${JSON.stringify(seen)}`);
}

/** Joins by the page and by WHIP. */
async function rows(name, opened, { base, token }, by) {
  const page = await opened.newPage();
  // The page keeps its connection to itself.
  await page.addInitScript(() => {
    const Plain = RTCPeerConnection;
    window.RTCPeerConnection = class extends Plain { constructor(...all) { super(...all); window.connection = this; } };
  });
  await page.goto(`${base}?relay=1&join=camera#${token}`);
  await holds(`${name}: the page joins by TURN alone`, page, by);
  await page.close();

  const encoder = await opened.newPage();
  await encoder.route(`${base}blank`, (route) => route.fulfill({ contentType: "text/html", body: "" }));
  await encoder.goto(`${base}blank`);
  await encoder.evaluate(async (token) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/sdp" };
    const links = (await fetch("/whip", { method: "OPTIONS", headers })).headers.get("link");
    const value = (name) => links.match(new RegExp(`${name}="((?:[^"\\\\]|\\\\.)*)"`))?.[1].replace(/\\(.)/g, "$1");
    const iceServers = [{ urls: links.match(/<([^>]*)>/)[1], username: value("username"), credential: value("credential") }];
    const connection = (window.connection = new RTCPeerConnection({ iceServers, iceTransportPolicy: "relay" }));
    const stream = await navigator.mediaDevices.getUserMedia({ video: true });
    connection.addTransceiver(stream.getVideoTracks()[0], { direction: "sendonly" });
    await connection.setLocalDescription();
    const answer = await fetch("/whip", { method: "POST", headers, body: connection.localDescription.sdp });
    if (answer.status !== 201 || answer.headers.get("link") !== links) throw new Error(`${answer.status} ${answer.headers.get("link")}`);
    await connection.setRemoteDescription({ type: "answer", sdp: await answer.text() });
  }, token);
  await holds(`${name}: an encoder of WHIP publishes by TURN alone`, encoder, by);
  await encoder.close();
}

// A certificate of its own makes, which a browser would refuse without the option.
const [certificate, key] = ["certificate", "key"].map((name) => path.join(folder, name));
execFileSync("openssl", ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
  "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate], { stdio: "ignore" });
const args = ["--ignore-certificate-errors", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--no-sandbox"];
const opened = await chromium.launch({ executablePath: browser, args });
const url = `turn:127.0.0.1:${port}?transport=tcp`;
const over = `turns:127.0.0.1:${port + 1}?transport=tcp`;
const ways = {
  "a password of a file": ["tcp", ["--lt-cred-mech", "--no-tls", `--user=${user}:${password}`], ["--ice-server", `@${hidden("servers", `${url},${user},${password}\n`)}`]],
  "a shared secret": ["tcp", ["--use-auth-secret", "--no-tls", `--static-auth-secret=${secret}`], ["--ice-server", url, "--turn-secret-file", hidden("secret", `${secret}\n`)]],
  "TLS": ["tls", ["--use-auth-secret", `--static-auth-secret=${secret}`, `--cert=${certificate}`, `--pkey=${key}`], ["--ice-server", over, "--turn-secret-file", hidden("secret", `${secret}\n`)]],
};
try {
  for (const [name, [by, turnOptions, roomOptions]] of Object.entries(ways)) {
    const started = await start(turnOptions, roomOptions);
    try {
      await rows(name, opened, started, by);
    } finally {
      started.programs.forEach((one) => one.kill());
      await new Promise((done) => setTimeout(done, 1000));
    }
  }
} finally {
  await opened.close();
  fs.rmSync(folder, { recursive: true, force: true });
}
if (failed > 0) console.log(log.split("\n").slice(-20).join("\n"));
process.exit(failed > 0 ? 1 : 0);
