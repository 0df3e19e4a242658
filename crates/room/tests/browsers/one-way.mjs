// A client of WHIP and one of WHEP (npm's whip-whep, by the author of both texts) in Chromium: they join, send their candidates later, begin
// ICE anew, and leave.
import fs from "node:fs";

/** Opens a session from a blank page of the room's origin; returns the page, its requests with their statuses, and what went wrong. */
async function open(context, address, kind) {
  const page = await context.newPage();
  const asked = [];
  page.on("response", (one) => { if (one.url().includes(`/${kind}`)) asked.push(`${one.request().method()} ${one.status()}`); });
  const [base, token] = address.split("#");
  await page.route(`${base}blank`, (route) => route.fulfill({ contentType: "text/html", body: "" }));
  const script = fs.readFileSync(new URL(`node_modules/whip-whep/${kind}.js`, import.meta.url));
  await page.route(`${base}client-of-${kind}.js`, (route) => route.fulfill({ contentType: "text/javascript", body: script }));
  await page.goto(`${base}blank`);
  const error = await page.evaluate(async ([kind, base, token]) => {
    const { WHIPClient, WHEPClient } = await import(`${base}client-of-${kind}.js`);
    const connection = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
    const client = kind === "whip" ? new WHIPClient() : new WHEPClient();
    window.session = { connection, client, token, streams: new Set() };
    connection.ontrack = (event) => event.streams.forEach((stream) => window.session.streams.add(stream.id));
    const url = `${base}${kind}?name=${kind}`;
    if (kind === "whip") {
      const [camera] = (await navigator.mediaDevices.getUserMedia({ video: { width: 640 } })).getVideoTracks();
      const sendEncodings = [{ rid: "a", scaleResolutionDownBy: 2 }, { rid: "b" }];
      connection.addTransceiver(camera, { direction: "sendonly", sendEncodings });
      return client.publish(connection, url, token).then(() => null, String);
    }
    for (const media of ["audio", "video"]) connection.addTransceiver(media, { direction: "recvonly" });
    return client.view(connection, url, token).then(() => null, String);
  }, [kind, base, token]);
  return { page, asked, error };
}

const look = (page) => page.evaluate(async () => {
  const { connection, token, streams } = window.session;
  const stats = connection.connectionState === "closed" ? [] : [...(await connection.getStats()).values()];
  const frames = stats.find((one) => one.type === "inbound-rtp" && one.kind === "video")?.framesDecoded ?? 0;
  const sent = stats.filter((one) => one.type === "outbound-rtp").reduce((sum, one) => sum + (one.framesSent ?? 0), 0);
  const { members } = await (await fetch("/state", { headers: { Authorization: `Bearer ${token}` } })).json();
  return { frames, sent, state: connection.connectionState, streams: streams.size, members: members.map((one) => [one.name, one.layers]) };
});

export async function rows(context, address, check, until) {
  const own = (now, name) => now.members.find(([known]) => known === name)?.[1];
  const goes = {
    whip: (now) => own(now, "whip")?.[0] > 1e4,
    whep: (now) => now.frames > 25 && now.streams === 1,
  };
  for (const [kind, holds] of Object.entries(goes)) {
    const { page, asked, error } = await open(context, address, kind);
    check(`a client of ${kind} opens a session`, error === null, error);
    const [before] = await until(30, () => look(page), holds);
    check(`media of ${kind} go`, holds(before), before);
    const wrong = await page.evaluate(() => window.session.client.restart().then(() => null, String));
    const more = (now) => now.state === "connected" && now.frames + now.sent > before.frames + before.sent + 50;
    const [after] = await until(30, () => look(page), more);
    check(`and go on after ICE began anew`, wrong === null && more(after), [wrong, before, after]);
    await page.evaluate(() => window.session.client.stop());
    const [gone] = await until(10, () => look(page), (now) => !own(now, kind));
    check(`${kind} leaves`, !own(gone, kind), gone.members);
    // whip-whep 1.2.0 does not read the ETag of a session of WHEP: If-Match is missing until ICE began anew.
    const statuses = ["POST 201", kind === "whip" ? "PATCH 204" : "PATCH 428", "PATCH 200", "DELETE 200"];
    const known = asked.every((one) => [...statuses, "PATCH 204"].includes(one)) && statuses.every((one) => asked.includes(one));
    check(`all requests of ${kind} are answered as the text says`, known, asked);
    await page.close();
  }
}
