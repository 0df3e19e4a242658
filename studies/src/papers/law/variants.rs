//! Secs. 4.3 and 4.4: stronger routers (Fig. 19), another bound (Fig. 20), a competing flow (Fig. 21).

use super::measure::{Runs, Video, add, change, percent, text};
use super::{CLAIMS, LAW, MINSTREL, RIVALS};
use crate::papers::Part;

/// The signal of the throughput-aligned router: with one of them BBR's goodput under it is nearest to that under Law.
const SIGNALS: [&str; 4] = ["3 dB weaker", "6 dB weaker", "9 dB weaker", "12 dB weaker"];

const OPENWRT: &str = "OpenWrt 2x2";
const COMMERCIAL: &str = "commercial";

/// Video under what the paper varies, in one place.
pub(super) fn part(runs: Runs<'_>, place: &'static str) -> Part {
    let cell = |variants: &[&'static str]| [&[place, "200 s, 1 seed"], variants].concat();
    let video = |variants: &[&'static str]| runs.video(&cell(variants));
    let law_goodput = runs.goodput(&cell(&[LAW, "BBR"]));
    let distance =
        |goodput: Option<f64>| goodput.zip(law_goodput).map_or(f64::MAX, |(ours, law)| (ours - law).abs());
    let moved = SIGNALS.map(|signal| {
        let goodput = runs.goodput(&cell(&[MINSTREL, COMMERCIAL, signal, "BBR"]));
        (signal, goodput, video(&[MINSTREL, COMMERCIAL, signal, "video"]))
    });
    let aligned = moved.into_iter().min_by(|one, other| distance(one.1).total_cmp(&distance(other.1)));
    let Some((signal, goodput, aligned)) = aligned else { return Part::default() };
    let videos = [
        ("Law", video(&[LAW, "video"])),
        ("Law, bound 60 ms", video(&[LAW, "60 ms", "video"])),
        ("OpenWrt 2x2, same signal", video(&[MINSTREL, OPENWRT, "video"])),
        ("commercial, same signal", video(&[MINSTREL, COMMERCIAL, "video"])),
        ("commercial, same throughput", aligned),
        ("Law, 2 Mb/s compete", video(&[LAW, "video, 2 Mb/s compete"])),
        ("OpenWrt 2x2, 2 Mb/s compete", video(&[MINSTREL, OPENWRT, "video, 2 Mb/s compete"])),
    ];
    let rivals = RIVALS.map(|rival| video(&[rival, "video"]));

    let row = |key| CLAIMS.row(key);
    let [law, sixty, _, _, _, beside, openwrt_beside] = videos.each_ref().map(|(_, video)| video);
    let changed =
        |from: &Video, to: &Video, share| change(from.frames.quantile(share), to.frames.quantile(share));
    let mut rows = Vec::new();
    for (router, video) in &videos[2..5] {
        rows.push(row("routers").with("router", router).measured(changed(video, law, 0.999)));
    }
    let best = rivals.iter().filter_map(|rival| rival.frames.quantile(0.999)).reduce(f64::min);
    for (which, measured) in [
        ("p99 from 46 to 60 ms", changed(law, sixty, 0.99)),
        ("p99.9 from 60 to 46 ms", changed(sixty, law, 0.999)),
        ("p99.9 with 60 ms against the best baseline", change(best, sixty.frames.quantile(0.999))),
    ] {
        rows.push(row("other-bound").with("change", which).measured(measured));
    }
    for (percentile, share) in [("p99", 0.99), ("p99.9", 0.999)] {
        let changed = changed(openwrt_beside, beside, share);
        rows.push(row("competing").with("percentile", percentile).measured(changed));
    }

    let values = [("signal", signal.to_owned()), ("aligned", text(goodput)), ("law", text(law_goodput))];
    let mut grid = CLAIMS.table("variants", &values);
    for (name, video) in &videos {
        let [p50, p99, p999, late, _, bitrate] = video.columns();
        add(&mut grid, &[name], [p50, p99, p999, late, bitrate, percent(video.retransmitted)]);
    }
    let lines = videos.iter().map(|(name, video)| video.frames.line(name));
    let charts = vec![CLAIMS.tails("variants", &[], lines.collect())];
    let values = [("place", place.to_owned())];
    Part { rows, chapter: CLAIMS.filled_chapter("variants", &values, vec![grid], charts) }
}
