//! Any queue of this crate behind one type, chosen by a scenario.

use airbound_units::{Instant, Span};
use airbound_wifi::edca::Category;
use serde::{Deserialize, Serialize};

use super::{
    Airbound, AirboundConfig, Arrivals, Backlogs, Codel, CodelConfig, CustomQueue, Deadline, Demands, Fact,
    Fifo, FifoConfig, FqCodel, FqCodelAirtime, FqCodelAirtimeConfig, FqCodelConfig, LastPq, LastPqConfig,
    Pie, PieConfig, Protection, Queue, RoundRobin, RoundRobinConfig, Sink, Turn, Wqm, WqmConfig, Zhuge,
    ZhugeConfig, take_all,
};
use crate::error::ConfigError;
use crate::frame::{Dropped, FlowId, Payload, PlainPacket, StationId};

/// Makes [`QueueConfig`] and [`AnyQueue`] from the table of kinds below.
macro_rules! queues {
    (($dollar:tt) $($($wired:ident)? $meaning:literal $name:literal $(or $users:literal)?:
        $kind:ident($config:ty) => $queue:ty, $build:expr;)*) => {
        /// Kind of a queue, and its configuration. In a scenario file `kind` names it and the other keys are those of its
        /// configuration.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind")]
        #[non_exhaustive]
        pub enum QueueConfig {
            $(
                #[doc = concat!("`", $name, "`: ", $meaning, ".")]
                #[serde(rename = $name $(, alias = $users)?)]
                $kind($config),
            )*
        }

        impl QueueConfig {
            /// All kinds: the name that users write, and its meaning in a line.
            pub const KINDS: &[(&str, &str)] = &[$((queues!(@users $name $($users)?), $meaning)),*];
            /// The kinds that know nothing of Wi-Fi, which a shaper can have.
            pub const WIRED: &[(&str, &str)] = &[$($(queues!(@$wired ($name, $meaning)),)?)*];

            /// The kind `name` with its defaults; `None` for an unknown name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name $(| $users)? => Some(Self::$kind(<$config>::default())),)*
                    _ => None,
                }
            }

            /// Builds the queue. `seed` decides its random drops, if it makes any.
            ///
            /// # Errors
            /// [`ConfigError::OutOfRange`] if a value is out of range.
            pub fn build<P: Payload>(&self, seed: u64) -> Result<AnyQueue<P>, ConfigError> {
                Ok(match self {
                    $(Self::$kind(config) => {
                        let build: fn(&$config, u64) -> Result<$queue, ConfigError> = $build;
                        AnyQueue::$kind(build(config, seed)?)
                    })*
                })
            }

            /// The name of the kind, as in a scenario file.
            #[must_use]
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$kind(_) => $name,)*
                }
            }
        }

        /// One of the queues. A branch on its kind costs less than a call through a table of functions, and lets calls be
        /// inlined.
        #[derive(Debug)]
        #[non_exhaustive]
        pub enum AnyQueue<P> {
            $(
                #[doc = concat!("`", $name, "`: ", $meaning, ".")]
                $kind($queue),
            )*
            /// A queue of someone else's; see [`CustomQueue`].
            Custom(Box<CustomQueue<P>>),
        }

        /// Passes a call on to whichever queue it is.
        macro_rules! each {
            ($dollar any:expr, $dollar one:ident => $dollar call:expr) => {
                match $dollar any {
                    $(AnyQueue::$kind($dollar one) => $dollar call,)*
                    AnyQueue::Custom($dollar one) => $dollar call,
                }
            };
        }
    };
    (@wired $kind:expr) => { $kind };
    (@users $name:literal) => { $name };
    (@users $name:literal $users:literal) => { $users };
}

// A new queue is a line here: `wired` if it knows nothing of Wi-Fi, its meaning, its name in scenario files (and another that users
// write), its variant with its configuration, its type, and the way from configuration and seed to the queue.
queues! { ($)
    wired "first in, first out" "fifo": Fifo(FifoConfig) => Fifo<P>, |config, _| Fifo::new(*config);
    wired "CoDel over one queue (RFC 8289)" "codel": Codel(CodelConfig) => Codel<P>, |config, _| Codel::new(*config);
    wired "PIE over one queue (RFC 8033)" "pie": Pie(PieConfig) => Pie<P>, |config, seed| Pie::new(*config, seed);
    wired "FQ-CoDel over everything in a category (RFC 8290)"
    "fq-codel": FqCodel(FqCodelConfig) => FqCodel<P>, |config, _| FqCodel::new(*config);
    "mac80211's queueing: FQ-CoDel, airtime fairness, AQL" "fq-codel-airtime" or "linux":
        FqCodelAirtime(FqCodelAirtimeConfig) => FqCodelAirtime<P>, |config, _| FqCodelAirtime::new(*config);
    "linux with urgent flows first"
    "last-pq": LastPq(Box<LastPqConfig>) => Box<LastPq<P>>, |config, _| LastPq::new(**config).map(Box::new);
    "last-pq with a bounded classic side and Law's limits"
    "airbound": Airbound(Box<AirboundConfig>) => Box<Airbound<P>>, |config, _| Airbound::new(config).map(Box::new);
    "stations in turn, one aggregate each"
    "round-robin": RoundRobin(RoundRobinConfig) => RoundRobin<P>, |config, _| RoundRobin::new(*config);
    "drop-tail whose size adapts to aggregates and drain time"
    "wqm": Wqm(WqmConfig) => Wqm<P>, |config, _| Wqm::new(*config);
    "linux whose feedback tells senders the delay to come"
    "zhuge": Zhuge(Box<ZhugeConfig>) => Box<Zhuge<P>>, |config, seed| Zhuge::new(config, seed).map(Box::new);
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self::FqCodelAirtime(FqCodelAirtimeConfig::default())
    }
}

impl QueueConfig {
    /// Time after which the hardware has to return a PPDU of the queue, and whether it goes on at the next rate; `None`: no limit.
    #[must_use]
    pub fn returns_after(&self) -> Option<(Span, bool)> {
        match self {
            Self::Airbound(config) => config.returns_after(),
            _ => None,
        }
    }

    /// Checks all values, as [`QueueConfig::build`] does.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value is out of range.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.build::<PlainPacket>(0).map(|_| ())
    }
}

impl<P: Payload> AnyQueue<P> {
    /// The demands of flows, where the queue works with them.
    #[must_use]
    pub fn demands(&self) -> Option<&dyn Demands> {
        match self {
            Self::LastPq(queue) => Some(&**queue),
            Self::Airbound(queue) => Some(&**queue),
            Self::Custom(queue) => Some(&**queue),
            _ => None,
        }
    }

    /// The same, to set demands.
    pub fn demands_mut(&mut self) -> Option<&mut dyn Demands> {
        match self {
            Self::LastPq(queue) => Some(&mut **queue),
            Self::Airbound(queue) => Some(&mut **queue),
            Self::Custom(queue) => Some(&mut **queue),
            _ => None,
        }
    }

    /// The queue as one that predicts delays, if it does.
    pub fn zhuge_mut(&mut self) -> Option<&mut Zhuge<P>> {
        match self {
            Self::Zhuge(queue) => Some(queue),
            _ => None,
        }
    }

    /// The state of a flow with a demand; `None` if it has none, or if the queue does not work with demands.
    #[must_use]
    pub fn protection(&self, flow: FlowId) -> Option<Protection> {
        self.demands()?.protection(flow)
    }

    /// Whether the queue bounds or charges the airtime below it; see [`Turn::counts_airtime`].
    #[must_use]
    pub const fn counts_airtime(&self) -> bool {
        match self {
            Self::Fifo(queue) => queue.counts_below(),
            Self::FqCodelAirtime(queue) => queue.counts_below(),
            Self::LastPq(queue) => queue.counts_below(),
            Self::Airbound(queue) => queue.counts_below(),
            Self::Zhuge(queue) => queue.counts_below(),
            _ => false,
        }
    }
}

impl<P: Payload> Queue<P> for AnyQueue<P> {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, packet: P, dropped: &mut Vec<Dropped<P>>) {
        each!(self, queue => queue.enqueue(now, packet, dropped));
    }

    #[inline(always)]
    fn enqueue_all(
        &mut self,
        arrivals: &mut impl Arrivals<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) -> Option<Instant> {
        match self {
            // With the kind known for all of them, in less than half of the time.
            Self::Fifo(queue) => queue.enqueue_all(arrivals, dropped),
            _ => take_all(arrivals, dropped, |now, packet, dropped| self.enqueue(now, packet, dropped)),
        }
    }

    #[inline]
    fn select(&mut self, now: Instant, category: Category) -> Option<Turn> {
        each!(self, queue => queue.select(now, category))
    }

    #[inline]
    fn dequeue_into(
        &mut self,
        now: Instant,
        turn: &Turn,
        sink: &mut impl Sink<P>,
        dropped: &mut Vec<Dropped<P>>,
    ) {
        each!(self, queue => queue.dequeue_into(now, turn, sink, dropped));
    }

    fn flush(&mut self, station: StationId, out: &mut Vec<P>) {
        each!(self, queue => queue.flush(station, out));
    }

    fn backlog(&self) -> &Backlogs {
        each!(self, queue => queue.backlog())
    }

    #[inline]
    fn oldest(&mut self, category: Category) -> Option<Instant> {
        each!(self, queue => queue.oldest(category))
    }

    #[inline]
    fn on(&mut self, now: Instant, fact: Fact<'_, P>) {
        each!(self, queue => queue.on(now, fact));
    }

    fn lifetime(&self, packet: &P) -> Option<Span> {
        each!(self, queue => queue.lifetime(packet))
    }

    fn deadline(&self) -> Deadline {
        each!(self, queue => queue.deadline())
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
        for (name, _) in QueueConfig::KINDS {
            let config = read(&format!("kind = \"{name}\"")).expect("a known kind");
            assert!(config.name() == *name || *name == "linux", "{name}");
            assert_eq!(QueueConfig::named(name).as_ref(), Some(&config));
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
