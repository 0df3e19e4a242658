//! Runs a scenario file and prints flows.
fn main() {
    let file = std::env::args().nth(1).expect("file");
    let seed = std::env::args().nth(2).map_or(1, |s| s.parse().expect("seed"));
    let t = airbound_validation::Trial {
        name: file.clone(),
        scenario: std::fs::read_to_string(&file).expect("file"),
        seed,
    };
    let o = t.run().expect("runs");
    for (f, w) in o.summary.flows.iter().zip(&o.wifi_latency) {
        println!(
            "{:14} {:10} off {:8.2} good {:8.2} p50 {:?} p95 {:?} wifi p50 {:?} p95 {:?} loss {:?} {:?} {:?} fps {:?} stall {:?}",
            f.name,
            f.station,
            f.offered_mbps,
            f.goodput_mbps,
            f.latency_ms.p50,
            f.latency_ms.p95,
            w.p50,
            w.p95,
            f.loss_rate,
            f.packets,
            f.drops,
            f.fps,
            f.stall_rate
        );
    }
    for s in &o.summary.stations {
        println!("{s:?}");
    }
    println!("{:?} {:?}", o.summary.air, o.summary.jain);
}
