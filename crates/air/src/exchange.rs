//! Durations of frame exchanges, and the reception of their MPDUs.

use airbound_random::Stream;
use airbound_units::{BitRate, ByteCount, Decibel, Instant, Span};
use airbound_wifi::error::{Decoding, ErrorTable};
use airbound_wifi::mpdu::{DELIMITER, psdu_size, subframe_size};
use airbound_wifi::rate::Rate;
use airbound_wifi::timing::PpduTiming;
use airbound_wifi::{AckBitmap, Legacy};
use airbound_wifi::{
    Band,
    control_frames::{self, ControlTiming},
};

use crate::loss::Loss;
use crate::propagation::LinkQuality;

/// Parameters common to all transmitters of a collision domain.
#[derive(Debug, Clone)]
pub struct PhyConfig {
    /// Band, basic rates and rate of control frames.
    pub control: ControlTiming,
    /// The PSDU size above which RTS and CTS are used.
    pub rts_threshold: ByteCount,
    /// Signal-to-noise ratio below which a receiver does not detect a frame.
    pub detection: Decibel,
    /// The model of decoding, which decides the error curves.
    pub decoding: Decoding,
    /// Signal that a receiver needs beyond the model of decoding.
    pub implementation_loss: Decibel,
}

/// The response to a PPDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// None: group frames, and frames with the policy No Ack.
    None,
    /// Ack.
    Ack,
    /// Compressed BlockAck.
    BlockAck,
}

/// The properties of a PPDU that decide its exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ppdu {
    /// Its rate.
    pub rate: Rate,
    /// Length of the PSDU.
    pub psdu: ByteCount,
    /// Number of MPDUs.
    pub mpdus: usize,
    /// The response that it solicits.
    pub answer: Answer,
    /// Whether RTS and CTS are used independent of its length.
    pub protected: bool,
}

/// Durations and error curve of one rate.
#[derive(Debug)]
struct RateFacts {
    rate: Rate,
    timing: PpduTiming,
    /// Place of its error curve.
    errors: usize,
    block_ack: Span,
    ack: Span,
    protection: Span,
    response: Rate,
    /// Place of the facts of the response's rate, once they are known.
    answered: Option<usize>,
}

/// Durations and error curves of the rates in use.
#[derive(Debug)]
pub struct Phy {
    config: PhyConfig,
    rates: Vec<RateFacts>,
    /// Error curves, each shared by the rates of one modulation and code rate.
    curves: Vec<ErrorTable>,
    last: usize,
    /// Duration of an exchange besides its PPDU.
    beside_ppdu: Span,
}

/// The times of one frame exchange.
#[derive(Debug, Clone, Copy)]
pub struct ExchangeTiming {
    /// Start of the PPDU, after RTS and CTS.
    pub ppdu_start: Instant,
    /// End of the PPDU.
    pub ppdu_end: Instant,
    /// End of the response.
    pub end: Instant,
    /// Duration of the first frame: the RTS if there is one, else the PPDU. A collision ends with it.
    pub first_frame: Span,
    /// `None` if all parts of the PPDU are received at its end.
    ppdu: Option<PpduTiming>,
    /// The data rate of a trace, which replaces that of the table.
    stretched: Option<BitRate>,
}

impl ExchangeTiming {
    /// A transfer whose parts are all received at its end.
    #[must_use]
    pub fn in_one_piece(start: Instant, end: Instant) -> Self {
        let first_frame = end - start;
        Self { ppdu_start: start, ppdu_end: end, end, first_frame, ppdu: None, stretched: None }
    }

    /// The reception times of the PPDU's parts.
    #[must_use]
    pub const fn reception(&self) -> Reception {
        Reception { start: self.ppdu_start, end: self.ppdu_end, timing: self.ppdu, stretched: self.stretched }
    }
}

/// The reception times of a PPDU's parts.
#[derive(Debug, Clone, Copy)]
pub struct Reception {
    start: Instant,
    end: Instant,
    /// `None` if all parts are received at the end.
    timing: Option<PpduTiming>,
    stretched: Option<BitRate>,
}

impl Reception {
    /// The time at which an MPDU that ends `bytes` into the PSDU is received.
    #[inline]
    #[must_use]
    pub fn of(&self, bytes: ByteCount) -> Instant {
        let Some(timing) = &self.timing else { return self.end };
        let offset = match self.stretched {
            Some(bit_rate) => timing.preamble() + bit_rate.time_for(bytes),
            None => timing.offset_of(bytes),
        };
        (self.start + offset).min(self.end)
    }
}

/// The reception times of an aggregate's MPDUs of one size, which are the same in the next aggregate at that rate.
#[derive(Debug, Clone)]
pub struct EqualMpdus {
    timing: PpduTiming,
    stretched: Option<BitRate>,
    /// Time before the PPDU.
    lead: Span,
    size: ByteCount,
    /// Padding after the first subframe.
    padding: ByteCount,
    /// The reception of each MPDU since the start of the exchange.
    times: Vec<Span>,
}

impl EqualMpdus {
    /// Those of an exchange that began at `start`, of `mpdus` MPDUs of `size` in a PSDU of `psdu` bytes. `None`
    /// if all are received at the end of the PPDU.
    #[must_use]
    pub fn of(
        start: Instant,
        timing: &ExchangeTiming,
        (mpdus, size, psdu): (u64, ByteCount, ByteCount),
    ) -> Option<Self> {
        let least = subframe_size(size) * mpdus.saturating_sub(1) + DELIMITER + size;
        let lead = timing.ppdu_start - start;
        let padding = psdu - least;
        Some(Self {
            timing: timing.ppdu?,
            stretched: timing.stretched,
            lead,
            size,
            padding,
            times: Vec::new(),
        })
    }

    /// The times asked for so far.
    #[must_use]
    pub fn known(&self) -> &[Span] {
        &self.times
    }

    /// Whether MPDUs are received as `other` ones are.
    #[must_use]
    pub fn are_like(&self, other: &Self) -> bool {
        let Self { timing, stretched, lead, size, padding, .. } = self;
        (timing, stretched, lead) == (&other.timing, &other.stretched, &other.lead)
            && (size, padding) == (&other.size, &other.padding)
    }

    /// The reception of the first MPDUs since the start of the exchange; `None` if it would be after the end of the PPDU.
    pub fn times(&mut self, mpdus: usize, start: Instant, timing: &ExchangeTiming) -> Option<&[Span]> {
        let reception = Reception { end: Instant::MAX, ..timing.reception() };
        let step = subframe_size(self.size);
        for place in self.times.len()..mpdus {
            let before = if place == 0 { ByteCount::ZERO } else { self.padding };
            let end = step * place as u64 + before + DELIMITER + self.size;
            self.times.push(reception.of(end) - start);
        }
        let times = self.times.get(..mpdus)?;
        times.last().is_none_or(|last| start + *last <= timing.ppdu_end).then_some(times)
    }
}

impl Phy {
    /// No rates are in use yet.
    #[must_use]
    pub fn new(config: PhyConfig) -> Self {
        let control = &config.control;
        let answer = control_frames::block_ack(control.fixed.unwrap_or(Legacy::Mbps24), control.band);
        let protection = if config.rts_threshold == ByteCount::MAX {
            Span::ZERO
        } else {
            control.protection_for(control.band.legacy(Legacy::Mbps24))
        };
        let beside_ppdu = protection + control.band.sifs() + answer;
        Self { config, rates: Vec::new(), curves: Vec::new(), last: 0, beside_ppdu }
    }

    /// The band: slot and SIFS.
    #[must_use]
    pub const fn band(&self) -> Band {
        self.config.control.band
    }

    fn facts(&mut self, rate: Rate) -> usize {
        if self.rates.get(self.last).is_none_or(|facts| facts.rate != rate) {
            self.last = self.rates.iter().position(|facts| facts.rate == rate).unwrap_or_else(|| {
                let control = &self.config.control;
                let (modulation, coding) = (rate.modulation(), rate.coding());
                let is_known =
                    |curve: &ErrorTable| curve.modulation() == modulation && curve.coding() == coding;
                let errors = self.curves.iter().position(is_known).unwrap_or_else(|| {
                    let PhyConfig { decoding, implementation_loss, .. } = self.config;
                    let curve = ErrorTable::decoded(decoding, implementation_loss, modulation, coding);
                    self.curves.push(curve);
                    self.curves.len() - 1
                });
                self.rates.push(RateFacts {
                    rate,
                    timing: PpduTiming::in_band(rate, control.band),
                    errors,
                    block_ack: control.block_ack_for(rate),
                    ack: control.ack_for(rate),
                    protection: control.protection_for(rate),
                    response: control.band.legacy(control.rate_for(rate)),
                    answered: None,
                });
                self.rates.len() - 1
            });
        }
        self.last
    }

    /// The place of the facts of the response to a rate. The last rate stays: the next question is of it.
    fn answer_of(&mut self, index: usize) -> usize {
        self.rates[index].answered.unwrap_or_else(|| {
            let place = self.facts(self.rates[index].response);
            self.last = index;
            self.rates[index].answered = Some(place);
            place
        })
    }

    /// The error curve of a rate, by its place.
    #[inline]
    fn errors(&mut self, index: usize) -> &mut ErrorTable {
        &mut self.curves[self.rates[index].errors]
    }

    /// The longest PPDU whose exchange fits in `opportunity`; the standard's limit if that is zero (no TXOP limit).
    #[must_use]
    pub fn longest_ppdu(&self, opportunity: Span) -> Span {
        let longest = airbound_wifi::timing::PPDU_MAX_TIME;
        if opportunity.is_zero() { longest } else { longest.min(opportunity - self.beside_ppdu) }
    }

    /// The times of an exchange that begins at `start`.
    pub fn timing(&mut self, start: Instant, ppdu: &Ppdu, quality: LinkQuality) -> ExchangeTiming {
        let index = self.facts(ppdu.rate);
        let facts = &self.rates[index];
        let control = &self.config.control;
        let protected = ppdu.protected || ppdu.psdu > self.config.rts_threshold;
        let ppdu_start = if protected { start + facts.protection } else { start };
        let (duration, stretched) = match quality {
            LinkQuality::Phy(worth) => {
                (facts.timing.preamble() + worth.rate.time_for(ppdu.psdu), Some(worth.rate))
            }
            _ => (facts.timing.duration(ppdu.psdu), None),
        };
        let ppdu_end = ppdu_start + duration;
        let answer = match ppdu.answer {
            Answer::None => Span::ZERO,
            Answer::Ack => control.band.sifs() + facts.ack,
            Answer::BlockAck => control.band.sifs() + facts.block_ack,
        };
        let first_frame =
            if protected { control_frames::rts(control.rate_for(ppdu.rate), control.band) } else { duration };
        ExchangeTiming {
            ppdu_start,
            ppdu_end,
            end: ppdu_end + answer,
            first_frame,
            ppdu: Some(facts.timing),
            stretched,
        }
    }

    /// Whether a control frame of `size` before or after a PPDU at `rate` is lost on a link of this quality. The loss of a trace is that
    /// of its data.
    pub(crate) fn loses(
        &mut self,
        loss: Loss,
        (rate, size): (Rate, ByteCount),
        quality: LinkQuality,
        draws: &mut Stream,
    ) -> bool {
        match (loss, quality) {
            (Loss::Share(share), _) => draws.unit() < share,
            (Loss::Signal, LinkQuality::Snr(snr)) => {
                let index = self.facts(rate);
                let control = self.answer_of(index);
                let success = self.errors(control).mpdu_success(snr, size);
                snr < self.config.detection || draws.unit() >= success
            }
            (Loss::Signal, _) => false,
        }
    }

    /// The rate of control frames before and after a PPDU at `rate`.
    pub fn control_rate(&mut self, rate: Rate) -> Rate {
        let index = self.facts(rate);
        self.rates[index].response
    }

    /// Preamble of a PPDU at `rate`, up to its PSDU.
    pub(crate) fn preamble(&mut self, rate: Rate) -> Span {
        let index = self.facts(rate);
        self.rates[index].timing.preamble()
    }

    /// -ln of the probability that a bit is received, 0 to 40, at a linear signal-to-noise ratio.
    pub(crate) fn hazard(&mut self, rate: Rate, snr: f64) -> f64 {
        let index = self.facts(rate);
        self.errors(index).hazard(Decibel::new(10.0 * libm::log10(snr.max(1e-30))))
    }

    /// Linear ratio of interference to signal up to which [`Phy::hazard`] is zero for a rate without noise.
    pub(crate) fn harmless(&mut self, rate: Rate) -> f64 {
        let index = self.facts(rate);
        // Less by what rounding can change.
        (1.0 - 1e-9) / self.errors(index).harmless().linear()
    }

    /// The MPDUs that are received and acknowledged; `sizes` are those of the MPDUs.
    #[inline]
    pub fn outcome(
        &mut self,
        ppdu: &Ppdu,
        sizes: impl Iterator<Item = ByteCount>,
        quality: LinkQuality,
        draws: &mut Stream,
    ) -> AckBitmap {
        let LinkQuality::Snr(snr) = quality else { return self.arrivals(ppdu, sizes, quality, draws) };
        if snr < self.config.detection {
            return AckBitmap::NONE;
        }
        let index = self.facts(ppdu.rate);
        let answer = match ppdu.answer {
            Answer::None => None,
            Answer::Ack => Some(control_frames::ACK),
            Answer::BlockAck => Some(control_frames::BLOCK_ACK),
        };
        if let Some(answer) = answer {
            let answered = self.answer_of(index);
            if draws.unit() >= self.errors(answered).mpdu_success(snr, answer) {
                // The response is lost, so that no MPDU is acknowledged. The data counts as lost, too (see the model's limits in
                // docs/understand/simulator.md).
                return AckBitmap::NONE;
            }
        }
        self.arrivals(ppdu, sizes, quality, draws)
    }

    /// The MPDUs that are received, whether or not a response follows; `sizes` are those of the MPDUs.
    #[inline]
    pub(crate) fn arrivals(
        &mut self,
        ppdu: &Ppdu,
        sizes: impl Iterator<Item = ByteCount>,
        quality: LinkQuality,
        draws: &mut Stream,
    ) -> AckBitmap {
        let snr = match quality {
            LinkQuality::Perfect => return AckBitmap::first(ppdu.mpdus),
            LinkQuality::Phy(worth) if worth.loss == 0.0 => return AckBitmap::first(ppdu.mpdus),
            LinkQuality::Phy(worth) => {
                let mut acknowledged = AckBitmap::NONE;
                for place in 0..ppdu.mpdus {
                    if draws.unit() >= worth.loss {
                        acknowledged.set(place);
                    }
                }
                return acknowledged;
            }
            LinkQuality::Snr(snr) => snr,
        };
        if snr < self.config.detection {
            return AckBitmap::NONE;
        }
        let index = self.facts(ppdu.rate);
        let errors = self.errors(index);
        let mut acknowledged = AckBitmap::NONE;
        // MPDUs of an aggregate mostly have one size: the curve is looked up when the size changes.
        let (mut size, mut success) = (ByteCount::ZERO, 1.0);
        for (place, mpdu) in sizes.enumerate() {
            if mpdu != size {
                size = mpdu;
                success = errors.mpdu_success(snr, size);
            }
            if success >= 1.0 || draws.unit() < success {
                acknowledged.set(place);
            }
        }
        acknowledged
    }
}

/// The end of each MPDU within a PSDU of `psdu` bytes; `sizes` are those of the MPDUs.
#[inline]
pub fn mpdu_ends(
    sizes: impl Iterator<Item = ByteCount> + Clone,
    aggregated: bool,
    psdu: ByteCount,
) -> impl Iterator<Item = ByteCount> {
    let delimiter = if aggregated { DELIMITER } else { ByteCount::ZERO };
    // The excess of the PSDU over its subframes follows the first one.
    let mut extra = if aggregated { psdu - psdu_size(sizes.clone()) } else { ByteCount::ZERO };
    let mut end = ByteCount::ZERO;
    sizes.map(move |size| {
        // The delimiter precedes the MPDU, the padding follows it.
        let ends = end + delimiter + size;
        end += subframe_size(size) + std::mem::take(&mut extra);
        ends
    })
}
