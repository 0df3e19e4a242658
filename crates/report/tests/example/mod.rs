//! Synthetic runs: each scheme has its own latency, each seed its own noise.

#![allow(dead_code, unreachable_pub)]

use std::collections::BTreeMap;
use std::path::Path;

use airbound_record::{
    AirSummary, DemandSummary, Direction, Encoding, Existing, Fate, FlowLatency, FlowSummary, Jain,
    LatencyHistogram, PacketCounts, PacketRow, Performance, Recorder, Resolution, RunFolder, RunInfo, Scheme,
    SeriesRow, Split, StationSummary, Summary, Tables,
};
use airbound_report::Run;
use airbound_units::{ByteCount, Instant, Span};

pub const FLOWS: [&str; 3] = ["vr", "bulk <1>", "voip"];
const PACKETS: u64 = 12_000;
const WINDOWS: u64 = 200;

fn noise(number: u64) -> f64 {
    let mixed = number.wrapping_add(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 33) as f64 / 2_147_483_648.0
}

pub fn info(scheme: &str, seed: u64) -> RunInfo {
    RunInfo {
        scenario: "vr-congested".to_owned(),
        scheme: scheme.to_owned(),
        seed,
        flows: FLOWS.map(str::to_owned).to_vec(),
        stations: vec!["headset".to_owned(), "laptop".to_owned()],
        transmitters: vec!["ap".to_owned(), "headset".to_owned(), "laptop".to_owned()],
        drop_reasons: vec!["overlimit".to_owned(), "codel".to_owned()],
    }
}

/// A packet whose queueing takes `scale` ms on average, with a long tail.
pub fn packet(number: u64, flow: u32, scale: f64, seed: u64) -> PacketRow {
    let draw = |k: u64| noise(number * 31 + u64::from(flow) * 7 + seed * 1_000_003 + k).max(1e-9);
    let sent = Instant::from_nanos(number * 1_600_000);
    let after = |instant: Instant, ms: f64| instant + Span::from_secs_f64(ms / 1e3);
    let enqueued = after(sent, 2.0);
    let contending = after(enqueued, -scale * draw(1).ln());
    let first_tx = after(contending, 0.8 * draw(2));
    let tries = if draw(3) < 0.1 { 2 } else { 1 };
    let last_tx = after(first_tx, if tries > 1 { 2.5 } else { 0.0 });
    let received = after(last_tx, 1.2);
    let delivered = after(received, if draw(4) < 0.1 { 3.0 * draw(5) } else { 0.0 });
    PacketRow {
        packet: number * 3 + u64::from(flow),
        flow,
        station: u16::from(flow == 1),
        category: 1,
        size: ByteCount::new(1500),
        sent,
        enqueued,
        contending,
        first_tx,
        last_tx,
        received,
        delivered,
        arrived: delivered,
        completed: received,
        fate: Fate::Delivered,
        tries,
        txop: number + 1,
    }
}

pub fn write(path: &Path, scheme: &str, scale: f64, seed: u64, tables: Tables) -> RunFolder {
    let folder = RunFolder::create(path, Existing::Replace).unwrap();
    let mut recorder = Recorder::create(folder, &info(scheme, seed), tables, Encoding::Inline).unwrap();
    let mut flows = Vec::new();
    for (flow, name) in (0..).zip(FLOWS) {
        let scale = scale * [1.0, 2.5, 0.4][flow as usize];
        let mut latency = FlowLatency::new();
        let mut window = LatencyHistogram::new(Resolution::Coarse);
        for number in 0..PACKETS {
            let row = packet(number, flow, scale, seed);
            let split = Split::of(&row).unwrap();
            latency.record(&split);
            window.record(split.latency());
            recorder.packet(row);
            if flow == 0 && number.is_multiple_of(50) {
                latency.record_frame(split.latency() * 3);
            }
            if number.is_multiple_of(PACKETS / WINDOWS) {
                let index = number / (PACKETS / WINDOWS);
                let silent = flow == 0 && (60..70).contains(&index);
                let stats = window.stats();
                recorder.series(SeriesRow {
                    window_start: Instant::from_nanos(index * 100_000_000),
                    flow,
                    offered_mbps: 45.0,
                    goodput_mbps: if silent { 0.0 } else { 40.0 + 5.0 * noise(index + seed) - scale / 8.0 },
                    latency_p50_ms: stats.p50.filter(|_| !silent),
                    latency_p95_ms: stats.p95.filter(|_| !silent),
                    latency_max_ms: stats.max.filter(|_| !silent),
                    dropped: 0,
                    queue_packets: (scale * 10.0 * noise(index)) as u64,
                    phy_rate_mbps: Some(162.0),
                    airtime_share: 0.3,
                });
                window.clear();
            }
        }
        latency.rows(flow).for_each(|row| recorder.distribution(row));
        flows.push(FlowSummary {
            name: name.to_owned(),
            kind: ["vr", "tcp", "voip"][flow as usize].to_owned(),
            station: ["headset", "laptop", "headset"][flow as usize].to_owned(),
            direction: Direction::Downlink,
            offered_mbps: 45.0,
            goodput_mbps: 44.0 - scale / 8.0 + noise(seed),
            latency_ms: latency.latency().stats(),
            rtt_ms: None,
            rpm: None,
            loss_rate: Some(0.01 * noise(seed + 1)),
            packets: PacketCounts { sent: PACKETS, delivered: PACKETS - 12, dropped: 7, queued: 5 },
            drops: BTreeMap::from([("codel".to_owned(), 4), ("overlimit".to_owned(), 3)]),
            fps: (flow == 0).then_some(29.5),
            frame_latency_ms: latency.frames().map(LatencyHistogram::stats),
            stall_rate: (flow == 0).then_some(0.01),
            demand: (flow == 0).then(|| DemandSummary {
                latency_ms: 20.0,
                percentile: 95.0,
                measured_ms: latency.latency().stats().p95,
                met_share: Some(0.9),
            }),
            rtc: None,
            found: None,
        });
    }
    let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_mbps).collect();
    let station = |name: &str, share| StationSummary {
        name: name.to_owned(),
        airtime_share: share,
        mean_ampdu: Some(17.5),
        retry_rate: Some(0.08),
        mean_phy_rate_mbps: Some(162.0),
    };
    let summary = Summary {
        airbound: "0.1.0".to_owned(),
        scenario: "vr-congested".to_owned(),
        scheme: Scheme {
            queue: scheme.to_owned(),
            rate: "minstrel-ht".to_owned(),
            sender: Some("cubic".to_owned()),
            session: None,
        },
        seed,
        duration_s: 19.2,
        flows,
        stations: vec![station("headset", 0.4), station("laptop", 0.5)],
        air: AirSummary { busy_share: 0.93, collision_rate: Some(0.02) },
        jain: Jain { goodput: Jain::index(&goodputs), airtime: Some(0.98) },
        session: None,
        networks: Vec::new(),
        emulation: None,
    };
    let performance =
        Performance { events: 100, wall_s: 0.5, simulated_s_per_wall_s: 40.0, peak_rss_mb: Some(20.0) };
    recorder.finish("name = \"vr-congested\" # <script>\n", &summary, &performance).unwrap()
}

/// Four schemes with two seeds each.
pub fn runs() -> Vec<(String, Run)> {
    let dir = tempfile::tempdir().unwrap();
    let mut runs = Vec::new();
    for (scheme, scale) in [("fifo", 60.0), ("codel", 12.0), ("pie", 15.0), ("linux", 8.0)] {
        for seed in 1..=2 {
            let path = dir.path().join(format!("{scheme}-{seed}"));
            let run = Run::load(&write(&path, scheme, scale, seed, Tables::SMALL)).unwrap();
            runs.push((run.scheme(), run));
        }
    }
    runs
}
