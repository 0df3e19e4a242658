// A member of a Janus videoroom that follows an allocator: `configure` with a substream for each feed that it watches, setParameters for
// what it sends. Janus' HTTP transport without its library.
import { Follower, readLink } from "./client.js";

const query = new URLSearchParams(location.search);
const room = Number(query.get("room")) || 1234;
const width = Number(query.get("width")) || 640;
const cap = Number(query.get("cap")) || 1e6;
const REPORT = 400;
const $ = (id) => document.getElementById(id);
/** What tests read; `claim` replaces estimates, as a bad link would. */
const shown = (window.janusRoom = { state: "new", claim: {}, views: {}, held: 0, log: [] });

/** A session with its handles, over long polls. */
class Session {
  constructor() {
    this.waiting = new Map();
    this.handlers = new Map();
  }

  async post(path, message) {
    const transaction = Math.random().toString(36).slice(2);
    const body = JSON.stringify({ ...message, transaction });
    const arrives = new Promise((done) => this.waiting.set(transaction, done));
    const answer = await (await fetch(`janus${path}`, { method: "POST", body })).json();
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
      const events = await (await fetch(`janus/${this.id}?maxev=5`)).json().catch(() => null);
      if (!events) { await new Promise((done) => setTimeout(done, 500)); continue; }
      for (const event of [events].flat()) {
        if (event.janus !== "event") continue;
        this.waiting.get(event.transaction)?.(event);
        this.waiting.delete(event.transaction);
        this.handlers.get(event.sender)?.(event.plugindata?.data ?? {}, event.jsep);
      }
    }
  }

  async attach(handler) {
    const { id } = (await this.post(`/${this.id}`, { janus: "attach", plugin: "janus.plugin.videoroom" })).data;
    if (handler) this.handlers.set(id, handler);
    const say = async (body, jsep) => {
      const event = await this.post(`/${this.id}/${id}`, { janus: "message", body, ...(jsep ? { jsep } : {}) });
      const data = event.plugindata?.data ?? {};
      if (data.error) throw new Error(data.error);
      return { data, jsep: event.jsep };
    };
    const trickle = (connection) => {
      connection.onicecandidate = ({ candidate }) =>
        this.post(`/${this.id}/${id}`, { janus: "trickle", candidate: candidate ?? { completed: true } }).catch(() => {});
    };
    return { say, trickle };
  }
}

const session = new Session();
const feeds = new Map();
let own = null;

/** Publishes the camera: two layers, the smallest first. */
async function publish(handle) {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { width, height: (width * 9) / 16, frameRate: 25 } });
  const connection = new RTCPeerConnection();
  handle.trickle(connection);
  const sendEncodings = [
    { rid: "l", scaleResolutionDownBy: 2, maxBitrate: cap * 0.25 },
    { rid: "h", maxBitrate: cap * 0.75 },
  ];
  const transceiver = connection.addTransceiver(stream.getVideoTracks()[0], { direction: "sendonly", sendEncodings });
  const { sender } = transceiver;
  transceiver.setCodecPreferences(RTCRtpSender.getCapabilities("video").codecs.filter((codec) => /\/(vp8|rtx)$/i.test(codec.mimeType)));
  await connection.setLocalDescription();
  const offer = { ...connection.localDescription.toJSON(), rid_order: "lmh" };
  const { jsep } = await handle.say({ request: "publish", bitrate: 0 }, offer);
  await connection.setRemoteDescription(jsep);
  connection.onconnectionstatechange = () => { shown.state = connection.connectionState; $("status").textContent = shown.state; };
  return { connection, sender };
}

/** Watches one feed. */
async function watch(feed) {
  if (feeds.has(feed)) return;
  const view = { feed, layer: undefined, substream: null };
  feeds.set(feed, view);
  const handle = await session.attach((data) => {
    if (Number.isInteger(data.substream)) view.substream = data.substream;
  });
  const connection = new RTCPeerConnection();
  handle.trickle(connection);
  const tile = document.createElement("article");
  view.video = document.createElement("video");
  view.video.autoplay = view.video.playsInline = view.video.muted = true;
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

/** Lost and received packets of a viewed feed so far. */
async function packetsOf(connection) {
  for (const entry of (await connection.getStats()).values()) {
    if (entry.type === "inbound-rtp" && entry.kind === "video") return [entry.packetsLost ?? 0, entry.packetsReceived ?? 0];
  }
  return [0, 0];
}

/**
 * What this page knows of its downlink. Janus sends without congestion control and cannot pad: a probe is the next layer itself. While all
 * arrives, what the allocator wants to know about counts as a lower bound; where more than a twentieth is lost, what arrives is the link.
 */
class Downlink {
  constructor() {
    this.probe = 0;
    this.lost = 0;
    this.received = 0;
    this.full = 0;
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

/** Carries out one action of the allocator. */
async function act(action, numbers) {
  if (action.probe) { downlink.probe = action.probe.rate ?? downlink.probe; return null; }
  if (action.hold) {
    shown.held = action.hold.rate;
    own.follower.onNotice(action.hold);
  } else if (action.forward) {
    const view = feeds.get(numbers[action.forward.source]);
    // A feed that is not yet watched gets its layer once it is.
    if (!view?.handle) { shown.log.push("too early"); return action; }
    const { layer } = action.forward;
    view.layer = layer;
    const stream = layer === null ? { mid: view.mid, send: false } : { mid: view.mid, send: true, substream: layer };
    await view.handle.say({ request: "configure", streams: [stream] });
  }
  return null;
}

/** Rates of the sent layers, the smallest first, from getStats(). */
async function layersOf(connection, last) {
  const report = await connection.getStats();
  const bytes = {};
  for (const entry of report.values()) if (entry.type === "outbound-rtp" && entry.kind === "video") bytes[entry.rid] = entry.bytesSent;
  const now = { at: performance.now(), bytes };
  const rate = (rid) => (last ? Math.max(0, ((bytes[rid] ?? 0) - (last.bytes[rid] ?? 0)) * 8e3 / (now.at - last.at)) : 0);
  return [["l", "h"].map(rate), now];
}

async function main() {
  await session.open();
  const handle = await session.attach((data) => {
    for (const publisher of data.publishers ?? []) watch(publisher.id).catch((error) => shown.log.push(String(error)));
    if (data.unpublished && data.unpublished !== "ok") unwatch(data.unpublished);
    if (data.leaving) unwatch(data.leaving);
  });
  const { data } = await handle.say({ request: "join", ptype: "publisher", room, display: "member" });
  own = await publish(handle);
  own.acks = [];
  own.follower = new Follower(own.sender, cap, (message) => own.acks.push(message.sequence));
  let [link, layers, late, member] = [null, null, [], 0];
  addEventListener("pagehide", () => navigator.sendBeacon("leave", String(member)));
  const links = new Map();
  for (;;) {
    await new Promise((done) => setTimeout(done, REPORT));
    link = await readLink(own.connection, link);
    const [rates, seen] = await layersOf(own.connection, layers);
    layers = seen;
    let [down, lost, received] = [0, 0, 0];
    for (const [feed, view] of feeds) {
      if (!view.connection) continue;
      const now = await readLink(view.connection, links.get(feed));
      links.set(feed, now);
      view.rate = now.down;
      down += now.down;
      const [missing, arrived] = await packetsOf(view.connection);
      lost += missing;
      received += arrived;
    }
    const guessed = downlink.estimate(down, lost, received);
    const report = {
      member, feed: data.id, layers: rates, acks: own.acks.splice(0),
      up: shown.claim.up ?? { rate: link.estimate, sent: link.up }, down: shown.claim.down ?? guessed,
    };
    shown.up = link.up;
    const answer = await (await fetch("report", { method: "POST", body: JSON.stringify(report) })).json();
    member = answer.member;
    const open = [...late, ...answer.actions];
    late = [];
    for (const action of open) { const again = await act(action, answer.feeds); if (again) late.push(again); }
    for (const reason of answer.reasons) {
      const view = feeds.get(answer.feeds[reason.source]);
      if (view?.why) view.why.textContent = reason.text;
    }
    shown.member = member;
    shown.views = Object.fromEntries([...feeds].map(([feed, view]) => [feed, {
      layer: view.layer, substream: view.substream, rate: view.rate, width: view.video?.videoWidth, why: view.why?.textContent,
      frames: Object.values(links.get(feed)?.streams ?? {})[0]?.frames ?? 0,
    }]));
  }
}

main().catch((error) => { shown.error = String(error); $("status").textContent = String(error); });
