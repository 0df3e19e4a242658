//! Latency, loss and runs of losses of UDP packets at 10 Mb/s: under Law and its baselines (Sec. 4.2, Fig. 16), and over the bound
//! (appendix B, Fig. 24).

use airbound_report::Line;

use super::breakdown::again_share;
use super::measure::{Runs, add, change, changes, packet_line, percent, text};
use super::{CLAIMS, JUDGED, LAW, PLACES, RIVALS, SCHEMES, length};
use crate::papers::digest::Digest;
use crate::papers::row::ClaimRow;
use crate::papers::{Part, shown};

/// The packets of all schemes in all surroundings.
pub(super) fn schemes(runs: Runs<'_>) -> Part {
    let [law, rivals @ ..] = SCHEMES;
    let [minstrel, llra, thompson] = rivals;
    let schemes = [law, minstrel, llra, thompson, "ideal rate, 46 ms"];
    let all = PLACES.map(|place| (place, schemes.map(|scheme| runs.digest(&[scheme, place, length(place)]))));
    let mut grid = CLAIMS.table("packets", &[]);
    for (place, digests) in &all {
        for (scheme, digest) in schemes.iter().zip(digests) {
            let quantiles = [0.5, 0.99, 0.999, 0.9999, 1.0].map(|share| digest.quantile(share));
            let lost = [percent(digest.loss_rate()), percent(digest.late_rate())];
            let in_a_row = [digest.runs_per_second(5), digest.groups_per_second(5), again_share(digest)];
            add(&mut grid, &[place, scheme], quantiles.into_iter().chain(lost).chain(in_a_row));
        }
    }
    let mut changes = CLAIMS.table("packet-changes", &[]);
    for (rival, name) in RIVALS.iter().enumerate() {
        for (place, [law, rivals @ .., _]) in &all {
            let changed = |value: &dyn Fn(&Digest) -> Option<f64>| change(value(&rivals[rival]), value(law));
            let quantiles = [0.99, 0.999].map(|share| changed(&|digest| digest.quantile(share)));
            let in_a_row = changed(&|digest| digest.runs_per_second(5));
            add(&mut changes, &[name, place], quantiles.into_iter().chain([in_a_row]));
        }
    }
    let charts = all.iter().map(|(place, digests)| {
        let lines = SCHEMES.iter().zip(digests).map(|(scheme, digest)| packet_line(scheme, digest));
        CLAIMS.tails("packets", &[("place", (*place).to_owned())], lines.collect())
    });
    let chapter = CLAIMS.chapter("packets", vec![grid, changes], charts.collect());
    Part { rows: rows(runs), chapter }
}

/// The claims, each over the runs of the judged place.
fn rows(runs: Runs<'_>) -> Vec<ClaimRow> {
    let each = |scheme: &str| runs.digests(&[scheme, JUDGED, length(JUDGED)]);
    let (law, rivals) = (each(LAW), RIVALS.map(each));
    let together = |digests: &[&Digest]| Digest::merged(digests.iter().copied());
    let row = |key| CLAIMS.row(key);
    let mut rows = Vec::new();
    for (name, rival) in RIVALS.iter().zip(&rivals) {
        for (percentile, share) in [("p99", 0.99), ("p99.9", 0.999)] {
            let row = row("packet-tail").with("percentile", percentile).with("rival", name);
            let changed = changes(rival, &law, |digest| digest.quantile(share));
            rows.push(row.baseline(together(rival).quantile(0.999)).over(changed));
        }
    }
    rows.push(row("longest-packet").measured(together(&law).quantile(1.0)));
    let ideal = text(percent(together(&each("ideal rate, 46 ms")).loss_rate()));
    let lost = law.iter().filter_map(|digest| percent(digest.loss_rate()));
    rows.push(row("packet-loss").with("ideal", ideal).over(lost));
    let missed = |digest: &Digest| Some(100.0 * (digest.loss_rate()? + digest.late_rate()?));
    let [minstrel, llra, thompson] = rivals.each_ref().map(|rival| missed(&together(rival)));
    let best = [minstrel, thompson].into_iter().flatten().reduce(f64::min);
    for (rival, best) in [(BOTH, best), ("LLRA", llra)] {
        let ours = law.iter().copied().filter_map(missed);
        rows.push(row("missed").with("rival", rival).reference(best).over(ours));
    }
    for (name, rival) in RIVALS.iter().zip(&rivals) {
        // A run without any counts as one with a single one.
        let runs_of_five =
            |digest: &&Digest| digest.runs_per_second(5).map(|runs| runs.max(1.0 / digest.seconds));
        rows.push(row("loss-runs").with("rival", name).over(changes(rival, &law, runs_of_five)));
    }
    rows
}

/// The rivals of headlines.
const BOTH: &str = "Minstrel and TS";

/// Bounds of Law in ms, the paper's among them.
const BOUNDS: [f64; 6] = [16.0, 26.0, 46.0, 60.0, 86.0, 166.0];
/// Shares of packets that shall keep the bound, in percent; the paper wants to lose less than 1 %.
const ALPHAS: [f64; 5] = [95.0, 98.0, 99.0, 99.5, 99.9];

/// Thresholds of the baselines, and Law over several bounds.
pub(super) fn bounds(runs: Runs<'_>) -> Part {
    let rivals = RIVALS.map(|rival| runs.digest(&[rival, JUDGED]));
    let law = |bound: &f64| runs.digest(&[LAW, JUDGED, &format!("{bound} ms"), "300 s, 2 seeds"]);
    let laws = BOUNDS.map(|bound| (bound, law(&bound)));

    let betas = || rivals.iter().filter_map(|digest| digest.quantile_of_all(0.99));
    let row = |end| CLAIMS.row("interval").with("end", end);
    let rows = vec![
        row("lower").measured(betas().reduce(f64::min)),
        row("upper").measured(betas().reduce(f64::max)),
    ];

    let values = [("place", JUDGED.to_owned())];
    let mut thresholds = CLAIMS.table("thresholds", &values);
    for alpha in ALPHAS {
        let betas = rivals.iter().map(|digest| digest.quantile_of_all(alpha / 100.0));
        let betas = betas.map(|beta| beta.map_or("too many lost".to_owned(), shown));
        thresholds.rows.push([shown(alpha)].into_iter().chain(betas).map(Into::into).collect());
    }
    let mut bounds = CLAIMS.table("bounds", &values);
    for (bound, digest) in &laws {
        let quantiles = [0.99, 0.999, 1.0].map(|share| digest.quantile(share));
        let loss = percent(digest.loss_rate());
        add(&mut bounds, &[&shown(*bound)], [loss].into_iter().chain(quantiles));
    }
    let points = laws.iter().filter_map(|(bound, digest)| Some((*bound, percent(digest.loss_rate())?)));
    let lines = vec![Line::whole(JUDGED, points)];
    let tables = vec![thresholds, bounds];
    Part { rows, chapter: CLAIMS.chapter("choose", tables, vec![CLAIMS.lines("bounds", &[], lines)]) }
}
