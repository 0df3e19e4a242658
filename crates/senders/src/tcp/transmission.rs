//! Choice and time of transmissions: retransmissions, new segments, probes.

use airbound_units::Instant;
use airbound_units::Span;

use super::connection::{Probe, TcpSender};
use super::segment::Segment;
use crate::congestion::{CongestionControl, Phase};

impl TcpSender {
    /// Returns the next segment to send now; call until `None`.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        self.advance(now);
        self.release_at = None;
        if self.probe_now {
            self.probe_now = false;
            if let Some(segment) = self.send_probe() {
                return Some(segment);
            }
        }
        if self.board.in_flight() < self.window.cwnd {
            if let Some(number) = self.board.next_lost() {
                if self.paused() || self.is_retransmission_throttled() {
                    self.small_queue.end_burst();
                    return None;
                }
                return self.retransmit(number);
            }
            let len = self.sendable();
            if len > 0 && !self.paused() && !self.is_throttled(len) {
                return Some(self.send_new(len));
            }
        }
        self.small_queue.end_burst();
        self.validate_window();
        None
    }

    /// Whether pacing delays the next segment; stores until when.
    #[inline]
    fn paused(&mut self) -> bool {
        self.release_at = self.pacer.blocked_until(self.now);
        self.release_at.is_some()
    }

    /// Length of the new segment permitted by data, receive window, send buffer and Nagle's algorithm.
    #[inline]
    fn sendable(&mut self) -> u32 {
        let mss = u64::from(self.mss);
        let unsent = if self.unlimited { mss } else { self.written.saturating_sub(self.next) };
        let len = unsent.min(mss);
        if len == 0 {
            return 0;
        }
        let room = self.window_end.saturating_sub(self.next);
        if room < len {
            return self.beyond_window(room);
        }
        self.persist_at = None;
        let buffered = self.next - self.first_unacked;
        if self.unlimited && buffered.saturating_add(len) > self.config.send_buffer.as_u64() {
            return 0;
        }
        // RFC 896 with Minshall's change: only one short segment at a time.
        if self.config.nagle && len < mss && self.short_end > self.first_unacked {
            return 0;
        }
        len as u32
    }

    /// Handles a receive window smaller than a segment: wait, unless nothing is in flight (RFC 9293 section 3.8.6).
    fn beyond_window(&mut self, room: u64) -> u32 {
        if !self.board.is_empty() {
            return 0;
        }
        if room > 0 {
            return room as u32;
        }
        if self.window_probe {
            self.window_probe = false;
            return 1;
        }
        if self.persist_at.is_none() {
            let wait = self.rtt.timeout() * (1_u64 << self.persist_backoff.min(20));
            self.persist_at = Some(self.now + wait.min(Span::from_secs(120)));
        }
        0
    }

    fn send_new(&mut self, len: u32) -> Segment {
        if self.board.is_empty() {
            self.restart_after_idle();
        }
        let seq = self.next;
        let snapshot = self.rate.snapshot(self.now, self.board.is_empty());
        self.board.push(self.now, seq, len, snapshot);
        self.next = seq.saturating_add(u64::from(len));
        self.written = self.written.max(self.next);
        if len < self.mss {
            self.short_end = self.next;
        }
        self.usage.sent = true;
        self.on_sent(len);
        Segment { seq, len, retransmission: false, sent: self.now }
    }

    fn retransmit(&mut self, number: u64) -> Option<Segment> {
        let snapshot = self.rate.snapshot(self.now, false);
        let (seq, len) = self.board.retransmit(self.now, number, snapshot)?;
        self.retransmissions = self.retransmissions.saturating_add(1);
        self.retransmitting_since.get_or_insert(self.now);
        if let Some(episode) = &mut self.episode {
            episode.unexplained = Some(episode.unexplained.unwrap_or(0).saturating_add(1));
        }
        self.on_sent(len);
        Some(Segment { seq, len, retransmission: true, sent: self.now })
    }

    #[inline]
    fn on_sent(&mut self, len: u32) {
        self.last_transmit = self.now;
        self.pacer.on_transmit(self.now, len);
        self.small_queue.on_sent(len);
        if self.phase == Phase::Recovery {
            self.reduction.on_transmit();
        }
        if self.timeout_at.is_none() {
            self.timeout_at = Some(self.now + self.rtt.timeout());
        }
        self.schedule_probe();
    }

    /// Sends the tail loss probe: new data if there is any, else the last segment again (RFC 8985 section 7.3).
    fn send_probe(&mut self) -> Option<Segment> {
        if self.board.is_empty() {
            return None;
        }
        let len = self.sendable();
        let segment = if len > 0 {
            self.send_new(len)
        } else {
            let number = self.board.last_unsacked()?;
            self.retransmit(number)?
        };
        self.probe = Some(Probe { end: self.next, retransmission: segment.retransmission });
        self.probe_at = None;
        Some(segment)
    }

    /// Sets the probe's timer (RFC 8985 section 7.2): two round trips, longer if a delayed acknowledgement may delay
    /// that of a single segment, and in place of the retransmission timer if that would expire first.
    #[inline]
    pub(super) fn schedule_probe(&mut self) {
        self.probe_at = None;
        if self.phase != Phase::Open
            || self.board.sacked_out > 0
            || self.board.is_empty()
            || self.probe.is_some()
        {
            return;
        }
        let wait = match self.rtt.smoothed() {
            Some(srtt) if self.board.len() == 1 => srtt * 2 + self.config.min_rto,
            // Linux adds two ticks of its clock for coarse timers.
            Some(srtt) => srtt * 2 + Span::from_millis(2),
            None => return,
        };
        let at = self.now + wait;
        self.probe_at = Some(self.timeout_at.map_or(at, |timeout| at.min(timeout)));
    }

    /// Validates the window after a burst: whether the window ended it (Linux `tcp_cwnd_validate`).
    fn validate_window(&mut self) {
        if !std::mem::take(&mut self.usage.sent) {
            return;
        }
        let out = self.board.len();
        let limited = self.board.in_flight() >= self.window.cwnd;
        let usage = &mut self.usage;
        if self.first_unacked >= usage.round_end || limited || (!usage.limited && out > usage.max_out) {
            usage.limited = limited;
            usage.max_out = out;
            usage.round_end = self.next;
        }
        if self.is_window_limited() {
            self.usage.used = 0;
            self.usage.full_at = self.now;
            return;
        }
        self.usage.used = self.usage.used.max(out);
        let unused_for = self.now.since(self.usage.full_at);
        if self.config.slow_start_after_idle
            && !self.controller.owns_window()
            && unused_for >= self.rtt.timeout()
        {
            // RFC 2861 section 3: a window not used for a timeout says nothing about the network.
            if self.phase == Phase::Open {
                let used = self.usage.used.max(self.config.initial_window);
                if used < self.window.cwnd {
                    self.window.ssthresh = self.current_threshold();
                    self.window.cwnd = (self.window.cwnd + used) / 2;
                }
            }
            self.usage.used = 0;
            self.usage.full_at = self.now;
        }
    }

    /// Whether growth is justified: the window was full, or in slow start at least half full.
    pub(super) fn is_window_limited(&self) -> bool {
        self.usage.limited
            || (self.window.in_slow_start() && self.window.cwnd < self.usage.max_out.saturating_mul(2))
    }

    /// The threshold, or three quarters of the window if that is more (RFC 2861 section 3).
    fn current_threshold(&self) -> u32 {
        self.window.ssthresh.max(self.window.cwnd / 2 + self.window.cwnd / 4)
    }

    /// Reduces the window before sending with nothing in flight: after a pause longer than the timeout it halves for
    /// each timeout that passed, down to the initial one (Linux `tcp_cwnd_restart`).
    fn restart_after_idle(&mut self) {
        if self.next == 0 {
            return;
        }
        let idle = self.now.since(self.last_transmit);
        if idle.is_zero() {
            return;
        }
        self.controller.on_restart(self.now, idle, self.rate.is_app_limited());
        self.pacer.set_rate(self.controller.pacing_rate().or(self.pacer.rate()));
        let timeout = self.rtt.timeout();
        if !self.config.slow_start_after_idle || self.controller.owns_window() || idle <= timeout {
            return;
        }
        let restart = self.config.initial_window.min(self.window.cwnd);
        self.window.ssthresh = self.current_threshold();
        let halvings = idle.div_floor(timeout).min(31);
        self.window.cwnd = (self.window.cwnd >> halvings).max(restart);
        self.usage.used = 0;
        self.usage.full_at = self.now;
    }
}
