//! Frames of real-time video: loss that error correction copes with (Sec. 2.3, Fig. 10), Law and its baselines (Sec. 4.3, Figs. 17
//! and 18b).

use airbound_report::Bar;

use super::measure::{Runs, Video, add, change, percent};
use super::{CLAIMS, JUDGED, MINSTREL, PLACES, RIVALS, SCHEMES, length};
use crate::papers::Part;
use crate::papers::row::ClaimRow;

/// Video with and without one percent of additional loss, over an air that loses nothing, so that it is all there is.
pub(super) fn correction(runs: Runs<'_>) -> Part {
    let cases = [("no additional loss", "video"), ("1 % additional loss", "video, 1 % lost on the wire")];
    let videos = cases.map(|(name, traffic)| (name, runs.video(&[MINSTREL, "quiet", traffic])));
    let [clean, lossy] = videos.each_ref().map(|(_, video)| video.frames.quantile(0.999));
    let rows = vec![CLAIMS.row("fec-copes").measured(clean.zip(lossy).map(|(clean, lossy)| lossy - clean))];
    let lines = videos.iter().map(|(name, video)| video.frames.line(name));
    let charts = vec![CLAIMS.tails("fec", &[], lines.collect())];
    Part { rows, chapter: CLAIMS.chapter("fec", Vec::new(), charts) }
}

/// The frames of all schemes in all surroundings.
pub(super) fn schemes(runs: Runs<'_>) -> Part {
    let all = PLACES
        .map(|place| (place, SCHEMES.map(|scheme| runs.video(&[scheme, place, "video", length(place)]))));
    let judged = all.iter().find(|(place, _)| *place == JUDGED);
    let rows = judged.map(|(_, videos)| rows(videos)).unwrap_or_default();

    let mut grid = CLAIMS.table("frames", &[]);
    for (place, videos) in &all {
        for (scheme, video) in SCHEMES.iter().zip(videos) {
            let shares = [video.lossy, video.over_fifth_lost, video.retransmitted].map(percent);
            add(&mut grid, &[place, scheme], video.columns().into_iter().chain(shares));
        }
    }
    let mut changes = CLAIMS.table("frame-changes", &[]);
    for (rival, name) in RIVALS.iter().enumerate() {
        for (place, [law, rivals @ ..]) in &all {
            let changed = |value: &dyn Fn(&Video) -> Option<f64>| change(value(&rivals[rival]), value(law));
            let columns = [
                changed(&|video| video.frames.quantile(0.99)),
                changed(&|video| video.frames.quantile(0.999)),
                changed(&|video| video.miss_rate),
                changed(&|video| video.stall_rate),
                changed(&|video| video.bitrate_mbps),
            ];
            add(&mut changes, &[name, place], columns);
        }
    }

    let mut charts = Vec::new();
    for (place, videos) in &all {
        let lines = SCHEMES.iter().zip(videos).map(|(scheme, video)| video.frames.line(scheme));
        charts.push(CLAIMS.tails("frames", &[("place", (*place).to_owned())], lines.collect()));
    }
    let lines = SCHEMES
        .iter()
        .zip(judged.iter().flat_map(|(_, videos)| videos))
        .map(|(scheme, video)| video.first_time.line(scheme));
    charts.push(CLAIMS.tails("first-time", &[], lines.collect()));
    let series = SCHEMES.iter().enumerate().map(|(scheme, name)| {
        let late = all.iter().map(|(_, videos)| percent(videos[scheme].miss_rate));
        ((*name).to_owned(), late.map(|late| late.map(|value| Bar { value, ..Bar::default() })).collect())
    });
    charts.push(CLAIMS.bars("late-frames", &[], PLACES.map(str::to_owned).to_vec(), series.collect()));
    Part { rows, chapter: CLAIMS.chapter("frames", vec![grid, changes], charts) }
}

fn rows([law, rivals @ ..]: &[Video; 4]) -> Vec<ClaimRow> {
    let row = |key| CLAIMS.row(key);
    let mut rows = Vec::new();
    for (name, rival) in RIVALS.iter().zip(rivals) {
        for (percentile, share) in [("p99", 0.99), ("p99.9", 0.999)] {
            let changed = change(rival.frames.quantile(share), law.frames.quantile(share));
            rows.push(row("frame-tail").with("percentile", percentile).with("rival", name).measured(changed));
        }
    }
    for (name, rival) in RIVALS.iter().zip(rivals) {
        let changed = change(rival.miss_rate, law.miss_rate);
        rows.push(row("late-frames").with("rival", name).measured(changed));
    }
    let [minstrel, llra, thompson] = rivals;
    // A rival without any counts as one with a single frame.
    let at_least_one =
        |share: Option<f64>| share.map(|share| share.max(1.0 / thompson.frames.count() as f64));
    let over_fifth = change(at_least_one(thompson.over_fifth_lost), law.over_fifth_lost);
    rows.push(row("over-fifth-lost").measured(over_fifth));
    let lossy = at_least_one(thompson.lossy).zip(law.lossy);
    rows.push(row("lossy-frames").measured(lossy.map(|(rival, law)| law / rival)));
    let best = [minstrel, thompson].into_iter().filter_map(|video| video.bitrate_mbps).reduce(f64::max);
    for (rival, theirs) in [("the best of Minstrel and TS", best), ("LLRA", llra.bitrate_mbps)] {
        let ratio = law.bitrate_mbps.zip(theirs).map(|(law, theirs)| law / theirs);
        rows.push(row("bitrate").with("rival", rival).measured(ratio));
    }
    let longest = law.first_time.quantile(1.0);
    let theirs = || rivals.iter().map(|video| video.first_time.quantile(1.0));
    let shortest = longest.is_some() && theirs().all(|rival| rival > longest);
    rows.push(row("first-time").trend(shortest).measured(longest));
    rows
}
