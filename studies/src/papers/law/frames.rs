//! Frames of real-time video: loss that error correction copes with (Sec. 2.3, Fig. 10), Law and its baselines (Sec. 4.3, Figs. 17
//! and 18b).

use airbound_report::Bar;

use super::measure::{Runs, Video, add, change, changes, percent};
use super::{CLAIMS, JUDGED, LAW, MINSTREL, PLACES, RIVALS, SCHEMES, length};
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
    Part { rows: rows(runs), chapter: CLAIMS.chapter("frames", vec![grid, changes], charts) }
}

/// The claims, each over the runs of the judged place.
fn rows(runs: Runs<'_>) -> Vec<ClaimRow> {
    let each = |scheme: &str| runs.videos(&[scheme, JUDGED, "video", length(JUDGED)]);
    let (law, rivals) = (each(LAW), RIVALS.map(each));
    let row = |key| CLAIMS.row(key);
    let mut rows = Vec::new();
    for (name, rival) in RIVALS.iter().zip(&rivals) {
        for (percentile, share) in [("p99", 0.99), ("p99.9", 0.999)] {
            let changed = changes(rival, &law, |video| video.frames.quantile(share));
            rows.push(row("frame-tail").with("percentile", percentile).with("rival", name).over(changed));
        }
    }
    for (name, rival) in RIVALS.iter().zip(&rivals) {
        rows.push(row("late-frames").with("rival", name).over(changes(rival, &law, |video| video.miss_rate)));
    }
    let [minstrel, llra, thompson] = &rivals;
    // A rival without any counts as one with a single frame.
    let at_least_one =
        |share: Option<f64>, video: &Video| share.map(|share| share.max(1.0 / video.frames.count() as f64));
    let over_fifth = |video: &Video| at_least_one(video.over_fifth_lost, video);
    rows.push(row("over-fifth-lost").over(changes(thompson, &law, over_fifth)));
    let lossy = changes(thompson, &law, |video| at_least_one(video.lossy, video));
    rows.push(row("lossy-frames").over(lossy.into_iter().map(|change| 1.0 + change / 100.0)));
    let bitrates =
        |videos: &[Video]| videos.iter().filter_map(|video| video.bitrate_mbps).collect::<Vec<_>>();
    let (law_bitrates, llra_bitrates) = (bitrates(&law), bitrates(llra));
    let both = bitrates(minstrel).into_iter().zip(bitrates(thompson));
    let best: Vec<f64> = both.map(|(one, other)| one.max(other)).collect();
    for (rival, theirs) in [("the best of Minstrel and TS", best), ("LLRA", llra_bitrates)] {
        let ratios = law_bitrates.iter().zip(theirs).map(|(law, theirs)| law / theirs);
        rows.push(row("bitrate").with("rival", rival).over(ratios));
    }
    let longest =
        |videos: &[Video]| videos.iter().filter_map(|video| video.first_time.quantile(1.0)).reduce(f64::max);
    let ours = longest(&law);
    let shortest = ours.is_some() && rivals.iter().all(|rival| longest(rival) > ours);
    rows.push(row("first-time").trend(shortest).measured(ours));
    rows
}
