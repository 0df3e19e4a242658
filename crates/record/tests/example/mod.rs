//! A synthetic run with every kind of value.

#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;

use airbound_record::{
    AirSummary, DemandSummary, Direction, Fate, FlowSummary, FrameCounts, FrameFate, FrameRow, HopRow, Jain,
    LatencyStats, PacketCounts, PacketRow, PacketWay, Performance, RtcSummary, RunInfo, Scheme, SenderRow,
    SentRates, SeriesRow, StationSummary, Summary, TxopKind, TxopRow,
};
use airbound_units::{BitRate, ByteCount, Instant, Span};

pub fn info() -> RunInfo {
    RunInfo {
        scenario: "vr-congested".to_owned(),
        scheme: "linux".to_owned(),
        seed: 7,
        flows: vec!["vr".to_owned(), "bulk \"1\"".to_owned()],
        stations: vec!["headset".to_owned()],
        transmitters: vec!["ap".to_owned(), "headset".to_owned()],
        drop_reasons: vec!["overlimit".to_owned(), "codel".to_owned(), "retry_limit".to_owned()],
    }
}

/// A pseudo-random number.
fn scramble(number: u64) -> u64 {
    let mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (mixed ^ (mixed >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 32
}

pub fn packet(number: u64) -> PacketRow {
    let noise = scramble(number);
    let sent = 25_000 * number;
    let at = |offset: u64| Instant::from_nanos(sent + offset);
    let never = Instant::MAX;
    let row = PacketRow {
        packet: number,
        flow: u32::from(number.is_multiple_of(3)),
        station: (number % 2) as u16,
        category: 1,
        size: ByteCount::new(1500),
        sent: at(0),
        enqueued: at(10_000_000),
        contending: at(12_000_000 + noise % 4_000_000),
        first_tx: at(16_100_000 + noise % 90_000),
        last_tx: at(16_200_000 + noise % 90_000),
        received: at(17_000_000),
        delivered: at(17_000_000 + noise % 5_000),
        arrived: at(17_000_000 + noise % 5_000),
        completed: at(17_032_000),
        fate: Fate::Delivered,
        tries: 1 + (noise % 3) as u8,
        txop: number / 32,
    };
    let unsent = PacketRow {
        contending: never,
        first_tx: never,
        last_tx: never,
        received: never,
        delivered: never,
        arrived: never,
        completed: never,
        tries: 0,
        txop: 0,
        ..row
    };
    match noise % 100 {
        0 => PacketRow { fate: Fate::Dropped((noise % 3) as u8), ..unsent },
        1 => PacketRow { fate: Fate::Queued, enqueued: never, ..unsent },
        2 => PacketRow { fate: Fate::Dropped(253), size: ByteCount::new(u64::from(u32::MAX)), ..unsent },
        _ => row,
    }
}

/// The hop of a packet to its relay of number `relay`.
pub fn hop(packet: u64, relay: u64) -> HopRow {
    let enqueued = 25_000 * packet + 1_000_000 * relay;
    let at = |offset: u64| Instant::from_nanos(enqueued + offset);
    let noise = scramble(packet) % 1000;
    HopRow {
        packet,
        transmitter: relay as u16,
        receiver: relay as u16 + 1,
        enqueued: at(0),
        contending: at(1000 + noise),
        first_tx: at(3000 + noise),
        last_tx: at(5000 + noise),
        received: at(900_000),
        delivered: at(900_000 + noise),
        completed: at(944_000),
        tries: 1 + (noise % 3) as u8,
        txop: packet / 32,
    }
}

pub fn sender(number: u64) -> SenderRow {
    SenderRow {
        flow: (number % 3) as u32,
        at: Instant::from_nanos(400_000 * number),
        rtt: (!number.is_multiple_of(4)).then(|| Span::from_micros(number)),
        smoothed_rtt: Some(Span::from_micros(number / 2)),
        cwnd: Some(ByteCount::new(1448 * number)),
        ssthresh: None,
        in_flight: number.is_multiple_of(2).then_some(7),
        rate: number.is_multiple_of(5).then(|| BitRate::from_kbps(number)),
    }
}

pub fn txop(number: u64) -> TxopRow {
    let start = 400_000 * number;
    TxopRow {
        txop: number + 1,
        transmitter: (number % 7) as u16,
        receiver: u16::MAX,
        category: (number % 4) as u8,
        kind: [TxopKind::Data, TxopKind::Neighbour, TxopKind::Management][(number % 3) as usize],
        contending: Instant::from_nanos(start),
        start: Instant::from_nanos(start + 43_000),
        end: Instant::from_nanos(start + 399_000),
        rate: BitRate::from_kbps(780_000),
        mpdus: 64,
        acked: (number % 65) as u16,
        size: ByteCount::new(98_304),
        collided: number.is_multiple_of(5),
    }
}

pub fn frame(number: u64) -> FrameRow {
    let created = 33_333_333 * number;
    let fates =
        [FrameFate::Delivered, FrameFate::Late, FrameFate::Skipped, FrameFate::Lost, FrameFate::Unfinished];
    let fate = fates[(number % 5) as usize];
    let reached = |offset: u64, fates: &[FrameFate]| {
        if fates.contains(&fate) { Instant::from_nanos(created + offset) } else { Instant::MAX }
    };
    FrameRow {
        flow: 0,
        frame: number,
        created: Instant::from_nanos(created),
        first_packet: reached(1_000, &[FrameFate::Delivered, FrameFate::Late, FrameFate::Lost]),
        delivered: reached(9_000_000, &[FrameFate::Delivered, FrameFate::Late]),
        size: ByteCount::new(187_500),
        fate,
        // Every other frame is of real-time video.
        complete: if number.is_multiple_of(2) {
            reached(8_000_000, &[FrameFate::Late])
        } else {
            Instant::MAX
        },
        key: number.is_multiple_of(2).then_some(number.is_multiple_of(4)),
        packets: number.is_multiple_of(2).then_some(36),
        lost: number.is_multiple_of(2).then_some((number % 7) as u32),
        recovered: number.is_multiple_of(2).then_some((number % 3) as u32),
        retransmitted: number.is_multiple_of(2).then_some(u32::MAX),
        completed_by: [
            None,
            Some(PacketWay::FirstTime),
            Some(PacketWay::Recovered),
            Some(PacketWay::Retransmitted),
        ][(number % 4) as usize],
    }
}

pub fn series(number: u64) -> SeriesRow {
    let empty = number.is_multiple_of(4);
    SeriesRow {
        window_start: Instant::from_nanos(100_000_000 * (number / 2)),
        flow: (number % 2) as u32,
        offered_mbps: 45.0,
        goodput_mbps: if empty { 0.0 } else { 44.25 },
        latency_p50_ms: (!empty).then_some(8.5),
        latency_p95_ms: (!empty).then_some(19.87),
        latency_max_ms: (!empty).then_some(40.0),
        dropped: number % 3,
        queue_packets: number % 1000,
        phy_rate_mbps: (!empty).then_some(162.0),
        airtime_share: 0.31,
    }
}

pub fn summary() -> Summary {
    let latency = LatencyStats {
        p50: Some(8.5),
        p90: Some(17.25),
        p95: Some(19.87),
        p99: Some(31.0),
        p999: Some(40.125),
        p9999: Some(44.0),
        mean: Some(9.0),
        max: Some(45.5),
    };
    Summary {
        airbound: "0.1.0".to_owned(),
        scenario: "vr-congested".to_owned(),
        scheme: Scheme {
            queue: "fq-codel-airtime".to_owned(),
            rate: "minstrel-ht".to_owned(),
            sender: Some("cubic".to_owned()),
            session: None,
        },
        seed: 7,
        duration_s: 20.0,
        flows: vec![
            FlowSummary {
                name: "vr".to_owned(),
                kind: "vr".to_owned(),
                station: "headset".to_owned(),
                direction: Direction::Downlink,
                offered_mbps: 45.0,
                goodput_mbps: 44.25,
                latency_ms: latency,
                rtt_ms: None,
                rpm: None,
                loss_rate: Some(0.0125),
                packets: PacketCounts { sent: 100, delivered: 79, dropped: 1, queued: 20 },
                drops: BTreeMap::from([("codel".to_owned(), 1)]),
                fps: Some(29.95),
                frame_latency_ms: Some(latency),
                stall_rate: Some(0.0),
                rtc: Some(RtcSummary {
                    bitrate_mbps: 10.0,
                    allowed_mbps: 12.5,
                    deadline_ms: 100.0,
                    deadline_miss_rate: Some(0.0125),
                    frames: FrameCounts {
                        created: 9,
                        delivered: 5,
                        late: 1,
                        lost: 2,
                        skipped: 1,
                        unfinished: 1,
                    },
                    frames_lossy_share: Some(0.5),
                    frames_over_20pct_loss_share: None,
                    frames_retransmitted_share: Some(0.25),
                    first_time_frame_latency_ms: latency,
                    packets_recovered: 7,
                    packets_retransmitted: 3,
                    key_frame_requests: 1,
                    sent_mbps: SentRates {
                        media: 10.5,
                        fec: 1.25,
                        retransmission: 0.5,
                        padding: 0.0,
                        feedback: 0.0625,
                    },
                }),
                demand: Some(DemandSummary {
                    latency_ms: 20.0,
                    percentile: 95.0,
                    measured_ms: Some(17.25),
                    met_share: Some(0.95),
                }),
                found: None,
            },
            FlowSummary {
                name: "bulk \"1\"".to_owned(),
                kind: "tcp".to_owned(),
                station: "headset".to_owned(),
                direction: Direction::Uplink,
                offered_mbps: 0.0,
                goodput_mbps: 0.0,
                latency_ms: LatencyStats::default(),
                rtt_ms: Some(LatencyStats { p50: Some(12.5), ..LatencyStats::default() }),
                rpm: Some(4800.0),
                loss_rate: None,
                packets: PacketCounts::default(),
                drops: BTreeMap::new(),
                fps: None,
                frame_latency_ms: None,
                stall_rate: None,
                rtc: None,
                demand: None,
                found: None,
            },
        ],
        stations: vec![StationSummary {
            name: "headset".to_owned(),
            airtime_share: 0.5,
            mean_ampdu: Some(20.75),
            retry_rate: Some(0.0625),
            mean_phy_rate_mbps: None,
        }],
        air: AirSummary { busy_share: 0.75, collision_rate: Some(0.001) },
        jain: Jain { goodput: Jain::index(&[44.25, 0.0]), airtime: None },
        session: None,
        networks: Vec::new(),
        emulation: None,
    }
}

pub fn performance() -> Performance {
    Performance { events: 123_456, wall_s: 0.25, simulated_s_per_wall_s: 80.0, peak_rss_mb: None }
}
