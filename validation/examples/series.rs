//! Prints goodput per window and flow.
use airbound_record::*;
use airbound_sim::Observer;
struct W;
impl Observer for W {
    fn on_packet(&mut self, _: &PacketRow) {}
    fn on_txop(&mut self, _: &TxopRow) {}
    fn on_frame(&mut self, _: &FrameRow) {}
    fn on_series(&mut self, r: &SeriesRow) {
        println!(
            "{:.2} flow {} good {:.1} p50 {:?} drop {} q {}",
            r.window_start.as_secs_f64(),
            r.flow,
            r.goodput_mbps,
            r.latency_p50_ms,
            r.dropped,
            r.queue_packets
        );
    }
    fn wants_packets(&self) -> bool {
        false
    }
    fn wants_txops(&self) -> bool {
        false
    }
}
fn main() {
    let file = std::env::args().nth(1).expect("file");
    let t = airbound_validation::Trial {
        name: file.clone(),
        scenario: std::fs::read_to_string(&file).expect("file"),
        seed: 1,
    };
    t.observed(Box::new(W)).expect("runs");
}
