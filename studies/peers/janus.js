// A member of a Janus videoroom that follows an allocator: `configure` with a substream for each feed that it watches, setParameters for
// what it sends. Janus' HTTP transport without its library.
import { Follower, readLink } from "./client.js";

const query = new URLSearchParams(location.search);
const room = Number(query.get("room")) || 1234;
const width = Number(query.get("width")) || 640;
const cap = Number(query.get("cap")) || 1e6;
const REPORT = 400;
const $ = (id) => document.getElementById(id);
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const told = (error) => { $("status").textContent = String(error); return fetch("error", { method: "POST", body: String(error) }); };

/** A session with its handles, over long polls. */
class Session {
  constructor() {
    this.waiting = new Map();
    this.handlers = new Map();
  }

  async post(path, message) {
    const transaction = Math.random().toString(36).slice(2);
    const arrives = new Promise((done) => this.waiting.set(transaction, done));
    const answer = await (await fetch(`janus${path}`, { method: "POST", body: JSON.stringify({ ...message, transaction }) })).json();
    if (answer.janus === "error") throw new Error(answer.error.reason);
    if (answer.janus !== "ack") { this.waiting.delete(transaction); return answer; }
    // A plugin's answer comes later, by a poll.
    return arrives;
  }

  async open() {
    this.id = (await this.post("", { janus: "create" })).data.id;
    this.poll();
  }

  async poll() {
    for (;;) {
      const events = await fetch(`janus/${this.id}?maxev=5`).then((reply) => reply.json()).catch(() => wait(500));
      for (const event of [events ?? []].flat()) {
        if (event.janus !== "event") continue;
        this.waiting.get(event.transaction)?.(event);
        this.waiting.delete(event.transaction);
        this.handlers.get(event.sender)?.(event.plugindata?.data ?? {});
      }
    }
  }

  async attach(handler) {
    const { id } = (await this.post(`/${this.id}`, { janus: "attach", plugin: "janus.plugin.videoroom" })).data;
    this.handlers.set(id, handler);
    const say = async (body, jsep) => {
      const event = await this.post(`/${this.id}/${id}`, { janus: "message", body, ...(jsep ? { jsep } : {}) });
      const data = event.plugindata?.data ?? {};
      if (data.error) throw new Error(data.error);
      return { data, jsep: event.jsep };
    };
    const connect = () => {
      const connection = new RTCPeerConnection();
      connection.onicecandidate = ({ candidate }) =>
        this.post(`/${this.id}/${id}`, { janus: "trickle", candidate: candidate ?? { completed: true } }).catch(() => {});
      return connection;
    };
    return { say, connect };
  }
}

const session = new Session();
const feeds = new Map();
let own = null;

/** Publishes the camera: two layers, the smallest first. */
async function publish(handle) {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { width, height: (width * 9) / 16, frameRate: 25 } });
  const connection = handle.connect();
  const sendEncodings = [
    { rid: "l", scaleResolutionDownBy: 2, maxBitrate: cap * 0.25 },
    { rid: "h", maxBitrate: cap * 0.75 },
  ];
  const transceiver = connection.addTransceiver(stream.getVideoTracks()[0], { direction: "sendonly", sendEncodings });
  transceiver.setCodecPreferences(RTCRtpSender.getCapabilities("video").codecs.filter((codec) => /\/(vp8|rtx)$/i.test(codec.mimeType)));
  await connection.setLocalDescription();
  const offer = { ...connection.localDescription.toJSON(), rid_order: "lmh" };
  const { jsep } = await handle.say({ request: "publish", bitrate: 0 }, offer);
  await connection.setRemoteDescription(jsep);
  connection.onconnectionstatechange = () => { $("status").textContent = connection.connectionState; };
  const acks = [];
  return { connection, acks, follower: new Follower(transceiver.sender, cap, (message) => acks.push(message.sequence)) };
}

/** Watches one feed. */
async function watch(feed) {
  if (feeds.has(feed)) return;
  const view = { link: null };
  feeds.set(feed, view);
  const handle = await session.attach(() => {});
  const connection = handle.connect();
  const tile = document.createElement("article");
  view.video = Object.assign(document.createElement("video"), { autoplay: true, playsInline: true, muted: true });
  view.why = document.createElement("p");
  tile.append(view.video, view.why);
  $("tiles").append(tile);
  connection.ontrack = ({ track }) => { view.video.srcObject = new MediaStream([track]); };
  const { data, jsep } = await handle.say({ request: "join", ptype: "subscriber", room, streams: [{ feed }] });
  view.mid = data.streams?.[0]?.mid ?? "0";
  await connection.setRemoteDescription(jsep);
  await connection.setLocalDescription();
  await handle.say({ request: "start" }, connection.localDescription);
  Object.assign(view, { handle, connection, tile });
}

function unwatch(feed) {
  const view = feeds.get(feed);
  feeds.delete(feed);
  view?.connection?.close();
  view?.tile?.remove();
}

/**
 * The page's own view of its downlink. Janus sends without congestion control and cannot pad: a probe is the next layer itself. While all
 * arrives, the rate that the allocator asks about counts as a lower bound; where more than a twentieth is lost, the arriving rate is the link.
 */
class Downlink {
  constructor() {
    Object.assign(this, { probe: 0, lost: 0, received: 0, full: 0 });
  }

  estimate(rate, lost, received) {
    const [missing, arrived] = [lost - this.lost, received - this.received];
    [this.lost, this.received] = [lost, received];
    if (missing > 3 && missing > 0.05 * (missing + arrived)) { this.full = performance.now(); this.probe = 0; }
    if (this.full && performance.now() - this.full < 8e3) return { rate: Math.max(100e3, rate), kind: "exact" };
    return { rate: Math.max(300e3, rate * 1.5, this.probe), kind: "at-least" };
  }
}
const downlink = new Downlink();

/** Carries out one action of the allocator; false if its feed is not yet watched. */
async function act(action, numbers) {
  if (action.probe) downlink.probe = action.probe.rate ?? downlink.probe;
  if (action.hold) own.follower.onNotice(action.hold);
  if (action.forward) {
    const view = feeds.get(numbers[action.forward.source]);
    if (!view?.handle) return false;
    view.layer = action.forward.layer;
    const stream = view.layer === null ? { mid: view.mid, send: false } : { mid: view.mid, send: true, substream: view.layer };
    await view.handle.say({ request: "configure", streams: [stream] });
  }
  return true;
}

/** Sums of a kind of entries of getStats() by a key. */
async function sums(connection, type, key, of) {
  const found = {};
  for (const entry of (await connection.getStats()).values()) {
    if (entry.type === type && entry.kind === "video") found[entry[key] ?? ""] = of(entry);
  }
  return found;
}

async function main() {
  await session.open();
  const handle = await session.attach((data) => {
    for (const publisher of data.publishers ?? []) watch(publisher.id).catch(told);
    if (data.unpublished && data.unpublished !== "ok") unwatch(data.unpublished);
    if (data.leaving) unwatch(data.leaving);
  });
  const { data } = await handle.say({ request: "join", ptype: "publisher", room, display: "member" });
  own = await publish(handle);
  let [link, before, at, late, member] = [null, {}, performance.now(), [], 0];
  addEventListener("pagehide", () => navigator.sendBeacon("leave", String(member)));
  for (;;) {
    await wait(REPORT);
    link = await readLink(own.connection, link);
    const bytes = await sums(own.connection, "outbound-rtp", "rid", (entry) => entry.bytesSent);
    const seconds = (performance.now() - at) / 1e3;
    const layers = ["l", "h"].map((rid) => Math.max(0, (8 * ((bytes[rid] ?? 0) - (before[rid] ?? 0))) / seconds));
    [before, at] = [bytes, performance.now()];
    let [rate, lost, received] = [0, 0, 0];
    for (const one of feeds.values()) {
      if (!one.connection) continue;
      one.link = await readLink(one.connection, one.link);
      rate += one.link.down;
      for (const [missing, arrived] of Object.values(await sums(one.connection, "inbound-rtp", "mid", (entry) => [entry.packetsLost ?? 0, entry.packetsReceived ?? 0]))) {
        lost += missing;
        received += arrived;
      }
    }
    const down = downlink.estimate(rate, lost, received);
    const [view] = [...feeds.values()].map((one) => ({
      layer: one.layer, rate: one.link?.down, width: one.video?.videoWidth, why: one.why?.textContent,
      frames: Object.values(one.link?.streams ?? {})[0]?.frames ?? 0,
    }));
    const report = {
      member, feed: data.id, layers, acks: own.acks.splice(0), up: { rate: link.estimate, sent: link.up }, down,
      seen: { view: view ?? {}, up: link.up, held: own.follower.rate },
    };
    const answer = await (await fetch("report", { method: "POST", body: JSON.stringify(report) })).json();
    member = answer.member;
    const open = [...late, ...answer.actions];
    late = [];
    for (const action of open) if (!(await act(action, answer.feeds))) late.push(action);
    for (const reason of answer.reasons) {
      const one = feeds.get(answer.feeds[reason.source]);
      if (one?.why) one.why.textContent = reason.text;
    }
  }
}

main().catch(told);
