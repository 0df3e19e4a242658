//! External packets: an outer loop pushes content into flows and takes it back.

use airbound_control::frame::DropReason;
use airbound_scenario::{Overrides, Scenario};
use airbound_sim::{Fate, Live, Plugins};
use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::timing::PPDU_MAX_TIME;

const TEXT: &str = "duration = \"1 s\"\nwarm-up = \"0 s\"\n[wire]\ndelay = \"5 ms\"\n\
    [scheme]\nqueue = { kind = \"fifo\", limit = { packets = 20 } }\nrate = { kind = \"ideal\" }\n\
    [[station]]\nname = \"laptop\"\n\
    [[flow]]\nname = \"beside\"\nkind = \"cbr\"\nstation = \"laptop\"\nrate = \"5 Mbit/s\"\n\
    [[flow]]\nname = \"down\"\nkind = \"tcp\"\nstation = \"laptop\"\n\
    [[flow]]\nname = \"up\"\nkind = \"cbr\"\nstation = \"laptop\"\nrate = \"9 Mbit/s\"\ndirection = \"up\"\n";

fn live() -> Live<Vec<u8>> {
    let scenario = Scenario::parse(TEXT, "test", &Overrides::none()).expect("a scenario");
    Live::new(&scenario, &["up", "down"], &Plugins::default(), 1).expect("a network")
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

/// Pushes one packet of each kind every 10 ms and returns all fates.
fn pings(live: &mut Live<Vec<u8>>) -> Vec<Fate<Vec<u8>>> {
    let mut fates = Vec::new();
    for round in 0..50u8 {
        live.advance(at(10 * u64::from(round)));
        live.push(0, vec![round, 0], ByteCount::new(100));
        live.push(1, vec![round, 1], ByteCount::new(1500));
        live.take(&mut fates);
    }
    live.advance(at(900));
    live.take(&mut fates);
    fates
}

#[test]
fn content_comes_back_at_both_ends_of_the_network() {
    let fates = pings(&mut live());
    assert_eq!(fates.len(), 100);
    for flow in 0..2 {
        let own: Vec<_> = fates.iter().filter(|fate| fate.flow == flow).collect();
        for (round, fate) in own.iter().enumerate() {
            assert_eq!(fate.content, [round as u8, flow as u8], "in order, each once");
            assert_eq!(fate.lost, None);
            // The wire, after the air for one and before it for the other, and before its own exchange at most one exchange of
            // other traffic: at a fixed rate each takes far less than the longest PPDU.
            let spent = fate.at - at(10 * round as u64);
            let wire = Span::from_millis(5);
            assert!((wire..wire + PPDU_MAX_TIME).contains(&spent), "{spent}");
        }
    }
    assert_eq!(fates, pings(&mut live()), "the same pushes have the same fates");
}

#[test]
fn a_full_queue_gives_content_back_as_lost() {
    let mut live = live();
    live.advance(at(100));
    for number in 0..200u8 {
        live.push(1, vec![number], ByteCount::new(1500));
    }
    let mut fates = Vec::new();
    while live.next_event() <= at(200) {
        live.advance(live.next_event());
        live.take(&mut fates);
        assert!(fates.iter().all(|fate| fate.at <= live.now()));
    }
    assert_eq!(fates.len(), 200);
    let lost: Vec<_> = fates.iter().filter_map(|fate| fate.lost).collect();
    assert!(
        (20..180).contains(&lost.len()) && lost.iter().all(|reason| *reason == DropReason::QueueFull),
        "{lost:?}"
    );
}

#[test]
fn a_name_that_no_flow_has_is_refused() {
    let scenario = Scenario::parse(TEXT, "test", &Overrides::none()).expect("a scenario");
    let error = Live::<()>::new(&scenario, &["sideways"], &Plugins::default(), 1).expect_err("refused");
    assert!(error.to_string().contains("no flow is named \"sideways\""), "{error}");
}
