// A link between one browser and the room: datagrams towards the browser wait for their turn in a queue, and are lost where it is full.
import dgram from "node:dgram";

/** A socket beside the room's own, through which the media of one page pass. */
export class Shaper {
  constructor(bytes) {
    Object.assign(this, { bytes, rate: Infinity, free: 0, ways: new Map(), lost: 0, passed: 0 });
  }

  /** Makes a page join through it: in the answer it stands in place of the room. Call before the page is opened. */
  async carry(page) {
    this.front = dgram.createSocket("udp4");
    await new Promise((done) => this.front.bind(0, "127.0.0.1", done));
    this.front.on("message", (bytes, from) => this.wayOf(from).send(bytes, this.port, "127.0.0.1"));
    await page.route("**/join", async (route) => {
      const response = await route.fetch();
      const joined = await response.json();
      joined.answer.sdp = joined.answer.sdp.replace(/^(a=candidate:.* udp .*127\.0\.0\.1) (\d+)/gm, (_, start, port) => {
        this.port = Number(port);
        return `${start} ${this.front.address().port}`;
      });
      await route.fulfill({ response, json: joined });
    });
  }

  /** The room sees each of the browser's addresses as one of its own. */
  wayOf(from) {
    const name = `${from.address}:${from.port}`;
    if (!this.ways.has(name)) {
      const way = dgram.createSocket("udp4");
      way.on("message", (bytes) => this.pass(bytes, from));
      this.ways.set(name, way);
    }
    return this.ways.get(name);
  }

  pass(bytes, to) {
    const now = performance.now();
    const begins = Math.max(now, this.free);
    if ((begins - now) * this.rate > this.bytes * 8e3) {
      this.lost += 1;
      return;
    }
    this.free = begins + (bytes.length * 8e3) / this.rate;
    this.passed += bytes.length;
    const send = () => { if (this.open !== false) this.front.send(bytes, to.port, to.address); };
    if (this.free - now < 1) send(); else setTimeout(send, this.free - now);
  }

  close() {
    this.open = false;
    this.front.close();
    for (const way of this.ways.values()) way.close();
  }
}
