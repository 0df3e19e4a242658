//! The engine under arbitrary sequences of calls: every packet gets exactly one verdict, the window holds, no call panics.

use std::collections::BTreeMap;

use airbound_agent::control::Request;
use airbound_agent::engine::{
    Arrival, Carried, Completion, Engine, EngineConfig, Fate, FlowKey, Passage, Protected, StationFacts,
    Ticket, WindowConfig,
};
use airbound_control::queue::{Demand, QueueConfig};
use airbound_linux::MacAddress;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;
use bolero::TypeGenerator;

#[derive(Debug, Clone, TypeGenerator)]
enum Op {
    Packets {
        station: u8,
        flow: u8,
        rule: Option<u8>,
        category: u8,
        size: u16,
        segments: u8,
        copies: u8,
    },
    Completion {
        station: u8,
        ticket: u16,
        kind: u8,
        category: Option<u8>,
        acknowledged: bool,
        kbps: Option<u32>,
        tries: u8,
    },
    CompleteOldest {
        copies: u8,
    },
    Stations {
        present: u8,
        kbps: u32,
        aggregates: bool,
    },
    Left {
        station: u8,
    },
    Channel {
        busy: Option<f64>,
        own: Option<f64>,
    },
    Pass {
        micros: u32,
    },
    Leap {
        seconds: u8,
    },
    GoBack {
        micros: u32,
    },
    Tick,
    Demand {
        rule: u8,
        micros: u32,
        percentile: Option<u8>,
    },
    /// Packets may go through; so many frames are below; they cannot go through.
    AllowBypass,
    Filled {
        below: u8,
    },
    Refused,
}

fn mac(number: u8) -> Option<MacAddress> {
    // Covers a group address and an unknown station.
    match number % 8 {
        7 => None,
        6 => Some(MacAddress([1, 0, 94, 0, 0, 1])),
        number => Some(MacAddress([2, 0, 0, 0, number, 0])),
    }
}

fn category(number: u8) -> Category {
    Category::ALL[usize::from(number % 4)]
}

/// An engine and a model of the packets that it holds.
struct Checked {
    engine: Engine,
    now: Instant,
    next: u32,
    held: BTreeMap<Ticket, ()>,
    released: Vec<(Ticket, u8)>,
    stations: BTreeMap<Ticket, u8>,
    most_estimate: Span,
    window: WindowConfig,
}

impl Checked {
    fn new(text: &str, limit: Option<Span>) -> Self {
        let queue: QueueConfig = toml::from_str(text).expect("a queue");
        let demand = |millis| Demand::new(Span::from_millis(millis), 95.0).expect("valid");
        // The second rule is over its rate now and then.
        let rate = |millis| (millis == 5).then(|| BitRate::from_mbps(1));
        let rules = [("a", 20), ("b", 5)].map(|(name, millis)| Protected {
            name: name.to_owned(),
            demand: demand(millis),
            rate: rate(millis),
        });
        let window = WindowConfig { aggregate: Span::from_millis(2), ..WindowConfig::default() };
        let config =
            EngineConfig { queue, time_limit: limit, window, hold_packets: 300, rules: rules.to_vec() };
        Self {
            engine: Engine::new(config, 3).expect("valid"),
            now: Instant::from_nanos(1),
            next: 1,
            held: BTreeMap::new(),
            released: Vec::new(),
            stations: BTreeMap::new(),
            most_estimate: Span::ZERO,
            window,
        }
    }

    fn settle(&mut self) {
        for verdict in std::mem::take(&mut self.engine.output().verdicts) {
            assert!(self.held.remove(&verdict.ticket).is_some(), "a second verdict on {:?}", verdict.ticket);
            if verdict.fate == Fate::Release {
                self.released.push((verdict.ticket, self.stations[&verdict.ticket]));
            }
        }
        if let Some(passage) = self.engine.output().passage.take() {
            let opens = matches!(passage, Passage::Bypass { .. } | Passage::Limit(_));
            assert_eq!(opens, self.engine.is_bypassed(), "{passage:?}");
        }
        for decision in std::mem::take(&mut self.engine.output().decisions) {
            assert!(!decision.why().is_empty());
        }
        let counts = self.engine.counts();
        assert_eq!(
            counts.arrived,
            counts.passed + counts.released + counts.dropped + self.engine.held() as u64
        );
        assert_eq!(self.held.len(), self.engine.held());
        assert!(self.engine.held() <= 300);
        for category in Category::ALL {
            // Two aggregates and one packet, or the packets that are allowed whatever their airtime.
            let most = (self.window.aggregate * 2 + self.most_estimate).max(self.most_estimate * 3);
            let below = self.engine.below(category);
            assert!(below <= most + self.late_returns(), "{below} of {most}");
        }
    }

    fn demands(&self) -> Vec<Demand> {
        self.engine.rules().iter().map(|rule| rule.demand).collect()
    }

    /// Stations that resume bring their packets below back into the count, at most a window each.
    fn late_returns(&self) -> Span {
        (self.window.aggregate * 2 + self.most_estimate * 3) * 8
    }

    fn apply(&mut self, op: &Op) {
        match op {
            Op::Packets { station, flow, rule, category: number, size, segments, copies } => {
                let segments = u16::from(segments % 8);
                // The longest estimate of a frame (mac80211 keeps ten bits, in steps of 4 us).
                self.most_estimate =
                    self.most_estimate.max(Span::from_micros(4092) * u64::from(segments.max(1)));
                for _ in 0..copies % 40 {
                    let ticket = Ticket(self.next);
                    self.next += 1;
                    self.held.insert(ticket, ());
                    self.stations.insert(ticket, *station);
                    let arrival = Arrival {
                        ticket,
                        station: mac(*station),
                        flow: FlowKey(u64::from(*flow)),
                        rule: rule.map(u16::from),
                        category: category(*number),
                        size: ByteCount::new(u64::from(*size)),
                        segments,
                    };
                    self.engine.on_packet(self.now, &arrival);
                }
            }
            Op::Completion { station, ticket, kind, category: number, acknowledged, kbps, tries } => {
                let carried = match kind % 4 {
                    3 => Carried::Bypassed { rule: number.map(u16::from), took: Span::from_millis(3) },
                    0 => Carried::Packet(Ticket(u32::from(*ticket))),
                    1 => Carried::Other,
                    _ => Carried::Unknown,
                };
                self.complete(*station, carried, *number, *acknowledged, *kbps, *tries);
            }
            Op::CompleteOldest { copies } => {
                let some = usize::from(*copies).min(self.released.len());
                for (ticket, station) in self.released.drain(..some).collect::<Vec<_>>() {
                    self.complete(station, Carried::Packet(ticket), None, true, Some(65_000), 1);
                }
            }
            Op::Stations { present, kbps, aggregates } => {
                let stations: Vec<StationFacts> = (0..8)
                    .filter(|bit| present >> bit & 1 == 1)
                    .filter_map(mac)
                    .map(|station| StationFacts {
                        station,
                        rate: Some(BitRate::from_kbps(u64::from(*kbps))),
                        aggregates: *aggregates,
                        sent: Some(u64::from(*kbps)),
                    })
                    .collect();
                self.engine.on_stations(self.now, &stations);
            }
            Op::Left { station } => {
                if let Some(station) = mac(*station) {
                    self.engine.on_station_left(self.now, station);
                }
            }
            Op::Channel { busy, own } => self.engine.on_channel(self.now, *busy, *own),
            Op::Pass { micros } => {
                self.now += Span::from_micros(u64::from(micros % 100_000));
                self.engine.on_tick(self.now);
            }
            Op::Leap { seconds } => {
                self.now += Span::from_secs(u64::from(*seconds) * 10);
                self.engine.on_tick(self.now);
            }
            Op::GoBack { micros } => {
                self.engine.on_tick(Instant::from_nanos(
                    self.now.as_nanos().saturating_sub(u64::from(*micros) * 1000),
                ));
            }
            Op::Tick => self.engine.on_tick(self.now),
            Op::AllowBypass => self.engine.allow_bypass(self.now),
            Op::Filled { below } => self.engine.on_filled(self.now, u32::from(*below)),
            Op::Refused => self.engine.on_bypass_refused(),
            Op::Demand { rule, micros, percentile } => {
                let held = self.engine.held();
                let request = Request {
                    rule: ["a", "b", "c"][usize::from(rule % 3)].to_owned(),
                    latency: Some(Span::from_micros(u64::from(*micros))),
                    percentile: percentile.map(f64::from),
                };
                let (before, result) = (self.demands(), self.engine.change_demand_of(self.now, &request));
                match result {
                    Ok(changed) => assert_eq!(changed.demand_ms, f64::from(*micros) / 1e3),
                    Err(_) => assert_eq!(self.demands(), before, "refused, and changed"),
                }
                let released = self.engine.output().verdicts.len();
                assert!(self.engine.held() + released >= held, "a change loses nothing");
            }
        }
        self.settle();
    }

    fn complete(
        &mut self,
        station: u8,
        carried: Carried,
        number: Option<u8>,
        acknowledged: bool,
        kbps: Option<u32>,
        tries: u8,
    ) {
        let Some(station) = mac(station) else { return };
        let completion = Completion {
            station,
            carried,
            category: number.map(category),
            size: None,
            acknowledged,
            rate: kbps.map(|kbps| BitRate::from_kbps(u64::from(kbps))),
            tries,
            airtime: None,
            at: self.now,
        };
        self.engine.on_completion(self.now, &completion);
    }

    /// Drains the engine, and checks that every packet has a verdict.
    fn finish(mut self) {
        self.engine.drain(self.now);
        self.settle();
        assert!(self.held.is_empty(), "without a verdict: {:?}", self.held);
    }
}

macro_rules! any_order_of_calls {
    ($($name:ident: $queue:expr, $limit:expr;)+) => {
        $(
            #[test]
            fn $name() {
                bolero::check!().with_type::<Vec<Op>>().for_each(|ops| {
                    let mut checked = Checked::new($queue, $limit);
                    ops.iter().for_each(|op| checked.apply(op));
                    checked.finish();
                });
            }
        )+
    };
}

any_order_of_calls! {
    last_pq_holds_together: "kind = \"last-pq\"\nlinux = { airtime-queue-limit = false, packets = 300 }", None;
    last_pq_with_airtime_queue_limit_holds_together: "kind = \"last-pq\"", None;
    last_pq_that_finds_flows_holds_together: "kind = \"last-pq\"\nprotect = \"auto\"", None;
    linux_with_a_time_limit_holds_together: "kind = \"linux\"\nairtime-queue-limit = false", Some(Span::from_millis(40));
    wqm_holds_together: "kind = \"wqm\"\nsubframes = 4", None;
    fifo_holds_together: "kind = \"fifo\"\nlimit = { packets = 50 }", None;
    pie_holds_together: "kind = \"pie\"", None;
    codel_holds_together: "kind = \"codel\"", None;
    fq_codel_holds_together: "kind = \"fq-codel\"", None;
    round_robin_holds_together: "kind = \"round-robin\"", None;
}
