// A client of werift.
import { MediaStreamTrack, RTCPeerConnection, useVP8 } from "werift";
import { flow, numberOf, post, run } from "./peer.mjs";

const connection = new RTCPeerConnection({
  iceServers: [], iceUseIpv6: false, iceAdditionalHostAddresses: ["127.0.0.1"], codecs: { video: [useVP8()] },
});
let packets = 0;
connection.onTrack.subscribe((track) => track.onReceiveRtp.subscribe(() => { packets += 1; }));
const track = new MediaStreamTrack({ kind: "video" });
connection.addTransceiver(flow === "recvonly" ? "video" : track, { direction: flow });
await connection.setLocalDescription(await connection.createOffer());
const { answer, seat } = await post(connection.localDescription.sdp);
await connection.setRemoteDescription({ type: "answer", sdp: answer });
await run(seat, numberOf(answer), (packet) => track.writeRtp(packet), () => packets);
