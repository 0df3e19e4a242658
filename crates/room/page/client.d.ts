/** A decision of an allocator about one sender. */
export interface Notice {
  /** Its number; older ones than the latest have no effect. */
  sequence: number;
  /** The rate in bit/s at which the sender is held; 0 releases it. */
  rate: number;
  /** The number of encodings in use, from the smallest, where the others are switched off since nobody takes them. */
  layers?: number | null;
}

/** What a page answers. */
export interface Acknowledgement {
  t: "ack";
  sequence: number;
}

/** A picture that arrives. */
export interface Picture {
  width: number;
  height: number;
  /** Frames decoded so far. */
  frames: number;
  freezes: number;
  /** Seconds frozen so far. */
  frozen: number;
}

/** What a connection's statistics say of its link; rates in bit/s, over the time since the previous reading. */
export interface Link {
  /** `performance.now()` of the reading. */
  at: number;
  /** Bytes so far. */
  sent: number;
  received: number;
  /** The congestion control's estimate of the uplink; 0 before the first. */
  estimate: number;
  /** Seconds. */
  roundTrip: number;
  up: number;
  down: number;
  /** Pictures by the mid of their section. */
  streams: Record<string, Picture>;
  /** Frames encoded so far by rid; "" without simulcast. */
  layers: Record<string, number>;
}

/** Holds a sender at `total` bit/s, or to its first `layers` encodings; returns which of its encodings are active. */
export function holdSender(sender: RTCRtpSender, total: number, layers?: number): Promise<boolean[]>;

/**
 * Adds a camera's track in scalable layers of VP9, or of AV1: `mode` as in WebRTC-SVC, such as L3T3_KEY or L1T3, at up to `rate` bit/s. Fails
 * where the browser has no such codec or mode.
 */
export function addScalable(
  connection: RTCPeerConnection, track: MediaStreamTrack, mode: string, rate: number, codec?: "vp9" | "av1",
): Promise<RTCRtpSender>;

/** Makes a transceiver that receives pictures take those of AV1, before the offer; without effect in a browser that has no such choice. */
export function takeDescriptors(transceiver: RTCRtpTransceiver): void;

/**
 * Reads the servers of STUN and TURN of a room, for `iceServers` of the connection that joins it; empty if it has none. `base` is the
 * room's address, `ask` is called in place of `fetch`. Fails with the room's sentence if it refuses the token.
 */
export function readIceServers(
  base: string | URL, token: string, ask?: (address: URL, options: RequestInit) => Promise<Response>,
): Promise<RTCIceServer[]>;

/** Reads the statistics of a connection; rates need the previous reading. */
export function readLink(connection: RTCPeerConnection, previous?: Link): Promise<Link>;

/** Follows the notices of one allocator for one sender. */
export class Follower {
  /** `sender` is null for a page that only watches; `cap` is the rate of a sender that is not held; `answer` carries an acknowledgement back. */
  constructor(sender: RTCRtpSender | null, cap: number, answer: (message: Acknowledgement) => void);
  /** The number of the latest notice. */
  sequence: number;
  /** Its rate; 0 for none. */
  rate: number;
  /** Settles when all notices so far are carried out. */
  work: Promise<unknown>;
  onNotice(notice: Notice): void;
}
