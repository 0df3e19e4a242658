// Chromium as a client of WHIP and of WHEP: it joins, sends its candidates later, begins ICE anew, and leaves.

/** Opens a session from a blank page of the room's origin; returns the page, and what went wrong. */
async function open(context, address, kind) {
  const page = await context.newPage();
  const [base, token] = address.split("#");
  await page.route(`${base}blank`, (route) => route.fulfill({ contentType: "text/html", body: "" }));
  await page.goto(`${base}blank`);
  const error = await page.evaluate(async ([kind, token]) => {
    const connection = new RTCPeerConnection({ bundlePolicy: "max-bundle" });
    const own = (window.session = { connection, streams: new Set() });
    own.ask = (method, path, type, body, tag) => {
      const headers = { Authorization: `Bearer ${token}`, ...(type && { "Content-Type": type }), ...(tag && { "If-Match": tag }) };
      return fetch(path, { method, headers, body });
    };
    const candidates = [];
    connection.onicecandidate = (event) => { if (event.candidate?.candidate) candidates.push(`a=${event.candidate.candidate}`); };
    connection.ontrack = (event) => event.streams.forEach((stream) => own.streams.add(stream.id));
    if (kind === "whip") {
      const [camera] = (await navigator.mediaDevices.getUserMedia({ video: { width: 640 } })).getVideoTracks();
      const sendEncodings = [{ rid: "a", scaleResolutionDownBy: 2 }, { rid: "b" }];
      connection.addTransceiver(camera, { direction: "sendonly", sendEncodings });
    } else {
      for (const media of ["audio", "video"]) connection.addTransceiver(media, { direction: "recvonly" });
    }
    own.fragment = () => {
      const wanted = (line) => /^(m=|a=mid:|a=ice-)/.test(line);
      const [first] = connection.localDescription.sdp.split(/(?=m=)/).slice(1);
      return `${[...first.split("\r\n").filter(wanted), ...candidates].join("\r\n")}\r\n`;
    };
    await connection.setLocalDescription();
    const offer = connection.localDescription.sdp;
    const created = await own.ask("POST", `/${kind}?name=${kind}`, "application/sdp", offer);
    if (created.status !== 201) return `${created.status} ${await created.text()}`;
    Object.assign(own, { at: created.headers.get("Location"), tag: created.headers.get("ETag"), answer: await created.text() });
    await connection.setRemoteDescription({ type: "answer", sdp: own.answer });
    if (connection.iceGatheringState !== "complete") await new Promise((done) => { connection.onicegatheringstatechange = done; });
    const patched = await own.ask("PATCH", own.at, "application/trickle-ice-sdpfrag", own.fragment(), own.tag);
    return patched.status === 204 ? null : `PATCH: ${patched.status} ${await patched.text()}`;
  }, [kind, token]);
  return { page, error };
}

/** Begins ICE anew; returns what went wrong. */
const restart = (page) => page.evaluate(async () => {
  const { connection, ask, at, tag, fragment, answer } = window.session;
  connection.restartIce();
  await connection.setLocalDescription();
  const answered = await ask("PATCH", at, "application/trickle-ice-sdpfrag", fragment(), "*");
  const part = await answered.text();
  if (answered.status !== 200 || answered.headers.get("ETag") === tag) return `${answered.status} ${part}`;
  const value = (name) => part.match(new RegExp(`^a=${name}:.*$`, "m"))[0];
  const sdp = ["ice-ufrag", "ice-pwd"].reduce((text, name) => text.replace(new RegExp(`^a=${name}:.*$`, "gm"), value(name)), answer);
  return connection.setRemoteDescription({ type: "answer", sdp }).then(() => null, String);
});

const look = (page) => page.evaluate(async () => {
  const { connection, ask, streams } = window.session;
  const stats = [...(await connection.getStats()).values()];
  const frames = stats.find((one) => one.type === "inbound-rtp" && one.kind === "video")?.framesDecoded ?? 0;
  const sent = stats.filter((one) => one.type === "outbound-rtp").map((one) => one.framesSent ?? 0);
  const { members } = await (await ask("GET", "/state")).json();
  return { frames, sent, state: connection.connectionState, streams: streams.size, members: members.map((one) => [one.name, one.layers]) };
});

export async function rows(context, address, check, until) {
  const own = (now, name) => now.members.find(([known]) => known === name)?.[1];
  const goes = {
    whip: (now) => own(now, "whip")?.[0] > 1e4,
    whep: (now) => now.frames > 25 && now.streams === 1,
  };
  for (const [kind, holds] of Object.entries(goes)) {
    const { page, error } = await open(context, address, kind);
    check(`Chromium opens a session of ${kind}`, error === null, error);
    const [seen] = await until(30, () => look(page), holds);
    check(`media of ${kind} go`, holds(seen), seen);
    const wrong = await restart(page);
    check(`ICE of ${kind} begins anew`, wrong === null, wrong);
    const total = (now) => now.frames + now.sent.reduce((sum, one) => sum + one, 0);
    const before = total(await look(page));
    const [after] = await until(30, () => look(page), (now) => now.state === "connected" && total(now) > before + 25);
    check(`and media of ${kind} go on`, after.state === "connected" && total(after) > before + 25, [before, after]);
    const left = await page.evaluate(async () => (await window.session.ask("DELETE", window.session.at)).status);
    const [gone] = await until(10, () => look(page), (now) => !own(now, kind));
    check(`${kind} leaves`, left === 200 && !own(gone, kind), [left, gone.members]);
    await page.close();
  }
}
