#!/usr/bin/env bash
# The crate radiotap gives the signal of the last antenna where a frame's header has the total one too.
#
# Versions: radiotap 1.3.0 (Rust registry, the newest); scapy 2.8.0, dpkt 1.9.8 (PyPI); tshark
# 4.0.17-0+deb12u3 (Debian 12).
#
# Input, made here: 300 data frames, link type 127, with the radiotap header that Linux writes for
# cards with several antennas (mac80211, ieee80211_add_rx_radiotap_header): the first presence word
# has the signal of the frame, and one more word for each antenna has that antenna's signal and
# number. 100 frames each with two, three and four antennas; the last one hears each 9 dB worse.
#
# Expected: the field outside of the antennas' words is the signal of the frame. scapy and dpkt
# give it; tshark lists it first, before those of the antennas.
#
# Seen: `Radiotap::from_bytes` writes each value over the one before. Its `antenna_signal` is that
# of the last antenna, and nothing says so: `antenna` is there in any case. Its iterator has them all.
#   antennas   scapy, dpkt   tshark                       radiotap: signal, antenna
#   2          -50           -50,-50,-59                  -59, 1
#   3          -50           -50,-50,-54,-59              -59, 2
#   4          -50           -50,-50,-54,-56,-59          -59, 3
#
# Why it matters: a signal 9 dB too low moves what a monitor says of a link by two or three rates,
# and the error is that of whichever antenna is last. A card with one antenna gives the right value,
# so that tests with a cheap stick pass. Take the first AntennaSignal of the iterator.
#
# Needs: cargo, python3 with venv, apt-get and dpkg-deb of Debian 12 (amd64); no root. 40 s.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

python3 -m venv "$work/venv" || unable "no venv"
timeout 120 "$work/venv/bin/pip" install --quiet scapy==2.8.0 dpkt==1.9.8 2>"$work/log" || unable "$(tail -1 "$work/log")"

mkdir -p "$work/reader/src"
cat >"$work/reader/Cargo.toml" <<'TOML'
[package]
name = "reader"
version = "0.0.0"
edition = "2021"

[dependencies]
radiotap = "=1.3.0"
TOML
cat >"$work/reader/src/main.rs" <<'RUST'
fn main() {
    let file = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    let mut rest = &file[24..];
    while rest.len() > 16 {
        let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let tap = radiotap::Radiotap::from_bytes(&rest[16..]).unwrap();
        println!("{}, {}", tap.antenna_signal.unwrap().value, tap.antenna.unwrap().value);
        rest = &rest[16 + length..];
    }
}
RUST
CARGO_TARGET_DIR="$work/target" timeout 240 cargo build --quiet --manifest-path "$work/reader/Cargo.toml" \
    2>"$work/log" || unable "$(tail -1 "$work/log")"

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

def header(antennas):
    # TSFT, flags, rate, channel, signal, RX flags; each antenna's word has signal and number.
    words = [1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 14]
    for _ in antennas:
        words[-1] |= 1 << 29 | 1 << 31
        words.append(1 << 5 | 1 << 11)
    start, body = 4 + 4 * len(words), b""
    for align, form, *values in [(8, "Q", 10**6), (1, "B", 0), (1, "B", 12), (2, "HH", 5180, 0x0140), (1, "b", -50), (2, "H", 0),
                                 *((1, "bB", signal, number) for number, signal in enumerate(antennas))]:
        body += bytes(-(start + len(body)) % align) + struct.pack("<" + form, *values)
    return struct.pack("<BBH", 0, 0, start + len(body)) + b"".join(struct.pack("<I", word) for word in words) + body

frame = bytes.fromhex("08023000020000000001020000000002020000000003") + b"\x10\0" + bytes.fromhex("aaaa03000000888e") + bytes(50)
for antennas in ((-50, -59), (-50, -54, -59), (-50, -54, -56, -59)):
    record = header(antennas) + frame
    with open(f"{sys.argv[1]}/{len(antennas)}.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 127))
        for number in range(100):
            file.write(struct.pack("<IIII", 1700000000 + number, 0, len(record), len(record)) + record)
PY
cat >"$work/read.py" <<'PY'
import logging, sys

logging.getLogger("scapy").setLevel(logging.ERROR)
import dpkt
from scapy.all import PcapReader, RadioTap

for packet in PcapReader(sys.argv[1]):
    print("scapy", packet[RadioTap].dBm_AntSignal)
for _, record in dpkt.pcap.Reader(open(sys.argv[1], "rb")):
    print("dpkt", dpkt.radiotap.Radiotap(record).ant_sig.db)
PY

python3 "$work/write.py" "$work"
for antennas in 2 3 4; do
    file="$work/$antennas.pcap"
    {
        timeout 60 "$work/venv/bin/python" "$work/read.py" "$file" 2>"$work/log" || unable "$(tail -1 "$work/log")"
        timeout 60 "$work/root/usr/bin/tshark" -n -r "$file" -T fields -e radiotap.dbm_antsignal 2>"$work/log" | sed 's/^/tshark /' \
            || unable "$(tail -1 "$work/log")"
        timeout 60 "$work/target/debug/reader" "$file" 2>"$work/log" | sed 's/^/radiotap /' || unable "$(tail -1 "$work/log")"
    } | sort | uniq -c | sed "s/^ */$antennas: /"
done >"$work/seen"
cat "$work/seen"
cat >"$work/expected" <<'TABLE'
2: 100 dpkt -50
2: 100 radiotap -59, 1
2: 100 scapy -50
2: 100 tshark -50,-50,-59
3: 100 dpkt -50
3: 100 radiotap -59, 2
3: 100 scapy -50
3: 100 tshark -50,-50,-54,-59
4: 100 dpkt -50
4: 100 radiotap -59, 3
4: 100 scapy -50
4: 100 tshark -50,-50,-54,-56,-59
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
