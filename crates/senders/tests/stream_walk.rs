//! Courses of PHY rates, as on a walk: the rate follows what arrives.

use airbound_units::{BitRate, ByteCount, Span};
use proptest::prelude::*;

use crate::stream_path::{Air, PACKET, Path};

/// Interval of reports.
const INTERVAL: Span = Span::from_millis(100);
/// Consecutive intervals in which the rate may be above what arrives while packets are lost: a loss is known an interval after the queue
/// has passed it on, and the rate falls to a quarter at most every second report.
const LONGEST: usize = 12;
/// Airtime of a full frame limits it, as in a driver.
const LONGEST_FRAME: Span = Span::from_millis(4);

/// A part of a walk.
#[derive(Debug, Clone, Copy)]
struct Leg {
    intervals: u32,
    /// PHY rate in Mb/s, and the told rate relative to it: a rate control samples others.
    phy: u64,
    told: [f64; 2],
    /// Airtime of others after each frame in us.
    rival: u64,
}

fn leg() -> impl Strategy<Value = Leg> {
    let phy = prop::sample::select(vec![6, 13, 20, 39, 65, 117, 180, 260, 390, 520, 780]);
    (1..25_u32, phy, prop::array::uniform2(0.6..1.5_f64), 0..5000_u64)
        .prop_map(|(intervals, phy, told, rival)| Leg { intervals, phy, told, rival })
}

/// An interval of reports, in Mb/s and packets.
#[derive(Debug, Clone, Copy)]
struct Row {
    rate: f64,
    arrived: f64,
    dropped: u64,
    #[expect(dead_code, reason = "it is printed")]
    level: Option<f64>,
}

fn walk(legs: &[Leg]) -> Vec<Row> {
    let mut air = Air::new(&[Path { queue: 300, ..Path::USUAL }]);
    air.run(Span::from_secs(3));
    let mut rows = Vec::new();
    let mut before = air.counts(0);
    for leg in legs {
        let path = air.path(0);
        path.phy = BitRate::from_mbps(leg.phy);
        path.window = path.phy.bytes_in(LONGEST_FRAME).as_u64().div_euclid(PACKET + 74).clamp(2, 64) as usize;
        path.rival = Span::from_micros(leg.rival);
        for interval in 0..leg.intervals {
            air.path(0).told = Some(BitRate::from_mbps(leg.phy).mul_f64(leg.told[interval as usize % 2]));
            air.run(INTERVAL);
            let after = air.counts(0);
            let arrived = BitRate::of(ByteCount::new((after.1 - before.1) * PACKET), INTERVAL).as_mbps_f64();
            let decision = air.decision(0);
            let rate = decision.rate.as_mbps_f64();
            rows.push(Row { rate, arrived, dropped: after.0 - before.0, level: decision.level });
            before = after;
        }
    }
    rows
}

/// The most consecutive intervals with losses in which the rate is above what arrives, and above the lowest rate.
fn longest_excess(rows: &[Row]) -> usize {
    let exceeds = |row: &Row| row.dropped > 0 && row.rate > 1.1 * row.arrived.max(1.0);
    rows.split(|row| !exceeds(row)).map(<[Row]>::len).max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_rate_stays_above_what_arrives_while_losses_go_on(legs in prop::collection::vec(leg(), 1..10)) {
        let rows = walk(&legs);
        let longest = longest_excess(&rows);
        prop_assert!(longest <= LONGEST, "{longest} intervals: {rows:#?}");
    }
}

#[test]
fn a_rate_falls_with_the_phy_rate_and_returns_with_it() {
    let leg = |phy| Leg { intervals: 10, phy, told: [0.9, 1.1], rival: 3000 };
    let down = [390, 260, 180, 117, 65, 39, 20, 13];
    let legs: Vec<Leg> = down.into_iter().chain(down.into_iter().rev()).map(leg).collect();
    let rows = walk(&legs);
    let longest = longest_excess(&rows);
    assert!(longest <= LONGEST, "{longest} intervals: {rows:#?}");
    // Beside the others' 3 ms a frame of the target's 32 packets takes 4.1 ms: 75 Mb/s.
    let last = &rows[rows.len() - 5..];
    let arrived = last.iter().map(|row| row.arrived).sum::<f64>() / last.len() as f64;
    assert!(arrived > 50.0, "{last:#?}");
}

#[test]
fn a_changed_phy_rate_is_followed_within_a_second() {
    for (before, after) in [(390, 195), (195, 390)] {
        let mut air = Air::new(&[Path { phy: BitRate::from_mbps(before), ..Path::USUAL }]);
        air.run(Span::from_secs(10));
        air.path(0).phy = BitRate::from_mbps(after);
        air.run(Span::from_secs(1));
        let (_, first) = air.counts(0);
        air.run(Span::from_secs(1));
        let (dropped, last) = air.counts(0);
        let arrived = BitRate::of(ByteCount::new((last - first) * PACKET), Span::from_secs(1)).as_mbps_f64();
        // Frames of 32 packets, each with an overhead of 214 us.
        let bits = 32.0 * 8.0 * 1e-6;
        let most = bits * PACKET as f64 / (214e-6 + bits * (PACKET + 74) as f64 / after as f64);
        assert!(
            (0.75..1.1).contains(&(arrived / most)),
            "{arrived} of {most} Mb/s after {before} to {after}"
        );
        assert_eq!(dropped, 0, "from {before} to {after} Mb/s");
    }
}
