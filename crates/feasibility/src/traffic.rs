//! The traffic of a scenario's flows: protected bursts, unprotected backlogs, and contending stations.

use airbound_scenario::{Direction, ErrorCorrection, Flow, Load, Scenario, SizeLaw, Traffic, Transport};
use airbound_units::{BitRate, ByteCount};
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::mpdu::{IPV4_HEADER, TCP_HEADER, TCP_TIMESTAMPS, UDP_HEADER};
use airbound_wifi::{Category, EdcaParameters, Format, Legacy};

use crate::contention::{Contender, Echo};
use crate::draws::normal_quantile;
use crate::exchange::{Exchange, Medium, limits};
use crate::link::Link;

/// A TCP packet on the wire, and its payload.
pub(crate) const TCP_PACKET: ByteCount = ByteCount::new(1_500);
const TCP_PAYLOAD: f64 = 1_448.0;
/// Segments per TCP acknowledgement (delayed acknowledgements).
pub(crate) const SEGMENTS_PER_ACK: f64 = 2.0;
/// Packets per second of G.711 with 20 ms frames.
const VOIP_PACKETS: f64 = 50.0;

/// A periodic arrival pattern of packets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ArrivalPattern {
    /// Size of the IP packet.
    pub(crate) packet: ByteCount,
    /// Payload of a packet, in bytes.
    payload: f64,
    /// Payload in bit/s.
    pub(crate) rate: f64,
    /// The pattern of video frames; `None` if each packet is one.
    pub(crate) frames: Option<Frames>,
    /// Whether the flow is TCP, so that the station sends acknowledgements.
    pub(crate) is_tcp: bool,
}

/// Frames of a stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Frames {
    pub(crate) fps: f64,
    /// Standard deviation of the logarithm of frame sizes.
    sigma: f64,
    /// Seconds between packets of a burst.
    spacing: f64,
}

impl ArrivalPattern {
    /// The arrival pattern of a flow; `None` if its rate has no limit, or an allocator decides it.
    pub(crate) fn of(flow: &Flow, wire: Option<BitRate>) -> Option<Self> {
        let udp = |payload: f64, rate: f64| Self {
            packet: ByteCount::new(payload as u64) + UDP_HEADER + IPV4_HEADER,
            payload,
            rate,
            frames: None,
            is_tcp: false,
        };
        let tcp =
            |rate: f64| Self { packet: TCP_PACKET, payload: TCP_PAYLOAD, rate, frames: None, is_tcp: true };
        let bps = |rate: BitRate| rate.as_bps() as f64;
        Some(match &flow.traffic {
            Traffic::Cbr(datagrams) | Traffic::Poisson(datagrams) => {
                udp(datagrams.size.as_u64() as f64, bps(datagrams.rate))
            }
            // An allocator decides the rate, so there is no given load.
            Traffic::Paced(_) => return None,
            Traffic::Voip => udp(172.0, VOIP_PACKETS * 172.0 * 8.0),
            Traffic::Tcp(bulk) => tcp(bps(bulk.limit?)),
            Traffic::TcpShort(short) => tcp(short.size.bits() as f64 / short.interval.as_secs_f64()),
            Traffic::Vr(stream) => {
                let base = match stream.transport {
                    Transport::Tcp => tcp(bps(stream.rate)),
                    Transport::Udp => udp(1_472.0, bps(stream.rate)),
                };
                let burst = wire.map_or(stream.burst_rate, |wire| wire.min(stream.burst_rate));
                let sigma = match stream.size_law {
                    SizeLaw::Constant => 0.0,
                    SizeLaw::Lognormal { sigma } => sigma,
                };
                let spacing = burst.time_for(base.packet).as_secs_f64();
                Self { frames: Some(Frames { fps: stream.fps, sigma, spacing }), ..base }
            }
            // At its target rate, with headers and error correction, paced at 2.5 times the rate.
            Traffic::Rtc(stream) => {
                let overhead = if stream.fec == ErrorCorrection::None { 0.0 } else { stream.fec_overhead };
                let base = udp(stream.size.as_u64() as f64, bps(stream.rate) * (1.0 + overhead));
                let sigma = match stream.size_law {
                    SizeLaw::Constant => 0.0,
                    SizeLaw::Lognormal { sigma } => sigma,
                };
                let spacing = stream.rate.mul_f64(2.5).time_for(base.packet).as_secs_f64();
                Self { frames: Some(Frames { fps: stream.fps, sigma, spacing }), ..base }
            }
        })
    }

    /// The pattern with the rate multiplied by `scale`.
    pub(crate) fn scaled(&self, scale: f64) -> Self {
        Self { rate: self.rate * scale, ..self.clone() }
    }

    /// Packets per second.
    pub(crate) fn packets(&self) -> f64 {
        self.rate / 8.0 / self.payload
    }

    /// The arrival times within `horizon` seconds, the first at `phase` (0 to 1) of an interval. Frame sizes are the quantiles of their
    /// distribution in van der Corput's order, which mixes large and small ones.
    pub(crate) fn arrivals(&self, phase: f64, horizon: f64) -> Vec<f64> {
        let Some(frames) = self.frames else {
            let interval = 1.0 / self.packets().max(1e-3);
            let count = ((horizon / interval).max(0.0) as usize).saturating_add(1);
            return (0..count).map(|number| (number as f64 + phase) * interval).collect();
        };
        let mean = self.packets() / frames.fps;
        let mut arrivals = Vec::new();
        let count = ((horizon * frames.fps) as usize).saturating_add(1);
        let offset = (phase * 1024.0) as u32;
        for number in 0..count {
            let begin = (number as f64 + phase) / frames.fps;
            let quantile = radical_inverse(number as u32 + 1 + offset);
            let factor = libm::exp(frames.sigma * (normal_quantile(quantile) - frames.sigma / 2.0));
            let packets = (mean * factor).ceil().max(1.0) as usize;
            arrivals.extend((0..packets).map(|packet| begin + packet as f64 * frames.spacing));
        }
        // Bursts that last longer than the frame interval overlap.
        arrivals.sort_by(f64::total_cmp);
        arrivals
    }
}

/// Van der Corput's sequence: the binary digits of a number, mirrored at the point.
fn radical_inverse(number: u32) -> f64 {
    (f64::from(number.reverse_bits()) + 0.5) / 4_294_967_296.0
}

/// Unprotected traffic through the access point.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Background {
    /// Number of the station.
    pub(crate) station: usize,
    /// Packets per second; infinite without a limit.
    pub(crate) load: f64,
    pub(crate) packet: ByteCount,
    pub(crate) is_tcp: bool,
}

/// The unprotected traffic to stations, one entry for each flow.
pub(crate) fn background(scenario: &Scenario, is_protected: impl Fn(usize) -> bool) -> Vec<Background> {
    let down = scenario.flows.iter().enumerate();
    down.filter(|(index, flow)| flow.direction == Direction::Down && !is_protected(*index))
        .map(|(_, flow)| {
            let pattern = ArrivalPattern::of(flow, scenario.wire.rate);
            Background {
                station: scenario.station_index(&flow.station).unwrap_or(0),
                load: pattern.as_ref().map_or(f64::INFINITY, ArrivalPattern::packets),
                packet: pattern.as_ref().map_or(TCP_PACKET, |pattern| pattern.packet),
                is_tcp: pattern.is_none_or(|pattern| pattern.is_tcp),
            }
        })
        .collect()
}

/// The contenders independent of the access point's service: stations that send, neighbours and beacons. `allowed` is the share of
/// airtime of a station's saturated transfers; infinite if only contention bounds it.
pub(crate) fn contenders(
    scenario: &Scenario,
    medium: &Medium,
    links: &[Link],
    allowed: impl Fn(usize) -> f64,
) -> Vec<Contender> {
    let uplink = limits(&scenario.uplink.path);
    let mut contenders = Vec::new();
    for flow in scenario.flows.iter().filter(|flow| flow.direction == Direction::Up) {
        let pattern = ArrivalPattern::of(flow, None);
        let Some(station) = scenario.station_index(&flow.station) else { continue };
        let Some(link) = links.get(station) else { continue };
        let packet = pattern.as_ref().map_or(TCP_PACKET, |pattern| pattern.packet);
        let exchange = medium.exchange(*link, packet, uplink);
        let airtime = allowed(station);
        let taken = airtime * exchange.fresh() / exchange.duration(exchange.most);
        let contender = Contender {
            station: Some(station),
            parameters: medium.parameters(flow.category, false),
            count: 1.0,
            load: pattern.as_ref().map_or(taken, ArrivalPattern::packets),
            is_bursty: pattern.is_none(),
            packet,
            exchange,
        };
        join(&mut contenders, contender, |packet| medium.exchange(*link, packet, uplink));
    }
    for network in &scenario.neighbours {
        let limits = AmpduLimits {
            max_mpdus: u32::from(network.ampdu_mpdus),
            ..AmpduLimits::of(network.rate.format())
        };
        let load = match network.load {
            Load::Saturated => f64::INFINITY,
            Load::Offered(rate) => rate.as_bps() as f64 / network.size.bits() as f64,
        };
        contenders.push(Contender {
            station: None,
            parameters: medium.parameters(network.category, false),
            count: f64::from(network.transmitters),
            load,
            is_bursty: false,
            packet: network.size,
            exchange: medium.exchange(Link::perfect(network.rate), network.size, limits),
        });
    }
    if let Some(interval) = scenario.air.beacons {
        let lowest = Link::perfect(scenario.air.band.legacy(Legacy::Mbps6));
        contenders.push(Contender {
            station: None,
            parameters: medium.parameters(Category::Vo, true),
            count: 1.0,
            load: 1.0 / interval.as_secs_f64(),
            is_bursty: false,
            packet: scenario.air.beacon_size,
            exchange: medium.exchange(lowest, scenario.air.beacon_size, AmpduLimits::of(Format::Legacy)),
        });
    }
    contenders
}

/// The station's TCP acknowledgements of an exchange of `segments`; `None` if the station is saturated anyway.
pub(crate) fn echo(
    scenario: &Scenario,
    medium: &Medium,
    station: usize,
    link: Link,
    own: &EdcaParameters,
    segments: f64,
    contenders: &[Contender],
) -> Option<Echo> {
    let is_busy = |contender: &Contender| {
        contender.station == Some(station) && (contender.is_bursty || contender.load.is_infinite())
    };
    if contenders.iter().any(is_busy) {
        return None;
    }
    let packet = IPV4_HEADER + TCP_HEADER + TCP_TIMESTAMPS;
    let exchange = medium.exchange(link, packet, limits(&scenario.uplink.path));
    let packets = (segments / SEGMENTS_PER_ACK).max(1.0);
    Some(Echo::new(medium, own, &medium.parameters(Category::Be, false), &exchange, packets))
}

/// Merges a station's contenders into one, with packets of their mean size.
fn join(contenders: &mut Vec<Contender>, more: Contender, exchange: impl Fn(ByteCount) -> Exchange) {
    let same = |other: &&mut Contender| {
        other.station == more.station && other.parameters.cw_min == more.parameters.cw_min
    };
    let Some(known) = contenders.iter_mut().find(same) else {
        contenders.push(more);
        return;
    };
    if known.load.is_infinite() {
        return;
    }
    let load = known.load + more.load;
    if load.is_infinite() {
        *known = more;
        return;
    }
    let bytes = |contender: &Contender| contender.load * contender.packet.as_u64() as f64;
    known.packet = ByteCount::new(((bytes(known) + bytes(&more)) / load.max(1e-9)) as u64);
    known.is_bursty &= more.is_bursty;
    known.load = load;
    known.exchange = exchange(known.packet);
}
