//! Arbitrary sequences of calls of a channel, with any contention function and any time: no panic, and every exchange ends once.

use airbound_air::channel::{AccessId, Channel, Exchange, Settled, TxId};
use airbound_air::edca::Edcaf;
use airbound_air::exchange::{Answer, PhyConfig, Ppdu};
use airbound_air::propagation::LinkQuality;
use airbound_random::{Purpose, Stream};
use airbound_units::{ByteCount, Decibel, Instant, Span};
use airbound_wifi::error::Decoding;
use airbound_wifi::{
    Band, Basic, Category, ControlTiming, EdcaParameters, GuardInterval, Legacy, Rate, Width,
};
use bolero::TypeGenerator;

/// Number of transmitters; calls use unknown ones, too.
const TRANSMITTERS: u16 = 3;

#[derive(Debug, Clone, Copy, TypeGenerator)]
struct At(u16, u8);

impl At {
    fn access(self) -> AccessId {
        // Most identifiers are valid.
        let tx = if self.0 < 0xf000 { self.0 % TRANSMITTERS } else { self.0 };
        AccessId { tx: TxId(tx), category: Category::ALL[usize::from(self.1 % 4)] }
    }
}

#[derive(Debug, Clone, TypeGenerator)]
struct Frames {
    mcs: u8,
    count: u16,
    size: u16,
    answer: u8,
    protected: bool,
    snr: Option<i8>,
}

impl Frames {
    /// Number of MPDUs, possibly above a block-ack window.
    fn count(&self) -> usize {
        usize::from(self.count % 300)
    }

    fn ppdu(&self) -> Ppdu {
        let rate = if self.mcs < 8 {
            Rate::ht(self.mcs, Width::Mhz20, GuardInterval::Ns800).expect("an MCS of HT")
        } else {
            Rate::legacy(Legacy::Mbps24)
        };
        let answer = [Answer::None, Answer::Ack, Answer::BlockAck][usize::from(self.answer % 3)];
        let psdu = ByteCount::new(u64::from(self.size) * self.count() as u64);
        Ppdu { rate, psdu, mpdus: self.count(), answer, protected: self.protected }
    }

    fn sizes(&self) -> impl Iterator<Item = ByteCount> {
        std::iter::repeat_n(ByteCount::new(self.size.into()), self.count())
    }

    fn quality(&self) -> LinkQuality {
        self.snr.map_or(LinkQuality::Perfect, |snr| LinkQuality::Snr(Decibel::new(snr.into())))
    }
}

#[derive(Debug, Clone, TypeGenerator)]
enum Op {
    /// Advances the time, or sets it back.
    Wait(u32),
    Back(u32),
    SetReady(At),
    ClearReady(At),
    ResetWindow(At),
    Replace(At, u8, u16, u16, u16),
    Contend,
    Withdraw(At),
    Occupy,
    Transmit(At, Frames),
    /// The winners transmit, as documented.
    Access(Frames),
    TakeEnded,
    Settle(At, u8),
    Continue(u8, Frames),
    Hold(u16),
    Jam(u16),
    Release,
}

fn edcaf(at: AccessId, parameters: EdcaParameters) -> Edcaf {
    let number = u64::from(at.tx.0) * 4 + at.category.index() as u64;
    let draws = Stream::new(1, Purpose::Backoff, number);
    Edcaf::new(parameters, Band::Ghz5.aifs(parameters.aifsn), Band::Ghz5.slot(), draws)
}

fn channel() -> Channel {
    let control = ControlTiming { band: Band::Ghz5, basic: Basic::MANDATORY, fixed: None };
    let phy = PhyConfig {
        control,
        rts_threshold: ByteCount::new(3000),
        detection: Decibel::new(0.0),
        decoding: Decoding::Hard,
        implementation_loss: Decibel::new(0.0),
    };
    let mut channel = Channel::new(phy, true);
    for number in 0..TRANSMITTERS {
        let tx = TxId(number);
        let edca = Category::ALL
            .map(|category| edcaf(AccessId { tx, category }, EdcaParameters::standard_station(category)));
        assert_eq!(channel.add(edca, Stream::new(1, Purpose::Reception, number.into())), tx);
    }
    channel
}

/// Checks an ended exchange.
fn inspect(exchange: &Exchange, now: Instant) {
    let Exchange { timing, start, .. } = exchange;
    assert!(timing.end <= now && *start <= timing.end, "{exchange:?}");
    assert!(*start <= timing.ppdu_start && timing.ppdu_start <= timing.ppdu_end, "{exchange:?}");
    if exchange.collided() {
        assert_eq!(exchange.received.count(), 0);
        assert_eq!(timing.end, *start + timing.first_frame);
    } else {
        assert!(timing.ppdu_end <= timing.end, "{exchange:?}");
    }
}

fn drive(ops: &[Op]) {
    let mut channel = channel();
    let mut now = Instant::ZERO;
    let (mut winners, mut ended) = (Vec::new(), Vec::new());
    let (mut started, mut taken) = (0_usize, 0_usize);
    let put = |channel: &mut Channel, now: Instant, at: AccessId, frames: &Frames| {
        let timing = channel.transmit(now, at, &frames.ppdu(), frames.sizes(), frames.quality());
        assert!(timing.end >= now);
        usize::from(at.tx.0 < TRANSMITTERS)
    };
    for op in ops {
        match op {
            Op::Wait(micros) => now += Span::from_micros(u64::from(*micros)),
            Op::Back(micros) => now = now - Span::from_micros(u64::from(*micros)),
            Op::SetReady(at) => {
                channel.set_ready(now, at.access());
                assert_eq!(channel.is_ready(at.access()), at.access().tx.0 < TRANSMITTERS);
            }
            Op::ClearReady(at) => {
                channel.clear_ready(at.access());
                assert!(!channel.is_ready(at.access()));
            }
            Op::ResetWindow(at) => channel.reset_window(at.access()),
            Op::Replace(at, aifsn, cw_min, cw_max, txop) => {
                let txop_limit = Span::from_micros(32) * u64::from(*txop);
                let (was_ready, limit) = (channel.is_ready(at.access()), channel.txop_limit(at.access()));
                let parameters =
                    EdcaParameters { aifsn: *aifsn, cw_min: *cw_min, cw_max: *cw_max, txop_limit };
                channel.replace(at.access(), edcaf(at.access(), parameters));
                if was_ready {
                    assert_eq!(channel.txop_limit(at.access()), limit, "an active function is not replaced");
                }
            }
            Op::Contend => {
                channel.contend(now, &mut winners);
                assert!(winners.windows(2).all(|pair| pair[0].tx < pair[1].tx), "one of each, in order");
                assert!(winners.iter().all(|at| channel.is_ready(*at)));
            }
            Op::Withdraw(at) => channel.withdraw(at.access()),
            Op::Occupy => channel.occupy(now),
            Op::Transmit(at, frames) => started += put(&mut channel, now, at.access(), frames),
            Op::Access(frames) => {
                let next = channel.next_access(now);
                if next < Instant::MAX {
                    now = next;
                    channel.contend(now, &mut winners);
                    assert!(!winners.is_empty(), "the next access has a winner");
                    channel.occupy(now);
                    for at in winners.drain(..) {
                        started += put(&mut channel, now, at, frames);
                    }
                }
            }
            Op::TakeEnded => {
                while let Some(exchange) = channel.take_ended(now) {
                    inspect(&exchange, now);
                    taken += 1;
                    ended.push(exchange);
                }
            }
            Op::Settle(at, result) => {
                let results = [Settled::Success, Settled::Retry, Settled::GaveUp];
                channel.settle(at.access(), results[usize::from(result % 3)]);
            }
            Op::Continue(which, frames) => {
                if let Some(before) = ended.get(usize::from(*which) % ended.len().max(1)) {
                    let (ppdu, sizes) = (frames.ppdu(), frames.sizes());
                    let timing = channel.continue_txop(now, before, &ppdu, sizes, frames.quality());
                    assert!(timing.is_none_or(|timing| timing.end <= before.txop_end), "within the TXOP");
                    started += usize::from(timing.is_some());
                }
            }
            Op::Hold(micros) => channel.hold(now, now + Span::from_micros(u64::from(*micros))),
            Op::Jam(micros) => {
                channel.jam(now, now + Span::from_micros(u64::from(*micros)));
            }
            Op::Release => channel.release(now),
        }
        assert_eq!(channel.is_transmitting(), started > taken);
        // No deadline lies in the past, and a busy channel has none.
        assert!(channel.next_access(now) >= now && channel.next_beacon(now) >= now);
        if channel.busy_until(TxId(0)).is_some() && !channel.is_transmitting() {
            assert_eq!(channel.next_access(now), Instant::MAX);
        }
    }
    // Each exchange on the air ends once.
    while let Some(exchange) = channel.take_ended(Instant::MAX) {
        inspect(&exchange, Instant::MAX);
        taken += 1;
    }
    assert_eq!(taken, started);
    assert!(!channel.is_transmitting());
}

#[test]
fn any_sequence_of_calls_is_safe_and_every_exchange_ends_once() {
    bolero::check!().with_type::<Vec<Op>>().for_each(|ops| drive(ops));
}
