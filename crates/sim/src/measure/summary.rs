//! The summary of a run, computed from the meters.

use std::collections::{BTreeMap, BTreeSet};

use airbound_control::frame::{DropReason, StationId};
use airbound_record::{
    AirSummary, Direction, DistributionRow, FlowSummary, FoundSummary, Jain, LatencyStats, PacketCounts,
    StationSummary,
};
use airbound_units::{ByteCount, Instant, Span};

use super::{DemandMeter, FlowMeter, Meters};
use crate::flow;

/// Figures of the meters at the end of a run.
#[derive(Debug, Clone)]
pub(crate) struct Figures {
    pub(crate) flows: Vec<FlowSummary>,
    pub(crate) stations: Vec<StationSummary>,
    pub(crate) air: AirSummary,
    /// Number of collided transmissions, and of all.
    pub(crate) attempts: (u64, u64),
    pub(crate) jain: Jain,
    /// Latency from entering the queue to the acknowledgement, by flow in the order of `flows`.
    pub(crate) wifi_latency: Vec<LatencyStats>,
    pub(crate) distributions: Vec<DistributionRow>,
}

impl Meters {
    /// Computes all figures; `stations` are the names of the stations, in the order of their nodes.
    pub(crate) fn figures(&mut self, stations: &[String]) -> Figures {
        self.flows.iter_mut().for_each(FlowMeter::enter_all);
        let measured = self.measured();
        let reported: Vec<&FlowMeter> = self.flows.iter().filter(|meter| meter.is_reported()).collect();
        let flows: Vec<FlowSummary> =
            reported.iter().map(|meter| flow_summary(meter, measured, self.end, stations)).collect();
        let station_summaries: Vec<StationSummary> = stations
            .iter()
            .enumerate()
            .filter_map(|(index, name)| {
                let figures = self.air.station(StationId(index as u16 + 1))?;
                Some(StationSummary {
                    name: name.clone(),
                    airtime_share: figures.airtime.as_secs_f64() / measured.as_secs_f64(),
                    mean_ampdu: figures.mean_ampdu,
                    retry_rate: figures.retry_rate,
                    mean_phy_rate_mbps: figures.mean_phy_rate_mbps,
                })
            })
            .collect();
        Figures {
            jain: jain(&flows, &station_summaries),
            air: AirSummary {
                busy_share: self.air.busy().as_secs_f64() / measured.as_secs_f64(),
                collision_rate: collision_rate(self.air.attempts()),
            },
            attempts: self.air.attempts(),
            wifi_latency: reported.iter().map(|meter| meter.wifi_latency().stats()).collect(),
            distributions: self.distributions(),
            stations: station_summaries,
            flows,
        }
    }

    /// The distributions of all reported flows.
    fn distributions(&self) -> Vec<DistributionRow> {
        let mut rows = Vec::new();
        let meters = self.flows.iter().zip(0..).filter(|(meter, _)| meter.is_reported());
        for (meter, number) in meters {
            // Chained iterators are several times faster from within.
            meter.latency().rows(self.rows.numbers.flow(number)).for_each(|row| rows.push(row));
        }
        rows
    }
}

impl Figures {
    /// Combines the figures of all networks of a run; each comes with its channel.
    pub(crate) fn of_all(networks: impl Iterator<Item = (u16, Self)>) -> Self {
        let mut all = Self {
            flows: Vec::new(),
            stations: Vec::new(),
            air: AirSummary { busy_share: 0.0, collision_rate: None },
            attempts: (0, 0),
            jain: Jain::default(),
            wifi_latency: Vec::new(),
            distributions: Vec::new(),
        };
        // All networks on a channel observe the same load: the first one is used.
        let mut channels = BTreeMap::new();
        for (channel, figures) in networks {
            channels.entry(channel).or_insert(figures.air.busy_share);
            all.attempts.0 += figures.attempts.0;
            all.attempts.1 += figures.attempts.1;
            all.flows.extend(figures.flows);
            all.stations.extend(figures.stations);
            all.wifi_latency.extend(figures.wifi_latency);
            all.distributions.extend(figures.distributions);
        }
        all.air = AirSummary {
            busy_share: channels.values().sum::<f64>() / channels.len().max(1) as f64,
            collision_rate: collision_rate(all.attempts),
        };
        all.jain = jain(&all.flows, &all.stations);
        all
    }
}

/// Share of transmissions that collided; `None` without transmissions.
fn collision_rate((collided, attempts): (u64, u64)) -> Option<f64> {
    (attempts > 0).then(|| collided as f64 / attempts as f64)
}

/// Fairness among flows, and among stations with flows.
fn jain(flows: &[FlowSummary], stations: &[StationSummary]) -> Jain {
    let goodputs: Vec<f64> = flows.iter().map(|flow| flow.goodput_mbps).collect();
    let busy: BTreeSet<&str> = flows.iter().map(|flow| flow.station.as_str()).collect();
    let airtimes: Vec<f64> = stations
        .iter()
        .filter(|station| busy.contains(station.name.as_str()))
        .map(|station| station.airtime_share)
        .collect();
    Jain { goodput: Jain::index(&goodputs), airtime: Jain::index(&airtimes) }
}

fn flow_summary(meter: &FlowMeter, measured: Span, end: Instant, stations: &[String]) -> FlowSummary {
    let details = meter.details();
    let packets = meter.measured();
    let mbps = |bytes: ByteCount| bytes.bits() as f64 / measured.as_secs_f64() / 1e6;
    let goodput = mbps(meter.goodput());
    // A bulk transfer offers without limit: its goodput counts.
    let offered = if meter.offered() == ByteCount::ZERO { goodput } else { mbps(meter.offered()) };
    let dropped = packets.dropped();
    let drops: BTreeMap<String, u64> = DropReason::ALL
        .iter()
        .zip(packets.drops)
        .filter(|(_, count)| *count > 0)
        .map(|(reason, count)| (reason.name().to_owned(), count))
        .collect();
    let station = stations.get(details.station.index().wrapping_sub(1)).cloned().unwrap_or_default();
    let frames = meter.frames();
    let video = meter.video.as_ref();
    let delivered = frames.map(|frames| frames.delivered).or_else(|| video.map(|video| video.delivered()));
    let demand = meter.demand().and_then(DemandMeter::summary);
    FlowSummary {
        name: details.name.clone(),
        kind: details.kind.to_owned(),
        station,
        direction: match details.direction {
            flow::Direction::Down => Direction::Downlink,
            flow::Direction::Up => Direction::Uplink,
        },
        offered_mbps: offered,
        goodput_mbps: goodput,
        latency_ms: meter.latency().latency().stats(),
        rtt_ms: meter.latency().round_trips().map(|round_trips| round_trips.stats()),
        rpm: meter.latency().round_trips().and_then(|round_trips| round_trips.round_trips_per_minute()),
        loss_rate: match packets.delivered + dropped {
            0 => None,
            settled => Some(dropped as f64 / settled as f64),
        },
        packets: PacketCounts {
            sent: packets.sent,
            delivered: packets.delivered,
            dropped,
            queued: packets.sent - packets.delivered - dropped,
        },
        drops,
        demand,
        fps: delivered.map(|delivered| delivered as f64 / measured.as_secs_f64()),
        frame_latency_ms: meter.latency().frames().map(|frames| frames.stats()),
        stall_rate: match (frames, video) {
            (Some(frames), _) => {
                // Frames not shown in time: late, lost and skipped ones, and those past their deadline that still wait.
                let never = frames.skipped + frames.lost + frames.overdue;
                let all = frames.delivered + never;
                let missed = frames.late + never;
                Some(if all == 0 { 0.0 } else { missed as f64 / all as f64 })
            }
            (None, Some(video)) => video.stall_rate(),
            (None, None) => None,
        },
        rtc: video.map(|video| video.summary(measured, end, meter.latency())),
        found: meter
            .found()
            .map(|(since, pattern)| FoundSummary { at_s: since.as_secs_f64(), because: pattern.to_string() }),
    }
}
