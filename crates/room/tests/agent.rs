//! The access point's agent tells the room what a station's channel carries: nl80211's counters are made up, the room and its participants are not.

use std::net::{IpAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use airbound_agent::room::{Client, Reading, RoomSettings, Sums};
use airbound_linux::MacAddress;
use airbound_linux::nl80211::{Station, Survey};
use airbound_room::runner;
use airbound_room::token::Role;
use airbound_units::{BitRate, Span};
use serde_json::Value;

use crate::web::web;

const HOUR: Duration = Duration::from_secs(3600);

/// Counters of nl80211 on a channel of which others take a quarter, after some seconds.
fn reading(second: u64) -> Reading {
    let (ms, rate) = (Span::from_millis, BitRate::from_mbps(40));
    let survey = Survey {
        is_in_use: true,
        time: Some(ms(second * 1000)),
        busy: Some(ms(second * 600)),
        ..Survey::default()
    };
    let station = Station {
        address: MacAddress([2, 0, 0, 0, 0, 1]),
        expected_throughput: Some(rate),
        transmit_airtime: Some(ms(second * 200)),
        receive_airtime: Some(ms(second * 150)),
        ..Station::default()
    };
    Reading { survey: Some(survey), stations: vec![station] }
}

/// The agent's sum.
fn sum() -> BitRate {
    let mut sums = Sums::default();
    sums.take(reading(1)).expect("counted");
    sums.take(reading(2)).expect("counted")[0].1
}

/// Rooms of participants on loopback; what the agent is told, and the sums that the room then has.
fn told(role: Role, participants: usize, addresses: &[IpAddr]) -> (Result<(), String>, Vec<Value>) {
    let web = web();
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback");
    let address = listener.local_addr().expect("bound");
    let (page, handle) = (web.clone(), web.room("blue").expect("a room"));
    thread::spawn(move || page.serve(&listener));
    let run = runner::Run {
        address: format!("http://{address}/#{}", web.token("blue", Role::Guest, HOUR)),
        count: participants,
        camera: 3e5,
        slots: 0,
        time: Duration::from_secs(6),
        warm_up: Duration::from_secs(1),
        churn: false,
    };
    let run = thread::spawn(move || runner::run(&run));
    let folder = tempfile::tempdir().expect("a folder");
    let token_file = folder.path().join("token");
    std::fs::write(&token_file, web.token("blue", role, HOUR)).expect("written");
    std::fs::set_permissions(&token_file, std::fs::Permissions::from_mode(0o600)).expect("permissions");
    let client = Client::new(&RoomSettings { address, token_file }).expect("a token");
    let members = || -> Vec<Value> {
        let state: Value = serde_json::from_str(&handle.published().state).unwrap_or_default();
        state["members"].as_array().cloned().unwrap_or_default()
    };
    let until = Instant::now() + Duration::from_secs(20);
    while members().iter().filter(|member| member["up"]["rate"].as_u64() > Some(0)).count() < participants {
        assert!(Instant::now() < until, "the participants are there");
        thread::sleep(Duration::from_millis(50));
    }
    let answer = client.tell(addresses, sum());
    thread::sleep(Duration::from_millis(700));
    let channels = members().into_iter().map(|member| member["channel"].clone()).collect();
    run.join().expect("no panic").expect("the participants have run");
    (answer, channels)
}

#[test]
fn the_room_learns_the_sum_of_a_stations_channel_from_its_access_point() {
    let own: IpAddr = "127.0.0.1".parse().expect("an address");
    let other: IpAddr = "192.0.2.7".parse().expect("an address");
    assert_eq!(told(Role::Host, 1, &[other, own]), (Ok(()), vec![Value::from(30_000_000)]));
    assert_eq!(told(Role::Host, 1, &[other]), (Ok(()), vec![Value::Null]), "a station that is not here");
    assert_eq!(told(Role::Host, 2, &[own]).1, [Value::Null, Value::Null], "two behind one address");
    let (answer, channels) = told(Role::Guest, 1, &[own]);
    assert!(answer.expect_err("a guest").contains("by a host's token only"));
    assert_eq!(channels, [Value::Null]);
}
