//! The rules over simulated air, in virtual time.

#[path = "../../examples/bitrate_on_air.rs"]
#[allow(dead_code, unreachable_pub, reason = "an example, with its main")]
mod example;

use airbound_link::Link;
use example::{Foundation, Met, Moonlight, Ours, Rule, stream};

fn on_air(place: &str, rule: &mut dyn Rule, seconds: u64) -> Met {
    stream(Link::named(place).expect("a place"), rule, seconds, true)
}

#[test]
fn fewer_frames_are_late_than_under_rules_that_wait_for_losses() {
    let ours = on_air("crowded-office", &mut Ours::new(30_000), 60);
    for rule in [&mut Moonlight::new(30_000) as &mut dyn Rule, &mut Foundation::new(30_000)] {
        let other = on_air("crowded-office", rule, 60);
        assert!(2.0 * ours.late() < other.late(), "{} {}", ours.late(), other.late());
    }
}

#[test]
fn a_steady_link_sees_one_change_in_ten_seconds_at_most() {
    let mut rule = Ours::new(20_000);
    let met = on_air("home-quiet", &mut rule, 60);
    assert_eq!(met.most_changes(), 1, "{:?}", rule.1);
    // All of it upwards, and no frame late.
    assert!(rule.kbps() > 27_000 && met.late() < 0.1, "{} {}", rule.kbps(), met.late());
}
