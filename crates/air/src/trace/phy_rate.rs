//! The PHY rate that corresponds to a measured goodput.

use airbound_units::{BitRate, ByteCount, Span};
use airbound_wifi::ampdu::AmpduLimits;

/// Overhead of a saturated transmitter per aggregate, which relates PHY rate and goodput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Saturation {
    /// Size of the IP packet, which counts as goodput.
    pub packet: ByteCount,
    /// Size of its A-MPDU subframe.
    pub subframe: ByteCount,
    /// Limits of an aggregate.
    pub limits: AmpduLimits,
    /// Preamble of the PPDU.
    pub preamble: Span,
    /// The rest of an exchange: AIFS and mean backoff, SIFS and BlockAck.
    pub exchange: Span,
}

/// The quality of a link at which a saturated transmitter has a goodput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PhyQuality {
    /// The PHY rate, not limited to those of the standard.
    pub rate: BitRate,
    /// The probability that an MPDU is lost, 0 to 1. It is above zero only if the goodput is below that of the slowest rate at which a
    /// packet fits into a PPDU; 1 is an outage.
    pub loss: f64,
}

impl PhyQuality {
    /// An outage.
    #[must_use]
    pub const fn outage(rate: BitRate) -> Self {
        Self { rate, loss: 1.0 }
    }

    /// Whether it is an outage.
    #[must_use]
    pub fn is_outage(&self) -> bool {
        self.loss >= 1.0
    }
}

/// Upper bound of PHY rates; 802.11ax with four streams has 4.8 Gbit/s.
const FASTEST: BitRate = BitRate::from_mbps(20_000);

impl Saturation {
    /// MPDUs of a full aggregate at a rate.
    fn mpdus(&self, bps: f64) -> f64 {
        let air = (self.limits.max_duration - self.preamble).as_secs_f64();
        let by_time = air * bps / self.subframe.bits() as f64;
        let by_size = self.limits.max_bytes.as_u64() / self.subframe.as_u64().max(1);
        let most = by_time.min(by_size as f64).min(f64::from(self.limits.max_mpdus));
        most.floor().max(1.0)
    }

    /// The goodput in IP packets of a saturated transmitter without losses, which increases with the PHY rate.
    #[must_use]
    pub fn goodput(&self, rate: BitRate) -> BitRate {
        BitRate::from_bps_f64(self.goodput_bps(rate.as_bps() as f64))
    }

    fn goodput_bps(&self, bps: f64) -> f64 {
        if bps <= 0.0 {
            return 0.0;
        }
        let mpdus = self.mpdus(bps);
        let data = mpdus * self.subframe.bits() as f64 / bps;
        let overhead = (self.preamble + self.exchange).as_secs_f64();
        mpdus * self.packet.bits() as f64 / (data + overhead)
    }

    /// The lowest PHY rate at which a packet fits into the longest PPDU.
    #[must_use]
    pub fn slowest_rate(&self) -> BitRate {
        let air = (self.limits.max_duration - self.preamble).as_nanos().max(1);
        BitRate::from_bps((self.subframe.bits().saturating_mul(1_000_000_000)).div_ceil(air))
    }

    /// The quality of a link for `goodput`: the lowest PHY rate that reaches it, or losses at the lowest usable rate if the goodput is
    /// below that rate's. A goodput that no rate reaches gives the highest rate.
    #[must_use]
    pub fn quality_for(&self, goodput: BitRate) -> PhyQuality {
        let slowest = self.slowest_rate().min(FASTEST);
        if goodput.is_zero() {
            return PhyQuality::outage(slowest);
        }
        let wanted = goodput.as_bps() as f64;
        let at_slowest = self.goodput_bps(slowest.as_bps() as f64);
        if wanted <= at_slowest {
            return PhyQuality { rate: slowest, loss: 1.0 - wanted / at_slowest };
        }
        let (mut low, mut high) = (slowest.as_bps(), FASTEST.as_bps());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if self.goodput_bps(middle as f64) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        PhyQuality { rate: BitRate::from_bps(high), loss: 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vht80() -> Saturation {
        Saturation {
            packet: ByteCount::new(1498),
            subframe: ByteCount::new(1540),
            limits: AmpduLimits::vht(),
            preamble: Span::from_micros(40),
            // AIFS 43 us, mean backoff 67.5 us, SIFS 16 us, BlockAck at 24 Mbit/s 32 us.
            exchange: Span::from_nanos(158_500),
        }
    }

    #[test]
    fn goodput_matches_ns3_at_780() {
        // ns-3: 620.1 Mbit/s of UDP payload, 1470 B of each packet's 1498 B (vht_udp-apt.csv, n = 1, saturated).
        let payload = vht80().goodput(BitRate::from_mbps(780)).as_mbps_f64() * 1470.0 / 1498.0;
        assert!((payload - 620.1).abs() < 0.01 * 620.1, "{payload}");
    }

    #[test]
    fn inverse_of_goodput() {
        let saturation = vht80();
        for kbps in [3_000, 7_000, 20_590, 41_119, 100_000, 400_000, 600_000] {
            let wanted = BitRate::from_kbps(kbps);
            let quality = saturation.quality_for(wanted);
            assert_eq!(quality.loss, 0.0);
            let reached = saturation.goodput(quality.rate);
            // One more MPDU is at most half of the aggregate at 3 Mbit/s; the result is not below the target.
            assert!(reached >= wanted, "{reached} for {wanted}");
            let slower = BitRate::from_bps(quality.rate.as_bps() - 1);
            assert!(saturation.goodput(slower) <= wanted);
        }
    }

    #[test]
    fn little_goodput_is_loss_and_none_is_an_outage() {
        let saturation = vht80();
        assert!(saturation.quality_for(BitRate::ZERO).is_outage());
        let quality = saturation.quality_for(BitRate::from_kbps(100));
        assert_eq!(quality.rate, saturation.slowest_rate());
        let mean = saturation.goodput(quality.rate).as_bps() as f64 * (1.0 - quality.loss);
        assert!((mean - 100_000.0).abs() < 1.0, "{mean}");
    }
}
