//! Any queue of this crate behind one type, chosen by a scenario.

use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::{
    AggregateBound, Backlog, Codel, CodelConfig, CustomQueue, Demand, Direction, Fifo, FifoConfig, FqCodel,
    FqCodelAirtime, FqCodelAirtimeConfig, FqCodelConfig, LastPq, LastPqConfig, Pie, PieConfig, Protection,
    Queue, RoundRobin, RoundRobinConfig, Sink, Wqm, WqmConfig,
};
use crate::error::ConfigError;
use crate::frame::{Dropped, FlowId, Payload, PlainPacket, StationId};
use crate::frame::{TxDescriptor, TxReport};
use crate::queue::Eligibility;

/// Which queue, and its configuration. In a scenario file `kind` names it and the other keys are those of its own
/// configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum QueueConfig {
    /// First in, first out.
    Fifo(FifoConfig),
    /// CoDel over one queue.
    Codel(CodelConfig),
    /// PIE over one queue.
    Pie(PieConfig),
    /// Flow queues with CoDel over everything in a category.
    FqCodel(FqCodelConfig),
    /// What Linux does for Wi-Fi; also called `linux`.
    #[serde(alias = "linux")]
    FqCodelAirtime(FqCodelAirtimeConfig),
    /// What Linux does, with flows that have a latency demand before all others while they are urgent.
    LastPq(Box<LastPqConfig>),
    /// Stations in turn.
    RoundRobin(RoundRobinConfig),
    /// Drop-tail with a size that adapts.
    Wqm(WqmConfig),
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self::FqCodelAirtime(FqCodelAirtimeConfig::default())
    }
}

impl QueueConfig {
    /// Builds the queue. `seed` decides its random drops, if it makes any.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value is out of range.
    pub fn build<P: Payload>(&self, seed: u64) -> Result<AnyQueue<P>, ConfigError> {
        Ok(match self {
            Self::Fifo(config) => AnyQueue::Fifo(Fifo::new(*config)?),
            Self::Codel(config) => AnyQueue::Codel(Codel::new(*config)?),
            Self::Pie(config) => AnyQueue::Pie(Pie::new(*config, seed)?),
            Self::FqCodel(config) => AnyQueue::FqCodel(FqCodel::new(*config)?),
            Self::FqCodelAirtime(config) => AnyQueue::FqCodelAirtime(FqCodelAirtime::new(*config)?),
            Self::LastPq(config) => AnyQueue::LastPq(Box::new(LastPq::new(**config)?)),
            Self::RoundRobin(config) => AnyQueue::RoundRobin(RoundRobin::new(*config)?),
            Self::Wqm(config) => AnyQueue::Wqm(Wqm::new(*config)?),
        })
    }

    /// Checks all values, as [`QueueConfig::build`] does.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value is out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.build::<PlainPacket>(0).map(|_| ())
    }

    /// The name of the kind, as in a scenario file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fifo(_) => "fifo",
            Self::Codel(_) => "codel",
            Self::Pie(_) => "pie",
            Self::FqCodel(_) => "fq-codel",
            Self::FqCodelAirtime(_) => "fq-codel-airtime",
            Self::LastPq(_) => "last-pq",
            Self::RoundRobin(_) => "round-robin",
            Self::Wqm(_) => "wqm",
        }
    }
}

/// One of the queues. A branch on its kind costs less than a call through a table of functions, and lets calls be
/// inlined.
#[derive(Debug)]
#[non_exhaustive]
pub enum AnyQueue<P> {
    /// See [`Fifo`].
    Fifo(Fifo<P>),
    /// See [`Codel`].
    Codel(Codel<P>),
    /// See [`Pie`].
    Pie(Pie<P>),
    /// See [`FqCodel`].
    FqCodel(FqCodel<P>),
    /// See [`FqCodelAirtime`].
    FqCodelAirtime(FqCodelAirtime<P>),
    /// See [`LastPq`].
    LastPq(Box<LastPq<P>>),
    /// See [`RoundRobin`].
    RoundRobin(RoundRobin<P>),
    /// See [`Wqm`].
    Wqm(Wqm<P>),
    /// See [`CustomQueue`].
    Custom(Box<CustomQueue<P>>),
}

/// Passes a call on to whichever queue it is.
macro_rules! each {
    ($any:expr, $queue:ident => $call:expr) => {
        match $any {
            AnyQueue::Fifo($queue) => $call,
            AnyQueue::Codel($queue) => $call,
            AnyQueue::Pie($queue) => $call,
            AnyQueue::FqCodel($queue) => $call,
            AnyQueue::FqCodelAirtime($queue) => $call,
            AnyQueue::LastPq($queue) => $call,
            AnyQueue::RoundRobin($queue) => $call,
            AnyQueue::Wqm($queue) => $call,
            AnyQueue::Custom($queue) => $call,
        }
    };
}

impl<P: Payload> Queue<P> for AnyQueue<P> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        each!(self, queue => queue.enqueue(now, packet, dropped));
    }

    fn select(&mut self, now: Instant, category: Category) -> Option<StationId> {
        each!(self, queue => queue.select(now, category))
    }

    #[inline]
    fn dequeue(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<P> {
        each!(self, queue => queue.dequeue(now, station, category, dropped))
    }

    #[inline]
    fn next_size(&mut self, station: StationId, category: Category) -> Option<ByteCount> {
        each!(self, queue => queue.next_size(station, category))
    }

    #[inline]
    fn dequeue_into(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        each!(self, queue => queue.dequeue_into(now, station, category, sink, dropped));
    }

    fn oldest(&mut self, category: Category) -> Option<Instant> {
        each!(self, queue => queue.oldest(category))
    }

    fn has_backlog(&self, category: Category) -> bool {
        each!(self, queue => queue.has_backlog(category))
    }

    fn backlog(&self) -> Backlog {
        each!(self, queue => queue.backlog())
    }

    fn aggregate_bound(&self, now: Instant, station: StationId, category: Category) -> AggregateBound {
        each!(self, queue => queue.aggregate_bound(now, station, category))
    }

    fn set_eligibility(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        eligibility: Eligibility,
    ) {
        each!(self, queue => queue.set_eligibility(now, station, category, eligibility));
    }

    #[inline]
    fn counts_below(&self) -> bool {
        each!(self, queue => queue.counts_below())
    }

    #[inline]
    fn on_handed(&mut self, now: Instant, station: StationId, category: Category, estimated: Span) {
        each!(self, queue => queue.on_handed(now, station, category, estimated));
    }

    #[inline]
    fn on_returned(&mut self, now: Instant, station: StationId, category: Category, estimated: Span) {
        each!(self, queue => queue.on_returned(now, station, category, estimated));
    }

    #[inline]
    fn on_all_returned(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        estimates: impl Iterator<Item = Span>,
    ) -> usize {
        each!(self, queue => queue.on_all_returned(now, station, category, estimates))
    }

    fn expect_lower_queue(&mut self) {
        each!(self, queue => queue.expect_lower_queue());
    }

    fn on_granted(&mut self, now: Instant, descriptor: &TxDescriptor<P>) {
        each!(self, queue => queue.on_granted(now, descriptor));
    }

    fn on_report(&mut self, now: Instant, report: &TxReport<P>) {
        each!(self, queue => queue.on_report(now, report));
    }

    fn on_airtime(
        &mut self,
        now: Instant,
        station: StationId,
        category: Category,
        airtime: Span,
        direction: Direction,
    ) {
        each!(self, queue => queue.on_airtime(now, station, category, airtime, direction));
    }

    fn on_expected_throughput(&mut self, now: Instant, station: StationId, throughput: BitRate) {
        each!(self, queue => queue.on_expected_throughput(now, station, throughput));
    }

    fn set_demand(&mut self, now: Instant, flow: FlowId, demand: Option<Demand>) -> Result<(), ConfigError> {
        each!(self, queue => queue.set_demand(now, flow, demand))
    }

    fn protection(&self, flow: FlowId) -> Option<Protection> {
        each!(self, queue => queue.protection(flow))
    }

    fn on_rate(&mut self, now: Instant, station: StationId, rate: BitRate, mpdus: u16) {
        each!(self, queue => queue.on_rate(now, station, rate, mpdus));
    }

    fn on_channel(&mut self, now: Instant, busy: Option<f64>, own: Option<f64>) {
        each!(self, queue => queue.on_channel(now, busy, own));
    }

    fn channel_deadline(&self) -> Option<Instant> {
        each!(self, queue => queue.channel_deadline())
    }

    fn next_deadline(&self) -> Option<Instant> {
        each!(self, queue => queue.next_deadline())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<QueueConfig, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn each_kind_is_read_by_its_name() {
        for name in ["fifo", "codel", "pie", "fq-codel", "fq-codel-airtime", "last-pq", "round-robin", "wqm"]
        {
            let config = read(&format!("kind = \"{name}\"")).expect("a known kind");
            assert_eq!(config.name(), name);
            config.build::<PlainPacket>(1).expect("valid defaults");
            let text = toml::to_string(&config).expect("writable");
            assert_eq!(read(&text).expect("readable"), config);
        }
        assert_eq!(read("kind = \"linux\"").expect("an alias"), QueueConfig::default());
    }

    #[test]
    fn keys_reach_their_configuration() {
        let text = "kind = \"linux\"\nairtime-quantum = \"1 ms\"\nairtime-queue-limit = { low = \"2 ms\" }";
        let Ok(QueueConfig::FqCodelAirtime(config)) = read(text) else { panic!("not read") };
        assert_eq!(config.airtime_quantum, Span::from_millis(1));
        assert_eq!(config.airtime_queue_limit.expect("given").high, Span::from_millis(12));
    }

    #[test]
    fn parts_can_be_switched_off() {
        let text = "kind = \"linux\"\nairtime-queue-limit = false\nslow = true";
        let config = read(text).expect("readable");
        let QueueConfig::FqCodelAirtime(inner) = &config else { panic!("not read") };
        assert_eq!(inner.airtime_queue_limit, None);
        assert!(inner.slow.is_some());
        assert_eq!(read(&toml::to_string(&config).expect("writable")).expect("readable"), config);
        let wrong = "kind = \"linux\"\nairtime-queue-limit = { lo = \"1 ms\" }";
        assert!(read(wrong).expect_err("no such key").to_string().contains("unknown field `lo`"));
        assert!(
            read("kind = \"linux\"\nslow = 3")
                .expect_err("a number")
                .to_string()
                .contains("true, false or a table")
        );
    }

    #[test]
    fn mistakes_are_refused() {
        assert!(read("kind = \"fifo\"\nlimits = 3").expect_err("no such key").to_string().contains("limits"));
        assert!(read("kind = \"red\"").is_err());
        let refused = |text| {
            let config = read(text).expect("readable");
            config.build::<PlainPacket>(1).expect_err("out of range").to_string()
        };
        assert_eq!(
            refused("kind = \"fifo\"\nlimit = { packets = 0 }"),
            "limit.packets is 0; allowed is 1 to 1000000 packets"
        );
        assert_eq!(refused("kind = \"pie\"\nalpha = nan"), "alpha is NaN; allowed is 0 to 1000");
        assert_eq!(
            refused("kind = \"linux\"\nairtime-queue-limit = { low = \"13 ms\" }"),
            "airtime-queue-limit.high is 12 ms; allowed is at least airtime-queue-limit.low"
        );
    }
}
