//! Others on the air during a frame: the times in which they are the same, and their energy at each receiver.
//!
//! Who is on the air when is found once for a frame. What differs from receiver to receiver is the energy of each set of others, and of
//! these a frame meets few, however often they come and go.

use airbound_units::{Instant, Span};

use super::frame::Energy;

/// A period, its end excluded.
pub(super) type Period = (Instant, Instant);

/// A part of a frame, by the rate of its bits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Field {
    Header,
    Mpdus,
}

/// Senders that are on the air at the same time.
#[derive(Debug, Default, Clone, Copy)]
struct Set {
    /// A bit for each sender, by the rest of its number: what differs in it is not the same set.
    mark: u64,
    /// The place of its first sender among those of all sets, and that behind its last one.
    senders: (usize, usize),
    /// Ratio of its energy to the signal at the receiver that is looked at.
    ratio: f64,
    /// Hazard of a bit of each field at this receiver, once it is known.
    hazards: [Option<f64>; 2],
}

/// Interference during one frame.
#[derive(Debug, Default)]
pub(super) struct Interference {
    /// Times in which one set is on the air, in order, and its number; times without any are left out.
    spans: Vec<(Period, usize)>,
    sets: Vec<Set>,
    /// Senders of all sets, one set after the other, each in the order of their starts.
    senders: Vec<usize>,
    /// Each sender of any set once.
    everyone: Vec<usize>,
    /// Starts and ends. Kept for its memory.
    cuts: Vec<Instant>,
    /// Those on the air, by their places. Kept for its memory.
    present: Vec<usize>,
}

impl Interference {
    /// Notes who is on the air during a frame; `energy` is in the order of starts.
    pub(super) fn note(&mut self, energy: &[Energy]) {
        let Self { spans, sets, senders, everyone, cuts, present } = self;
        everyone.clear();
        spans.clear();
        sets.clear();
        senders.clear();
        present.clear();
        cuts.clear();
        let lasting = energy.iter().filter(|one| one.from < one.until);
        cuts.extend(lasting.flat_map(|one| [one.from, one.until]));
        cuts.sort_unstable();
        cuts.dedup();
        let mut next = 0;
        for (start, end) in cuts.iter().zip(cuts.iter().skip(1)) {
            present.retain(|place| energy[*place].until > *start);
            while let Some(one) = energy.get(next).filter(|one| one.from <= *start) {
                if one.until > *start {
                    present.push(next);
                    if !everyone.contains(&one.sender) {
                        everyone.push(one.sender);
                    }
                }
                next += 1;
            }
            if present.is_empty() {
                continue;
            }
            let here = || present.iter().map(|place| energy[*place].sender);
            let mark = here().fold(0, |mark, sender| mark | 1 << (sender % 64));
            let known = sets.iter().rposition(|set: &Set| {
                set.mark == mark && senders[set.senders.0..set.senders.1].iter().copied().eq(here())
            });
            let number = known.unwrap_or_else(|| {
                let first = senders.len();
                senders.extend(here());
                sets.push(Set { mark, senders: (first, senders.len()), ..Set::default() });
                sets.len() - 1
            });
            spans.push(((*start, *end), number));
        }
    }

    /// Looks at a receiver, by the level of the frame and that of each sender. Returns whether their ratio exceeds `harmless` at any
    /// time; otherwise the hazards at this receiver are not those that [`Self::hazard`] tells.
    pub(super) fn look(&mut self, signal: f64, harmless: f64, level: impl Fn(usize) -> f64) -> bool {
        // All at once bound each set, with room for what rounding can change.
        let most: f64 = self.everyone.iter().map(|sender| level(*sender)).sum();
        if most <= signal * harmless * (1.0 - 1e-9) {
            return false;
        }
        let mut any = false;
        for set in &mut self.sets {
            let senders = &self.senders[set.senders.0..set.senders.1];
            set.ratio = senders.iter().map(|sender| level(*sender)).sum::<f64>() / signal;
            set.hazards = [None; 2];
            any |= set.ratio > harmless;
        }
        any
    }

    /// The spans that are not over at `start`, from the one numbered `first` on.
    pub(super) fn begin(&self, first: usize, start: Instant) -> usize {
        let over = self.spans.iter().skip(first).take_while(|((_, until), _)| *until <= start);
        first + over.count()
    }

    /// Number of spans.
    pub(super) const fn len(&self) -> usize {
        self.spans.len()
    }

    /// A span.
    pub(super) fn span(&self, number: usize) -> Period {
        self.spans[number].0
    }

    /// Hazard of a bit of a field in a span; `of_ratio` computes that of a ratio of interference to signal.
    pub(super) fn hazard(&mut self, number: usize, field: Field, of_ratio: impl FnOnce(f64) -> f64) -> f64 {
        let set = &mut self.sets[self.spans[number].1];
        if set.ratio > 0.0 {
            *set.hazards[field as usize].get_or_insert_with(|| of_ratio(set.ratio))
        } else {
            0.0
        }
    }
}

/// The time that two periods share.
pub(super) fn shared((from, until): Period, (start, end): Period) -> Span {
    until.min(end).since(from.max(start))
}
