//! Reports of two stations control their rates: `cargo run -p airbound-senders --example allocated_rates`.
//!
//! The simplified air serves one station after the other: each frame takes a fixed overhead and its packets at the
//! station's PHY rate, and holds all packets that arrived since the station's last frame.
#![allow(clippy::print_stdout, reason = "a program that prints")]

use airbound_senders::allocation::{
    AllocationConfig, FrameSensor, Observation, RateAllocator, ReceiverId, Stamps,
};
use airbound_units::{BitRate, ByteCount, Instant, Span};

const PHY: [BitRate; 2] = [BitRate::from_mbps(390), BitRate::from_mbps(130)];
const PACKET: ByteCount = ByteCount::new(1500);
const OVERHEAD: Span = Span::from_micros(250);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = AllocationConfig::default();
    let mut sensors =
        [FrameSensor::new(config.sensor(Stamps::Exact))?, FrameSensor::new(config.sensor(Stamps::Exact))?];
    let mut allocator = RateAllocator::new(config)?;
    for station in 0..2 {
        allocator.join(Instant::ZERO, ReceiverId(station));
    }
    // For each station: queued payload in bits, number of the next packet, and time of the last count of arrivals.
    let mut queues = [(0.0, 0u64, Instant::ZERO); 2];
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + Span::from_secs(10) {
        for (station, sensor) in sensors.iter_mut().enumerate() {
            let id = ReceiverId(station as u16);
            let (waiting, sequence, counted) = &mut queues[station];
            *waiting += allocator.rate(id).as_bps() as f64 * (now - *counted).as_secs_f64();
            *counted = now;
            let packets = ((*waiting / PACKET.bits() as f64) as u64).min(64);
            *waiting -= (packets * PACKET.bits()) as f64;
            now += OVERHEAD + PHY[station].time_for(PACKET * packets);
            for _ in 0..packets {
                let rate = Some(PHY[station]);
                sensor.on_packet(&Observation {
                    at: now,
                    sequence: *sequence,
                    packets: 1,
                    payload: PACKET,
                    rate,
                });
                *sequence += 1;
            }
            if let Some(report) = sensor.on_deadline(now) {
                allocator.on_report(now, id, &report);
            }
        }
        if allocator.next_deadline().is_some_and(|at| at <= now) && allocator.on_deadline(now) {
            for one in allocator.allocations() {
                let level = one.level.unwrap_or(0.0);
                println!("{now}: station {}: {}, level {level:.1}", one.receiver.0, one.rate);
            }
        }
    }
    Ok(())
}
