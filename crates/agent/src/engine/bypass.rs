//! Bypass: packets that go through without a verdict, while none would wait.
//!
//! A packet that finds the window empty is released at once, and asking for it costs more than sending it. So when no packet has waited
//! for a while, packets bypass the agent; their completions still come, and measure latencies and rates. Whoever counts what is below calls
//! [`Engine::on_filled`] when it is as much as would make the next packet wait: from then on packets are held again, and those that went
//! through are a part of the window until they complete.

use airbound_units::{ByteCount, Instant, Span};

use super::packet::Completion;
use super::{Engine, Passage};

/// Time without a packet that waits after which packets go through: three turns of the busiest stream of frames, 60 a second.
const CALM: Span = Span::from_millis(50);
/// Time after a refusal in which it is not tried again.
const REFUSED: Span = Span::from_secs(1);
/// Time after a beginning in which packets may still come that were queued before it.
const QUEUED_BEFORE: Span = Span::from_millis(5);
/// The largest packet with its headers on the air.
const PACKET: ByteCount = ByteCount::new(1538);

/// Whether packets go through, and those below that did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Bypass {
    /// Whether somebody counts what is below.
    allowed: bool,
    open: bool,
    /// When packets began to go through; while they are held, when one waited last.
    since: Instant,
    /// The number of frames below at which packets are held again.
    limit: u32,
    /// Frames below that had no verdict, the airtime of each, and when they are given up. Counted only while packets are held.
    left: u32,
    each: Span,
    until: Instant,
}

impl Bypass {
    /// The airtime and packets below that had no verdict.
    pub(super) fn below(&self) -> (Span, usize) {
        (self.each * u64::from(self.left), self.left as usize)
    }

    /// When packets may begin to go through, or those below are given up.
    pub(super) fn next_deadline(&self, is_empty: bool) -> Option<Instant> {
        if self.left > 0 {
            return Some(self.until);
        }
        (self.allowed && !self.open && is_empty).then(|| self.since + CALM)
    }
}

impl Engine {
    /// Lets packets go through while none would wait: someone counts what is below, and calls [`Engine::on_filled`].
    pub fn allow_bypass(&mut self, now: Instant) {
        self.advance(now);
        self.bypass.allowed = true;
        self.bypass.since = self.now;
    }

    /// Whether packets go through.
    #[must_use]
    pub const fn is_bypassed(&self) -> bool {
        self.bypass.open
    }

    /// The frames below that were queued since packets go through have reached the limit; `frames` are there now.
    pub fn on_filled(&mut self, now: Instant, frames: u32) {
        self.advance(now);
        if self.bypass.open {
            self.hold_again(frames);
            self.release();
        }
    }

    /// Packets could not be let through; it is tried again after another while.
    pub fn on_bypass_refused(&mut self) {
        self.bypass.open = false;
        self.bypass.since = self.now + REFUSED;
    }

    fn hold_again(&mut self, frames: u32) {
        let bypass = &mut self.bypass;
        (bypass.open, bypass.since) = (false, self.now);
        bypass.left = frames;
        self.wait_for_bypass();
        self.counts.through_ends += 1;
        self.out.passage = Some(Passage::Held);
    }

    /// Packets arrived to be held: while packets go through, only those that were queued before.
    pub(super) fn on_queued(&mut self) {
        if self.bypass.open && self.now >= self.bypass.since + QUEUED_BEFORE {
            self.hold_again(0);
        }
    }

    /// A frame completed that had no verdict: it went through, or is not the agent's.
    pub(super) fn on_without_verdict(&mut self) {
        if self.bypass.left > 0 {
            self.bypass.left -= 1;
            self.wait_for_bypass();
        }
    }

    /// Those below that had no verdict are given up when none completes in the time that a full window takes. The count may be too large:
    /// frames that merge in an A-MSDU complete as one.
    fn wait_for_bypass(&mut self) {
        self.bypass.until = self.now + self.config.window.aggregate * 2;
    }

    /// A frame that went through completed.
    pub(super) fn on_bypass(&mut self, rule: Option<u16>, took: Span, completion: &Completion) {
        self.counts.through += 1;
        let size = completion.size.unwrap_or_default();
        if let Some(rule) = self.measures.of(rule) {
            rule.on_arrival(size);
            rule.on_done(completion.acknowledged, size, took);
        }
    }

    /// Gives up frames without a verdict that do not complete.
    pub(super) fn expire_bypass(&mut self) {
        if self.bypass.left > 0 && self.now >= self.bypass.until {
            self.bypass.left = 0;
        }
    }

    /// Lets packets through once none has waited for long enough.
    pub(super) fn judge_bypass(&mut self) {
        if !self.bypass.allowed || self.bypass.open {
            return;
        }
        if self.held() > 0 {
            self.bypass.since = self.now;
            return;
        }
        let calm = self.now >= self.bypass.since + CALM;
        let (limit, each) = self.bypass_limit();
        let below = u32::try_from(self.below.all()).unwrap_or(u32::MAX);
        if calm && self.bypass.left == 0 && below < limit {
            let bypass = &mut self.bypass;
            (bypass.open, bypass.since) = (true, self.now);
            (bypass.limit, bypass.each) = (limit, each);
            self.out.passage = Some(Passage::Bypass { limit });
        }
    }

    /// Follows the rates of stations while packets go through.
    pub(super) fn renew_bypass(&mut self) {
        let (limit, each) = self.bypass_limit();
        if self.bypass.open && limit != self.bypass.limit {
            (self.bypass.limit, self.bypass.each) = (limit, each);
            self.out.passage = Some(Passage::Limit(limit));
        }
    }

    /// The frames at which the window of the slowest station is full, and the airtime of each.
    fn bypass_limit(&self) -> (u32, Span) {
        let rates = self.peers.iter().filter(|(_, peer)| peer.present).filter_map(|(_, peer)| peer.rate());
        let each = rates.min().map_or(Span::ZERO, |rate| rate.time_for(PACKET));
        let frames = self.gate().0.as_nanos().div_ceil(each.as_nanos().max(1));
        let least = u64::from(self.config.window.least_packets);
        let known = if each.is_zero() { least } else { frames.max(least) };
        (u32::try_from(known).unwrap_or(u32::MAX), each)
    }
}
