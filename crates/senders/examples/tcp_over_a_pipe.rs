//! Two ends of TCP over a bottleneck: `cargo run -p airbound-senders --example tcp_over_a_pipe -- cubic|reno|bbr`.
#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::collections::VecDeque;

use airbound_senders::congestion::Congestion;
use airbound_senders::tcp::{Ack, Backlog, Segment, TcpConfig, TcpReceiver, TcpSender};
use airbound_units::{BitRate, Instant, Span};

/// The rate of the bottleneck, and the delay after it and back.
const RATE: BitRate = BitRate::from_mbps(10);
const DELAY: Span = Span::from_millis(20);
/// Limit of packets before the bottleneck.
const BUFFER: usize = 100;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let congestion = match std::env::args().nth(1).as_deref() {
        None | Some("cubic") => Congestion::Cubic,
        Some("reno") => Congestion::Reno,
        Some("bbr") => Congestion::Bbr,
        Some(other) => return Err(format!("{other} is no congestion control: cubic, reno or bbr").into()),
    };
    let config = TcpConfig { congestion, ..TcpConfig::default() };
    let mut receiver = TcpReceiver::new(&config)?;
    let mut sender = TcpSender::new(config)?;
    // Packets in transit, with their arrival times.
    let mut segments: VecDeque<(Instant, Segment)> = VecDeque::new();
    let mut acks: VecDeque<(Instant, Ack)> = VecDeque::new();
    let (mut now, mut free, mut dropped) = (Instant::ZERO, Instant::ZERO, 0);
    let mut next_line = Instant::ZERO + Span::from_secs(1);

    sender.write(now, Backlog::Unlimited);
    while now < Instant::ZERO + Span::from_secs(10) {
        // First all due arrivals, then their consequences.
        while let Some(segment) = due(&mut segments, now) {
            let ack = receiver.on_segment(now, segment.seq, segment.len, segment.sent);
            acks.extend(ack.map(|ack| (now + DELAY, ack)));
        }
        if receiver.next_deadline().is_some_and(|at| at <= now) {
            acks.extend(receiver.on_deadline(now).map(|ack| (now + DELAY, ack)));
        }
        while let Some(ack) = due(&mut acks, now) {
            sender.on_ack(now, &ack);
        }
        if sender.next_deadline().is_some_and(|at| at <= now) {
            sender.on_deadline(now);
        }
        while let Some(segment) = sender.poll_transmit(now) {
            let waiting = free.since(now).div_floor(RATE.time_for(segment.size()));
            if waiting as usize >= BUFFER {
                dropped += 1;
                continue;
            }
            free = free.max(now) + RATE.time_for(segment.size());
            segments.push_back((free + DELAY, segment));
        }
        if now >= next_line {
            let metrics = sender.metrics();
            println!("{now}: {} in order, window {}, {dropped} dropped", receiver.delivered(), metrics.cwnd);
            next_line = now + Span::from_secs(1);
        }
        // The next instant with an event.
        let timers = [sender.next_deadline(), receiver.next_deadline()];
        let arrivals = [segments.front().map(|(at, _)| *at), acks.front().map(|(at, _)| *at)];
        match timers.into_iter().chain(arrivals).flatten().min() {
            Some(at) => now = now.max(at),
            None => break,
        }
    }
    Ok(())
}

/// The first packet in transit, if it has arrived.
fn due<T>(under_way: &mut VecDeque<(Instant, T)>, now: Instant) -> Option<T> {
    under_way.front().filter(|(at, _)| *at <= now)?;
    under_way.pop_front().map(|(_, one)| one)
}
