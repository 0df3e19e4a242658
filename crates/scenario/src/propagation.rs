//! Propagation over the links of a scenario, and the airtime of a saturated access point for each aggregate.

use airbound_air::propagation::{LinkBudget, Propagation};
use airbound_air::trace::Saturation;
use airbound_units::{ByteCount, Span};
use airbound_wifi::edca::{Category, EdcaParameters};
use airbound_wifi::error::noise_floor;
use airbound_wifi::mpdu::{self, Protection};
use airbound_wifi::{Band, Format, GuardInterval, Legacy, Rate, timing};

use super::{Air, ChannelSpec, Edca, Path, Scenario, Station, TraceLink, TraceUse};

/// Size of the IP packets of bulk traffic.
const PACKET: ByteCount = ByteCount::new(1500);

impl Scenario {
    /// The trace that replaces the air, if any.
    #[must_use]
    pub fn pipe(&self) -> Option<&TraceLink> {
        self.stations.iter().find_map(|station| match &station.channel {
            ChannelSpec::Trace(link) if link.used_as == TraceUse::Pipe => Some(link),
            _ => None,
        })
    }
}

impl Station {
    /// Propagation between this station, number `link`, and the next node on its path to the access point; `path` is the
    /// access point's, to whose goodput a bandwidth trace refers.
    #[must_use]
    pub fn propagation(&self, air: &Air, path: &Path, seed: u64, link: u64) -> Propagation {
        let budget = LinkBudget {
            tx_power: air.tx_power,
            noise_floor: noise_floor(self.width, air.noise_figure),
            carrier_hertz: air.carrier_hertz(),
            saturation: self.saturation(air, path),
        };
        Propagation::new(&self.channel, &budget, seed, link)
    }

    /// Saturation with full-sized best-effort packets from the access point to this station, alone on the channel.
    #[must_use]
    pub fn saturation(&self, air: &Air, path: &Path) -> Saturation {
        let station = self;
        let protection = if air.encryption { Protection::Ccmp } else { Protection::Open };
        let rate = representative(station, air.band);
        let control = air.control();
        let contention = match air.edca {
            Edca::Linux => EdcaParameters::linux_access_point(Category::Be),
            Edca::Equal => EdcaParameters::linux_station(Category::Be),
            Edca::Dcf => EdcaParameters::dcf(),
        };
        let backoff = air.band.slot().mul_f64(f64::from(contention.cw_min) / 2.0);
        let answer = match station.standard {
            Format::Legacy => control.ack_for(rate),
            _ => control.block_ack_for(rate),
        };
        let exchange: Span = air.band.aifs(contention.aifsn) + backoff + air.band.sifs() + answer;
        Saturation {
            packet: PACKET,
            subframe: mpdu::subframe_size(mpdu::mpdu_of_packet(PACKET, protection)),
            limits: path.ampdu_limits(),
            preamble: timing::preamble(rate),
            exchange,
        }
    }
}

/// A rate of the station with all its streams, in the middle of its table, for preamble and acknowledgement.
fn representative(station: &Station, band: Band) -> Rate {
    let streams = station.streams;
    let (width, guard) = (station.width, GuardInterval::Ns800);
    let rate = match station.standard {
        Format::Legacy => None,
        Format::Ht => Rate::ht((streams.max(1) - 1) * 8 + 4, width, guard).ok(),
        Format::Vht => Rate::vht(4, streams, width, guard).ok(),
        Format::He => Rate::he(4, streams, width, guard).ok(),
    };
    rate.unwrap_or(band.legacy(Legacy::Mbps24))
}
