// Two real browsers in a room: pictures, reasons, a hold that is obeyed, a reload, a crash, a change of policy; a third one with two layers.
// usage: node browsers.mjs PROGRAM [CHROMIUM]
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { rows } from "./foreign.mjs";
import { rows as oneWay } from "./one-way.mjs";
import { Browsers, read, wait } from "./participant.mjs";

const [program, browser = "/usr/bin/chromium"] = process.argv.slice(2);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "airbound-room-"));
let failed = 0;

function check(name, holds, seen) {
  if (!holds) failed += 1;
  console.log(`${holds ? "held  " : "MISSED"} ${name}: ${JSON.stringify(seen)}`);
}

/** Asks until the answer pleases, at most for some seconds; returns the last answer and the time. */
async function until(seconds, ask, pleases) {
  const began = Date.now();
  for (;;) {
    const seen = await ask();
    const time = (Date.now() - began) / 1000;
    if (pleases(seen) || time > seconds) return [seen, time];
    await wait(250);
  }
}

const server = spawn(program, ["room", "--listen", "127.0.0.1:0", "--room", "test"], { stdio: ["ignore", "pipe", "inherit"] });
const printed = await new Promise((done) => {
  let text = "";
  server.stdout.on("data", (part) => { text += part; if (text.split("\n").length > 2) done(text); });
});
const [host, guest] = ["host", "guest"].map((role) => printed.match(new RegExp(`${role}: (\\S+)`))[1]);
const browsers = new Browsers(browser, folder, new URL(host).origin, (error) => { failed += 1; console.log("MISSED no error in the page:", String(error)); });

try {
  const [ann, ben] = [await browsers.open(host, "Ann"), await browsers.open(guest, "Ben")];
  for (const [name, page] of [["Ann", ann], ["Ben", ben]]) {
    const [seen, time] = await until(25, () => read(page), (now) => now.frames.some((count) => count > 50));
    check(`${name} decodes frames`, seen.frames.some((count) => count > 50), { time, ...seen });
    check(`${name} reads a reason`, seen.views.length === 1 && seen.views[0][2]?.length > 10, seen.views);
  }
  await wait(3000);
  const before = await read(ben);
  await ben.evaluate(() => airbound.follower.onNotice({ sequence: 4e9, rate: 100e3 }));
  const [held] = await until(12, () => read(ben), (now) => now.up < 150e3);
  check("a hold of 100 kb/s is obeyed", before.up > 180e3 && held.up < 150e3, [before.up, held.up]);
  await ben.evaluate(() => airbound.follower.onNotice({ sequence: 4e9 + 1, rate: 0 }));
  const [released] = await until(15, () => read(ben), (now) => now.up > 180e3);
  check("and released", released.up > 180e3, released.up);

  // W3C webrtc-pc 4.9.2: user agents have RSA certificates, too; GStreamer's default is one.
  const certificate = { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, hash: "SHA-256" };
  const cat = await browsers.open(guest, "Cat", { width: 640, cap: 600e3, certificate });
  const [rsa] = await until(10, () => read(cat), (now) => now.state === "connected");
  check("a client with an RSA certificate connects", rsa.state === "connected", rsa.state);
  const encoded = async () => {
    const one = (await read(cat)).layers;
    await wait(2000);
    const two = (await read(cat)).layers;
    return Object.fromEntries(["q", "h"].map((rid) => [rid, (two[rid] ?? 0) > (one[rid] ?? 0)]));
  };
  const only = (count) => (now) => [now.q, now.h].every((is, index) => is === index < count);
  const large = (page) => page.locator(".tile").filter({ hasText: "Cat" }).locator("input");
  await until(20, async () => (await read(ann)).views.length, (count) => count === 2);
  // On a busy machine its estimate rises late: only what was encoded can be switched off.
  const [first] = await until(40, encoded, only(2));
  check("both layers of a third are encoded", first.q && first.h, first);
  for (const page of [ann, ben]) await large(page).uncheck();
  const [small, spell] = await until(40, encoded, only(1));
  check("layers that nobody takes are not encoded", only(1)(small), { time: spell, ...small });
  const because = "nobody takes more than layer 1";
  const [said] = await until(10, () => ann.locator(".link").filter({ hasText: "Cat" }).innerText(), (text) => text.includes(because));
  check("and the page says so", said.includes(because), said);
  await large(ann).check();
  const [again, later] = await until(60, encoded, only(2));
  check("a layer that is wanted again comes back", again.h, { time: later, ...again });
  await rows(cat.context(), guest, check, until);
  await oneWay(cat.context(), guest, check, until);
  await cat.close();

  // Views that still have the policy before come while the request is on its way.
  await ann.route("**/policy", async (route) => { await wait(1500); await route.continue(); });
  await ann.check('input[value="plain"]');
  await wait(1000);
  check("a policy that was asked for stays checked", await ann.isChecked('input[value="plain"]'), true);
  const [switched] = await until(5, () => read(ben), (now) => now.policy === "plain");
  check("the host switches the policy", switched.policy === "plain", switched.policy);
  check("a guest cannot", await ben.isDisabled('input[value="plum"]'), true);

  const id = before.id;
  let busy = 0;
  await ben.route("**/join", (route) => { busy += 1; return route.fulfill({ status: 503, body: "the room is busy; try again" }); }, { times: 1 });
  await ben.reload();
  const [back] = await until(25, () => read(ben), (now) => now.state === "connected" && now.frames.some((count) => count > 25));
  check("a reload keeps the seat", back.id === id && back.frames.some((count) => count > 25), [id, back.id, back.frames]);
  check("although the room is busy at first", busy === 1, busy);

  ben.goto("chrome://crash").catch(() => {});
  const [alone, time] = await until(45, () => read(ann), (now) => now.views.length === 0);
  check("a crashed tab loses its seat", alone.views.length === 0, { time });
} finally {
  await browsers.close();
  server.kill();
  fs.rmSync(folder, { recursive: true });
}
process.exit(failed ? 1 : 0);
