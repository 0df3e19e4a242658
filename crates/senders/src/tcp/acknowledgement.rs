//! Processing of acknowledgements, and of the expiry of timers, at the sending end.

use airbound_units::{Instant, Span};

use super::connection::{Episode, TcpSender};
use super::prr::Reduction;
use super::rack::Losses;
use super::segment::{Ack, SackBlock};
use crate::congestion::pacing::window_rate;
use crate::congestion::{AckEvent, CongestionControl, Phase, RateSample};

/// Information from the segments of one acknowledgement.
#[derive(Debug, Default)]
struct AckedSegments {
    /// Transmission of the first and of the last segment acknowledged cumulatively that was sent once.
    first_sent: Option<Instant>,
    last_sent: Option<Instant>,
    /// Transmission of the last segment acknowledged selectively.
    sacked_sent: Option<Instant>,
    /// Whether a retransmitted segment was acknowledged cumulatively, so that the round trips of other segments may
    /// include a recovery, too.
    ambiguous: bool,
    reordered: bool,
    duplicate: Option<SackBlock>,
}

/// Effects and measurements of one acknowledgement.
#[derive(Debug)]
struct AckOutcome {
    /// Segments newly delivered.
    delivered: u32,
    /// Whether it acknowledged cumulatively.
    advanced: bool,
    prior_in_flight: u32,
    /// Segments newly marked as lost.
    lost: u32,
    /// Round trip of the newest segment.
    rtt: Option<Span>,
    rate: RateSample,
}

impl TcpSender {
    /// Takes an acknowledgement. Impossible content (bytes never sent, blocks out of range, echoes from the future) is
    /// ignored.
    pub fn on_ack(&mut self, now: Instant, ack: &Ack) {
        self.advance(now);
        self.last_rtt = None;
        if ack.cumulative > self.next {
            return;
        }
        let prior_in_flight = self.board.in_flight();
        let prior_delivered = self.rate.delivered;
        let prior_unacked = self.first_unacked;
        let mut heard = AckedSegments::default();
        if ack.sack_count > 0 {
            self.take_sack(ack, &mut heard);
        }
        self.take_cumulative(ack.cumulative, &mut heard);
        let advanced = self.first_unacked > prior_unacked;
        if ack.cumulative >= self.first_unacked {
            self.on_window(ack.cumulative.saturating_add(ack.window.as_u64()));
        }
        let rtt = self.take_round_trip(&heard, ack, advanced);
        if heard.reordered {
            self.rack.on_reordering();
        }
        if let Some(duplicate) = heard.duplicate {
            self.take_duplicate(duplicate);
        }
        self.take_probe_answer(ack, advanced, heard.duplicate.is_some());

        let delivered = u32::try_from(self.rate.delivered - prior_delivered).unwrap_or(u32::MAX);
        let losses = self.change_phase(ack, advanced);
        let rate = self.rate.sample(self.now, self.rtt.min());
        let answer = AckOutcome { delivered, advanced, prior_in_flight, lost: losses.lost, rtt, rate };
        self.size_window(&answer);
        self.set_timers(advanced || delivered > 0, losses.next);
        if self.phase == Phase::Open && self.board.retransmitted_out == 0 {
            self.retransmitting_since = None;
        }
    }

    fn take_sack(&mut self, ack: &Ack, heard: &mut AckedSegments) {
        let blocks = ack.blocks();
        let now = self.now;
        for (index, &block) in blocks.iter().enumerate() {
            if block.start >= block.end || block.end > self.next {
                continue;
            }
            let second = blocks.get(1).filter(|_| index == 0);
            let repeats = second.is_some_and(|second| second.start <= block.start && block.end <= second.end);
            if index == 0 && (block.end <= ack.cumulative || repeats) {
                heard.duplicate = Some(block);
                continue;
            }
            if block.end <= ack.cumulative.max(self.first_unacked) {
                continue;
            }
            let Self { board, rack, rate, rtt, .. } = self;
            let highest = board.highest_sacked;
            let min_rtt = rtt.min();
            board.sack(block, |segment| {
                rate.on_delivered(now, segment.last_sent(), segment.snapshot());
                rack.on_delivered(now, segment, min_rtt);
                if !segment.is_repeated() {
                    heard.sacked_sent = Some(segment.sent);
                    heard.reordered |= segment.end() < highest;
                }
            });
        }
    }

    #[inline]
    fn take_cumulative(&mut self, cumulative: u64, heard: &mut AckedSegments) {
        if cumulative <= self.first_unacked {
            return;
        }
        let now = self.now;
        let Self { board, rack, rate, rtt, .. } = self;
        let highest = board.highest_sacked;
        let min_rtt = rtt.min();
        self.first_unacked = cumulative;
        board.acknowledge(cumulative, |segment| {
            if !segment.is_sacked() {
                rate.on_delivered(now, segment.last_sent(), segment.snapshot());
                rack.on_delivered(now, segment, min_rtt);
            }
            if segment.is_repeated() {
                heard.ambiguous = true;
            } else if !segment.is_sacked() {
                heard.first_sent.get_or_insert(segment.sent);
                heard.last_sent = Some(segment.sent);
                heard.reordered |= segment.end() < highest;
            }
        });
    }

    /// Measures (Karn's rule: segments sent once; else, with progress, the echoed timestamp). Returns the round trip
    /// of the newest segment.
    #[inline]
    fn take_round_trip(&mut self, heard: &AckedSegments, ack: &Ack, advanced: bool) -> Option<Span> {
        let since = |sent: Instant| self.now.since(sent);
        let plain =
            |sent: Option<Instant>| sent.filter(|_| !heard.ambiguous).or(heard.sacked_sent).map(since);
        let (newest, oldest) = (plain(heard.last_sent), plain(heard.first_sent));
        let echoed = (advanced && oldest.is_none() && ack.echoed <= self.now && ack.echoed > Instant::ZERO)
            .then(|| since(ack.echoed));
        if let Some(rtt) = newest {
            self.rtt.on_min(self.now, rtt);
        }
        self.last_rtt = oldest.or(echoed);
        if let Some(rtt) = self.last_rtt {
            self.rtt.on_sample(rtt, self.first_unacked, self.next);
        }
        if advanced {
            self.rtt.recover();
        }
        newest
    }

    fn take_duplicate(&mut self, duplicate: SackBlock) {
        self.rack.on_duplicate(self.first_unacked, self.next);
        let Some(episode) = self.episode.as_mut().filter(|episode| duplicate.end > episode.marker) else {
            return;
        };
        let segments = (duplicate.end - duplicate.start).div_ceil(u64::from(self.mss));
        let segments = u32::try_from(segments).unwrap_or(u32::MAX);
        episode.unexplained = episode.unexplained.map(|count| count.saturating_sub(segments));
    }

    /// RFC 8985 section 7.4: determines whether the retransmission of the probe arrived.
    fn take_probe_answer(&mut self, ack: &Ack, advanced: bool, duplicate: bool) {
        let Some(probe) = self.probe else { return };
        if ack.cumulative < probe.end {
            return;
        }
        if !probe.retransmission || duplicate {
            self.probe = None;
        } else if (advanced && ack.cumulative > probe.end) || (!advanced && ack.sack_count == 0) {
            self.probe = None;
            if advanced && self.phase == Phase::Open {
                // The probe repaired a loss: one reduction.
                self.window.ssthresh = self.controller.on_loss(self.now, &self.window);
                if !self.controller.owns_window() {
                    self.window.cwnd = self.window.ssthresh.min(self.window.cwnd);
                }
            }
        }
    }

    /// Undoes, ends or begins recovery (Linux `tcp_fastretrans_alert`).
    fn change_phase(&mut self, ack: &Ack, advanced: bool) -> Losses {
        if self.episode.is_some() || self.phase != Phase::Open {
            self.undo_if_spurious(ack, advanced);
            if self.phase != Phase::Open && self.first_unacked >= self.recovery_end {
                self.end_recovery();
            }
        }
        self.detect_losses()
    }

    fn detect_losses(&mut self) -> Losses {
        if self.board.is_empty() {
            return Losses::default();
        }
        let window = self.rack.reordering_window(
            self.phase != Phase::Open,
            self.board.sacked_out,
            self.rtt.min(),
            self.rtt.smoothed(),
        );
        let losses = self.rack.detect(self.now, window, &mut self.board);
        let begins = match self.phase {
            Phase::Open => losses.lost > 0,
            // A lost retransmission is a second sign of congestion.
            Phase::Loss => losses.retransmissions > 0,
            Phase::Recovery => false,
        };
        if begins {
            self.begin_episode(true);
            self.phase = Phase::Recovery;
            self.recoveries = self.recoveries.saturating_add(1);
            self.reduction = Reduction::begin(self.window.cwnd);
            self.recovery_end = self.next;
        }
        losses
    }

    fn begin_episode(&mut self, reduce: bool) {
        let prior = self.window;
        if reduce {
            self.window.ssthresh = self.controller.on_loss(self.now, &self.window).max(1);
        }
        self.probe = None;
        self.probe_at = None;
        let under_way = self.board.retransmitted_out;
        let unexplained = (under_way > 0).then_some(under_way);
        self.episode = Some(Episode { prior, marker: self.first_unacked, unexplained });
    }

    /// Undoes the reduction if all retransmissions of this episode were unnecessary: an acknowledgement with progress
    /// echoes a transmission before the oldest retransmission that may be in flight, even one of an earlier episode
    /// (Eifel, RFC 3522), or each retransmission was reported as a duplicate.
    fn undo_if_spurious(&mut self, ack: &Ack, advanced: bool) {
        let Some(episode) = self.episode else { return };
        let delayed = self.phase != Phase::Open
            && advanced
            && ack.echoed > Instant::ZERO
            && self.retransmitting_since.is_some_and(|since| ack.echoed < since);
        if !delayed && episode.unexplained != Some(0) {
            return;
        }
        self.episode = None;
        self.undone = self.undone.saturating_add(1);
        self.window.cwnd = self.window.cwnd.max(episode.prior.cwnd);
        self.window.ssthresh = self.window.ssthresh.max(episode.prior.ssthresh);
        self.controller.on_undo(&self.window);
        if self.phase != Phase::Open {
            self.board.unmark_lost();
            self.phase = Phase::Open;
        }
    }

    fn end_recovery(&mut self) {
        if self.phase == Phase::Recovery {
            if !self.controller.owns_window() {
                self.window.cwnd = self.window.ssthresh.max(1);
            }
            self.rack.on_recovery_end();
        }
        self.phase = Phase::Open;
        // The episode is kept until the next one: a late duplicate may still prove it spurious.
    }

    /// Sets the window by the algorithm or by proportional rate reduction, and the pacing rate accordingly.
    #[inline]
    fn size_window(&mut self, answer: &AckOutcome) {
        let &AckOutcome { delivered, advanced, prior_in_flight, lost, rtt, rate } = answer;
        let in_flight = self.board.in_flight();
        let event = AckEvent {
            now: self.now,
            phase: self.phase,
            acked: if advanced { delivered } else { 0 },
            delivered,
            lost,
            in_flight,
            prior_in_flight,
            window_limited: self.is_window_limited(),
            rtt,
            smoothed_rtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            first_unacked: self.first_unacked,
            next_unsent: self.next,
            total_delivered: self.rate.delivered,
            rate,
            next_release: self.pacer.next_release(),
        };
        self.controller.on_ack(&mut self.window, &event);
        if self.phase == Phase::Recovery && !self.controller.owns_window() {
            let progress = advanced && lost == 0;
            if let Some(cwnd) = self.reduction.window(delivered, progress, in_flight, self.window.ssthresh) {
                self.window.cwnd = cwnd;
            }
        }
        self.window.cwnd = self.window.cwnd.max(1);
        if self.controller.holds_back() {
            self.rate.on_app_limited(in_flight);
        }
        if self.pacer.is_on() || self.small_queue.is_on() {
            let rate = self.controller.pacing_rate().or_else(|| {
                let srtt = self.rtt.smoothed()?;
                let early = self.window.cwnd < self.window.ssthresh / 2;
                Some(window_rate(self.window.cwnd.max(self.board.len()), self.mss, srtt, early))
            });
            self.pacer.set_rate(rate);
        }
    }

    fn set_timers(&mut self, progress: bool, reorder_at: Option<Instant>) {
        self.reorder_at = reorder_at;
        let Some(first) = self.board.first() else {
            self.timeout_at = None;
            self.probe_at = None;
            return;
        };
        if progress {
            // Linux `tcp_rearm_rto`: from the first segment's last transmission, and not in the past.
            let at = first.sent + self.rtt.timeout();
            self.timeout_at = Some(at.max(self.now + Span::from_millis(1)));
            self.schedule_probe();
        }
    }

    /// Handles RACK's timer: the reordering window of the oldest segment has passed.
    pub(super) fn on_reorder_timer(&mut self) {
        let before = self.phase;
        let losses = self.detect_losses();
        self.reorder_at = losses.next;
        if self.phase == Phase::Recovery && before != Phase::Recovery && !self.controller.owns_window() {
            // Linux counts one delivery, so that the first retransmission can be sent.
            let (in_flight, ssthresh) = (self.board.in_flight(), self.window.ssthresh);
            if let Some(cwnd) = self.reduction.window(1, false, in_flight, ssthresh) {
                self.window.cwnd = cwnd;
            }
        }
    }

    /// Handles the retransmission timer (RFC 6298 section 5, Linux `tcp_enter_loss`).
    pub(super) fn on_timeout(&mut self) {
        if self.board.is_empty() {
            return;
        }
        self.timeouts = self.timeouts.saturating_add(1);
        let fresh = self.phase == Phase::Open || self.first_unacked >= self.recovery_end;
        let repeated = self.phase == Phase::Loss && !fresh;
        if !repeated {
            // A timeout during fast recovery does not reduce the threshold a second time.
            let kept = self.episode.filter(|_| !fresh);
            self.begin_episode(fresh);
            if let (Some(kept), Some(episode)) = (kept, &mut self.episode) {
                episode.prior = kept.prior;
            }
        }
        let (now, rtt) = (self.now, self.rack.rtt);
        self.board.mark_timeout(|segment| segment.sent + rtt <= now);
        self.controller.on_timeout(&self.window);
        self.window.cwnd = self.board.in_flight() + 1;
        self.phase = Phase::Loss;
        self.recovery_end = self.next;
        self.probe = None;
        self.reorder_at = None;
        self.rtt.back_off();
        self.timeout_at = Some(self.now + self.rtt.timeout());
    }
}
