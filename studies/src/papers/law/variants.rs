//! Secs. 4.3 and 4.4: stronger routers (Fig. 19), another bound (Fig. 20), a competing flow (Fig. 21).

use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Tails, Tolerance, ValidationRow};

use super::measure::{self, change};
use super::setting::{LAW, Layer, MINSTREL, RIVALS, Setting, Standard, Surroundings, Traffic, VIDEO};
use super::video::Video;
use crate::Effort;
use crate::papers::experiment::{Experiment, Results};
use crate::papers::{Part, Study, shown};

/// Video under what the paper varies, in one place.
pub(super) struct Variants(pub(super) Surroundings);

/// OpenWrt on an ath9k card with two antennas that cannot be switched off, 802.11n, 20 MHz.
const OPENWRT: Layer = MINSTREL.over("OpenWrt, 2x2", "preset = \"ath9k-fq\"\nstreams = 2\n");
/// A commercial router with one stream and 802.11ac: MCS 8, A-MPDU, a firmware that schedules.
const COMMERCIAL: Layer = MINSTREL.over("commercial", "preset = \"mac80211\"\nstreams = 1\n");
const LAW_60: Layer =
    LAW.with_queue("Law, 60 ms", "{ kind = \"law\", inside = \"fifo\", limit-q = \"54 ms\" }");

const SECONDS: u64 = 300;
const SEEDS: u64 = 2;

/// By how much the signal of the throughput-aligned router is weaker: with one of them BBR's goodput under it is nearest to that
/// under Law.
const ALIGNED_DB: [i32; 4] = [3, 6, 9, 12];

const fn bbr(setting: Setting) -> Setting {
    Setting { traffic: Traffic::Bbr { flows: 1 }, ..setting }
}

impl Variants {
    const fn video(&self, layer: Layer) -> Setting {
        Setting { surroundings: self.0, seconds: SECONDS, ..Setting::new(layer, VIDEO) }
    }

    const fn beside_udp(&self, layer: Layer) -> Setting {
        Setting { competing: true, ..self.video(layer) }
    }

    /// The commercial router: aligned by signal, or moved away until BBR gets what it gets under Law.
    const fn commercial(&self, weaker_db: i32) -> Setting {
        Setting { standard: Standard::Vht, weaker_db, ..self.video(COMMERCIAL) }
    }

    fn settings(&self) -> Vec<Setting> {
        let mut settings = vec![
            self.video(LAW),
            self.video(LAW_60),
            self.video(OPENWRT),
            self.commercial(0),
            self.beside_udp(LAW),
            self.beside_udp(OPENWRT),
            bbr(self.video(LAW)),
        ];
        settings.extend(RIVALS.map(|layer| self.video(layer)));
        let moved = ALIGNED_DB.into_iter().map(|weaker| self.commercial(weaker));
        settings.extend(moved.flat_map(|setting| [setting, bbr(setting)]));
        settings
    }
}

impl Study for Variants {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        self.settings().into_iter().flat_map(|setting| measure::runs_of(setting, SEEDS, effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let of = |setting| Video::of(&measure::of_seeds(setting, SEEDS, effort, results));
        let goodput = |setting| {
            measure::mean(&measure::of_seeds(bbr(setting), SEEDS, effort, results), |run| {
                Some(run.outcome.summary.flows.first()?.goodput_mbps)
            })
        };
        let target = goodput(self.video(LAW));
        let distance = |weaker: &i32| {
            let (goodput, target) = (goodput(self.commercial(*weaker)), target);
            goodput.zip(target).map_or(f64::MAX, |(goodput, target)| (goodput - target).abs())
        };
        let aligned = ALIGNED_DB
            .into_iter()
            .min_by(|one, other| distance(one).total_cmp(&distance(other)))
            .unwrap_or(0);
        let listed = [
            ("Law", self.video(LAW)),
            ("Law, bound 60 ms", self.video(LAW_60)),
            ("OpenWrt 2x2, same signal", self.video(OPENWRT)),
            ("commercial, same signal", self.commercial(0)),
            ("commercial, same throughput", self.commercial(aligned)),
            ("Law, 2 Mb/s compete", self.beside_udp(LAW)),
            ("OpenWrt 2x2, 2 Mb/s compete", self.beside_udp(OPENWRT)),
        ];
        let videos = listed.map(|(name, setting)| (name, of(setting)));
        let note = format!(
            "commercial, same throughput: its signal is {aligned} dB weaker, where BBR gets {} Mb/s; under Law it gets {}.",
            goodput(self.commercial(aligned)).map_or("–".to_owned(), shown),
            target.map_or("–".to_owned(), shown),
        );
        let rivals = RIVALS.map(|layer| of(self.video(layer)));
        let chapter = Chapter {
            title: format!("Other bounds, other routers, other traffic: {}", self.0.name()),
            text: "Video as above; the access points of the other routers have A-MPDU, which Law's has not."
                .to_owned(),
            tables: vec![table(&videos, note)],
            charts: vec![routers(&videos)],
        };
        Part { rows: rows(self.0.name(), &videos, &rivals), chapter }
    }
}

fn rows(place: &str, videos: &[(&str, Video)], rivals: &[Video]) -> Vec<ValidationRow> {
    let latency = |name: &str, share| {
        let (_, video) = videos.iter().find(|(known, _)| *known == name)?;
        video.frames.quantile(share)
    };
    let changed = |from: &str, to: &str, share| change(latency(from, share), latency(to, share));
    let row =
        |claim: &str, metric: &str, unit: &str, reference, measured: Option<f64>, tolerance, note: &str| {
            let metric = format!("{place}: {metric}");
            ValidationRow::judged(
                claim,
                metric,
                unit,
                Some(reference),
                measured,
                Some(tolerance),
                measured.is_some_and(|change| change < 0.0),
                note,
            )
        };
    let law = "Law";
    let mut rows = Vec::new();
    for (router, reference) in [
        ("OpenWrt 2x2, same signal", -18.6),
        ("commercial, same signal", -18.6),
        ("commercial, same throughput", -46.0),
    ] {
        rows.push(row(
            "stronger-routers",
            &format!("change of p99.9 against {router}"),
            "%",
            reference,
            changed(router, law, 0.999),
            Tolerance::AtMost,
            "Fig. 19; of the two at the same signal one has -18.6, the other -22.9",
        ));
    }
    let sixty = "Law, bound 60 ms";
    rows.push(row(
        "bound-60-vs-46",
        "change of p99 from 46 to 60 ms",
        "%",
        -3.6,
        changed(law, sixty, 0.99),
        Tolerance::Absolute(5.0),
        "Fig. 20",
    ));
    rows.push(row(
        "bound-60-vs-46",
        "change of p99.9 from 60 to 46 ms",
        "%",
        -15.1,
        changed(sixty, law, 0.999),
        Tolerance::Absolute(10.0),
        "Fig. 20",
    ));
    let best = rivals.iter().filter_map(|rival| rival.frames.quantile(0.999)).reduce(f64::min);
    rows.push(row(
        "bound-60-vs-46",
        "change of p99.9 with 60 ms against the best baseline",
        "%",
        -50.9,
        change(best, latency(sixty, 0.999)),
        Tolerance::AtMost,
        "Sec. 4.4",
    ));
    for (share, name, reference) in [(0.99, "p99", -25.4), (0.999, "p99.9", -21.3)] {
        rows.push(row(
            "competing-2mbps",
            &format!("change of {name} against OpenWrt 2x2"),
            "%",
            reference,
            changed("OpenWrt 2x2, 2 Mb/s compete", "Law, 2 Mb/s compete", share),
            Tolerance::AtMost,
            "Fig. 21",
        ));
    }
    rows
}

fn table(videos: &[(&str, Video)], note: String) -> Grid {
    let columns = ["case", "p50 ms", "p99 ms", "p99.9 ms", "> 100 ms %", "Mb/s", "by retransmission %"];
    let mut grid = Grid::new("Video under other bounds, routers and traffic", &columns, 1);
    let text = |value: Option<f64>| value.map_or("–".to_owned(), shown);
    let percent = |value: Option<f64>| text(value.map(|share| 100.0 * share));
    for (name, video) in videos {
        let cells = [
            (*name).to_owned(),
            text(video.frames.quantile(0.5)),
            text(video.frames.quantile(0.99)),
            text(video.frames.quantile(0.999)),
            percent(video.miss_rate),
            text(video.bitrate_mbps),
            percent(video.retransmitted),
        ];
        grid.rows.push(cells.into_iter().map(Into::into).collect());
    }
    grid.note = note;
    grid
}

fn routers(videos: &[(&str, Video)]) -> Chart {
    Chart {
        kind: ChartKind::Tails(Tails {
            samples: "frames".to_owned(),
            lines: videos.iter().map(|(name, video)| Line::whole(*name, video.frames.tail())).collect(),
        }),
        caption: "Figs. 19 to 21: latency of frames under two bounds, under stronger routers, and beside a competing flow.".to_owned(),
    }
}
