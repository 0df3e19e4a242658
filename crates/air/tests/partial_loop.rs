//! A channel of transmitters that do not all hear each other, driven as documented.

use airbound_air::capture::{Capture, Levels};
use airbound_air::channel::{AccessId, Exchange, Settled, TxId};
use airbound_air::edca::Edcaf;
use airbound_air::exchange::{Answer, PhyConfig, Ppdu};
use airbound_air::hearing::Hearing;
use airbound_air::loss::{Loss, Losses};
use airbound_air::partial::PartialChannel;
use airbound_air::propagation::LinkQuality;
use airbound_random::{Purpose, Stream};
use airbound_units::{ByteCount, Dbm, Decibel, Instant, Span};
use airbound_wifi::error::Decoding;
use airbound_wifi::mpdu::psdu_size;
use airbound_wifi::{Band, Basic, Category, ControlTiming, EdcaParameters, Legacy, Rate};
use proptest::prelude::*;

const BAND: Band = Band::Ghz5;
const SIZE: ByteCount = ByteCount::new(1534);
const RECEIVER: TxId = TxId(0);

const fn us(micros: u64) -> Span {
    Span::from_micros(micros)
}

fn at(tx: u16) -> AccessId {
    AccessId { tx: TxId(tx), category: Category::Be }
}

/// Frames of 54 Mb/s (248 us) without backoff before the first one, control frames of 24 Mb/s (28 us).
struct Scene {
    channel: PartialChannel,
    now: Instant,
    ended: Vec<(Exchange, Instant)>,
    busy: Vec<(Instant, Instant)>,
    protected: bool,
}

impl Scene {
    /// A receiver that all hear, and transmitters that hear it and those of `pairs`.
    fn new(transmitters: u16, pairs: &[(u16, u16)]) -> Self {
        Self::made(transmitters, pairs, |channel| channel)
    }

    fn made(
        transmitters: u16,
        pairs: &[(u16, u16)],
        rules: impl FnOnce(PartialChannel) -> PartialChannel,
    ) -> Self {
        let mut hearing = Hearing::complete(usize::from(transmitters) + 1);
        for one in 1..=transmitters {
            for other in (1..=transmitters).filter(|other| *other != one) {
                let hears = pairs.contains(&(one, other)) || pairs.contains(&(other, one));
                hearing.set(TxId(one), TxId(other), hears);
            }
        }
        let control = ControlTiming { band: BAND, basic: Basic::MANDATORY, fixed: None };
        let detection = Decibel::new(0.0);
        let phy = PhyConfig {
            control,
            rts_threshold: ByteCount::MAX,
            detection,
            decoding: Decoding::Hard,
            implementation_loss: Decibel::new(0.0),
        };
        let mut channel = rules(PartialChannel::new(phy, true, hearing));
        for number in 0..=u64::from(transmitters) {
            let edca = Category::ALL.map(|category| {
                let draws = Stream::new(3, Purpose::Backoff, number * 4 + category.index() as u64);
                Edcaf::new(EdcaParameters::dcf(), BAND.difs(), BAND.slot(), draws)
            });
            channel.add(edca, Stream::new(3, Purpose::Reception, number));
        }
        channel.watch(RECEIVER);
        Self { channel, now: Instant::ZERO, ended: Vec::new(), busy: Vec::new(), protected: false }
    }

    /// With capture: the level of the second transmitter at the receiver is this much below the others'.
    fn with_gap(transmitters: u16, gap: f64, takeover: Option<f64>) -> Self {
        let mut levels = Levels::silent(usize::from(transmitters) + 1);
        for receiver in 0..=transmitters {
            for sender in (0..=transmitters).filter(|sender| *sender != receiver) {
                // Transmitters do not hear each other.
                if receiver == 0 || sender == 0 {
                    let below = if sender == 2 { gap } else { 0.0 };
                    levels.set(TxId(receiver), TxId(sender), Dbm::new(-40.0 - below));
                }
            }
        }
        let capture = Capture { levels, preamble: 2.5, takeover };
        Self::made(transmitters, &[], |channel| channel.with_capture(capture))
    }

    fn protected(self) -> Self {
        Self { protected: true, ..self }
    }

    /// Makes a transmitter ready at a time; on a channel that is idle for it, it sends at once.
    fn send_at(&mut self, micros: u64, tx: u16) {
        let time = Instant::ZERO + us(micros);
        self.run_until(time);
        self.channel.set_ready(time, at(tx));
        self.run_until(time);
    }

    fn run_until(&mut self, until: Instant) {
        loop {
            let next = self.channel.next_step(self.now);
            if next > until {
                break;
            }
            assert!(next >= self.now);
            self.now = next;
            self.step();
        }
        self.now = self.now.max(until);
    }

    fn step(&mut self) {
        let now = self.now;
        self.channel.advance(now);
        while let Some(ended) = self.channel.take_ended() {
            let exchange = ended.exchange;
            let success = exchange.acknowledged.count() > 0;
            self.channel.settle(exchange.at, if success { Settled::Success } else { Settled::GaveUp });
            self.channel.clear_ready(exchange.at);
            self.ended.push((exchange, now));
        }
        self.busy.extend(std::iter::from_fn(|| self.channel.take_busy(RECEIVER)));
        let mut winners = Vec::new();
        self.channel.contend(now, &mut winners);
        self.channel.occupy(now);
        let rate = Rate::legacy(Legacy::Mbps54);
        let answer = Answer::Ack;
        let ppdu = Ppdu { rate, psdu: SIZE, mpdus: 1, answer, protected: self.protected };
        for winner in winners {
            let sizes = [SIZE].into_iter();
            self.channel.transmit(now, (winner, RECEIVER), &ppdu, sizes, LinkQuality::Perfect);
            self.channel.draw_losses(winner.tx, |_| LinkQuality::Perfect);
        }
        self.channel.answer(now);
    }

    /// Transmitter, time of its end in microseconds, and success of each exchange, after a long time.
    fn outcomes(mut self) -> Vec<(u16, u64, bool)> {
        self.run_until(Instant::ZERO + us(1_000_000));
        let each = self.ended.iter().map(|(exchange, end)| {
            let success = exchange.acknowledged.count() == 1;
            assert!(!success || exchange.received.count() == 1);
            (exchange.at.tx.0, end.since(Instant::ZERO).as_micros(), success)
        });
        each.collect()
    }
}

#[test]
fn a_lone_exchange_has_its_times() {
    let mut scene = Scene::new(1, &[]);
    scene.send_at(1000, 1);
    // 248 us of data, SIFS, 28 us of Ack.
    assert_eq!(scene.outcomes(), [(1, 1292, true)]);
    let mut scene = Scene::new(1, &[]).protected();
    scene.send_at(1000, 1);
    // RTS, SIFS, CTS, SIFS before it.
    assert_eq!(scene.outcomes(), [(1, 1380, true)]);
}

#[test]
fn the_receiver_is_busy_for_the_whole_exchange() {
    let mut scene = Scene::new(1, &[]).protected();
    scene.send_at(1000, 1);
    scene.run_until(Instant::ZERO + us(5000));
    let total: Span = scene.busy.iter().map(|(start, end)| end.since(*start)).sum();
    assert_eq!(total, us(380));
}

#[test]
fn any_overlap_destroys_both_frames_of_hidden_senders() {
    for late in [0, 1, 100, 247] {
        let mut scene = Scene::new(2, &[]);
        scene.send_at(1000, 1);
        scene.send_at(1000 + late, 2);
        // The timeout is SIFS, a slot and 20 us after the end of the frame.
        let (first, second) = (1000 + 248 + 45, 1000 + late + 248 + 45);
        assert_eq!(scene.outcomes(), [(1, first, false), (2, second, false)], "{late} us");
    }
}

#[test]
fn an_acknowledgement_goes_on_over_a_hidden_frame() {
    // The second frame begins in the SIFS before the Ack, which the receiver sends nevertheless: the second frame is lost.
    let mut scene = Scene::new(2, &[]);
    scene.send_at(1000, 1);
    scene.send_at(1250, 2);
    assert_eq!(scene.outcomes(), [(1, 1292, true), (2, 1250 + 248 + 45, false)]);
}

#[test]
fn those_that_hear_each_other_take_turns() {
    let mut scene = Scene::new(2, &[(1, 2)]);
    scene.send_at(1000, 1);
    scene.send_at(1100, 2);
    let outcomes = scene.outcomes();
    assert_eq!(outcomes[0], (1, 1292, true));
    assert!(outcomes[1].2 && outcomes[1].1 >= 1292 + 34 + 292, "{outcomes:?}");
}

#[test]
fn an_acknowledgement_that_is_heard_keeps_hidden_senders_silent() {
    // Ready during the Ack of 1264 to 1292, which it hears.
    let mut scene = Scene::new(2, &[]);
    scene.send_at(1000, 1);
    scene.send_at(1270, 2);
    let outcomes = scene.outcomes();
    assert_eq!(outcomes[0], (1, 1292, true));
    assert!(outcomes[1].2 && outcomes[1].1 >= 1292 + 34 + 292, "{outcomes:?}");
}

#[test]
fn a_cts_reserves_the_channel_for_all_that_hear_it() {
    // The RTS ends at 1028, the CTS at 1072; the second sender becomes ready under the data, which it does not hear.
    let mut scene = Scene::new(2, &[]).protected();
    scene.send_at(1000, 1);
    scene.send_at(1150, 2);
    let outcomes = scene.outcomes();
    assert_eq!(outcomes[0], (1, 1380, true));
    assert!(outcomes[1].2 && outcomes[1].1 >= 1380 + 34 + 380, "{outcomes:?}");
    // Only its RTS is lost if it begins before the CTS: 28 us and the timeout.
    let mut scene = Scene::new(2, &[]).protected();
    scene.send_at(1000, 1);
    scene.send_at(1010, 2);
    assert_eq!(scene.outcomes(), [(1, 1000 + 28 + 45, false), (2, 1010 + 28 + 45, false)]);
}

#[test]
fn a_failed_rts_reserves_nothing() {
    // Sender 2 hears the RTS of 1, which 3, hidden from both, destroys at the receiver. Without a CTS, 2 may go on 16 + 28 + 16 + 20 + 18
    // us after the RTS, at 1126, and not only after the announced exchange, at 1380.
    let mut scene = Scene::new(3, &[(1, 2)]).protected();
    scene.send_at(1000, 1);
    scene.send_at(1005, 3);
    scene.send_at(1030, 2);
    let outcomes = scene.outcomes();
    let second = outcomes.iter().find(|one| one.0 == 2).expect("it ends");
    assert!(second.2, "{outcomes:?}");
    let start = second.1 - 380;
    assert!((1126 + 34..=1126 + 34 + 15 * 9).contains(&start) || start < 1380, "{outcomes:?}");
}

#[test]
fn an_undecodable_frame_delays_by_eifs() {
    // Sender 3 hears 1 and 2, whose frames overlap long after the first preamble; ready under the second one, it waits EIFS.
    let eifs = BAND.eifs().as_micros();
    let mut scene = Scene::new(3, &[(1, 3), (2, 3)]);
    scene.send_at(1000, 1);
    scene.send_at(1100, 2);
    scene.send_at(1200, 3);
    let outcomes = scene.outcomes();
    let third = outcomes.iter().find(|one| one.0 == 3).expect("it ends");
    let start = third.1 - 292;
    assert!(start >= 1348 + eifs && (start - 1348 - eifs).is_multiple_of(9), "{outcomes:?}, {eifs}");
    // Two preambles at once are energy only: DIFS.
    let mut scene = Scene::new(3, &[(1, 3), (2, 3)]);
    scene.send_at(1000, 1);
    scene.send_at(1000, 2);
    scene.send_at(1200, 3);
    let outcomes = scene.outcomes();
    let third = outcomes.iter().find(|one| one.0 == 3).expect("it ends");
    let start = third.1 - 292;
    assert!((start - 1248 - 34) % 9 == 0 && start < 1248 + eifs + 15 * 9, "{outcomes:?}");
}

#[test]
fn an_overlap_costs_an_aggregate_only_the_mpdus_under_it() {
    let mut scene = Scene::new(2, &[]);
    let sizes = [SIZE; 8];
    let psdu = psdu_size(sizes);
    let rate = "HT20 MCS7 1SS LGI".parse().expect("a rate");
    let ppdu = Ppdu { rate, psdu, mpdus: 8, answer: Answer::BlockAck, protected: false };
    let start = Instant::ZERO + us(1000);
    scene.now = start;
    let timing =
        scene.channel.transmit(start, (at(1), RECEIVER), &ppdu, sizes.into_iter(), LinkQuality::Perfect);
    // Each MPDU lasts about 190 us after a preamble of 36 us; the overlap lasts 248 us, from the third one on.
    let third = timing.reception().of(ByteCount::new(2 * 1540 + 100)).since(Instant::ZERO).as_micros();
    scene.send_at(third, 2);
    scene.run_until(Instant::ZERO + us(20_000));
    let (aggregate, _) = scene.ended.iter().find(|(exchange, _)| exchange.at.tx == TxId(1)).expect("it ends");
    let lost: Vec<usize> = (0..8).filter(|place| !aggregate.acknowledged.get(*place)).collect();
    assert_eq!(lost, [2, 3]);
    // One under the preamble leaves none.
    let mut scene = Scene::new(2, &[]);
    scene.now = start;
    scene.channel.transmit(start, (at(1), RECEIVER), &ppdu, sizes.into_iter(), LinkQuality::Perfect);
    scene.send_at(1010, 2);
    scene.run_until(Instant::ZERO + us(20_000));
    assert!(scene.ended.iter().all(|(exchange, _)| exchange.acknowledged.count() == 0));
}

/// Whether the frames of the first and the second sender arrive, the second one `late`.
fn pair(gap: f64, takeover: Option<f64>, first: u16, late: u64) -> (bool, bool) {
    let mut scene = Scene::with_gap(2, gap, takeover);
    scene.send_at(1000, first);
    scene.send_at(1000 + late, 3 - first);
    let outcomes = scene.outcomes();
    let of = |tx: u16| outcomes.iter().any(|(one, _, success)| *one == tx && *success);
    (of(1), of(2))
}

#[test]
fn the_stronger_of_two_frames_survives() {
    // At 54 Mb/s 25 dB are enough, 10 dB are not: then the preamble is detected and the data lost.
    for (gap, survives) in [(25.0, true), (10.0, false), (0.0, false)] {
        for late in [0, 2, 100] {
            assert_eq!(pair(gap, None, 1, late), (survives, false), "{gap} dB, {late} us");
        }
    }
}

#[test]
fn a_receiver_stays_with_the_frame_that_began_first() {
    // Within 4 us the stronger preamble is detected. Later the receiver is locked on the weak one, which is lost.
    assert_eq!(pair(25.0, None, 2, 3), (true, false));
    assert_eq!(pair(25.0, None, 2, 10), (false, false));
    // Unless it takes over, within 16 us.
    assert_eq!(pair(25.0, Some(3.0), 2, 10), (true, false));
    assert_eq!(pair(25.0, Some(3.0), 2, 20), (false, false));
}

#[test]
fn data_arrives_though_its_answer_is_lost() {
    let losses = Losses { answers: Some(Loss::Share(1.0)), protection: None };
    let mut scene = Scene::made(1, &[], |channel| channel.with_losses(losses));
    scene.send_at(1000, 1);
    scene.run_until(Instant::ZERO + us(5000));
    let (exchange, end) = scene.ended[0];
    assert_eq!((exchange.received.count(), exchange.acknowledged.count()), (1, 0));
    // Its sender sees the answer end without an acknowledgement.
    assert_eq!(end, Instant::ZERO + us(1292));
}

#[test]
fn a_lost_rts_costs_its_timeout() {
    let losses = Losses { answers: None, protection: Some(Loss::Share(1.0)) };
    let mut scene = Scene::made(1, &[], |channel| channel.with_losses(losses)).protected();
    scene.send_at(1000, 1);
    assert_eq!(scene.outcomes(), [(1, 1000 + 28 + 45, false)]);
}

#[test]
fn a_detected_frame_ends_the_wait_for_a_response() {
    // Both begin at once and 1 survives: 2 hears the Ack to 1, from 1264 to 1292, and waits no longer than that.
    let end_of_second = |gap: f64| {
        let mut levels = Levels::silent(3);
        for (receiver, sender, level) in [(0, 1, -40.0), (0, 2, -40.0 - gap), (1, 0, -40.0), (2, 0, -40.0)] {
            levels.set(TxId(receiver), TxId(sender), Dbm::new(level));
        }
        let capture = Capture { levels, preamble: 2.5, takeover: None };
        let mut scene = Scene::made(2, &[], |channel| channel.with_capture(capture).attentive());
        scene.send_at(1000, 1);
        scene.send_at(1000, 2);
        let outcomes = scene.outcomes();
        outcomes.iter().find(|one| one.0 == 2).map(|one| one.1)
    };
    assert_eq!(end_of_second(25.0), Some(1292));
    assert_eq!(end_of_second(0.0), Some(1248 + 45));
}

proptest! {
    /// With any hearing, any arrivals and any protection each exchange ends once, within its time, and the channel comes to rest.
    #[test]
    fn every_exchange_ends_once(
        transmitters in 1_u16..6,
        (gap, loss) in (prop::option::of(0.0..30.0), prop::option::of(0.0..1.0)),
        pairs in prop::collection::vec((1_u16..6, 1_u16..6), 0..8),
        arrivals in prop::collection::vec((0_u64..3000, 1_u16..6), 1..40),
        protected: bool,
        jam in prop::option::of((0_u64..3000, 0_u64..500)),
        beacon in prop::option::of(0_u64..3000),
    ) {
        let losses = loss.map(Loss::Share);
        let losses = Losses { answers: losses, protection: losses };
        let mut levels = Levels::silent(usize::from(transmitters) + 1);
        for receiver in 0..=transmitters {
            for sender in 0..=transmitters {
                let below = gap.unwrap_or_default() * f64::from(sender);
                levels.set(TxId(receiver), TxId(sender), Dbm::new(-40.0 - below));
            }
        }
        let capture = Capture { levels, preamble: 2.5, takeover: Some(3.0) };
        let mut scene = Scene::made(transmitters, &pairs, |channel| {
            let channel = channel.with_losses(losses).attentive();
            if gap.is_some() { channel.with_capture(capture) } else { channel }
        });
        scene.protected = protected;
        let mut arrivals = arrivals;
        arrivals.sort_unstable();
        let mut expected = 0;
        let (mut jam, mut beacon) = (jam, beacon);
        for (time, tx) in arrivals.into_iter().filter(|(_, tx)| *tx <= transmitters) {
            let now = Instant::ZERO + us(time);
            if let Some((start, length)) = jam.take_if(|(start, _)| *start <= time) {
                scene.run_until(Instant::ZERO + us(start));
                scene.channel.jam(scene.now, scene.now + us(length));
            }
            if let Some(start) = beacon.take_if(|start| *start <= time) {
                scene.run_until(Instant::ZERO + us(start));
                scene.channel.hold(scene.now, scene.now + us(400), RECEIVER);
            }
            scene.run_until(now);
            expected += usize::from(!scene.channel.is_ready(at(tx)));
            scene.send_at(time, tx);
        }
        scene.run_until(Instant::ZERO + us(1_000_000));
        prop_assert_eq!(scene.ended.len(), expected);
        prop_assert!(!scene.channel.is_transmitting());
        prop_assert_eq!(scene.channel.next_step(scene.now), Instant::MAX);
        for (exchange, end) in &scene.ended {
            prop_assert!(exchange.timing.end <= *end && exchange.start < exchange.timing.end);
            prop_assert!(exchange.acknowledged.count() == 0 || !exchange.collided());
        }
    }

    /// No order of calls panics.
    #[test]
    fn no_order_of_calls_panics(calls in prop::collection::vec((0_u8..12, 0_u16..5, 0_u64..400), 0..200)) {
        let mut scene = Scene::new(3, &[(1, 2)]);
        let mut now = Instant::ZERO;
        let mut last = None;
        let rate = Rate::legacy(Legacy::Mbps54);
        let ppdu = Ppdu { rate, psdu: SIZE, mpdus: 1, answer: Answer::Ack, protected: false };
        let sizes = [SIZE].into_iter();
        for (call, tx, time) in calls {
            let channel = &mut scene.channel;
            let to = TxId(tx / 2);
            match call {
                0 => now += us(time),
                1 => channel.set_ready(now, at(tx)),
                2 => channel.clear_ready(at(tx)),
                3 => { channel.transmit(now, (at(tx), to), &ppdu, sizes.clone(), LinkQuality::Perfect); }
                4 => channel.advance(now),
                5 => channel.answer(now),
                6 => last = channel.take_ended().map(|ended| ended.exchange).or(last),
                7 => channel.settle(at(tx), Settled::Retry),
                8 => channel.hold(now, now + us(time), to),
                9 => channel.jam(now, now + us(time)),
                10 => {
                    let mut winners = Vec::new();
                    channel.contend(now, &mut winners);
                    if let Some(winner) = winners.first() { channel.withdraw(*winner); }
                    channel.occupy(now);
                }
                _ => if let Some(ended) = &last {
                    channel.continue_txop(now, (ended, to), &ppdu, sizes.clone(), LinkQuality::Perfect);
                },
            }
            prop_assert!(channel.next_step(now) >= now);
        }
    }
}
