//! The sending end.

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::config::{Backlog, ConfigError, Congestion, TcpConfig};
use super::prr::Reduction;
use super::rack::Rack;
use super::rate_sample::DeliveryRate;
use super::rto::RoundTrip;
use super::scoreboard::Scoreboard;
use super::segment::Segment;
use crate::sender::bbr::Bbr;
use crate::sender::congestion::{CongestionControl, Controller, Phase, UNSET_THRESHOLD, Window};
use crate::sender::cubic::Cubic;
use crate::sender::pacing::Pacer;
use crate::sender::reno::Reno;

/// What a connection looks like from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderMetrics {
    /// Congestion window.
    pub cwnd: ByteCount,
    /// Slow-start threshold; `None` before the first loss.
    pub ssthresh: Option<ByteCount>,
    /// Smoothed round trip; `None` before the first sample.
    pub srtt: Option<Span>,
    /// Smallest round trip of the last 300 s.
    pub min_rtt: Option<Span>,
    /// Segments believed to be in the network.
    pub in_flight: u32,
    /// Segments delivered, cumulatively or selectively acknowledged.
    pub delivered: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Recoveries and timeouts undone as spurious.
    pub undone: u64,
    /// Pacing rate; `None` when segments are not spaced.
    pub pacing_rate: Option<BitRate>,
}

/// What may be undone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Episode {
    pub(super) prior: Window,
    /// First unacknowledged byte when it began.
    pub(super) marker: u64,
    /// Retransmissions in flight when it began or made since, that no duplicate was reported for; `None` before there
    /// is one.
    pub(super) unexplained: Option<u32>,
}

/// The probe of a tail that may be lost (RFC 8985 section 7).
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    /// Next byte to send when it left.
    pub(super) end: u64,
    pub(super) retransmission: bool,
}

/// The sending end of a connection. See [the contract](crate::sender#contract).
#[derive(Debug, Clone)]
pub struct TcpSender {
    pub(super) config: TcpConfig,
    pub(super) mss: u32,
    pub(super) now: Instant,
    // The stream.
    pub(super) first_unacked: u64,
    pub(super) next: u64,
    written: u64,
    unlimited: bool,
    pub(super) window_end: u64,
    /// End of the last segment shorter than the maximum.
    short_end: u64,
    // What is in flight and what it tells.
    pub(super) board: Scoreboard,
    pub(super) rtt: RoundTrip,
    pub(super) rack: Rack,
    pub(super) rate: DeliveryRate,
    // Windows and phases.
    pub(super) controller: Controller,
    pub(super) window: Window,
    pub(super) phase: Phase,
    /// Next byte to send when the phase was entered: its acknowledgement ends it.
    pub(super) recovery_end: u64,
    pub(super) reduction: Reduction,
    pub(super) episode: Option<Episode>,
    /// When the oldest retransmission left that may still be in flight.
    pub(super) retransmitting_since: Option<Instant>,
    pub(super) probe: Option<Probe>,
    probe_now: bool,
    usage: Usage,
    pub(super) pacer: Pacer,
    // Timers.
    pub(super) timeout_at: Option<Instant>,
    pub(super) probe_at: Option<Instant>,
    pub(super) reorder_at: Option<Instant>,
    release_at: Option<Instant>,
    persist_at: Option<Instant>,
    persist_backoff: u32,
    window_probe: bool,
    last_transmit: Instant,
    pub(super) retransmissions: u64,
    pub(super) timeouts: u64,
    pub(super) recoveries: u64,
    pub(super) undone: u64,
}

/// How much of the window the application uses (Linux `tcp_cwnd_validate`).
#[derive(Debug, Clone, Copy, Default)]
struct Usage {
    limited: bool,
    max_out: u32,
    round_end: u64,
    /// Largest flight since the window was last full, and when that was.
    used: u32,
    full_at: Instant,
    /// Whether new data left since the last look.
    sent: bool,
}

impl TcpSender {
    /// An established connection with nothing written.
    ///
    /// # Errors
    /// The first value of `config` that is out of range.
    pub fn new(config: TcpConfig) -> Result<Self, ConfigError> {
        let mss = config.checked_mss()?;
        let paced = config.paces();
        let controller = match config.congestion {
            Congestion::Cubic => Controller::Cubic(Cubic::new(config.hystart, paced)),
            Congestion::Reno => Controller::Reno(Reno::new()),
            Congestion::Bbr => Controller::Bbr(Box::new(Bbr::new(mss, config.initial_window, config.seed))),
        };
        let mut pacer = Pacer::new(paced, mss);
        pacer.set_rate(controller.pacing_rate());
        Ok(Self {
            mss,
            now: Instant::ZERO,
            first_unacked: 0,
            next: 0,
            written: 0,
            unlimited: false,
            window_end: config.receive_window.as_u64(),
            short_end: 0,
            board: Scoreboard::default(),
            rtt: RoundTrip::new(config.min_rto),
            rack: Rack::default(),
            rate: DeliveryRate::default(),
            controller,
            window: Window { cwnd: config.initial_window, ssthresh: UNSET_THRESHOLD },
            phase: Phase::Open,
            recovery_end: 0,
            reduction: Reduction::default(),
            episode: None,
            retransmitting_since: None,
            probe: None,
            probe_now: false,
            usage: Usage::default(),
            pacer,
            timeout_at: None,
            probe_at: None,
            reorder_at: None,
            release_at: None,
            persist_at: None,
            persist_backoff: 0,
            window_probe: false,
            last_transmit: Instant::ZERO,
            retransmissions: 0,
            timeouts: 0,
            recoveries: 0,
            undone: 0,
            config,
        })
    }

    /// Hands over bytes to send; returns how many fitted into the send buffer. [`Backlog::Unlimited`] always fits and
    /// holds for the rest of the connection.
    pub fn write(&mut self, now: Instant, amount: Backlog) -> ByteCount {
        self.advance(now);
        // Linux `tcp_rate_check_app_limited`: everything is sent and the window has room.
        if self.unsent() == ByteCount::ZERO
            && self.board.in_flight() < self.window.cwnd
            && self.board.lost_out <= self.board.retransmitted_out
        {
            self.rate.on_app_limited(self.board.in_flight());
        }
        match amount {
            Backlog::Unlimited => {
                self.unlimited = true;
                ByteCount::MAX
            }
            Backlog::Bytes(bytes) => {
                let accepted = bytes.min(self.room());
                self.written = self.written.saturating_add(accepted.as_u64());
                accepted
            }
        }
    }

    /// Bytes that the send buffer can still take.
    #[must_use]
    pub fn room(&self) -> ByteCount {
        self.config.send_buffer - ByteCount::new(self.written.max(self.next) - self.first_unacked)
    }

    /// Bytes written and never sent; [`ByteCount::MAX`] for an unlimited backlog.
    #[must_use]
    pub fn unsent(&self) -> ByteCount {
        if self.unlimited { ByteCount::MAX } else { ByteCount::new(self.written.saturating_sub(self.next)) }
    }

    /// Bytes sent and not acknowledged cumulatively.
    #[must_use]
    pub fn unacked(&self) -> ByteCount {
        ByteCount::new(self.next - self.first_unacked)
    }

    /// Whether everything written was acknowledged.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.board.is_empty() && self.unsent() == ByteCount::ZERO
    }

    /// A look from outside.
    #[must_use]
    pub fn metrics(&self) -> SenderMetrics {
        let bytes = |segments: u32| ByteCount::new(u64::from(segments) * u64::from(self.mss));
        SenderMetrics {
            cwnd: bytes(self.window.cwnd),
            ssthresh: (self.window.ssthresh < UNSET_THRESHOLD).then(|| bytes(self.window.ssthresh)),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            in_flight: self.board.in_flight(),
            delivered: self.rate.delivered,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            recoveries: self.recoveries,
            undone: self.undone,
            pacing_rate: self.pacer.rate().filter(|_| self.pacer.is_on()),
        }
    }

    /// The next segment to leave now; call until `None`.
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
                if self.paused() {
                    return None;
                }
                return self.retransmit(number);
            }
            let len = self.sendable();
            if len > 0 {
                if self.paused() {
                    self.validate_window();
                    return None;
                }
                return Some(self.send_new(len));
            }
        }
        self.validate_window();
        None
    }

    /// When [`Self::on_deadline`] must be called at the latest if nothing else happens.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        [self.timeout_at, self.probe_at, self.reorder_at, self.release_at, self.persist_at]
            .into_iter()
            .flatten()
            .min()
    }

    /// Time passed: the timers that are due act.
    pub fn on_deadline(&mut self, now: Instant) {
        self.advance(now);
        let due = |timer: &mut Option<Instant>| timer.take_if(|at| *at <= self.now).is_some();
        due(&mut self.release_at);
        if due(&mut self.reorder_at) {
            self.on_reorder_timer();
        }
        if self.persist_at.take_if(|at| *at <= self.now).is_some() {
            self.window_probe = true;
            self.persist_backoff = (self.persist_backoff + 1).min(20);
        }
        if self.probe_at.take_if(|at| *at <= self.now).is_some() {
            // The probe goes first even when both are due.
            self.probe_now = true;
            self.timeout_at = Some(self.now + self.rtt.timeout());
        } else if self.timeout_at.take_if(|at| *at <= self.now).is_some() {
            self.on_timeout();
        }
    }

    pub(super) fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Whether pacing holds the next segment back; remembers until when.
    #[inline]
    fn paused(&mut self) -> bool {
        self.release_at = self.pacer.blocked_until(self.now);
        self.release_at.is_some()
    }

    /// Length of the new segment that may leave, as far as data, receive window, send buffer and Nagle go.
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

    /// The receive window does not take a whole segment: wait, unless nothing is in flight (RFC 9293 section 3.8.6).
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
        if self.phase == Phase::Recovery {
            self.reduction.on_transmit();
        }
        if self.timeout_at.is_none() {
            self.timeout_at = Some(self.now + self.rtt.timeout());
        }
        self.schedule_probe();
    }

    /// The tail loss probe leaves: new data if there is any, else the last segment again (RFC 8985 section 7.3).
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

    /// Sets the probe's timer (RFC 8985 section 7.2): two round trips, longer when a delayed acknowledgement may hold
    /// back the only segment, and in place of the retransmission timer where that would be first.
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

    /// A burst of transmissions ended: was it the window that ended it (Linux `tcp_cwnd_validate`)?
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
            // RFC 2861 section 3: a window that was not used for a timeout says nothing about the network.
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

    /// Something leaves while nothing is in flight: after a pause longer than the timeout the window halves for each
    /// timeout that passed, down to the initial one (Linux `tcp_cwnd_restart`).
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

    /// The other end opened or moved its window.
    pub(super) fn on_window(&mut self, end: u64) {
        // A right edge never moves back (RFC 9293 section 3.8.6).
        if end > self.window_end {
            self.window_end = end;
            self.persist_at = None;
            self.persist_backoff = 0;
        }
    }

    /// What must hold between calls.
    #[cfg(test)]
    pub(super) fn check(&self) {
        assert!(self.first_unacked <= self.next);
        assert!(self.window.cwnd >= 1);
        self.board.check(self.first_unacked, self.next);
        assert_eq!(
            self.board.is_empty(),
            self.timeout_at.is_none(),
            "timer runs while something is in flight"
        );
    }
}
