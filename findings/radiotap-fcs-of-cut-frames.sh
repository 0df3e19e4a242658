#!/usr/bin/env bash
# scapy and dpkt take captured payload for the checksum of a Wi-Fi frame that the capture cut short.
#
# Versions: scapy 2.8.0, dpkt 1.9.8 (PyPI); tshark 4.0.17-0+deb12u3 and tcpdump 4.99.3-1 (Debian 12).
#
# Input, made here: 100 data frames with UDP inside, link type 127 (radiotap). The radiotap flag 0x10
# says that a frame ends with its frame check sequence (FCS), as most drivers hand frames to a
# monitor interface. The same frames are stored whole, cut to 128 octets, and cut right behind the
# UDP header (`tcpdump -s`): pcap records then have a captured length below the length on the air,
# and no FCS. A fourth file holds frames that were received without FCS, flag clear, cut likewise.
#
# Expected: a reader takes an FCS off only where the captured length reaches the length on the air.
# tshark and tcpdump do: 100 UDP headers in each file, no FCS in cut frames.
#
# Seen: scapy and dpkt look at the flag only, and take the last four captured octets for the FCS.
#   file       reader   UDP headers   frames with an FCS   of them the one that was sent
#   whole      scapy    100           100                  100
#   cut-128    scapy    100           100                  0
#   cut-udp    scapy    0             100                  0
#   no-fcs     scapy    100           0                    0
#   whole      dpkt     100           100                  100
#   cut-128    dpkt     100           100                  0
#   cut-udp    dpkt     0             100                  0
#   no-fcs     dpkt     100           0                    0
#   all        tshark   100 in each   100 in `whole`, 0 elsewhere
#   all        tcpdump  100 in each
# In `cut-udp` the "FCS" is the length and checksum of UDP. scapy knows the length on the air
# (`wirelen`) and does not use it; dpkt's radiotap reader is not told of it.
#
# Why it matters: monitor captures of Wi-Fi are nearly always cut, for privacy and size. A script
# over scapy or dpkt then counts no UDP in a trace that is full of it, or takes every frame for a
# damaged one, while Wireshark shows nothing amiss. A program that writes cut captures for such
# readers keeps four octets more, or clears the flag.
#
# Needs: python3 with venv, apt-get and dpkg-deb of Debian 12 (amd64); no root. About 40 s.
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
            libpcap0.8 tcpdump=4.99.3-1
} >"$work/apt.log" 2>&1 || { tail -3 "$work/apt.log" >&2; unable "Debian's packages could not be had"; }
for package in "$work"/cache/archives/*.deb; do dpkg-deb -x "$package" "$work/root"; done
export LD_LIBRARY_PATH=$work/root/usr/lib/x86_64-linux-gnu HOME=$work

cat >"$work/write.py" <<'PY'
import binascii, struct, sys

folder, frames = sys.argv[1], 100
radiotap_len, udp_end = 9, 24 + 8 + 20 + 8

def ones_complement(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF

def mpdu(number):
    addresses = bytes.fromhex("020000000001" "020000000002" "020000000003")
    mac = b"\x08\x02\0\0" + addresses + struct.pack("<H", number << 4)
    llc = bytes.fromhex("aaaa030000000800")
    payload = bytes((number + i) & 0xFF for i in range(1000))
    udp = struct.pack(">HHHH", 40000 + number, 5004, 8 + len(payload), 0) + payload
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), number, 0, 64, 17, 0,
                       bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    head = head[:10] + struct.pack(">H", ones_complement(head)) + head[12:]
    return mac + llc + head + udp

def write(name, has_fcs, cut):
    with open(f"{folder}/{name}.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 127))
        for number in range(frames):
            frame = mpdu(number)
            if has_fcs:
                frame += struct.pack("<I", binascii.crc32(frame))
            # radiotap: version, pad, length, present = flags only, flags
            whole = struct.pack("<BBHIB", 0, 0, radiotap_len, 1 << 1, 0x10 if has_fcs else 0) + frame
            kept = whole[:cut]
            file.write(struct.pack("<IIII", 1700000000 + number, 0, len(kept), len(whole)) + kept)

write("whole", True, None)
write("cut-128", True, 128)
write("cut-udp", True, radiotap_len + udp_end)
write("no-fcs", False, radiotap_len + udp_end)
PY

cat >"$work/read.py" <<'PY'
import binascii, logging, struct, sys

logging.getLogger("scapy").setLevel(logging.ERROR)
import dpkt
from scapy.all import UDP, Dot11FCS, PcapReader

folder = sys.argv[1]
sent = {}
for number, (_, record) in enumerate(dpkt.pcap.Reader(open(f"{folder}/whole.pcap", "rb"))):
    sent[number] = struct.unpack("<I", record[-4:])[0]
    assert sent[number] == binascii.crc32(record[9:-4])

def row(name, reader, seen):
    udp = sum(port is not None for port, _ in seen)
    assert all(port in (None, 40000 + number) for number, (port, _) in enumerate(seen))
    checks = [(number, fcs) for number, (_, fcs) in enumerate(seen) if fcs is not None]
    right = sum(fcs == sent[number] for number, fcs in checks)
    print(f"{name} {reader} {udp} {len(checks)} {right}")

def by_scapy(name):
    for packet in PcapReader(f"{folder}/{name}.pcap"):
        port = packet[UDP].sport if packet.haslayer(UDP) else None
        yield port, packet[Dot11FCS].fcs if packet.haslayer(Dot11FCS) else None

def by_dpkt(name):
    for _, record in dpkt.pcap.Reader(open(f"{folder}/{name}.pcap", "rb")):
        frame = dpkt.radiotap.Radiotap(record).data
        ip = dpkt.llc.LLC(frame.data_frame.data).data
        udp = ip.data if isinstance(ip, dpkt.ip.IP) else None
        yield udp.sport if isinstance(udp, dpkt.udp.UDP) else None, getattr(frame, "fcs", None)

for reader, read in (("scapy", by_scapy), ("dpkt", by_dpkt)):
    for name in ("whole", "cut-128", "cut-udp", "no-fcs"):
        row(name, reader, list(read(name)))
PY

python3 "$work/write.py" "$work"
timeout 60 "$work/venv/bin/python" "$work/read.py" "$work" >"$work/seen" || unable "scapy or dpkt failed"
for name in whole cut-128 cut-udp no-fcs; do
    timeout 60 "$work/root/usr/bin/tshark" -n -r "$work/$name.pcap" -o wlan.check_checksum:TRUE -T fields \
        -E separator=, -e udp.srcport -e wlan.fcs.status >"$work/fields" 2>"$work/log" || unable "$(<"$work/log")"
    awk -F, -v name=$name '$1 == 40000 + NR - 1 { udp++ } $2 != "" { fcs++ } $2 == 1 { right++ }
        END { print name, "tshark", udp + 0, fcs + 0, right + 0 }' "$work/fields" >>"$work/seen"
    timeout 60 "$work/root/usr/bin/tcpdump" -Z "$(id -un)" -n -r "$work/$name.pcap" \
        >"$work/lines" 2>"$work/log" || unable "$(<"$work/log")"
    awk -v name=$name '/10\.0\.0\.2\.5004: UDP/ { udp++ } END { print name, "tcpdump", udp + 0, "-", "-" }' \
        "$work/lines" >>"$work/seen"
done
cat "$work/seen"

cat >"$work/expected" <<'TABLE'
whole scapy 100 100 100
cut-128 scapy 100 100 0
cut-udp scapy 0 100 0
no-fcs scapy 100 0 0
whole dpkt 100 100 100
cut-128 dpkt 100 100 0
cut-udp dpkt 0 100 0
no-fcs dpkt 100 0 0
whole tshark 100 100 100
whole tcpdump 100 - -
cut-128 tshark 100 0 0
cut-128 tcpdump 100 - -
cut-udp tshark 100 0 0
cut-udp tcpdump 100 - -
no-fcs tshark 100 0 0
no-fcs tcpdump 100 - -
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
