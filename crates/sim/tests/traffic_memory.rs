//! A run's memory does not grow with its length. A test program of its own, since it measures the memory of the
//! process.

mod simulate;

use airbound_sim::Run;
use airbound_units::{Instant, Span};

/// Resident memory in KiB, if the kernel reports it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.split_whitespace().next()?.parse().ok()
}

#[test]
fn memory_does_not_grow_with_the_length_of_a_run() {
    let text = "duration = \"60 s\"\n[air]\nstandard = \"vht\"\n[scheme]\nqueue = \"linux\"\nrate = \"minstrel-ht\"\n\
         [[station]]\nname = \"a\"\nchannel = { kind = \"log-distance\", distance = \"4 m\", fading = \"rician\" }\n\
         [[station]]\nname = \"b\"\nchannel = { kind = \"log-distance\", distance = \"9 m\", fading = \"rayleigh\" }\n\
         [[flow]]\nname = \"udp\"\nkind = \"cbr\"\nstation = \"a\"\nrate = \"200 Mbit/s\"\n\
         [[flow]]\nname = \"tcp\"\nkind = \"tcp\"\nstation = \"b\"\ncount = 3\n\
         [[flow]]\nname = \"pages\"\nkind = \"tcp-short\"\nstation = \"b\"\ninterval = \"20 ms\"\n\
         [[flow]]\nname = \"vr\"\nkind = \"vr\"\nstation = \"a\"\ntransport = \"udp\"\n";
    let scenario = simulate::scenario(text);
    let mut run = Run::new("test", &scenario, &scenario.scheme, 1).unwrap();
    run.advance(Span::from_secs(20));
    assert_eq!(run.now(), Instant::ZERO + Span::from_secs(20));
    let Some(early) = resident() else { return };
    run.advance(Span::from_secs(40));
    let late = resident().unwrap();
    assert!(late <= early + 3 * 1024, "{early} KiB after 20 s, {late} KiB after 60 s");
    let outcome = run.finish().unwrap().0;
    let delivered: u64 = outcome.summary.flows.iter().map(|flow| flow.packets.delivered).sum();
    assert!(delivered > 500_000, "{delivered}");
}
