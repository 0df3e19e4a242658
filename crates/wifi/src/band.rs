//! Bands, and the times that depend only on them.

use airbound_units::Span;

use crate::rate::{Legacy, Rate};

/// The frequency band, which decides slot, SIFS and the clock of control frames.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Band {
    /// 2.4 GHz with OFDM stations only, hence with short slots (clause 18).
    Ghz2,
    /// 5 GHz, and 6 GHz, which has the same times.
    #[default]
    Ghz5,
    /// 5.9 GHz with channels of 10 MHz and legacy OFDM at half the clock (802.11p, column 10 MHz of table 17-21).
    Ghz59,
}

impl Band {
    /// aSlotTime: 9 us, 13 us with channels of 10 MHz (table 17-21; in 2.4 GHz the short slot of table 18-5).
    #[must_use]
    pub const fn slot(self) -> Span {
        match self {
            Self::Ghz2 | Self::Ghz5 => Span::from_micros(9),
            Self::Ghz59 => Span::from_micros(13),
        }
    }

    /// aSIFSTime: 16 us in 5 GHz, 32 us with channels of 10 MHz (table 17-21), 10 us in 2.4 GHz (table 18-5).
    #[must_use]
    pub const fn sifs(self) -> Span {
        match self {
            Self::Ghz2 => Span::from_micros(10),
            Self::Ghz5 => Span::from_micros(16),
            Self::Ghz59 => Span::from_micros(32),
        }
    }

    /// SIFS and two slots (10.3.7).
    #[must_use]
    pub fn difs(self) -> Span {
        self.aifs(2)
    }

    /// SIFS and `aifsn` slots (10.3.2.3.6).
    #[must_use]
    pub fn aifs(self, aifsn: u8) -> Span {
        self.sifs() + self.slot() * u64::from(aifsn)
    }

    /// A legacy OFDM rate on the channels of this band, by its name at 20 MHz.
    #[must_use]
    pub const fn legacy(self, rate: Legacy) -> Rate {
        match self {
            Self::Ghz2 | Self::Ghz5 => Rate::legacy(rate),
            Self::Ghz59 => Rate::half_clocked(rate),
        }
    }

    /// aRxPHYStartDelay of legacy OFDM: a receiver indicates a PPDU 20 us after its start, 40 us with channels of 10 MHz (table
    /// 17-21).
    #[must_use]
    pub const fn phy_start_delay(self) -> Span {
        match self {
            Self::Ghz2 | Self::Ghz5 => Span::from_micros(20),
            Self::Ghz59 => Span::from_micros(40),
        }
    }

    /// Time after its frame within which a sender expects the start of the response: SIFS, a slot and aRxPHYStartDelay
    /// (10.3.2.11).
    #[must_use]
    pub fn response_timeout(self) -> Span {
        self.sifs() + self.slot() + self.phy_start_delay()
    }
}
