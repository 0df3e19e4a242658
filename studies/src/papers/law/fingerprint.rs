//! Facts of the paper's place without Law, by which the presets `hidden` and `distant` were chosen, beside the same of every preset. No run of this
//! study has Law in it (docs/understand/office-channel.md).

use std::collections::BTreeMap;
use std::sync::LazyLock;

use airbound_record::Stage;
use airbound_report::Column;
use serde::Deserialize;

use super::breakdown::again_share;
use super::measure::{Runs, Video, percent, text};
use super::{CLAIMS, JUDGED, MINSTREL, RIVALS};
use crate::papers::Part;
use crate::papers::digest::{Digest, STEPS};

/// The facts, as `fingerprint.toml` lists them.
static FACTS: LazyLock<Facts> = LazyLock::new(|| {
    let facts = toml::from_str(include_str!("fingerprint.toml"));
    facts.unwrap_or_else(|error| panic!("the fingerprint of law is wrong: {error}"))
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Facts {
    fact: Vec<Fact>,
}

/// One fact that the paper tells, or that follows from two of its figures.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fact {
    key: String,
    text: String,
    /// The paper's value, in words.
    paper: String,
    /// Least and greatest value that fit.
    range: (f64, f64),
}

/// Fig. 8 has three levels of the signal; these are 10 dB apart, the middle one that of the place.
const LEVELS: [&str; 3] = ["10 dB stronger", "same signal", "10 dB weaker"];
const SLOWEST: usize = STEPS - 1;

/// The measured facts of a place, by key.
fn measured(runs: Runs<'_>, place: &str) -> BTreeMap<&'static str, Option<f64>> {
    let length = if place == JUDGED { "300 s, 2 seeds" } else { "300 s, 1 seed" };
    let udp = |variants: &[&str]| runs.digest(&[&[place, length], variants].concat());
    let rivals = RIVALS.map(|rival| udp(&[rival]));
    let videos = RIVALS.map(|rival| runs.video(&[rival, place, "video", length]));
    let [a, b] = ["setting A", "setting B"].map(|path| udp(&[MINSTREL, path]));
    // Sec. 2 measures an access point of ath9k.
    let ath9k = udp(&[MINSTREL, "three layers of ath9k"]);
    let levels = LEVELS.map(|level| again_share(&runs.digest(&[MINSTREL, place, level, "120 s, 1 seed"])));
    let bbr = RIVALS.map(|rival| runs.goodput(&[rival, place, "BBR", "120 s, 1 seed"]));
    let [minstrel, llra, thompson] = &rivals;
    let [.., thompson_video] = &videos;

    let all = |value: &dyn Fn(&Digest) -> Option<f64>| rivals.iter().filter_map(value).collect::<Vec<_>>();
    let frames = |value: &dyn Fn(&Video) -> Option<f64>| videos.iter().filter_map(value).collect::<Vec<_>>();
    let over = |one: Option<f64>, other: Option<f64>| Some(one? / other.filter(|other| *other > 0.0)?);
    let runs_of_five = all(&|digest| digest.runs_per_second(5));
    let sent = |step: usize| {
        let mean = |stage| ath9k.breakdown.get(step)?.mean_ms(stage);
        Some(mean(Stage::Contention)? + mean(Stage::Retries)? + mean(Stage::Airtime)?)
    };
    let levels: Vec<f64> = levels.into_iter().flatten().collect();
    BTreeMap::from([
        ("queueing", ath9k.breakdown[SLOWEST].share(Stage::Queueing).map(|share| 100.0 * share)),
        ("transmission", over(sent(SLOWEST), sent(0))),
        ("over-ten", (ath9k.packets > 0).then(|| 1e3 * ath9k.over_ten as f64 / ath9k.packets as f64)),
        (
            "over-ten-time",
            (ath9k.over_ten > 0).then(|| ath9k.over_ten_time.as_millis_f64() / ath9k.over_ten as f64),
        ),
        ("loss-a", over(a.loss_rate(), minstrel.loss_rate())),
        ("loss-b", over(b.loss_rate(), minstrel.loss_rate())),
        ("tail-a", a.quantile(0.9999)),
        ("tail-b", b.quantile(0.9999)),
        ("p999-minstrel", minstrel.quantile(0.999)),
        ("p999-llra", llra.quantile(0.999)),
        ("p999-ts", thompson.quantile(0.999)),
        ("p99", most_over_least(&all(&|digest| digest.quantile(0.99)))),
        ("loss", most(&all(&|digest| percent(digest.loss_rate())))),
        ("runs", least(&runs_of_five)),
        ("runs-spread", most_over_least(&runs_of_five)),
        ("levels", most_over_least(&levels)),
        ("packets", most(&frames(&|video| video.packets_a_frame))),
        ("over-fifth", percent(thompson_video.over_fifth_lost)),
        ("first-time", least(&frames(&|video| video.first_time.quantile(1.0)))),
        ("frame-p99", most_over_least(&frames(&|video| video.frames.quantile(0.99)))),
        ("frame-misses", most_over_least(&frames(&|video| video.miss_rate))),
        ("bbr", bbr[2].zip(bbr[0]).map(|(thompson, minstrel)| thompson - minstrel)),
    ])
}

fn most(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

fn least(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::min)
}

fn most_over_least(values: &[f64]) -> Option<f64> {
    least(values).filter(|least| *least > 0.0).zip(most(values)).map(|(least, most)| most / least)
}

/// Whether a value fits the fact of that key.
pub(super) fn fits(key: &str, value: Option<f64>) -> bool {
    FACTS.fact.iter().any(|fact| fact.key == key && fact.fits(value))
}

impl Fact {
    fn fits(&self, value: Option<f64>) -> bool {
        let (low, high) = self.range;
        value.is_some_and(|value| low <= value && value <= high)
    }

    /// The value; one that does not fit is marked.
    fn cell(&self, value: Option<f64>) -> String {
        if self.fits(value) { text(value) } else { format!("{} *", text(value)) }
    }
}

/// The fingerprint of places, one column each.
pub(super) fn part(runs: Runs<'_>, places: &[&str]) -> Part {
    let columns: Vec<_> = places.iter().map(|place| measured(runs, place)).collect();
    let mut grid = CLAIMS.table("fingerprint", &[]);
    let column = |place: &&str| Column { name: (*place).to_owned(), numeric: true };
    grid.columns.extend(places.iter().map(column));
    for fact in &FACTS.fact {
        let values = columns.iter().map(|column| fact.cell(column.get(fact.key.as_str()).copied().flatten()));
        let texts = [fact.text.clone(), fact.paper.clone()];
        grid.rows.push(texts.into_iter().chain(values).map(Into::into).collect());
    }
    Part { rows: Vec::new(), chapter: CLAIMS.chapter("fingerprint", vec![grid], Vec::new()) }
}
