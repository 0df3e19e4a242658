#!/usr/bin/env bash
# tshark's space between a frame and its answer is not SIFS: by default never, and at 40 MHz of
# 802.11n not with the right preference either.
#
# Versions: tshark 4.0.17-0+deb12u3 (Debian 12).
#
# Input, made here: captures with radiotap headers, each of one exchange in 5 GHz: data of 802.11n
# (mixed format, long guard interval), alone or as an A-MPDU of 32 MPDUs of 1538 octets, and after
# SIFS its BlockAck at 24 Mb/s. All MPDUs of an aggregate have one TSFT, that of the first bit
# behind the preamble, as radiotap defines it. Durations are those of 802.11: symbols of 4 us with
# 52 data subcarriers at 20 MHz and 108 at 40 MHz.
#
# Expected: `wlan_radio.ifs` of the BlockAck is 16 us, SIFS.
#
# Seen:
#   data               by default   wlan_radio.tsf_at_end:FALSE
#   20 MHz, 1 MPDU     324 us       16 us
#   20 MHz, 32 MPDUs   10140 us     16 us
#   40 MHz, 1 MPDU     160 us       12 us
#   40 MHz, 32 MPDUs   4884 us      -172 us
# By default tshark takes TSFT for the end of a PPDU, "as some generators do", so that the whole
# frame counts as space before its answer. With the preference, 20 MHz is right. At 40 MHz tshark
# counts twice the bits of a symbol of 20 MHz, 104 data subcarriers in place of 108; its frames are
# 3.8 % too long, and a BlockAck begins before its aggregate ends.
#
# Why it matters: gaps between frames show who waited for whom. A histogram of `wlan_radio.ifs` from
# defaults shows lengths of frames, and one of an 802.11n network at 40 MHz negative times; neither
# looks like a mistake of the reader.
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
import binascii, math, struct, sys

folder = sys.argv[1]
access_point, station = bytes.fromhex("020000000001"), bytes.fromhex("020000000002")
SIFS, LEGACY_PREAMBLE, SYMBOL = 16, 20, 4

def radiotap(time, rate=None, mcs=None):
    """TSFT, flags (ends with FCS), rate or MCS, channel; fields are aligned to their size."""
    fields = struct.pack("<QB", time, 0x10)
    if rate is not None:
        present, fields = 0b1111, fields + struct.pack("<BHH", rate * 2, 5180, 0x0140)
    else:
        wide, index = mcs
        present = 0b1011 | 1 << 19
        fields += b"\0" + struct.pack("<HHBBB", 5180, 0x0140, 0x7F, wide, index)
    return struct.pack("<BBHI", 0, 0, 8 + len(fields), present) + fields

def checked(frame):
    return frame + struct.pack("<I", binascii.crc32(frame))

def data(number):
    addresses = station + access_point + access_point
    return checked(b"\x88\x02\0\0" + addresses + struct.pack("<HH", number << 4, 0) + bytes(1508))

answer = checked(b"\x94\0\0\0" + access_point + station + struct.pack("<HH", 4, 0) + b"\xff" * 8)

def write(name, wide, mpdus):
    index, bits = 4, 324 if wide else 156  # 16-QAM 3/4, one stream
    octets = len(data(0))
    # In an A-MPDU each has a delimiter of 4 octets and is padded to a multiple of 4, but for the last.
    psdu = octets if mpdus == 1 else mpdus * (4 + octets + 2) - 2
    symbols = math.ceil((16 + 8 * psdu + 6) / bits)
    preamble = LEGACY_PREAMBLE + 8 + 4 + 4
    start = 1000
    end = start + preamble + SYMBOL * symbols
    with open(f"{folder}/{name}.pcap", "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 127))
        records = [(start, radiotap(start + preamble, mcs=(wide, index)) + data(n)) for n in range(mpdus)]
        begin = end + SIFS
        records.append((begin, radiotap(begin + LEGACY_PREAMBLE, rate=24) + answer))
        for time, record in records:
            file.write(struct.pack("<IIII", 1700000000, time, len(record), len(record)) + record)

write("20MHz-1", 0, 1)
write("20MHz-32", 0, 32)
write("40MHz-1", 1, 1)
write("40MHz-32", 1, 32)
PY
python3 "$work/write.py" "$work"

space() {
    timeout 60 "$work/root/usr/bin/tshark" -n -r "$1" "${@:2}" -Y 'wlan.fc.type_subtype == 0x19' -T fields \
        -e wlan_radio.ifs 2>"$work/log" || unable "$(<"$work/log")"
}
for name in 20MHz-1 20MHz-32 40MHz-1 40MHz-32; do
    file=$work/$name.pcap
    echo "$name $(space "$file") $(space "$file" -o wlan_radio.tsf_at_end:FALSE)"
done | tee "$work/seen"

cat >"$work/expected" <<'TABLE'
20MHz-1 324 16
20MHz-32 10140 16
40MHz-1 160 12
40MHz-32 4884 -172
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
