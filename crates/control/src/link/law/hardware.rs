//! PSDUs in the hardware, and their time limits, which together keep the bound.

use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use crate::frame::StationId;
use crate::frame::TxDescriptor;

/// Record of a PSDU while the hardware has it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pushed {
    pub(super) station: StationId,
    pub(super) category: Category,
    /// Whether it belongs to another link, which shares the hardware.
    pub(super) foreign: bool,
    /// The sequence number of its first MPDU.
    pub(super) sequence: u64,
    /// When its oldest packet entered the driver queue; [`Instant::MAX`] for a foreign PSDU, which has no bound.
    pub(super) born: Instant,
    /// Longest duration of one of its frame exchanges.
    pub(super) exchange: Span,
    /// The time limit given to the hardware.
    pub(super) limit: Span,
    /// Index of the rate in the station's rate set.
    pub(super) rate: usize,
    /// Number of software retransmissions, this one included.
    pub(super) retransmissions: u8,
    /// The probe that it belongs to.
    pub(super) probe: Option<u32>,
    /// TX time of its earlier software transmissions.
    pub(super) spent: Span,
}

/// PSDUs in the hardware, by category in the order of service.
#[derive(Debug, Clone, Default)]
pub(super) struct Hardware {
    psdus: Vec<Pushed>,
    /// When the first PSDU of each category reached the head.
    first_since: [Instant; 4],
}

/// Position of a PSDU among those of its category.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Behind all others.
    Back,
    /// Before all others: a software retransmission.
    Front,
}

impl Hardware {
    pub(super) fn len(&self) -> usize {
        self.psdus.len()
    }

    fn of(&self, category: Category) -> impl Iterator<Item = &Pushed> {
        self.psdus.iter().filter(move |pushed| pushed.category == category)
    }

    /// Time that the hardware may spend on a PSDU whose oldest packet entered at `born` and whose exchange takes `exchange`, so that
    /// no packet is delivered later than `bound` after its entry, its own last exchange aside; at most `limit_h`.
    ///
    /// A PSDU that is on the air at the end of its time is finished, so each PSDU ahead may exceed its limit by one exchange. If
    /// packets are ordered by age and each PSDU has `limit_h` beyond the driver's limit, only packets within one exchange of the limit
    /// get less time.
    pub(super) fn limit(
        &self,
        now: Instant,
        category: Category,
        place: Place,
        (born, exchange): (Instant, Span),
        (limit_h, bound): (Span, Span),
    ) -> Span {
        let left = |born: Instant| (born + bound).since(now);
        match place {
            Place::Back => {
                let mut ahead = Span::ZERO;
                for (index, pushed) in self.of(category).enumerate() {
                    let spent =
                        if index == 0 { now.since(self.first_since[category.index()]) } else { Span::ZERO };
                    ahead += pushed.limit.saturating_sub(spent) + pushed.exchange;
                }
                limit_h.min(left(born).saturating_sub(ahead))
            }
            Place::Front => {
                let mut limit = limit_h.min(left(born));
                let mut behind = Span::ZERO;
                for pushed in self.of(category) {
                    let room = left(pushed.born).saturating_sub(exchange + behind + pushed.limit);
                    limit = limit.min(room);
                    behind += pushed.limit + pushed.exchange;
                }
                limit
            }
        }
    }

    /// Notes that a PSDU is handed to the hardware.
    pub(super) fn push(&mut self, now: Instant, place: Place, pushed: Pushed) {
        let alone = self.of(pushed.category).next().is_none();
        if alone || place == Place::Front {
            self.first_since[pushed.category.index()] = now;
        }
        match place {
            Place::Back => self.psdus.push(pushed),
            Place::Front => self.psdus.insert(0, pushed),
        }
    }

    /// Notes that a PSDU of another link is handed to the hardware, which spends at most `limit` and one `exchange` on it. PSDUs
    /// pushed behind it wait as long as behind one of Law's.
    pub(super) fn push_foreign<P>(
        &mut self,
        now: Instant,
        descriptor: &TxDescriptor<P>,
        limit: Span,
        exchange: Span,
    ) {
        let foreign = Pushed {
            station: descriptor.station,
            category: descriptor.category,
            foreign: true,
            sequence: descriptor.mpdus.first().map_or(0, |mpdu| mpdu.sequence),
            born: Instant::MAX,
            exchange,
            limit,
            rate: 0,
            retransmissions: 0,
            probe: None,
            spent: Span::ZERO,
        };
        self.push(now, Place::Back, foreign);
    }

    /// Removes a returned PSDU, in any order, with the time at which it became the first of its category (`now` if it never did).
    /// `None` if it is unknown.
    pub(super) fn take<P>(
        &mut self,
        now: Instant,
        descriptor: &TxDescriptor<P>,
    ) -> Option<(Pushed, Instant)> {
        let sequence = descriptor.mpdus.first().map(|mpdu| mpdu.sequence)?;
        let is_it = |pushed: &Pushed| {
            (pushed.station, pushed.category, pushed.foreign, pushed.sequence)
                == (descriptor.station, descriptor.category, descriptor.alternate, sequence)
        };
        let at = self.psdus.iter().position(is_it)?;
        let first = self.psdus.iter().position(|pushed| pushed.category == descriptor.category) == Some(at);
        let since = &mut self.first_since[descriptor.category.index()];
        let began = if first { std::mem::replace(since, now) } else { now };
        Some((self.psdus.remove(at), began))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BE: Category = Category::Be;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn pushed(sequence: u64, born: Instant, limit: Span) -> Pushed {
        Pushed {
            station: StationId(1),
            category: BE,
            foreign: false,
            sequence,
            born,
            exchange: Span::from_millis(1),
            limit,
            rate: 0,
            retransmissions: 0,
            probe: None,
            spent: Span::ZERO,
        }
    }

    fn limit(hardware: &Hardware, now: u64, place: Place, born: u64) -> u64 {
        let limits = (Span::from_millis(3), Span::from_millis(46));
        hardware.limit(at(now), BE, place, (at(born), Span::from_millis(1)), limits).as_millis()
    }

    #[test]
    fn only_a_packet_at_the_limit_has_less_time() {
        let mut hardware = Hardware::default();
        assert_eq!(limit(&hardware, 100, Place::Back, 60), 3);
        hardware.push(at(100), Place::Back, pushed(0, at(60), Span::from_millis(3)));
        // Up to 3 ms and an exchange of 1 ms before it: of 46 ms, 2 ms are left at an age of 40 ms, 3 ms at 39 ms.
        assert_eq!(limit(&hardware, 100, Place::Back, 60), 2);
        assert_eq!(limit(&hardware, 100, Place::Back, 61), 3);
        // The first has used 1 ms of its limit.
        assert_eq!(limit(&hardware, 101, Place::Back, 61), 3);
        // Another category contends independently.
        assert_eq!(
            hardware.limit(
                at(100),
                Category::Vo,
                Place::Back,
                (at(60), Span::from_millis(1)),
                (Span::from_millis(3), Span::from_millis(46))
            ),
            Span::from_millis(3)
        );
    }

    #[test]
    fn a_retransmission_leaves_the_time_of_those_behind() {
        let mut hardware = Hardware::default();
        hardware.push(at(100), Place::Back, pushed(7, at(62), Span::from_millis(3)));
        // 62 + 46 = 108 less 3 ms of its own and an exchange leave all of it at 100, 1 ms at 103, nothing later.
        assert_eq!(limit(&hardware, 100, Place::Front, 99), 3);
        assert_eq!(limit(&hardware, 103, Place::Front, 99), 1);
        assert_eq!(limit(&hardware, 105, Place::Front, 99), 0);
    }
}
