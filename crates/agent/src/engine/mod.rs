//! The engine: which held packets the kernel may send now, which it drops, and why. A state machine without clock or I/O.
//!
//! ```text
//!  NFQUEUE ── Arrival ─▶ flow, station ─▶ queue of `control` ─ select, dequeue ─▶ window ─▶ Verdict ──▶ kernel ─▶ air
//!                                             ▲ airtime, latency, rate               ▲                             │
//!                                             └───────────── what is below ──────────┴──────── Completion ◀────────┘
//! ```
//!
//! Feed it with `on_…(now, …)`, then take [`Engine::output`]; call [`Engine::on_tick`] when [`Engine::next_deadline`] has come.
//! Every packet of an [`Arrival`] gets exactly one [`Verdict`]; [`Engine::drain`] gives those that are left to the kernel. Time that
//! runs backwards stands still.
//!
//! Packets released and not completed are *below*. Each category has a window of airtime below ([`WindowConfig`]), since the
//! hardware's queues contend with each other; completions, or time, make room in it. Where completions are lost nothing stops: they
//! age out, and a station to which nothing completes is not waited for.

mod below;
mod config;
mod flows;
mod measure;
mod output;
mod packet;
mod peers;
mod rates;
mod release;
mod tuner;
mod view;

use airbound_control::frame::{DropReason, Dropped, FlowId, Payload, StationId};
use airbound_control::link::{Composed, Link, Returned};
use airbound_control::queue::{AnyQueue, Demand, Fact, Queue};
use airbound_linux::MacAddress;
use airbound_units::{ConfigError, Instant};

pub use config::{EngineConfig, Protected, WindowConfig};
pub use measure::RuleRecord;
pub use output::{Decision, Fate, Output, Verdict};
pub use packet::{Arrival, Carried, Completion, FlowKey, StationFacts, Ticket};
pub use peers::PeerCounts;
pub use tuner::{Tuner, Waiting};
pub use view::{CategoryView, FlowView, StationView};

use below::Below;
use flows::{Change, Flows};
use measure::Measures;
use packet::Held;
use peers::Peers;
use rates::KernelRates;
use release::LastReported;

/// Counters of packets and frames since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Packets that came.
    pub arrived: u64,
    /// Of these, sent on at once: for nobody known, or for a group.
    pub passed: u64,
    /// Sent on when their turn had come.
    pub released: u64,
    /// Dropped.
    pub dropped: u64,
    /// Frames that completed.
    pub completed: u64,
    /// Frames that completed and carried nothing that the agent had released.
    pub foreign: u64,
    /// Packets of which no completion came.
    pub lost: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Engine {
    config: EngineConfig,
    link: Composed<Held, AnyQueue<Held>, AnyQueue<Held>, KernelRates>,
    peers: Peers,
    flows: Flows,
    below: Below,
    measures: Measures,
    told: LastReported,
    counts: Counts,
    out: Output,
    dropped: Vec<Dropped<Held>>,
    /// Room for what the link gives back.
    returned: Returned<Held>,
    /// WQM's sizes, as the journal knows them.
    buffers: [usize; 4],
    /// Room for what is forgotten.
    gone: Vec<Held>,
    /// The latest time that was seen.
    now: Instant,
}

impl Engine {
    /// An engine that holds nothing. `seed` decides the random drops of queues that make any.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range, or if the queue cannot work with a demand.
    pub fn new(config: EngineConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let mut queue: AnyQueue<Held> = config.queue.build(seed)?;
        // The kernel's own queues lie between this one and the radio.
        queue.on(Instant::ZERO, Fact::LowerQueue);
        if let Some(demands) = queue.demands() {
            config.rules.iter().try_for_each(|rule| demands.check(&rule.demand))?;
        }
        let link = config.link();
        Ok(Self {
            measures: Measures::new(&config.rules),
            config,
            link: Composed::new(queue, None, KernelRates::default(), link),
            peers: Peers::default(),
            flows: Flows::default(),
            below: Below::default(),
            told: LastReported::default(),
            counts: Counts::default(),
            out: Output::default(),
            dropped: Vec::new(),
            returned: Returned::default(),
            buffers: [0; 4],
            gone: Vec::new(),
            now: Instant::ZERO,
        })
    }

    /// Returns what was decided since the lists were last emptied; the caller that acts on it empties them.
    pub const fn output(&mut self) -> &mut Output {
        &mut self.out
    }

    /// A packet waits for a verdict.
    pub fn on_packet(&mut self, now: Instant, arrival: &Arrival) {
        self.advance(now);
        self.counts.arrived += 1;
        let station = arrival.station.filter(|mac| !mac.is_group()).and_then(|mac| self.station(mac));
        let Some(id) = station else {
            self.counts.passed += 1;
            self.out.verdicts.push(Verdict { ticket: arrival.ticket, fate: Fate::Release });
            return;
        };
        let (flow, change) = self.flows.on_packet(self.now, id, arrival.flow, arrival.rule);
        if let Some(change) = change {
            self.change_demand(id, change);
        }
        let held = Held::new(self.now, arrival, id, flow);
        if let Some(rule) = self.measures.of(held.rule) {
            rule.on_arrival(held.size);
        }
        if let Some(peer) = self.peers.get_mut(id) {
            peer.held += 1;
        }
        if self.link.queue().backlog().total().packets >= self.config.hold_packets {
            self.dropped.push(Dropped { packet: held, reason: DropReason::QueueFull });
        } else {
            self.link.enqueue(self.now, held, &mut self.dropped);
        }
        self.settle_dropped();
        self.release();
    }

    /// A frame left the radio.
    pub fn on_completion(&mut self, now: Instant, completion: &Completion) {
        self.on_completions(now, std::iter::once(*completion));
    }

    /// Frames left the radio together, as those of an aggregate do: what they make room for goes down once, when all are known.
    pub fn on_completions(&mut self, now: Instant, completions: impl IntoIterator<Item = Completion>) {
        self.advance(now);
        for completion in completions {
            self.counts.completed += 1;
            match self.peers.find(completion.station) {
                Some(id) => self.complete(id, &completion),
                None => self.counts.foreign += 1,
            }
        }
        self.release();
    }

    /// The stations that are associated, all of them: who is not named has left.
    pub fn on_stations(&mut self, now: Instant, stations: &[StationFacts]) {
        self.advance(now);
        let gone: Vec<MacAddress> = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.present && stations.iter().all(|facts| facts.station != peer.mac))
            .map(|(_, peer)| peer.mac)
            .collect();
        for mac in gone {
            self.leave(mac);
        }
        for facts in stations {
            self.on_facts(facts);
        }
        self.release();
    }

    /// A station left: what is held for it goes on to the kernel.
    pub fn on_station_left(&mut self, now: Instant, station: MacAddress) {
        self.advance(now);
        self.leave(station);
        self.release();
    }

    /// Takes in the channel's load since the last call: see [`Fact::ChannelLoad`].
    pub fn on_channel(&mut self, now: Instant, busy: Option<f64>, own: Option<f64>) {
        self.advance(now);
        self.link.on_channel(self.now, busy, own);
        self.release();
    }

    /// Time has passed.
    pub fn on_tick(&mut self, now: Instant) {
        self.advance(now);
        self.release();
    }

    /// When [`Engine::on_channel`] wants to be called, for the time up to then; `None`: not as long as nothing comes.
    #[must_use]
    pub fn channel_deadline(&self) -> Option<Instant> {
        self.link.deadline().channel_load
    }

    /// When [`Engine::on_tick`] wants to be called if nothing else happens; `None`: not before something happens.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let queue = self.link.deadline().select;
        let own = [self.flows.next_deadline(), self.measures.next_deadline(), self.below.next_deadline()];
        own.into_iter().flatten().chain(queue).min()
    }

    /// Gives everything that is held to the kernel, and forgets what is below: the agent ends.
    pub fn drain(&mut self, now: Instant) {
        self.advance(now);
        for number in 0..self.peers.len() {
            let id = StationId(u16::try_from(number).unwrap_or(u16::MAX));
            self.forget_below(id);
            self.hand_over(id);
        }
    }

    /// Returns the counters since the start.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Time passes: what is overdue is given up, seconds are judged, idle flows forgotten.
    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.measures.advance(self.now, &mut self.out.decisions);
        for (flow, rule) in self.flows.sweep(self.now) {
            // Removing a demand cannot fail.
            let _ = set_demand(self.link.queue_mut(), self.now, flow, None);
            let rule = self.rule_name(rule);
            self.out.decisions.push(Decision::Unprotected { rule, flow: flow.0 });
        }
        self.age();
    }

    fn rule_name(&self, rule: u16) -> String {
        self.config.rules.get(usize::from(rule)).map(|rule| rule.name.clone()).unwrap_or_default()
    }

    /// The number of a station that may be held for.
    fn station(&mut self, mac: MacAddress) -> Option<StationId> {
        let (id, new) = self.peers.find_or_add(mac)?;
        let peer = self.peers.get_mut(id)?;
        if new || !peer.present {
            peer.present = true;
            let rate = peer.rate();
            self.out.decisions.push(Decision::StationJoined { station: mac, id: id.0, rate });
        }
        Some(id)
    }

    /// The rule of a flow is another one than before.
    fn change_demand(&mut self, station: StationId, change: Change) {
        let Change { flow, from, to } = change;
        let rule = to.and_then(|to| self.config.rules.get(usize::from(to)));
        let demand = rule.map(|rule| rule.demand);
        let accepted = set_demand(self.link.queue_mut(), self.now, flow, demand);
        debug_assert!(accepted.is_ok(), "checked with the configuration: {accepted:?}");
        self.told.forget_flow(flow);
        let station = self.peers.get(station).map(|peer| peer.mac).unwrap_or_default();
        match (rule, from) {
            (Some(rule), _) => self.out.decisions.push(Decision::Protected {
                rule: rule.name.clone(),
                station,
                flow: flow.0,
                demand: rule.demand.latency(),
                percentile: rule.demand.percentile(),
            }),
            (None, Some(from)) => {
                let rule = self.rule_name(from);
                self.out.decisions.push(Decision::Unprotected { rule, flow: flow.0 });
            }
            (None, None) => {}
        }
    }

    /// Gives the verdict on what the queue dropped.
    fn settle_dropped(&mut self) {
        if self.dropped.is_empty() {
            return;
        }
        for Dropped { packet, reason } in self.dropped.drain(..) {
            self.counts.dropped += 1;
            self.out.verdicts.push(Verdict { ticket: packet.ticket, fate: Fate::Drop(reason) });
            self.flows.on_gone(packet.flow);
            if let Some(rule) = self.measures.of(packet.rule) {
                rule.on_drop(reason);
            }
            if let Some(peer) = self.peers.get_mut(packet.station) {
                peer.held = peer.held.saturating_sub(1);
                peer.counts.dropped += 1;
            }
        }
    }

    /// Gives the verdict that a held packet may go.
    fn let_go(&mut self, held: &Held) {
        self.counts.released += 1;
        self.out.verdicts.push(Verdict { ticket: held.ticket, fate: Fate::Release });
        if let Some(rule) = self.measures.of(held.rule) {
            rule.on_release(self.now.since(held.arrived));
        }
    }

    /// A station left.
    fn leave(&mut self, mac: MacAddress) {
        let Some(id) = self.peers.find(mac) else { return };
        if !self.peers.get(id).is_some_and(|peer| peer.present) {
            return;
        }
        let forgotten = self.forget_below(id);
        let released = self.hand_over(id);
        if let Some(peer) = self.peers.get_mut(id) {
            peer.present = false;
        }
        self.out.decisions.push(Decision::StationLeft { station: mac, released, forgotten });
    }

    /// Gives everything that is held for a station to the kernel, outside of any window.
    fn hand_over(&mut self, id: StationId) -> usize {
        let mut held = std::mem::take(&mut self.gone);
        self.link.queue_mut().flush(id, &mut held);
        let count = held.len();
        if let Some(peer) = self.peers.get_mut(id) {
            peer.held = peer.held.saturating_sub(count);
        }
        for packet in held.drain(..) {
            self.let_go(&packet);
            self.flows.on_gone(packet.flow());
        }
        self.gone = held;
        count
    }
}

/// Sets the demand of a flow, or removes it; a queue that does not work with demands ignores it.
fn set_demand(
    queue: &mut AnyQueue<Held>,
    now: Instant,
    flow: FlowId,
    demand: Option<Demand>,
) -> Result<(), ConfigError> {
    queue.demands_mut().map_or(Ok(()), |demands| demands.set(now, flow, demand))
}
