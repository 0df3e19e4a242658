//! The rates of a station in groups, and the duration of an average packet at each.

use std::sync::Arc;

use airbound_wifi::rate::{Format, Legacy, Rate};

use crate::error::ConfigError;
use crate::rate::{Capabilities, RateSet};

/// Slots in a group, one for each MCS. The kernel has 10 (`MCS_GROUP_RATES`); HE has 12.
pub(super) const SLOTS: usize = 12;

/// Size in bytes of the packet for which durations are computed (`AVG_PKT_SIZE`).
pub(super) const AVERAGE_PACKET: u32 = 1_200;

/// Packets in the aggregate for which a duration is averaged (`AVG_AMPDU_SIZE`).
const AVERAGE_AMPDU: u32 = 16;

/// A rate by group and slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RateId(u16);

impl RateId {
    /// The absence of a rate.
    pub(super) const NONE: Self = Self(u16::MAX);

    pub(super) const fn new(group: usize, slot: usize) -> Self {
        Self(((group as u16) << 4) | (slot as u16 & 0xf))
    }

    pub(super) const fn group(self) -> usize {
        (self.0 >> 4) as usize
    }

    pub(super) const fn slot(self) -> usize {
        (self.0 & 0xf) as usize
    }
}

/// Rates of one format, width, guard interval and number of streams.
#[derive(Debug, Clone)]
pub(super) struct Group {
    pub(super) streams: u8,
    /// Sent without aggregation.
    pub(super) legacy: bool,
    /// Nanoseconds for an average packet, by slot; `None` if the station lacks the rate.
    slots: [Option<(Rate, u32)>; SLOTS],
    /// The slowest rate.
    pub(super) first: RateId,
}

impl Group {
    /// Occupied slots, ascending, each with its duration in ns.
    pub(super) fn durations(&self) -> impl DoubleEndedIterator<Item = (usize, u32)> + '_ {
        self.slots.iter().enumerate().filter_map(|(slot, held)| held.map(|(_, duration)| (slot, duration)))
    }

    pub(super) fn holds(&self, slot: usize) -> bool {
        self.slots.get(slot).is_some_and(Option::is_some)
    }
}

/// All groups of a station, in the order of `minstrel_mcs_groups`: HT, legacy, VHT (and HE, which the kernel lacks),
/// each by width, guard interval (long first) and streams. Never empty.
#[derive(Debug, Clone)]
pub(super) struct RateTable {
    pub(super) groups: Vec<Group>,
    /// For lookup, sorted by rate.
    by_rate: Vec<(Rate, RateId)>,
    /// The initial best rate: the slowest of the most modern format.
    pub(super) start: RateId,
    start_rate: Rate,
}

/// The tables of all capabilities seen, which the rate controls of a scenario and their stations share.
#[derive(Debug, Clone, Default)]
pub struct RateTables(Vec<(Capabilities, Arc<RateTable>)>);

impl RateTables {
    pub(super) fn of(&mut self, capabilities: &Capabilities) -> Result<Arc<RateTable>, ConfigError> {
        if let Some((_, table)) = self.0.iter().find(|(known, _)| known == capabilities) {
            return Ok(Arc::clone(table));
        }
        let table = Arc::new(RateTable::new(&capabilities.rate_set()?));
        self.0.push((capabilities.clone(), Arc::clone(&table)));
        Ok(table)
    }
}

/// Rank of a format in the order of groups.
const fn rank(format: Format) -> u8 {
    match format {
        Format::Ht => 0,
        Format::Legacy => 1,
        Format::Vht => 2,
        Format::He => 3,
    }
}

impl RateTable {
    pub(super) fn new(set: &RateSet) -> Self {
        let key = |rate: &Rate| {
            let guard = std::cmp::Reverse(rate.guard_interval());
            (rank(rate.format()), rate.width(), guard, rate.streams())
        };
        let mut sorted = set.as_slice().to_vec();
        sorted.sort_by_cached_key(|rate| (key(rate), rate.mcs_of_stream()));
        let mut groups = Vec::new();
        let mut by_rate = Vec::new();
        for rates in sorted.chunk_by(|left, right| key(left) == key(right)) {
            let Some(slowest) = rates.first() else { continue };
            let first = RateId::new(groups.len(), usize::from(slowest.mcs_of_stream()));
            let shift = group_shift(average_duration(*slowest));
            let mut group = Group {
                streams: slowest.streams(),
                legacy: slowest.format() == Format::Legacy,
                slots: [None; SLOTS],
                first,
            };
            for &rate in rates {
                let slot = usize::from(rate.mcs_of_stream());
                if let Some(place) = group.slots.get_mut(slot) {
                    *place = Some((rate, average_duration(rate) >> shift << shift));
                    by_rate.push((rate, RateId::new(groups.len(), slot)));
                }
            }
            groups.push(group);
        }
        by_rate.sort_by_key(|(rate, _)| *rate);
        // The first group of the most modern format; legacy rates only if there is nothing else.
        let age = |format: Format| if format == Format::Legacy { 0 } else { 1 + rank(format) };
        let (start_rate, start) = by_rate
            .iter()
            .copied()
            .min_by_key(|(rate, id)| (std::cmp::Reverse(age(rate.format())), id.group(), id.slot()))
            .unwrap_or((Rate::legacy(Legacy::Mbps6), RateId::new(0, 0)));
        Self { groups, by_rate, start, start_rate }
    }

    /// Group and slot of a rate; `None` if the station lacks it.
    pub(super) fn id_of(&self, rate: Rate) -> Option<RateId> {
        let index = self.by_rate.binary_search_by_key(&rate, |(known, _)| *known).ok()?;
        self.by_rate.get(index).map(|(_, id)| *id)
    }

    fn held(&self, id: RateId) -> Option<(Rate, u32)> {
        self.groups.get(id.group())?.slots.get(id.slot()).copied().flatten()
    }

    pub(super) fn rate(&self, id: RateId) -> Rate {
        self.held(id).map_or(self.start_rate, |(rate, _)| rate)
    }

    /// Nanoseconds for an average packet.
    pub(super) fn duration(&self, id: RateId) -> u32 {
        self.held(id).map_or(u32::MAX, |(_, duration)| duration)
    }

    pub(super) fn is_legacy(&self, id: RateId) -> bool {
        self.groups.get(id.group()).is_some_and(|group| group.legacy)
    }

    pub(super) fn streams(&self, id: RateId) -> u8 {
        self.groups.get(id.group()).map_or(1, |group| group.streams)
    }

    /// Every rate with its group and slot, sorted by rate.
    pub(super) fn rates(&self) -> &[(Rate, RateId)] {
        &self.by_rate
    }
}

/// Low bits of a group's durations that the kernel drops to keep them in 16 bits (`GROUP_SHIFT`).
const fn group_shift(slowest: u32) -> u32 {
    16u32.saturating_sub(slowest.leading_zeros())
}

/// Airtime in nanoseconds of one packet of [`AVERAGE_PACKET`] bytes: legacy alone with preamble and SIFS
/// (`OFDM_DURATION`), else its share of the symbols of an aggregate (`MCS_DURATION`).
fn average_duration(rate: Rate) -> u32 {
    if rate.format() == Format::Legacy {
        return legacy_duration(AVERAGE_PACKET, rate) * 1_000;
    }
    // As in the kernel, bits of one stream are rounded down before they are multiplied.
    let (numerator, denominator) = rate.coding().ratio();
    let bits_of_stream = rate.data_subcarriers() * rate.modulation().bits() * numerator / denominator;
    let bits = (bits_of_stream * u32::from(rate.streams())).max(1);
    let symbols = (AVERAGE_PACKET * AVERAGE_AMPDU * 8).div_ceil(bits);
    let symbol = rate.symbol().as_nanos() as u32;
    // The short interval of HT and VHT is rounded up by four fifths of a microsecond (`MCS_SYMBOL_TIME`).
    let rounding = if symbol == 3_600 { 800 } else { 0 };
    (symbols * symbol + rounding) / AVERAGE_AMPDU
}

/// Microseconds of a legacy OFDM frame of `bytes` without FCS, SIFS before it included (`ieee80211_frame_duration`):
/// 16 SIFS, 16 preamble, 4 signal, then symbols of 4 for 16 service bits, the frame and 6 tail bits.
pub(super) fn legacy_duration(bytes: u32, rate: Rate) -> u32 {
    16 + 16 + 4 + 4 * (16 + 8 * (bytes + 4) + 6).div_ceil(rate.bits_per_symbol().max(1))
}

#[cfg(test)]
mod tests {
    use airbound_wifi::rate::{GuardInterval, Width};

    use super::*;
    use crate::rate::Capabilities;

    fn table(format: Format, width: Width, max_streams: u8) -> RateTable {
        let capabilities = Capabilities { format, width, max_streams, ..Capabilities::default() };
        RateTable::new(&capabilities.rate_set().expect("valid"))
    }

    #[test]
    fn durations_are_those_of_the_kernel() {
        let ht = table(Format::Ht, Width::Mhz40, 2);
        let ns = |rate: Rate| ht.duration(ht.id_of(rate).expect("in the table"));
        // 153600 bits in symbols of 26: 5908, at 4 us: 23632 us for 16 packets, 1477 us for one.
        // 1477000 needs 21 bits, so 5 are dropped: 46156 * 32.
        let mcs0 = Rate::ht(0, Width::Mhz20, GuardInterval::Ns800).expect("exists");
        assert_eq!(ns(mcs0), 1_476_992);
        // Two streams of 540 bits: 143 symbols of 3.6 us and 0.8 us: 515.6 us, 32225 ns a packet. The slowest of
        // the group takes 1423 symbols: 320225 ns, 19 bits, 3 are dropped.
        let mcs15 = Rate::ht(15, Width::Mhz40, GuardInterval::Ns400).expect("exists");
        assert_eq!(ns(mcs15), 32_225 / 8 * 8);
    }

    #[test]
    fn legacy_durations_include_the_preamble() {
        let legacy = table(Format::Legacy, Width::Mhz20, 1);
        let ns = |rate| legacy.duration(legacy.id_of(Rate::legacy(rate)).expect("in the table"));
        // 9654 bits in symbols of 24: 403, 36 + 1612 us, 6 low bits dropped from ns.
        let exact = (36 + 403 * 4) * 1_000;
        assert_eq!(ns(Legacy::Mbps6), exact >> 5 << 5);
        assert_eq!(legacy_duration(10, Rate::legacy(Legacy::Mbps6)), 60);
    }

    #[test]
    fn groups_come_in_the_order_of_the_kernel() {
        let vht = table(Format::Vht, Width::Mhz80, 2);
        assert_eq!(vht.groups.len(), 12);
        let first = |group: usize| vht.rate(vht.groups[group].first).to_string();
        assert_eq!(first(0), "VHT20 MCS0 1SS LGI");
        assert_eq!(first(1), "VHT20 MCS0 2SS LGI");
        assert_eq!(first(2), "VHT20 MCS0 1SS SGI");
        assert_eq!(first(4), "VHT40 MCS0 1SS LGI");
        assert_eq!(first(11), "VHT80 MCS0 2SS SGI");
        assert_eq!(vht.rate(vht.start).to_string(), "VHT20 MCS0 1SS LGI");
    }

    #[test]
    fn legacy_is_the_start_only_when_alone() {
        let mixed = Capabilities {
            rates: vec![
                Rate::legacy(Legacy::Mbps6),
                Rate::ht(3, Width::Mhz20, GuardInterval::Ns800).expect("exists"),
            ],
            ..Capabilities::default()
        };
        let table = RateTable::new(&mixed.rate_set().expect("valid"));
        assert_eq!(table.rate(table.start).to_string(), "HT20 MCS3 1SS LGI");
        assert_eq!(table.id_of(Rate::legacy(Legacy::Mbps9)), None);
    }

    #[test]
    fn he_has_twelve_rates_in_a_group() {
        let he = table(Format::He, Width::Mhz160, 4);
        assert_eq!(he.groups.len(), 16);
        assert!(he.groups.iter().all(|group| group.durations().count() == 12));
        assert_eq!(he.rates().len(), 192);
    }
}
