//! How long an exchange takes and what of it gets through: the facts of `airbound-wifi`, by the rules of the simulator's air.

use std::collections::BTreeMap;

use airbound_air::propagation::LinkQuality;
use airbound_random::Stream;
use airbound_units::{ByteCount, Decibel, Span};
use airbound_wifi::Format;
use airbound_wifi::control_frames::{self, ControlTiming};
use airbound_wifi::error::ErrorTable;
use airbound_wifi::mpdu::{psdu_size, subframe_size};
use airbound_wifi::rate::Rate;
use airbound_wifi::timing::PpduTiming;

use super::queue::Mpdu;

/// Durations and errors.
#[derive(Debug)]
pub(crate) struct Phy {
    pub(crate) control: ControlTiming,
    /// A PSDU longer than this is announced by RTS and CTS.
    pub(crate) rts_threshold: ByteCount,
    /// Below this nobody notices a frame.
    pub(crate) detection: Decibel,
    tables: BTreeMap<(u32, u32), (Rate, ErrorTable)>,
}

/// The lengths of an exchange.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Course {
    /// From its beginning to the end of the PPDU.
    pub(crate) ppdu_end: Span,
    /// To the end of the acknowledgement.
    pub(crate) end: Span,
    /// Of its first frame, after which colliding transmitters are silent.
    pub(crate) first_frame: Span,
}

impl Phy {
    pub(crate) fn new(control: ControlTiming, rts_threshold: ByteCount, detection: Decibel) -> Self {
        Self { control, rts_threshold, detection, tables: BTreeMap::new() }
    }

    /// The bytes of a PSDU.
    pub(crate) fn psdu(mpdus: &[Mpdu], rate: Rate) -> ByteCount {
        match mpdus {
            // A single frame goes as it is: HT has no A-MPDU of one. All that VHT sends is an A-MPDU (802.11-2020, 10.12.7).
            [one] if matches!(rate.format(), Format::Legacy | Format::Ht) => one.size,
            many => psdu_size(many.iter().map(|mpdu| mpdu.size)),
        }
    }

    /// How long a PSDU with one MPDU more would last, and its bytes.
    pub(crate) fn with_another(&self, rate: Rate, bytes: ByteCount, next: &Mpdu) -> (ByteCount, Span) {
        let bytes = bytes + subframe_size(next.size);
        (bytes, PpduTiming::in_band(rate, self.control.band).duration(bytes))
    }

    pub(crate) fn course(&self, mpdus: &[Mpdu], rate: Rate, announced: bool) -> Course {
        let psdu = Self::psdu(mpdus, rate);
        let duration = PpduTiming::in_band(rate, self.control.band).duration(psdu);
        let protected = announced || psdu > self.rts_threshold;
        let before = if protected { self.control.protection_for(rate) } else { Span::ZERO };
        let first_frame = if protected {
            control_frames::rts(self.control.rate_for(rate), self.control.band)
        } else {
            duration
        };
        let ppdu_end = before + duration;
        let answer = match mpdus.first() {
            Some(first) if first.no_ack || first.is_group() => Span::ZERO,
            Some(_) if mpdus.len() > 1 => self.control.band.sifs() + self.control.block_ack_for(rate),
            _ => self.control.band.sifs() + self.control.ack_for(rate),
        };
        Course { ppdu_end, end: ppdu_end + answer, first_frame }
    }

    fn success(&mut self, rate: Rate, snr: Decibel, size: ByteCount) -> f64 {
        // Errors depend on modulation and coding only.
        let key = (rate.modulation().bits(), rate.coding().ratio().0 * 16 + rate.coding().ratio().1);
        let (_, table) = self.tables.entry(key).or_insert_with(|| (rate, ErrorTable::new(rate)));
        table.mpdu_success(snr, size)
    }

    /// Which MPDUs are acknowledged.
    pub(crate) fn outcome(
        &mut self,
        mpdus: &[Mpdu],
        rate: Rate,
        quality: LinkQuality,
        draws: &mut Stream,
    ) -> Vec<bool> {
        let snr = match quality {
            LinkQuality::Perfect => return vec![true; mpdus.len()],
            LinkQuality::Phy(_) => return vec![true; mpdus.len()],
            LinkQuality::Snr(snr) => snr,
        };
        if snr < self.detection {
            return vec![false; mpdus.len()];
        }
        let answer = if mpdus.len() > 1 { control_frames::BLOCK_ACK } else { control_frames::ACK };
        let response = Rate::legacy(self.control.rate_for(rate));
        if draws.unit() >= self.success(response, snr, answer) {
            return vec![false; mpdus.len()];
        }
        mpdus.iter().map(|mpdu| draws.unit() < self.success(rate, snr, mpdu.size)).collect()
    }
}
