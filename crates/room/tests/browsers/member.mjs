// One Chromium in a room for some time: what it sends, receives and decodes in each second, as JSON.
// usage: node member.mjs ADDRESS NAME SLOTS CAP WARM_UP SECONDS [CHROMIUM]
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { Browsers, read, wait } from "./participant.mjs";

const [address, name, ...rest] = process.argv.slice(2);
const [slots, cap, warmUp, seconds] = rest.map(Number);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "airbound-member-"));
const began = Date.now();
const errors = [];
const browsers = new Browsers(rest[4] ?? "/usr/bin/chromium", folder, new URL(address).origin, (error) => errors.push(String(error)));
try {
  const page = await browsers.open(address, name, { slots, cap });
  const rows = [];
  let decodes = null;
  for (let second = 0; second <= warmUp + seconds; second += 1) {
    await wait(Math.max(0, began + second * 1e3 - Date.now()));
    const seen = await read(page);
    if (decodes === null && seen.frames.filter((count) => count > 10).length >= slots) decodes = (Date.now() - began) / 1e3;
    rows.push({ at: (Date.now() - began) / 1e3, ...seen });
  }
  const measured = rows.filter((row) => row.at >= warmUp);
  const [first, last] = [measured[0], measured.at(-1)];
  const time = last.at - first.at;
  const rate = (key) => ((last[key] - first[key]) * 8e-6) / time;
  console.log(JSON.stringify({
    name, state: last.state, error: last.error, errors, decodes_after: decodes, received_mbps: rate("received"), sent_mbps: rate("sent"),
    fps: last.frames.map((count, index) => (count - (first.frames[index] ?? 0)) / time), frozen: last.frozen.map((spell, index) => spell - (first.frozen[index] ?? 0)),
    held: measured.filter((row) => row.held > 0).length / measured.length, views: last.views,
    seconds_mbps: measured.slice(1).map((row, index) => ((row.received - measured[index].received) * 8e-6) / (row.at - measured[index].at)),
  }));
} finally {
  await browsers.close();
  fs.rmSync(folder, { recursive: true });
}
