//! One member of a room: what it sends, what it wants to see, and its link.

use airbound_units::{BitRate, Instant, Span};

use super::choice::{MOST_LAYERS, Wish};
use super::config::RoomConfig;
use super::coordinate::Link;
use super::recovery::Recovery;
use super::sound::Sound;
use super::unused::Unused;
use crate::conference::plum::{ClientId, Outbox};

/// Upper limit of the sources that one viewer can ask for.
pub const MOST_VIEWS: usize = 64;

/// A source that a viewer asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Viewing {
    /// The source.
    pub source: ClientId,
    /// The largest useful layer, from 0: that of the size at which the source is shown.
    pub largest: u8,
    /// Importance: views of a higher number get each step first.
    pub priority: u8,
}

/// A view with the layer forwarded now and the times of its steps.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watched {
    pub(super) view: Viewing,
    pub(super) current: Option<u8>,
    /// Since when a higher layer has fitted.
    fits_since: Option<Instant>,
    /// The latest upward step that nothing has taken back.
    raised: Option<Instant>,
    /// Number of doublings of the dwell time.
    doubled: u32,
    /// Nothing was decided yet: the first decision holds at once.
    first: bool,
    /// The highest layer that was taken away, until it is back.
    lost: Option<u8>,
    /// A fault of the link is over: steps up to what it had taken away hold at once.
    returns: bool,
}

/// Upper limit of the doublings of the dwell time; [`RoomConfig::longest_dwell`] limits it before.
const MOST_DOUBLED: u32 = 10;

/// The direction of a change of layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Raised,
    Lowered,
}

impl Watched {
    const fn new(view: Viewing) -> Self {
        let (current, fits_since, raised, lost) = (None, None, None, None);
        Self { view, current, fits_since, raised, doubled: 0, first: true, lost, returns: false }
    }

    fn dwell(&self, config: &RoomConfig) -> Span {
        (config.dwell * (1 << self.doubled)).min(config.longest_dwell)
    }

    /// Forgets the steps that were taken back by a fault that is over, and what the fault took away comes back at once.
    pub(super) fn forgive(&mut self) {
        self.doubled = 0;
        self.returns = true;
    }

    /// Follows a choice: down at once, up once it has fitted for the dwell time.
    pub(super) fn follow(&mut self, target: Option<u8>, now: Instant, config: &RoomConfig) -> Option<Step> {
        let first = self.first;
        self.first = first && target.is_none();
        if target == self.current {
            self.fits_since = None;
            return None;
        }
        if target < self.current {
            // One fall, in however many steps, takes back one rise.
            if let Some(at) = self.raised.take() {
                let soon = now.since(at) < config.longest_dwell;
                self.doubled = if soon { (self.doubled + 1).min(MOST_DOUBLED) } else { 0 };
            }
            self.lost = self.lost.max(self.current);
            (self.current, self.fits_since, self.returns) = (target, None, false);
            return Some(Step::Lowered);
        }
        let since = *self.fits_since.get_or_insert(now);
        let returns = self.returns && target <= self.lost;
        if !first && !returns && now.since(since) < self.dwell(config) {
            return None;
        }
        if target >= self.lost {
            (self.lost, self.returns) = (None, false);
        }
        (self.current, self.fits_since, self.raised) = (target, None, Some(now));
        Some(Step::Raised)
    }
}

/// A member.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) link: Link,
    pub(super) outbox: Outbox,
    /// Rates of its layers in bit/s, ascending where sent; 0 for a layer that is not sent.
    pub(super) rates: [u64; MOST_LAYERS],
    /// The same with the rates of layers that are held back.
    pub(super) offered: [u64; MOST_LAYERS],
    pub(super) unused: Unused,
    /// Its views, the most important first.
    pub(super) watched: Vec<Watched>,
    pub(super) spoke: Instant,
    pub(super) probe: Option<BitRate>,
    pub(super) recovery: Recovery,
    pub(super) sound: Sound,
}

impl Member {
    pub(super) fn new(weight: f64) -> Self {
        Self {
            link: Link::new(weight),
            outbox: Outbox::default(),
            rates: [0; MOST_LAYERS],
            offered: [0; MOST_LAYERS],
            unused: Unused::default(),
            watched: Vec::new(),
            spoke: Instant::ZERO,
            probe: None,
            recovery: Recovery::default(),
            sound: Sound::default(),
        }
    }

    /// Takes the rates of its layers. A layer counts for no less than those below it, so that steps never have a negative size.
    pub(super) fn set_layers(&mut self, now: Instant, rates: &[BitRate]) {
        self.rates = [0; MOST_LAYERS];
        let mut below = 0;
        for (slot, rate) in self.rates.iter_mut().zip(rates) {
            if !rate.is_zero() {
                below = below.max(rate.as_bps());
                *slot = below;
            }
        }
        self.offered = self.rates;
        self.unused.complete(now, &mut self.offered);
    }

    /// Replaces its views, without itself and without repetitions; views that stay keep their layers.
    pub(super) fn set_views(&mut self, own: ClientId, views: &[Viewing]) {
        let mut next: Vec<Watched> = Vec::new();
        for view in views.iter().filter(|view| view.source != own) {
            if next.len() == MOST_VIEWS || next.iter().any(|known| known.view.source == view.source) {
                continue;
            }
            let known = self.watched.iter().find(|known| known.view.source == view.source);
            next.push(known.map_or_else(|| Watched::new(*view), |known| Watched { view: *view, ..*known }));
        }
        next.sort_by_key(|watched| (std::cmp::Reverse(watched.view.priority), watched.view.source));
        self.watched = next;
    }

    /// The rate of all that it sends, bit/s.
    pub(super) fn sent(&self) -> u64 {
        self.unused.together(&self.rates)
    }

    /// The rate at which it may encode, 0 for its natural one.
    pub(super) fn held(&self) -> BitRate {
        let coordinated = Some(self.link.state.client_rate()).filter(|rate| !rate.is_zero());
        let limits = [coordinated, self.sound.limit(), self.unused.limit()];
        limits.into_iter().flatten().min().unwrap_or(BitRate::ZERO)
    }

    /// The number of its layers in use, while that is why it is held.
    pub(super) fn layers(&self) -> Option<u8> {
        self.unused.limit().filter(|limit| *limit == self.held()).and_then(|_| self.unused.layers())
    }

    /// The part of its downlink estimate that may be filled.
    pub(super) fn downlink(&self, config: &RoomConfig) -> u64 {
        let rate = self.link.down.map_or(config.start, |estimate| estimate.rate);
        rate.mul_f64(config.headroom).as_bps()
    }
}

impl Watched {
    pub(super) fn wish(&self, rates: [u64; MOST_LAYERS], paused: bool) -> Wish {
        Wish { source: self.view.source, rates, largest: self.view.largest, current: self.current, paused }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fall_in_many_steps_doubles_the_dwell_time_once() {
        let config = RoomConfig::default();
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let mut watched = Watched::new(Viewing { source: ClientId(1), largest: 8, priority: 0 });
        assert_eq!(watched.follow(Some(8), at(0), &config), Some(Step::Raised));
        for (ms, target) in [(1000, Some(7)), (1200, Some(5)), (1400, Some(2)), (1600, None)] {
            assert_eq!(watched.follow(target, at(ms), &config), Some(Step::Lowered));
        }
        let mut up = |ms| watched.follow(Some(0), at(ms), &config);
        assert_eq!((up(2000), up(5900), up(6000)), (None, None, Some(Step::Raised)));
        // The rise is taken back soon, too.
        assert_eq!(watched.follow(None, at(7000), &config), Some(Step::Lowered));
        let mut up = |ms| watched.follow(Some(0), at(ms), &config);
        assert_eq!((up(8000), up(15_900), up(16_000)), (None, None, Some(Step::Raised)));
    }

    #[test]
    fn what_a_fault_took_away_comes_back_step_by_step_without_a_dwell_time() {
        let config = RoomConfig::default();
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        let view = Viewing { source: ClientId(1), largest: 2, priority: 0 };
        let mut watched = Watched::new(view);
        assert_eq!(watched.follow(Some(1), at(0), &config), Some(Step::Raised));
        assert_eq!(watched.follow(None, at(30_000), &config), Some(Step::Lowered));
        assert_eq!(watched.follow(Some(0), at(31_000), &config), None, "in the fault a step up waits");
        watched.forgive();
        assert_eq!(watched.follow(Some(0), at(31_200), &config), Some(Step::Raised));
        assert_eq!(watched.follow(Some(1), at(31_400), &config), Some(Step::Raised));
        assert_eq!(watched.follow(Some(2), at(31_600), &config), None, "it had no more than layer 2 before");
        assert_eq!(watched.follow(Some(2), at(33_600), &config), Some(Step::Raised));
    }
}
