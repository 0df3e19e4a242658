//! What is printed reads as the same scenario again.

use airbound_sim::scenario::{Overrides, Scenario};

#[test]
fn the_smallest_scenario_survives_printing() {
    let text = include_str!("../../../scenarios/hello.toml");
    let scenario = Scenario::parse(text, "hello.toml", &Overrides::none()).unwrap();
    let printed = scenario.to_toml();
    let again = Scenario::parse(&printed, "printed", &Overrides::none()).unwrap();
    assert_eq!(scenario, again);
}
