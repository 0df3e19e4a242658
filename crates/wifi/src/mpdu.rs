//! Sizes of MPDUs and PSDUs from those of packets.
//!
//! ```text
//! payload + UDP/TCP + IP           = packet (what Linux queues)
//! packet  + LLC/SNAP               = MSDU
//! MSDU    + MAC header [+ CCMP] + FCS = MPDU
//! delimiter + MPDU + padding to 4  = A-MPDU subframe
//! ```

use airbound_units::ByteCount;

/// MAC header of a QoS data frame with three addresses (9.3.2.1).
pub const QOS_DATA_HEADER: ByteCount = ByteCount::new(26);
/// MAC header of a data frame without QoS.
pub const DATA_HEADER: ByteCount = ByteCount::new(24);
/// Frame check sequence (9.2.4.8).
pub const FCS: ByteCount = ByteCount::new(4);
/// The optional HT Control field (9.2.4.6), which is not used.
pub const HT_CONTROL: ByteCount = ByteCount::new(4);
/// CCMP header and message integrity code (12.5.3.2).
pub const CCMP: ByteCount = ByteCount::new(16);
/// LLC and SNAP in front of the packet (RFC 1042).
pub const LLC_SNAP: ByteCount = ByteCount::new(8);
/// MPDU delimiter of an A-MPDU subframe (9.7.1).
pub const DELIMITER: ByteCount = ByteCount::new(4);
/// An A-MPDU subframe is padded to a multiple of this many bytes (9.7.1).
pub const SUBFRAME_ALIGNMENT: u64 = 4;
/// IPv4 header without options.
pub const IPV4_HEADER: ByteCount = ByteCount::new(20);
/// IPv6 header.
pub const IPV6_HEADER: ByteCount = ByteCount::new(40);
/// UDP header.
pub const UDP_HEADER: ByteCount = ByteCount::new(8);
/// TCP header without options.
pub const TCP_HEADER: ByteCount = ByteCount::new(20);
/// The timestamp option of TCP with its padding (RFC 7323 appendix A).
pub const TCP_TIMESTAMPS: ByteCount = ByteCount::new(12);

/// The largest MPDU in an A-MPDU of HT: the delimiter's length field has 12 bits.
pub const HT_MAX_MPDU: ByteCount = ByteCount::new(4_095);
/// The largest MPDU of VHT and HE (9.4.2.157.2).
pub const VHT_MAX_MPDU: ByteCount = ByteCount::new(11_454);

/// Whether frames are encrypted.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Protection {
    /// Unencrypted.
    #[default]
    Open,
    /// CCMP with 128 bits: 16 bytes more for each MPDU.
    Ccmp,
}

impl Protection {
    /// The bytes added to an MPDU.
    #[must_use]
    pub const fn overhead(self) -> ByteCount {
        match self {
            Self::Open => ByteCount::ZERO,
            Self::Ccmp => CCMP,
        }
    }
}

/// Size of the QoS data MPDU of an MSDU (LLC/SNAP included).
#[must_use]
pub fn mpdu_size(msdu: ByteCount, protection: Protection) -> ByteCount {
    QOS_DATA_HEADER + protection.overhead() + msdu + FCS
}

/// Size of the QoS data MPDU of an IP packet.
#[must_use]
pub fn mpdu_of_packet(packet: ByteCount, protection: Protection) -> ByteCount {
    mpdu_size(packet + LLC_SNAP, protection)
}

/// Size of the A-MPDU subframe of an MPDU, with delimiter and padding. The last subframe needs no padding; see [`psdu_size`].
#[must_use]
pub fn subframe_size(mpdu: ByteCount) -> ByteCount {
    (DELIMITER + mpdu).padded_to(SUBFRAME_ALIGNMENT)
}

/// Size of the PSDU of an aggregate of these MPDUs. A single MPDU has a delimiter, as VHT and HE require; HT sends it without.
/// The last subframe is not padded.
#[must_use]
pub fn psdu_size(mpdus: impl IntoIterator<Item = ByteCount>) -> ByteCount {
    mpdus
        .into_iter()
        .fold(ByteCount::ZERO, |psdu, mpdu| psdu.padded_to(SUBFRAME_ALIGNMENT) + DELIMITER + mpdu)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The MPDU of shared/ns3: 1470 B of payload.
    fn ns3_mpdu() -> ByteCount {
        mpdu_of_packet(ByteCount::new(1_470) + UDP_HEADER + IPV4_HEADER, Protection::Open)
    }

    #[test]
    fn a_packet_of_1470_bytes_makes_an_mpdu_of_1536() {
        assert_eq!(ns3_mpdu(), ByteCount::new(1_536));
        assert_eq!(subframe_size(ns3_mpdu()), ByteCount::new(1_540));
        assert_eq!(
            mpdu_of_packet(ByteCount::new(1_500), Protection::Ccmp),
            ByteCount::new(1_500 + 8 + 26 + 16 + 4)
        );
    }

    #[test]
    fn an_ht_aggregate_holds_42_of_them() {
        let fits = |count| psdu_size(std::iter::repeat_n(ns3_mpdu(), count)) <= ByteCount::new(65_535);
        assert!(fits(42) && !fits(43));
    }

    #[test]
    fn padding_lies_between_subframes_only() {
        let size = |mpdus: &[u64]| psdu_size(mpdus.iter().copied().map(ByteCount::new)).as_u64();
        assert_eq!(size(&[]), 0);
        assert_eq!(size(&[101]), 105);
        assert_eq!(size(&[101, 101]), 108 + 105);
        assert_eq!(size(&[100, 100]), 208);
    }
}
