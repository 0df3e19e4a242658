//! The allocator's lines: what a server of others asks, and what it is told.

use airbound_room::allocator::Allocator;
use airbound_senders::conference::room::{RoomConfig, RoomPolicy};
use serde_json::{Value, json};

fn answer(allocator: &mut Allocator, line: &Value) -> Value {
    let reply = allocator.answer(&line.to_string()).expect("an answer");
    serde_json::to_value(reply).expect("JSON")
}

fn join_all(members: u16) -> Vec<Value> {
    let mut inputs = Vec::new();
    for member in 1..=members {
        inputs.push(json!({"join": {"member": member}}));
        inputs.push(json!({"layers": {"source": member, "rates": [120_000, 360_000, 1_000_000]}}));
        let views: Vec<Value> = (1..=members).map(|from| json!({"from": from, "largest": 2})).collect();
        inputs.push(json!({"views": {"viewer": member, "views": views}}));
    }
    inputs
}

#[test]
fn a_room_is_decided_with_reasons_in_the_callers_time() {
    let mut allocator = Allocator::new(RoomConfig::default());
    let mut inputs = join_all(3);
    inputs.push(json!({"down": {"member": 1, "rate": 600_000, "sent": 590_000}}));
    let reply = answer(&mut allocator, &json!({"room": "a", "at": 1000, "inputs": inputs}));
    let forwards: Vec<&Value> = reply["actions"]
        .as_array()
        .expect("actions")
        .iter()
        .filter(|one| one["forward"]["viewer"] == 1)
        .collect();
    assert_eq!(forwards.len(), 2);
    assert_eq!(reply["next"], 1200);
    let reason = reply["reasons"]
        .as_array()
        .expect("reasons")
        .iter()
        .find(|one| one["viewer"] == 1)
        .expect("a reason");
    assert_eq!(reason["binding"], json!(["capacity"]));
    assert!(reason["text"].as_str().is_some_and(|text| text.contains("downlink")), "{reason}");
    // Rooms are apart, and the same lines give the same answers.
    let mut again = Allocator::new(RoomConfig::default());
    let line = json!({"room": "b", "at": 1000, "inputs": join_all(3)});
    let (one, other) = (answer(&mut allocator, &line), answer(&mut again, &line));
    assert_eq!(one, other);
}

#[test]
fn a_held_sender_is_named_with_a_number_to_acknowledge() {
    let mut allocator = Allocator::new(RoomConfig { rho: 0.0, ..RoomConfig::default() });
    let mut held = None;
    for step in 0..40_u64 {
        let mut inputs = if step == 0 { join_all(4) } else { Vec::new() };
        inputs.push(json!({"up": {"member": 1, "rate": 1_400_000, "kind": "exact"}}));
        inputs.push(json!({"down": {"member": 1, "rate": 400_000, "kind": "exact"}}));
        for member in 2..=4 {
            // Others have links that are as narrow: what member 1 sends cannot be shown.
            inputs.push(json!({"up": {"member": member, "rate": 1_400_000, "kind": "exact"}}));
            inputs.push(json!({"down": {"member": member, "rate": 400_000, "kind": "exact"}}));
        }
        let reply = answer(&mut allocator, &json!({"room": "a", "at": 1000 + step * 200, "inputs": inputs}));
        for action in reply["actions"].as_array().expect("actions") {
            if action["hold"]["rate"].as_u64().is_some_and(|rate| rate > 0) {
                held = Some(action["hold"].clone());
            }
        }
        if let Some(hold) = &held {
            let ack = json!({"ack": {"member": hold["member"], "sequence": hold["sequence"]}});
            answer(&mut allocator, &json!({"room": "a", "at": 1000 + step * 200, "inputs": [ack]}));
        }
    }
    let held = held.expect("a hold");
    assert!(held["rate"].as_u64().is_some_and(|rate| rate < 1_400_000), "{held}");
}

#[test]
fn a_channel_and_a_floor_decide_without_exact_estimates_and_the_uplink_is_probed() {
    let decide = |sum: Option<u64>, floor: Option<u64>| {
        let config = RoomConfig { policy: RoomPolicy::Plum, ..RoomConfig::default() };
        let mut allocator = Allocator::new(config);
        let (mut down, mut probes) = (None, 0);
        for step in 0..40_u64 {
            let mut inputs = if step == 0 { join_all(4) } else { Vec::new() };
            inputs.push(json!({"channel": {"member": 1, "sum": sum}}));
            inputs.push(json!({"floor": {"member": 1, "rate": floor}}));
            inputs.push(json!({"up": {"member": 1, "rate": 500_000}}));
            inputs.push(json!({"down": {"member": 1, "rate": 2_000_000}}));
            for member in 2..=4 {
                inputs.push(json!({"up": {"member": member, "rate": 1_500_000}}));
                inputs.push(json!({"down": {"member": member, "rate": 6_000_000}}));
            }
            let line = json!({"room": "a", "at": 1000 + step * 200, "inputs": inputs, "explain": true});
            let reply = answer(&mut allocator, &line);
            let actions = reply["actions"].as_array().expect("actions");
            probes += actions
                .iter()
                .filter(|one| one["probe-uplink"] == json!({"member": 1, "rate": 1_500_000}))
                .count();
            let mut reasons = reply["reasons"].as_array().expect("reasons").iter();
            down = reasons.find(|one| one["viewer"] == 1).and_then(|one| one["budget"].as_u64());
        }
        (down, probes)
    };
    assert_eq!(decide(None, None), (Some(1_900_000), 0), "0.95 of the estimate");
    let (held, probes) = decide(Some(2_500_000), None);
    assert!(held == Some(1_000_000) && probes >= 3, "{held:?}, {probes}: the uplink can have 1.5 Mb/s");
    // 100 kb/s of each of the others at least; the floor; no more than a quarter of the capacity.
    let budget = |floor| decide(Some(1_600_000), floor).0;
    assert_eq!([None, Some(350_000), Some(900_000)].map(budget), [300_000, 350_000, 400_000].map(Some));
}

#[test]
fn an_estimate_is_exact_after_a_fall_that_was_filled() {
    let mut allocator = Allocator::new(RoomConfig { policy: RoomPolicy::Plain, ..RoomConfig::default() });
    let mut probed = |at: u64, rate: u64, sent: u64| {
        let mut inputs = if at == 1000 { join_all(2) } else { Vec::new() };
        inputs.push(json!({"down": {"member": 1, "rate": rate, "sent": sent}}));
        let reply = answer(&mut allocator, &json!({"room": "a", "at": at, "inputs": inputs}));
        let actions = reply["actions"].as_array().expect("actions").clone();
        actions.into_iter().find(|one| one["probe"]["member"] == 1).map(|one| one["probe"]["rate"].clone())
    };
    assert!(probed(1000, 800_000, 700_000).is_some_and(|rate| rate.is_u64()), "it rises: a lower bound");
    assert_eq!(probed(1200, 600_000, 500_000), Some(Value::Null), "it fell, though it was filled");
}

#[test]
fn wrong_lines_are_answered_with_a_sentence_and_end_nothing() {
    let mut allocator = Allocator::new(RoomConfig::default());
    for line in [
        "",
        "{",
        "[]",
        r#"{"rooms":"a"}"#,
        r#"{"room":"a","inputs":[{"jump":{}}]}"#,
        r#"{"room":"a","inputs":[{"join":{"member":70000}}]}"#,
    ] {
        let error = allocator.answer(line).expect_err(line).to_string();
        assert!(!error.is_empty());
    }
    let wrong = r#"{"room":"a","inputs":[{"config":{"headroom":7}}]}"#;
    assert!(allocator.answer(wrong).expect_err("out of range").to_string().contains("headroom"));
    let mut out = Vec::new();
    let lines = "nonsense\n{\"room\":\"a\",\"at\":5}\n";
    allocator.serve(lines.as_bytes(), &mut out).expect("served");
    let out = String::from_utf8(out).expect("text");
    assert_eq!(out.lines().count(), 2);
    assert!(out.starts_with("{\"error\""), "{out}");
}

#[test]
fn lines_rooms_and_members_are_bounded() {
    let mut allocator = Allocator::new(RoomConfig::default());
    let mut ask = |room: &str, inputs: Vec<Value>| {
        let line = json!({"room": room, "inputs": inputs}).to_string();
        allocator.answer(&line).map(drop).map_err(|error| error.to_string())
    };
    let join = |member: u16| json!({"join": {"member": member}});
    assert_eq!(ask("0", (0..256).map(join).collect()), Ok(()));
    assert_eq!(ask("0", vec![join(256)]), Err("there are 256 members already".to_owned()));
    for room in 1..4096 {
        assert_eq!(ask(&room.to_string(), Vec::new()), Ok(()));
    }
    assert_eq!(ask("one more", Vec::new()), Err("there are 4096 rooms already".to_owned()));
    let serve = |length: usize| {
        let mut out = Vec::new();
        let line = r#"{"room":"a","at":5}"#.to_owned();
        let served = Allocator::new(RoomConfig::default())
            .serve((line.clone() + &" ".repeat(length - line.len() - 1) + "\n").as_bytes(), &mut out);
        (served.is_ok(), String::from_utf8(out).expect("text"))
    };
    assert!(serve(1 << 20).1.starts_with(r#"{"room":"a""#));
    assert_eq!(
        serve((1 << 20) + 1),
        (false, "{\"error\":\"a line has at most 1048576 bytes\"}\n".to_owned())
    );
}

#[test]
fn a_time_of_another_unit_is_refused_and_the_room_goes_on() {
    let mut allocator = Allocator::new(RoomConfig::default());
    let joined =
        answer(&mut allocator, &json!({"room": "a", "at": 1_795_856_898_000_u64, "inputs": join_all(3)}));
    assert!(!joined["actions"].as_array().expect("actions").is_empty());
    let late = json!({"room": "a", "at": 1_795_856_898_000_000_u64}).to_string();
    let error = allocator.answer(&late).expect_err("microseconds").to_string();
    assert_eq!(error, "at is 1795856898000000; a time is 0 to 10000000000000 milliseconds");
    let last = answer(&mut allocator, &json!({"room": "a", "at": 10_000_000_000_000_u64}));
    assert!(last["next"].as_u64().is_some_and(|next| next > 10_000_000_000_000), "{last}");
}
