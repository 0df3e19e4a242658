#!/usr/bin/env bash
# FFmpeg's WHIP muxer drops the first ClientHello, so that each join waits for its repetition.
#
# Versions: av 18.1.0 (PyPI), which has libavformat 62.12 on GnuTLS.
#
# Input: `format=whip` with a certificate on P-256, else as it is: it offers a=setup:passive, and is
# the server of DTLS. A WHIP endpoint of 127.0.0.1, some lines of Python, is an ICE lite end: it
# answers the binding request of the muxer, and sends the ClientHello of a DTLS 1.2 client (RFC 5246
# section 7.4.1.2, use_srtp of RFC 5764) right after that answer, or 300 ms later, and the same again,
# with the next record number, 1 s after the first (RFC 6347 section 4.2.4.1).
#
# Expected: an answer (ServerHello or HelloVerifyRequest) to the first one, within milliseconds.
#
# Seen:
#   first ClientHello     answered after
#   with the ICE answer   the second: 1.0 s
#   300 ms later          the second: 1.0 s
# The muxer's own loop, which does ICE, reads the datagram, sees a record of DTLS in it, and by that
# knows that the handshake begins; the record itself does not come to GnuTLS. `whip_flags=dtls_active`
# turns the roles round.
#
# Why it matters: a camera's first picture is a second late, whatever the network does, and where the
# Wi-Fi loses the repetition, three. An endpoint without repetition never connects.
#
# Needs: python3 (3.10 or later) with venv, openssl; for a package without a build: x86_64 or aarch64.
# Half a minute.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }
python3 -m venv "$work/venv" >"$work/log" 2>&1 || unable "python3 has no venv"
timeout 240 "$work/venv/bin/pip" install -q av==18.1.0 >"$work/log" 2>&1 || unable "av could not be installed"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=camera -days 2 \
    -keyout "$work/key" -out "$work/certificate" >"$work/log" 2>&1 || unable "openssl made no certificate"

cat >"$work/camera.py" <<'PY'
"""Opens a WHIP session. usage: camera.py URL CERTIFICATE KEY"""

import sys

import av

options = dict(zip(("cert_file", "key_file"), sys.argv[2:]))
with av.open(sys.argv[1], "w", format="whip", options=options) as output:
    camera = output.add_stream("libx264", rate=25, options={"tune": "zerolatency", "bf": "0"})
    camera.width, camera.height, camera.pix_fmt, camera.profile = 160, 120, "yuv420p", "Baseline"
    output.mux(camera.encode(av.VideoFrame(160, 120, "yuv420p")))
PY
cat >"$work/server.py" <<'PY'
"""A WHIP endpoint as far as a ClientHello. usage: server.py FOLDER"""

import binascii
import hashlib
import hmac
import os
import re
import select
import socket
import struct
import subprocess
import sys
import time

folder = sys.argv[1]
PASSWORD = b"passwordpasswordpassword"


def block(kind, *parts):
    body = b"".join(parts)
    return struct.pack("!HH", kind, len(body)) + body


def hello(number, random):
    ciphers = struct.pack("!5H", 8, 0xC02B, 0xC02F, 0xC02C, 0xC030)
    groups, points = struct.pack("!4H", 6, 29, 23, 24), b"\x01\x00"
    signatures = struct.pack("!5H", 8, 0x0403, 0x0503, 0x0401, 0x0804)
    profiles = struct.pack("!HHB", 2, 1, 0)
    known = ((10, groups), (11, points), (13, signatures), (14, profiles), (23, b""), (0xFF01, b"\x00"))
    extensions = b"".join(block(kind, body) for kind, body in known)
    body = b"\xfe\xfd" + random + b"\x00\x00" + ciphers + b"\x01\x00" + struct.pack("!H", len(extensions)) + extensions
    length = len(body).to_bytes(3, "big")
    message = b"\x01" + length + struct.pack("!H", 0) + b"\x00\x00\x00" + length + body
    return b"\x16\xfe\xfd" + struct.pack("!HIHH", 0, 0, number, len(message)) + message


def bound(request, source):
    """The answer to a binding request (RFC 8489 section 14)."""
    port = source[1] ^ 0x2112
    address = bytes(one ^ other for one, other in zip(socket.inet_aton(source[0]), b"\x21\x12\xa4\x42"))
    body = block(0x20, struct.pack("!BBH", 0, 1, port), address)
    head = lambda more: struct.pack("!HH", 0x101, len(body) + more) + request[4:20]
    body += block(8, hmac.new(PASSWORD, head(24) + body, hashlib.sha1).digest())
    return head(8) + body + block(0x8028, struct.pack("!I", binascii.crc32(head(8) + body) ^ 0x5354554E))


def run(wait):
    """Seconds from the first ClientHello to an answer, and which one it was that was answered."""
    listener = socket.create_server(("127.0.0.1", 0))
    media = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    media.bind(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/whip"
    command = [sys.executable, f"{folder}/camera.py", url, f"{folder}/certificate", f"{folder}/key"]
    camera = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    listener.settimeout(20)
    client, _ = listener.accept()
    text = b""
    while b"\r\n\r\n" not in text or len(text.split(b"\r\n\r\n", 1)[1]) < int(re.search(rb"Length: (\d+)", text)[1]):
        text += client.recv(4096)
    offer = text.split(b"\r\n\r\n", 1)[1].decode()
    assert "a=setup:passive" in offer
    media_line = re.search(r"m=video.*", offer)[0].replace("\r", "")
    maps = re.findall(r"a=(?:rtpmap|fmtp|rtcp-fb):.*", offer.replace("\r", ""))
    lines = ["v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=ice-lite", "a=group:BUNDLE 1", media_line]
    lines += ["c=IN IP4 127.0.0.1", "a=mid:1", "a=ice-ufrag:lite", f"a=ice-pwd:{PASSWORD.decode()}", "a=setup:active"]
    lines += ["a=fingerprint:sha-256 " + ":".join(["AB"] * 32), "a=recvonly", "a=rtcp-mux", *maps]
    lines += [f"a=candidate:1 1 udp 2130706431 127.0.0.1 {media.getsockname()[1]} typ host"]
    answer = ("\r\n".join(lines) + "\r\n").encode()
    head = b"HTTP/1.1 201 Created\r\nContent-Type: application/sdp\r\nLocation: /session\r\nConnection: close\r\n"
    client.sendall(head + b"Content-Length: %d\r\n\r\n" % len(answer) + answer)
    client.close()
    random, first, sent, source, due, until = os.urandom(32), None, 0, None, None, time.monotonic() + 12
    try:
        while time.monotonic() < until:
            now = time.monotonic()
            if due and now >= due and sent < 2:
                media.sendto(hello(sent, random), source)
                first, sent, due = first or now, sent + 1, now + 1
            if not select.select([media], [], [], 0.005)[0]:
                continue
            datagram, source = media.recvfrom(4096)
            if datagram[0] < 4:
                media.sendto(bound(datagram, source), source)
                if due is None:
                    due = time.monotonic() + wait
                    if not wait:
                        media.sendto(hello(0, random), source)
                        first, sent, due = time.monotonic(), 1, time.monotonic() + 1
            elif datagram[0] == 22 and first:
                return time.monotonic() - first, sent
        return None, sent
    finally:
        camera.kill()
        camera.wait()


for what, wait in (("with the ICE answer", 0), ("300 ms later", 0.3)):
    time_, which = run(wait)
    said = f"answered the {('first', 'second')[which - 1]}, after {time_:.2f} s" if time_ else "not answered"
    print(f"{what}: {said}", flush=True)
PY
timeout 60 "$work/venv/bin/python" "$work/server.py" "$work" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"
cat "$work/seen"
if [ "$(grep -c 'answered the second, after 1\.' "$work/seen")" = 2 ]; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
