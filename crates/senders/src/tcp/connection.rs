//! The sending end.

use airbound_units::{BitRate, ByteCount, Instant, Span};

use super::config::{Backlog, Pacing, TcpConfig, TcpConfigError};
use super::prr::Reduction;
use super::rack::Rack;
use super::rate_sample::DeliveryRate;
use super::rto::RoundTrip;
use super::scoreboard::Scoreboard;
use super::small_queue::SmallQueue;
use crate::congestion::pacing::Pacer;
use crate::congestion::{
    CongestionControl, Controller, CustomControl, Phase, Start, UNSET_THRESHOLD, Window,
};

/// State and counters of the sending end of a connection.
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
    /// Round trip measured by the last acknowledgement, if any: the sample for the smoothed round trip (web10g: `SampleRTT`).
    pub last_rtt: Option<Span>,
    /// Segments believed to be in the network.
    pub in_flight: u32,
    /// Segments delivered, cumulatively or selectively acknowledged.
    pub delivered: u64,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Fast recoveries entered.
    pub recoveries: u64,
    /// Recoveries and timeouts undone as spurious.
    pub undone: u64,
    /// Pacing rate; `None` when segments are not spaced.
    pub pacing_rate: Option<BitRate>,
    /// Estimated delivery rate of the path: BBR's model, or for a window-based control its window over the smoothed round trip
    /// (Plum, Sec. VI). `None` before the first sample.
    pub bandwidth: Option<BitRate>,
}

/// Episode of loss whose reduction of the window may be undone.
#[derive(Debug, Clone, Copy)]
pub(super) struct Episode {
    pub(super) prior: Window,
    /// First unacknowledged byte when it began.
    pub(super) marker: u64,
    /// Number of retransmissions in flight when it began, or made since, without a reported duplicate; `None` before the first.
    pub(super) unexplained: Option<u32>,
}

/// The probe of a tail that may be lost (RFC 8985 section 7).
#[derive(Debug, Clone, Copy)]
pub(super) struct Probe {
    /// Next byte to send when it left.
    pub(super) end: u64,
    pub(super) retransmission: bool,
}

/// The sending end of a connection. See [the contract](crate::tcp#contract).
#[derive(Debug)]
pub struct TcpSender {
    pub(super) config: TcpConfig,
    pub(super) mss: u32,
    pub(super) now: Instant,
    // The stream.
    pub(super) first_unacked: u64,
    pub(super) next: u64,
    pub(super) written: u64,
    pub(super) unlimited: bool,
    pub(super) window_end: u64,
    /// End of the last segment shorter than the maximum.
    pub(super) short_end: u64,
    // Segments in flight, and measurements from them.
    pub(super) board: Scoreboard,
    pub(super) rtt: RoundTrip,
    /// The sample of the last acknowledgement.
    pub(super) last_rtt: Option<Span>,
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
    /// When the oldest retransmission that may still be in flight was sent.
    pub(super) retransmitting_since: Option<Instant>,
    pub(super) probe: Option<Probe>,
    pub(super) probe_now: bool,
    pub(super) usage: Usage,
    pub(super) pacer: Pacer,
    pub(super) small_queue: SmallQueue,
    // Timers.
    pub(super) timeout_at: Option<Instant>,
    pub(super) probe_at: Option<Instant>,
    pub(super) reorder_at: Option<Instant>,
    pub(super) release_at: Option<Instant>,
    pub(super) persist_at: Option<Instant>,
    pub(super) persist_backoff: u32,
    pub(super) window_probe: bool,
    pub(super) last_transmit: Instant,
    pub(super) retransmissions: u64,
    pub(super) timeouts: u64,
    pub(super) recoveries: u64,
    pub(super) undone: u64,
}

/// Use of the window by the application (Linux `tcp_cwnd_validate`).
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    pub(super) limited: bool,
    pub(super) max_out: u32,
    pub(super) round_end: u64,
    /// Largest flight since the window was last full, and when that was.
    pub(super) used: u32,
    pub(super) full_at: Instant,
    /// Whether new data was sent since the last check.
    pub(super) sent: bool,
}

impl TcpSender {
    /// Creates an established connection without data.
    ///
    /// # Errors
    /// The first value of `config` that is out of range.
    pub fn new(config: TcpConfig) -> Result<Self, TcpConfigError> {
        let mss = config.checked_mss()?;
        let start = Start {
            mss,
            initial_window: config.initial_window,
            paced: config.pacing == Pacing::On,
            hystart: config.hystart,
            seed: config.seed,
        };
        let controller = Controller::new(config.congestion, &start);
        Ok(Self::controlled(config, mss, controller))
    }

    /// Creates a connection with a custom congestion control in place of [`TcpConfig::congestion`]. With
    /// [`Pacing::Auto`] segments are paced if it returns a pacing rate from the start.
    ///
    /// # Errors
    /// The first value of `config` that is out of range.
    pub fn with_control(config: TcpConfig, control: Box<dyn CustomControl>) -> Result<Self, TcpConfigError> {
        let mss = config.checked_mss()?;
        Ok(Self::controlled(config, mss, Controller::Custom(control)))
    }

    fn controlled(config: TcpConfig, mss: u32, controller: Controller) -> Self {
        let paced = match config.pacing {
            Pacing::Auto => controller.pacing_rate().is_some(),
            Pacing::Off => false,
            Pacing::On => true,
        };
        let mut pacer = Pacer::new(paced, mss);
        pacer.set_rate(controller.pacing_rate());
        Self {
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
            last_rtt: None,
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
            small_queue: SmallQueue::new(config.small_queue),
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
        }
    }

    /// Writes bytes to send; returns the number that fitted into the send buffer. [`Backlog::Unlimited`] always fits and holds until
    /// [`TcpSender::end_backlog`].
    pub fn write(&mut self, now: Instant, amount: Backlog) -> ByteCount {
        self.advance(now);
        // Linux `tcp_rate_check_app_limited`: all data is sent and has left, and the window has room.
        if self.unsent() == ByteCount::ZERO
            && self.small_queue.below == 0
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

    /// Ends an unlimited backlog: only the data sent so far remains.
    pub const fn end_backlog(&mut self) {
        self.unlimited = false;
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

    /// Returns state and counters.
    #[must_use]
    pub fn metrics(&self) -> SenderMetrics {
        let bytes = |segments: u32| ByteCount::new(u64::from(segments) * u64::from(self.mss));
        SenderMetrics {
            cwnd: bytes(self.window.cwnd),
            ssthresh: (self.window.ssthresh < UNSET_THRESHOLD).then(|| bytes(self.window.ssthresh)),
            srtt: self.rtt.smoothed(),
            min_rtt: self.rtt.min(),
            last_rtt: self.last_rtt,
            in_flight: self.board.in_flight(),
            delivered: self.rate.delivered,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            recoveries: self.recoveries,
            undone: self.undone,
            pacing_rate: self.pacer.rate().filter(|_| self.pacer.is_on()),
            bandwidth: self.bandwidth(),
        }
    }

    /// [`SenderMetrics::bandwidth`] alone.
    #[must_use]
    pub fn bandwidth(&self) -> Option<BitRate> {
        let window = ByteCount::new(u64::from(self.window.cwnd) * u64::from(self.mss));
        let by_window = || self.rtt.smoothed().map(|srtt| BitRate::of(window, srtt));
        if self.controller.owns_window() { self.controller.bandwidth() } else { by_window() }
    }

    /// [`SenderMetrics::last_rtt`] alone.
    #[must_use]
    pub const fn last_rtt(&self) -> Option<Span> {
        self.last_rtt
    }

    /// When [`Self::on_deadline`] must be called at the latest if nothing else happens.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let timers = [self.timeout_at, self.probe_at, self.reorder_at, self.release_at, self.persist_at];
        let soonest = timers.map(|timer| timer.unwrap_or(Instant::MAX)).into_iter().min();
        soonest.filter(|at| *at < Instant::MAX)
    }

    /// Handles the timers that are due.
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

    /// Takes a new right edge of the receiver's window.
    pub(super) fn on_window(&mut self, end: u64) {
        // A right edge never moves back (RFC 9293 section 3.8.6).
        if end > self.window_end {
            self.window_end = end;
            self.persist_at = None;
            self.persist_backoff = 0;
        }
    }

    /// Asserts the invariants that hold between calls.
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
