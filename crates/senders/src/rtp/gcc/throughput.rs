//! The rate at which packets arrive: libwebrtc's robust throughput estimator, in use unless a field trial says otherwise.
//!
//! The smallest window that holds at least 20 packets and what arrived in the last second (at most 500 packets, 5 s) gives two rates, of
//! which the lesser counts: of departures, and of arrivals without their longest gap (the second longest in its place), so that a pause of
//! the network does not lower it. The first packet's size does not count for arrivals, the last one's not for departures.
//!
//! Source: `robust_throughput_estimator.cc` and `acknowledged_bitrate_estimator_interface.h` of libwebrtc, October 2024
//! (`webrtc-sdk/webrtc` cd6792e5).

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::in_flight::Delivered;

const FEWEST_PACKETS: usize = 10;
const WINDOW_PACKETS: usize = 20;
const MOST_PACKETS: usize = 500;
const SHORTEST_WINDOW: Span = Span::from_secs(1);
const LONGEST_WINDOW: Span = Span::from_secs(5);
/// Arrivals this far out of order are those of another clock.
const REORDERED: Span = Span::from_secs(1);
const SHORTEST: Span = Span::from_millis(1);

#[derive(Debug, Clone, Default)]
pub(super) struct Throughput {
    /// In order of arrival.
    window: VecDeque<Delivered>,
    /// Latest departure of a packet that left the window.
    discarded: Option<Instant>,
    rate: Option<BitRate>,
}

impl Throughput {
    pub(super) fn rate(&self) -> Option<BitRate> {
        self.rate
    }

    /// Takes the arrivals of a report.
    pub(super) fn on_report(&mut self, delivered: &[Delivered]) {
        for packet in delivered {
            let place = self.window.partition_point(|earlier| earlier.arrival <= packet.arrival);
            self.window.insert(place, *packet);
            if self.window.back().is_some_and(|last| last.arrival - packet.arrival > REORDERED) {
                (self.window, self.discarded) = (VecDeque::new(), None);
            }
        }
        while self.is_long()
            && let Some(oldest) = self.window.pop_front()
        {
            self.discarded = self.discarded.max(Some(oldest.sent));
        }
        self.rate = self.measured();
    }

    fn is_long(&self) -> bool {
        let (Some(first), Some(last)) = (self.window.front(), self.window.back()) else { return false };
        let (packets, duration) = (self.window.len(), last.arrival - first.arrival);
        packets > MOST_PACKETS
            || duration > LONGEST_WINDOW
            || packets > WINDOW_PACKETS && duration > SHORTEST_WINDOW
    }

    fn measured(&self) -> Option<BitRate> {
        let (first, last) = (self.window.front()?, self.window.back()?);
        if self.window.len() < FEWEST_PACKETS {
            return None;
        }
        let size = |packets: &mut dyn Iterator<Item = &Delivered>| {
            packets.fold(ByteCount::ZERO, |sum, packet| sum + packet.size)
        };
        let (mut longest, mut second) = (Span::ZERO, Span::ZERO);
        for (earlier, later) in self.window.iter().zip(self.window.iter().skip(1)) {
            let gap = later.arrival - earlier.arrival;
            second = second.max(gap.min(longest));
            longest = longest.max(gap);
        }
        let duration = (last.arrival - first.arrival) - longest + second;
        let arriving = rate(size(&mut self.window.iter()) - first.size, duration);
        // What overtook packets that have left the window says nothing of the rate of departures.
        let in_order = || self.window.iter().filter(|packet| Some(packet.sent) >= self.discarded);
        if in_order().count() < FEWEST_PACKETS {
            return Some(arriving);
        }
        let begin = in_order().map(|packet| packet.sent).min()?;
        let end = in_order().rev().max_by_key(|packet| packet.sent)?;
        let departing = rate(size(&mut in_order()) - end.size, end.sent - begin);
        Some(departing.min(arriving))
    }
}

fn rate(size: ByteCount, duration: Span) -> BitRate {
    BitRate::of(size, duration.max(SHORTEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn packet(sent: u64, arrival: u64) -> Delivered {
        Delivered { size: ByteCount::new(1250), sent: at(sent), arrival: at(arrival), probe: None }
    }

    fn kbps(throughput: &Throughput) -> u64 {
        throughput.rate().expect("known").as_bps() / 1000
    }

    #[test]
    fn ten_packets_give_the_rate_and_a_fall_is_known_after_a_second() {
        let mut throughput = Throughput::default();
        // 10 kbit each 5 ms.
        for number in 0..400 {
            throughput.on_report(&[packet(5 * number, 5 * number + 20)]);
            assert_eq!(throughput.rate().is_some(), number >= 9);
        }
        assert_eq!(kbps(&throughput), 2000);
        // A tenth arrives from now on.
        for number in 0..21 {
            throughput.on_report(&[packet(2000 + 5 * number, 2015 + 50 * (number + 1))]);
        }
        // One gap of 50 ms is left out, another one in its place: 1 s of them and the 5 ms before.
        assert!((195..=205).contains(&kbps(&throughput)), "{}", kbps(&throughput));
    }

    #[test]
    fn a_pause_does_not_count_and_no_more_arrives_than_was_sent() {
        let mut throughput = Throughput::default();
        let held = |number: u64| if number < 40 { 5 * number } else { 5 * number + 300 };
        for number in 0..80 {
            throughput.on_report(&[packet(5 * number, held(number))]);
        }
        assert_eq!(kbps(&throughput), 2000);
        // Sent over 395 ms, released by one aggregate.
        let mut burst = Throughput::default();
        burst.on_report(&(0..80).map(|number| packet(5 * number, 400)).collect::<Vec<_>>());
        assert_eq!(kbps(&burst), 2000);
    }

    #[test]
    fn a_clock_that_jumps_back_starts_over() {
        let mut throughput = Throughput::default();
        for number in 0..20 {
            throughput.on_report(&[packet(5 * number, 5000 + 5 * number)]);
        }
        throughput.on_report(&[packet(100, 120)]);
        assert_eq!(throughput.rate(), None);
    }
}
