//! EIFS, and control frames: RTS, CTS, ACK and BlockAck.

use airbound_units::{ByteCount, Span};

use crate::band::Band;
use crate::rate::{Coding, Legacy, Modulation, Rate};
use crate::timing::PpduTiming;

impl Band {
    /// EIFS, the space after a frame that could not be decoded: SIFS, an ACK at the lowest mandatory rate, DIFS (10.3.7).
    #[must_use]
    pub fn eifs(self) -> Span {
        self.sifs() + ack(Legacy::Mbps6, self) + self.difs()
    }

    /// EIFS of a category with `aifsn`: [`Band::eifs`] with AIFS for DIFS.
    #[must_use]
    pub fn eifs_with(self, aifsn: u8) -> Span {
        self.sifs() + ack(Legacy::Mbps6, self) + self.aifs(aifsn)
    }
}

/// An ACK frame (9.3.1.4).
pub const ACK: ByteCount = ByteCount::new(14);
/// A CTS frame (9.3.1.3).
pub const CTS: ByteCount = ByteCount::new(14);
/// An RTS frame (9.3.1.2).
pub const RTS: ByteCount = ByteCount::new(20);
/// A compressed BlockAck with a bitmap of 64 MPDUs (9.3.1.8.2).
pub const BLOCK_ACK: ByteCount = ByteCount::new(32);
/// A compressed BlockAck with a bitmap of 256 MPDUs (HE).
pub const BLOCK_ACK_256: ByteCount = ByteCount::new(56);
/// A compressed BlockAckReq (9.3.1.7.2).
pub const BLOCK_ACK_REQUEST: ByteCount = ByteCount::new(24);

/// Returns the duration of a control frame of `size`.
#[must_use]
pub fn duration(size: ByteCount, rate: Legacy, band: Band) -> Span {
    PpduTiming::in_band(band.legacy(rate), band).duration(size)
}

/// Returns the duration of an ACK.
#[must_use]
pub fn ack(rate: Legacy, band: Band) -> Span {
    duration(ACK, rate, band)
}

/// Returns the duration of a compressed BlockAck of 64 MPDUs.
#[must_use]
pub fn block_ack(rate: Legacy, band: Band) -> Span {
    duration(BLOCK_ACK, rate, band)
}

/// Returns the duration of a compressed BlockAckReq.
#[must_use]
pub fn block_ack_request(rate: Legacy, band: Band) -> Span {
    duration(BLOCK_ACK_REQUEST, rate, band)
}

/// Returns the duration of an RTS.
#[must_use]
pub fn rts(rate: Legacy, band: Band) -> Span {
    duration(RTS, rate, band)
}

/// Returns the duration of a CTS.
#[must_use]
pub fn cts(rate: Legacy, band: Band) -> Span {
    duration(CTS, rate, band)
}

/// The non-HT reference rate of a rate, from which the response rate is chosen: that of the same modulation and code rate,
/// 54 Mbit/s for faster ones (10.6.11, table 10-10).
#[must_use]
pub fn reference_rate(rate: Rate) -> Legacy {
    if let Some(legacy) = rate.as_legacy() {
        return legacy;
    }
    match (rate.modulation(), rate.coding()) {
        (Modulation::Bpsk, Coding::Half) => Legacy::Mbps6,
        (Modulation::Bpsk, _) => Legacy::Mbps9,
        (Modulation::Qpsk, Coding::Half) => Legacy::Mbps12,
        (Modulation::Qpsk, _) => Legacy::Mbps18,
        (Modulation::Qam16, Coding::Half) => Legacy::Mbps24,
        (Modulation::Qam16, _) => Legacy::Mbps36,
        (Modulation::Qam64, Coding::Half | Coding::TwoThirds) => Legacy::Mbps48,
        _ => Legacy::Mbps54,
    }
}

/// The BSS basic rate set: legacy rates that every station of a network can receive.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Basic(u8);

impl Basic {
    /// The mandatory rates of OFDM: 6, 12 and 24 Mbit/s (17.2.3.4).
    pub const MANDATORY: Self = Self::of(&[Legacy::Mbps6, Legacy::Mbps12, Legacy::Mbps24]);

    /// The set of these rates.
    #[must_use]
    pub const fn of(rates: &[Legacy]) -> Self {
        let mut bits = 0;
        let mut rest = rates;
        while let [first, others @ ..] = rest {
            bits |= 1 << (*first as u8);
            rest = others;
        }
        Self(bits)
    }

    /// Whether a rate is in the set.
    #[must_use]
    pub const fn contains(self, rate: Legacy) -> bool {
        self.0 & (1 << (rate as u8)) != 0
    }

    /// The rate of the ACK or BlockAck of a frame at `rate`: the fastest of the set that is not above its reference rate; if
    /// there is none, the fastest mandatory rate not above it (10.6.6.5.2).
    #[must_use]
    pub fn response_rate(self, rate: Rate) -> Legacy {
        let limit = reference_rate(rate);
        let fastest_of =
            |set: Self| Legacy::ALL.into_iter().rev().find(|known| *known <= limit && set.contains(*known));
        fastest_of(self).or_else(|| fastest_of(Self::MANDATORY)).unwrap_or(Legacy::Mbps6)
    }
}

impl Default for Basic {
    fn default() -> Self {
        Self::MANDATORY
    }
}

/// Band and rates of a network's control frames.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ControlTiming {
    /// The band.
    pub band: Band,
    /// The basic rates, from which the response rate follows.
    pub basic: Basic,
    /// A fixed rate of all control frames, instead of the rule.
    pub fixed: Option<Legacy>,
}

impl ControlTiming {
    /// The rate of control frames before and after a frame at `rate`.
    #[must_use]
    pub fn rate_for(&self, rate: Rate) -> Legacy {
        self.fixed.unwrap_or_else(|| self.basic.response_rate(rate))
    }

    /// Returns the duration of the ACK of a frame at `rate`.
    #[must_use]
    pub fn ack_for(&self, rate: Rate) -> Span {
        ack(self.rate_for(rate), self.band)
    }

    /// Returns the duration of the BlockAck of an A-MPDU at `rate`.
    #[must_use]
    pub fn block_ack_for(&self, rate: Rate) -> Span {
        block_ack(self.rate_for(rate), self.band)
    }

    /// The duration of RTS and CTS, each followed by SIFS, before a frame at `rate`.
    #[must_use]
    pub fn protection_for(&self, rate: Rate) -> Span {
        let control = self.rate_for(rate);
        rts(control, self.band) + cts(control, self.band) + self.band.sifs() * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::{GuardInterval, Width};

    #[test]
    fn spaces_of_the_five_ghz_band() {
        let band = Band::Ghz5;
        assert_eq!(band.difs(), Span::from_micros(34));
        assert_eq!(band.aifs(3), Span::from_micros(43));
        assert_eq!(band.aifs(7), Span::from_micros(79));
        assert_eq!(band.eifs(), Span::from_micros(94));
        assert_eq!(band.eifs_with(3), Span::from_micros(103));
        assert_eq!(band.response_timeout(), Span::from_micros(45));
    }

    #[test]
    fn spaces_of_the_two_ghz_band() {
        assert_eq!(Band::Ghz2.difs(), Span::from_micros(28));
        // The ACK includes the signal extension.
        assert_eq!(ack(Legacy::Mbps24, Band::Ghz2), Span::from_micros(34));
    }

    #[test]
    fn times_of_a_channel_of_ten_megahertz() {
        let band = Band::Ghz59;
        let micros = |span: Span| span.as_micros();
        assert_eq!(micros(band.difs()), 32 + 2 * 13);
        assert_eq!(micros(band.response_timeout()), 32 + 13 + 40);
        // 134 bits of service, ACK and tail: at 24, 48 and 96 bits in symbols of 8 us after a preamble of 40 us.
        assert_eq!(micros(ack(Legacy::Mbps6, band)), 40 + 6 * 8);
        assert_eq!(micros(ack(Legacy::Mbps12, band)), 40 + 3 * 8);
        assert_eq!(micros(ack(Legacy::Mbps24, band)), 40 + 2 * 8);
        assert_eq!(micros(band.eifs()), 32 + 88 + 58);
        // 27 Mbit/s is answered at 12 Mbit/s, the half-clocked 24 Mbit/s.
        let timing = ControlTiming { band, ..ControlTiming::default() };
        let fastest = Rate::half_clocked(Legacy::Mbps54);
        assert_eq!(micros(timing.ack_for(fastest)), 56);
        assert_eq!(micros(timing.protection_for(fastest)), (40 + 2 * 8) * 2 + 64);
    }

    #[test]
    fn durations_of_control_frames() {
        let micros = |span: Span| span.as_micros();
        assert_eq!(micros(ack(Legacy::Mbps6, Band::Ghz5)), 44);
        assert_eq!(micros(ack(Legacy::Mbps12, Band::Ghz5)), 32);
        assert_eq!(micros(ack(Legacy::Mbps24, Band::Ghz5)), 28);
        assert_eq!(micros(block_ack(Legacy::Mbps6, Band::Ghz5)), 68);
        assert_eq!(micros(block_ack(Legacy::Mbps12, Band::Ghz5)), 44);
        assert_eq!(micros(block_ack(Legacy::Mbps24, Band::Ghz5)), 32);
        assert_eq!(micros(rts(Legacy::Mbps6, Band::Ghz5)), 52);
        assert_eq!(micros(rts(Legacy::Mbps24, Band::Ghz5)), 28);
        assert_eq!(micros(cts(Legacy::Mbps24, Band::Ghz5)), 28);
        assert_eq!(micros(block_ack_request(Legacy::Mbps24, Band::Ghz5)), 32);
    }

    #[test]
    fn the_response_is_the_fastest_basic_rate_below() {
        let basic = Basic::MANDATORY;
        let expected = [6, 6, 12, 12, 24, 24, 24, 24];
        for (data, response) in Legacy::ALL.into_iter().zip(expected) {
            assert_eq!(basic.response_rate(Rate::legacy(data)).bit_rate().as_mbps_f64(), f64::from(response));
        }
        let only_slow = Basic::of(&[Legacy::Mbps6]);
        assert_eq!(only_slow.response_rate(Rate::legacy(Legacy::Mbps54)), Legacy::Mbps6);
        // No rate of the set is low enough, so a mandatory rate is used.
        let only_fast = Basic::of(&[Legacy::Mbps54]);
        assert_eq!(only_fast.response_rate(Rate::legacy(Legacy::Mbps36)), Legacy::Mbps24);
    }

    #[test]
    fn responses_to_newer_formats_follow_the_modulation() {
        let ht = |index| Rate::ht(index, Width::Mhz20, GuardInterval::Ns800).unwrap();
        let references: Vec<Legacy> = (0..8).map(|index| reference_rate(ht(index))).collect();
        assert_eq!(
            references,
            [
                Legacy::Mbps6,
                Legacy::Mbps12,
                Legacy::Mbps18,
                Legacy::Mbps24,
                Legacy::Mbps36,
                Legacy::Mbps48,
                Legacy::Mbps54,
                Legacy::Mbps54
            ]
        );
        let timing = ControlTiming::default();
        assert_eq!(timing.rate_for(ht(9)), Legacy::Mbps12);
        assert_eq!(ControlTiming { fixed: Some(Legacy::Mbps6), ..timing }.rate_for(ht(15)), Legacy::Mbps6);
    }
}
