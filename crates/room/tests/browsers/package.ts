// A page of others that uses the package: what it says of its types is what a compiler finds in it.
import { Follower, addScalable, holdSender, readIceServers, readLink, takeDescriptors, type Link, type Notice } from "airbound-room-client";

export async function follow(connection: RTCPeerConnection, sender: RTCRtpSender, channel: RTCDataChannel): Promise<Link> {
  const follower = new Follower(sender, 2.5e6, (message) => channel.send(JSON.stringify(message)));
  const notice: Notice = { sequence: 1, rate: 3e5, layers: 2 };
  follower.onNotice(notice);
  const active: boolean[] = await holdSender(sender, 3e5, 2);
  const first = await readLink(connection);
  const link = await readLink(connection, first);
  if (!active[0]) throw new Error(`${link.estimate} of ${follower.sequence}`);
  new RTCPeerConnection({ iceServers: await readIceServers("https://room.example", "token") });
  if (sender.track) await addScalable(connection, sender.track, "L3T3_KEY", 1e6, "av1");
  connection.getTransceivers().forEach(takeDescriptors);
  // @ts-expect-error a rate is a number
  follower.onNotice({ sequence: 2, rate: "fast" });
  return link;
}
