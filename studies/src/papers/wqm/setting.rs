//! Points of the testbed that the paper leaves open, over three hops: streams and width of the channel, acknowledgements, when aggregates
//! are formed, and WQM's B_min and B_initial.

use super::measure::{Figures, figures};
use super::{CLAIMS, CODEL, FIFO, PIE, WQM};
use crate::Effort;
use crate::papers::experiment::Results;
use crate::papers::{Part, Study, or_empty};

pub(super) struct Setting;

const PHYS: [&str; 5] =
    ["1 stream, 20 MHz", "2 streams, 20 MHz", "3 streams, 20 MHz", "2 streams, 40 MHz", "3 streams, 40 MHz"];
/// The PHY of the paper's cards.
const JUDGED: &str = PHYS[2];
/// Segments that the receiver acknowledges at once, in place of two.
const ACKS: [&str; 4] = [
    "8 segments an acknowledgement",
    "16 segments an acknowledgement",
    "32 segments an acknowledgement",
    "an acknowledgement for what arrives at once",
];
/// When aggregates are formed, in place of ath9k's two ahead.
const FORMS: [&str; 3] = ["one aggregate in hardware", "one at the source", "formed at access"];
const COMPARED: [&str; 4] = [FIFO, CODEL, PIE, WQM];
const FLOORS: [&str; 4] = ["WQM, B_min 16", WQM, "WQM, B_min 64", "WQM, B_initial of 3 hops"];

const fn cell<'a>(setting: &'a str, scheme: &'a str) -> [&'a str; 3] {
    ["3 hops", setting, scheme]
}

impl Study for Setting {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let of = |phy, scheme| figures(&cell(phy, scheme), effort, results);
        let best = |phy| {
            let others = [FIFO, CODEL, PIE].into_iter().filter_map(|scheme| of(phy, scheme));
            others.map(|figures| figures.goodput.mean).reduce(f64::max)
        };
        let given_up = |phy, ours: &Figures| best(phy).map(|best| 100.0 * (1.0 - ours.goodput.mean / best));
        let mut setting = CLAIMS.table("setting", &[]);
        for phy in PHYS.into_iter().chain(ACKS).chain(FORMS) {
            let rtts = COMPARED.map(|scheme| of(phy, scheme).map(|figures| figures.rtt()));
            let over = |place: usize| rtts[place].zip(rtts[3]).map(|(rtt, wqm)| rtt / wqm);
            let ours = of(phy, WQM);
            let goodput = ours.as_ref().map(|figures| figures.goodput.mean);
            let lost = ours.as_ref().and_then(|figures| given_up(phy, figures));
            let values = rtts.into_iter().chain([over(0), over(1), over(2), goodput, lost]);
            let row = [phy.to_owned()].into_iter().chain(values.map(or_empty));
            setting.rows.push(row.map(Into::into).collect());
        }
        let mut floor = CLAIMS.table("floor", &[]);
        for scheme in FLOORS {
            let Some(figures) = of(JUDGED, scheme) else { continue };
            let lost = or_empty(given_up(JUDGED, &figures));
            let name = if scheme == WQM { "WQM, B_min 32" } else { scheme };
            let [rtt, _, goodput, _, mpdus] = figures.columns();
            floor.rows.push([name.to_owned(), rtt, goodput, lost, mpdus].map(Into::into).to_vec());
        }
        Part { rows: Vec::new(), chapter: CLAIMS.chapter("setting", vec![setting, floor], Vec::new()) }
    }
}
