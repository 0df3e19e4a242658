#!/usr/bin/env python3
"""An allocator for the videoroom of Janus: a bridge between `airbound allocator` and the pages, and a test of both with two Chromiums.

  janus.py bridge --socket /tmp/allocator.sock [--janus http://127.0.0.1:8188/janus] [--port 8089] [--room 1234]
  janus.py test target/release/airbound-room

The bridge passes reports of the pages to the allocator and its actions back to them; Janus knows nothing of it. Each page (janus.js) carries
out what concerns it with the means that Janus has: `configure` with a substream for what it watches, and the browser's own setParameters
(client.js of the room) for what it sends. The test needs Debian's janus and chromium, and a network namespace of its own.
"""

import argparse
import glob
import http.client
import http.server
import json
import os
import pathlib
import socket
import sys
import tempfile
import threading
import time
import urllib.request

from chromium import Browser
from peers import HERE, ROOT, Failed, Missing, Parser, at_least, end, need, program, started, wait_for_port

#: Time between two questions to the allocator, and without a report after which a member counts as gone, in s.
PERIOD, GONE = 0.2, 10.0
PAGE = b"""<!doctype html><html lang="en"><meta charset="utf-8"><title>A Janus room with Airbound's allocator</title>
<link rel="icon" href="data:,"><style>#tiles { display: grid; grid-template-columns: 1fr 1fr } video { width: 100% }</style>
<p id="status" role="status">joining</p><div id="tiles"></div><script type="module" src="janus.js"></script></html>"""
#: Janus: one room on the loopback device, media elsewhere, since it offers no loopback addresses.
SETTINGS = {
    "janus.jcfg": """general: {{ configs_folder = "{folder}" plugins_folder = "{libraries}/plugins" transports_folder = "{libraries}/transports" debug_level = 3 }}
media: {{ rtp_port_range = "20000-40000" }}
nat: {{ ice_lite = true full_trickle = true }}
plugins: {{ disable = "{unused}" }}
transports: {{ disable = "libjanus_mqtt.so,libjanus_nanomsg.so,libjanus_pfunix.so,libjanus_rabbitmq.so,libjanus_websockets.so" }}
""",
    "janus.plugin.videoroom.jcfg": """general: {{ }}
room-1234: {{ description = "test" publishers = 64 bitrate = 0 fir_freq = 10 videocodec = "vp8" audiocodec = "opus" }}
""",
    "janus.transport.http.jcfg": """general: {{ json = "compact" base_path = "/janus" http = true port = {port} interface = "lo" https = false }}
admin: {{ admin_http = false }}
""",
}


class Server(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        # A page that has left is no error.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Bridge:
    """The members of one room, by their number for the allocator."""

    def __init__(self, path, room):
        self.socket = socket.socket(socket.AF_UNIX)
        try:
            self.socket.connect(path)
        except OSError as error:
            raise Failed(f"no allocator answers at {path}: {error.strerror}") from error
        self.lines = self.socket.makefile("rw")
        self.room, self.lock = room, threading.Lock()
        self.members, self.inputs, self.reasons, self.next = {}, [], {}, 1
        #: Estimates in place of those that a member reports, as a bad link would have them.
        self.claims = {}
        self.over = threading.Event()

    def leave(self, number):
        if self.members.pop(number, None):
            self.inputs.append({"leave": {"member": number}})

    def decide(self):
        """Asks for decisions and puts each action where its page will fetch it."""
        with self.lock:
            for number in [number for number, member in self.members.items() if time.monotonic() - member["heard"] > GONE]:
                self.leave(number)
            question, self.inputs = {"room": str(self.room), "inputs": self.inputs, "explain": True}, []
            self.lines.write(json.dumps(question) + "\n")
            self.lines.flush()
            reply = json.loads(self.lines.readline())
            if "error" in reply:
                print(f"janus: {reply['error']}", file=sys.stderr)
            for action in reply.get("actions", []):
                about = next(action[kind][key] for kind, key in (("hold", "member"), ("probe", "member"), ("forward", "viewer")) if kind in action)
                if about in self.members:
                    self.members[about]["actions"].append(action)
            self.reasons |= {(reason["viewer"], reason["source"]): reason for reason in reply.get("reasons", [])}

    def report(self, body):
        """Takes what a page reports; returns its actions, the feeds of all members, and its reasons."""
        with self.lock:
            number = body["member"]
            if number not in self.members:
                number, self.next = self.next, self.next + 1
                self.members[number] = {"feed": body["feed"], "actions": []}
                self.inputs.append({"join": {"member": number}})
            member = self.members[number]
            member |= {"heard": time.monotonic(), "seen": body["seen"]}
            self.inputs.append({"layers": {"source": number, "rates": [round(rate) for rate in body["layers"]]}})
            views = [{"from": other, "largest": 3} for other in self.members if other != number]
            self.inputs.append({"views": {"viewer": number, "views": views}})
            for way in ("up", "down"):
                estimate = self.claims.get(number, {}).get(way) or body[way]
                if estimate["rate"] > 0:
                    rounded = {key: round(value) if key in ("rate", "sent") else value for key, value in estimate.items()}
                    self.inputs.append({way: {"member": number} | rounded})
            self.inputs += [{"ack": {"member": number, "sequence": sequence}} for sequence in body["acks"]]
            actions, member["actions"] = member["actions"], []
            reasons = [reason for (viewer, source), reason in self.reasons.items() if viewer == number and source in self.members]
            return {"member": number, "actions": actions, "feeds": {other: one["feed"] for other, one in self.members.items()}, "reasons": reasons}

    def seen(self, number):
        """The page of a member: its first view, what it sends and the rate at which it is held."""
        with self.lock:
            return self.members.get(number, {}).get("seen") or {"view": {}, "up": 0, "held": 0}

    def server(self, janus, port):
        """The pages, their reports, and Janus on the pages' own origin."""
        bridge = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, code, kind="text/plain", body=b""):
                self.send_response(code)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def passed(self, body):
                address = janus + self.path.removeprefix("/janus")
                request = urllib.request.Request(address, body or None, {"Content-Type": "application/json"}, method=self.command)
                try:
                    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=60) as reply:
                        self.answer(reply.status, "application/json", reply.read())
                except (OSError, http.client.HTTPException) as error:
                    self.answer(502, body=str(error).encode())

            def do_GET(self):
                path = self.path.split("?")[0]
                files = {"/janus.js": HERE / "janus.js", "/client.js": ROOT / "crates/room/page/client.js"}
                if path in files:
                    self.answer(200, "text/javascript", files[path].read_bytes())
                elif path == "/":
                    self.answer(200, "text/html", PAGE)
                else:
                    self.passed(b"") if path.startswith("/janus") else self.answer(404)

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if self.path == "/report":
                    try:
                        self.answer(200, "application/json", json.dumps(bridge.report(json.loads(body))).encode())
                    except (ValueError, KeyError, TypeError) as error:
                        self.answer(400, body=repr(error).encode())
                elif self.path == "/leave":
                    with bridge.lock:
                        bridge.leave(int(body))
                    self.answer(204)
                elif self.path == "/error":
                    print(f"janus: the page failed: {body.decode()}", flush=True)
                    self.answer(204)
                else:
                    self.passed(body) if self.path.startswith("/janus") else self.answer(404)

            def log_message(self, *_):
                pass

        def turn():
            while not self.over.wait(PERIOD):
                try:
                    self.decide()
                except (OSError, ValueError) as error:
                    print(f"janus: the allocator has ended: {error}", file=sys.stderr)
                    self.over.set()
            server.shutdown()

        server = Server(("127.0.0.1", port), Handler)
        threading.Thread(target=turn, daemon=True).start()
        return server


def until(seconds, ask, pleases):
    """Asks until the answer pleases, at most for some seconds; returns it and the time."""
    began = time.monotonic()
    while not pleases(seen := ask()) and time.monotonic() - began < seconds:
        time.sleep(0.25)
    return seen, round(time.monotonic() - began, 1)


def test(room, port):
    """A layer is chosen, lowered with its reason and raised again, and a sender is held: prints each, returns whether all held."""
    missed = []

    def check(name, ask, pleases, seconds=40):
        seen, lasted = until(seconds, ask, pleases)
        missed.extend([] if pleases(seen) else [name])
        print(f"{'held  ' if pleases(seen) else 'MISSED'} {name}: after {lasted} s, {json.dumps(seen)}", flush=True)

    libraries = next(iter(glob.glob("/usr/lib/*/janus")), "/usr/lib/janus")
    plugins = [os.path.basename(file) for file in glob.glob(f"{libraries}/plugins/*.so")]
    janus_program, running = need("janus"), []
    bridge = None
    need("chromium")
    with tempfile.TemporaryDirectory(prefix="airbound-janus-") as place:
        unused = ",".join(name for name in plugins if name != "libjanus_videoroom.so")
        for name, text in SETTINGS.items():
            (pathlib.Path(place) / name).write_text(text.format(folder=place, libraries=libraries, unused=unused, port=port))
        try:
            running.append(started([janus_program, "-F", place, "-C", f"{place}/janus.jcfg"]))
            wait_for_port(port, running[-1])
            running.append(started([room, "allocator", "--socket", f"{place}/socket", "--source", "1 Mbit/s"]))
            until(10, lambda: os.path.exists(f"{place}/socket"), bool)
            bridge = Bridge(f"{place}/socket", 1234)
            server = bridge.server(f"http://127.0.0.1:{port}/janus", 0)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            ann, ben = 1, 2
            for _ in (ann, ben):
                running.append(Browser(f"http://127.0.0.1:{server.server_port}/?room=1234", "640x360"))
                until(40, lambda: len(bridge.members), lambda count: count == len(running) - 2)
            view = lambda number: lambda: bridge.seen(number)["view"] or {}
            for number in (ann, ben):
                check(f"member {number} decodes frames that Janus forwards", view(number), lambda now: now.get("frames", 0) > 50)
            check("the allocator's layer is what Janus forwards", view(ann), lambda now: now.get("layer") == 1 and now["width"] == 640)
            bridge.claims[ann] = {"down": {"rate": 300e3, "kind": "exact"}}
            check("a full downlink gets the lower layer, and its reason", view(ann), lambda now: now.get("layer") == 0 and now["width"] == 320 and "downlink" in now.get("why", ""), 20)
            bridge.claims.clear()
            check("and the higher one again", view(ann), lambda now: now.get("width") == 640)
            # Both have narrow half-duplex links: what they send cannot be shown.
            bridge.claims = {number: {"up": {"rate": 1e6, "kind": "exact"}, "down": {"rate": 250e3, "kind": "exact"}} for number in (ann, ben)}
            held = lambda: max((bridge.seen(number) for number in (ann, ben)), key=lambda now: now["held"])
            check("a sender is held, and obeys", held, lambda now: 0 < now["up"] < 1.3 * now["held"], 30)
        finally:
            if bridge is not None:
                bridge.over.set()
            for one in reversed(running):
                one.end() if isinstance(one, Browser) else end(one)
    return not missed


def main():
    parser = Parser(description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    bridge = commands.add_parser("bridge")
    bridge.add_argument("--socket", required=True, help="that of `airbound allocator`")
    bridge.add_argument("--janus", default="http://127.0.0.1:8188/janus")
    bridge.add_argument("--port", type=at_least(0, int), default=8089)
    bridge.add_argument("--room", type=at_least(1, int), default=1234)
    tried = commands.add_parser("test")
    tried.add_argument("program", type=program, help="airbound-room")
    tried.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    try:
        if chosen.command == "bridge":
            server = Bridge(chosen.socket, chosen.room).server(chosen.janus, chosen.port)
            print(f"http://127.0.0.1:{server.server_port}/?room={chosen.room}", flush=True)
            server.serve_forever()
            sys.exit(1)
        elif chosen.inside:
            sys.exit(not test(chosen.program, 8188))
        else:
            device = "ip link set lo up && ip link add host type veth peer name peer && ip addr add 10.99.0.1/24 dev host && ip link set host up && ip link set peer up"
            os.execvp(need("unshare"), ["unshare", "--map-root-user", "--net", "sh", "-c", f'{device} && exec "$@"', "sh", sys.executable, *sys.argv, "--inside"])
    except Missing as error:
        print(f"janus: SKIPPED: {error}")
    except (Failed, OSError) as error:
        sys.exit(f"janus: {error}")


if __name__ == "__main__":
    main()
