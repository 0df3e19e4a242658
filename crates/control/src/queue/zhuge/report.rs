//! Feedback made at the access point: the arrival times that packets will have, before they have them.

use airbound_units::{Instant, Span};

/// Greatest number of packets in a report; a greater gap is a restarted sender.
const LONGEST: u64 = 1000;

/// The predicted arrivals of packets with consecutive numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foretold {
    /// The number of the first packet.
    pub first: u64,
    /// The arrival of each; `None` for one that has not come to the access point, or was dropped there.
    pub arrivals: Vec<Option<Instant>>,
}

/// Collects the predictions of one flow (the feedback updater for in-band feedback).
///
/// Packets of a flow keep their order at an access point, and so do their predicted arrivals. A report leaves a constant time after the first
/// packet that it is about (`Sendback` of the public code).
#[derive(Debug, Clone)]
pub struct Reporter {
    after: Span,
    /// The number after the last packet reported or collected; `None` before the first.
    next: Option<u64>,
    collected: Option<Foretold>,
    due: Option<Instant>,
    /// The last predicted arrival.
    last: Instant,
}

impl Reporter {
    /// A reporter whose reports leave `after` the first packet in them.
    #[must_use]
    pub const fn new(after: Span) -> Self {
        Self { after, next: None, collected: None, due: None, last: Instant::ZERO }
    }

    /// Takes a packet that is at the access point now, and will wait there for `delay`. One that comes behind its successor is ignored.
    pub fn on_packet(&mut self, now: Instant, number: u64, delay: Span) {
        let next = self.next.unwrap_or(number);
        if number < next {
            return;
        }
        self.last = self.last.max(now + delay);
        let gap = number - next;
        let is_long = |report: &Foretold| report.arrivals.len() as u64 + gap >= LONGEST;
        if gap >= LONGEST || self.collected.as_ref().is_some_and(is_long) {
            self.collected = None;
        }
        let first = if gap >= LONGEST { number } else { next };
        let report = self.collected.get_or_insert(Foretold { first, arrivals: Vec::new() });
        let missing = number - report.first - report.arrivals.len() as u64;
        report.arrivals.extend((0..missing).map(|_| None));
        report.arrivals.push(Some(self.last));
        self.next = Some(number.saturating_add(1));
        self.due.get_or_insert(now + self.after);
    }

    /// When the next report leaves; `None` if there is nothing to report.
    #[must_use]
    pub const fn deadline(&self) -> Option<Instant> {
        self.due
    }

    /// The report that leaves now, if one is due.
    pub fn poll(&mut self, now: Instant) -> Option<Foretold> {
        self.due.take_if(|due| *due <= now)?;
        self.collected.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    const fn ms(millis: u64) -> Span {
        Span::from_millis(millis)
    }

    #[test]
    fn a_report_has_what_came_in_its_time() {
        let mut one = Reporter::new(ms(1));
        one.on_packet(at(10), 5, ms(4));
        one.on_packet(at(10), 6, ms(5));
        assert_eq!(one.deadline(), Some(at(11)));
        assert_eq!(one.poll(at(10)), None);
        let report = one.poll(at(11)).expect("due");
        assert_eq!(report, Foretold { first: 5, arrivals: vec![Some(at(14)), Some(at(15))] });
        assert_eq!((one.deadline(), one.poll(at(12))), (None, None));
    }

    #[test]
    fn a_hole_is_a_loss_and_order_is_kept() {
        let mut one = Reporter::new(ms(1));
        one.on_packet(at(10), 0, ms(9));
        one.poll(at(11));
        // Number 1 is lost on the wire; the prediction falls, but nothing overtakes.
        one.on_packet(at(12), 2, ms(1));
        one.on_packet(at(12), 1, ms(1));
        one.on_packet(at(13), 3, ms(8));
        let arrivals = vec![None, Some(at(19)), Some(at(21))];
        assert_eq!(one.poll(at(13)), Some(Foretold { first: 1, arrivals }));
    }

    #[test]
    fn a_restart_is_no_loss_and_nothing_grows_without_end() {
        let mut one = Reporter::new(ms(1));
        one.on_packet(at(1), 0, ms(0));
        one.on_packet(at(1), u64::MAX, ms(0));
        assert_eq!(one.poll(at(2)), Some(Foretold { first: u64::MAX, arrivals: vec![Some(at(1))] }));
        let mut one = Reporter::new(ms(1));
        (0..5000).for_each(|number| one.on_packet(at(1), number, ms(0)));
        assert!(one.poll(at(2)).expect("due").arrivals.len() <= LONGEST as usize);
    }
}
