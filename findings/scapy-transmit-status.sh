#!/usr/bin/env bash
# scapy takes the number of retries for the rate of a frame in captures at a Linux sender.
#
# Versions: scapy 2.8.0 (PyPI); beside it tshark 4.0.17-0+deb12u3 (Debian 12).
#
# Input, made here: radiotap headers of a sender's own frames, in the layouts that mac80211 gives to
# monitor interfaces when a transmission has ended (net/mac80211/status.c,
# ieee80211_add_tx_radiotap_header): TX flags, data retries (one octet), then the MCS or VHT field,
# or a legacy rate before them. 100 QoS data frames of each kind, with 0 to 7 retries:
#   ht       802.11n, MCS 12, 40 MHz, short guard interval
#   vht      802.11ac, MCS 9, two streams, 80 MHz, short guard interval
#   legacy   24 Mb/s
# and, not from mac80211:
#   power    TX power of 20 dBm, antenna 1
#
# Expected: what was written, as from tshark, or an error for a field that is unknown.
#
# Seen, of 100 frames each:   scapy                                          tshark
#   ht                        MCS 5, "ht40MHz+"; known is the retries        MCS 12, 40 MHz
#   vht                       MCS 0, 4 streams, 20 MHz; known likewise       MCS 9, 2 streams, 80 MHz
#   legacy                    24 Mb/s                                        24 Mb/s
#   power                     antenna 20                                     antenna 1
#   retries                   not given                                      right where written
# scapy has no fields for data retries (it calls bit 17 "b18"), RTS retries and TX power, and does
# not skip their octets: what follows is read one octet early, or two with padding. MCS 5 is the
# octet of flags. The frame is found by the header's length, so that addresses, sequence numbers and
# the layers above are right, and nothing looks amiss. (That scapy aligns the MCS field to two
# octets, where radiotap has none, is another mistake, which its issue 4476 has.)
#
# Why it matters: retries and rates at the sender explain the tail of Wi-Fi's latency, and a capture
# there is the cheapest way to both. By scapy all frames have one rate, which never was in use.
#
# Needs: python3 with venv; apt-get and dpkg-deb of Debian 12 (amd64); no root. 20 s (5 min on a
# busy machine).
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

python3 -m venv "$work/venv" || unable "no venv"
timeout 300 "$work/venv/bin/pip" install -q --disable-pip-version-check scapy==2.8.0 ||
    unable "scapy could not be installed"

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

RATE, TX_POWER, ANTENNA, TX_FLAGS, DATA_RETRIES, MCS, VHT = (1 << bit for bit in (2, 10, 11, 15, 17, 19, 21))

def fields(kind, retries):
    """The present mask and the fields, which begin at octet 8."""
    if kind == "ht":
        known, flags = 0x07, 0x01 | 0x04  # bandwidth, index, guard interval; 40 MHz, short
        return TX_FLAGS | DATA_RETRIES | MCS, struct.pack("<HBBBB", 0, retries, known, flags, 12)
    if kind == "vht":
        known, flags, width, user = 0x0044, 0x04, 4, 9 << 4 | 2  # guard interval and bandwidth; short; 80 MHz
        vht = struct.pack("<HBB4sBBH", known, flags, width, bytes([user, 0, 0, 0]), 0, 0, 0)
        return TX_FLAGS | DATA_RETRIES | VHT, struct.pack("<HBx", 0, retries) + vht
    if kind == "legacy":
        return RATE | TX_FLAGS | DATA_RETRIES, struct.pack("<BxHB", 48, 0, retries)
    return TX_POWER | ANTENNA, struct.pack("<bB", 20, 1)

for kind in ("ht", "vht", "legacy", "power"):
    with open(f"{sys.argv[1]}/{kind}.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 127))
        for number in range(100):
            present, octets = fields(kind, number % 8)
            radiotap = struct.pack("<BBHI", 0, 0, 8 + len(octets), present) + octets
            addresses = bytes.fromhex("020000000002" "020000000001" "020000000001")
            mac = b"\x88\x02\0\0" + addresses + struct.pack("<HH", number << 4, 0)
            record = radiotap + mac + bytes.fromhex("aaaa03000000888e") + bytes(50)
            file.write(struct.pack("<IIII", 1700000000 + number, 0, len(record), len(record)) + record)
PY

cat >"$work/read.py" <<'PY'
import collections, logging, sys

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.all import Dot11, PcapReader, RadioTap

def rate(kind, tap):
    if kind == "ht":
        return f"mcs {tap.MCS_index} width {tap.MCS_bandwidth}"
    if kind == "vht":
        return f"mcs {tap.mcs_nss[0] >> 4} streams {tap.mcs_nss[0] & 15} width {tap.VHT_bandwidth}"
    if kind == "legacy":
        return f"rate {tap.Rate:g}"
    return f"antenna {tap.Antenna}"

for kind in ("ht", "vht", "legacy", "power"):
    seen, known_is_retries = collections.Counter(), 0
    for number, packet in enumerate(PcapReader(f"{sys.argv[1]}/{kind}.pcap")):
        tap, mac = packet[RadioTap], packet[Dot11]
        assert mac.SC >> 4 == number and mac.addr1 == "02:00:00:00:00:02"
        seen[rate(kind, tap)] += 1
        known = {"ht": tap.knownMCS, "vht": tap.KnownVHT}.get(kind)
        known_is_retries += known is not None and int(known) == number % 8
    for what, frames in seen.items():
        print(f"{kind} scapy {what}: {frames} frames, known is retries in {known_is_retries}")
PY

python3 "$work/write.py" "$work"
timeout 60 "$work/venv/bin/python" "$work/read.py" "$work" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"
for kind in ht vht legacy power; do
    timeout 60 "$work/root/usr/bin/tshark" -n -r "$work/$kind.pcap" -T fields -E separator=, \
        -e radiotap.data_retries -e radiotap.mcs.index -e radiotap.mcs.bw -e radiotap.vht.mcs.0 \
        -e radiotap.vht.nss.0 -e radiotap.vht.bw -e radiotap.datarate -e radiotap.antenna \
        >"$work/fields" 2>"$work/log" || unable "$(tail -1 "$work/log")"
    awk -F, -v kind=$kind '{ right += $1 == (NR - 1) % 8 && $1 != "" ; $1 = ""; seen[$0]++ }
        END { for (what in seen) { count = seen[what]; gsub(/ +/, " ", what); sub(/ $/, "", what)
            print kind " tshark" what ": " count " frames, retries right in " right } }' \
        "$work/fields" >>"$work/seen"
done
cat "$work/seen"
cat >"$work/expected" <<'TABLE'
ht scapy mcs 5 width 3: 100 frames, known is retries in 100
vht scapy mcs 0 streams 4 width 0: 100 frames, known is retries in 100
legacy scapy rate 24: 100 frames, known is retries in 0
power scapy antenna 20: 100 frames, known is retries in 0
ht tshark 12 1 180: 100 frames, retries right in 100
vht tshark 9 2 4: 100 frames, retries right in 100
legacy tshark 24: 100 frames, retries right in 100
power tshark 1: 100 frames, retries right in 0
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
