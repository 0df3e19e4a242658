//! Layers that no viewer takes are not sent: on a half-duplex link their air is the downlink's.
//!
//! The rate of such a layer stays known, so that the choice of layers goes on as if it were sent: the first viewer that has room for it releases
//! it.

use airbound_units::{BitRate, Instant, Span};

use super::choice::MOST_LAYERS;

/// Time for which nobody takes a layer before it is held back.
const UNUSED: Span = Span::from_secs(4);
/// Time after a release in which the layer has to arrive.
const RETURNS: Span = Span::from_secs(3);
/// Part of the next layer's rate that a hold lies above the layers in use: their own variation passes, the next layer does not.
const SLACK: f64 = 0.3;

/// The layers of one source that are held back.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unused {
    /// Layers contain those below them.
    pub(super) scalable: bool,
    /// Latest rates of its layers, bit/s.
    known: [u64; MOST_LAYERS],
    /// Number of layers in use, if the others are held back.
    layers: Option<usize>,
    /// The rate at which the source is held.
    limit: Option<BitRate>,
    /// Since when fewer layers are in use than are sent.
    since: Option<Instant>,
    /// When a viewer last took a layer that was held back.
    released: Option<Instant>,
}

impl Unused {
    /// The rate at which the source is held.
    pub(super) const fn limit(&self) -> Option<BitRate> {
        self.limit
    }

    /// The rate of some layers, bit/s.
    pub(super) fn together(&self, rates: &[u64]) -> u64 {
        if self.scalable {
            return rates.iter().copied().max().unwrap_or(0);
        }
        rates.iter().fold(0, |sum: u64, rate| sum.saturating_add(*rate))
    }

    /// The number of layers in use, if others are held back.
    pub(super) fn layers(&self) -> Option<u8> {
        self.layers.map(|layers| layers as u8)
    }

    /// Ends the hold.
    pub(super) fn release(&mut self) {
        (self.layers, self.limit, self.since) = (None, None, None);
    }

    /// Completes measured rates by those of layers that are held back.
    pub(super) fn complete(&mut self, now: Instant, rates: &mut [u64; MOST_LAYERS]) {
        // Where nothing at all is sent, nothing would come back by a release.
        if self.layers.is_some_and(|layers| rates.iter().take(layers).all(|rate| *rate == 0)) {
            self.release();
        }
        let returns = self.released.is_some_and(|at| now.since(at) < RETURNS);
        for (index, (rate, known)) in rates.iter_mut().zip(&mut self.known).enumerate() {
            let held = self.layers.is_some_and(|layers| index >= layers);
            if *rate > 0 && !held {
                *known = *rate;
            } else if held || returns {
                *rate = *known;
            } else {
                *known = 0;
            }
        }
        // Steps never have a negative size.
        let mut below = 0;
        for rate in rates.iter_mut().filter(|rate| **rate > 0) {
            below = below.max(*rate);
            *rate = below;
        }
    }

    /// Decides, with the number of layers that viewers take, and of those that fit and are taken after a dwell time: these are not held back.
    pub(super) fn look(&mut self, now: Instant, taken: usize, fit: usize) {
        // The smallest layer is always sent.
        let taken = taken.max(self.known.iter().position(|rate| *rate > 0).map_or(1, |least| least + 1));
        let sent = self.known.iter().rposition(|rate| *rate > 0).map_or(0, |top| top + 1);
        let present = self.layers.unwrap_or(sent);
        if taken >= present {
            self.since = None;
            if self.layers.is_some() && taken > present {
                self.released = Some(now);
                self.hold(taken, sent);
            }
            return;
        }
        if fit >= present {
            self.since = None;
            return;
        }
        if now.since(*self.since.get_or_insert(now)) >= UNUSED {
            self.since = None;
            self.hold(taken, sent);
        }
    }

    fn hold(&mut self, layers: usize, sent: usize) {
        if layers >= sent {
            self.release();
            return;
        }
        let below = self.together(&self.known[..layers]);
        let next = self.known[layers..].iter().find(|rate| **rate > 0).copied().unwrap_or(0);
        // What the next layer takes beyond those in use.
        let step = if self.scalable { next.saturating_sub(below) } else { next };
        let slack = step as f64 * SLACK;
        (self.layers, self.limit) =
            (Some(layers), Some(BitRate::from_bps(below.saturating_add(slack as u64))));
    }
}
