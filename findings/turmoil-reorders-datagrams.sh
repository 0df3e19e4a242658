#!/usr/bin/env bash
# turmoil's network draws a latency for each datagram: half of a stream is overtaken, and a long tick undercuts the least latency.
#
# Versions: turmoil 0.7.2, tokio 1 (Rust registry).
#
# Input: a sender and a receiver in one simulation, in virtual time, with a fixed seed; datagrams of
# 100 octets, one each 5 ms (or 50 ms); latencies by turmoil's builder: its defaults (0 to 100 ms),
# 20 to 40 ms, and exactly 20 ms with ticks of 1 ms (the default) and of 10 ms.
#
# Expected: a link, on which delays vary and what was sent first arrives first, as on an access
# point's queue, on Wi-Fi with its reordering buffer, on Ethernet; and none below the least latency.
#
# Seen (ms):
#   latency           tick   one each   mean   p5   p50   p95   max   overtaken
#   0 to 100          1      5 ms       19.3   1    13    60    100   48 %
#   20 to 40          1      5 ms       23.5   20   22    32    40    13 %
#   20 to 40          1      50 ms      23.2   20   22    31    40    0
#   20                1      5 ms       20.0   20   20    20    20    0
#   20                10     5 ms       17.5   15   15    20    20    0
# 1. Latencies are independent draws from an exponential distribution over the range, and nothing
#    keeps a pair of hosts in order: of a stream each 5 ms every second datagram arrives behind one
#    that was sent later. Between 20 and 40 ms the mean is 23.5, not 30.
# 2. What is sent in the middle of a tick counts from the tick's end: with 10 ms it is there 15 ms
#    after it was sent, where the least latency is 20.
#
# Why it matters: protocols over UDP are tested over it. QUIC takes a packet for lost that three
# later ones have overtaken (RFC 9002, 6.1.1), so that such a test measures spurious
# retransmissions, which Wi-Fi, whose delays vary as much, does not cause.
#
# Needs: cargo and rustc (1.80 or later). 1 min, nearly all of it to compile (3 on a busy machine).
# Exit codes: 0 as described; 1 the behaviour has changed; 2 it could not be tried.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unable() { echo "cannot be tried: $1" >&2; exit 2; }
type cargo >"$work/log" 2>&1 || unable "no cargo"

mkdir "$work/src"
cat >"$work/Cargo.toml" <<'TOML'
[package]
name = "overtaken"
version = "0.0.0"
edition = "2021"

[dependencies]
turmoil = "=0.7.2"
tokio = { version = "1", features = ["net", "time"] }
TOML
cat >"$work/src/main.rs" <<'RUST'
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use turmoil::net::UdpSocket;

/// Microseconds of virtual time.
fn now() -> u64 {
    turmoil::sim_elapsed().map_or(0, |elapsed| elapsed.as_micros() as u64)
}

/// Prints mean, p5, p50, p95 and the largest latency in ms, and the share of datagrams that arrive behind a later one.
fn run(least: u64, most: u64, tick: u64, gap: u64, count: u32) {
    let millis = Duration::from_millis;
    let mut builder = turmoil::Builder::new();
    builder.rng_seed(1).simulation_duration(millis(200_000)).tick_duration(millis(tick));
    builder.min_message_latency(millis(least)).max_message_latency(millis(most));
    let mut simulation = builder.build();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let arrivals = seen.clone();
    simulation.client("receiver", async move {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 9000)).await?;
        let mut datagram = [0; 100];
        for _ in 0..count {
            socket.recv_from(&mut datagram).await?;
            let number = u32::from_be_bytes(datagram[..4].try_into()?);
            let sent = u64::from_be_bytes(datagram[4..12].try_into()?);
            arrivals.lock().unwrap().push((number, (now() - sent) as f64 / 1e3));
        }
        Ok(())
    });
    simulation.client("sender", async move {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 9001)).await?;
        tokio::time::sleep(millis(50)).await;
        for number in 0..count {
            let mut datagram = [0; 100];
            datagram[..4].copy_from_slice(&number.to_be_bytes());
            datagram[4..12].copy_from_slice(&now().to_be_bytes());
            socket.send_to(&datagram, ("receiver", 9000)).await?;
            tokio::time::sleep(millis(gap)).await;
        }
        Ok(())
    });
    simulation.run().expect("all datagrams arrive");
    let seen = seen.lock().unwrap();
    let mut latencies: Vec<f64> = seen.iter().map(|(_, latency)| *latency).collect();
    latencies.sort_by(f64::total_cmp);
    let (mut newest, mut overtaken) = (0, 0);
    for (number, _) in seen.iter() {
        overtaken += usize::from(*number < newest);
        newest = newest.max(*number);
    }
    let all = latencies.len();
    let mean = latencies.iter().sum::<f64>() / all as f64;
    let at = |share: usize| latencies[(all * share / 100).min(all - 1)];
    println!("{least} {most} {tick} {gap} {mean:.1} {} {} {} {} {}", at(5), at(50), at(95), at(100), 100 * overtaken / all);
}

fn main() {
    run(0, 100, 1, 5, 2000);
    run(20, 40, 1, 5, 2000);
    run(20, 40, 1, 50, 500);
    run(20, 20, 1, 5, 500);
    run(20, 20, 10, 5, 500);
}
RUST
(cd "$work" && CARGO_TARGET_DIR="$work/target" timeout 600 cargo build --quiet) >"$work/log" 2>&1 ||
    { tail -3 "$work/log" >&2; unable "it could not be built"; }
timeout 60 "$work/target/debug/overtaken" >"$work/seen" 2>"$work/log" || unable "$(tail -1 "$work/log")"

changed=0
while read -r least most tick gap mean p5 p50 p95 largest overtaken; do
    echo "$least to $most ms, tick $tick ms, one each $gap ms: mean $mean, p5 $p5, p50 $p50, p95 $p95, max $largest; $overtaken % overtaken"
    case "$least $most $tick $gap" in
        "0 100 1 5") ((overtaken >= 30)) || changed=1 ;;
        "20 40 1 5") ((overtaken >= 5)) && [[ $mean < 26 ]] || changed=1 ;;
        "20 40 1 50" | "20 20 1 5") ((overtaken == 0 && p5 == 20)) || changed=1 ;;
        "20 20 10 5") ((p5 < 20)) || changed=1 ;;
    esac
done <"$work/seen"
if [ $changed = 0 ]; then
    echo "as described"
else
    echo "the behaviour has changed" >&2
    exit 1
fi
