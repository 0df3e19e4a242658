// Clients that are not this room's page: the defaults of the API, other names of layers, another codec on one section.
import { wait } from "./participant.mjs";

/** Joins from a blank page of the room's origin without its scripts; returns what `read` may ask later. */
export async function join(context, address, kind) {
  const page = await context.newPage();
  const [base, token] = address.split("#");
  await page.route(`${base}blank`, (route) => route.fulfill({ contentType: "text/html", body: "" }));
  await page.goto(`${base}blank`);
  const error = await page.evaluate(async ([kind, token]) => {
    const connection = new RTCPeerConnection();
    window.foreign = { connection, token };
    const camera = async () => (await navigator.mediaDevices.getUserMedia({ video: { width: 640 } })).getVideoTracks()[0];
    const codecs = (name) => RTCRtpReceiver.getCapabilities("video").codecs.filter((one) => one.mimeType.includes(name));
    if (kind === "track") connection.addTrack(await camera());
    if (kind === "rids") {
      const sendEncodings = [["c", 1], ["b", 2], ["a", 4]].map(([rid, by]) => ({ rid, scaleResolutionDownBy: by }));
      connection.addTransceiver(await camera(), { sendEncodings });
    }
    if (kind === "h264") connection.addTransceiver("video", { direction: "recvonly" }).setCodecPreferences(codecs("H264"));
    for (let slot = 0; slot < 2; slot += 1) connection.addTransceiver("video", kind === "h264" ? { direction: "recvonly" } : {});
    await connection.setLocalDescription();
    await new Promise((done) => {
      if (connection.iceGatheringState === "complete") done();
      connection.onicegatheringstatechange = () => connection.iceGatheringState === "complete" && done();
    });
    const headers = { Authorization: `Bearer ${token}` };
    const body = JSON.stringify({ name: kind, offer: connection.localDescription });
    const reply = await fetch("/join", { method: "POST", headers, body });
    const joined = await reply.json().catch(() => ({}));
    if (!reply.ok) return `${reply.status} ${JSON.stringify(joined)}`;
    window.foreign.id = joined.id;
    return connection.setRemoteDescription(joined.answer).then(() => null, String);
  }, [kind, token]);
  return { page, error };
}

/** Pictures decoded on each section, directions, and the layers that the room sees of it. */
export const look = (page) => page.evaluate(async () => {
  const { connection, token, id } = window.foreign;
  const frames = [...(await connection.getStats()).values()].filter((one) => one.type === "inbound-rtp").map((one) => one.framesDecoded ?? 0);
  const state = await (await fetch("/state", { headers: { Authorization: `Bearer ${token}` } })).json();
  const own = state.members.find((one) => one.id === id);
  return { frames, directions: connection.getTransceivers().map((one) => one.currentDirection), layers: own?.layers ?? [] };
});

export async function rows(context, address, check, until) {
  const wants = {
    track: (now) => now.layers[0] > 1e4 && now.frames.some((count) => count > 25),
    rids: (now) => now.layers[0] > 1e4 && now.layers[0] < now.layers[1] && now.frames.some((count) => count > 25),
    h264: (now) => now.frames.some((count) => count > 25),
  };
  for (const [kind, holds] of Object.entries(wants)) {
    const { page, error } = await join(context, address, kind);
    check(`the answer to "${kind}" is taken`, error === null, error);
    const [seen, time] = await until(30, () => look(page), holds);
    check(`"${kind}" sends and sees`, holds(seen), { time, ...seen });
    await page.close();
    await wait(500);
  }
}
