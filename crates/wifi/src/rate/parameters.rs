//! Parameters of a rate: width, guard interval, modulation, code rate; and the legacy rates, which have names.

use airbound_units::{BitRate, Span};

/// The width of the channel that a PPDU occupies.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// 10 MHz: legacy OFDM at half the clock (802.11p).
    Mhz10,
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz in one piece.
    Mhz160,
}

impl Width {
    /// Every width, narrowest first.
    pub const ALL: [Self; 5] = [Self::Mhz10, Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160];

    /// The width in MHz.
    #[must_use]
    pub const fn megahertz(self) -> u32 {
        match self {
            Self::Mhz10 => 10,
            Self::Mhz20 => 20,
            Self::Mhz40 => 40,
            Self::Mhz80 => 80,
            Self::Mhz160 => 160,
        }
    }
}

/// The pause before each OFDM symbol that keeps echoes of the last one out.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum GuardInterval {
    /// 400 ns: the short interval of HT and VHT.
    Ns400,
    /// 800 ns: the long interval of HT and VHT, the only one of legacy OFDM, the shortest of HE.
    Ns800,
    /// 1600 ns: HE, and legacy OFDM at 10 MHz.
    Ns1600,
    /// 3200 ns: HE.
    Ns3200,
}

impl GuardInterval {
    /// Its length.
    #[must_use]
    pub const fn span(self) -> Span {
        Span::from_nanos(match self {
            Self::Ns400 => 400,
            Self::Ns800 => 800,
            Self::Ns1600 => 1600,
            Self::Ns3200 => 3200,
        })
    }
}

/// Mapping of bits to the constellation points of one subcarrier.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Modulation {
    /// 1 bit.
    Bpsk,
    /// 2 bits.
    Qpsk,
    /// 4 bits.
    Qam16,
    /// 6 bits.
    Qam64,
    /// 8 bits.
    Qam256,
    /// 10 bits.
    Qam1024,
}

impl Modulation {
    /// Coded bits that one subcarrier carries in one symbol (N_BPSCS).
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Bpsk => 1,
            Self::Qpsk => 2,
            Self::Qam16 => 4,
            Self::Qam64 => 6,
            Self::Qam256 => 8,
            Self::Qam1024 => 10,
        }
    }
}

/// The code rate: data bits for each coded bit.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Coding {
    /// 1/2.
    Half,
    /// 2/3.
    TwoThirds,
    /// 3/4.
    ThreeQuarters,
    /// 5/6.
    FiveSixths,
}

impl Coding {
    /// Numerator and denominator.
    #[must_use]
    pub const fn ratio(self) -> (u32, u32) {
        match self {
            Self::Half => (1, 2),
            Self::TwoThirds => (2, 3),
            Self::ThreeQuarters => (3, 4),
            Self::FiveSixths => (5, 6),
        }
    }
}

/// The eight rates of legacy OFDM, by their names at 20 MHz (Table 17-4). At 10 MHz each is half as fast.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Legacy {
    /// 6 Mbit/s, mandatory.
    Mbps6,
    /// 9 Mbit/s.
    Mbps9,
    /// 12 Mbit/s, mandatory.
    Mbps12,
    /// 18 Mbit/s.
    Mbps18,
    /// 24 Mbit/s, mandatory.
    Mbps24,
    /// 36 Mbit/s.
    Mbps36,
    /// 48 Mbit/s.
    Mbps48,
    /// 54 Mbit/s.
    Mbps54,
}

impl Legacy {
    /// All eight, slowest first.
    pub const ALL: [Self; 8] = [
        Self::Mbps6,
        Self::Mbps9,
        Self::Mbps12,
        Self::Mbps18,
        Self::Mbps24,
        Self::Mbps36,
        Self::Mbps48,
        Self::Mbps54,
    ];

    /// The rate at 20 MHz as a number.
    #[must_use]
    pub const fn bit_rate(self) -> BitRate {
        BitRate::from_mbps(self.megabits())
    }

    pub(super) const fn megabits(self) -> u64 {
        match self {
            Self::Mbps6 => 6,
            Self::Mbps9 => 9,
            Self::Mbps12 => 12,
            Self::Mbps18 => 18,
            Self::Mbps24 => 24,
            Self::Mbps36 => 36,
            Self::Mbps48 => 48,
            Self::Mbps54 => 54,
        }
    }

    pub(super) const fn scheme(self) -> (Modulation, Coding) {
        match self {
            Self::Mbps6 => (Modulation::Bpsk, Coding::Half),
            Self::Mbps9 => (Modulation::Bpsk, Coding::ThreeQuarters),
            Self::Mbps12 => (Modulation::Qpsk, Coding::Half),
            Self::Mbps18 => (Modulation::Qpsk, Coding::ThreeQuarters),
            Self::Mbps24 => (Modulation::Qam16, Coding::Half),
            Self::Mbps36 => (Modulation::Qam16, Coding::ThreeQuarters),
            Self::Mbps48 => (Modulation::Qam64, Coding::TwoThirds),
            Self::Mbps54 => (Modulation::Qam64, Coding::ThreeQuarters),
        }
    }
}
