// The client's end of an allocator's decisions, for any page: it reports the estimate of the uplink and holds the sender.
// Without a library, without a server of its own: pass it an RTCRtpSender and functions that carry messages.

/** Shares of a held rate for simulcast layers, the smallest first; a single encoding has all of it. */
const SHARES = { 1: [1], 2: [0.25, 0.75], 3: [0.08, 0.24, 0.68] };
/** Rate below which a layer is switched off, so that those below it get its share. */
const LEAST = { 1: [0], 2: [0, 250e3], 3: [0, 120e3, 350e3] };

/**
 * Holds a sender at a total rate in bit/s, or to its first `layers` encodings, which keep their shares of that rate. The congestion control
 * keeps its natural estimate, unlike under REMB.
 */
export async function holdSender(sender, total, layers = Infinity) {
  const parameters = sender.getParameters();
  const count = parameters.encodings.length;
  const shares = SHARES[count] ?? Array(count).fill(1 / count);
  const least = LEAST[count] ?? Array(count).fill(0);
  const on = shares.map((share, index) => index === 0 || total * share >= least[index]);
  const sum = shares.reduce((all, share, index) => all + (on[index] ? share : 0), 0);
  parameters.encodings.forEach((encoding, index) => {
    encoding.active = on[index] && index < layers;
    encoding.maxBitrate = Math.max(30000, Math.round((total * shares[index]) / sum));
  });
  await sender.setParameters(parameters);
  return on.map((is, index) => is && index < layers);
}

/**
 * Adds a camera's track in scalable layers of VP9 or AV1, such as L3T3_KEY (three sizes, three frame rates) at up to `rate` bit/s; returns its sender.
 * The layers are the smaller sizes: the encoder is not to shrink its picture beside them, which a hold would make it do for good.
 */
export async function addScalable(connection, track, mode, rate, codec = "vp9") {
  if (!["vp9", "av1"].includes(codec)) throw new Error(`the codec is ${codec}; allowed are vp9 and av1`);
  const all = RTCRtpReceiver.getCapabilities("video").codecs;
  const names = [`video/${codec}`, "video/rtx"];
  const codecs = all.filter((one) => names.includes(one.mimeType.toLowerCase()) && /profile(-id)?=0|^$/.test(one.sdpFmtpLine ?? ""));
  const sendEncodings = [{ scalabilityMode: mode, maxBitrate: rate }];
  const added = connection.addTransceiver(track, { direction: "sendonly", sendEncodings });
  added.setCodecPreferences(codecs);
  const parameters = added.sender.getParameters();
  parameters.degradationPreference = "maintain-resolution";
  await added.sender.setParameters(parameters);
  return added.sender;
}

/** Offers for a transceiver of pictures what AV1 is forwarded by, dependency descriptors: browsers leave them out where they only receive. */
export function takeDescriptors(transceiver) {
  const all = transceiver.getHeaderExtensionsToNegotiate?.() ?? [];
  const own = all.find((one) => one.uri.endsWith("#dependency-descriptor-rtp-header-extension"));
  if (!own) return;
  own.direction = "sendrecv";
  transceiver.setHeaderExtensionsToNegotiate(all);
}

/**
 * The servers of STUN and TURN of a room, for the RTCPeerConnection that joins it: ask first, as a connection takes no others later
 * without a restart of ICE. `base` is the room's address, `ask` a fetch of the page's own.
 */
export async function readIceServers(base, token, ask = fetch) {
  const response = await ask(new URL("ice-servers", base), { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()).iceServers;
}

/** The estimate of the uplink in bit/s, and what is sent and received, from getStats(). */
export async function readLink(connection, previous) {
  const report = await connection.getStats();
  const now = { at: performance.now(), sent: 0, received: 0, estimate: 0, roundTrip: 0, streams: {}, layers: {} };
  for (const entry of report.values()) {
    if (entry.type === "candidate-pair" && entry.nominated) {
      now.estimate = entry.availableOutgoingBitrate ?? 0;
      now.roundTrip = entry.currentRoundTripTime ?? 0;
      now.sent = entry.bytesSent;
      now.received = entry.bytesReceived;
    } else if (entry.type === "inbound-rtp" && entry.kind === "video") {
      now.streams[entry.mid] = {
        width: entry.frameWidth ?? 0, height: entry.frameHeight ?? 0, frames: entry.framesDecoded ?? 0,
        freezes: entry.freezeCount ?? 0, frozen: entry.totalFreezesDuration ?? 0,
      };
    } else if (entry.type === "outbound-rtp" && entry.kind === "video") {
      now.layers[entry.rid ?? ""] = entry.framesEncoded ?? 0;
    }
  }
  const seconds = previous ? (now.at - previous.at) / 1000 : 0;
  const rate = (bytes, before) => (seconds > 0 ? Math.max(0, ((bytes - before) * 8) / seconds) : 0);
  now.up = rate(now.sent, previous?.sent);
  now.down = rate(now.received, previous?.received);
  return now;
}

/** Follows notices of one allocator for one sender. */
export class Follower {
  constructor(sender, cap, answer) {
    this.sender = sender;
    this.cap = cap;
    this.answer = answer;
    this.sequence = 0;
    this.rate = 0;
    this.work = Promise.resolve();
  }

  /**
   * Takes {sequence, rate, layers}: rate 0 releases, `layers` names the encodings in use; one encoding of scalable layers follows the rate. An
   * old notice is acknowledged and has no effect.
   */
  onNotice(notice) {
    this.answer({ t: "ack", sequence: notice.sequence });
    if (notice.sequence <= this.sequence) return;
    this.sequence = notice.sequence;
    this.rate = notice.rate;
    const scalable = this.sender?.getParameters().encodings.length === 1;
    const total = notice.rate > 0 && (scalable || !notice.layers) ? Math.min(notice.rate, this.cap) : this.cap;
    if (this.sender) this.work = this.work.then(() => holdSender(this.sender, total, notice.layers ?? undefined)).catch(() => {});
  }
}
