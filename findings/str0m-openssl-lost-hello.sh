#!/usr/bin/env bash
# str0m on OpenSSL never repeats its first message of DTLS: one lost datagram, and nothing connects.
#
# Versions: str0m 0.24.1 with str0m-openssl 0.6.0 and OpenSSL 3 of the system; beside it the same
# str0m with str0m-rust-crypto 0.6.0, which has its own DTLS (Rust registry).
#
# Input: two Rtc of str0m in one program, full ICE, a section of video. The offer says
# a=setup:passive, as FFmpeg's WHIP muxer does, so that the answerer is the client of DTLS. Its first
# datagram, the ClientHello, is lost on the way. Each Rtc gets a timeout each 20 ms, in real time, as
# OpenSSL reads the clock itself. Once with that loss and once without.
#
# Expected: the ClientHello is sent again after a second (RFC 6347 section 4.2.4.1, "Implementations
# SHOULD use an initial timer value of 1 second"), and the two connect.
#
# Seen:
#                         OpenSSL              str0m-rust-crypto
#   nothing is lost       connected            connected
#   ClientHello is lost   not after 8 s        connected after about a second
# A timeout that reaches the OpenSSL instance sets its next timeout, and calls nothing of OpenSSL;
# its timer is looked at only when a datagram of DTLS arrives. The server of DTLS says nothing before
# it has a ClientHello, so that none does. A server as passive end is not concerned: its peer repeats
# its own messages. A caller may pass in a record of DTLS that is dropped (type 22, version 0), by
# which OpenSSL comes to look at its timer: with one each 200 ms they connect.
#
# Why it matters: the ClientHello is one datagram, sent when a client has just joined and its Wi-Fi
# is busy with its first pictures. FFmpeg's muxer even loses it without a network: what comes right
# behind the answer to its ICE check is read and dropped, as it counts on the repetition.
#
# Needs: cargo and rustc (1.88 or later), OpenSSL 3 with headers (libssl-dev), pkg-config. 2 to 3 min,
# nearly all of it to compile (10 min on a busy machine).
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }
type cargo cc >"$work/log" 2>&1 || unable "no cargo or no C compiler"

mkdir "$work/src"
cat >"$work/Cargo.toml" <<'TOML'
[package]
name = "lost-hello"
version = "0.0.0"
edition = "2021"

[dependencies]
str0m = { version = "=0.24.1", default-features = false, features = ["openssl", "rust-crypto"] }
str0m-openssl = "=0.6.0"
str0m-rust-crypto = "=0.6.0"

[profile.dev]
debug = false

[workspace]
TOML
cat >"$work/src/main.rs" <<'RUST'
use std::sync::Arc;
use std::time::{Duration, Instant};

use str0m::change::SdpOffer;
use str0m::media::{Direction, MediaKind};
use str0m::net::{Protocol, Receive};
use str0m::{Candidate, Event, Input, Output, Rtc};

/// Seconds until the client of DTLS is connected; none after 8.
fn run(openssl: bool, loss: bool, nudge: bool) -> Option<f64> {
    let begin = Instant::now();
    let provider = || {
        Arc::new(if openssl { str0m_openssl::default_provider() } else { str0m_rust_crypto::default_provider() })
    };
    let addresses = [([127, 0, 0, 1], 1001).into(), ([127, 0, 0, 1], 1002).into()];
    let mut peers = addresses.map(|address| {
        let mut rtc = Rtc::builder().set_crypto_provider(provider()).build(begin);
        rtc.add_local_candidate(Candidate::host(address, "udp").unwrap());
        rtc
    });
    let [offerer, answerer] = &mut peers;
    let mut change = offerer.sdp_api();
    change.add_media(MediaKind::Video, Direction::SendOnly, None, None, None);
    let (offer, pending) = change.apply().unwrap();
    let passive = offer.to_sdp_string().replace("a=setup:actpass", "a=setup:passive");
    let offer = SdpOffer::from_sdp_string(&passive).unwrap();
    let answer = answerer.sdp_api().accept_offer(offer).unwrap();
    assert!(answer.to_sdp_string().contains("a=setup:active"));
    offerer.sdp_api().accept_answer(pending, answer).unwrap();
    let (mut lost, mut nudged) = (!loss, begin);
    while begin.elapsed() < Duration::from_secs(8) {
        let now = Instant::now();
        for at in 0..2 {
            peers[at].handle_input(Input::Timeout(now)).unwrap();
            loop {
                match peers[at].poll_output().unwrap() {
                    Output::Timeout(_) => break,
                    Output::Event(Event::Connected) if at == 1 => return Some(begin.elapsed().as_secs_f64()),
                    Output::Event(_) => {}
                    Output::Transmit(datagram) => {
                        // The answerer's first record of a handshake.
                        if at == 1 && !lost && datagram.contents[0] == 22 {
                            lost = true;
                            continue;
                        }
                        let contents = datagram.contents.as_ref().try_into().unwrap();
                        let (source, destination) = (datagram.source, datagram.destination);
                        let receive = Receive { proto: Protocol::Udp, source, destination, contents };
                        peers[1 - at].handle_input(Input::Receive(now, receive)).unwrap();
                    }
                }
            }
        }
        if nudge && begin.elapsed() > Duration::from_secs(1) && nudged.elapsed() > Duration::from_millis(200) {
            nudged = now;
            let record = [22, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            let contents = record.as_slice().try_into().unwrap();
            let [source, destination] = addresses;
            let receive = Receive { proto: Protocol::Udp, source, destination, contents };
            peers[1].handle_input(Input::Receive(now, receive)).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}

fn main() {
    let cases = [
        ("openssl", "kept", true, false, false),
        ("rust-crypto", "kept", false, false, false),
        ("openssl", "lost", true, true, false),
        ("rust-crypto", "lost", false, true, false),
        ("openssl", "lost, nudged", true, true, true),
    ];
    for (name, what, openssl, loss, nudge) in cases {
        match run(openssl, loss, nudge) {
            Some(time) => println!("{name}, {what}: connected ({time:.2} s)"),
            None => println!("{name}, {what}: not connected"),
        }
    }
}
RUST
(cd "$work" && timeout 1500 cargo build --quiet) >"$work/log" 2>&1 || { tail -3 "$work/log" >&2; unable "str0m could not be built"; }
timeout 120 "$work/target/debug/lost-hello" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"
cat "$work/seen"
cat >"$work/expected" <<'LINES'
openssl, kept: connected
rust-crypto, kept: connected
openssl, lost: not connected
rust-crypto, lost: connected
openssl, lost, nudged: connected
LINES
if sed 's/ (.*//' "$work/seen" | diff "$work/expected" -; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
