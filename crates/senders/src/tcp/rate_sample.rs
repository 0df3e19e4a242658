//! Delivery rate of the network (draft-cheng-iccrg-delivery-rate-estimation, Linux `tcp_rate.c`).

use airbound_units::{Instant, Span};

use crate::congestion::RateSample;

/// State of the connection that a segment records when it is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Snapshot {
    /// Segments delivered on the whole.
    pub(super) delivered: u64,
    /// When the last of them was delivered.
    pub(super) delivered_at: Instant,
    /// When the first segment of this flight was sent.
    pub(super) first_sent: Instant,
    /// Whether the application limited the flight.
    pub(super) app_limited: bool,
}

/// The connection's side of the measurement.
#[derive(Debug, Clone, Default)]
pub(super) struct DeliveryRate {
    pub(super) delivered: u64,
    delivered_at: Instant,
    first_sent: Instant,
    /// The number of deliveries that ends the application-limited period; 0 without one.
    app_limited_until: u64,
    newest: Option<Newest>,
}

/// The newest segment delivered by the present acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Newest {
    sent: Instant,
    end: u64,
    snapshot: Snapshot,
}

impl DeliveryRate {
    /// Returns the state to record in the next segment; `nothing_in_flight` begins a new flight.
    #[inline]
    pub(super) fn snapshot(&mut self, now: Instant, nothing_in_flight: bool) -> Snapshot {
        if nothing_in_flight {
            self.first_sent = now;
            self.delivered_at = now;
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited_until != 0,
        }
    }

    /// Notes that the application has no data to send while `in_flight` segments are in flight.
    pub(super) fn on_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = self.delivered.saturating_add(u64::from(in_flight)).max(1);
    }

    pub(super) fn is_app_limited(&self) -> bool {
        self.app_limited_until != 0
    }

    /// Notes the first delivery of a segment: time of its last transmission, one above its last byte, and its recorded state.
    #[inline]
    pub(super) fn on_delivered(&mut self, now: Instant, (sent, end): (Instant, u64), snapshot: Snapshot) {
        self.delivered = self.delivered.saturating_add(1);
        self.delivered_at = now;
        if self.newest.is_none_or(|newest| (newest.sent, newest.end) <= (sent, end)) {
            self.newest = Some(Newest { sent, end, snapshot });
        }
    }

    /// Returns the sample of the present acknowledgement.
    #[inline]
    pub(super) fn sample(&mut self, now: Instant, min_rtt: Option<Span>) -> RateSample {
        if self.app_limited_until != 0 && self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let Some(Newest { sent, snapshot, .. }) = self.newest.take() else {
            return RateSample::default();
        };
        self.first_sent = sent;
        let interval = sent.since(snapshot.first_sent).max(now.since(snapshot.delivered_at));
        let delivered = self.delivered.saturating_sub(snapshot.delivered);
        // Section 3.3: an interval below the smallest round trip cannot be right.
        let valid = !interval.is_zero() && min_rtt.is_none_or(|min| interval >= min);
        RateSample {
            delivered: if valid { u32::try_from(delivered).unwrap_or(u32::MAX) } else { 0 },
            interval,
            prior_delivered: snapshot.delivered,
            app_limited: snapshot.app_limited,
            has_prior: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoreboard::Scoreboard;
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn the_longer_of_send_and_acknowledgement_interval_counts() {
        let mut rate = DeliveryRate::default();
        let mut board = Scoreboard::default();
        // Ten segments, one each millisecond, then acknowledged together.
        for index in 0..10 {
            let snapshot = rate.snapshot(at(index), board.is_empty());
            board.push(at(index), index * 1000, 1000, snapshot);
        }
        board.acknowledge(10_000, |segment| {
            rate.on_delivered(at(50), segment.last_sent(), segment.snapshot())
        });
        let sample = rate.sample(at(50), Some(Span::from_millis(20)));
        // Sent over 9 ms, but delivered over the 50 ms since the flight began.
        assert_eq!((sample.delivered, sample.interval), (10, Span::from_millis(50)));
        assert!(!sample.app_limited);
    }

    #[test]
    fn a_stretch_without_data_marks_what_is_sent_until_it_is_delivered() {
        let mut rate = DeliveryRate::default();
        let mut board = Scoreboard::default();
        let mut seq = 0;
        let mut round = |rate: &mut DeliveryRate, now: u64| {
            let snapshot = rate.snapshot(at(now), true);
            board.push(at(now), seq, 1000, snapshot);
            seq += 1000;
            board.acknowledge(seq, |segment| {
                rate.on_delivered(at(now + 10), segment.last_sent(), segment.snapshot())
            });
            rate.sample(at(now + 10), None)
        };
        rate.on_app_limited(0);
        assert!(round(&mut rate, 0).app_limited);
        assert!(round(&mut rate, 20).app_limited);
        assert!(!round(&mut rate, 40).app_limited);
    }

    #[test]
    fn an_interval_below_the_smallest_round_trip_is_no_sample() {
        let mut rate = DeliveryRate::default();
        let mut board = Scoreboard::default();
        let snapshot = rate.snapshot(at(0), true);
        board.push(at(0), 0, 1000, snapshot);
        board.acknowledge(1000, |segment| rate.on_delivered(at(5), segment.last_sent(), segment.snapshot()));
        let sample = rate.sample(at(5), Some(Span::from_millis(20)));
        assert_eq!((sample.delivered, sample.has_prior), (0, true));
    }
}
