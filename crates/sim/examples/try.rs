//! Scratch.
#![allow(missing_docs, clippy::print_stdout)]
use airbound_sim::{
    Run,
    scenario::{Overrides, Scenario},
};
fn main() {
    let path = std::env::args().nth(1).unwrap();
    let sc = Scenario::load(std::path::Path::new(&path), &Overrides::default()).unwrap_or_else(|e| {
        println!("{e}");
        std::process::exit(2)
    });
    let scheme = match std::env::args().nth(2) {
        Some(n) => sc.scheme.with_name(&n).unwrap(),
        None => sc.scheme.clone(),
    };
    let t = std::time::Instant::now();
    let run = Run::new("x", &sc, &scheme, sc.seed).unwrap();
    let (o, _) = run.finish().unwrap_or_else(|e| {
        println!("{e}");
        std::process::exit(1)
    });
    let w = t.elapsed().as_secs_f64();
    let s = &o.summary;
    for (f, l) in s.flows.iter().zip(&o.wifi_latency) {
        println!(
            "{:14} {:6} off {:8.2} good {:8.2} p50 {:?} p95 {:?} mean {:?} max {:?} wifi95 {:?} loss {:?} {:?} fps {:?} {:?}",
            f.name,
            f.kind,
            f.offered_mbps,
            f.goodput_mbps,
            f.latency_ms.p50,
            f.latency_ms.p95,
            f.latency_ms.mean,
            f.latency_ms.max,
            l.p95,
            f.loss_rate,
            f.packets,
            f.fps,
            f.drops
        );
    }
    for st in &s.stations {
        println!("{:?}", st);
    }
    let n: u64 = s.flows.iter().map(|f| f.packets.delivered).sum();
    println!(
        "{:?} {:?} events {} wall {:.3} s, {:.2} ms per simulated s, {:.0} ns per packet",
        s.air,
        s.jain,
        o.events,
        w,
        w * 1e3 / s.duration_s,
        w * 1e9 / n as f64
    );
}
