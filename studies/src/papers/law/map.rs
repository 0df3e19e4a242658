//! Where Law pays: the depth of the hidden bursts over the duty of the neighbours, everything else as in the preset `hidden`.

use super::fingerprint;
use super::measure::{Runs, Video, add, change, percent};
use super::{CLAIMS, LAW, OFFICE};
use crate::papers::Part;
use crate::papers::digest::Digest;

/// LLRA is a reconstruction and is left out.
const RIVALS: [&str; 2] = ["Minstrel", "TS"];
/// Facts of the fingerprint that a cell is asked for.
const FACTS: usize = 6;

/// One cell: packets and frames of Law and of its rivals.
struct Cell {
    law: (Digest, Video),
    rivals: [(Digest, Video); 2],
}

impl Cell {
    fn of(runs: Runs<'_>, fade: &str, duty: &str) -> Self {
        let made = |scheme: &str| {
            let cell = |traffic| [scheme, "hidden", fade, duty, traffic, "100 s, 1 seed"];
            (runs.digest(&cell("UDP")), runs.video(&cell("video")))
        };
        Self { law: made(LAW), rivals: RIVALS.map(made) }
    }

    fn packets(&self, value: impl Fn(&Digest) -> Option<f64>) -> Option<f64> {
        change(
            self.rivals.iter().filter_map(|(digest, _)| value(digest)).reduce(f64::min),
            value(&self.law.0),
        )
    }

    fn frames(&self, value: impl Fn(&Video) -> Option<f64>) -> Option<f64> {
        change(self.rivals.iter().filter_map(|(_, video)| value(video)).reduce(f64::min), value(&self.law.1))
    }

    /// The number of facts of the fingerprint that the rivals show here.
    fn facts(&self) -> usize {
        let [(minstrel, _), (thompson, thompson_video)] = &self.rivals;
        let digests = || self.rivals.iter().map(|(digest, _)| digest);
        let videos = || self.rivals.iter().map(|(_, video)| video);
        let facts: [(&str, Option<f64>); FACTS] = [
            ("p999-minstrel", minstrel.quantile(0.999)),
            ("p999-ts", thompson.quantile(0.999)),
            ("runs", digests().filter_map(|digest| digest.runs_per_second(5)).reduce(f64::min)),
            ("packets", videos().filter_map(|video| video.packets_a_frame).reduce(f64::max)),
            ("over-fifth", percent(thompson_video.over_fifth_lost)),
            ("first-time", videos().filter_map(|video| video.first_time.quantile(1.0)).reduce(f64::min)),
        ];
        facts.into_iter().filter(|(key, value)| fingerprint::fits(key, *value)).count()
    }

    /// Changes by Law in percent against the best rival of each quantity (p99.9 of packets, p99 of frames, late frames), the
    /// packets that Law loses in percent, and the facts that fit.
    fn columns(&self) -> [Option<f64>; 5] {
        [
            self.packets(|digest| digest.quantile(0.999)),
            self.frames(|video| video.frames.quantile(0.99)),
            self.frames(|video| video.miss_rate),
            percent(self.law.0.loss_rate()),
            Some(self.facts() as f64),
        ]
    }
}

/// The map, as matrices and as a table.
pub(super) fn part(runs: Runs<'_>) -> Part {
    let [fades, duties] = ["fade", "duty"].map(|axis| OFFICE.names(axis, runs.effort));
    let mut grid = CLAIMS.table("map", &[]);
    let mut values: Vec<Vec<[Option<f64>; 5]>> = Vec::new();
    for fade in &fades {
        let row: Vec<_> = duties.iter().map(|duty| Cell::of(runs, fade, duty).columns()).collect();
        for (duty, columns) in duties.iter().zip(&row) {
            add(&mut grid, &[fade, duty], *columns);
        }
        values.push(row);
    }
    let names = || {
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        (named(&duties), named(&fades))
    };
    let panel = |title: &str, place: usize| {
        let rows = values.iter().map(|row| row.iter().map(|columns| columns[place]).collect());
        (title.to_owned(), rows.collect())
    };
    let changes = [("p99.9 of packets", 0), ("p99 of frames", 1), ("late frames", 2)];
    let charts = vec![
        CLAIMS.matrix(
            "map-changes",
            &[],
            names(),
            changes.map(|(title, place)| panel(title, place)).to_vec(),
        ),
        CLAIMS.matrix("map-loss", &[], names(), vec![panel("lost packets", 3)]),
        CLAIMS.matrix("map-facts", &[], names(), vec![panel("facts that fit", 4)]),
    ];
    Part { rows: Vec::new(), chapter: CLAIMS.chapter("map", vec![grid], charts) }
}
