//! Invariants of a channel driven as documented, with transmitters of arbitrary parameters.

use airbound_air::channel::{AccessId, Channel, Exchange, Settled, TxId};
use airbound_air::edca::Edcaf;
use airbound_air::exchange::{Answer, ExchangeTiming, PhyConfig, Ppdu};
use airbound_air::propagation::LinkQuality;
use airbound_random::{Purpose, Stream};
use airbound_units::{ByteCount, Decibel, Instant, Span};
use airbound_wifi::error::Decoding;
use airbound_wifi::{Band, Basic, Category, ControlTiming, EdcaParameters, Legacy, Rate};
use proptest::prelude::*;

const BAND: Band = Band::Ghz5;

fn edcaf(parameters: EdcaParameters, number: u64) -> Edcaf {
    let draws = Stream::new(7, Purpose::Backoff, number);
    Edcaf::new(parameters, BAND.aifs(parameters.aifsn), BAND.slot(), draws)
}

fn parameters() -> impl Strategy<Value = EdcaParameters> {
    (1_u8..10, 0_u32..5, 0_u32..6, 0_u64..100).prop_map(|(aifsn, cw_min, doublings, txop)| EdcaParameters {
        aifsn,
        cw_min: (1 << cw_min) - 1,
        cw_max: (1 << (cw_min + doublings)) - 1,
        txop_limit: Span::from_micros(32) * txop,
    })
}

/// A transmitter: parameters of its categories, queued frames of each, bytes of a frame, and SNR at its receiver.
type Transmitter = ([EdcaParameters; 4], [u8; 4], u16, i8);

fn transmitters() -> impl Strategy<Value = Vec<Transmitter>> {
    let edca = [parameters(), parameters(), parameters(), parameters()];
    prop::collection::vec((edca, prop::array::uniform4(0_u8..6), 40_u16..3000, -5_i8..40), 1..6)
}

/// Transmits frames of one size until each is acknowledged or has failed three times, and counts the results.
struct Run {
    channel: Channel,
    eifs: bool,
    transmitters: Vec<Transmitter>,
    waiting: Vec<[u8; 4]>,
    tries: Vec<[u8; 4]>,
    now: Instant,
    idle_since: Instant,
    started: usize,
    settled: usize,
    done: usize,
}

impl Run {
    fn new(transmitters: Vec<Transmitter>, eifs: bool, rts_threshold: u64) -> Self {
        let control = ControlTiming { band: BAND, basic: Basic::MANDATORY, fixed: None };
        let rts_threshold = ByteCount::new(rts_threshold);
        let mut channel = Channel::new(
            PhyConfig {
                control,
                rts_threshold,
                detection: Decibel::new(0.0),
                decoding: Decoding::Hard,
                implementation_loss: Decibel::new(0.0),
            },
            eifs,
        );
        for (number, (edca, waiting, ..)) in (0..).zip(&transmitters) {
            let edca = Category::ALL
                .map(|category| edcaf(edca[category.index()], number * 4 + category.index() as u64));
            let tx = channel.add(edca, Stream::new(7, Purpose::Reception, number));
            for category in Category::ALL.into_iter().filter(|category| waiting[category.index()] > 0) {
                channel.set_ready(Instant::ZERO, AccessId { tx, category });
            }
        }
        let waiting = transmitters.iter().map(|one| one.1).collect();
        let tries = vec![[0; 4]; transmitters.len()];
        let now = Instant::ZERO;
        Self {
            channel,
            eifs,
            transmitters,
            waiting,
            tries,
            now,
            idle_since: now,
            started: 0,
            settled: 0,
            done: 0,
        }
    }

    fn frame(&self, at: AccessId) -> (Ppdu, [ByteCount; 1], LinkQuality) {
        let (_, _, size, snr) = self.transmitters[usize::from(at.tx.0)];
        let size = ByteCount::new(size.into());
        let rate = Rate::legacy(Legacy::Mbps24);
        let ppdu = Ppdu { rate, psdu: size, mpdus: 1, answer: Answer::Ack, protected: false };
        (ppdu, [size], LinkQuality::Snr(Decibel::new(snr.into())))
    }

    /// The longest wait by the windows of the transmitters with frames.
    fn longest_wait(&self) -> Span {
        let each = self.transmitters.iter().zip(&self.waiting).flat_map(|((edca, ..), waiting)| {
            let ready = edca.iter().zip(waiting).filter(|(_, waiting)| **waiting > 0);
            ready.map(|(edca, _)| BAND.aifs(edca.aifsn) + BAND.slot() * u64::from(edca.cw_max))
        });
        each.max().unwrap_or_default()
    }

    fn note(&mut self, at: AccessId, timing: &ExchangeTiming) {
        assert!(self.channel.is_on_air(at));
        assert!(timing.end >= self.now);
        self.started += 1;
        self.tries[usize::from(at.tx.0)][at.category.index()] += 1;
    }

    fn access(&mut self, at: Instant) {
        // Each counter is within its window, so that an access takes place within the longest one.
        assert!(at >= self.now);
        let wait = at - self.idle_since;
        assert!(wait <= self.longest_wait(), "{wait} of {}", self.longest_wait());
        let least = self.transmitters.iter().flat_map(|one| one.0).map(|edca| BAND.aifs(edca.aifsn)).min();
        assert!(Some(wait) >= least);
        self.now = at;
        let mut winners = Vec::new();
        self.channel.contend(at, &mut winners);
        assert!(!winners.is_empty());
        assert!(winners.windows(2).all(|pair| pair[0].tx < pair[1].tx), "one of each transmitter");
        self.channel.occupy(at);
        for winner in winners {
            let (ppdu, sizes, quality) = self.frame(winner);
            let timing = self.channel.transmit(at, winner, &ppdu, sizes.into_iter(), quality);
            self.note(winner, &timing);
        }
        assert_eq!(self.channel.next_access(at), Instant::MAX, "no access while the channel is busy");
    }

    fn end(&mut self, at: Instant) {
        assert!(at >= self.now);
        self.now = at;
        let mut wait = Span::ZERO;
        while let Some(exchange) = self.channel.take_ended(at) {
            if exchange.collided() && self.eifs {
                wait = BAND.eifs() - BAND.difs();
            }
            assert!(exchange.timing.end <= at && exchange.start < exchange.timing.end);
            self.finish(&exchange);
        }
        self.channel.release(at);
        self.idle_since = at + wait;
    }

    fn finish(&mut self, exchange: &Exchange) {
        let at = exchange.at;
        let (tx, category) = (usize::from(at.tx.0), at.category.index());
        self.settled += 1;
        let success = exchange.acknowledged.count() == 1;
        assert!(!(success && exchange.collided()));
        self.channel.settle(at, if success { Settled::Success } else { Settled::Retry });
        if !success && self.tries[tx][category] < 3 {
            return;
        }
        if !success {
            self.channel.settle(at, Settled::GaveUp);
        }
        self.done += 1;
        self.tries[tx][category] = 0;
        self.waiting[tx][category] -= 1;
        self.channel.clear_ready(at);
        if self.waiting[tx][category] == 0 {
            return;
        }
        self.channel.set_ready(self.now, at);
        if success && self.channel.txop_room(self.now, exchange).is_some() {
            let (ppdu, sizes, quality) = self.frame(at);
            let next = self.channel.continue_txop(self.now, exchange, &ppdu, sizes.into_iter(), quality);
            if let Some(timing) = next {
                assert!(timing.end <= exchange.txop_end);
                self.note(at, &timing);
            }
        }
    }

    fn play(&mut self) {
        loop {
            match self.channel.busy_until(TxId(0)) {
                Some(end) => self.end(end),
                None => match self.channel.next_access(self.now) {
                    Instant::MAX => break,
                    access => self.access(access),
                },
            }
        }
    }
}

proptest! {
    #[test]
    fn every_frame_is_settled_and_time_never_goes_back(
        transmitters in transmitters(), eifs in any::<bool>(), rts_threshold in prop_oneof![Just(500_u64), Just(u64::MAX)],
    ) {
        let frames: usize = transmitters.iter().flat_map(|one| one.1).map(usize::from).sum();
        let mut run = Run::new(transmitters, eifs, rts_threshold);
        run.play();
        prop_assert_eq!(run.started, run.settled);
        prop_assert_eq!(run.done, frames);
        prop_assert!(frames == 0 || run.now > Instant::ZERO);
    }

    /// The computed backoff equals that of a model that steps through the slots, after any busy periods.
    #[test]
    fn a_computed_backoff_is_a_stepped_one(parameters in parameters(), failures in 0_u8..8, idle in prop::collection::vec(0_u64..400_000, 0..40)) {
        let (aifs, slot) = (BAND.aifs(parameters.aifsn), BAND.slot());
        let mut one = edcaf(parameters, 0);
        one.set_ready(Instant::ZERO, None);
        for _ in 0..failures {
            one.on_failure();
        }
        let mut now = Instant::ZERO + Span::from_millis(1);
        let left = |one: &Edcaf, idle_since: Instant| {
            let access = one.access(idle_since).expect("it is ready");
            (access - (idle_since + aifs)).div_floor(slot)
        };
        let mut counter = left(&one, now);
        prop_assert!(counter <= u64::from(parameters.window(failures.into())));
        for idle in idle {
            let busy = now + Span::from_nanos(idle);
            // Slot boundaries: at the end of AIFS and each slot after it, up to the one at which the channel becomes busy.
            let mut boundary = now + aifs;
            while boundary <= busy {
                counter = counter.saturating_sub(1);
                boundary += slot;
            }
            one.on_busy(now, busy);
            now = busy + Span::from_micros(100);
            prop_assert_eq!(left(&one, now), counter);
        }
    }
}
