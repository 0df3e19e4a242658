#!/usr/bin/env bash
# FFmpeg's WHIP muxer on GnuTLS has a certificate on P-224, which OpenSSL's DTLS does not take.
#
# Versions: av 18.1.0 (PyPI), which has libavformat 62.12 on GnuTLS; beside it aiortc 1.16.0 (PyPI),
# whose DTLS is OpenSSL's, by pyopenssl.
#
# Input: `format=whip`, no options but the address: a video of 160 by 120 in H.264, baseline. Its
# offer goes to a WHIP endpoint of 127.0.0.1, which aiortc answers. Twice: as it is, and with
# `cert_file` and `key_file`, a certificate on P-256 made by the same program.
#
# Expected: a certificate that each WebRTC endpoint takes: RFC 8827 section 6.5 asks all to support
# ECDSA on P-256, and of no other curve.
#
# Seen:
#   certificate          curve       aiortc
#   its own              secp224r1   the handshake fails
#   by cert_file         secp256r1   connected
# GnuTLS has no default here: FFmpeg asks it for the number of bits of a security parameter, which
# for ECDSA is 224. OpenSSL has P-224 in none of the groups that it offers (X25519, P-256, X448,
# P-521, P-384), and refuses a signature by a key outside of them. The muxer says of it only that the
# handshake failed; with `dtls_active` it is the server that ends it, and the muxer that waits.
#
# Why it matters: cameras and encoders that publish by FFmpeg send H.264 over Wi-Fi to servers on
# OpenSSL, and find no way in: SDP, ICE and the fingerprint are right. `-cert_file` and `-key_file`
# help (openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes).
#
# Needs: python3 (3.10 or later) with venv, for packages without a build: x86_64 or aarch64. 1 min.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }
python3 -m venv "$work/venv" >"$work/log" 2>&1 || unable "python3 has no venv"
timeout 240 "$work/venv/bin/pip" install -q aiortc==1.16.0 av==18.1.0 >"$work/log" 2>&1 || unable "the packages could not be installed"

cat >"$work/camera.py" <<'PY'
"""Publishes by WHIP for a while. usage: camera.py URL [CERTIFICATE KEY]"""

import sys
import time

import av

options = dict(zip(("cert_file", "key_file"), sys.argv[2:]))
with av.open(sys.argv[1], "w", format="whip", options=options) as output:
    camera = output.add_stream("libx264", rate=25, options={"tune": "zerolatency", "preset": "ultrafast", "bf": "0"})
    camera.width, camera.height, camera.pix_fmt, camera.profile = 160, 120, "yuv420p", "Baseline"
    for count in range(100):
        frame = av.VideoFrame(160, 120, "yuv420p")
        frame.pts = count
        output.mux(camera.encode(frame))
        time.sleep(0.04)
PY
cat >"$work/server.py" <<'PY'
"""A WHIP endpoint of aiortc, one camera at a time: prints the curve of its certificate, and what became of the handshake."""

import asyncio
import datetime
import re
import sys

from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription, rtcdtlstransport
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from OpenSSL import SSL

folder = sys.argv[1]
state = asyncio.Queue()
curves = []


# Keeps the camera's certificate: OpenSSL has it from the handshake on, before it judges the signature.
def keep(connection, certificate, *_):
    curves.append(certificate.get_pubkey().to_cryptography_key().curve.name)
    return True


make = rtcdtlstransport.RTCCertificate._create_ssl_context


def create(own, *rest, **named):
    context = make(own, *rest, **named)
    context.set_verify(SSL.VERIFY_PEER | SSL.VERIFY_FAIL_IF_NO_PEER_CERT, keep)
    return context


rtcdtlstransport.RTCCertificate._create_ssl_context = create


async def serve(reader, writer):
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    length = int((re.search(r"content-length: (\d+)", head, re.I) or [0, 0])[1])
    body = (await reader.readexactly(length)).decode()
    if not head.startswith("POST"):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        return writer.close()
    connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    kept.append(connection)

    @connection.on("connectionstatechange")
    def changed():
        if connection.connectionState in ("connected", "failed", "closed"):
            state.put_nowait(connection.connectionState)

    await connection.setRemoteDescription(RTCSessionDescription(body, "offer"))
    await connection.setLocalDescription(await connection.createAnswer())
    answer = connection.localDescription.sdp.encode()
    writer.write(
        b"HTTP/1.1 201 Created\r\nContent-Type: application/sdp\r\nLocation: /session\r\n"
        b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(answer), answer)
    )
    await writer.drain()
    writer.close()


kept = []


async def main():
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "camera")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(7).not_valid_before(now).not_valid_after(now + datetime.timedelta(days=30))
    plain = serialization.NoEncryption()
    with open(f"{folder}/certificate", "wb") as file:
        file.write(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    with open(f"{folder}/key", "wb") as file:
        form = serialization.PrivateFormat.PKCS8
        file.write(key.private_bytes(serialization.Encoding.PEM, form, plain))
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/whip"
    for what, options in (("its own", []), ("by cert_file", [f"{folder}/certificate", f"{folder}/key"])):
        curves.clear()
        camera = await asyncio.create_subprocess_exec(sys.executable, f"{folder}/camera.py", url, *options)
        try:
            seen = await asyncio.wait_for(state.get(), 12)
        except asyncio.TimeoutError:
            seen = "neither connected nor failed"
        print(f"{what}: {', '.join(sorted(set(curves))) or 'none seen'}, {seen}", flush=True)
        if camera.returncode is None:
            camera.kill()
        await camera.wait()
        for connection in kept:
            await connection.close()
        while not state.empty():
            state.get_nowait()


asyncio.run(main())
PY
timeout 90 "$work/venv/bin/python" "$work/server.py" "$work" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"
cat "$work/seen"
if grep -q '^its own: secp224r1, failed$' "$work/seen" && grep -q '^by cert_file: secp256r1, connected$' "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
