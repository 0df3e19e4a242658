// An allocator for a Janus videoroom: this process passes reports of the pages to `airbound allocator` and its actions back to them.
// usage: node bridge.mjs --socket PATH --janus http://127.0.0.1:8188/janus [--port 0] [--room 1234]
//
// Janus knows nothing of it. Each page carries out what concerns it with the means that Janus has: `configure` with a substream for what
// it watches, and the browser's own setParameters (client.js of the room) for what it sends. No dependency beside node.
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const option = (name, other) => { const at = process.argv.indexOf(`--${name}`); return at < 0 ? other : process.argv[at + 1]; };
const janus = new URL(option("janus", "http://127.0.0.1:8188/janus"));
const room = Number(option("room", 1234));
const PERIOD = 200;
/** Time without a report after which a member counts as gone. */
const GONE = 10e3;

const files = {
  "/": ["page.html", "text/html; charset=utf-8"],
  "/page.js": ["page.js", "text/javascript; charset=utf-8"],
  "/client.js": ["../../../crates/room/page/client.js", "text/javascript; charset=utf-8"],
};

/** Members by their number for the allocator: the feed's number in Janus, when it was heard, its open actions. */
const members = new Map();
let next = 1;
let inputs = [];
/** The latest reason for each viewer and source. */
const reasons = new Map();

/** One connection to the allocator, one question at a time. */
class Allocator {
  constructor(socket) {
    this.socket = net.connect(socket);
    this.waiting = [];
    let text = "";
    this.socket.on("data", (part) => {
      text += part;
      for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n")) {
        this.waiting.shift()?.(JSON.parse(text.slice(0, end)));
        text = text.slice(end + 1);
      }
    });
    this.socket.on("close", () => { console.error("the allocator has ended"); process.exit(1); });
  }

  ask(question) {
    this.socket.write(`${JSON.stringify(question)}\n`);
    return new Promise((done) => this.waiting.push(done));
  }
}

const allocator = new Allocator(option("socket"));

function leave(number) {
  members.delete(number);
  inputs.push({ leave: { member: number } });
}

/** Asks for decisions and puts each action where its page will fetch it. */
async function decide() {
  for (const [number, member] of members) if (Date.now() - member.heard > GONE) leave(number);
  const reply = await allocator.ask({ room: String(room), inputs: inputs.splice(0), explain: true });
  if (reply.error) console.error(reply.error);
  for (const action of reply.actions ?? []) {
    const about = action.hold?.member ?? action.probe?.member ?? action.forward?.viewer;
    members.get(about)?.actions.push(action);
  }
  for (const reason of reply.reasons ?? []) reasons.set(`${reason.viewer} ${reason.source}`, reason);
}
setInterval(() => decide().catch((error) => console.error(error)), PERIOD);

/** Takes what a page reports and returns its actions, the numbers of all members by feed, and its reasons. */
function report(body) {
  let number = body.member;
  if (!members.has(number)) {
    number = next++;
    members.set(number, { feed: body.feed, actions: [] });
    inputs.push({ join: { member: number } });
  }
  const member = members.get(number);
  member.heard = Date.now();
  if (body.layers) inputs.push({ layers: { source: number, rates: body.layers.map(Math.round) } });
  const views = [...members].filter(([other]) => other !== number).map(([from]) => ({ from, largest: 3 }));
  inputs.push({ views: { viewer: number, views } });
  for (const way of ["up", "down"]) {
    const { rate, sent, kind } = body[way] ?? {};
    if (rate > 0) inputs.push({ [way]: { member: number, rate: Math.round(rate), ...(kind ? { kind } : { sent: Math.round(sent) }) } });
  }
  for (const sequence of body.acks ?? []) inputs.push({ ack: { member: number, sequence } });
  const feeds = Object.fromEntries([...members].map(([other, { feed }]) => [other, feed]));
  const own = [...reasons.values()].filter((reason) => reason.viewer === number && members.has(reason.source));
  return { member: number, actions: member.actions.splice(0), feeds, reasons: own };
}

const server = http.createServer(async (request, response) => {
  const { pathname, search } = new URL(request.url, "http://127.0.0.1");
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts);
  const say = (status, kind, text) => { response.writeHead(status, { "content-type": kind, "cache-control": "no-store" }); response.end(text); };
  if (pathname.startsWith("/janus")) {
    // Janus on the page's own origin.
    const target = { host: janus.hostname, port: janus.port, path: janus.pathname + pathname.slice("/janus".length) + search, method: request.method, headers: { "content-type": "application/json" } };
    const passed = http.request(target, (answer) => { response.writeHead(answer.statusCode, { "content-type": "application/json" }); answer.pipe(response); });
    passed.on("error", (error) => say(502, "text/plain", String(error)));
    passed.end(body);
  } else if (request.method === "POST" && pathname === "/report") {
    try { say(200, "application/json", JSON.stringify(report(JSON.parse(body)))); } catch (error) { say(400, "text/plain", String(error)); }
  } else if (request.method === "POST" && pathname === "/leave") {
    leave(Number(body.toString()));
    say(204, "text/plain", "");
  } else if (files[pathname]) {
    const [file, kind] = files[pathname];
    say(200, kind, fs.readFileSync(path.join(here, file)));
  } else {
    say(404, "text/plain", "there is no such page");
  }
});
server.listen(Number(option("port", 0)), "127.0.0.1", () => console.log(`http://127.0.0.1:${server.address().port}/?room=${room}`));
