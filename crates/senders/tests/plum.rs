//! Plum's server and clients, over a channel that loses, duplicates and reorders notices.

use airbound_senders::conference::plum::{Notice, State};
use airbound_senders::conference::{ClientId, PlumClient, PlumConfig, PlumServer};
use airbound_units::{BitRate, Instant, Span};
use proptest::prelude::*;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

fn session(clients: u16) -> PlumServer {
    let mut server = PlumServer::new(PlumConfig::default(), BitRate::from_mbps(1)).expect("valid");
    (0..clients).for_each(|client| server.join(ClientId(client), 1.0));
    server
}

#[test]
fn a_fair_split_is_turned_into_what_serves_all() {
    let mut server = session(8);
    for client in 0..8 {
        server.on_estimates(ClientId(client), 12e6, 12e6).expect("believable");
    }
    server.on_deadline(at(4999));
    assert_eq!(server.computed(), 0);
    server.on_deadline(at(5000));
    assert_eq!(server.computed(), 1);
    for client in 0..8 {
        let Some(State::ClientConstrained { rate }) = server.state(ClientId(client)) else { panic!("II") };
        assert!((rate.as_mbps_f64() - 3.0).abs() < 0.01, "{rate}");
        assert_eq!(server.limit(ClientId(client)), None);
    }
    // No clear change: nothing is computed again.
    for client in 0..8 {
        server.on_estimates(ClientId(client), 3e6, 22e6).expect("believable");
    }
    server.on_deadline(at(10_000));
    assert_eq!(server.computed(), 1);
}

#[test]
fn a_bad_estimate_leaves_the_allocation_in_force() {
    let mut server = session(3);
    for client in 0..3 {
        server.on_estimates(ClientId(client), 10e6, 10e6).expect("believable");
    }
    server.on_deadline(at(5000));
    let before = server.allocation().cloned().expect("computed");
    let error = server.on_estimates(ClientId(1), f64::NAN, 10e6).expect_err("NaN").to_string();
    assert!(error.contains("client 1") && error.contains("NaN"), "{error}");
    server.on_deadline(at(10_000));
    assert_eq!(server.allocation(), Some(&before));
    // A single client has no other to watch: an error, and the previous decision stays.
    server.leave(ClientId(1));
    server.leave(ClientId(2));
    server.on_deadline(at(15_000));
    assert!(server.error().expect("too few").to_string().contains("at least 2"));
    assert_eq!(server.allocation(), Some(&before));
}

/// Fate of a message in the network: lost, once, twice, or held back until the next.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Lost,
    Once,
    Twice,
    Late,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![Just(Fate::Lost), Just(Fate::Once), Just(Fate::Twice), Just(Fate::Late)]
}

#[derive(Debug, Clone)]
enum Operation {
    Join(u16, f64),
    Leave(u16),
    Estimates(u16, f64, f64),
    Acknowledge(u16, u32),
    Wait(u64),
    Backwards,
}

fn operation() -> impl Strategy<Value = Operation> {
    let number =
        prop_oneof![0.0..60e6_f64, Just(f64::NAN), Just(f64::INFINITY), Just(-1.0), Just(0.0), Just(1e12)];
    let client = 0..6_u16;
    prop_oneof![
        (client.clone(), number.clone()).prop_map(|(client, weight)| Operation::Join(client, weight)),
        client.clone().prop_map(Operation::Leave),
        (client.clone(), number.clone(), number)
            .prop_map(|(client, up, down)| Operation::Estimates(client, up, down)),
        (client, any::<u32>()).prop_map(|(client, sequence)| Operation::Acknowledge(client, sequence)),
        (0..8000_u64).prop_map(Operation::Wait),
        Just(Operation::Backwards),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// After any loss of notices, once the network works again every client is in the state set by the server.
    #[test]
    fn both_ends_agree_after_any_loss(
        fates in prop::collection::vec(fate(), 1..40),
        estimates in prop::collection::vec((1.0..30.0_f64, 1.0..30.0_f64), 4..20),
    ) {
        let mut server = session(4);
        let mut clients: Vec<PlumClient> = vec![PlumClient::new(); 4];
        let mut held: Vec<(ClientId, Notice)> = Vec::new();
        let mut fates = fates.into_iter();
        let mut time = 0;
        for (round, (up, down)) in estimates.iter().enumerate() {
            let id = ClientId(round as u16 % 4);
            server.on_estimates(id, up * 1e6, down * 1e6).expect("believable");
            time += 5000;
            server.on_deadline(at(time));
            while let Some((id, notice)) = server.poll_notice(at(time)) {
                let fate = fates.next().unwrap_or(Fate::Lost);
                let arriving: Vec<(ClientId, Notice)> = match fate {
                    Fate::Lost => Vec::new(),
                    Fate::Once => held.drain(..).chain([(id, notice)]).collect(),
                    Fate::Twice => vec![(id, notice), (id, notice)],
                    Fate::Late => {
                        held.push((id, notice));
                        Vec::new()
                    }
                };
                for (id, notice) in arriving {
                    let answer = clients[usize::from(id.0)].on_notice(notice, BitRate::from_mbps(5));
                    server.on_acknowledged(id, answer);
                }
            }
        }
        // The network works again; the delayed notice arrives at last, and is too old.
        time += 200;
        while let Some((id, notice)) = server.poll_notice(at(time)) {
            let answer = clients[usize::from(id.0)].on_notice(notice, BitRate::from_mbps(5));
            server.on_acknowledged(id, answer);
        }
        for (id, notice) in held {
            clients[usize::from(id.0)].on_notice(notice, BitRate::from_mbps(5));
        }
        for (index, client) in clients.iter().enumerate() {
            let state = server.state(ClientId(index as u16)).expect("a member");
            let wanted = Some(state.client_rate()).filter(|rate| !rate.is_zero());
            prop_assert_eq!(client.limit(), wanted, "{:?}", state);
            // Never both ends at once.
            prop_assert!(client.limit().is_none() || server.limit(ClientId(index as u16)).is_none());
        }
        prop_assert_eq!(server.poll_notice(at(time + 100_000)), None);
    }

    /// No order of calls and no number makes the server panic, and its deadline is always in the future.
    #[test]
    fn nothing_makes_it_panic(operations in prop::collection::vec(operation(), 1..60)) {
        let mut server = PlumServer::new(PlumConfig::default(), BitRate::from_mbps(1)).expect("valid");
        let mut time = 0;
        for operation in operations {
            match operation {
                Operation::Join(client, weight) => server.join(ClientId(client), weight),
                Operation::Leave(client) => server.leave(ClientId(client)),
                Operation::Estimates(client, up, down) => {
                    let _ = server.on_estimates(ClientId(client), up, down);
                }
                Operation::Acknowledge(client, sequence) => server.on_acknowledged(ClientId(client), sequence),
                Operation::Wait(millis) => time += millis,
                Operation::Backwards => server.on_deadline(Instant::ZERO),
            }
            server.on_deadline(at(time));
            while server.poll_notice(at(time)).is_some() {}
            prop_assert!(server.next_deadline() > at(time));
        }
    }
}
