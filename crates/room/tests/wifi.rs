//! A room whose participant is a station of simulated Wi-Fi: what the air carries decides what it sends and sees.

use airbound_scenario::{Overrides, Scenario};
use airbound_senders::conference::room::{RoomConfig, RoomPolicy};

use crate::world::World;
use way::Wifi;

#[path = "world/wifi.rs"]
mod way;

/// Camera of each participant, bit/s.
const CAMERA: f64 = 4e6;

/// A station at a PHY rate beside another one that uploads.
fn scenario(rate: &str) -> Scenario {
    let flow = |name: &str, direction: &str| {
        format!(
            "[[flow]]\nname = \"{name}\"\nkind = \"cbr\"\nstation = \"own\"\ndirection = \"{direction}\"\nrate = \"1 kbit/s\"\n"
        )
    };
    let text = format!(
        r#"
duration = "60 s"
warm-up = "1 s"

[air]
standard = "vht"
width = "20 MHz"

[scheme]
queue = "linux"
rate = "fixed"

[[station]]
name = "own"
rate = "{rate}"

[[station]]
name = "other"
rate = "{rate}"

[[flow]]
name = "upload"
kind = "tcp"
station = "other"
direction = "up"
limit = "1 Mbit/s"

{}{}"#,
        flow("to-participant", "down"),
        flow("to-room", "up"),
    );
    Scenario::parse(&text, "wifi.rs", &Overrides::default()).expect("valid")
}

/// Rates at which the participant on Wi-Fi sends and receives, and the one on a wire receives, Mb/s.
fn rates(rate: &str) -> [f64; 3] {
    let mut world = World::new(RoomConfig { policy: RoomPolicy::Plain, rho: 0.0, ..RoomConfig::default() });
    world.add(CAMERA, 1e9, 1);
    let wifi = Wifi::new(&scenario(rate), 1, world.start).expect("valid");
    world.guests[0].way = Some(Box::new(wifi));
    world.add(CAMERA, 1e9, 1);
    world.run_until(20.0);
    let sent = world.guests[0].synthetic.counts().sent;
    let received = world.received_until(30.0);
    let sent = (world.guests[0].synthetic.counts().sent - sent) as f64 * 8.0 / 10.0;
    [sent, received[0], received[1]].map(|rate| rate * 1e-6)
}

#[test]
fn fast_wifi_carries_all_and_slow_wifi_what_fits() {
    let [sent, down, up] = rates("VHT20 MCS8 1SS LGI");
    // The largest layer has 68 % of the camera.
    assert!(sent > 3.6 && down > 2.4 && up > 2.4, "sends {sent}, receives {down}, the other one {up} Mb/s");
    // 6.5 Mb/s on the air are some 5.5 of datagrams, 1 Mb/s of them the other station's.
    let [sent, down, up] = rates("VHT20 MCS0 1SS LGI");
    assert!(sent + down < 5.0, "sends {sent}, receives {down} Mb/s");
    assert!(sent > 1.0 && up > 0.2, "sends {sent}, the other one receives {up} Mb/s");
}
