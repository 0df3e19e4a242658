//! Sensing from captured frames: radiotap headers to aggregates to reports.

use airbound_linux::radiotap::captured;
use airbound_relay::protocol::{Monitor, Ppdu};
use airbound_senders::allocation::{FrameSensor, SensorConfig};
use airbound_units::{BitRate, Instant, Span};

/// The radiotap header and the frame of an MPDU to a station with 1470 B of data: 80 MHz, MCS 7, three streams, long guard interval.
fn mpdu(micros: u64, sequence: u64) -> Vec<u8> {
    let mut bytes = vec![0, 0, 30, 0, 0x01, 0, 0x20, 0];
    bytes.extend(micros.to_le_bytes());
    bytes.extend([0x44, 0, 0, 4, 0x73, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend([0x88, 0x02, 0, 0, 2, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1]);
    bytes.extend((((sequence % 4096) << 4) as u16).to_le_bytes());
    bytes.extend([0, 0]);
    bytes.extend([0; 1470]);
    bytes
}

#[test]
fn the_level_and_the_rate_are_those_of_the_captured_aggregates() {
    let mut sensor = FrameSensor::new(SensorConfig::default()).expect("a configuration");
    let mut monitor = Monitor::default();
    // Frames of 24 and 40 in turn, each 1 ms, over the end of the sequence numbers. The second loses its first two MPDUs, which come again
    // in the third.
    let mut sequence = 4000;
    for number in 0..600_u64 {
        let count = if number % 2 == 0 { 24 } else { 40 };
        let lost = if number == 1 { 2 } else { 0 };
        let again: Vec<u64> = if number == 2 { vec![4024, 4025] } else { Vec::new() };
        for mpdu_number in again.into_iter().chain(sequence + lost..sequence + count) {
            let bytes = mpdu(1_000_000 + 1000 * number, mpdu_number);
            let found = captured(&bytes).expect("a data frame");
            let at = found.at.expect("a time");
            let ppdu = Some(Ppdu::At(at));
            sensor.on_packet(&monitor.observe(at, ppdu, found.sequence, found.payload, found.rate));
        }
        sequence += count;
    }
    let end = Instant::ZERO + Span::from_millis(1600);
    let report = sensor.on_deadline(end).expect("a report");
    let level = f64::from(report.transmissions) / f64::from(report.frames);
    assert!((level - 32.0).abs() < 0.1, "{level}");
    assert_eq!((report.retransmitted, report.missing), (2, 0));
    // 234 subcarriers of 6 bits at 5/6 in 4 us, three times.
    assert_eq!(
        report.phy_rate.map(|rate| (rate.as_bps() + 500_000) / 1_000_000 * 1_000_000),
        Some(878_000_000)
    );
    assert!(report.phy_rate > Some(BitRate::from_mbps(877)));
}
