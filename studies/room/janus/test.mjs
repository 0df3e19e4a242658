// Janus of Debian, Airbound's allocator and two Chromiums: a layer is chosen, lowered with its reason, and a sender is held.
// usage: node test.mjs AIRBOUND_ROOM [CHROMIUM] [JANUS]
import { spawn } from "node:child_process";
import crypto from "node:crypto";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const [program, browser = "/usr/bin/chromium", janusProgram = "/usr/bin/janus"] = process.argv.slice(2);
const here = process.env.BRIDGE_FOLDER ?? path.dirname(fileURLToPath(import.meta.url));
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "airbound-janus-"));
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const PORT = 20000 + (process.pid % 20000);
let failed = 0;

function check(name, holds, seen) {
  if (!holds) failed += 1;
  console.log(`${holds ? "held  " : "MISSED"} ${name}: ${JSON.stringify(seen)}`);
}

/** A camera that an encoder cannot compress away: blocks of noise. */
function camera(width, height) {
  const [frames, block] = [30, 8];
  const parts = [Buffer.from(`YUV4MPEG2 W${width} H${height} F25:1 Ip A1:1 C420\n`)];
  for (let frame = 0; frame < frames; frame += 1) {
    const luma = Buffer.alloc(width * height);
    for (let top = 0; top < height; top += block) {
      const noise = crypto.randomBytes(width / block);
      for (let row = top; row < Math.min(height, top + block); row += 1) for (let x = 0; x < width; x += 1) luma[row * width + x] = 60 + (noise[Math.floor(x / block)] >> 1);
    }
    parts.push(Buffer.from("FRAME\n"), luma, Buffer.alloc((width * height) / 2, 128));
  }
  const file = path.join(folder, "camera.y4m");
  fs.writeFileSync(file, Buffer.concat(parts));
  return file;
}

function settings() {
  const values = { FOLDER: folder, LIBRARIES: "/usr/lib/x86_64-linux-gnu/janus", PORT, INTERFACE: "lo" };
  for (const name of fs.readdirSync(path.join(here, "settings"))) {
    const text = fs.readFileSync(path.join(here, "settings", name), "utf8");
    fs.writeFileSync(path.join(folder, name), text.replaceAll(/@([A-Z]+)@/g, (_, key) => values[key]));
  }
}

const started = [];
const start = (command, args, options = {}) => { const one = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], ...options }); started.push(one); return one; };
const says = (one) => new Promise((done) => one.stdout.once("data", (text) => done(String(text).trim())));
async function until(seconds, ask, pleases) {
  const began = Date.now();
  for (;;) {
    const seen = await ask();
    if (pleases(seen) || Date.now() - began > seconds * 1e3) return [seen, (Date.now() - began) / 1e3];
    await wait(250);
  }
}
const cpu = (pid) => { const fields = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" "); return (Number(fields[11]) + Number(fields[12])) / 100; };

const browsers = [];
try {
  settings();
  const janus = start(janusProgram, ["-F", folder, "-C", path.join(folder, "janus.jcfg")]);
  janus.stdout.resume();
  const socket = path.join(folder, "allocator.sock");
  const allocator = start(program, ["allocator", "--socket", socket, "--source", "1 Mbit/s"]);
  await says(allocator);
  await wait(2000);
  const bridge = start(process.execPath, [path.join(here, "bridge.mjs"), "--socket", socket, "--janus", `http://127.0.0.1:${PORT}/janus`]);
  const address = await says(bridge);
  const args = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", `--use-file-for-fake-video-capture=${camera(640, 360)}`,
    "--no-sandbox", "--disable-gpu", "--mute-audio", "--disable-background-timer-throttling", "--disable-renderer-backgrounding", "--disable-features=WebRtcHideLocalIpsWithMdns"];
  const open = async () => {
    const one = await chromium.launch({ executablePath: browser, args });
    browsers.push(one);
    const page = await (await one.newContext({ permissions: ["camera"] })).newPage();
    page.on("pageerror", (error) => { failed += 1; console.log("MISSED no error in the page:", String(error)); });
    await page.goto(address);
    return page;
  };
  const read = async (page) => { const seen = await page.evaluate(() => ({ ...janusRoom, view: Object.values(janusRoom.views)[0] })); delete seen.views; return seen; };
  const [ann, ben] = [await open(), await open()];
  for (const [name, page] of [["Ann", ann], ["Ben", ben]]) {
    const [seen, time] = await until(40, () => read(page), (now) => now.view?.frames > 50);
    check(`${name} decodes frames that Janus forwards`, seen.view?.frames > 50, { time, ...seen });
  }
  const [large, time] = await until(40, () => read(ann), (now) => now.view?.layer === 1 && now.view.width === 640);
  check("the allocator's layer is what Janus forwards", large.view?.layer === 1 && large.view.width === 640, { time, ...large.view });
  const before = [cpu(janus.pid), cpu(allocator.pid), Date.now(), await ann.evaluate(() => performance.now())];
  await wait(8000);
  const seconds = (Date.now() - before[2]) / 1e3;
  console.log(`cores over ${seconds.toFixed(1)} s: Janus ${((cpu(janus.pid) - before[0]) / seconds).toFixed(3)}, allocator ${((cpu(allocator.pid) - before[1]) / seconds).toFixed(4)}`);

  // Ann's downlink is said to be full at 300 kb/s.
  await ann.evaluate(() => { janusRoom.claim.down = { rate: 300e3, kind: "exact" }; });
  const [small, fell] = await until(20, () => read(ann), (now) => now.view?.layer === 0 && now.view.width === 320);
  check("a full downlink gets the lower layer", small.view?.layer === 0 && small.view.width === 320, { time: fell, ...small.view });
  check("and its reason", /downlink/.test(small.view?.why ?? ""), small.view?.why);
  await ann.evaluate(() => { delete janusRoom.claim.down; });
  const [back, rose] = await until(40, () => read(ann), (now) => now.view?.width === 640);
  check("and the higher one again", back.view?.width === 640, { time: rose, ...back.view });

  // Both have narrow half-duplex links: what Ann sends cannot be shown, and is held.
  const sent = (await read(ann)).up;
  for (const page of [ann, ben]) await page.evaluate(() => { janusRoom.claim = { up: { rate: 1e6, kind: "exact" }, down: { rate: 250e3, kind: "exact" } }; });
  const held = async () => { const both = [await read(ann), await read(ben)]; return both.find((one) => one.held > 0) ?? both[0]; };
  const [one, when] = await until(30, held, (now) => now.held > 0 && now.up < now.held * 1.3);
  check("a sender is held, and obeys", one.held > 0 && one.up < one.held * 1.3, { time: when, sent, held: one.held, up: one.up });
} finally {
  for (const one of browsers) await one.close().catch(() => {});
  for (const one of started.reverse()) one.kill();
  fs.rmSync(folder, { recursive: true });
}
process.exit(failed ? 1 : 0);
