//! Runs scenarios written in tests, and keeps their events.

// Each test program uses some of it.
#![allow(dead_code)]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use airbound_record::{FlowSummary, FrameRow, HopRow, PacketRow, SenderRow, SeriesRow, TxopRow};
use airbound_scenario::{Overrides, Scenario};
use airbound_sim::{Event, Events, Observer, Outcome, Run};

/// All rows of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rows {
    pub(crate) packets: Vec<PacketRow>,
    pub(crate) hops: Vec<HopRow>,
    pub(crate) senders: Vec<SenderRow>,
    pub(crate) txops: Vec<TxopRow>,
    pub(crate) frames: Vec<FrameRow>,
    pub(crate) series: Vec<SeriesRow>,
}

/// Keeps all rows, shared with the test.
struct Keeper(Rc<RefCell<Rows>>);

impl Rows {
    /// The hops of each packet that ended at relays, in order.
    pub(crate) fn hops_by_packet(&self) -> BTreeMap<u64, Vec<HopRow>> {
        let mut hops = BTreeMap::<u64, Vec<HopRow>>::new();
        for hop in &self.hops {
            hops.entry(hop.packet).or_default().push(*hop);
        }
        hops
    }
}

impl Observer for Keeper {
    fn wants(&self) -> Events {
        Events::ROWS
    }
    fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::Packet(row) => self.0.borrow_mut().packets.push(*row),
            Event::Hop(row) => self.0.borrow_mut().hops.push(*row),
            Event::Sender(row) => self.0.borrow_mut().senders.push(*row),
            Event::Txop(row) => self.0.borrow_mut().txops.push(*row),
            Event::Frame(row) => self.0.borrow_mut().frames.push(*row),
            Event::Series(row) => self.0.borrow_mut().series.push(*row),
            _ => {}
        }
    }
}

/// Reads a valid scenario.
pub(crate) fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "test", &Overrides::none()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Prepares a run with the scenario's own scheme and seed, and its rows.
pub(crate) fn prepare(scenario: &Scenario) -> (Run, Rc<RefCell<Rows>>) {
    let rows = Rc::new(RefCell::new(Rows::default()));
    let mut run = Run::new("test", scenario, &scenario.scheme, scenario.seed).unwrap();
    run.observe(Box::new(Keeper(Rc::clone(&rows))));
    (run, rows)
}

/// Runs a scenario, and keeps all rows.
pub(crate) fn observed(text: &str) -> (Outcome, Rows) {
    let (run, rows) = prepare(&scenario(text));
    let (outcome, _) = run.finish().unwrap();
    (outcome, rows.take())
}

/// Runs a scenario for its summary.
pub(crate) fn run(text: &str) -> Outcome {
    let scenario = scenario(text);
    Run::new("test", &scenario, &scenario.scheme, scenario.seed).unwrap().finish().unwrap().0
}

/// The flow with this name.
pub(crate) fn flow<'a>(outcome: &'a Outcome, name: &str) -> &'a FlowSummary {
    outcome.summary.flows.iter().find(|flow| flow.name == name).unwrap()
}

/// Asserts that `measured` is within a share of `expected`.
#[track_caller]
pub(crate) fn assert_within(measured: f64, expected: f64, share: f64, what: &str) {
    let off = (measured / expected - 1.0).abs();
    assert!(off <= share, "{what}: {measured} is not within {} % of {expected}", share * 100.0);
}
