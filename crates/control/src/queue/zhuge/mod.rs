//! Zhuge: an access point that tells senders the delay to come (Meng et al., "Achieving consistent low latency for wireless real-time
//! communications with the shortest control loop", SIGCOMM 2022).
//!
//! ```text
//!             ┌────────────── access point ──────────────┐
//!  sender ──▶ │ predictor ──▶ linux ──▶ hardware ──▶ air │ ──▶ station
//!     ▲       │     │ delay to come                      │        │
//!     └───────│ acknowledgements delayed, or reports made │ ◀──────┘
//!             └──────────────────────────────────────────┘
//! ```
//!
//! Order and drops are those of `linux`. What is new is the feedback: a sender learns of a longer delay when the packet arrives at the access
//! point, and not when it has left.

mod ack_delay;
mod config;
mod predictor;
mod report;

pub use config::ZhugeConfig;
pub use predictor::Predictor;
pub use report::{Foretold, Reporter};

use std::collections::BTreeMap;

use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;

use self::ack_delay::AckDelay;
use super::{Backlogs, Deadline, Fact, FqCodelAirtime, Queue, Sink, Turn};
use crate::error::ConfigError;
use crate::frame::{Dropped, FlowId, Payload, StationId};

/// `linux` with the predicted delay of real-time flows, which the caller names ([`Zhuge::watch`]).
///
/// For a flow with arrival times in its feedback the caller asks for the delay of each packet ([`Zhuge::foretell`]), and makes the
/// feedback with a [`Reporter`]; for one without, it asks when an acknowledgement leaves ([`Zhuge::leaves`]).
#[derive(Debug)]
pub struct Zhuge<P> {
    order: FqCodelAirtime<P>,
    config: ZhugeConfig,
    seed: u64,
    flows: BTreeMap<FlowId, Watched>,
    /// Latest time observed.
    now: Instant,
}

/// A real-time flow.
#[derive(Debug, Clone)]
struct Watched {
    predictor: Predictor,
    /// Its acknowledgements, if they are delayed.
    acknowledgements: Option<AckDelay>,
}

impl<P: Payload> Zhuge<P> {
    /// Creates an empty queue that watches no flow. `seed` decides which acknowledgement gets which growth.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: &ZhugeConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            order: FqCodelAirtime::new(config.linux)?,
            config: config.clone(),
            seed,
            flows: BTreeMap::new(),
            now: Instant::ZERO,
        })
    }

    /// Whether airtime below the queue is accounted for.
    pub(super) const fn counts_below(&self) -> bool {
        self.order.counts_below()
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &ZhugeConfig {
        &self.config
    }

    /// Watches a flow from its first packet on; `acknowledged` if its feedback has no arrival times, and is delayed.
    pub fn watch(&mut self, flow: FlowId, acknowledged: bool) {
        let seed = self.seed ^ u64::from(flow.0).rotate_left(32);
        let watched = Watched {
            predictor: Predictor::new(&self.config),
            acknowledgements: acknowledged.then(|| AckDelay::new(&self.config, seed)),
        };
        self.flows.insert(flow, watched);
    }

    /// The predicted delay of a packet of a watched flow that is enqueued next; zero for other flows.
    pub fn foretell(&mut self, now: Instant, flow: FlowId) -> Span {
        self.flows.get_mut(&flow).map_or(Span::ZERO, |watched| watched.predictor.predict(now))
    }

    /// When an acknowledgement of a watched flow, which came from the air at `now`, leaves for the wire; `now` for other flows.
    pub fn leaves(&mut self, now: Instant, flow: FlowId) -> Instant {
        let watched = self.flows.get_mut(&flow);
        watched.and_then(|watched| watched.acknowledgements.as_mut()).map_or(now, |acks| acks.leaves(now))
    }

    fn note_arrived(&mut self, now: Instant, packet: &P) {
        self.now = self.now.max(now);
        let Some(Watched { predictor, acknowledgements }) = self.flows.get_mut(&packet.flow()) else {
            return;
        };
        if let Some(acknowledgements) = acknowledgements {
            let is_idle = predictor.is_idle();
            acknowledgements.on_predicted(now, predictor.predict(now), is_idle);
        }
        predictor.on_arrived(now, packet.size());
    }

    fn note_departed(&mut self, now: Instant, packet: &P) {
        self.now = self.now.max(now);
        if let Some(watched) = self.flows.get_mut(&packet.flow()) {
            watched.predictor.on_departed(now, packet.size());
        }
    }
}

impl<P: Payload> Queue<P> for Zhuge<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        self.note_arrived(now, &packet);
        let before = dropped.len();
        self.order.enqueue(now, packet, dropped);
        dropped[before..].iter().for_each(|lost| self.note_departed(now, &lost.packet));
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<Turn> {
        self.order.select(now, category)
    }

    fn dequeue_into(
        &mut self,
        now: Instant,
        turn: &Turn,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        let before = dropped.len();
        self.order.dequeue_into(now, turn, sink, dropped);
        dropped[before..].iter().for_each(|lost| self.note_departed(now, &lost.packet));
    }

    fn flush(&mut self, station: StationId, out: &mut Vec<P>) {
        let before = out.len();
        self.order.flush(station, out);
        let now = self.now;
        out[before..].iter().for_each(|packet| self.note_departed(now, packet));
    }

    fn backlog(&self) -> &Backlogs {
        self.order.backlog()
    }

    fn on(&mut self, now: Instant, fact: Fact<'_, P>) {
        match &fact {
            Fact::Reported(report) => {
                report.arrived().for_each(|mpdu| self.note_departed(now, &mpdu.packet));
            }
            Fact::Dropped(packet) => self.note_departed(now, packet),
            _ => {}
        }
        self.order.on(now, fact);
    }

    fn lifetime(&self, packet: &P) -> Option<Span> {
        self.order.lifetime(packet)
    }

    fn deadline(&self) -> Deadline {
        self.order.deadline()
    }
}

#[cfg(test)]
mod tests {
    use airbound_units::{BitRate, ByteCount};

    use super::super::FqCodelAirtimeConfig;
    use super::super::test_packet::{at_micros, packet};
    use super::*;
    use crate::frame::PlainPacket;

    const FLOW: FlowId = FlowId(1);

    fn queue(acknowledged: bool) -> Zhuge<PlainPacket> {
        let mut queue = Zhuge::new(&ZhugeConfig::default(), 1).expect("valid");
        queue.watch(FLOW, acknowledged);
        queue
    }

    #[test]
    fn a_packet_that_leaves_in_any_way_is_no_longer_ahead() {
        let mut queue = queue(false);
        let mut dropped = Vec::new();
        (0..20).for_each(|_| queue.enqueue(at_micros(0), packet(1, 1), &mut dropped));
        // 30 kB at the least rate, 512 kb/s, and the head since the start; nothing has left in any of 100 slots.
        let all = Span::from_micros(468_750 + 100_000 + 200_000);
        assert_eq!(queue.foretell(at_micros(100_000), FLOW), all);
        let given_up = packet(1, 1);
        queue.on(at_micros(100_000), Fact::Dropped(&given_up));
        let rest = BitRate::from_kbps(512).time_for(ByteCount::new(19 * 1500)) + Span::from_millis(200);
        assert_eq!(queue.foretell(at_micros(100_000), FLOW), rest);
        let mut out = Vec::new();
        queue.flush(StationId(1), &mut out);
        assert_eq!(out.len(), 20);
        assert_eq!(
            queue.foretell(at_micros(100_000), FLOW),
            Span::from_millis(200),
            "the window has no departure"
        );
    }

    #[test]
    fn packets_that_the_queue_drops_are_not_ahead() {
        let config = FqCodelAirtimeConfig { packets: 5, ..FqCodelAirtimeConfig::default() };
        let mut queue =
            Zhuge::new(&ZhugeConfig { linux: config, ..ZhugeConfig::default() }, 1).expect("valid");
        queue.watch(FLOW, false);
        let mut dropped = Vec::new();
        (0..50).for_each(|_| queue.enqueue(at_micros(0), packet(1, 1), &mut dropped));
        let bytes = ByteCount::new(1500 * (50 - dropped.len() as u64));
        assert!(dropped.len() >= 45);
        assert_eq!(queue.foretell(at_micros(0), FLOW), BitRate::from_kbps(512).time_for(bytes));
    }

    #[test]
    fn only_watched_flows_have_a_delay_and_only_acknowledged_ones_are_held() {
        let mut queue = queue(true);
        let mut dropped = Vec::new();
        for flow in [1, 2] {
            queue.enqueue(at_micros(0), packet(1, flow), &mut dropped);
            assert_eq!(queue.leaves(at_micros(0), FlowId(flow)), at_micros(0));
        }
        // The growth from nothing to 5 ms of waiting at the head, five slots without a departure.
        for flow in [1, 2] {
            queue.enqueue(at_micros(5000), packet(1, flow), &mut dropped);
        }
        assert_eq!(queue.leaves(at_micros(5000), FLOW), at_micros(15_000), "the longest delay");
        assert_eq!(queue.leaves(at_micros(5000), FlowId(2)), at_micros(5000));
        assert_eq!(queue.foretell(at_micros(5000), FlowId(2)), Span::ZERO);
    }
}
