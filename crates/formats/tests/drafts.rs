//! Scenarios of the files: the simulator's reader takes each.

use airbound_formats::draft::{Draft, draft};
use airbound_formats::read;
use airbound_scenario::{Direction, Overrides, Scenario, Traffic};
use airbound_units::Span;

use crate::files::bytes;

fn made(name: &str) -> Draft {
    let measured = read(&bytes(name), name).expect(name);
    draft(&measured, name, None).expect(name)
}

/// The scenario, as it is read from its folder.
fn scenario(draft: &Draft) -> Scenario {
    let folder = std::env::temp_dir().join(format!("airbound-formats-{}-{:p}", std::process::id(), draft));
    std::fs::create_dir_all(&folder).expect("a folder");
    for (name, text) in &draft.files {
        std::fs::write(folder.join(name), text).expect("a file");
    }
    let file = folder.join("scenario.toml");
    std::fs::write(&file, &draft.scenario).expect("a file");
    let scenario = Scenario::load(&file, &Overrides::none());
    std::fs::remove_dir_all(&folder).expect("the folder");
    scenario.expect("a scenario")
}

#[test]
fn a_link_and_its_base_delay() {
    let draft = made("tcp_download.flent");
    assert!(draft.verdict.contains("round trips of 5.00 ms at least, p50 8.00"), "{}", draft.verdict);
    let scenario = scenario(&draft);
    assert_eq!(scenario.wire.way.delay, Span::from_micros(2500));
    assert_eq!(
        scenario.flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>(),
        ["call", "download"]
    );
}

#[test]
fn both_directions_have_a_flow_each() {
    let scenario = scenario(&made("iperf3-bidir-tcp.json"));
    let flows: Vec<_> = scenario.flows.iter().map(|flow| (flow.name.as_str(), flow.direction)).collect();
    assert_eq!(flows[1..], [("download", Direction::Down), ("upload", Direction::Up)]);
}

#[test]
fn a_probe_as_it_was_sent() {
    let scenario = scenario(&made("irtt.json"));
    let Traffic::Cbr(datagrams) = &scenario.flows[0].traffic else { panic!("{:?}", scenario.flows[0]) };
    // 160 bytes every 20 ms.
    assert_eq!((datagrams.rate.as_bps(), datagrams.size.as_u64()), (64_000, 160));
}

#[test]
fn recorded_flows_in_both_directions() {
    for name in ["call.pcapng", "call.pcap", "any.pcapng"] {
        let draft = made(name);
        let scenario = scenario(&draft);
        let ways: Vec<_> = scenario.flows.iter().map(|flow| flow.direction).collect();
        assert!(ways.len() >= 2 && ways[0] != ways[1], "{name}: {}", draft.scenario);
        assert!(scenario.flows.iter().all(|flow| matches!(flow.traffic, Traffic::Replay(_))));
    }
}

#[test]
fn a_station_that_is_none_is_refused() {
    let measured = read(&bytes("call.pcapng"), "call.pcapng").expect("a capture");
    let problem = draft(&measured, "call.pcapng", "10.9.8.7".parse().ok()).expect_err("none").to_string();
    assert!(problem.contains("no conversation has the address 10.9.8.7; there are 127.0.0.1"), "{problem}");
}
