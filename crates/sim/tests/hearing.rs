//! Transmitters that do not all hear each other.

use crate::simulate;
use simulate::assert_within;

/// Two saturated stations of 802.11a send to the access point at a rate in Mb/s.
fn uplinks(rate: u32, air: &str, hearing: &str) -> String {
    let control = if rate == 6 { 6 } else { 24 };
    format!(
        r#"
duration = "3 s"
warm-up = "100 ms"
[air]
standard = "legacy"
edca = "dcf"
beacons = false
control-rate = "{control} Mbit/s"
{air}
[access-point]
preset = "direct"
[uplink]
queue = {{ kind = "fifo", limit = {{ packets = 20 }} }}
rate = "fixed"
path = {{ max-grants = 7 }}
[wire]
rate = "unlimited"
delay = "0 ms"
[[station]]
name = "left"
rate = "OFDM {rate} Mbit/s"
[[station]]
name = "right"
rate = "OFDM {rate} Mbit/s"
[[flow]]
name = "left"
kind = "cbr"
direction = "up"
station = "left"
rate = "{rate} Mbit/s"
size = "1470 B"
[[flow]]
name = "right"
kind = "cbr"
direction = "up"
station = "right"
rate = "{rate} Mbit/s"
size = "1470 B"
{hearing}
"#
    )
}

const HIDDEN: &str = "[hearing]\nmatrix = { left = [], right = [] }";
const RTS: &str = "rts-threshold = \"0 B\"";

fn goodput(text: &str) -> f64 {
    simulate::run(text).summary.flows.iter().map(|flow| flow.goodput_mbps).sum()
}

#[test]
fn a_hearing_without_gaps_changes_nothing() {
    let plain = simulate::observed(&uplinks(54, "", ""));
    for complete in ["matrix = {}", "matrix = { left = [\"right\"], right = [\"left\"], access-point = [] }"]
    {
        let other = simulate::observed(&uplinks(54, "", &format!("[hearing]\n{complete}")));
        assert_eq!(other.0.summary, plain.0.summary);
        assert_eq!(other.1, plain.1);
    }
}

#[test]
fn hidden_stations_collide_and_rts_helps() {
    for (rate, most_without, least_with) in [(54, 0.85, 0.85), (6, 0.25, 0.9)] {
        let heard = goodput(&uplinks(rate, RTS, ""));
        let hidden = goodput(&uplinks(rate, "", HIDDEN));
        let protected = goodput(&uplinks(rate, RTS, HIDDEN));
        assert!(hidden < most_without * heard, "{rate} Mb/s: {hidden} of {heard}");
        assert!(protected > least_with * heard, "{rate} Mb/s: {protected} of {heard}");
    }
}

#[test]
fn a_wall_is_worth_a_matrix() {
    let wall = "[hearing]\nsize = [\"20 m\", \"10 m\"]\nreference-loss = \"40 dB\"\n\
                walls = [{ from = [\"10 m\", \"0 m\"], to = [\"10 m\", \"6 m\"], loss = \"60 dB\" }]\n\
                places = { access-point = [\"10 m\", \"9 m\"], left = [\"5 m\", \"2 m\"], right = [\"15 m\", \"2 m\"] }";
    let matrix = simulate::observed(&uplinks(54, "", HIDDEN));
    let walls = simulate::observed(&uplinks(54, "", wall));
    assert_eq!(walls.0.summary, matrix.0.summary);
    assert_eq!(walls.1, matrix.1);
    let thin = simulate::observed(&uplinks(54, "", &wall.replace("60 dB", "6 dB")));
    assert_eq!(thin.1, simulate::observed(&uplinks(54, "", "")).1);
}

#[test]
fn the_access_point_alone_is_not_disturbed() {
    // Downwards only one transmits; its exchanges and its waits are those of the other channel.
    let down = |hearing: &str| {
        let text = uplinks(54, "", hearing).replace("direction = \"up\"", "direction = \"down\"");
        simulate::run(&text.replace("rate = \"54 Mbit/s\"", "rate = \"20 Mbit/s\""))
    };
    let (plain, hidden) = (down(""), down(HIDDEN));
    let sum = |outcome: &airbound_sim::Outcome| -> f64 {
        outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).sum()
    };
    assert_within(sum(&hidden), sum(&plain), 0.001, "goodput");
    assert_within(hidden.summary.air.busy_share, plain.summary.air.busy_share, 0.001, "busy share");
    assert_eq!(hidden.summary.air.collision_rate, Some(0.0));
}

#[test]
fn relays_out_of_hearing_reuse_the_channel() {
    // Two chains through relays: those behind the first relay do not hear those behind the second.
    let text = |hearing: &str| {
        format!(
            "duration = \"2 s\"\nwarm-up = \"100 ms\"\n[air]\nstandard = \"ht\"\nbeacons = false\n\
             [access-point]\npreset = \"direct\"\n[scheme]\nqueue = \"fifo\"\nrate = \"fixed\"\n\
             [[station]]\nname = \"east\"\n[[station]]\nname = \"west\"\n\
             [[station]]\nname = \"far-east\"\nvia = \"east\"\n[[station]]\nname = \"far-west\"\nvia = \"west\"\n\
             [[flow]]\nname = \"e\"\nkind = \"cbr\"\nstation = \"far-east\"\nrate = \"200 Mbit/s\"\nsize = \"1470 B\"\n\
             [[flow]]\nname = \"w\"\nkind = \"cbr\"\nstation = \"far-west\"\nrate = \"200 Mbit/s\"\nsize = \"1470 B\"\n\
             {hearing}\n"
        )
    };
    let apart =
        "[hearing]\nmatrix = { east = [\"far-east\"], west = [\"far-west\"], far-east = [], far-west = [] }";
    let (shared, apart) = (simulate::run(&text("")), simulate::run(&text(apart)));
    let airtime = |outcome: &airbound_sim::Outcome| -> f64 {
        outcome.summary.stations.iter().map(|station| station.airtime_share).sum()
    };
    assert!(airtime(&shared) <= 1.0 && airtime(&apart) > 1.05, "{} {}", airtime(&shared), airtime(&apart));
}
