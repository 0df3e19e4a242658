//! Throughput and number of tries for a success probability.

use airbound_units::Span;
use airbound_wifi::rate::{Legacy, Rate};

use super::statistics::{SCALE, fraction};
use super::table::{RateId, RateTable, legacy_duration};

/// The least success at which a rate is considered: 10 %.
const USELESS: u32 = fraction(10, 100);
/// Higher success is taken as 90 %, since collisions make it fluctuate.
const SURE: u32 = fraction(90, 100);

/// Contention windows of the estimate, for any category (`cw_min`, `cw_max` of `minstrel_ht_alloc`).
const CW_MIN: u32 = 15;
const CW_MAX: u32 = 1_023;
/// A slot of OFDM in microseconds.
const SLOT: u32 = 9;

/// Airtime in microseconds that each frame costs beyond its data (`minstrel_ht_update_caps`, lowest basic rate
/// 6 Mbit/s): `plain` for an empty frame and an acknowledgement, `protected` with RTS and CTS besides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overheads {
    aggregate: Overhead,
    legacy: Overhead,
}

#[derive(Debug, Clone, Copy)]
struct Overhead {
    plain: u32,
    protected: u32,
}

impl Overheads {
    pub(super) fn new() -> Self {
        let lowest = Rate::legacy(Legacy::Mbps6);
        let ack = legacy_duration(10, lowest);
        let with_frame = legacy_duration(0, lowest) + ack;
        Self {
            aggregate: Overhead { plain: with_frame, protected: with_frame + 2 * ack },
            legacy: Overhead { plain: ack, protected: 3 * ack },
        }
    }

    fn of(&self, table: &RateTable, id: RateId) -> Overhead {
        if table.is_legacy(id) { self.legacy } else { self.aggregate }
    }

    /// Packets delivered in a tenth of a second at a success `probability`, if aggregates hold `ampdu` packets
    /// (`minstrel_ht_get_tp_avg`).
    pub(super) fn throughput(&self, table: &RateTable, id: RateId, probability: u16, ampdu: u32) -> u32 {
        let probability = u32::from(probability);
        if probability < USELESS {
            return 0;
        }
        let ampdu = if table.is_legacy(id) { 1 } else { ampdu.max(1) };
        let nanos = (1_000 * self.of(table, id).plain / ampdu).saturating_add(table.duration(id)).max(1);
        let share = u64::from(probability.min(SURE)) * 1_000_000 / u64::from(nanos);
        u32::try_from((100 * share) >> SCALE).unwrap_or(u32::MAX)
    }

    /// Tries of a rate whose success is `probability`: at least two, then as many as fit with their contention in a
    /// `segment`, at most `max_tries`; one where the rate is useless. `protected`: with RTS and CTS.
    ///
    /// (`minstrel_calc_retransmit`; there one loop ends by the plain time, so the protected count never exceeds it.)
    pub(super) fn tries(&self, context: &TryContext<'_>, id: RateId, probability: u16) -> Tries {
        if u32::from(probability) < USELESS {
            return Tries { plain: 1, protected: 1 };
        }
        let overhead = self.of(context.table, id);
        let segment = u32::try_from(context.segment.as_micros()).unwrap_or(u32::MAX);
        let nanos = u64::from(context.table.duration(id)) * u64::from(context.ampdu);
        let data = u32::try_from(nanos / 1_000).unwrap_or(u32::MAX);
        let mut window = CW_MIN;
        let mut contention = || {
            let time = (SLOT * window) >> 1;
            window = ((window << 1) | 1).min(CW_MAX);
            time
        };
        let mut tries = Tries { plain: 2, protected: 2 };
        let first_two = contention() + contention();
        let spent = |overhead: u32| first_two.saturating_add(overhead.saturating_add(data).saturating_mul(2));
        let (mut plain, mut protected) = (spent(overhead.plain), spent(overhead.protected));
        loop {
            let wait = contention();
            plain = plain.saturating_add(wait + overhead.plain).saturating_add(data);
            protected = protected.saturating_add(wait + overhead.protected).saturating_add(data);
            if protected < segment {
                tries.protected = tries.protected.saturating_add(1);
            }
            if plain >= segment {
                break;
            }
            tries.plain = tries.plain.saturating_add(1);
            if tries.plain >= context.max_tries {
                break;
            }
        }
        Tries {
            plain: tries.plain.min(context.max_tries.max(1)),
            protected: tries.protected.min(context.max_tries.max(1)),
        }
    }
}

/// Input of the number of tries besides the rate.
#[derive(Debug, Clone, Copy)]
pub(super) struct TryContext<'a> {
    pub(super) table: &'a RateTable,
    /// Packets in an aggregate.
    pub(super) ampdu: u32,
    /// Upper limit on the airtime of one step of the chain.
    pub(super) segment: Span,
    pub(super) max_tries: u8,
}

/// Tries of a rate as the first step of a chain and, with RTS and CTS, as a later one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tries {
    pub(super) plain: u8,
    pub(super) protected: u8,
}

#[cfg(test)]
mod tests {
    use airbound_wifi::rate::{Format, GuardInterval, Width};

    use super::*;
    use crate::rate::Capabilities;

    fn ht40() -> RateTable {
        let capabilities =
            Capabilities { format: Format::Ht, width: Width::Mhz40, ..Capabilities::default() };
        RateTable::new(&capabilities.rate_set().expect("valid"))
    }

    fn id(table: &RateTable, mcs: u8) -> RateId {
        let rate = Rate::ht(mcs, Width::Mhz40, GuardInterval::Ns400).expect("exists");
        table.id_of(rate).expect("in the table")
    }

    #[test]
    fn overheads_are_those_of_the_kernel() {
        let overheads = Overheads::new();
        // Empty frame: 16 + 16 + 4 + 3 symbols of 4 = 48 us. Acknowledgement: 6 symbols, 60 us.
        assert_eq!((overheads.aggregate.plain, overheads.aggregate.protected), (108, 228));
        assert_eq!((overheads.legacy.plain, overheads.legacy.protected), (60, 180));
    }

    #[test]
    fn throughput_by_hand() {
        let table = ht40();
        let overheads = Overheads::new();
        let fast = id(&table, 15);
        // 32224 ns a packet, 108 us of overhead for 16 packets: 6750 ns. At 90 % (3686/4096):
        // 3686 * 10^6 / 38974 = 94575; 100 * 94575 / 4096 = 2308, that is 23080 packets a second.
        assert_eq!(overheads.throughput(&table, fast, 4_096, 16), 2_308);
        assert_eq!(overheads.throughput(&table, fast, 3_686, 16), 2_308);
        // A single packet bears the whole overhead: 140224 ns. 2048 * 10^6 / 140224 = 14605; 356.
        assert_eq!(overheads.throughput(&table, fast, 2_048, 1), 356);
        // Below 10 % the throughput is zero.
        assert_eq!(overheads.throughput(&table, fast, 408, 16), 0);
        assert!(overheads.throughput(&table, fast, 409, 16) > 0);
    }

    #[test]
    fn tries_by_hand() {
        let table = ht40();
        let overheads = Overheads::new();
        let context = TryContext { table: &table, ampdu: 16, segment: Span::from_millis(6), max_tries: 7 };
        // MCS 15: data 515 us; two tries 67 + 139 + 2 * 623 = 1452 (with RTS 1692). Third: + 283 + 623 = 2358
        // (2718), fourth: + 571 + 623 = 3552 (4032), fifth: + 1147 + 623 = 5322 (5922), sixth: + 2299 + 623.
        assert_eq!(overheads.tries(&context, id(&table, 15), 4_096), Tries { plain: 5, protected: 5 });
        // MCS 0: 16 packets of 640 us exceed the segment at once; two tries remain.
        assert_eq!(overheads.tries(&context, id(&table, 0), 4_096), Tries { plain: 2, protected: 2 });
        assert_eq!(overheads.tries(&context, id(&table, 15), 400), Tries { plain: 1, protected: 1 });
        let eager = TryContext { max_tries: 3, ..context };
        assert_eq!(overheads.tries(&eager, id(&table, 15), 4_096).plain, 3);
    }
}
