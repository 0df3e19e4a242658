#!/usr/bin/env bash
# str0m's Bwe::reset begins an estimate anew, but what it reports stays the mean of 3 s with the old one.
#
# Versions: str0m 0.25.0 with str0m-proto 0.8.0, aws-lc-rs (Rust registry); 0.24.1 is the same.
#
# Input: two Rtc of str0m in one program and in virtual time, so that the machine's load plays no
# part; between them 5 ms each way and, towards the viewer, a link with a queue of 150 ms. It carries
# 300 kb/s for 20 s, then 20 Mb/s. The sender fills it with 0.9 of its estimate, 30 frames a second,
# and desires 8 Mb/s. At 21.5 s the program calls bwe().reset(300 kb/s), as an application does that
# knows of the change, and sends 0.2 Mb/s from then on. In a second run it sends 0.2 Mb/s from 16 s
# on and the estimate rests before the reset.
#
# Expected: reset "discards the current estimator state and starts estimation again" (its
# documentation), so that Event::EgressBitrateEstimate follows the new estimate, which the
# statistics (PeerStats::bwe_tx) have, too.
#
# Seen: the new estimate is above 2 Mb/s 0.12 s after the reset, as its first probes reach that; the
# event says so after 2.63 s, in the second run after 1.72 s. It reports the mean of all values of the
# last 3 s that differ from the one before, however long each stood, and reset leaves these
# (EstimateSmoother is not part of what is replaced). The more often the old estimate changed, the
# longer it weighs.
#
# Why it matters: an estimate that a fault of Wi-Fi has pushed down is begun anew to be back within
# seconds. A server that follows the event waits for up to 3 s more; it reads bwe_tx meanwhile.
#
# Needs: cargo and rustc (1.89 or later), a C compiler. 3 min on two cores, nearly all of it to
# compile (11 min on a busy machine).
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }
type cargo cc >"$work/log" 2>&1 || unable "no cargo or no C compiler"

mkdir "$work/src"
cat >"$work/Cargo.toml" <<'TOML'
[package]
name = "reset-mean"
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
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use str0m::bwe::{Bitrate, BweKind};
use str0m::format::Codec;
use str0m::media::{Direction, MediaKind};
use str0m::net::{Protocol, Receive};
use str0m::rtp::RtpWrite;
use str0m::{Candidate, Event, Input, Output, Rtc};

const ONE_WAY: Duration = Duration::from_millis(5);
const QUEUE: Duration = Duration::from_millis(150);
const FRAME: Duration = Duration::from_micros(33_333);
const PAYLOAD: usize = 500;
const HIGH: f64 = 2e6;

struct Datagram {
    source: SocketAddr,
    destination: SocketAddr,
    content: Vec<u8>,
}

struct Peer {
    rtc: Rtc,
    due: Instant,
    inbox: VecDeque<(Instant, Datagram)>,
    /// What the event reports, and what the statistics have, b/s.
    reported: f64,
    new: f64,
}

impl Peer {
    fn new(rtc: Rtc, due: Instant) -> Self {
        Peer { rtc, due, inbox: VecDeque::new(), reported: 0.0, new: 0.0 }
    }

    fn drain(&mut self) -> Vec<Datagram> {
        let mut sent = Vec::new();
        loop {
            match self.rtc.poll_output().unwrap() {
                Output::Transmit(t) => {
                    let (source, destination) = (t.source, t.destination);
                    sent.push(Datagram { source, destination, content: t.contents.to_vec() });
                }
                Output::Event(Event::EgressBitrateEstimate(BweKind::Twcc { estimate, .. })) => {
                    self.reported = estimate.as_f64();
                }
                Output::Event(Event::PeerStats(stats)) => {
                    self.new = stats.bwe_tx.map_or(0.0, |rate| rate.as_f64());
                }
                Output::Event(_) => {}
                Output::Timeout(timeout) => {
                    self.due = timeout;
                    return sent;
                }
            }
        }
    }
}

/// The seconds from the reset until the statistics, and until the event, have more than 2 Mb/s.
fn run(fills_until: f64) -> [f64; 2] {
    let begin = Instant::now();
    let addresses: [SocketAddr; 2] = [([127, 0, 0, 1], 1001).into(), ([127, 0, 0, 1], 1002).into()];
    let mut sender = Rtc::builder()
        .set_rtp_mode(true)
        .set_stats_interval(Some(Duration::from_millis(20)))
        .enable_bwe(Some(Bitrate::kbps(300)))
        .build(begin);
    let mut viewer = Rtc::builder().set_rtp_mode(true).build(begin);
    sender.add_local_candidate(Candidate::host(addresses[0], "udp").unwrap());
    viewer.add_local_candidate(Candidate::host(addresses[1], "udp").unwrap());
    let mut change = sender.sdp_api();
    let mid = change.add_media(MediaKind::Video, Direction::SendOnly, None, None, None);
    let (offer, pending) = change.apply().unwrap();
    let answer = viewer.sdp_api().accept_offer(offer).unwrap();
    sender.sdp_api().accept_answer(pending, answer).unwrap();
    sender.bwe().set_bitrate(Bitrate::ZERO, Bitrate::mbps(8));
    let pt = sender.codec_config().find(|p| p.spec().codec == Codec::Vp8).unwrap().pt();

    let mut peers = [Peer::new(sender, begin), Peer::new(viewer, begin)];
    let mut frame_at = begin + Duration::from_secs(1);
    let (mut number, mut octets, mut free) = (0u64, 0.0, begin);
    let (mut reset, mut found) = (false, [f64::NAN; 2]);
    loop {
        let (mut now, mut what) = (frame_at, None);
        for (index, peer) in peers.iter().enumerate() {
            let arrival = peer.inbox.front().map(|(at, _)| (*at, true));
            for (at, arrives) in arrival.into_iter().chain([(peer.due, false)]) {
                if at < now {
                    (now, what) = (at, Some((index, arrives)));
                }
            }
        }
        let at = (now - begin).as_secs_f64();
        let capacity = if at < 20.0 { 300e3 } else { 20e6 };
        if at >= 21.5 && !reset {
            reset = true;
            peers[0].rtc.bwe().reset(Bitrate::kbps(300));
        }
        if reset {
            for (found, rate) in found.iter_mut().zip([peers[0].new, peers[0].reported]) {
                if found.is_nan() && rate >= HIGH {
                    *found = at - 21.5;
                }
            }
        }
        if at > 30.0 {
            return found;
        }
        let index = what.map_or(0, |(index, _)| index);
        let peer = &mut peers[index];
        match what {
            Some((_, true)) => {
                let (_, datagram) = peer.inbox.pop_front().unwrap();
                let Datagram { source, destination, content } = datagram;
                let contents = content.as_slice().try_into().unwrap();
                let receive = Receive { proto: Protocol::Udp, source, destination, contents };
                peer.rtc.handle_input(Input::Receive(now, receive)).unwrap();
            }
            Some((_, false)) => peer.rtc.handle_input(Input::Timeout(now)).unwrap(),
            None => {
                frame_at += FRAME;
                if peer.rtc.is_connected() {
                    let rate = if at < fills_until { 0.9 * peer.reported } else { 0.2e6 };
                    octets += rate * FRAME.as_secs_f64() / 8.0;
                }
                let time = ((now - begin).as_micros() * 9 / 100) as u32;
                while octets >= PAYLOAD as f64 {
                    octets -= PAYLOAD as f64;
                    number += 1;
                    let packet = RtpWrite::new(pt, number.into(), time, now, vec![0; PAYLOAD]);
                    peer.rtc.direct_api().stream_tx_by_mid(mid, None).unwrap().write_rtp(packet);
                }
            }
        }
        for datagram in peers[index].drain() {
            let mut arrives = now + ONE_WAY;
            if index == 0 {
                free = free.max(now);
                if free - now > QUEUE {
                    continue;
                }
                free += Duration::from_secs_f64(datagram.content.len() as f64 * 8.0 / capacity);
                arrives = free + ONE_WAY;
            }
            peers[1 - index].inbox.push_back((arrives, datagram));
        }
    }
}

fn main() {
    for fills_until in [21.5, 16.0] {
        let [new, reported] = run(fills_until);
        println!("{fills_until} {new:.2} {reported:.2}");
    }
}
RUST

export CARGO_TARGET_DIR=$work/target
timeout 1500 cargo build -q --manifest-path "$work/Cargo.toml" >"$work/log" 2>&1 ||
    { tail -5 "$work/log" >&2; unable "it could not be built"; }
timeout 120 "$work/target/debug/reset-mean" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"

changed=0
while read -r until new reported; do
    echo "filled until $until s: above 2 Mb/s after $new s in the statistics, $reported s in the event"
    echo "$new $reported" | awk '{ exit !($1 < 0.5 && $2 > $1 + 0.5 && $2 < 4) }' || changed=1
done <"$work/seen"
[ "$(wc -l <"$work/seen")" = 2 ] || changed=1

if [ $changed = 0 ]; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
