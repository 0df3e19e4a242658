#!/usr/bin/env bash
# str0m loses a parameter of a codec each time it prints and reads an offer that has an unknown one.
#
# Versions: str0m 0.25.0 with str0m-proto 0.8.0, aws-lc-rs (Rust registry).
#
# Input: offers of one section with one codec, given to `SdpOffer::from_sdp_string`. One is Opus
# with the parameters that Firefox offers; the others are H.264 with `level-asymmetry-allowed=1`,
# `packetization-mode=1` and `profile-level-id=42e01f`, without or with `max-fs=3600` (RFC 6184) at
# some place. Each is printed by `to_sdp_string`, read again, and printed again. An Rtc with default
# codecs answers the text that came, and the text as printed once.
#
# Expected: a parameter that str0m does not know is kept, or left out together with its semicolon;
# what is printed reads as what was read.
#
# Seen:
#   H.264, max-fs   printed once                  printed twice        mode in the answers to
#                                                                      came     printed
#   nowhere         all three                     all three            1        1
#   first           ";" and all three             level asymmetry lost 1        1
#   second          ";;" in its place             mode lost            1        0
#   last            all three and ";"             all three            1        1
#   Opus            ;stereo=1;useinbandfec=1      ;useinbandfec=1      not judged
# An unknown parameter is printed as nothing between its separators. The reader takes the second
# semicolon for the beginning of a name, so that the next parameter is unknown, too, and goes the
# same way. No error and no warning.
#
# Why it matters: an SdpOffer is what a signalling process takes from HTTP and hands to the process
# with the media, as text or by serde (the same text). The answer then has mode 0 for a payload type
# that was offered with mode 1; RFC 6184 (8.2.2) lets an answer keep the mode or drop the type. It
# depends on where a browser puts a parameter. Pass the text on as it came.
#
# Needs: cargo and rustc (1.89 or later), a C compiler. 2 min on two cores, nearly all of it to
# compile (15 min on a busy machine).
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }
type cargo cc >"$work/log" 2>&1 || unable "no cargo or no C compiler"

mkdir "$work/src"
cat >"$work/Cargo.toml" <<'TOML'
[package]
name = "printed-parameters"
version = "0.0.0"
edition = "2021"

[dependencies]
str0m = { version = "=0.25.0", default-features = false, features = ["aws-lc-rs"] }
str0m-proto = "=0.8.0"

[profile.dev]
debug = false

[workspace]
TOML
cat >"$work/src/main.rs" <<'RUST'
use std::time::Instant;

use str0m::change::SdpOffer;
use str0m::Rtc;

fn offer(kind: &str, codec: &str, parameters: &str) -> String {
    let fingerprint = ["AB"; 32].join(":");
    let lines = [
        "v=0\r\no=- 1 2 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0".to_string(),
        format!("m={kind} 9 UDP/TLS/RTP/SAVPF 100\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\na=rtcp-mux"),
        "a=sendrecv\r\na=setup:actpass\r\na=ice-ufrag:abcd\r\na=ice-pwd:abcdefghijklmnopqrstuvwx".to_string(),
        format!("a=fingerprint:sha-256 {fingerprint}\r\na=rtpmap:100 {codec}\r\na=fmtp:100 {parameters}\r\n"),
    ];
    lines.join("\r\n")
}

fn parameters(sdp: &str) -> &str {
    sdp.lines().find_map(|line| line.strip_prefix("a=fmtp:100 ")).unwrap_or("none")
}

fn printed(sdp: &str) -> String {
    SdpOffer::from_sdp_string(sdp).unwrap().to_sdp_string()
}

/// The packetization mode in the answer to an offer.
fn mode(sdp: &str) -> String {
    let offer = SdpOffer::from_sdp_string(sdp).unwrap();
    let answer = Rtc::builder().build(Instant::now()).sdp_api().accept_offer(offer).unwrap().to_sdp_string();
    let mut pairs = parameters(&answer).split(';');
    pairs.find_map(|pair| pair.strip_prefix("packetization-mode=")).unwrap_or("-").into()
}

fn main() {
    let (asymmetry, mode_1, profile) = ("level-asymmetry-allowed=1", "packetization-mode=1", "profile-level-id=42e01f");
    let unknown = "max-fs=3600";
    for (place, list) in [
        ("nowhere", vec![asymmetry, mode_1, profile]),
        ("first", vec![unknown, asymmetry, mode_1, profile]),
        ("second", vec![asymmetry, unknown, mode_1, profile]),
        ("last", vec![asymmetry, mode_1, profile, unknown]),
    ] {
        let came = offer("video", "H264/90000", &list.join(";"));
        let once = printed(&came);
        println!("{place} {} | {}", parameters(&once), parameters(&printed(&once)));
        println!("{place} mode {} {}", mode(&came), mode(&once));
    }
    let came = offer("audio", "opus/48000/2", "maxplaybackrate=48000;stereo=1;useinbandfec=1");
    let once = printed(&came);
    println!("opus {} | {}", parameters(&once), parameters(&printed(&once)));
}
RUST

export CARGO_TARGET_DIR=$work/target
timeout 1500 cargo build -q --manifest-path "$work/Cargo.toml" >"$work/log" 2>&1 ||
    { tail -5 "$work/log" >&2; unable "it could not be built"; }
timeout 60 "$work/target/debug/printed-parameters" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"
cat "$work/seen"

cat >"$work/expected" <<'LINES'
nowhere level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f | level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
nowhere mode 1 1
first ;level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f | ;packetization-mode=1;profile-level-id=42e01f
first mode 1 1
second level-asymmetry-allowed=1;;packetization-mode=1;profile-level-id=42e01f | level-asymmetry-allowed=1;;profile-level-id=42e01f
second mode 1 0
last level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f; | level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f
last mode 1 1
opus ;stereo=1;useinbandfec=1 | ;useinbandfec=1
LINES
if diff "$work/expected" "$work/seen"; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
