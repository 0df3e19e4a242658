// Scalable layers of VP9 or AV1: one Chromium sends three sizes at three frame rates, another one's link is narrowed and widened again.
// usage: node svc.mjs PROGRAM [CHROMIUM] [MODE] [CODEC] [QUEUE], of QUEUE bytes
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Browsers, wait } from "./participant.mjs";
import { Shaper } from "./shaper.mjs";

const [program, browser = "/usr/bin/chromium", mode = "L3T3_KEY", codec = "vp9", queue = 131072] = process.argv.slice(2);
const NARROW = 500e3;
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "airbound-svc-"));
let failed = 0;

function check(name, holds, seen) {
  if (!holds) failed += 1;
  console.log(`${holds ? "held  " : "MISSED"} ${codec} ${mode}: ${name}: ${JSON.stringify(seen)}`);
}

/** What a viewer of one source has of it: the layer, its rate, its width, pictures decoded and freezes so far. */
const look = (page) => page.evaluate(() => {
  const [view] = airbound.view?.own.views ?? [];
  const stream = airbound.link?.streams[view?.mid] ?? {};
  const sender = airbound.view?.members.find((member) => member.id === view?.from);
  return { layer: (view?.layer ?? -1) + 1, rate: view?.rate, width: stream.width, frames: stream.frames ?? 0, freezes: stream.freezes ?? 0, frozen: stream.frozen ?? 0, layers: sender?.layers };
});

async function until(seconds, page, pleases) {
  const began = Date.now();
  for (;;) {
    const seen = await look(page);
    const time = (Date.now() - began) / 1000;
    if (pleases(seen) || time > seconds) return [seen, time];
    await wait(100);
  }
}

/** The mean over some seconds. */
async function watch(page, seconds) {
  const before = await look(page);
  await wait(seconds * 1000);
  const after = await look(page);
  return { ...after, fps: (after.frames - before.frames) / seconds, freezes: after.freezes - before.freezes, frozen: after.frozen - before.frozen };
}

const server = spawn(program, ["room", "--listen", "127.0.0.1:0", "--room", "test", "--policy", "plain"], { stdio: ["ignore", "pipe", "inherit"] });
const printed = await new Promise((done) => {
  let text = "";
  server.stdout.on("data", (part) => { text += part; if (text.split("\n").length > 2) done(text); });
});
const guest = printed.match(/guest: (\S+)/)[1];
const browsers = new Browsers(browser, folder, new URL(guest).origin, (error) => { failed += 1; console.log("MISSED no error in the page:", String(error)); });
const shaper = new Shaper(Number(queue));

try {
  await browsers.open(guest, "Ann", { width: 960, cap: 1.5e6, svc: mode, codec });
  const ben = await browsers.open(guest, "Ben", { width: 320, cap: 100e3, shaper });
  const [first, begin] = await until(60, ben, (now) => now.width === 960 && now.layer === 9);
  check("the largest size arrives", first.width === 960, { time: begin, ...first });
  const rates = (first.layers ?? []).filter((rate) => rate > 0);
  check("seven layers have rates", rates.length === 7 && rates.every((rate, index) => index === 0 || rate > rates[index - 1]), rates);
  await watch(ben, 5);
  // On a busy machine its estimate varies: the largest size is there when the link becomes narrow.
  const [wide] = await until(40, ben, (now) => now.width === 960 && now.layer >= 8);

  shaper.rate = NARROW;
  const [fallen, fall] = await until(20, ben, (now) => now.layer > 0 && now.layer <= 6 && now.width < 960);
  check("a narrow link gets a smaller size", fallen.width < 960, { time: fall, from: wide.layer, to: fallen.layer, width: fallen.width, frozen: fallen.frozen - wide.frozen, lost: shaper.lost });
  await wait(2000);
  const narrow = await watch(ben, 10);
  check("and its pictures go on", narrow.fps > 4 && narrow.width < 960, narrow);

  shaper.rate = Infinity;
  const [back, rise] = await until(60, ben, (now) => now.width === 960 && now.layer >= 8);
  check("the largest size comes back", back.width === 960, { time: rise, ...back });
} finally {
  await browsers.close();
  shaper.close();
  server.kill();
  fs.rmSync(folder, { recursive: true });
}
process.exit(failed ? 1 : 0);
