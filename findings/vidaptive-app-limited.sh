#!/usr/bin/env bash
# vidaptive's Copa reacts to the delay of packets that its documentation excludes, and its window
# grows without regard to what is in flight.
#
# Versions: vidaptive 0.2.0 (Rust registry).
#
# Input: Copa with its default configuration, in virtual time. A packet of 1200 B is sent each
# millisecond; the first 1000 are acknowledged after 20 ms (24 kB are under way), the next 1000
# after 60 ms; once with `SentPacket::app_limited` false, once with true.
#
# Expected: the documentation of `app_limited` says that delay observed on such packets "must not
# drive Copa cwnd decreases", so that the second window keeps its size. And a window of which 24 kB
# are used does not grow on and on (RFC 7661; RFC 9002, Sec. 7.8).
#
# Seen: `cwnd` after both halves, in bytes, the same with either flag:
#   app_limited   after 20 ms   after 60 ms
#   false         1296000       4800
#   true          1296000       4800
# Only the crate's other control (Rocc) looks for a limited application, and by bytes in flight.
#
# Why it matters: a video stream is limited by its encoder for most of its frames, and Wi-Fi delays
# single frames. Then the window falls to its least, four packets, by delay that the stream did not
# cause; and before, it was 54 times what the path had been seen to carry.
#
# Needs: cargo and rustc (1.89 or later). Half a minute.
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }
type cargo >"$work/log" 2>&1 || unable "no cargo"

mkdir "$work/src"
cat >"$work/Cargo.toml" <<'TOML'
[package]
name = "app-limited"
version = "0.0.0"
edition = "2021"

[dependencies]
vidaptive = "=0.2.0"
TOML
cat >"$work/src/main.rs" <<'RUST'
use std::time::{Duration, Instant};
use vidaptive::{AckInfo, CongestionController, Copa, CopaConfig, SentPacket};

fn windows(app_limited: bool) -> (u64, u64) {
    let mut copa = Copa::new(CopaConfig::default());
    let zero = Instant::now();
    let mut first = 0;
    for step in 0..2000_u64 {
        let delay = Duration::from_millis(if step < 1000 { 20 } else { 60 });
        let sent_at = zero + Duration::from_millis(step);
        copa.on_packet_sent(&SentPacket { seq: step, len: 1200, sent_at, app_limited });
        copa.on_packets_acked(&[AckInfo { seq: step, len: 1200, acked_at: sent_at + delay }]);
        if step == 999 {
            first = copa.cwnd();
        }
    }
    (first, copa.cwnd())
}

fn main() {
    for app_limited in [false, true] {
        let (first, last) = windows(app_limited);
        println!("{app_limited} {first} {last}");
    }
}
RUST
cd "$work"
timeout 300 cargo build --quiet >"$work/log" 2>&1 || { cat "$work/log" >&2; unable "it does not build"; }
found=$(timeout 60 cargo run --quiet 2>"$work/log") || unable "it does not run"
echo "app_limited, cwnd after 20 ms, cwnd after 60 ms"
echo "$found"
described=$'false 1296000 4800\ntrue 1296000 4800'
[ "$found" = "$described" ] || { echo "the behaviour has changed" >&2; exit 1; }
