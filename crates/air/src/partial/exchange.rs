//! The exchange of one transmitter, from its first frame to its outcome.

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::{AckBitmap, Rate};

use crate::channel::AccessId;
use crate::exchange::{Answer, ExchangeTiming, Ppdu, mpdu_ends};

/// An exchange that goes on.
#[derive(Debug)]
pub(super) struct Ongoing {
    pub(super) at: AccessId,
    /// The receiver, by number.
    pub(super) to: usize,
    pub(super) rate: Rate,
    pub(super) answer: Answer,
    pub(super) start: Instant,
    /// Its times if nothing fails.
    pub(super) timing: ExchangeTiming,
    pub(super) sifs: Span,
    /// MPDUs that noise leaves intact; after the PPDU those that arrived.
    pub(super) received: AckBitmap,
    /// Start of the PSDU and the end of each of its MPDUs; empty without aggregation.
    parts: Vec<Instant>,
    pub(super) txop_end: Instant,
    /// End of its last frame, and the number of frames that overlapped it, if no response will come.
    pub(super) overlapped: Option<(Instant, usize)>,
}

impl Ongoing {
    pub(super) fn new(
        (at, to): (AccessId, usize),
        (start, txop_end): (Instant, Instant),
        ppdu: &Ppdu,
        sizes: impl Iterator<Item = ByteCount> + Clone,
        timing: ExchangeTiming,
        sifs: Span,
    ) -> Self {
        let mut parts = Vec::new();
        if ppdu.answer == Answer::BlockAck {
            let reception = timing.reception();
            parts.push(reception.of(ByteCount::ZERO));
            parts.extend(mpdu_ends(sizes, true, ppdu.psdu).map(|end| reception.of(end)));
        }
        let received = AckBitmap::NONE;
        let (rate, answer, overlapped) = (ppdu.rate, ppdu.answer, None);
        Self { at, to, rate, answer, start, timing, sifs, received, parts, txop_end, overlapped }
    }

    /// No response will come to its frame that ended at `end`, which `overlaps` frames overlapped.
    pub(super) const fn note_overlaps(&mut self, overlaps: usize, end: Instant) {
        self.overlapped = Some((end, overlaps));
    }

    /// Whether RTS and CTS precede the PPDU.
    pub(super) fn is_protected(&self) -> bool {
        self.timing.ppdu_start > self.start
    }

    /// Duration of its CTS.
    pub(super) fn cts(&self) -> Span {
        (self.timing.ppdu_start - self.start).saturating_sub(self.timing.first_frame + self.sifs * 2)
    }

    /// Duration of its answer.
    pub(super) fn answer_duration(&self) -> Span {
        (self.timing.end - self.timing.ppdu_end).saturating_sub(self.sifs)
    }

    /// Removes the MPDUs that overlaps destroyed. One that begins before the PSDU leaves none.
    pub(super) fn damage(&mut self, overlaps: &[(Instant, Instant)]) {
        let Some((first, ends)) = self.parts.split_first() else {
            if !overlaps.is_empty() {
                self.received = AckBitmap::NONE;
            }
            return;
        };
        if overlaps.iter().any(|(from, _)| from < first) {
            self.received = AckBitmap::NONE;
            return;
        }
        let mut intact = AckBitmap::NONE;
        let starts = self.parts.iter();
        for (place, (start, end)) in starts.zip(ends).enumerate() {
            let is_hit = overlaps.iter().any(|(from, until)| from < end && until > start);
            if self.received.get(place) && !is_hit {
                intact.set(place);
            }
        }
        self.received = intact;
    }
}
