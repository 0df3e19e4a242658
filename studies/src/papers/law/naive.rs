//! Secs. 3.1 and 3.3: what simple changes to three layers of queues bring (Fig. 11), and a limit split over the layers beside one
//! over all of them (Figs. 13, 14).

use super::measure::{Runs, add, packet_line, percent};
use super::{CLAIMS, LAW, MINSTREL};
use crate::papers::Part;

/// Paths under Minstrel.
const PATHS: [&str; 7] = [
    "openwifi",
    "three layers of ath9k",
    "64 in hardware",
    "setting A",
    "setting B",
    "10 + 10 + 10 ms",
    "30 ms in all",
];

pub(super) fn part(runs: Runs<'_>, place: &'static str) -> Part {
    let digests = PATHS.map(|path| runs.digest(&[MINSTREL, path, place, "300 s, 2 seeds"]));
    let law = runs.digest(&[LAW, place, "300 s, 2 seeds"]);
    let names = [MINSTREL].into_iter().chain(PATHS.into_iter().skip(1)).chain([LAW]);

    let row = |key| CLAIMS.row(key);
    let [usual, _, _, a, b, split, one] = &digests;
    let over = |loss: Option<f64>, usual: Option<f64>| {
        loss.zip(usual).and_then(|(loss, usual)| (usual > 0.0).then(|| loss / usual))
    };
    let mut rows = Vec::new();
    for (claim, setting, digest, least) in
        [("naive-a", "setting A", a, Some(46.0)), ("naive-b", "setting B", b, usual.quantile(0.9999))]
    {
        let row = |key| row(key).with("claim", claim).with("setting", setting);
        let far_tail = digest.quantile(0.9999);
        rows.push(row("naive-loss").measured(over(digest.loss_rate(), usual.loss_rate())));
        rows.push(row("naive-tail").trend(far_tail > least).measured(far_tail));
    }
    rows.push(row("one-limit").measured(over(one.loss_rate(), split.loss_rate())));

    let mut grid = CLAIMS.table("naive", &[]);
    let mut lines = Vec::new();
    for (name, digest) in names.zip(digests.iter().chain([&law])) {
        let quantiles = [0.5, 0.99, 0.999, 0.9999, 1.0].map(|share| digest.quantile(share));
        add(&mut grid, &[name], [percent(digest.loss_rate())].into_iter().chain(quantiles));
        lines.push(packet_line(name, digest));
    }
    let charts = vec![CLAIMS.tails("naive", &[], lines)];
    let values = [("place", place.to_owned())];
    Part { rows, chapter: CLAIMS.filled_chapter("naive", &values, vec![grid], charts) }
}
