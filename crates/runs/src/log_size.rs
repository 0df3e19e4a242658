//! The size of the packet log of a run, estimated from its beginning.

use std::cell::Cell;
use std::rc::Rc;

use airbound_sim::{Event, Events, Observer};
use airbound_units::{ByteCount, Span};

use crate::error::RunsError;
use crate::opened::{Named, Opened};
use crate::watch::to_the_end;

/// Simulated time from which the rest is estimated: so much behind the warm-up, and behind the last start of a flow, which is waited for no
/// longer than [`PATIENCE`].
const LOOK: Span = Span::from_secs(2);
const PATIENCE: Span = Span::from_secs(60);
/// Bytes of a row in packets.parquet and in txops.parquet, a middle: they are compressed, 7 to 23 B.
const PACKET: u64 = 16;
const TXOP: u64 = 16;

/// The size of the tables of packets and transmissions that a run leaves, from two seconds of it: right within
/// a factor of three where the traffic stays as it is then.
///
/// # Errors
/// The scheme is wrong.
pub fn packet_log_size(opened: &Opened, named: &Named) -> Result<ByteCount, RunsError> {
    let rows: Rc<Cell<(u64, u64)>> = Rc::default();
    let mut run = opened.build(named, opened.scenario.seed)?;
    run.observe(Box::new(Rows(Rc::clone(&rows))));
    let starts = opened.scenario.flows.iter().map(|flow| flow.start);
    let from = starts.max().unwrap_or(Span::ZERO).min(PATIENCE).max(opened.scenario.warm_up);
    if from > Span::ZERO {
        to_the_end(&mut run, from, |_, _| false);
    }
    rows.set((0, 0));
    let before = run.now();
    to_the_end(&mut run, LOOK, |_, _| false);
    let looked = run.now().since(before);
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

#[cfg(test)]
mod tests {
    use airbound_record::{Encoding, Tables};
    use airbound_scenario::Overrides;

    use super::*;
    use crate::request::RunRequest;

    #[test]
    fn the_size_is_right_within_a_factor_of_three() {
        for name in ["home-evening", "my-flat"] {
            let opened =
                Opened::by_name(name, &Overrides::from_pairs(&[("duration", "20 s")])).expect("shipped");
            let named = opened.scheme(None).expect("a scheme");
            let estimated = packet_log_size(&opened, &named).expect("a size").as_u64() as f64;
            let folder = tempfile::tempdir().expect("a folder");
            let request = RunRequest {
                named,
                seed: opened.scenario.seed,
                tables: Tables::ALL,
                encoding: Encoding::Inline,
            };
            let (record, _) = request.run(&opened, &folder.path().join("run"), None, &()).expect("a run");
            let size = |table: &str| std::fs::metadata(record.file(table)).expect("a table").len();
            let written = (size("packets.parquet") + size("txops.parquet")) as f64;
            assert!((1.0 / 3.0..3.0).contains(&(estimated / written)), "{name}: {estimated} for {written}");
        }
    }
}
