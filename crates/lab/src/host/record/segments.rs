//! The segments of a TCP flow from the wire to the air.

use std::collections::BTreeMap;

use airbound_units::Instant;

use crate::log::{EntryRow, MpduRow, Row};

/// A segment that came to the access point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Segment {
    /// When it came. Segments that travelled as one packet came together.
    pub(super) entered: Instant,
    /// The IP packet, bytes.
    pub(super) size: u64,
    /// Its MPDU; `None` if it was not on the air.
    pub(super) mpdu: Option<MpduRow>,
    /// Whether a later segment, or this one, was on the air.
    pub(super) overtaken: bool,
}

/// The segments of a flow in the order of their entry, retransmitted ones again.
///
/// Access point and radio keep the order of a flow, so an MPDU is the next segment with its number behind that of the MPDU before it. If
/// there is none, it is the last one before that has not been on the air: two segments have changed places.
pub(super) fn segments(flow: u64, rows: &[Row]) -> Vec<Segment> {
    let mut all = Vec::new();
    // By sequence number, where it is in `all`.
    let mut places: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    for row in rows {
        if let Row::Entry(entry) = row
            && entry.flow == flow
        {
            for (number, size) in parts(entry) {
                places.entry(number).or_default().push(all.len());
                all.push(Segment { entered: entry.at, size, mpdu: None, overtaken: false });
            }
        }
    }
    let mut mpdus: Vec<&MpduRow> = rows.iter().filter_map(|row| mpdu_of(flow, row)).collect();
    mpdus.sort_by_key(|mpdu| mpdu.handed);
    let mut next = 0;
    for mpdu in mpdus {
        let Some(places) = places.get(&mpdu.number) else { continue };
        let is_free = |place: &&usize| all[**place].mpdu.is_none() && all[**place].entered <= mpdu.handed;
        let ahead = places.iter().filter(is_free).find(|place| **place >= next);
        let place = ahead.or_else(|| places.iter().rev().find(is_free));
        if let Some(place) = place.copied() {
            all[place].mpdu = Some(*mpdu);
            next = next.max(place + 1);
        }
    }
    all.iter_mut().take(next).for_each(|segment| segment.overtaken = true);
    all
}

const fn mpdu_of(flow: u64, row: &Row) -> Option<&MpduRow> {
    match row {
        Row::Mpdu(mpdu) if mpdu.flow == flow => Some(mpdu),
        _ => None,
    }
}

/// Sequence number and size of each segment of a packet.
pub(super) fn parts(entry: &EntryRow) -> impl Iterator<Item = (u64, u64)> + use<> {
    let EntryRow { number, headers, payload, segment, .. } = *entry;
    let each = if segment == 0 { payload } else { segment };
    (0..payload.div_ceil(each.max(1))).map(move |part| {
        let before = part * each;
        // Sequence numbers have 32 bits.
        ((number + before) & u64::from(u32::MAX), headers + each.min(payload - before))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(at: u64, number: u64, payload: u64) -> Row {
        let at = Instant::from_nanos(at);
        Row::Entry(EntryRow { flow: 2, number, at, headers: 52, payload, segment: 1000 })
    }

    fn mpdu(handed: u64, number: u64) -> Row {
        let at = Instant::from_nanos(handed);
        Row::Mpdu(MpduRow {
            flow: 2,
            number,
            station: 1,
            category: 1,
            size: 1052,
            queued: at,
            handed: at,
            contending: at,
            first_tx: at,
            last_tx: at,
            received: at,
            completed: at,
            tries: 1,
            txop: 1,
        })
    }

    /// When each segment was handed to the radio; 0: it was not. Whether it was overtaken.
    fn fates(rows: &[Row]) -> Vec<(u64, bool)> {
        let handed = |one: &Segment| one.mpdu.map_or(0, |mpdu| mpdu.handed.as_nanos());
        segments(2, rows).iter().map(|one| (handed(one), one.overtaken)).collect()
    }

    #[test]
    fn segments_of_one_packet_enter_together() {
        let rows = [entry(5, u64::from(u32::MAX) - 999, 2500)];
        let all = segments(2, &rows);
        assert_eq!(all.iter().map(|one| one.size).collect::<Vec<_>>(), [1052, 1052, 552]);
        assert!(all.iter().all(|one| one.entered == Instant::from_nanos(5) && one.mpdu.is_none()));
        // The sequence number wraps.
        assert_eq!(
            parts(&EntryRow { number: u64::from(u32::MAX) - 999, ..as_entry(&rows[0]) }).nth(1),
            Some((0, 1052))
        );
        assert!(segments(1, &rows).is_empty());
    }

    fn as_entry(row: &Row) -> EntryRow {
        match row {
            Row::Entry(entry) => *entry,
            _ => unreachable!("an entry"),
        }
    }

    #[test]
    fn a_dropped_segment_is_overtaken_and_comes_again() {
        let rows = [entry(1, 0, 4000), mpdu(10, 0), mpdu(11, 2000), entry(20, 1000, 1000), mpdu(30, 1000)];
        assert_eq!(fates(&rows), [(10, true), (0, true), (11, true), (0, true), (30, true)]);
        // What is behind the last one on the air is still queued.
        assert_eq!(fates(&rows[..3]), [(10, true), (0, true), (11, true), (0, false)]);
    }

    #[test]
    fn of_two_copies_in_the_queue_the_first_goes_first() {
        let rows = [entry(1, 0, 1000), entry(2, 0, 1000), mpdu(10, 0), mpdu(12, 0)];
        assert_eq!(fates(&rows), [(10, true), (12, true)]);
        // A copy that had not come yet is not the one on the air.
        let rows = [entry(1, 0, 1000), entry(11, 0, 1000), mpdu(10, 0)];
        assert_eq!(fates(&rows), [(10, true), (0, false)]);
    }

    #[test]
    fn segments_that_changed_places_keep_their_own_times() {
        let rows = [entry(1, 0, 2000), mpdu(10, 1000), mpdu(11, 0)];
        assert_eq!(fates(&rows), [(11, true), (10, true)]);
    }
}
