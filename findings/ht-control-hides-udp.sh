#!/usr/bin/env bash
# scapy, dpkt, tcpdump and libpcap's filters see no UDP in Wi-Fi frames with an HT Control field.
#
# Versions: scapy 2.8.0 and dpkt 1.9.8 (PyPI), tcpdump 4.99.3-1, libpcap 1.10.3-1 and tshark
# 4.0.17-0+deb12u3 (Debian 12).
#
# Input, made here: a capture with radiotap headers of 100 UDP datagrams to port 5004 in unencrypted
# QoS data frames from one station. Each second frame has the bit +HTC of Frame Control and, behind
# QoS Control, the four octets of HT Control (IEEE 802.11, "HT Control field"): the HE variant with
# a buffer status report, by which a station of 802.11ax tells its access point what it has queued.
#
# Expected: 100 datagrams from each reader.
#
# Seen, of 50 frames each:       without   with HT Control
#   scapy                        50        0
#   dpkt                         50        0
#   tcpdump                      50        0
#   tcpdump 'udp port 5004'      50        0
#   tshark                       50        50
# The four take HT Control for the LLC header, and the LLC header for what follows; neither warns.
# The filter is libpcap's, which programs that capture give to the kernel: it keeps nothing of these
# frames. For tcpdump's printing, a change is proposed (its pull request 1364).
#
# Why it matters: by HT Control a station tells what it has queued and that its operating mode
# changes. A trace of an uplink under load lacks just these frames, latencies computed from it are
# too good, and what a filter has dropped at the capture is gone. Filter on addresses or not at all,
# and read with tshark.
#
# Needs: python3 with venv; apt-get and dpkg-deb of Debian 12 (amd64); no root. 22 s (5 min on a
# busy machine).
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

python3 -m venv "$work/venv" || unable "no venv"
timeout 300 "$work/venv/bin/pip" install -q --disable-pip-version-check scapy==2.8.0 dpkt==1.9.8 ||
    unable "scapy or dpkt could not be installed"

mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
apt=(apt-get -qq -o "Dir::State::Lists=$work/lists" -o "Dir::Cache=$work/cache"
    -o Debug::NoLocking=1 -o APT::Sandbox::User= -o Acquire::Languages=none)
wireshark=4.0.17-0+deb12u3
{
    timeout 120 "${apt[@]}" update &&
        timeout 180 "${apt[@]}" --yes --no-install-recommends --download-only --reinstall install \
            tshark=$wireshark wireshark-common=$wireshark libwireshark16=$wireshark \
            libwiretap13=$wireshark libwsutil14=$wireshark libwireshark-data=$wireshark \
            libpcap0.8=1.10.3-1 tcpdump=4.99.3-1
} >"$work/apt.log" 2>&1 || { tail -3 "$work/apt.log" >&2; unable "Debian's packages could not be had"; }
for package in "$work"/cache/archives/*.deb; do dpkg-deb -x "$package" "$work/root"; done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu HOME=$work

cat >"$work/write.py" <<'PY'
import struct, sys

def ones_complement(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF

def mpdu(number, with_htc):
    control = bytes([0x88, 0x81 if with_htc else 0x01])  # QoS data to the access point, +HTC
    addresses = bytes.fromhex("020000000001" "020000000002" "020000000003")
    mac = control + b"\0\0" + addresses + struct.pack("<HH", number << 4, 0)
    if with_htc:
        he_variant, buffer_status, report = 0b11, 3, 0x2A51
        mac += struct.pack("<I", he_variant | buffer_status << 2 | report << 6)
    llc = bytes.fromhex("aaaa030000000800")
    udp = struct.pack(">HHHH", 40000 + number, 5004, 8 + 100, 0) + bytes(100)
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), number, 0, 64, 17, 0,
                       bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    head = head[:10] + struct.pack(">H", ones_complement(head)) + head[12:]
    return mac + llc + head + udp

with open(f"{sys.argv[1]}/uplink.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 127))
    for number in range(100):
        record = struct.pack("<BBHI", 0, 0, 8, 0) + mpdu(number, number % 2 == 1)
        file.write(struct.pack("<IIII", 1700000000 + number, 0, len(record), len(record)) + record)
PY

cat >"$work/read.py" <<'PY'
import logging, sys

logging.getLogger("scapy").setLevel(logging.ERROR)
import dpkt
from scapy.all import UDP, PcapReader

def by_scapy(path):
    for packet in PcapReader(path):
        yield packet[UDP].sport if packet.haslayer(UDP) else None

def by_dpkt(path):
    for _, record in dpkt.pcap.Reader(open(path, "rb")):
        frame = dpkt.radiotap.Radiotap(record).data
        ip = dpkt.llc.LLC(frame.data_frame.data).data
        yield ip.data.sport if isinstance(ip, dpkt.ip.IP) else None

for reader, read in (("scapy", by_scapy), ("dpkt", by_dpkt)):
    for port in read(f"{sys.argv[1]}/uplink.pcap"):
        if port is not None:
            print(reader, port)
PY

python3 "$work/write.py" "$work"
timeout 60 "$work/venv/bin/python" "$work/read.py" "$work" >"$work/ports" 2>"$work/log" || unable "$(tail -1 "$work/log")"
for filter in "" "udp port 5004"; do
    timeout 60 "$work/root/usr/bin/tcpdump" -Z "$(id -un)" -n -r "$work/uplink.pcap" $filter \
        >"$work/lines" 2>"$work/log" || unable "$(tail -1 "$work/log")"
    sed -nE "s/.* 10\.0\.0\.1\.([0-9]+) > 10\.0\.0\.2\.5004: UDP.*/tcpdump${filter:+-filter} \1/p" "$work/lines" >>"$work/ports"
done
timeout 60 "$work/root/usr/bin/tshark" -n -r "$work/uplink.pcap" -Y udp -T fields -e udp.srcport \
    >"$work/fields" 2>"$work/log" || unable "$(tail -1 "$work/log")"
sed 's/^/tshark /' "$work/fields" >>"$work/ports"

# The port says which frame it was; those with HT Control are odd.
for reader in scapy dpkt tcpdump tcpdump-filter tshark; do
    awk -v reader=$reader '$1 == reader { seen[$2 % 2]++ }
        END { print reader, seen[0] + 0, seen[1] + 0 }' "$work/ports"
done | tee "$work/seen"

cat >"$work/expected" <<'TABLE'
scapy 50 0
dpkt 50 0
tcpdump 50 0
tcpdump-filter 50 0
tshark 50 50
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
