//! Others on the air during a frame: the times in which they are the same, and their energy at each receiver.
//!
//! The times are found once for a frame. The energy of each set of others differs from receiver to receiver, and a frame meets few sets,
//! however often their members come and go.

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

#[cfg(test)]
mod tests {
    use airbound_random::{Purpose, Stream};

    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::ZERO + Span::from_micros(micros)
    }

    /// Level of a sender; every third is not received at all.
    fn level(sender: usize) -> f64 {
        if sender.is_multiple_of(3) { 0.0 } else { 1.0 / (1 + sender) as f64 }
    }

    #[test]
    fn the_energy_at_each_time_is_that_of_those_on_the_air() {
        let mut draws = Stream::new(5, Purpose::Reception, 0);
        let mut interference = Interference::default();
        for _ in 0..200 {
            let mut energy: Vec<Energy> = (0..draws.window(12))
                .map(|_| {
                    let (from, length) = (u64::from(draws.window(40)), u64::from(draws.window(20)));
                    Energy { sender: draws.window(8) as usize, from: at(from), until: at(from + length) }
                })
                .collect();
            energy.sort_by_key(|one| one.from);
            interference.note(&energy);
            let signal = 0.25;
            let any = interference.look(signal, 0.0, level);
            let ratio = |time: Instant| {
                let here = energy.iter().filter(|one| one.from <= time && time < one.until);
                // Nothing at all is the sum -0.
                here.map(|one| level(one.sender)).sum::<f64>() / signal + 0.0
            };
            assert_eq!(any, (0..60).any(|micros| ratio(at(micros)) > 0.0));
            for micros in 0..60 {
                let spans = 0..interference.len();
                let now = spans.filter(|span| {
                    let (from, until) = interference.span(*span);
                    from <= at(micros) && at(micros) < until
                });
                let now: Vec<usize> = now.collect();
                assert!(now.len() < 2, "spans do not overlap");
                let hazard = |span| interference.hazard(span, Field::Mpdus, |ratio| ratio);
                let found = now.first().copied().map_or(0.0, hazard);
                assert_eq!(found.to_bits(), ratio(at(micros)).to_bits(), "at {micros} us: {energy:?}");
            }
            assert_eq!(interference.begin(0, at(100)), interference.len());
        }
    }

    #[test]
    fn what_cannot_matter_is_left_out() {
        let mut interference = Interference::default();
        let energy = |sender| Energy { sender, from: at(1), until: at(5) };
        interference.note(&[energy(1), energy(2)]);
        let together = level(1) + level(2);
        assert!(!interference.look(1.0, together * 1.01, level));
        assert!(interference.look(1.0, together * 0.99, level));
        assert_eq!(interference.span(0), (at(1), at(5)));
    }
}
