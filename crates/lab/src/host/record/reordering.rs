//! When the receiver's MAC lets each packet go: the log has the end of its last transmission.

use std::collections::BTreeMap;

use airbound_units::Instant;

use crate::log::{MpduRow, Row};

/// The identity of an MPDU: a segment that is sent again has the same number.
type Key = (u64, u64, Instant);

const fn key(mpdu: &MpduRow) -> Key {
    (mpdu.flow, mpdu.number, mpdu.queued)
}

/// The times at which reordering buffers let packets go.
///
/// Sequence numbers are taken to be in the order in which a radio accepted the frames of a receiver and category. A frame goes once all
/// before it that arrive have arrived; one that is given up holds nobody up, where a real buffer waits for a block-ack request.
pub(super) struct Released(BTreeMap<Key, Instant>);

impl Released {
    /// Of a log whose rows all belong to flows.
    pub(super) fn of(rows: &[Row]) -> Self {
        let transmitters: BTreeMap<u64, u64> = rows
            .iter()
            .filter_map(|row| if let Row::Txop(row) = row { Some((row.txop, row.radio)) } else { None })
            .collect();
        let mut links: BTreeMap<(u64, u64, u64), Vec<&MpduRow>> = BTreeMap::new();
        for row in rows {
            let (Row::Mpdu(mpdu) | Row::Acknowledgement(mpdu)) = row else { continue };
            if mpdu.received == Instant::MAX {
                continue;
            }
            let Some(transmitter) = transmitters.get(&mpdu.txop) else { continue };
            links.entry((*transmitter, mpdu.station, mpdu.category)).or_default().push(mpdu);
        }
        let mut released = BTreeMap::new();
        for mut mpdus in links.into_values() {
            mpdus.sort_by_key(|mpdu| (mpdu.handed, mpdu.first_tx, mpdu.received));
            let mut last = Instant::ZERO;
            for mpdu in mpdus {
                last = last.max(mpdu.received);
                released.insert(key(mpdu), last);
            }
        }
        Self(released)
    }

    /// When the packet went on from the receiver's MAC, in the log's time; [`Instant::MAX`] if it was not received.
    pub(super) fn at(&self, mpdu: Option<&MpduRow>) -> Instant {
        mpdu.map_or(Instant::MAX, |mpdu| self.0.get(&key(mpdu)).copied().unwrap_or(mpdu.received))
    }
}

#[cfg(test)]
mod tests {
    use airbound_units::Span;

    use super::*;

    #[test]
    fn a_frame_waits_for_those_before_it_of_its_link_and_category() {
        let at = |millis| Instant::ZERO + Span::from_millis(millis);
        let mpdu = |number, category, handed, received| MpduRow {
            flow: 0,
            number,
            station: 1,
            category,
            size: 100,
            queued: at(0),
            handed: at(handed),
            contending: at(handed),
            first_tx: at(handed),
            last_tx: at(handed),
            received,
            completed: at(50),
            tries: 1,
            txop: 1,
        };
        let txop = crate::log::TxopRow {
            txop: 1,
            radio: 0,
            peer: 1,
            category: 0,
            data: 1,
            contending: at(0),
            start: at(0),
            end: at(1),
            rate: 1,
            mpdus: 1,
            acked: 1,
            size: 100,
            transmitters: 1,
        };
        // The second of four is received after the third and the fourth; the fifth is given up; the sixth has another category.
        let mpdus = [
            mpdu(1, 1, 1, at(10)),
            mpdu(2, 1, 2, at(20)),
            mpdu(3, 1, 3, at(11)),
            mpdu(4, 1, 4, at(12)),
            mpdu(5, 1, 5, Instant::MAX),
            mpdu(6, 3, 3, at(12)),
        ];
        let mut rows: Vec<Row> = mpdus.iter().map(|mpdu| Row::Mpdu(*mpdu)).collect();
        rows.push(Row::Txop(txop));
        let released = Released::of(&rows);
        let times: Vec<Instant> = mpdus.iter().map(|mpdu| released.at(Some(mpdu))).collect();
        assert_eq!(times, [at(10), at(20), at(20), at(20), Instant::MAX, at(12)]);
        assert_eq!(released.at(None), Instant::MAX);
    }
}
