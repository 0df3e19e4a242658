//! The exchange of one transmitter, from its first frame to its outcome.

use airbound_random::Stream;
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::{AckBitmap, Rate, control_frames};

use crate::channel::AccessId;
use crate::exchange::{Answer, ExchangeTiming, Phy, Ppdu, mpdu_ends};
use crate::loss::{Loss, Losses};
use crate::propagation::LinkQuality;

/// Control frames of an exchange that noise destroys.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lost {
    pub(super) rts: bool,
    pub(super) cts: bool,
    pub(super) answer: bool,
}

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
    /// Control frames that noise destroys.
    pub(super) lost: Lost,
    /// Linear ratio of noise to signal; 0 if it is not known.
    pub(super) noise: f64,
    /// Whether its PPDU arrived, if only in part.
    pub(super) arrived: bool,
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
        // A BlockAckReq goes at a legacy rate, which has no aggregates.
        if ppdu.answer == Answer::BlockAck && ppdu.rate.as_legacy().is_none() {
            let reception = timing.reception();
            parts.push(reception.of(ByteCount::ZERO));
            parts.extend(mpdu_ends(sizes, true, ppdu.psdu).map(|end| reception.of(end)));
        }
        let received = AckBitmap::NONE;
        let (rate, answer) = (ppdu.rate, ppdu.answer);
        Self {
            at,
            to,
            rate,
            answer,
            start,
            timing,
            sifs,
            lost: Lost::default(),
            noise: 0.0,
            arrived: false,
            received,
            parts,
            txop_end,
            overlapped: None,
        }
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

    /// Draws the control frames that noise destroys.
    pub(super) fn draw_losses(
        &self,
        phy: &mut Phy,
        losses: &Losses,
        mut quality: impl FnMut(Instant) -> LinkQuality,
        draws: &mut Stream,
    ) -> Lost {
        let mut lost = |loss: Option<Loss>, size, at| {
            loss.is_some_and(|loss| phy.loses(loss, (self.rate, size), quality(at), draws))
        };
        let start = self.start;
        let protection = losses.protection.filter(|_| self.is_protected());
        let rts = lost(protection, control_frames::RTS, start);
        let cts = lost(protection, control_frames::CTS, start + self.timing.first_frame + self.sifs);
        let answered = self.timing.ppdu_end + self.sifs;
        let answer = match self.answer {
            Answer::None => false,
            Answer::Ack => lost(losses.answers, control_frames::ACK, answered),
            Answer::BlockAck => lost(losses.answers, control_frames::BLOCK_ACK, answered),
        };
        Lost { rts, cts, answer }
    }

    /// The times of its MPDUs, the first of which is at `psdu` without aggregation.
    pub(super) fn mpdu_spans(&self, psdu: Instant) -> Vec<(Instant, Instant)> {
        match self.parts.split_first() {
            None => vec![(psdu, self.timing.ppdu_end)],
            Some((_, ends)) => self.parts.iter().copied().zip(ends.iter().copied()).collect(),
        }
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
