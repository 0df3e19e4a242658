//! The size of the packet log of a run, estimated from its beginning.

use std::cell::Cell;
use std::rc::Rc;

use airbound_sim::{Event, Events, Observer};
use airbound_units::{ByteCount, Span};

use crate::error::RunsError;
use crate::opened::{Named, Opened};
use crate::watch::to_the_end;

/// Simulated time behind the warm-up from which the rest is estimated.
const BEGINNING: Span = Span::from_secs(2);
/// Bytes of a row in packets.parquet and in txops.parquet: measured over the shipped scenarios, 10 to 17 and 9 to 20.
const PACKET: u64 = 15;
const TXOP: u64 = 15;

/// The size of the tables of packets and transmissions that a run leaves, from its first seconds: right within a factor of two, where the
/// traffic goes on as it begins.
///
/// # Errors
/// The scheme is wrong.
pub fn packet_log_size(opened: &Opened, named: &Named) -> Result<ByteCount, RunsError> {
    let rows: Rc<Cell<(u64, u64)>> = Rc::default();
    let mut run = opened.build(named, opened.scenario.seed)?;
    run.observe(Box::new(Rows(Rc::clone(&rows))));
    let looked = (opened.scenario.warm_up + BEGINNING).min(opened.length());
    to_the_end(&mut run, looked, |_| false);
    let (packets, txops) = rows.get();
    let bytes = (packets * PACKET + txops * TXOP) as f64;
    let whole = opened.length().as_secs_f64() / looked.as_secs_f64().max(f64::MIN_POSITIVE);
    Ok(ByteCount::new((bytes * whole) as u64))
}

/// Counts packets and transmissions.
struct Rows(Rc<Cell<(u64, u64)>>);

impl Observer for Rows {
    fn wants(&self) -> Events {
        Events { packets: true, txops: true, ..Events::NONE }
    }
    fn on_event(&mut self, event: Event<'_>) {
        let (packets, txops) = self.0.get();
        match event {
            Event::Packet(_) => self.0.set((packets + 1, txops)),
            Event::Txop(_) => self.0.set((packets, txops + 1)),
            _ => {}
        }
    }
}
