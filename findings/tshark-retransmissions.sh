#!/usr/bin/env bash
# tshark finds a retransmitted Wi-Fi frame only right behind the first one: in aggregates never, and
# between two traffic classes it finds what is none.
#
# Versions: tshark 4.0.17-0+deb12u3 (Debian 12).
#
# Input, made here: captures of one station's QoS data with UDP inside, read with
# `-o wlan.retransmitted:FALSE`, by which retransmitted frames are not dissected further, so that
# each datagram counts once.
#   single      100 frames, each sent twice in a row, the second one with the retry bit
#   aggregates  100 A-MPDUs of 8 new frames; the third of each is sent again, with the retry bit,
#               at the head of the next one, as after a BlockAck without it
#   classes     100 voice frames (TID 6), and behind each a best-effort frame (TID 0) of the same
#               sequence number with the retry bit, whose first transmission was not heard
#
# Expected: IEEE 802.11-2020, 10.3.2.14: each TID has sequence numbers of its own, and a receiver
# drops a frame by address, TID and number of recent frames. So 100, 100 and no retransmissions found
# (`wlan.analysis.retransmission_frame`), and 100, 800 and 200 datagrams.
#
# Seen:         retransmissions   datagrams
#   single      100               100
#   aggregates  0                 900
#   classes     100               100
# A retry is compared with the station's latest frame alone, by its sequence number, whatever its
# TID. The best-effort frames of the last file are said to be retransmissions of voice frames.
#
# Why it matters: with Wi-Fi of today nearly all data is in aggregates, where the preference does
# nothing: datagrams count twice, and delays and orders computed from them have the second copies in
# them. A call next to a download can lose datagrams that are in the capture. Drop copies by
# wlan.ta, wlan.qos.tid and wlan.seq of recent frames.
#
# Needs: python3; apt-get and dpkg-deb of Debian 12 (amd64); no root. 20 s (2 min on a busy machine).
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
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu

cat >"$work/write.py" <<'PY'
import struct, sys

STATION, POINT = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")

def frame(tid, number, retry=False):
    """A QoS data frame to the access point, with a UDP datagram of 40 octets inside."""
    datagram = struct.pack(">HHHH", 40000, 5004, 48, 0) + bytes(40)
    packet = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(datagram), number, 0, 64, 17, 0,
                         bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])) + datagram
    return (bytes([0x88, 0x09 if retry else 0x01, 44, 0]) + POINT + STATION + POINT + struct.pack("<H", number % 4096 << 4)
            + bytes([tid, 0]) + bytes.fromhex("aaaa030000000800") + packet)

single, aggregates, classes = [], [], []
for index in range(100):
    single += [frame(0, index), frame(0, index, retry=True)]
    if index > 0:
        aggregates.append(frame(0, 8 * index - 6, retry=True))
    aggregates += [frame(0, 8 * index + place) for place in range(8)]
    classes += [frame(6, index), frame(0, index, retry=True)]
aggregates.append(frame(0, 794, retry=True))
for name, frames in ("single", single), ("aggregates", aggregates), ("classes", classes):
    with open(f"{sys.argv[1]}/{name}.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 105))
        for index, octets in enumerate(frames):
            file.write(struct.pack("<IIII", 1700000000, 1000 * index, len(octets), len(octets)) + octets)
PY

python3 "$work/write.py" "$work"
count() {
    timeout 60 "$work/root/usr/bin/tshark" -n -o wlan.retransmitted:FALSE -r "$work/$1.pcap" -Y "$2" 2>"$work/log" | wc -l
}
for name in single aggregates classes; do
    echo "$name $(count $name wlan.analysis.retransmission_frame) $(count $name udp)"
done | tee "$work/seen"
cat >"$work/expected" <<'TABLE'
single 100 100
aggregates 0 900
classes 100 100
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
