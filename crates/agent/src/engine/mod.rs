//! The engine decides which held packets are released and which are dropped. A state machine without clock or I/O.
//!
//! ```text
//!  NFQUEUE ── Arrival ─▶ flow, station ─▶ queue of `control` ─ select, dequeue ─▶ window ─▶ Verdict ──▶ kernel ─▶ air
//!                                             ▲ airtime, latency, rate               ▲                             │
//!                                             └───────────── what is below ──────────┴──────── Completion ◀────────┘
//! ```
//!
//! Feed inputs with `on_…(now, …)`, then drain [`Engine::output`]; call [`Engine::on_tick`] at [`Engine::next_deadline`].
//! Every packet of an [`Arrival`] gets exactly one [`Verdict`]; [`Engine::drain`] releases the remaining ones. A `now` before the
//! latest one counts as the latest one.
//!
//! Packets released and not completed are *below*. Each category has a window of airtime below ([`WindowConfig`]), since the
//! hardware's queues contend with each other. Completions make room in the window. Lost completions do not block it: they time out,
//! and a station without completions is *stalled*, so that its packets do not count.

mod allowance;
mod below;
mod bypass;
mod config;
mod demands;
mod flows;
mod measure;
mod output;
mod packet;
mod peers;
mod rates;
mod release;
mod tuner;
mod unseen;
mod view;

use std::collections::BTreeSet;

use airbound_control::frame::{DropReason, Dropped, FlowId, Payload, StationId};
use airbound_control::link::{Composed, Link, Returned};
use airbound_control::queue::{AnyQueue, Demand, Fact, Queue};
use airbound_linux::MacAddress;
use airbound_units::{ConfigError, Instant, Span};

pub use config::{EngineConfig, Protected, WindowConfig};
pub use measure::{RuleRecord, State};
pub use output::{Decision, Fate, Output, Passage, Verdict};
pub use packet::{Arrival, Carried, Completion, FlowKey, StationFacts, Ticket};
pub use peers::PeerCounts;
pub use tuner::{Tuner, Waiting};
pub use view::{CategoryView, FlowView, StationView};

use allowance::Allowance;
use below::Below;
use bypass::Bypass;
use flows::{Change, Flows};
use measure::Measures;
use packet::Held;
use peers::Peers;
use rates::KernelRates;
use release::LastReported;

/// Counters of packets and frames since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Counts {
    /// Packets that arrived; a super-packet is one.
    pub arrived: u64,
    /// The same with each segment of a super-packet, which is a frame on the air.
    pub arrived_segments: u64,
    /// Packets passed without being held: a group address, or a receiver that is not associated.
    pub passed: u64,
    /// Held packets that were released.
    pub released: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Frames that completed.
    pub completed: u64,
    /// Frames that completed and carried no released packet.
    pub foreign: u64,
    /// Packets without a completion.
    pub lost: u64,
    /// Frames of packets that went through without a verdict, while none would have waited.
    pub through: u64,
    /// Times that packets came to be held again after that.
    pub through_ends: u64,
}

/// The engine; see the module's documentation.
#[derive(Debug)]
pub struct Engine {
    config: EngineConfig,
    link: Composed<Held, AnyQueue<Held>, AnyQueue<Held>, KernelRates>,
    peers: Peers,
    flows: Flows,
    below: Below,
    bypass: Bypass,
    measures: Measures,
    /// By rule, for those with a rate.
    allowances: Vec<Option<Allowance>>,
    last_reported: LastReported,
    counts: Counts,
    out: Output,
    dropped: Vec<Dropped<Held>>,
    /// Reused buffer for packets that the link returns.
    returned: Returned<Held>,
    /// The longest time from a completion until it is seen.
    lateness: Span,
    /// WQM's buffer sizes, as last reported.
    buffers: [usize; 4],
    /// Reused buffer for packets given up or flushed.
    gone: Vec<Held>,
    /// The latest time passed in.
    now: Instant,
}

impl Engine {
    /// An engine without packets. `seed` seeds the random drops of queues.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range, or a demand is outside the queue's range.
    pub fn new(config: EngineConfig, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        let mut queue: AnyQueue<Held> = config.queue.build(seed)?;
        // The kernel's queues are between this one and the radio. The release window bounds what they hold.
        queue.on(Instant::ZERO, Fact::LowerQueue { bounded: true });
        if let Some(demands) = queue.demands() {
            config.rules.iter().try_for_each(|rule| demands.check(&rule.demand))?;
        }
        let link = config.link();
        Ok(Self {
            measures: Measures::new(&config.rules),
            allowances: config.rules.iter().map(|rule| rule.rate.map(Allowance::new)).collect(),
            config,
            link: Composed::new(queue, None, KernelRates::default(), link),
            peers: Peers::default(),
            flows: Flows::default(),
            below: Below::default(),
            bypass: Bypass::default(),
            last_reported: LastReported::default(),
            counts: Counts::default(),
            out: Output::default(),
            dropped: Vec::new(),
            returned: Returned::default(),
            lateness: Span::ZERO,
            buffers: [0; 4],
            gone: Vec::new(),
            now: Instant::ZERO,
        })
    }

    /// The verdicts and decisions so far. The caller drains the lists.
    pub const fn output(&mut self) -> &mut Output {
        &mut self.out
    }

    /// A packet arrived and waits for a verdict.
    pub fn on_packet(&mut self, now: Instant, arrival: &Arrival) {
        self.on_batch(now, std::iter::empty(), std::slice::from_ref(arrival));
    }

    /// Completions and packets that were read together. The completions come first, so that a station whose completions were read late
    /// is not taken for a silent one. Packets are released after all, so that an urgent one goes before those that came with it; but as
    /// soon as more wait than the longest aggregate takes: else a burst would fill the queue beside a window that is empty.
    pub fn on_batch(
        &mut self,
        now: Instant,
        completions: impl IntoIterator<Item = Completion>,
        arrivals: &[Arrival],
    ) {
        self.now = self.now.max(now);
        for completion in completions {
            self.counts.completed += 1;
            match self.peers.find(completion.station) {
                Some(id) => self.complete(id, &completion),
                None => {
                    self.counts.foreign += 1;
                    self.on_without_verdict();
                }
            }
        }
        self.advance(now);
        if !arrivals.is_empty() {
            self.on_queued();
        }
        let longest = usize::from(self.config.window.packets);
        let (mut waiting, mut has_room) = (self.held(), true);
        for arrival in arrivals {
            waiting += usize::from(arrival.segments.max(1));
            if waiting > longest && has_room {
                self.release();
                waiting = self.held();
                // As many left behind: the window is full, and stays so until packets complete.
                has_room = waiting < longest;
            }
            self.enqueue(arrival);
        }
        self.settle_dropped();
        self.release();
    }

    fn enqueue(&mut self, arrival: &Arrival) {
        self.counts.arrived += 1;
        self.counts.arrived_segments += u64::from(arrival.segments.max(1));
        // Frames to others than associated stations never complete: held, they would only fill the window.
        let station = arrival.station.and_then(|mac| self.peers.find_present(mac));
        let Some(id) = station else {
            self.counts.passed += 1;
            self.out.verdicts.push(Verdict { ticket: arrival.ticket, fate: Fate::Release });
            return;
        };
        let protecting = self.protecting(arrival.rule, arrival.size);
        let (flow, change) = self.flows.on_packet(self.now, id, arrival.flow, protecting);
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
        // Queues with a limit of their own drop from the longest flow. This bound is for those without.
        if self.link.queue().backlog().total().packets > self.config.hold_packets {
            self.dropped.push(Dropped { packet: held, reason: DropReason::QueueFull });
        } else {
            self.link.enqueue(self.now, held, &mut self.dropped);
        }
    }

    /// Completions are seen up to `lateness` after they happened, as counters that are read at an interval: as much more airtime may be
    /// below, or the radio would have nothing to send meanwhile. Zero at the start.
    pub const fn set_lateness(&mut self, lateness: Span) {
        self.lateness = lateness;
    }

    /// A frame completed.
    pub fn on_completion(&mut self, now: Instant, completion: &Completion) {
        self.on_completions(now, std::iter::once(*completion));
    }

    /// Frames completed together, as those of an aggregate. Packets are released once, after all of them are processed.
    pub fn on_completions(&mut self, now: Instant, completions: impl IntoIterator<Item = Completion>) {
        self.on_batch(now, completions, &[]);
    }

    /// The complete list of associated stations; those not listed have left.
    pub fn on_stations(&mut self, now: Instant, stations: &[StationFacts]) {
        self.advance(now);
        let listed: BTreeSet<MacAddress> = stations.iter().map(|facts| facts.station).collect();
        let gone: Vec<MacAddress> = self
            .peers
            .iter()
            .filter(|(_, peer)| peer.present && !listed.contains(&peer.mac))
            .map(|(_, peer)| peer.mac)
            .collect();
        for mac in gone {
            self.leave(mac);
        }
        for facts in stations {
            self.on_facts(facts);
        }
        self.judge_unseen();
        self.renew_bypass();
        self.release();
    }

    /// A station left: the packets held for it are released.
    pub fn on_station_left(&mut self, now: Instant, station: MacAddress) {
        self.advance(now);
        self.leave(station);
        self.release();
    }

    /// The channel's load since the last call; see [`Fact::ChannelLoad`].
    pub fn on_channel(&mut self, now: Instant, busy: Option<f64>, own: Option<f64>) {
        self.advance(now);
        self.link.on_channel(self.now, busy, own);
        self.release();
    }

    /// Runs what is due at `now`.
    pub fn on_tick(&mut self, now: Instant) {
        self.advance(now);
        self.release();
    }

    /// The time at which [`Engine::on_channel`] has to be called; `None` if there is none before the next input.
    #[must_use]
    pub fn channel_deadline(&self) -> Option<Instant> {
        self.link.deadline().channel_load
    }

    /// The time at which [`Engine::on_tick`] has to be called; `None` if there is none before the next input.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Instant> {
        let queue = self.link.deadline().select;
        let overdue = self.below.next_deadline(self.held() > 0);
        let bypass = self.bypass.next_deadline(self.held() == 0 && self.below.all() == 0);
        let own = [self.flows.next_deadline(), self.measures.next_deadline(), overdue, bypass];
        own.into_iter().flatten().chain(queue).min()
    }

    /// Releases all held packets and forgets those below, before shutdown.
    pub fn drain(&mut self, now: Instant) {
        self.advance(now);
        for number in 0..self.peers.len() {
            let id = StationId(u16::try_from(number).unwrap_or(u16::MAX));
            self.forget_below(id);
            self.release_all(id);
        }
    }

    /// The counters since the start.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Advances the clock: judges seconds, removes idle flows, gives up overdue packets.
    fn advance(&mut self, now: Instant) {
        self.now = self.now.max(now);
        self.measures.advance(self.now, &mut self.out.decisions);
        for (flow, rule) in self.flows.sweep(self.now) {
            // Removing a demand cannot fail.
            let _ = set_demand(self.link.queue_mut(), self.now, flow, None);
            let rule = self.rule_name(rule);
            self.out.decisions.push(Decision::Unprotected { rule, flow: flow.0 });
        }
        self.expire_overdue();
        self.expire_bypass();
    }

    fn rule_name(&self, rule: u16) -> String {
        self.config.rules.get(usize::from(rule)).map(|rule| rule.name.clone()).unwrap_or_default()
    }

    /// Applies a flow's change of rule.
    fn change_demand(&mut self, station: StationId, change: Change) {
        let Change { flow, from, to } = change;
        let rule = to.and_then(|to| self.config.rules.get(usize::from(to)));
        let demand = rule.map(|rule| rule.demand);
        let accepted = set_demand(self.link.queue_mut(), self.now, flow, demand);
        debug_assert!(accepted.is_ok(), "checked with the configuration: {accepted:?}");
        self.last_reported.forget_flow(flow);
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

    /// Issues the verdicts on dropped packets.
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

    /// Issues the verdict that releases a held packet.
    fn issue_release(&mut self, held: &Held) {
        self.counts.released += 1;
        self.out.verdicts.push(Verdict { ticket: held.ticket, fate: Fate::Release });
        if let Some(rule) = self.measures.of(held.rule) {
            rule.on_release(self.now.since(held.arrived));
        }
    }

    /// Removes a station that left.
    fn leave(&mut self, mac: MacAddress) {
        let Some(id) = self.peers.find(mac) else { return };
        if !self.peers.get(id).is_some_and(|peer| peer.present) {
            return;
        }
        let forgotten = self.forget_below(id);
        let released = self.release_all(id);
        if let Some(peer) = self.peers.get_mut(id) {
            peer.present = false;
        }
        self.out.decisions.push(Decision::StationLeft { station: mac, released, forgotten });
    }

    /// Releases all packets held for a station, regardless of the window. Returns their count.
    fn release_all(&mut self, id: StationId) -> usize {
        let mut held = std::mem::take(&mut self.gone);
        self.link.queue_mut().flush(id, &mut held);
        let count = held.len();
        if let Some(peer) = self.peers.get_mut(id) {
            peer.held = peer.held.saturating_sub(count);
        }
        for packet in held.drain(..) {
            self.issue_release(&packet);
            self.flows.on_gone(packet.flow());
        }
        self.gone = held;
        count
    }
}

/// Sets or removes the demand of a flow; queues without demands ignore it.
fn set_demand(
    queue: &mut AnyQueue<Held>,
    now: Instant,
    flow: FlowId,
    demand: Option<Demand>,
) -> Result<(), ConfigError> {
    queue.demands_mut().map_or(Ok(()), |demands| demands.set(now, flow, demand))
}
