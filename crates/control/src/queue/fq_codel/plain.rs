//! FQ-CoDel with one instance for each category (RFC 8290; kernel: `net/sched/sch_fq_codel.c`).

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::super::codel::CodelParameters;
use super::super::run::Dequeue;
use super::super::station_lists::check_packets;
use super::super::{Backlogs, Fact, Queue, Sink, Turn};
use super::flows::{DropBatch, FlowLimits, FlowTable};
use crate::error::ConfigError;
use crate::frame::{Dropped, Payload, StationId};
use crate::queue::Eligibility;

/// Configuration of an [`FqCodel`] queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FqCodelConfig {
    /// Upper limit on packets in each category (RFC 8290, section 5.2.3): 10 240; 1 to 1 000 000.
    pub packets: usize,
    /// Upper limit on memory in each category, kernel overhead included (`memory_limit`): 32 MiB. At least 4 kB.
    pub memory: ByteCount,
    /// Quantum of a flow in bytes (section 5.2.4): 1514. 1 B to 1 MB.
    pub quantum: ByteCount,
    /// Idle flows whose CoDel state is remembered (kernel: 1024 buckets); 1 to 65 536.
    pub flows: usize,
    /// See [`CodelParameters::target`].
    pub target: Span,
    /// See [`CodelParameters::interval`].
    pub interval: Span,
    /// See [`CodelParameters::mtu`].
    pub mtu: ByteCount,
}

impl Default for FqCodelConfig {
    fn default() -> Self {
        let CodelParameters { target, interval, mtu } = CodelParameters::default();
        Self {
            packets: 10_240,
            memory: ByteCount::new(32 << 20),
            quantum: ByteCount::new(1514),
            flows: 1024,
            target,
            interval,
            mtu,
        }
    }
}

/// Checks the limits common to both kinds of FQ-CoDel.
pub(super) fn check_limits(
    packets: usize,
    memory: ByteCount,
    quantum: ByteCount,
    flows: usize,
) -> Result<(), ConfigError> {
    check_packets("packets", packets)?;
    ConfigError::check(memory.as_u64() >= 4000, "memory", memory, "4 kB and more")?;
    ConfigError::check((1..=1_000_000).contains(&quantum.as_u64()), "quantum", quantum, "1 B to 1 MB")?;
    ConfigError::check((1..=65_536).contains(&flows), "flows", flows, "1 to 65536")
}

/// The identity of a flow, including its station, so that all its packets have one receiver.
pub(super) fn flow_key<P: Payload>(packet: &P) -> u64 {
    u64::from(packet.station().0) << 34
        | (packet.category().index() as u64) << 32
        | u64::from(packet.flow().0)
}

/// The station in a [`flow_key`].
const fn station_of(key: u64) -> StationId {
    StationId((key >> 34) as u16)
}

/// One FQ-CoDel for each category, as Linux has one for each hardware queue under `mq`.
///
/// It orders packets, not aggregates: [`Queue::dequeue_into`] returns nothing if the next flow belongs to another station. It is
/// meant to be placed above a driver's queue; alone it makes short aggregates.
#[derive(Debug, Clone)]
pub struct FqCodel<P> {
    codel: CodelParameters,
    tables: [FlowTable<P>; 4],
    waiting: Backlogs,
    /// Indexed by station, then category.
    eligibility: Vec<[Eligibility; 4]>,
    /// Stations with retries, by category.
    retries: [Vec<u16>; 4],
    /// Latest time observed.
    now: Instant,
}

impl<P: Payload> FqCodel<P> {
    /// Creates an empty queue.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: FqCodelConfig) -> Result<Self, ConfigError> {
        let FqCodelConfig { packets, memory, quantum, flows, target, interval, mtu } = config;
        check_limits(packets, memory, quantum, flows)?;
        let codel = CodelParameters { target, interval, mtu };
        codel.check()?;
        let limits = FlowLimits {
            packets,
            memory: memory.as_u64(),
            quantum: quantum.as_u64(),
            idle_flows: flows,
            batch: DropBatch::HalfOfBytes,
        };
        Ok(Self {
            codel,
            tables: std::array::from_fn(|_| FlowTable::new(limits)),
            waiting: Backlogs::default(),
            eligibility: Vec::new(),
            retries: Default::default(),
            now: Instant::ZERO,
        })
    }
}

/// Whether a flow with this key may not be served.
fn is_blocked(eligibility: &[[Eligibility; 4]], key: u64, category: Category) -> bool {
    eligibility.get(station_of(key).index()).is_some_and(|of| of[category.index()] == Eligibility::Blocked)
}

impl<P: Payload> FqCodel<P> {
    /// The station to be served next.
    fn next_station(&mut self, _now: Instant, category: Category) -> Option<StationId> {
        if let Some(&station) = self.retries[category.index()].first() {
            return Some(StationId(station));
        }
        let table = &mut self.tables[category.index()];
        let head = table.head(0, |key| is_blocked(&self.eligibility, key, category))?;
        Some(station_of(table.key(head)))
    }

    /// Notes the state below the queue of a station.
    fn set_eligibility(&mut self, station: StationId, category: Category, eligibility: Eligibility) {
        let index = station.index();
        if index >= self.eligibility.len() {
            self.eligibility.resize(index + 1, [Eligibility::Fresh; 4]);
        }
        let last = std::mem::replace(&mut self.eligibility[index][category.index()], eligibility);
        if last == eligibility {
            return;
        }
        let retries = &mut self.retries[category.index()];
        match (last, eligibility) {
            (Eligibility::Retries { .. }, Eligibility::Retries { .. }) => {}
            (_, Eligibility::Retries { .. }) => retries.push(station.0),
            (Eligibility::Retries { .. }, _) => retries.retain(|&other| other != station.0),
            _ => {}
        }
        if last == Eligibility::Blocked {
            // Flows that are still blocked are parked again at their next turn.
            self.tables[category.index()].unpark(0);
        }
    }
}

impl<P: Payload> Dequeue<P> for FqCodel<P> {
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        self.now = self.now.max(now);
        let table = &mut self.tables[category.index()];
        loop {
            let head = table.head(0, |key| is_blocked(&self.eligibility, key, category))?;
            if station_of(table.key(head)) != station {
                return None;
            }
            let before = dropped.len();
            let packet = table.pop(self.now, head, &self.codel, dropped);
            let waiting = self.waiting.of_mut(category);
            for left in packet.iter().chain(dropped.iter().skip(before).map(|dropped| &dropped.packet)) {
                waiting.remove(left.size());
            }
            if packet.is_some() {
                return packet;
            }
        }
    }

    fn next_size(&mut self, station: StationId, category: Category) -> Option<ByteCount> {
        let table = &mut self.tables[category.index()];
        let head = table.head(0, |key| is_blocked(&self.eligibility, key, category))?;
        if station_of(table.key(head)) == station { table.first_size(head) } else { None }
    }
}

impl<P: Payload> Queue<P> for FqCodel<P> {
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        let key = flow_key(&packet);
        let category = packet.category();
        let (table, waiting) = (&mut self.tables[category.index()], self.waiting.of_mut(category));
        let before = dropped.len();
        waiting.add(packet.size());
        table.push(now, 0, key, packet, |_| false, dropped);
        for Dropped { packet, .. } in dropped.iter().skip(before) {
            waiting.remove(packet.size());
        }
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<Turn> {
        self.next_station(now, category).map(|station| Turn::new(station, category))
    }

    #[inline]
    fn dequeue_into(
        &mut self,
        now: Instant,
        turn: &Turn,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        self.hand_out(now, turn, sink, dropped);
    }

    fn flush(&mut self, station: StationId, out: &mut Vec<P>) {
        for category in Category::ALL {
            let from = out.len();
            self.tables[category.index()].flush(0, |key| station_of(key) == station, out);
            for packet in out.iter().skip(from) {
                self.waiting.of_mut(category).remove(packet.size());
            }
        }
    }

    fn backlog(&self) -> &Backlogs {
        &self.waiting
    }

    fn on(&mut self, _now: Instant, fact: Fact<'_, P>) {
        if let Fact::Eligibility { station, category, eligibility } = fact {
            self.set_eligibility(station, category, eligibility);
        }
    }
}
