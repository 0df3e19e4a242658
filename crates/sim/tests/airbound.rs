//! The parts of `airbound` outside of its queue: categories of thin flows, airtime of a session.

use airbound_wifi::Category;

use crate::simulate::{Rows, observed};

/// A call and a headset with demands, and a download, over one queue.
fn call_beside_headset(queue: &str) -> Rows {
    observed(&format!(
        r#"duration = "1 s"
warm-up = "0 s"
[scheme]
queue = {queue}
[[station]]
name = "s"
count = 2
rate = "HT20 MCS7 1SS LGI"
[[flow]]
name = "call"
kind = "rtc"
station = "s-1"
rate = "2 Mbit/s"
demand = "30 ms"
[[flow]]
name = "headset"
kind = "vr"
station = "s-2"
rate = "20 Mbit/s"
demand = "30 ms"
[[flow]]
name = "undemanding"
kind = "cbr"
station = "s-1"
rate = "1 Mbit/s"
"#
    ))
    .1
}

#[test]
fn only_a_thin_flow_with_a_demand_travels_as_video() {
    let [be, vi] = [Category::Be, Category::Vi].map(|category| category.index() as u8);
    let of = |queue: &str| {
        let rows = call_beside_headset(queue);
        [0, 1, 2].map(|flow| {
            let mut seen: Vec<_> =
                rows.packets.iter().filter(|row| row.flow == flow).map(|row| row.category).collect();
            seen.dedup();
            assert_eq!(seen.len(), 1, "{queue}: flow {flow} changes");
            seen[0]
        })
    };
    assert_eq!(of(r#""airbound""#), [vi, be, be]);
    assert_eq!(of(r#"{ kind = "airbound", thin = "1 Mbit/s" }"#), [be; 3]);
    assert_eq!(of(r#""last-pq""#), [be; 3]);
}

/// Airtime of the station of a session over that of a station with a download.
fn session_over_download(queue: &str) -> f64 {
    let (outcome, _) = observed(&format!(
        r#"duration = "3 s"
warm-up = "2 s"
[access-point]
preset = "direct"
[scheme]
queue = {queue}
session = "plain"
[[station]]
name = "phone"
rate = "HT20 MCS3 1SS LGI"
[[station]]
name = "television"
rate = "HT20 MCS3 1SS LGI"
[[flow]]
name = "film"
kind = "cbr"
rate = "40 Mbit/s"
station = "television"
[session]
congestion = "bbr"
[[session.client]]
name = "phone"
station = "phone"
[[session.client]]
name = "remote"
count = 3
wire = "50 Mbit/s"
"#
    ));
    let share = |name: &str| {
        outcome
            .summary
            .stations
            .iter()
            .find(|station| station.name == name)
            .map_or(0.0, |one| one.airtime_share)
    };
    share("phone") / share("television")
}

#[test]
fn a_station_of_a_session_gets_its_weight_of_the_air() {
    let equal = session_over_download(r#"{ kind = "airbound", session-weight = 256 }"#);
    let twice = session_over_download(r#"{ kind = "airbound", session-weight = 512 }"#);
    assert!(twice > 1.3 * equal, "{twice} of a download's airtime, {equal} without a weight");
}
