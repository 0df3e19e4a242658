#!/usr/bin/env bash
# The crate wl-nl80211 takes headers of netlink attributes for signals of antennas, and drops the
# traffic class of statistics by class.
#
# Versions: wl-nl80211 0.8.0 with netlink-packet-core (Rust registry); pyroute2 0.9.7 (PyPI).
#
# Input, made here: what the kernel says of a station by NL80211_CMD_GET_STATION: a signal of -40
# dBm, that of two antennas, -40 and -43 dBm, and statistics of the classes 5 and 0. nl80211.h has
# of NL80211_STA_INFO_CHAIN_SIGNAL "Contains a nested array of signal strength attributes (u8,
# dBm)", and of NL80211_STA_INFO_TID_STATS "a nested attribute where each the inner attribute number
# is the TID+1".
#
# Expected: two signals, and classes with their numbers; pyroute2 gives both.
#
# Seen:
#   what                pyroute2        wl-nl80211
#   signal              -40             -40
#   signals of chains   -40, -43        5, 0, 0, 0, -40, 0, 0, 0, 5, 0, 1, 0, -43, 0, 0, 0
#   classes             5, 0            two without numbers
# `ChainSignal` and `ChainSignalAvg` hold the octets of the nested attributes with their headers
# (length 5, number 0 or 1) and padding. The numbers of the classes are not stored; what is in their
# list is private, so that only its Debug text has it.
#
# Why it matters: the difference of two antennas says whether a station loses frames for its place
# or for a hand on one of them; here there are sixteen, and the best has 5 dBm. Retries of voice cannot be told from those
# of a download. Take the octets of `ChainSignal` apart as attributes.
#
# Needs: cargo and rustc (1.85 or later), python3 with venv. 2 min on a busy machine, most
# of it to compile.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }

python3 -m venv "$work/venv" || unable "no venv"
timeout 120 "$work/venv/bin/pip" install -q --disable-pip-version-check pyroute2==0.9.7 2>"$work/log" \
    || unable "$(tail -1 "$work/log")"

mkdir -p "$work/reader/src"
cat >"$work/reader/Cargo.toml" <<'TOML'
[package]
name = "reader"
version = "0.0.0"
edition = "2021"

[dependencies]
wl-nl80211 = "=0.8.0"
TOML
cat >"$work/reader/src/main.rs" <<'RUST'
use wl_nl80211::packet_core::{NlaBuffer, NlasIterator, Parseable};
use wl_nl80211::Nl80211StationInfo;

fn main() {
    let octets = std::fs::read(std::env::args().nth(1).unwrap()).unwrap();
    // NL80211_ATTR_STA_INFO, and what it holds.
    let station = NlaBuffer::new(octets.as_slice());
    for attribute in NlasIterator::new(station.value()) {
        println!("wl-nl80211 {:?}", Nl80211StationInfo::parse(&attribute.unwrap()).unwrap());
    }
}
RUST
CARGO_TARGET_DIR="$work/target" timeout 300 cargo build --quiet --manifest-path "$work/reader/Cargo.toml" \
    2>"$work/log" || unable "$(tail -1 "$work/log")"

cat >"$work/read.py" <<'PY'
import struct, sys

from pyroute2.netlink.nl80211 import nl80211cmd

# The kernel sets no flag on these nested attributes (nla_nest_start_noflag).
def attribute(kind, value):
    return struct.pack("<HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)

def signal(kind, dbm):
    return attribute(kind, struct.pack("b", dbm))

def msdus(tid, received, sent):
    return attribute(tid + 1, attribute(1, struct.pack("<Q", received)) + attribute(2, struct.pack("<Q", sent)))

station = attribute(21, signal(7, -40)
                    + attribute(25, signal(0, -40) + signal(1, -43))
                    + attribute(31, msdus(5, 10, 20) + msdus(0, 1, 2)))
with open(sys.argv[1], "wb") as file:
    file.write(station)

body = struct.pack("<BBH", 19, 1, 0) + station
message = nl80211cmd(struct.pack("<IHHII", 16 + len(body), 28, 0, 1, 1) + body)
message.decode()
info = message.get_attr("NL80211_ATTR_STA_INFO")
print("pyroute2 Signal", info.get_attr("NL80211_STA_INFO_SIGNAL"))
print("pyroute2 ChainSignal", list(info.get_attr("NL80211_STA_INFO_CHAIN_SIGNAL")))
print("pyroute2 TidStats", [row["tid"] for row in info.get_attr("NL80211_STA_INFO_TID_STATS")])
PY
timeout 60 "$work/venv/bin/python" "$work/read.py" "$work/station" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"
timeout 60 "$work/target/debug/reader" "$work/station" >>"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"
cat "$work/seen"
cat >"$work/expected" <<'TABLE'
pyroute2 Signal -40
pyroute2 ChainSignal [-40, -43]
pyroute2 TidStats [5, 0]
wl-nl80211 Signal(-40)
wl-nl80211 ChainSignal([5, 0, 0, 0, -40, 0, 0, 0, 5, 0, 1, 0, -43, 0, 0, 0])
wl-nl80211 TidStats([NestedNl80211TidStats([RxMsdu(10), TxMsdu(20)]), NestedNl80211TidStats([RxMsdu(1), TxMsdu(2)])])
TABLE
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
