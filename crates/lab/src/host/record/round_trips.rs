//! The round trips of a TCP flow, from its segments and the acknowledgements that come back.

use std::collections::BTreeMap;

use airbound_scenario::{Direction, Scenario};
use airbound_units::{Instant, Span};

use super::reordering::Released;
use super::segments::parts;
use crate::log::Row;

/// The time of each suitable acknowledgement at the sender, in the log's time, and the round trip of the oldest segment that it
/// acknowledges, as Linux has it for the smoothed round trip (`tcp_clean_rtx_queue`).
///
/// Not suitable is one that acknowledges a segment that was sent twice (Karn): others with it may have been acknowledged selectively long
/// before. A segment of the server begins where it enters the access point, less the wire; one of a station in its mac80211. What it
/// waits in the sender's own host before does not count.
pub(super) fn of(flow: u64, scenario: &Scenario, rows: &[Row], released: &Released) -> Vec<(Instant, Span)> {
    let wire = scenario.wire.way.delay;
    let down = usize::try_from(flow)
        .ok()
        .and_then(|flow| scenario.flows.get(flow))
        .is_some_and(|flow| flow.direction == Direction::Down);
    let mut sent: Vec<(Instant, u64)> = Vec::new();
    let mut acknowledged: Vec<(Instant, u64)> = Vec::new();
    for row in rows {
        match row {
            Row::Entry(entry) if down && entry.flow == flow => {
                sent.extend(parts(entry).map(|(number, _)| (entry.at - wire, number)));
            }
            Row::Mpdu(mpdu) if !down && mpdu.flow == flow => sent.push((mpdu.queued, mpdu.number)),
            Row::Acknowledgement(mpdu) if mpdu.flow == flow && mpdu.received != Instant::MAX => {
                let behind = if down { wire } else { Span::ZERO };
                acknowledged.push((released.at(Some(mpdu)) + behind, mpdu.number));
            }
            _ => {}
        }
    }
    sent.sort_by_key(|(at, _)| *at);
    acknowledged.sort_by_key(|(at, _)| *at);
    samples(&sent, &acknowledged)
}

/// Samples of segments and acknowledgements, both in the order of time, with numbers of 32 bits.
fn samples(sent: &[(Instant, u64)], acknowledged: &[(Instant, u64)]) -> Vec<(Instant, Span)> {
    let Some((_, first)) = sent.first() else { return Vec::new() };
    // Numbers of 64 bits, by the nearest to the last one.
    let mut last = 1 << 32 | first;
    let mut whole = |number: u64| {
        let ahead = (number as u32).wrapping_sub(last as u32).cast_signed();
        let found = last.saturating_add_signed(i64::from(ahead));
        last = last.max(found);
        found
    };
    // When each segment under way was sent; `None`: more than once.
    let mut under_way: BTreeMap<u64, Option<Instant>> = BTreeMap::new();
    let mut all = Vec::new();
    let (mut sent, mut highest) = (sent.iter().peekable(), 0);
    for (at, number) in acknowledged {
        while let Some((begin, number)) = sent.next_if(|(begin, _)| begin < at) {
            let number = whole(*number);
            // One that has been acknowledged was sent again for nothing.
            if number >= highest {
                under_way.entry(number).and_modify(|one| *one = None).or_insert(Some(*begin));
            }
        }
        highest = highest.max(whole(*number));
        let behind = under_way.split_off(&highest);
        let reached = std::mem::replace(&mut under_way, behind);
        if reached.values().all(Option::is_some)
            && let Some(begin) = reached.into_values().flatten().min()
        {
            all.push((*at, at.since(begin)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    /// The time and the round trip of each sample, ms.
    fn found(sent: &[(u64, u64)], acknowledged: &[(u64, u64)]) -> Vec<(u64, u64)> {
        let timed = |all: &[(u64, u64)]| {
            all.iter().map(|(millis, number)| (at(*millis), *number)).collect::<Vec<_>>()
        };
        let millis = |at: Instant| at.since(Instant::ZERO).as_millis();
        samples(&timed(sent), &timed(acknowledged))
            .into_iter()
            .map(|(at, round_trip)| (millis(at), round_trip.as_millis()))
            .collect()
    }

    #[test]
    fn an_acknowledgement_samples_its_oldest_segment() {
        let sent = [(1, 1000), (2, 2000), (3, 3000), (4, 4000)];
        assert_eq!(found(&sent, &[(11, 3000), (11, 3000), (15, 5000)]), [(11, 10), (15, 12)]);
        assert_eq!(found(&sent, &[]), []);
        assert_eq!(found(&[], &[(1, 5)]), []);
    }

    #[test]
    fn a_segment_that_was_sent_twice_is_no_sample() {
        let sent = [(1, 1000), (2, 2000), (3, 3000), (20, 2000), (21, 4000), (30, 1000)];
        assert_eq!(found(&sent, &[(11, 2000), (28, 4000), (33, 5000)]), [(11, 10), (33, 12)]);
    }

    #[test]
    fn numbers_wrap() {
        let last = u64::from(u32::MAX) - 999;
        assert_eq!(found(&[(1, last), (2, 0), (3, 1000)], &[(5, 0), (9, 2000)]), [(5, 4), (9, 7)]);
        assert_eq!(found(&[(1, 0), (2, 1000)], &[(5, u64::from(u32::MAX)), (9, 1000)]), [(9, 8)]);
    }
}
