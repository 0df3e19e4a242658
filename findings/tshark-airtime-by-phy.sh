#!/usr/bin/env bash
# tshark's time on the air is right for 20 MHz of HT only: 40 MHz are too long, VHT too short, HE has none.
#
# Versions: tshark 4.0.17-0+deb12u3 (Debian 12, run here); 4.4.19-0+deb13u1 (Debian 13) prints the
# same, tried by hand.
#
# Input, made here: single data frames of 1500 octets with FCS, link type 127, whose radiotap header
# has PHY, MCS, streams, width and guard interval, all marked as known; each MCS of a kind once.
#
# Expected, in us (IEEE 802.11-2020, 19.4.3 and 21.4.3): legacy preamble, SIG and training fields,
# then whole symbols of 4 us, with the short guard interval of 3.6 us filled up to 4. HT has 52 data
# carriers at 20 MHz and 108 at 40; VHT begins with 36 us and 4 for each training field (1, 2 or 4),
# and puts a delimiter of 4 octets before even a single frame.
#
# Seen in `wlan_radio.duration` (the difference is tshark's value less the standard's):
#   kind                     frames   right   difference, least and most
#   HT 20 MHz                16       16      0
#   HT 20 MHz, short guard   16       0       -4 to -1 us
#   HT 40 MHz                16       2       0 to 36 us (4 %)
#   HT 20 MHz, greenfield    8        0       4 us: a preamble of 28 us in place of 24
#   VHT 20 MHz               8        0       -12 to -5 us
#   VHT 80 MHz, 2 streams    10       0       -8 to -5 us (8 % at MCS 9)
#   HE 80 MHz, 2 streams     12       none: the field is missing, the data rate is there
# HT at 40 MHz counts 104 carriers (its printed data rate has 108). VHT has 4 us of preamble too
# little, which is VHT-SIG-B, and neither whole symbols nor service and tail bits.
#
# Why it matters: "airtime by station" from a monitor is the sum of this field. Single frames of a
# call over VHT look up to 8 % cheaper than they are, 40 MHz of HT up to 4 % dearer than 20, and a
# sum over a network of today silently leaves out all stations with Wi-Fi 6. What is computed from
# it (`wlan_radio.start_tsf`, `end_tsf`, the space between frames) inherits it.
#
# Needs: python3, apt-get and dpkg-deb of Debian 12 (amd64); no root. 25 s (2 min on a busy machine).
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

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

cat >"$work/airtime.py" <<'PY'
import math, struct, subprocess, sys, zlib

folder, tshark = sys.argv[1:]
BITS = [(1, 1 / 2), (2, 1 / 2), (2, 3 / 4), (4, 1 / 2), (4, 3 / 4), (6, 2 / 3), (6, 3 / 4), (6, 5 / 6), (8, 3 / 4), (8, 5 / 6)]
FRAME = bytes.fromhex("08020000020000000001020000000002020000000003") + b"\x10\0" + bytes.fromhex("aaaa03000000888e")
FRAME += bytes(1496 - len(FRAME))
FRAME += struct.pack("<I", zlib.crc32(FRAME))

def symbols(octets, carriers, mcs, streams):
    return math.ceil((16 + 8 * octets + 6) / round(carriers * math.prod(BITS[mcs]) * streams))

def ht(mcs, wide=False, short=False, greenfield=False):
    flags = wide | short << 2 | greenfield << 3
    tap = struct.pack("<BBHIBBBB", 0, 0, 12, 1 << 19 | 1 << 1, 0x10, 0x7F, flags, mcs)
    streams = 1 + mcs // 8
    data = 4 * symbols(1500, 108 if wide else 52, mcs % 8, streams)
    data = 4 * math.ceil(round(0.9 * data, 1) / 4) if short else data
    return tap, (20 if greenfield else 32) + 4 * streams + data

def vht(mcs, streams, width, carriers):
    tap = struct.pack("<BBHIBxHBB4sBBH", 0, 0, 22, 1 << 21 | 1 << 1, 0x10, 0x65, 0, width, bytes([mcs << 4 | streams, 0, 0, 0]), 0, 0, 0)
    return tap, 36 + 4 * streams + 4 * symbols(1504, carriers, mcs, streams)

def he(mcs):
    known = 0x20 | 0x40 | 0x80 | 0x200 | 0x4000  # MCS, DCM, coding, STBC, bandwidth; a single user
    tap = struct.pack("<BBHIBxHHHHHH", 0, 0, 22, 1 << 23 | 1 << 1, 0x10, known, 0x42, mcs << 8 | 1 << 13, 0, 2 | 2 << 6, 2)
    return tap, None

kinds = {
    "HT 20 MHz": [ht(mcs) for mcs in range(16)],
    "HT 20 MHz, short guard": [ht(mcs, short=True) for mcs in range(16)],
    "HT 40 MHz": [ht(mcs, wide=True) for mcs in range(16)],
    "HT 20 MHz, greenfield": [ht(mcs, greenfield=True) for mcs in range(8)],
    "VHT 20 MHz": [vht(mcs, 1, 0, 52) for mcs in range(8)],
    "VHT 80 MHz, 2 streams": [vht(mcs, 2, 4, 234) for mcs in range(10)],
    "HE 80 MHz, 2 streams": [he(mcs) for mcs in range(12)],
}
for kind, frames in kinds.items():
    with open(f"{folder}/frames.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 127))
        for number, (tap, _) in enumerate(frames):
            record = tap + FRAME
            file.write(struct.pack("<IIII", 1700000000 + number, 0, len(record), len(record)) + record)
    fields = ["wlan_radio.duration", "wlan_radio.data_rate", "wlan.fcs.status"]
    command = [tshark, "-n", "-o", "wlan.check_checksum:TRUE", "-r", f"{folder}/frames.pcap", "-T", "fields"]
    lines = subprocess.run(command + [part for field in fields for part in ("-e", field)],
                           capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    assert len(rows) == len(frames) and all(rate and good == "1" for _, rate, good in rows), rows
    if not any(duration for duration, _, _ in rows):
        print(f"{kind}: {len(frames)} frames, no duration")
        continue
    off = [int(row[0]) - expected for row, (_, expected) in zip(rows, frames)]
    print(f"{kind}: {len(frames)} frames, {off.count(0)} right, {min(off)} to {max(off)} us")
PY
timeout 120 python3 "$work/airtime.py" "$work" "$work/root/usr/bin/tshark" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"
cat "$work/seen"
cat >"$work/expected" <<'TABLE'
HT 20 MHz: 16 frames, 16 right, 0 to 0 us
HT 20 MHz, short guard: 16 frames, 0 right, -4 to -1 us
HT 40 MHz: 16 frames, 2 right, 0 to 36 us
HT 20 MHz, greenfield: 8 frames, 0 right, 4 to 4 us
VHT 20 MHz: 8 frames, 0 right, -12 to -5 us
VHT 80 MHz, 2 streams: 10 frames, 0 right, -8 to -5 us
HE 80 MHz, 2 streams: 12 frames, no duration
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
