//! The summary of a record.

use std::collections::BTreeMap;

use airbound_record::{
    AirSummary, FlowSummary, Jain, LatencyHistogram, Scheme, StationSummary, Summary, TxopKind,
};
use airbound_scenario::{Direction, Traffic};
use airbound_units::Instant;

use super::{Measurements, is_stream};

impl Measurements<'_> {
    /// The summary of the run.
    pub(super) fn summary(&self, name: &str) -> Summary {
        let scenario = self.scenario;
        let seconds = scenario.duration.as_secs_f64();
        let mbps = |bytes: u64| bytes as f64 * 8.0 / seconds / 1e6;
        let flows: Vec<FlowSummary> = scenario
            .flows
            .iter()
            .zip(&self.flows)
            .map(|(flow, entry)| FlowSummary {
                name: flow.name.clone(),
                kind: kind_of(&flow.traffic).to_owned(),
                station: flow.station.clone(),
                direction: match flow.direction {
                    Direction::Down => airbound_record::Direction::Downlink,
                    Direction::Up => airbound_record::Direction::Uplink,
                },
                offered_mbps: mbps(entry.offered),
                goodput_mbps: mbps(entry.goodput),
                latency_ms: entry.latency.latency().stats(),
                rtt_ms: entry.latency.round_trips().map(LatencyHistogram::stats),
                rpm: entry.latency.round_trips().and_then(LatencyHistogram::round_trips_per_minute),
                loss_rate: match entry.counts.delivered + entry.counts.dropped {
                    0 => None,
                    settled => Some(entry.counts.dropped as f64 / settled as f64),
                },
                packets: entry.counts,
                drops: entry.drops.clone(),
                fps: entry.frames.as_ref().map(|frames| frames.delivered as f64 / seconds),
                frame_latency_ms: entry.frames.as_ref().map(|frames| frames.latency.stats()),
                stall_rate: entry
                    .frames
                    .as_ref()
                    .map(|frames| frames.missed as f64 / frames.all.max(1) as f64),
                rtc: None,
                demand: None,
                found: None,
            })
            .collect();
        let stations: Vec<StationSummary> = scenario
            .stations
            .iter()
            .zip(1u16..)
            .map(|(station, number)| self.station(&station.name, number))
            .collect();
        let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_mbps).collect();
        let airtimes: Vec<f64> = stations
            .iter()
            .filter(|station| flows.iter().any(|flow| flow.station == station.name))
            .map(|station| station.airtime_share)
            .collect();
        let is_tcp = (0..scenario.flows.len()).any(|number| is_stream(scenario, number));
        Summary {
            airbound: env!("CARGO_PKG_VERSION").to_owned(),
            scenario: name.to_owned(),
            scheme: Scheme {
                queue: scenario.scheme.queue.name().to_owned(),
                rate: scenario.scheme.rate.kind().to_owned(),
                sender: is_tcp.then(|| scenario.scheme.sender.kind().to_owned()),
                session: None,
            },
            seed: scenario.seed,
            duration_s: seconds,
            jain: Jain { goodput: Jain::index(&goodputs), airtime: Jain::index(&airtimes) },
            networks: Vec::new(),
            emulation: None,
            air: AirSummary {
                busy_share: self.busy.as_secs_f64() / seconds,
                collision_rate: (self.attempts > 0).then(|| self.collided as f64 / self.attempts as f64),
            },
            flows,
            stations,
            session: None,
        }
    }

    fn station(&self, name: &str, number: u16) -> StationSummary {
        let (mut airtime, mut ppdus, mut mpdus, mut acked, mut rates) = (0.0, 0u64, 0u64, 0u64, 0.0);
        let measured = self.txops.iter().filter(|row| row.start >= self.from() && row.kind == TxopKind::Data);
        // Colliding exchanges by start time.
        let mut together: BTreeMap<Instant, u64> = BTreeMap::new();
        for row in self.txops.iter().filter(|row| row.collided) {
            *together.entry(row.start).or_default() += 1;
        }
        for row in measured.filter(|row| row.transmitter.max(row.receiver) == number) {
            let share = if row.collided { together.get(&row.start).copied().unwrap_or(1) } else { 1 };
            airtime += row.end.since(row.start).as_secs_f64() / share.max(1) as f64;
            if row.transmitter == 0 {
                ppdus += 1;
                mpdus += u64::from(row.mpdus);
                acked += u64::from(row.acked);
                rates += f64::from(row.mpdus) * row.rate.as_mbps_f64();
            }
        }
        let over = |sum: f64, of: u64| (of > 0).then(|| sum / of as f64);
        StationSummary {
            name: name.to_owned(),
            airtime_share: airtime / self.scenario.duration.as_secs_f64(),
            mean_ampdu: over(mpdus as f64, ppdus),
            retry_rate: over((mpdus - acked) as f64, mpdus),
            mean_phy_rate_mbps: over(rates, mpdus),
        }
    }
}

const fn kind_of(traffic: &Traffic) -> &'static str {
    match traffic {
        Traffic::Cbr(_) => "cbr",
        Traffic::Poisson(_) => "poisson",
        Traffic::Voip => "voip",
        Traffic::Tcp(_) => "tcp",
        Traffic::TcpShort(_) => "tcp-short",
        Traffic::Vr(_) => "vr",
        Traffic::Rtc(_) => "rtc",
        Traffic::Replay(_) => "replay",
        Traffic::Paced(_) => "paced",
    }
}
