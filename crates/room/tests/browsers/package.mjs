// The package as npm packs and installs it: its code holds a sender, and its types fit a page of others (package.ts).
// usage: node package.mjs, beside package.ts, in a folder with airbound-room-client and typescript
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import * as client from "airbound-room-client";

const files = fs.readdirSync("node_modules/airbound-room-client").sort();
assert.deepEqual(files, ["client.d.ts", "client.js", "package.json"]);
const declared = fs.readFileSync("node_modules/airbound-room-client/client.d.ts", "utf8");
const exported = [...declared.matchAll(/^export (?:class|function) (\w+)/gm)].map((match) => match[1]);
assert.deepEqual(Object.keys(client).sort(), exported.sort(), "all that is exported has types");

const parameters = { encodings: [{}, {}, {}] };
const sender = { getParameters: () => parameters, setParameters: async () => {} };
const answers = [];
const follower = new client.Follower(sender, 1e6, (message) => answers.push(message));
follower.onNotice({ sequence: 2, rate: 200e3 });
follower.onNotice({ sequence: 1, rate: 900e3 });
await follower.work;
assert.deepEqual(answers, [{ t: "ack", sequence: 2 }, { t: "ack", sequence: 1 }]);
// 200 kb/s are too little for the largest layer and for the middle one's 120 kb/s.
assert.deepEqual(parameters.encodings.map((one) => one.active), [true, false, false]);
assert.equal(parameters.encodings[0].maxBitrate, 200e3);
follower.onNotice({ sequence: 3, rate: 480e3, layers: 2 });
await follower.work;
assert.deepEqual(parameters.encodings.map((one) => one.active), [true, true, false]);

const asked = [];
const answer = (body, ok) => async (address, options) => { asked.push([String(address), options.headers.authorization]); return { ok, json: async () => body, text: async () => body }; };
const servers = [{ urls: "turn:a", username: "u", credential: "c" }];
assert.deepEqual(await client.readIceServers("https://room.example/#x", "t", answer({ iceServers: servers }, true)), servers);
assert.deepEqual(asked, [["https://room.example/ice-servers", "Bearer t"]]);
await assert.rejects(client.readIceServers("https://room.example/", "t", answer("a token is missing", false)), /a token is missing/);
execFileSync("node_modules/.bin/tsc", ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "package.ts"], { stdio: "inherit" });
console.log("held   the package is installed, its code runs, and its types are true: 0.1.0");
