//! A queue and a link driven step by step: packets in, PPDUs out, reports back.
//!
//! Run with `cargo run -p airbound-control --example queue_and_link`.
#![allow(clippy::print_stdout, reason = "a program that prints")]

use airbound_control::frame::{FlowId, PlainPacket, StationId, TxReport};
use airbound_control::link::{Composed, Link, LinkConfig, Returned, Room};
use airbound_control::queue::{AnyQueue, QueueConfig};
use airbound_control::rate::{Capabilities, RateConfig};
use airbound_units::{Instant, Span};
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::edca::Category;
use airbound_wifi::timing::PpduTiming;

type Packets = AnyQueue<PlainPacket>;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The scheme: Linux's own queueing and Minstrel-HT, without a driver's queue below.
    let queue: Packets = QueueConfig::default().build(1)?;
    let rate = RateConfig::default().build(&Capabilities::default(), 1)?;
    let mut link = Composed::<_, _, Packets, _>::new(queue, None, rate, LinkConfig::default());

    let mut now = Instant::ZERO;
    let mut dropped = Vec::new();
    for number in 0..100 {
        let station = StationId(number as u16 % 2);
        let packet = PlainPacket { number, ..PlainPacket::new(station, FlowId(u32::from(station.0))) };
        link.enqueue(now, packet, &mut dropped);
    }

    // The environment: each PPDU takes its airtime, and every tenth MPDU is lost.
    let room = Room { category: Category::Be, max_duration: Span::from_millis(4) };
    let mut sent = 0;
    while let Some(descriptor) = link.next(now, room, &mut dropped) {
        let handed = now;
        let rate = descriptor.chain.first_rate();
        let airtime = PpduTiming::new(rate).duration(descriptor.psdu);
        now += airtime;
        let mut acknowledged = AckBitmap::NONE;
        for place in 0..descriptor.mpdus.len() {
            sent += 1;
            if sent % 10 != 0 {
                acknowledged.set(place);
            }
        }
        println!(
            "{:>8} station {} {:>2} MPDUs at {}, {} acknowledged",
            now.to_string(),
            descriptor.station.0,
            descriptor.mpdus.len(),
            rate.bit_rate(),
            acknowledged.count(),
        );
        let report = TxReport {
            used: descriptor.chain.used(1),
            handed,
            started: Some(handed),
            ended: now,
            airtime: Some(airtime),
            acknowledged,
            boundaries_known: true,
            descriptor,
        };
        link.on_report(now, report, &mut Returned::default());
    }
    println!("{} packets dropped, {} left", dropped.len(), link.backlog().packets);
    Ok(())
}
