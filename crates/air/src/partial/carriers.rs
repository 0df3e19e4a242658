//! Carrier sense of all transmitters.
//!
//! Where all hear each other and no frames overlap, those that take no part in an exchange sense the same: they share one state, so that
//! the cost of a frame does not grow with their number. Those apart have a state of their own.

use airbound_units::Instant;

use super::carrier::Carrier;

/// Carrier sense of all transmitters.
#[derive(Debug)]
pub(super) struct Carriers {
    /// Whether all hear each other; otherwise all are apart.
    all_hear: bool,
    /// The state of those that are not apart.
    shared: Carrier,
    /// By number; up to date for those that are apart.
    own: Vec<Carrier>,
    is_apart: Vec<bool>,
    apart: Vec<u16>,
}

impl Carriers {
    pub(super) const fn new(all_hear: bool) -> Self {
        Self { all_hear, shared: Carrier::new(), own: Vec::new(), is_apart: Vec::new(), apart: Vec::new() }
    }

    /// Adds a transmitter that has been idle since the beginning.
    pub(super) fn add(&mut self) {
        self.apart.push(self.own.len() as u16);
        self.is_apart.push(true);
        self.own.push(Carrier::new());
    }

    pub(super) const fn all_hear(&self) -> bool {
        self.all_hear
    }

    pub(super) fn get(&self, number: usize) -> Option<&Carrier> {
        if *self.is_apart.get(number)? { self.own.get(number) } else { Some(&self.shared) }
    }

    /// The state of one transmitter for modification, which puts it apart.
    pub(super) fn get_mut(&mut self, number: usize) -> Option<&mut Carrier> {
        let is_apart = self.is_apart.get_mut(number)?;
        let own = self.own.get_mut(number)?;
        if !std::mem::replace(is_apart, true) {
            *own = self.shared;
            self.apart.push(number as u16);
        }
        Some(own)
    }

    /// Puts all apart: frames overlap, or something else concerns each for itself.
    pub(super) fn scatter(&mut self) {
        if self.apart.len() < self.own.len() {
            for number in 0..self.own.len() {
                self.get_mut(number);
            }
        }
    }

    /// Changes the shared state and those of all apart but `sender`, whose numbers are given.
    pub(super) fn for_others(&mut self, sender: usize, mut change: impl FnMut(Option<usize>, &mut Carrier)) {
        self.get_mut(sender);
        change(None, &mut self.shared);
        for number in self.apart.iter().map(|number| usize::from(*number)).filter(|one| *one != sender) {
            change(Some(number), &mut self.own[number]);
        }
    }

    /// Joins those that sense the same from now on; called while no frame is on the air.
    pub(super) fn gather(&mut self, now: Instant) {
        if !self.all_hear {
            return;
        }
        if self.apart.len() * 2 > self.own.len() {
            self.scatter();
            // The state of most, if most have one (majority vote of Boyer and Moore).
            let mut most: Option<(&Carrier, usize)> = None;
            for one in self.own.iter().filter(|one| one.is_listening()) {
                most = match most {
                    Some((state, votes)) if one.is_like(state, now) => Some((state, votes + 1)),
                    Some((state, votes)) if votes > 1 => Some((state, votes - 1)),
                    _ => Some((one, 1)),
                };
            }
            let Some((state, _)) = most else { return };
            self.shared = *state;
        }
        let Self { shared, own, is_apart, apart, .. } = self;
        apart.retain(|number| {
            let number = usize::from(*number);
            is_apart[number] = !(own[number].is_listening() && own[number].is_like(shared, now));
            is_apart[number]
        });
    }
}

#[cfg(test)]
mod tests {
    use airbound_random::{Purpose, Stream};
    use airbound_units::{ByteCount, Dbm, Decibel, Span};
    use airbound_wifi::error::Decoding;
    use airbound_wifi::{Band, Basic, Category, ControlTiming, EdcaParameters, Legacy, Rate};

    use super::*;
    use crate::capture::{Capture, Levels};
    use crate::channel::{AccessId, Settled, TxId};
    use crate::edca::Edcaf;
    use crate::exchange::{Answer, PhyConfig, Ppdu};
    use crate::hearing::Hearing;
    use crate::partial::PartialChannel;
    use crate::propagation::LinkQuality;

    const TRANSMITTERS: u16 = 12;
    const BAND: Band = Band::Ghz5;

    fn channel(shares: bool, captures: bool) -> PartialChannel {
        let control = ControlTiming { band: BAND, basic: Basic::MANDATORY, fixed: None };
        let (rts_threshold, detection) = (ByteCount::new(1000), Decibel::new(0.0));
        let phy = PhyConfig {
            control,
            rts_threshold,
            detection,
            decoding: Decoding::Soft,
            implementation_loss: Decibel::new(0.0),
        };
        let hearing = Hearing::complete(usize::from(TRANSMITTERS));
        let mut channel = PartialChannel::new(phy, true, hearing).attentive();
        if captures {
            let mut levels = Levels::silent(usize::from(TRANSMITTERS));
            for (one, other) in
                (0..TRANSMITTERS).flat_map(|one| (0..TRANSMITTERS).map(move |other| (one, other)))
            {
                levels.set(TxId(one), TxId(other), Dbm::new(-40.0 - 2.0 * f64::from(one.abs_diff(other))));
            }
            channel = channel.with_capture(Capture { levels, preamble: 2.5, takeover: Some(3.2) });
        }
        assert!(channel.carriers.all_hear());
        channel.carriers = Carriers::new(shares);
        for number in 0..u64::from(TRANSMITTERS) {
            let edca = Category::ALL.map(|category| {
                let draws = Stream::new(7, Purpose::Backoff, number * 4 + category.index() as u64);
                Edcaf::new(EdcaParameters::dcf(), BAND.difs(), BAND.slot(), draws)
            });
            channel.add(edca, Stream::new(7, Purpose::Reception, number));
        }
        channel.watch(TxId(0));
        channel
    }

    /// Events of a second with four saturated transmitters, others that send now and then, beacons, and interference.
    fn history(shares: bool, captures: bool) -> Vec<String> {
        let mut channel = channel(shares, captures);
        let mut draws = Stream::new(9, Purpose::Reception, 0);
        let at = |tx: u16| AccessId { tx: TxId(tx), category: Category::Be };
        let mut now = Instant::ZERO;
        (1..5).for_each(|tx| channel.set_ready(now, at(tx)));
        let mut history = Vec::new();
        let mut winners = Vec::new();
        while now < Instant::ZERO + Span::from_secs(1) {
            now = channel.next_step(now);
            channel.advance(now);
            while let Some(ended) = channel.take_ended() {
                history.push(format!("{now:?} {ended:?}"));
                let tx = ended.exchange.at.tx.0;
                let arrived = ended.exchange.acknowledged.count() > 0;
                channel.settle(at(tx), if arrived { Settled::Success } else { Settled::Retry });
                if tx > 4 && arrived {
                    channel.clear_ready(at(tx));
                }
                match draws.window(40) {
                    0 => channel.jam(now, now + Span::from_micros(300)),
                    1 => channel.hold(now, now + Span::from_micros(60), TxId(0)),
                    some if some < 20 => channel.set_ready(now, at(some as u16 % TRANSMITTERS)),
                    _ => {}
                }
            }
            while let Some(busy) = channel.take_busy(TxId(0)) {
                history.push(format!("{busy:?}"));
            }
            channel.contend(now, &mut winners);
            channel.occupy(now);
            for winner in winners.drain(..) {
                let size = ByteCount::new(if winner.tx.0.is_multiple_of(3) { 200 } else { 1500 });
                let rate = Rate::legacy(Legacy::Mbps24);
                let ppdu = Ppdu { rate, psdu: size, mpdus: 1, answer: Answer::Ack, protected: false };
                let to = TxId(if winner.tx.0 == 0 { 1 } else { 0 });
                channel.transmit(now, (winner, to), &ppdu, [size].into_iter(), LinkQuality::Perfect);
            }
            channel.answer(now);
        }
        history
    }

    #[test]
    fn sharing_a_state_changes_nothing() {
        for captures in [false, true] {
            let (shared, own) = (history(true, captures), history(false, captures));
            assert!(own.len() > 2000, "{}", own.len());
            for (shared, own) in shared.iter().zip(&own) {
                assert_eq!(shared, own, "captures: {captures}");
            }
            assert_eq!(shared.len(), own.len());
        }
    }

    #[test]
    fn those_that_sense_the_same_share_a_state() {
        let mut channel = channel(true, false);
        channel.carriers.gather(Instant::ZERO);
        assert!(channel.carriers.apart.is_empty());
        let now = Instant::ZERO + Span::from_millis(1);
        channel.hold(now, now + Span::from_micros(60), TxId(3));
        assert_eq!(channel.carriers.apart, [3]);
        channel.advance(now + Span::from_micros(60));
        assert!(channel.carriers.apart.is_empty());
    }
}
