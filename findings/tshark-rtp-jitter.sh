#!/usr/bin/env bash
# tshark's list of RTP streams shows a jitter of 0.000 ms for every payload type that WebRTC uses.
#
# Versions: tshark 4.0.17-0+deb12u3 (Debian 12).
#
# Input, made here: three captures of one RTP stream each, 500 packets sent each 20 ms, of which each
# second one arrives 10 ms late. They differ in payload type and clock alone: 0 (PCMU, 8 kHz), 111
# (as browsers number Opus, 48 kHz) and 96 (VP8, 90 kHz). No SIP or SDP is in them, as in any capture
# of WebRTC, where it is encrypted.
#
# Expected: an interarrival jitter (RFC 3550) that tends to 10 ms, or none at all.
#
# Seen, `tshark -d udp.port==5004,rtp -qz rtp,streams`, in ms:
#   payload type   distance (mean, max)   jitter (min, mean, max)
#   0              20.020  30.000         0.625   9.699  10.000
#   111            20.020  30.000         -1.000  0.000   0.000
#   96             20.020  30.000         -1.000  0.000   0.000
# A dynamic payload type has no clock, so that jitter cannot be computed; the table prints its
# initial values as if they were measured. Naming the codec (`-d rtp.pt==111,opus`) changes nothing.
#
# Why it matters: the table is the usual first look at a call. A stream that a Wi-Fi queue tears
# apart has the same row as a perfect one, and `mean jitter 0.000` reads as a result.
#
# Needs: python3; apt-get and dpkg-deb of Debian 12 (amd64); no root. 20 s (2 min on a busy
# machine).
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

command -v python3 >/dev/null || unable "no python3"
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
apt=(apt-get -qq -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache"
    -o Debug::NoLocking=1 -o APT::Sandbox::User= -o Acquire::Languages=none)
wireshark=4.0.17-0+deb12u3
{
    timeout 120 "${apt[@]}" update &&
        timeout 180 "${apt[@]}" --yes --no-install-recommends --download-only --reinstall install \
            tshark=$wireshark wireshark-common=$wireshark libwireshark16=$wireshark \
            libwiretap13=$wireshark libwsutil14=$wireshark libwireshark-data=$wireshark libpcap0.8
} >"$work/apt.log" 2>&1 || { tail -3 "$work/apt.log" >&2; unable "Debian's packages could not be had"; }
for package in "$work"/cache/archives/*.deb; do dpkg-deb -x "$package" "$work/root"; done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu HOME=$work

cat >"$work/write.py" <<'PY'
import struct, sys

def packet(number, payload_type, step):
    rtp = struct.pack(">BBHII", 0x80, payload_type, number, number * step, 0x1234) + bytes(100)
    udp = struct.pack(">HHHH", 40000, 5004, 8 + len(rtp), 0) + rtp
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), number, 0x4000, 64, 17, 0,
                     bytes((10, 0, 0, 1)), bytes((10, 0, 0, 2)))
    return ip + udp

for payload_type, clock in ((0, 8_000), (111, 48_000), (96, 90_000)):
    with open(f"{sys.argv[1]}/{payload_type}.pcap", "wb") as file:
        # Times in microseconds, raw IPv4.
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101))
        for number in range(500):
            at = number * 20_000 + number % 2 * 10_000
            data = packet(number, payload_type, clock // 50)
            file.write(struct.pack("<IIII", 1_700_000_000 + at // 1_000_000, at % 1_000_000, len(data), len(data)))
            file.write(data)
PY
python3 "$work/write.py" "$work"

for payload_type in 0 111 96; do
    timeout 60 "$work/root/usr/bin/tshark" -r "$work/$payload_type.pcap" -d udp.port==5004,rtp -qz rtp,streams \
        2>"$work/errors" >"$work/streams" || { tail -3 "$work/errors" >&2; unable "tshark does not start"; }
    # The numbers behind the losses: distances and jitter.
    awk -v type=$payload_type '/10\.0\.0\.1/ { print type, $(NF-4), $(NF-3), $(NF-2), $(NF-1), $NF }' "$work/streams"
done | tee "$work/seen"
cat >"$work/expected" <<'TABLE'
0 20.020 30.000 0.625 9.699 10.000
111 20.020 30.000 -1.000 0.000 0.000
96 20.020 30.000 -1.000 0.000 0.000
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
