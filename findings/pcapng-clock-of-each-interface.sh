#!/usr/bin/env bash
# Of three Python readers of pcapng none takes the times of all valid files: each has its own slip.
#
# Versions: dpkt 1.9.8, scapy 2.8.0, python-pcapng 2.1.1 (PyPI). tshark 4.0.17 (Debian 12), tried by
# hand on the same files, reads all of them as written.
#
# Input, made here: two frames of 60 octets, 1 ms apart from 1764000000 s on, in five files that
# pcapng allows (draft-ietf-opsawg-pcapng: resolution and offset belong to the interface, interfaces
# and the order of octets to the section):
#   one      one interface, microseconds
#   two      two interfaces, as of a capture on a radio and on a wire: microseconds, nanoseconds
#   joined   two such sections, one behind the other, as of `cat`; each has its interface 0
#   order    two sections, the second with its most significant octet first
#   offset   one interface, whose time counts from 1764000000 s (if_tsoffset)
#
# Expected: +0.000 and +0.001 s in each file, or an error.
#
# Seen:      dpkt                            scapy                           python-pcapng
#   one      right                           right                           right
#   two      frame 2 at 1764000000001 s      right                           right
#   joined   frame 2 at 1764000000001 s      frame 2 at 1764000000001 s      right
#   order    frame 2 is missing              right                           right
#   offset   right                           both at 0.000 and 0.001 s       like scapy
# dpkt keeps the resolution of the first interface that it meets, and the first section's order of
# octets; what it then cannot read it passes over in silence. scapy finds interface 0 of the second
# section among those of the first. No reader says that anything is amiss.
#
# Why it matters: one-way delays over Wi-Fi are differences between two interfaces of one file, the
# radio's monitor and the wire's, whose cards stamp in different units. A factor of 1000 shows; the
# missing second half of a capture, or an offset that only one of two files has, does not.
#
# Needs: python3 with venv; no root. 20 s.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

python3 -m venv "$work/venv" || unable "no venv"
timeout 300 "$work/venv/bin/pip" install -q --disable-pip-version-check \
    dpkt==1.9.8 scapy==2.8.0 python-pcapng==2.1.1 || unable "the packages could not be installed"

cat >"$work/write.py" <<'PY'
import struct, sys

BEGIN, MICRO, NANO = 1_764_000_000, 6, 9
FRAME = bytes.fromhex("020000000002" "020000000001" "0800") + bytes(46)

class Section:
    """A section of interfaces and frames, in one order of octets."""

    def __init__(self, order="<"):
        self.order = order
        self.octets = self.block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))

    def block(self, kind, body):
        length = struct.pack(self.order + "I", 12 + len(body))
        return struct.pack(self.order + "I", kind) + length + body + length

    def option(self, code, value):
        return struct.pack(self.order + "HH", code, len(value)) + value + bytes(-len(value) % 4)

    def interface(self, digits, offset=None):
        options = self.option(9, bytes([digits]))
        if offset is not None:
            options += self.option(14, struct.pack(self.order + "q", offset))
        self.octets += self.block(1, struct.pack(self.order + "HHI", 1, 0, 0) + options + bytes(4))
        return self

    def frame(self, interface, ticks):
        head = (interface, ticks >> 32, ticks & 0xFFFFFFFF, len(FRAME), len(FRAME))
        self.octets += self.block(6, struct.pack(self.order + "5I", *head) + FRAME)
        return self

micro = [BEGIN * 10**6, BEGIN * 10**6 + 10**3]
nano = BEGIN * 10**9 + 10**6
files = {
    "one": [Section().interface(MICRO).frame(0, micro[0]).frame(0, micro[1])],
    "two": [Section().interface(MICRO).interface(NANO).frame(0, micro[0]).frame(1, nano)],
    "joined": [Section().interface(MICRO).frame(0, micro[0]), Section().interface(NANO).frame(0, nano)],
    "order": [Section().interface(MICRO).frame(0, micro[0]), Section(">").interface(MICRO).frame(0, micro[1])],
    "offset": [Section().interface(MICRO, BEGIN).frame(0, 0).frame(0, 10**3)],
}
for name, sections in files.items():
    with open(f"{sys.argv[1]}/{name}.pcapng", "wb") as file:
        file.write(b"".join(section.octets for section in sections))
PY

cat >"$work/read.py" <<'PY'
import logging, sys

logging.getLogger("scapy").setLevel(logging.ERROR)
import dpkt, pcapng
from scapy.all import PcapNgReader

def by_dpkt(path):
    with open(path, "rb") as file:
        return [time for time, _ in dpkt.pcapng.Reader(file)]

def by_scapy(path):
    return [packet.time for packet in PcapNgReader(path)]

def by_pcapng(path):
    with open(path, "rb") as file:
        return [block.timestamp for block in pcapng.FileScanner(file) if hasattr(block, "timestamp")]

for name in ("one", "two", "joined", "order", "offset"):
    for reader in (by_dpkt, by_scapy, by_pcapng):
        times = " ".join(f"{float(time):.3f}" for time in reader(f"{sys.argv[1]}/{name}.pcapng"))
        print(name, reader.__name__, times)
PY

python3 "$work/write.py" "$work"
timeout 60 "$work/venv/bin/python" "$work/read.py" "$work" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"
cat "$work/seen"
cat >"$work/expected" <<'TABLE'
one by_dpkt 1764000000.000 1764000000.001
one by_scapy 1764000000.000 1764000000.001
one by_pcapng 1764000000.000 1764000000.001
two by_dpkt 1764000000.000 1764000000001.000
two by_scapy 1764000000.000 1764000000.001
two by_pcapng 1764000000.000 1764000000.001
joined by_dpkt 1764000000.000 1764000000001.000
joined by_scapy 1764000000.000 1764000000001.000
joined by_pcapng 1764000000.000 1764000000.001
order by_dpkt 1764000000.000
order by_scapy 1764000000.000 1764000000.001
order by_pcapng 1764000000.000 1764000000.001
offset by_dpkt 1764000000.000 1764000000.001
offset by_scapy 0.000 0.001
offset by_pcapng 0.000 0.001
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
