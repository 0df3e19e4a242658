// A Chromium in a room: its camera, its page, what it sees.
import crypto from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { chromium } from "playwright-core";

export const wait = (ms) => new Promise((done) => setTimeout(done, ms));

/**
 * A camera of 80 times 45 blocks of noise, 25 frames a second: new ones in each frame, which an encoder cannot compress away; `pans` moves the
 * same ones, as scalable layers need an encoder that keeps its rate.
 */
function camera(folder, width, pans) {
  const [height, frames, block] = [(width * 9) / 16, 50, width / 80];
  const file = path.join(folder, `camera-${width}-${pans}.y4m`);
  if (fs.existsSync(file)) return file;
  const still = Array.from({ length: 45 }, () => crypto.randomBytes(80));
  const parts = [Buffer.from(`YUV4MPEG2 W${width} H${height} F25:1 Ip A1:1 C420\n`)];
  for (let frame = 0; frame < frames; frame += 1) {
    const luma = Buffer.alloc(width * height);
    for (let top = 0; top < height; top += block) {
      const noise = pans ? still[top / block] : crypto.randomBytes(80);
      const shift = pans ? frame * 4 : 0;
      for (let row = top; row < Math.min(height, top + block); row += 1) {
        for (let x = 0; x < width; x += 1) luma[row * width + x] = 60 + (noise[Math.floor(((x + shift) % width) / block)] >> 1);
      }
    }
    parts.push(Buffer.from("FRAME\n"), luma, Buffer.alloc((width * height) / 4, 110 + (pans ? 0 : frame)), Buffer.alloc((width * height) / 4, 140 - (pans ? 0 : frame)));
  }
  fs.writeFileSync(file, Buffer.concat(parts));
  return file;
}

/** Starts browsers whose pages may use a camera on `origin`, which need not be a secure one; `fails` is told of errors in pages. */
export class Browsers {
  constructor(executablePath, folder, origin, fails) {
    const args = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
      `--unsafely-treat-insecure-origin-as-secure=${origin}`, "--disable-features=WebRtcHideLocalIpsWithMdns",
      "--no-sandbox", "--disable-gpu", "--mute-audio", "--disable-background-timer-throttling", "--disable-renderer-backgrounding"];
    Object.assign(this, { executablePath, args, folder, fails, started: [] });
  }

  /** Joins with a camera of a width, and a certificate of a kind that is not the browser's default; returns the page. */
  async open(address, name, { slots = 3, cap = 600e3, width = 320, certificate = null, svc = null, codec = "vp9", shaper = null } = {}) {
    const args = [...this.args, `--use-file-for-fake-video-capture=${camera(this.folder, width, svc !== null)}`];
    const one = await chromium.launch({ executablePath: this.executablePath, args });
    this.started.push(one);
    const page = await (await one.newContext({ permissions: ["camera", "microphone"] })).newPage();
    page.on("pageerror", this.fails);
    if (shaper) await shaper.carry(page);
    const [base, token] = address.split("#");
    await page.goto(`${base}?width=${width}&audio=0&slots=${slots}&cap=${cap}${svc ? `&svc=${svc}&codec=${codec}` : ""}#${token}`);
    if (certificate !== null) {
      await page.evaluate(async (kind) => {
        const certificates = [await RTCPeerConnection.generateCertificate({ ...kind, publicExponent: new Uint8Array([1, 0, 1]) })];
        const Plain = RTCPeerConnection;
        window.RTCPeerConnection = class extends Plain {
          constructor(settings) {
            super({ ...settings, certificates });
          }
        };
      }, certificate);
    }
    await page.fill("#name", name);
    await page.click("#with");
    return page;
  }

  async close() {
    for (const one of this.started) await one.close().catch(() => {});
  }
}

export const read = (page) => page.evaluate(() => ({
  id: airbound.id, state: airbound.state, error: airbound.error, up: airbound.link?.up ?? 0, down: airbound.link?.down ?? 0, policy: airbound.view?.policy,
  sent: airbound.link?.sent ?? 0, received: airbound.link?.received ?? 0, held: airbound.follower?.rate ?? 0,
  frames: Object.values(airbound.link?.streams ?? {}).map((stream) => stream.frames),
  layers: airbound.link?.layers ?? {},
  frozen: Object.values(airbound.link?.streams ?? {}).map((stream) => stream.frozen),
  views: airbound.view?.own.views.map((view) => [view.name, view.layer, view.why]) ?? [], log: airbound.log.length,
}));
