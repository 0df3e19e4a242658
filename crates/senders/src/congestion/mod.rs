//! The interface between TCP and the algorithm that sizes its window.

mod any;
mod bbr;
mod cubic;
mod hystart;
pub(crate) mod pacing;
mod reno;
pub(crate) mod windowed;

use airbound_units::{BitRate, Instant, Span};

pub use any::Congestion;
pub(crate) use any::{Controller, Start};
pub use hystart::HystartKind;

/// The largest congestion window in segments, far above what any receive window allows.
pub(crate) const MAX_WINDOW: u32 = 1 << 24;
/// Value of an unset slow-start threshold.
pub(crate) const UNSET_THRESHOLD: u32 = 0x7fff_ffff;

/// The congestion window, in segments as Linux counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Segments that may be in flight, at least 1.
    pub cwnd: u32,
    /// Slow-start threshold in segments; below it the window is in slow start.
    pub ssthresh: u32,
}

impl Window {
    /// Whether the window is below its threshold.
    #[must_use]
    pub const fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Grows by `acked` up to the threshold and returns the remainder (Linux `tcp_slow_start`).
    pub(crate) fn slow_start(&mut self, acked: u32) -> u32 {
        let target = self.cwnd.saturating_add(acked).min(self.ssthresh);
        let used = target.saturating_sub(self.cwnd);
        self.cwnd = target.min(MAX_WINDOW);
        acked.saturating_sub(used)
    }
}

/// Loss recovery state of the connection at an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Phase {
    /// No loss is being repaired.
    #[default]
    Open,
    /// Fast recovery: losses found by RACK are being repaired.
    Recovery,
    /// The retransmission timer expired.
    Loss,
}

/// One measurement of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation, section 3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RateSample {
    /// Segments delivered over the interval; 0 when the sample is not valid.
    pub delivered: u32,
    /// The interval, the longer of the send and the acknowledgement interval.
    pub interval: Span,
    /// Segments delivered on the whole when the newest acknowledged segment was sent.
    pub prior_delivered: u64,
    /// Whether the application, not the network, limited the sample.
    pub app_limited: bool,
    /// Whether any segment was newly delivered, so that `prior_delivered` is valid.
    pub has_prior: bool,
}

/// Content and effect of one acknowledgement, after losses were marked.
#[derive(Debug, Clone, Copy)]
pub struct AckEvent {
    /// When it arrived.
    pub now: Instant,
    /// State of the connection after it.
    pub phase: Phase,
    /// Segments that may count as growth: those newly delivered, if it made cumulative progress; otherwise 0.
    pub acked: u32,
    /// Segments newly delivered: acknowledged cumulatively or selectively for the first time.
    pub delivered: u32,
    /// Segments newly marked as lost.
    pub lost: u32,
    /// Segments in flight now.
    pub in_flight: u32,
    /// Segments in flight before it.
    pub prior_in_flight: u32,
    /// Whether the window, not the application, limited the flight.
    pub window_limited: bool,
    /// Round trip of the newest segment that it acknowledged, if it was sent once.
    pub rtt: Option<Span>,
    /// Smoothed round trip.
    pub smoothed_rtt: Option<Span>,
    /// Smallest round trip of the last 300 s.
    pub min_rtt: Option<Span>,
    /// First byte not yet acknowledged.
    pub first_unacked: u64,
    /// First byte not yet sent.
    pub next_unsent: u64,
    /// Segments delivered on the whole.
    pub total_delivered: u64,
    /// Measured delivery rate.
    pub rate: RateSample,
    /// When pacing permits the next segment.
    pub next_release: Instant,
}

/// Algorithm that sets the congestion window. The connection calls it; loss-based algorithms do not change the window during fast
/// recovery, when proportional rate reduction applies.
pub trait CongestionControl {
    /// Notes an acknowledgement.
    fn on_ack(&mut self, window: &mut Window, ack: &AckEvent);
    /// Notes a new episode of loss; returns the new slow-start threshold in segments.
    fn on_loss(&mut self, now: Instant, window: &Window) -> u32;
    /// Notes that the retransmission timer expired (after [`Self::on_loss`] if a new episode began).
    fn on_timeout(&mut self, _window: &Window) {}
    /// Notes that the last episode of loss was spurious.
    fn on_undo(&mut self, _window: &Window) {}
    /// Notes that sending resumes with nothing in flight, `idle` after the last transmission.
    fn on_restart(&mut self, _now: Instant, _idle: Span, _app_limited: bool) {}
    /// Whether it sets the window itself in every phase, in place of proportional rate reduction.
    fn owns_window(&self) -> bool {
        false
    }
    /// Whether it deliberately sends less than it could, so that rate samples do not measure the network.
    fn holds_back(&self) -> bool {
        false
    }
    /// Its pacing rate; `None` derives the rate from the window and the round trip.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
    /// Returns its estimate of the path's delivery rate, if it has a model of it.
    fn bandwidth(&self) -> Option<BitRate> {
        None
    }
}

/// Congestion control by code outside of this crate, which is not trusted: the connection clamps its window to valid values.
pub trait CustomControl: CongestionControl + std::fmt::Debug + Send {}

impl<T: CongestionControl + std::fmt::Debug + Send> CustomControl for T {}

/// An acknowledgement of `acked` segments in an open, window-limited connection.
#[cfg(test)]
pub(crate) fn test_event(acked: u32) -> AckEvent {
    AckEvent {
        now: Instant::ZERO,
        phase: Phase::Open,
        acked,
        delivered: acked,
        lost: 0,
        in_flight: 0,
        prior_in_flight: acked,
        window_limited: true,
        rtt: None,
        smoothed_rtt: None,
        min_rtt: None,
        first_unacked: 0,
        next_unsent: 0,
        total_delivered: 0,
        rate: RateSample::default(),
        next_release: Instant::ZERO,
    }
}
