//! The congestion control, composed of its parts.

use airbound_units::{BitRate, ConfigError, Instant, Span};

use super::aimd::Aimd;
use super::alr::ApplicationLimit;
use super::in_flight::{Delivered, InFlight, News};
use super::loss_model::{Circumstances, LossModel, Reported};
use super::loss_ranges::LossRanges;
use super::packet_groups::PacketGroups;
use super::probe::ProbeCluster;
use super::probe_result::ProbeResults;
use super::prober::{Prober, Situation};
use super::throughput::Throughput;
use super::trendline::Trendline;
use super::{GccConfig, GccMetrics, LossResponse, Pacing, PacketSent, TransportFeedback, Usage};

/// Time without a report after which the delay detection restarts (libwebrtc `kStreamTimeOut`).
const STREAM_TIMEOUT: Span = Span::from_secs(2);
/// Least ratio of an estimate set by a probe to the throughput (libwebrtc `kProbeDropThroughputFraction`).
const PROBE_FLOOR: f64 = 0.85;
/// Weight of a new round trip (RFC 6298, alpha).
const ROUND_TRIP_WEIGHT: f64 = 0.125;
/// Time without a report, beyond the round trip, after which the rate falls by a fifth each second (libwebrtc
/// `RttBasedBackoff`).
const SILENCE: Span = Span::from_secs(3);
const SILENCE_STEP: Span = Span::from_secs(1);
const SILENCE_FACTOR: f64 = 0.8;

/// Google congestion control. The [module](super) describes it.
#[derive(Debug, Clone)]
pub struct Gcc {
    config: GccConfig,
    now: Instant,
    in_flight: InFlight,
    groups: PacketGroups,
    trendline: Trendline,
    throughput: Throughput,
    aimd: Aimd,
    loss: LossRanges,
    model: LossModel,
    limit: ApplicationLimit,
    prober: Prober,
    probes: ProbeResults,
    round_trip: Option<Span>,
    /// Time of the last report.
    reported: Option<Instant>,
    /// Time of the last decrease by silence.
    silenced: Option<Instant>,
}

impl Gcc {
    /// Creates a congestion control without packets.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] for a value of the configuration out of range.
    pub fn new(config: GccConfig) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            now: Instant::ZERO,
            in_flight: InFlight::default(),
            groups: PacketGroups::default(),
            trendline: Trendline::default(),
            throughput: Throughput::default(),
            aimd: Aimd::new(&config),
            loss: LossRanges::new(&config),
            model: LossModel::new(&config),
            limit: ApplicationLimit::new(config.start_rate),
            prober: Prober::new(&config),
            probes: ProbeResults::default(),
            round_trip: None,
            reported: None,
            silenced: None,
            config,
        })
    }

    /// Notes a sent packet. A reused sequence number replaces the earlier packet.
    pub fn on_sent(&mut self, now: Instant, packet: PacketSent) {
        self.now = self.now.max(now);
        let now = self.now;
        self.in_flight.on_sent(now, packet);
        self.limit.on_sent(now, packet.size);
        self.on_silence(now);
    }

    /// Takes a report of the receiver.
    pub fn on_feedback(&mut self, now: Instant, feedback: &TransportFeedback) {
        self.now = self.now.max(now);
        let now = self.now;
        let news = self.in_flight.on_feedback(feedback);
        let lost = news.lost.len() as u64;
        let packets = news.delivered.len() as u64 + lost;
        if packets > 0 {
            self.loss.on_packets(now, packets, lost);
        }
        if news.delivered.is_empty() {
            self.update_loss(&news);
            return;
        }
        if self.reported.replace(now).is_some_and(|last| now - last > STREAM_TIMEOUT) {
            (self.groups, self.trendline) = (PacketGroups::default(), Trendline::default());
        }
        self.measure_round_trip(&news.delivered);
        self.throughput.on_report(&news.delivered);
        let mut probed = None;
        let mut recovered = false;
        for packet in &news.delivered {
            probed = self.probes.on_packet(packet).or(probed);
            let before = self.trendline.usage();
            if let Some(delta) = self.groups.on_packet(now, packet.sent, packet.arrival) {
                self.trendline.on_delta(delta);
            }
            recovered |= before == Usage::Underuse && self.trendline.usage() == Usage::Normal;
        }
        self.update_delay(probed);
        self.update_loss(&news);
        self.limit.set_target(self.target_rate());
        let situation = self.situation();
        self.prober.on_estimate(now, self.target_rate(), &situation);
        if recovered {
            self.prober.on_recovery(now, &situation);
        }
    }

    /// Probes a rate that somebody else knows to be free, as a policy that made the other direction of the link give way.
    pub fn request_probe(&mut self, now: Instant, rate: BitRate) {
        self.prober.on_request(now, rate);
    }

    /// Returns the next probe cluster to be sent, for `Pacer::start_probe`. Call until `None`.
    pub fn next_probe(&mut self, now: Instant) -> Option<ProbeCluster> {
        self.now = self.now.max(now);
        let situation = self.situation();
        let cluster = self.prober.next(self.now, &situation)?;
        self.probes.expect(cluster);
        Some(cluster)
    }

    /// The rate for all packets: media, parity, retransmissions, headers.
    #[must_use]
    pub fn target_rate(&self) -> BitRate {
        let rate = self.aimd.rate().min(self.loss_rate());
        rate.clamp(self.config.min_rate, self.config.max_rate)
    }

    /// The loss-based estimate; without one, the delay-based.
    fn loss_rate(&self) -> BitRate {
        match self.config.loss_based {
            LossResponse::Model => self.model.rate(),
            LossResponse::Ranges | LossResponse::Off => self.loss.rate(),
        }
    }

    /// The rate and the bursts of the pacer.
    #[must_use]
    pub fn pacing(&self) -> Pacing {
        self.config.pacing(self.target_rate())
    }

    /// The smoothed round trip without the receiver's reporting delay; `None` before the first report.
    #[must_use]
    pub fn round_trip(&self) -> Option<Span> {
        self.round_trip
    }

    /// The share of packets lost in the last second of reports, 0 to 1. A packet that arrives later still counts as lost.
    #[must_use]
    pub fn loss_fraction(&self) -> f64 {
        self.loss.fraction()
    }

    /// The state of the path according to the packets' delay.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.trendline.usage()
    }

    /// When to call [`Gcc::on_deadline`] (and then [`Gcc::next_probe`]) if nothing else happens.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        self.prober.next_deadline(&self.situation()).map(|due| due.max(self.now))
    }

    /// Handles time passed without a packet or a report. Early calls do nothing.
    pub fn on_deadline(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Returns its estimates and the state of its detectors.
    #[must_use]
    pub fn metrics(&self) -> GccMetrics {
        GccMetrics {
            usage: self.trendline.usage(),
            trend: self.trendline.trend(),
            threshold: self.trendline.threshold(),
            delay_based: self.aimd.rate(),
            loss_based: self.loss_rate(),
            acknowledged: self.throughput.rate(),
            application_limited: self.limit.since().is_some(),
            loss_fraction: self.loss.fraction(),
        }
    }

    fn situation(&self) -> Situation {
        Situation {
            usage: self.trendline.usage(),
            limited_since: self.limit.since(),
            limited_until: self.limit.ended(),
            loss_limited: self.loss_rate() < self.aimd.rate(),
        }
    }

    /// The last packet of a report was not delayed by it; an earlier one was delayed by the time to the last one's arrival. The
    /// shortest of the round trips so corrected is the sample.
    fn measure_round_trip(&mut self, delivered: &[Delivered]) {
        let Some(last) = delivered.iter().map(|packet| packet.arrival).max() else { return };
        let Some(sample) =
            delivered.iter().map(|packet| (self.now - packet.sent) - (last - packet.arrival)).min()
        else {
            return;
        };
        let smoothed = self
            .round_trip
            .map_or(sample, |old| old.mul_f64(1.0 - ROUND_TRIP_WEIGHT) + sample.mul_f64(ROUND_TRIP_WEIGHT));
        self.round_trip = Some(smoothed);
        self.aimd.on_round_trip(smoothed);
    }

    fn update_delay(&mut self, probed: Option<BitRate>) {
        let usage = self.trendline.usage();
        let arriving = self.throughput.rate();
        match probed {
            Some(probed) if usage != Usage::Overuse => {
                let floor = arriving.map_or(BitRate::ZERO, |rate| rate.mul_f64(PROBE_FLOOR));
                let rate = probed.max(floor.min(self.aimd.rate()));
                self.aimd.set(self.now, rate);
                self.loss.set(self.aimd.rate());
            }
            _ => self.aimd.update(self.now, usage, arriving),
        }
    }

    fn update_loss(&mut self, news: &News) {
        self.loss.update(self.now, self.aimd.rate(), self.round_trip.unwrap_or_default());
        if self.config.loss_based == LossResponse::Model {
            let delivered = news.delivered.iter().map(|packet| (packet.size, packet.sent, false));
            let lost = news.lost.iter().map(|(size, sent)| (*size, *sent, true));
            let packets = delivered.chain(lost).map(|(size, sent, lost)| Reported { size, sent, lost });
            let of = Circumstances {
                delay_based: self.aimd.rate(),
                throughput: self.throughput.rate(),
                application_limited: self.limit.since().is_some(),
            };
            self.model.on_report(self.now, &packets.collect::<Vec<_>>(), of);
        }
    }

    /// Lowers the rate if packets are sent and no report returns.
    fn on_silence(&mut self, now: Instant) {
        let Some(reported) = self.reported else { return };
        let silent = (now - reported) + self.round_trip.unwrap_or_default() >= SILENCE;
        if silent && self.silenced.is_none_or(|last| now - last >= SILENCE_STEP) {
            self.silenced = Some(now);
            self.loss.back_off(SILENCE_FACTOR);
            self.model.back_off(SILENCE_FACTOR);
            self.limit.set_target(self.target_rate());
        }
    }
}
