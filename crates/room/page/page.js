import { Follower, addScalable, readIceServers, readLink, takeDescriptors } from "./client.js";

const $ = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search);
const token = location.hash.slice(1);
const room = token.split(".")[0] || "room";
const slots = Math.min(31, Number(query.get("slots")) || 7);
const cap = Math.min(20e6, Number(query.get("cap")) || 1.5e6);
const width = Math.min(1920, Number(query.get("width")) || 640);
/** The mode of scalable layers in which the camera is sent, and their codec; null for simulcast. */
const svc = query.get("svc");
const codec = query.get("codec") ?? "vp9";
const RESUME = `airbound-resume-${room}`;
/** What tests read. */
const shown = (window.airbound = { state: "new", view: null, link: null, error: null, own: null, log: [] });
const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };

$("room").textContent = room;
const megabits = (rate) => (rate >= 1e6 ? `${(rate / 1e6).toFixed(2)} Mb/s` : `${Math.round(rate / 1e3)} kb/s`);
const status = (text) => { if ($("status").textContent !== text) $("status").textContent = text; };

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function makeTile(title) {
  const tile = element("article", "tile");
  const video = element("video");
  video.autoplay = video.playsInline = video.muted = true;
  const body = element("div");
  const head = element("h3");
  const name = element("span", "", title);
  const layer = element("span", "layer");
  head.append(name, layer);
  const size = element("p", "hint");
  const why = element("p", "why");
  const label = element("label");
  const large = element("input");
  large.type = "checkbox";
  large.checked = true;
  label.append(large, " show large");
  body.append(head, size, why, label);
  tile.append(video, body);
  $("tiles").append(tile);
  return { tile, video, name, layer, size, why, large, label };
}

/** The codecs of some names, and retransmissions: fewer codecs keep an offer with many slots short. */
function codecs(names) {
  const all = RTCRtpReceiver.getCapabilities("video").codecs;
  const usual = (codec) => codec.sdpFmtpLine === undefined || !/profile(-id)?=[^0]/.test(codec.sdpFmtpLine);
  return all.filter((codec) => [...names, "rtx"].includes(codec.mimeType.slice(6).toLowerCase()) && usual(codec));
}

async function camera() {
  const stream = await navigator.mediaDevices.getUserMedia({ video: { width, height: (width * 9) / 16, frameRate: 25 }, audio: query.get("audio") !== "0" });
  return stream;
}

/** Sends a request, again if it does not get through, as over a link that is down for a while, or the server is busy. */
async function post(path, options) {
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(path, options).catch((error) => { if (tries > 5) throw error; });
    if (response && (![408, 503].includes(response.status) || tries > 5)) return response;
    status("the request does not get through: trying again");
    await new Promise((done) => setTimeout(done, 1000 * tries));
  }
}

async function enter(withCamera) {
  status("connecting");
  let stream = null;
  if (withCamera) {
    try { stream = await camera(); } catch { status("no camera: watching only"); }
  }
  const iceServers = await readIceServers(location.href, token, post);
  const connection = new RTCPeerConnection({ iceServers, iceTransportPolicy: query.get("relay") === "1" ? "relay" : "all" });
  shown.connection = connection;
  const channel = connection.createDataChannel("room");
  shown.log = [];
  const say = (message) => { if (channel.readyState === "open") channel.send(JSON.stringify(message)); };
  let sender = null;
  if (stream) {
    const track = stream.getVideoTracks()[0];
    const wide = track.getSettings().width ?? width;
    // A browser sends as many layers as the capture has room for, and never the largest if it is named beyond that.
    const encodings = wide >= 960
      ? [{ rid: "q", scaleResolutionDownBy: 4, maxBitrate: cap * 0.08 }, { rid: "h", scaleResolutionDownBy: 2, maxBitrate: cap * 0.24 }, { rid: "f", maxBitrate: cap * 0.68 }]
      : wide >= 480
        ? [{ rid: "q", scaleResolutionDownBy: 2, maxBitrate: cap * 0.25 }, { rid: "h", scaleResolutionDownBy: 1, maxBitrate: cap * 0.75 }]
        : [{ maxBitrate: cap }];
    if (svc) {
      sender = await addScalable(connection, track, svc, cap, codec).catch((error) => {
        throw new Error(`?svc=${svc} in ${codec} cannot be sent by this browser, such as L3T3_KEY or L1T3 may be: ${error.message}`);
      });
    } else {
      const simulcast = connection.addTransceiver(track, { direction: "sendonly", sendEncodings: encodings });
      simulcast.setCodecPreferences(codecs(["vp8"]));
      sender = simulcast.sender;
    }
    const audio = stream.getAudioTracks()[0];
    if (audio) connection.addTransceiver(audio, { direction: "sendonly" });
    const own = makeTile($("name").value || "you");
    own.video.srcObject = stream;
    own.label.remove();
    shown.own = own;
  }
  const tiles = new Map();
  const videos = [];
  for (let index = 0; index < slots; index += 1) {
    videos.push(connection.addTransceiver("video", { direction: "recvonly" }));
  }
  for (let index = 0; index < Math.min(slots, 4); index += 1) {
    const heard = connection.addTransceiver("audio", { direction: "recvonly" });
    const player = element("audio");
    player.autoplay = true;
    player.srcObject = new MediaStream([heard.receiver.track]);
    document.body.append(player);
  }
  videos.forEach((one) => one.setCodecPreferences(codecs(["vp8", "vp9", "av1"])));
  videos.forEach(takeDescriptors);
  connection.onconnectionstatechange = () => {
    shown.state = connection.connectionState;
    status(connection.connectionState);
    if (connection.connectionState === "failed") again().catch(() => setTimeout(() => location.reload(), 1000));
  };
  /** Looks for new ways to the room, as after a change of network; the seat and all pictures stay. */
  const again = (shown.again = async () => {
    connection.restartIce();
    await connection.setLocalDescription();
    const resume = sessionStorage.getItem(RESUME);
    const response = await fetch("restart", { method: "POST", headers, body: JSON.stringify({ resume, offer: connection.localDescription }) });
    if (!response.ok) throw new Error(await response.text());
    await connection.setRemoteDescription((await response.json()).answer);
  });
  await connection.setLocalDescription();
  const body = JSON.stringify({ name: $("name").value, offer: connection.localDescription, resume: sessionStorage.getItem(RESUME) ?? undefined });
  const response = await post("join", { method: "POST", headers, body });
  if (!response.ok) throw new Error(await response.text());
  const { answer, resume, id } = await response.json();
  sessionStorage.setItem(RESUME, resume);
  sessionStorage.setItem(`${RESUME}-with`, withCamera ? "camera" : "watch");
  shown.id = id;
  await connection.setRemoteDescription(answer);
  addEventListener("pagehide", () => navigator.sendBeacon(`leave?room=${encodeURIComponent(room)}`, resume));
  $("enter").hidden = $("about").hidden = true;
  $("main").hidden = false;

  const follower = new Follower(sender, cap, say);
  shown.follower = follower;
  channel.onmessage = (event) => {
    const message = JSON.parse(event.data);
    if (message.t === "notice") follower.onNotice(message);
    if (message.t === "view") show(message, connection, videos, tiles, say);
  };
  let link = null;
  const history = [];
  setInterval(async () => {
    link = await readLink(connection, link);
    shown.link = link;
    history.push([link.up, link.down]);
    if (history.length > 300) history.shift();
    say({ t: "up", estimate: link.estimate });
    draw(history);
  }, 200);
}

function show(view, connection, videos, tiles, say) {
  shown.view = view;
  for (const one of view.own.views) {
    let tile = tiles.get(one.from);
    if (!tile) {
      tile = makeTile(one.name);
      tiles.set(one.from, tile);
      tile.large.addEventListener("change", () => {
        const views = [...tiles].map(([from, other]) => ({ from, largest: other.large.checked ? 2 : 0, priority: other.large.checked ? 1 : 0 }));
        say({ t: "views", views });
      });
    }
    const slot = videos.find((transceiver) => transceiver.mid === one.mid);
    if (slot && tile.mid !== one.mid) {
      tile.mid = one.mid;
      tile.video.srcObject = new MediaStream([slot.receiver.track]);
    }
    const stream = shown.link?.streams[one.mid];
    tile.name.textContent = one.name;
    tile.layer.textContent = one.layer === null ? "not forwarded" : `layer ${one.layer + 1}, ${megabits(one.rate)}`;
    tile.size.textContent = `${stream?.width ? `${stream.width}×${stream.height}` : "no picture yet"}, ${tile.large.checked ? "wanted large" : "wanted small"}`;
    if (tile.why.textContent !== (one.why ?? "")) tile.why.textContent = one.why ?? "";
  }
  for (const [from, tile] of tiles) {
    if (!view.own.views.some((one) => one.from === from)) { tile.tile.remove(); tiles.delete(from); }
  }
  showLinks(view);
  showLog(view.log);
  $("policies").hidden = false;
  // Until the room has what was asked for, a view shows the policy before: to check it would uncheck the new one.
  if (asked && (view.policy === asked.policy || performance.now() > asked.until)) asked = null;
  for (const input of document.getElementsByName("policy")) {
    input.disabled = !view.host;
    input.checked = input.value === (asked?.policy ?? view.policy);
  }
}

/** The policy that was asked for and is not in a view yet. */
let asked = null;

const STATES = { natural: "natural", "sender-held": "its sending is held", "forwarding-held": "forwarding to it is held" };

function showLinks(view) {
  const most = Math.max(1e6, ...view.members.flatMap((one) => [one.up.rate, one.down.rate, Math.min(one.up.estimate, 6e6), Math.min(one.down.estimate, 6e6)]));
  const place = (rate) => `${Math.min(100, (rate / most) * 100)}%`;
  const old = new Map([...$("links").children].map((row) => [row.dataset.id, row]));
  for (const member of view.members) {
    const key = String(member.id);
    let row = old.get(key);
    old.delete(key);
    if (!row) {
      row = element("div", "link");
      row.dataset.id = key;
      const who = element("div", "who");
      who.append(element("span"), element("span", "state"));
      const bars = element("div", "bars");
      for (const way of ["up", "down"]) {
        const bar = element("div", `bar ${way}`);
        bar.append(element("i"), element("b"), element("u"));
        bars.append(element("span", "", way), bar, element("span"));
      }
      row.append(who, bars);
      $("links").append(row);
    }
    const [who, bars] = row.children;
    who.children[0].textContent = member.id === view.own.id ? `${member.name} (you)` : member.name;
    const bound = member.up.binding?.length ? `, bound by ${member.up.binding.join(", ")}` : "";
    const taken = member.up.layers ? `, nobody takes more than layer ${member.up.layers}` : "";
    who.children[1].textContent = STATES[member.state] + (taken || bound);
    row.classList.toggle("held", member.state !== "natural" || Boolean(member.up.layers));
    ["up", "down"].forEach((way, index) => {
      const [, bar, text] = [...bars.children].slice(index * 3, index * 3 + 3);
      const { rate, estimate, kind, limit } = member[way];
      const [fill, mark, edge] = bar.children;
      fill.style.width = place(rate);
      mark.style.left = place(estimate);
      mark.className = kind === "exact" ? "" : "least";
      edge.hidden = !limit;
      edge.style.left = place(limit ?? 0);
      mark.hidden = estimate === 0;
      const known = estimate > 0 ? ` of ${kind === "exact" ? "" : "≥ "}${(estimate / 1e6).toFixed(2)}` : ", not measured";
      text.textContent = `${(rate / 1e6).toFixed(2)}${known}${limit ? `, held ${(limit / 1e6).toFixed(2)}` : ""}`;
    });
  }
  for (const row of old.values()) row.remove();
}

// A view has the lines that are new.
function showLog(lines) {
  if (lines.length === 0) return;
  shown.log = [...shown.log, ...lines].slice(-12);
  $("log").replaceChildren(...shown.log.toReversed().map(([at, text]) => {
    const item = element("li");
    item.append(element("time", "", `${at.toFixed(1)} s`), text);
    return item;
  }));
}

function draw(history) {
  const canvas = $("graph");
  // As many points as the screen has, so that a phone does not shrink the text.
  const scale = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth || 640, Math.max(120, (canvas.clientWidth || 640) / 4)];
  if (canvas.width !== Math.round(width * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  const style = getComputedStyle(document.documentElement);
  const most = Math.max(5e5, ...history.flat()) * 1.1;
  pen.clearRect(0, 0, width, height);
  pen.font = "12px system-ui";
  pen.fillStyle = style.getPropertyValue("--soft");
  pen.fillText(megabits(most), 6, 14);
  ["--up", "--down"].forEach((colour, index) => {
    pen.strokeStyle = style.getPropertyValue(colour);
    pen.lineWidth = 2;
    pen.beginPath();
    history.forEach((pair, place) => {
      const x = width - (history.length - 1 - place) * (width / 300);
      const y = height - (pair[index] / most) * height;
      if (place) pen.lineTo(x, y); else pen.moveTo(x, y);
    });
    pen.stroke();
  });
}

for (const input of document.getElementsByName("policy")) {
  input.addEventListener("change", async () => {
    asked = { policy: input.value, until: performance.now() + 5000 };
    const response = await fetch("policy", { method: "POST", headers, body: JSON.stringify({ policy: input.value }) });
    if (!response.ok) { asked = null; status(await response.text()); }
  });
}
const fail = (error) => { shown.error = String(error); status(String(error.message ?? error)); };
$("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  enter(event.submitter?.value !== "watch").catch(fail);
});
const again = sessionStorage.getItem(`${RESUME}-with`) ?? query.get("join");
if (again && token) enter(again === "camera").catch(fail);
if (!token) status("this address has no token: use the one that the program printed");
