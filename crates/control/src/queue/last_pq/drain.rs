//! Estimate of the time until the hardware sends a frame handed down now (Sec. IV, "hardware queue draining estimation").

use airbound_units::{Instant, Span};
use airbound_wifi::control_frames::ControlTiming;
use airbound_wifi::rate::Rate;
use airbound_wifi::timing::preamble;
use serde::{Deserialize, Serialize};

use crate::error::ConfigError;
use crate::frame::StationId;
use crate::frame::{TxDescriptor, TxReport};
use crate::link::Outstanding;

/// The parameters of the drain estimate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct DrainConfig {
    /// Margin against underestimation (T_guard, Sec. V): 1 ms. Up to 1 s.
    pub guard: Span,
    /// Weight of a new sample in the moving average of the contention time (T_ctt): 0.125, that of TCP, since the paper gives none.
    /// Above 0, up to 1.
    pub contention_weight: f64,
}

impl Default for DrainConfig {
    fn default() -> Self {
        Self { guard: Span::from_millis(1), contention_weight: 0.125 }
    }
}

impl DrainConfig {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        ConfigError::check(self.guard <= Span::from_secs(1), "drain.guard", self.guard, "0 ms to 1 s")?;
        ConfigError::check(
            self.contention_weight > 0.0 && self.contention_weight <= 1.0,
            "drain.contention-weight",
            self.contention_weight,
            "more than 0, up to 1",
        )
    }
}

/// Record of a frame (a PPDU) in the hardware.
#[derive(Debug, Clone, Copy)]
struct Frame {
    /// T_air: airtime of its bytes at the most recently used rate.
    air: Span,
    /// T_mac: preamble, SIFS and acknowledgement.
    mac: Span,
    /// Whether the hardware was empty when it was handed down.
    first: bool,
}

/// The estimate for one category.
///
/// `l_hq = T_ctt + sum over the frames in the hardware (T_ctt + T_mac + T_air) + T_guard`. The contention time of a frame is its time
/// in the hardware beyond T_mac and T_air: counted from the time of handing down if the hardware was empty then, else from the end of
/// the previous frame. It includes failed tries and the error of a wrong rate. A frame without any acknowledgement gives no sample.
///
/// The timing of control frames is that of the 5 GHz band with the mandatory basic rates; other timing changes T_mac by some
/// microseconds, for which the contention time compensates.
#[derive(Debug, Clone, Default)]
pub(super) struct Drain {
    config: DrainConfig,
    frames: Outstanding<Frame>,
    contention: Option<Span>,
    last_end: Instant,
    /// Whether a report came without known PPDU boundaries.
    boundless: bool,
}

impl Drain {
    pub(super) fn new(config: DrainConfig) -> Self {
        Self { config, ..Self::default() }
    }

    /// Notes a frame handed to the hardware; `rate` is the one most recently used for its station.
    pub(super) fn on_granted<P>(&mut self, descriptor: &TxDescriptor<P>, rate: Rate) {
        let control = ControlTiming::default();
        let answer = if descriptor.aggregated { control.block_ack_for(rate) } else { control.ack_for(rate) };
        let frame = Frame {
            air: rate.bit_rate().time_for(descriptor.psdu),
            mac: preamble(rate) + control.band.sifs() + answer,
            first: self.frames.is_empty(),
        };
        self.frames.hand(descriptor, frame);
    }

    /// Notes a frame that left the hardware.
    pub(super) fn on_report<P>(&mut self, report: &TxReport<P>) {
        self.boundless = !report.boundaries_known;
        let frame = self.frames.take(&report.descriptor);
        let before = self.last_end;
        self.last_end = before.max(report.ended);
        let Some(frame) = frame.filter(|_| report.acknowledged.count() > 0 && report.boundaries_known) else {
            return;
        };
        let since = if frame.first { report.handed } else { before };
        let sample = report.ended.since(since) - frame.mac - frame.air;
        let weight = self.config.contention_weight;
        self.contention = Some(match self.contention {
            Some(average) => average.mul_f64(1.0 - weight) + sample.mul_f64(weight),
            None => sample,
        });
    }

    /// The average contention time (T_ctt); zero before the first acknowledgement.
    pub(super) fn contention(&self) -> Span {
        self.contention.unwrap_or(Span::ZERO)
    }

    /// The expected delay below the queue (l_hq) of a frame handed down now, excluding its own transmission.
    ///
    /// `below` is the airtime of all packets below the queue, if another queue lies between it and the hardware; in that case, and
    /// where PPDU boundaries are unknown, the delay is the outstanding airtime plus the guard.
    pub(super) fn expected(&self, below: Option<Span>) -> Span {
        let air = || self.frames.iter().fold(Span::ZERO, |sum, frame| sum + frame.air);
        let drained = match below {
            Some(below) => below,
            None if self.boundless => air(),
            None => self
                .frames
                .iter()
                .fold(self.contention(), |sum, frame| sum + self.contention() + frame.mac + frame.air),
        };
        drained + self.config.guard
    }
}

/// The most recently used rate of each station.
#[derive(Debug, Clone, Default)]
pub(super) struct RecentRates {
    rates: Vec<Option<Rate>>,
}

impl RecentRates {
    /// Notes the last rate of a report.
    pub(super) fn on_report<P>(&mut self, report: &TxReport<P>) {
        let index = report.descriptor.station.index();
        if index >= self.rates.len() {
            self.rates.resize(index + 1, None);
        }
        if let (Some(slot), Some(step)) = (self.rates.get_mut(index), report.used.steps().last()) {
            *slot = Some(step.rate);
        }
    }

    pub(super) fn of(&self, station: StationId) -> Option<Rate> {
        self.rates.get(station.index()).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use airbound_units::ByteCount;
    use airbound_wifi::edca::Category;
    use airbound_wifi::rate::{GuardInterval, Width};

    use super::*;
    use crate::frame::Mpdu;
    use crate::frame::RateChain;
    use crate::frame::{FlowId, PlainPacket};
    use airbound_wifi::block_ack::AckBitmap;

    fn rate() -> Rate {
        Rate::ht(1, Width::Mhz40, GuardInterval::Ns800).expect("exists")
    }

    /// T_mac at that rate: a preamble of 36 us, SIFS of 16 us, a BlockAck at 12 Mbit/s of 44 us.
    const MAC: u64 = 36 + 16 + 44;

    fn descriptor(sequence: u64, bytes: u64) -> TxDescriptor<PlainPacket> {
        let packet = PlainPacket::new(StationId(1), FlowId(1));
        let mpdu = Mpdu::new(packet, ByteCount::new(bytes), sequence, Instant::ZERO);
        TxDescriptor {
            station: StationId(1),
            category: Category::Be,
            alternate: false,
            mpdus: vec![mpdu],
            psdu: ByteCount::new(bytes),
            aggregated: true,
            chain: RateChain::single(rate(), 1),
            give_up_after: None,
            give_up_at: None,
        }
    }

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1000)
    }

    fn report(sequence: u64, handed: u64, ended: u64, acknowledged: usize) -> TxReport<PlainPacket> {
        let descriptor = descriptor(sequence, 4050);
        TxReport {
            used: descriptor.chain,
            handed: at(handed),
            started: None,
            ended: at(ended),
            airtime: None,
            acknowledged: AckBitmap::first(acknowledged),
            boundaries_known: true,
            descriptor,
        }
    }

    /// An estimate whose frames take 1.2 ms of airtime each (4050 B at 27 Mbit/s).
    fn drain(sequences: impl IntoIterator<Item = u64>) -> Drain {
        let mut drain = Drain::new(DrainConfig::default());
        for sequence in sequences {
            drain.on_granted(&descriptor(sequence, 4050), rate());
        }
        drain
    }

    #[test]
    fn the_rate_of_these_tests() {
        assert_eq!(rate().bit_rate().as_bps(), 27_000_000);
        assert_eq!(rate().bit_rate().time_for(ByteCount::new(4050)), Span::from_micros(1200));
    }

    #[test]
    fn an_empty_hardware_costs_contention_and_guard() {
        assert_eq!(drain([]).expected(None), Span::from_millis(1), "nothing is known of contention yet");
    }

    #[test]
    fn into_an_empty_hardware_contention_counts_from_the_handing_down() {
        let mut drain = drain([0]);
        // 1200 us of air, T_mac, and 104 us of contention.
        drain.on_report(&report(0, 500, 500 + 1200 + MAC + 104, 1));
        assert_eq!(drain.contention(), Span::from_micros(104));
        assert_eq!(drain.expected(None), Span::from_micros(1104));
    }

    #[test]
    fn behind_another_frame_contention_counts_from_its_end() {
        let mut drain = drain([0, 1]);
        let first = 1200 + MAC + 104;
        drain.on_report(&report(0, 0, first, 1));
        // Handed down at 0 too, so only the time after the end of the first counts: 200 us of contention.
        drain.on_report(&report(1, 0, first + 1200 + MAC + 200, 1));
        // 7/8 of 104 and 1/8 of 200.
        assert_eq!(drain.contention(), Span::from_micros(116));
    }

    #[test]
    fn each_frame_in_the_hardware_costs_contention_overhead_and_airtime() {
        let mut drain = drain([0, 1, 2]);
        drain.on_report(&report(0, 0, 1200 + MAC + 100, 1));
        // 100, twice (100 + T_mac + 1200), 1000.
        assert_eq!(drain.expected(None), Span::from_micros(100 + 2 * (100 + MAC + 1200) + 1000));
    }

    #[test]
    fn a_frame_without_acknowledgement_gives_no_sample_but_ends() {
        let mut drain = drain([0, 1]);
        drain.on_report(&report(0, 0, 9_000, 0));
        assert_eq!(drain.contention(), Span::ZERO);
        drain.on_report(&report(1, 0, 9_000 + 1200 + MAC + 50, 1));
        assert_eq!(drain.contention(), Span::from_micros(50));
        assert!(drain.frames.is_empty());
    }

    #[test]
    fn without_boundaries_it_is_the_outstanding_airtime() {
        let mut drain = drain([0, 1]);
        drain.on_report(&TxReport { boundaries_known: false, ..report(0, 0, 5_000, 1) });
        assert_eq!(drain.expected(None), Span::from_micros(1200 + 1000));
        assert_eq!(drain.expected(Some(Span::from_millis(7))), Span::from_millis(8), "a queue in between");
    }

    #[test]
    fn strange_reports_change_nothing() {
        let mut drain = drain([0]);
        drain.on_report(&report(7, 0, 5_000, 1));
        assert_eq!(drain.contention(), Span::ZERO);
        // A frame reported to end before it was handed down gives no negative time.
        drain.on_report(&report(0, 9_000, 5_000, 1));
        assert_eq!((drain.contention(), drain.expected(None)), (Span::ZERO, Span::from_millis(1)));
    }
}
