//! str0m's bandwidth estimation meets on our air what its own emulator does not have: delays with a tail, and few losses.

#[path = "../examples/str0m_on_air.rs"]
#[allow(dead_code, reason = "its main")]
mod example;

use airbound_link::{Direction, Link};
use example::{Emulated, Met, send};
use netem::NetemConfig;

fn on_air(place: &str, direction: Direction) -> Met {
    send(Link::named(place).expect("a place"), direction).expect("a call")
}

#[test]
fn netem_loses_packets_and_our_air_delays_them() {
    str0m::crypto::from_feature_flags().install_process_default();
    let emulated = send(Emulated::new(NetemConfig::wifi_congested()), Direction::Down).expect("a call");
    assert!(emulated.lost() > 5.0 && emulated.delay(99) < 3.0 * emulated.delay(50), "{emulated:?}");
    let up = on_air("my-flat", Direction::Up);
    assert!(
        up.lost() < 2.0 && up.delay(99) > 3.0 * up.delay(50),
        "{} {} {}",
        up.lost(),
        up.delay(50),
        up.delay(99)
    );
    // A queue that grows without loss takes the estimate down, where netem's has its loss.
    let hotel = on_air("hotel", Direction::Down);
    assert!(hotel.lost() < 2.0 && hotel.mean() < 3e6, "{} {}", hotel.lost(), hotel.mean());
}
