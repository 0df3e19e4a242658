//! Experiments that move what differs from the paper: the rivals' retries and buffer, Law's bound and its rule of point 5, and
//! the hidden bursts themselves.

use super::measure::{Runs, add, percent};
use super::{CLAIMS, JUDGED, LAW, MINSTREL};
use crate::papers::Part;
use crate::papers::digest::Digest;

/// Scheme, and what differs from the judged place.
const CASES: [(&str, &[&str]); 15] = [
    (MINSTREL, &[]),
    (MINSTREL, &["three layers of ath9k"]),
    (MINSTREL, &["16 transmissions"]),
    (MINSTREL, &["8 transmissions"]),
    (MINSTREL, &["flow queue of 64"]),
    (MINSTREL, &["setting A"]),
    (MINSTREL, &["setting A", "flow queue of 64"]),
    (MINSTREL, &["0 dB"]),
    (LAW, &[]),
    (LAW, &["5: rate-down-retransmissions = 2"]),
    (LAW, &["86 ms"]),
    (LAW, &["166 ms"]),
    (LAW, &["0 dB"]),
    (MINSTREL, &[ANSWER]),
    (LAW, &[ANSWER]),
];
/// A case of video alone.
const ANSWER: &str = "loss by ranges";

pub(super) fn part(runs: Runs<'_>) -> Part {
    let mut grid = CLAIMS.table("causes", &[]);
    for (scheme, variants) in CASES {
        let cell = |traffic| [&[scheme, JUDGED, traffic, "200 s, 1 seed"], variants].concat();
        let video = runs.video(&cell("video"));
        let digest = if variants.contains(&ANSWER) { Digest::default() } else { runs.digest(&cell("UDP")) };
        let [_, p99, _, late, _, bitrate] = video.columns();
        let packets = [percent(digest.loss_rate()), digest.quantile(0.999), digest.runs_per_second(5)];
        let frames = [p99, late, percent(video.over_fifth_lost), percent(video.retransmitted), bitrate];
        let case = if variants.is_empty() { "as it is".to_owned() } else { variants.join(", ") };
        add(
            &mut grid,
            &[scheme, &case.replace("0 dB", "no hidden bursts")],
            packets.into_iter().chain(frames),
        );
    }
    Part { rows: Vec::new(), chapter: CLAIMS.chapter("causes", vec![grid], Vec::new()) }
}
