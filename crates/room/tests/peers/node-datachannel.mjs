// A client of node-datachannel (libdatachannel).
import library from "node-datachannel";
import { flow, numberOf, post, run } from "./peer.mjs";

const connection = new library.PeerConnection("client", { iceServers: [] });
const video = new library.Video("video", { sendrecv: "SendRecv", sendonly: "SendOnly", recvonly: "RecvOnly" }[flow]);
video.addVP8Codec(96);
if (flow !== "recvonly") video.addSSRC(4711, "camera");
const track = connection.addTrack(video);
let packets = 0;
track.onMessage((message) => { packets += message[1] === 200 || message[1] === 201 ? 0 : 1; });
track.setMediaHandler(new library.RtcpReceivingSession());
const gathered = new Promise((done) => connection.onGatheringStateChange((state) => state === "complete" && done()));
connection.setLocalDescription();
await gathered;
const { answer, seat } = await post(connection.localDescription().sdp);
connection.setRemoteDescription(answer, "answer");
const send = (packet) => { if (track.isOpen()) track.sendMessageBinary(packet); };
await run(seat, numberOf(answer), send, () => packets);
