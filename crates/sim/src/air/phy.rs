//! How long a frame exchange takes and what of it gets through.

use std::sync::Arc;

use airbound_control::frame::Payload;
use airbound_control::frame::TxDescriptor;
use airbound_units::{BitRate, ByteCount, Decibel, Instant, Span};
use airbound_wifi::block_ack::AckBitmap;
use airbound_wifi::control_frames::{self, Band, ControlTiming};
use airbound_wifi::error::ErrorTable;
use airbound_wifi::mpdu::{DELIMITER, psdu_size, subframe_size};
use airbound_wifi::rate::Rate;
use airbound_wifi::timing::PpduTiming;

use crate::channel::Quality;
use crate::packet::Packet;
use crate::random::Stream;
use crate::trace::Capacity;

/// The parameters of the air that all transmitters share.
#[derive(Debug, Clone)]
pub(crate) struct PhyConfig {
    pub(crate) control: ControlTiming,
    /// A PSDU longer than this is announced by RTS and CTS.
    pub(crate) rts_threshold: ByteCount,
    /// Below this signal-to-noise ratio a receiver does not notice a frame at all.
    pub(crate) detection: Decibel,
}

/// What is known of one rate.
#[derive(Debug)]
struct RateFacts {
    rate: Rate,
    timing: PpduTiming,
    /// Shared by the rates of one modulation and code rate.
    errors: Arc<ErrorTable>,
    block_ack: Span,
    ack: Span,
    protection: Span,
    response: Rate,
}

/// Durations and errors, with a table for each rate that is in use.
#[derive(Debug)]
pub(crate) struct Phy {
    config: PhyConfig,
    rates: Vec<RateFacts>,
    last: usize,
    /// A trace that carries bytes as a pipe does, in place of PHY and contention.
    pipe: Option<Capacity>,
}

/// The course of one frame exchange.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Course {
    /// When the PPDU begins, behind RTS and CTS.
    pub(crate) ppdu_start: Instant,
    /// When the PPDU ends.
    pub(crate) ppdu_end: Instant,
    /// When the acknowledgement ends.
    pub(crate) end: Instant,
    /// How long the first frame lasts: the RTS where there is one, else the PPDU. A collision lasts no longer.
    pub(crate) first_frame: Span,
    /// Index of the rate in the tables.
    facts: usize,
    /// Data rate that replaces that of the table.
    stretched: Option<BitRate>,
}

/// When a receiver has which part of a PPDU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reception {
    start: Instant,
    end: Instant,
    /// `None` where all of it comes at its end.
    timing: Option<PpduTiming>,
    stretched: Option<BitRate>,
}

impl Reception {
    /// When the receiver has all of an MPDU that ends `bytes` into the PSDU.
    #[inline]
    pub(crate) fn of(&self, bytes: ByteCount) -> Instant {
        let Some(timing) = &self.timing else { return self.end };
        let offset = match self.stretched {
            Some(bit_rate) => timing.preamble() + bit_rate.time_for(bytes),
            None => timing.offset_of(bytes),
        };
        (self.start + offset).min(self.end)
    }
}

impl Phy {
    pub(crate) fn new(config: PhyConfig, pipe: Option<Capacity>) -> Self {
        Self { config, rates: Vec::new(), last: 0, pipe }
    }

    pub(crate) const fn band(&self) -> Band {
        self.config.control.band
    }

    pub(crate) const fn is_pipe(&self) -> bool {
        self.pipe.is_some()
    }

    fn facts(&mut self, rate: Rate) -> usize {
        if self.rates.get(self.last).is_none_or(|facts| facts.rate != rate) {
            self.last = self.rates.iter().position(|facts| facts.rate == rate).unwrap_or_else(|| {
                let control = &self.config.control;
                let (modulation, coding) = (rate.modulation(), rate.coding());
                let known = self.rates.iter().map(|facts| &facts.errors);
                let errors = known
                    .filter(|errors| errors.modulation() == modulation && errors.coding() == coding)
                    .map(Arc::clone)
                    .next()
                    .unwrap_or_else(|| Arc::new(ErrorTable::of(modulation, coding)));
                self.rates.push(RateFacts {
                    rate,
                    timing: PpduTiming::in_band(rate, control.band),
                    errors,
                    block_ack: control.block_ack_for(rate),
                    ack: control.ack_for(rate),
                    protection: control.protection_for(rate),
                    response: Rate::legacy(control.rate_for(rate)),
                });
                self.rates.len() - 1
            });
        }
        self.last
    }

    /// The longest PPDU whose exchange fits in `opportunity`; the standard's limit if that is zero (no TXOP limit).
    pub(crate) fn longest_ppdu(&self, opportunity: Span) -> Span {
        let longest = airbound_wifi::timing::PPDU_MAX_TIME;
        if opportunity.is_zero() {
            return longest;
        }
        let control = &self.config.control;
        let answer = control_frames::block_ack(
            control.fixed.unwrap_or(airbound_wifi::rate::Legacy::Mbps24),
            control.band,
        );
        let protection = if self.config.rts_threshold == ByteCount::MAX {
            Span::ZERO
        } else {
            control.protection_for(Rate::legacy(airbound_wifi::rate::Legacy::Mbps24))
        };
        longest.min(opportunity - (protection + control.band.sifs() + answer))
    }

    /// The course of an exchange that begins at `start`.
    pub(crate) fn course(
        &mut self,
        start: Instant,
        descriptor: &TxDescriptor<Packet>,
        rate: Rate,
        quality: Quality,
    ) -> Course {
        if let Some(pipe) = &mut self.pipe {
            // What the trace counts are packets: its bandwidth is that of an IP path.
            let size: ByteCount = descriptor.mpdus.iter().map(|mpdu| mpdu.packet.size()).sum();
            let end = pipe.finish(start, size);
            let first_frame = end - start;
            return Course { ppdu_start: start, ppdu_end: end, end, first_frame, facts: 0, stretched: None };
        }
        let index = self.facts(rate);
        let facts = &self.rates[index];
        let sifs = self.config.control.band.sifs();
        let mut ppdu_start = start;
        if descriptor.psdu > self.config.rts_threshold {
            ppdu_start += facts.protection;
        }
        let (duration, stretched) = match quality {
            Quality::Phy(worth) => {
                (facts.timing.preamble() + worth.rate.time_for(descriptor.psdu), Some(worth.rate))
            }
            _ => (facts.timing.duration(descriptor.psdu), None),
        };
        let ppdu_end = ppdu_start + duration;
        let answer = if descriptor.aggregated { facts.block_ack } else { facts.ack };
        let first_frame = if descriptor.psdu > self.config.rts_threshold {
            control_frames::rts(self.config.control.rate_for(rate), self.config.control.band)
        } else {
            duration
        };
        Course { ppdu_start, ppdu_end, end: ppdu_end + sifs + answer, first_frame, facts: index, stretched }
    }

    /// How the PPDU of an exchange comes in.
    pub(crate) fn reception(&self, course: &Course) -> Reception {
        let facts = self.rates.get(course.facts).filter(|_| self.pipe.is_none());
        Reception {
            start: course.ppdu_start,
            end: course.ppdu_end,
            timing: facts.map(|facts| facts.timing),
            stretched: course.stretched,
        }
    }

    /// Which MPDUs get through, and whether their acknowledgement comes back.
    pub(crate) fn outcome(
        &mut self,
        descriptor: &TxDescriptor<Packet>,
        rate: Rate,
        quality: Quality,
        draws: &mut Stream,
    ) -> AckBitmap {
        let snr = match quality {
            _ if self.pipe.is_some() => return AckBitmap::first(descriptor.mpdus.len()),
            Quality::Perfect => return AckBitmap::first(descriptor.mpdus.len()),
            Quality::Phy(worth) if worth.loss == 0.0 => {
                return AckBitmap::first(descriptor.mpdus.len());
            }
            Quality::Phy(worth) => {
                let mut acknowledged = AckBitmap::NONE;
                for place in 0..descriptor.mpdus.len() {
                    if draws.unit() >= worth.loss {
                        acknowledged.set(place);
                    }
                }
                return acknowledged;
            }
            Quality::Snr(snr) => snr,
        };
        if snr < self.config.detection {
            return AckBitmap::NONE;
        }
        let index = self.facts(rate);
        let response = self.rates[index].response;
        let answer = if descriptor.aggregated { control_frames::BLOCK_ACK } else { control_frames::ACK };
        let answered = self.facts(response);
        if draws.unit() >= self.rates[answered].errors.mpdu_success(snr, answer) {
            // The answer is lost: to the transmitter nothing got through. The data counts as lost too (see the model's
            // limits in docs/simulator.md).
            return AckBitmap::NONE;
        }
        let index = self.facts(rate);
        let errors = &self.rates[index].errors;
        let mut acknowledged = AckBitmap::NONE;
        // MPDUs of one aggregate are mostly of one size: the curve is looked up once for each size.
        let (mut size, mut success) = (ByteCount::ZERO, 1.0);
        for (place, mpdu) in descriptor.mpdus.iter().enumerate() {
            if mpdu.size != size {
                size = mpdu.size;
                success = errors.mpdu_success(snr, size);
            }
            if success >= 1.0 || draws.unit() < success {
                acknowledged.set(place);
            }
        }
        acknowledged
    }
}

/// Where each MPDU of a descriptor ends within its PSDU.
pub(crate) fn mpdu_ends<P>(descriptor: &TxDescriptor<P>) -> impl Iterator<Item = ByteCount> + '_ {
    let delimiter = if descriptor.aggregated { DELIMITER } else { ByteCount::ZERO };
    // What a PSDU has beyond its subframes stands behind the first one.
    let plain = psdu_size(descriptor.mpdus.iter().map(|mpdu| mpdu.size));
    let mut extra = if descriptor.aggregated { descriptor.psdu - plain } else { ByteCount::ZERO };
    let mut end = ByteCount::ZERO;
    descriptor.mpdus.iter().map(move |mpdu| {
        // The delimiter stands in front of the MPDU, the padding behind it.
        let ends = end + delimiter + mpdu.size;
        end += subframe_size(mpdu.size) + std::mem::take(&mut extra);
        ends
    })
}
