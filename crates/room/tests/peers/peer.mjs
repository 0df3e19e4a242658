// What the clients of node have in common: requests, packets of VP8 of the synthetic participants, lines for the test.
// usage of each: node CLIENT.mjs ADDRESS WAY NAME [RESUME]
import fs from "node:fs";
import readline from "node:readline";

export const [address, way, name, resume] = process.argv.slice(2);
const [base, token] = address.split("#");
const bearer = { Authorization: `Bearer ${token}` };
const frame = (kind) => Buffer.concat([Buffer.from([0x10]), fs.readFileSync(`${process.env.FRAMES}/160.${kind}`), Buffer.alloc(500)]);
const [key, delta] = [frame("key"), frame("delta")];

/** Posts an offer; returns the answer and the seat. */
export async function post(sdp) {
  if (way === "join") {
    const body = JSON.stringify({ name, offer: { type: "offer", sdp }, resume });
    const reply = await fetch(`${base}join`, { method: "POST", headers: bearer, body });
    if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`);
    const joined = await reply.json();
    return { answer: joined.answer.sdp, seat: joined.resume };
  }
  const headers = { ...bearer, "Content-Type": "application/sdp" };
  const reply = await fetch(`${base}${way}?name=${name}`, { method: "POST", headers, body: sdp });
  const answer = await reply.text();
  if (reply.status !== 201) throw new Error(`${reply.status} ${answer}`);
  return { answer, seat: reply.headers.get("location") };
}

/** Sends pictures as packets of RTP, counts what comes, and leaves once the test says so. */
export async function run(seat, number, send, count) {
  console.log(JSON.stringify({ seat }));
  const packet = Buffer.alloc(12);
  packet[0] = 0x80;
  packet[1] = 0x80 | number;
  packet.writeUInt32BE(4711, 8);
  let sequence = 0;
  const camera = setInterval(() => {
    packet.writeUInt16BE(++sequence & 0xffff, 2);
    packet.writeUInt32BE(sequence * 3000, 4);
    if (way !== "whep") send(Buffer.concat([packet, sequence % 25 === 1 ? key : delta]));
  }, 33);
  const told = setInterval(() => console.log(JSON.stringify({ frames: count() })), 200);
  await new Promise((done) => readline.createInterface({ input: process.stdin }).once("line", done));
  clearInterval(camera);
  clearInterval(told);
  if (way === "join") await fetch(`${base}leave?room=test`, { method: "POST", body: seat });
  else await fetch(new URL(seat, base), { method: "DELETE", headers: bearer });
  process.exit(0);
}

export const flow = { join: "sendrecv", whip: "sendonly", whep: "recvonly" }[way];

/** The number of VP8 in an answer. */
export const numberOf = (answer) => Number(answer.match(/a=rtpmap:(\d+) VP8/i)[1]);
