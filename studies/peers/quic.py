#!/usr/bin/env python3
"""A transfer over QUIC with the stack aioquic (pip install aioquic).

  quic.py serve                        serves on UDP port 4433, with a certificate made for the occasion
  quic.py get HOST [--megabytes 10]    prints bytes, seconds and Mb/s as JSON
  airbound emulate my-flat --server "python3 studies/peers/quic.py serve" -- python3 studies/peers/quic.py get server
"""

import asyncio
import datetime
import json
import ssl
import sys
import time

from peers import Parser, at_least

try:
    from aioquic.asyncio import QuicConnectionProtocol, connect, serve
    from aioquic.quic.configuration import QuicConfiguration
    from aioquic.quic.events import StreamDataReceived
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID
    LACKING = None
except ImportError as error:
    LACKING, QuicConnectionProtocol = error, object

PORT = 4433
ALPN = ["bytes"]


def certificate():
    """A key and a certificate that it signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - day).not_valid_after(now + day)
    return key, builder.sign(key, hashes.SHA256())


class Server(QuicConnectionProtocol):
    """Answers the number on each stream with so many bytes."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.asked = {}

    def quic_event_received(self, event):
        if isinstance(event, StreamDataReceived):
            asked = self.asked[event.stream_id] = self.asked.get(event.stream_id, b"") + event.data
            if event.end_stream:
                self._quic.send_stream_data(event.stream_id, bytes(int(asked)), end_stream=True)
                self.transmit()


async def run_server():
    configuration = QuicConfiguration(is_client=False, alpn_protocols=ALPN)
    configuration.private_key, configuration.certificate = certificate()
    await serve("::", PORT, configuration=configuration, create_protocol=Server)
    await asyncio.Future()


async def get(host, megabytes):
    configuration = QuicConfiguration(is_client=True, alpn_protocols=ALPN, verify_mode=ssl.CERT_NONE, max_stream_data=16 << 20, max_data=32 << 20)
    async with connect(host, PORT, configuration=configuration) as client:
        begun = time.monotonic()
        reader, writer = await client.create_stream()
        writer.write(str(round(megabytes * 1e6)).encode())
        writer.write_eof()
        size = 0
        while data := await reader.read(1 << 16):
            size += len(data)
        seconds = time.monotonic() - begun
    print(json.dumps({"bytes": size, "seconds": round(seconds, 3), "mbps": round(8e-6 * size / seconds, 2)}))


def main():
    parser = Parser(description=__doc__)
    commands = parser.add_subparsers(required=True, dest="command")
    commands.add_parser("serve")
    client = commands.add_parser("get")
    client.add_argument("host")
    client.add_argument("--megabytes", type=at_least(0.001), default=10.0)
    chosen = vars(parser.parse_args())
    if LACKING:
        sys.exit(f"quic: {LACKING}; get it with: pip install aioquic")
    try:
        asyncio.run(run_server() if chosen.pop("command") == "serve" else get(**chosen))
    except OSError as error:
        sys.exit(f"quic: {error or 'no server answers'}")


if __name__ == "__main__":
    main()
