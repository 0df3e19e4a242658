//! Duration of a frame exchange, and its capacity in MPDUs.

use airbound_scenario::{Air, Edca, Path};
use airbound_units::ByteCount;
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::control_frames::ControlTiming;
use airbound_wifi::mpdu::{self, Protection};
use airbound_wifi::{Category, EdcaParameters, Format, PpduTiming};

use crate::link::Link;

/// Parameters common to all exchanges of a network. Times are in seconds, since they enter means and variances.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Medium {
    control: ControlTiming,
    protection: Protection,
    rts_above: Option<ByteCount>,
    edca: Edca,
    pub(crate) slot: f64,
    /// Duration of a collision beyond its longest frame.
    pub(crate) collision_pause: f64,
}

/// The exchanges of one link, from the start of RTS or PPDU to the end of the acknowledgement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    link: Link,
    timing: PpduTiming,
    /// Bytes of an A-MPDU subframe.
    subframe: f64,
    /// Duration of SIFS and acknowledgement, RTS and CTS.
    overhead: f64,
    /// Limit of MPDUs.
    pub(crate) most: f64,
}

impl Medium {
    pub(crate) fn of(air: &Air) -> Self {
        let control = air.control();
        let eifs = air.band.eifs().saturating_sub(air.band.difs());
        Self {
            control,
            protection: if air.encryption { Protection::Ccmp } else { Protection::Open },
            rts_above: air.rts_threshold,
            edca: air.edca,
            slot: air.band.slot().as_secs_f64(),
            collision_pause: if air.eifs { eifs.as_secs_f64() } else { 0.0 },
        }
    }

    /// The contention parameters of the access point or of a station.
    pub(crate) fn parameters(&self, category: Category, is_access_point: bool) -> EdcaParameters {
        match self.edca {
            Edca::Linux if is_access_point => EdcaParameters::linux_access_point(category),
            Edca::Linux | Edca::Equal => EdcaParameters::linux_station(category),
            Edca::Dcf => EdcaParameters::dcf(),
        }
    }

    pub(crate) fn aifs(&self, parameters: &EdcaParameters) -> f64 {
        self.control.band.aifs(parameters.aifsn).as_secs_f64()
    }

    /// Exchanges of packets of one size over a link, by a transmitter with this path.
    pub(crate) fn exchange(&self, link: Link, packet: ByteCount, limits: AmpduLimits) -> Exchange {
        let timing = PpduTiming::in_band(link.rate, self.control.band);
        let mpdu = mpdu::mpdu_of_packet(packet, self.protection);
        let subframe = mpdu::subframe_size(mpdu).as_u64() as f64;
        let legacy = link.rate.format() == Format::Legacy;
        let limits = limits.and(AmpduLimits::of(link.rate.format()));
        let answer = if legacy || limits.max_mpdus <= 1 {
            self.control.ack_for(link.rate)
        } else {
            self.control.block_ack_for(link.rate)
        };
        let protected = self.rts_above.is_some_and(|above| mpdu > above);
        let rts = if protected { self.control.protection_for(link.rate).as_secs_f64() } else { 0.0 };
        let mut exchange = Exchange {
            link,
            timing,
            subframe,
            overhead: rts + (self.control.band.sifs() + answer).as_secs_f64(),
            most: 1.0,
        };
        // The longest PPDU bounds the bytes, at a rate of the standard or of a trace.
        let room = limits.max_duration.saturating_sub(timing.preamble()).as_secs_f64();
        let by_time = room * link.bit_rate().as_bps() as f64 / 8.0 / subframe;
        let by_bytes = limits.max_bytes.as_u64() as f64 / subframe;
        exchange.most = by_time.min(by_bytes).min(f64::from(limits.max_mpdus)).floor().max(1.0);
        exchange
    }
}

/// The limits of a path.
pub(crate) fn limits(path: &Path) -> AmpduLimits {
    let mut limits = path.ampdu_limits();
    limits.max_mpdus = limits.max_mpdus.min(u32::from(path.block_ack_window));
    limits
}

impl Exchange {
    /// Duration with a number of MPDUs, seconds.
    pub(crate) fn duration(&self, mpdus: f64) -> f64 {
        self.link.ppdu(&self.timing, self.subframe * mpdus.max(1.0)) + self.overhead
    }

    /// The same exchange with the success probability of another link.
    pub(crate) fn over(self, link: Link) -> Self {
        Self { link, ..self }
    }

    /// The probability that an MPDU is received, at least a thousandth.
    pub(crate) fn success(&self) -> f64 {
        self.link.success.max(0.001)
    }

    /// New MPDUs of a full aggregate, which also holds retransmissions.
    pub(crate) fn fresh(&self) -> f64 {
        (self.most * self.success()).max(0.001)
    }
}
