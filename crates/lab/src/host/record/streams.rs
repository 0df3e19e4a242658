//! Flows over TCP: their packets by entries and MPDUs, their video frames by the bytes that the receiver read.

use airbound_control::frame::DropReason;
use airbound_record::FrameFate;
use airbound_scenario::Direction;
use airbound_units::Instant;

use super::segments::segments;
use super::{Measurements, given_up, round_trips};
use crate::log::Row;

impl Measurements<'_> {
    /// Records a TCP flow: latency to the receiver's radio, downlink from the access point's entry (and the wire before it), uplink from
    /// mac80211's queue at the station.
    pub(super) fn record_stream(&mut self, flow: usize, rows: &[Row]) {
        match self.scenario.flows[flow].direction {
            Direction::Down => self.record_segments(flow, rows),
            Direction::Up => self.record_sent(flow, rows),
        }
        for (at, round_trip) in round_trips::of(flow as u64, self.scenario, rows, &self.released) {
            if (self.from()..=self.end()).contains(&self.time(at)) {
                self.flows[flow].latency.record_round_trip(round_trip);
            }
        }
        let (from, end) = (self.from(), self.end());
        let mut received: Vec<(Instant, u64)> = Vec::new();
        let mut frames = Vec::new();
        for row in rows {
            match row {
                Row::Stream { flow: of, at, bytes } if *of == flow as u64 => {
                    let at = self.time(*at);
                    received.push((at, *bytes));
                    if at >= from && at <= end {
                        self.flows[flow].goodput += bytes;
                    }
                }
                Row::Frame { flow: of, created, size } if *of == flow as u64 => {
                    frames.push((self.time(*created), *size));
                }
                _ => {}
            }
        }
        self.record_frames_of_stream(flow, &frames, &received);
        // The offered load of a saturated stream is its goodput.
        let entry = &mut self.flows[flow];
        entry.offered = entry.goodput;
        entry.sent.clone_from(&received);
        entry.received = received;
    }

    /// Records the segments that came from the wire. One that was not on the air is dropped once a later one was, by the agent or by
    /// mac80211: both keep a flow in order.
    fn record_segments(&mut self, flow: usize, rows: &[Row]) {
        for (number, segment) in (0..).zip(segments(flow as u64, rows)) {
            let entered = self.time(segment.entered);
            let sent = entered - self.scenario.wire.way.delay;
            let mut row = self.row(flow, number, segment.size, sent, segment.mpdu.as_ref());
            row.enqueued = entered;
            row.arrived = self.behind_radio(flow, row.delivered);
            let overtaken = segment.overtaken.then_some(DropReason::Congestion);
            self.settle(flow, row, segment.mpdu.as_ref().map(given_up).or(overtaken));
        }
    }

    /// Records the segments that a station sent. What its mac80211 drops is not known.
    fn record_sent(&mut self, flow: usize, rows: &[Row]) {
        let mpdus = rows.iter().filter_map(|row| match row {
            // Acknowledgements have the port as their source port.
            Row::Mpdu(mpdu) if mpdu.flow == flow as u64 && mpdu.queued >= self.zero => Some(*mpdu),
            _ => None,
        });
        for (number, mpdu) in (0..).zip(mpdus.collect::<Vec<_>>()) {
            let mut row = self.row(flow, number, mpdu.size, self.time(mpdu.queued), Some(&mpdu));
            row.arrived = self.behind_radio(flow, row.delivered);
            self.settle(flow, row, Some(given_up(&mpdu)));
        }
    }

    fn record_frames_of_stream(
        &mut self,
        flow: usize,
        frames: &[(Instant, u64)],
        received: &[(Instant, u64)],
    ) {
        let (mut written, mut read) = (0, 0);
        let mut arrivals = received.iter();
        let mut last = Instant::ZERO;
        for (number, (created, size)) in (0u64..).zip(frames) {
            if *size == 0 {
                self.record_frame(flow, number, *created, Instant::MAX, 0, FrameFate::Skipped);
                continue;
            }
            written += size;
            while read < written
                && let Some((at, bytes)) = arrivals.next()
            {
                (last, read) = (*at, read + bytes);
            }
            let (at, fate) = if read >= written {
                (last, FrameFate::Delivered)
            } else {
                (Instant::MAX, FrameFate::Unfinished)
            };
            self.record_frame(flow, number, *created, at, *size, fate);
        }
    }
}
