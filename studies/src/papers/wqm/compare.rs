//! The common form of the paper's experiments: the four schemes in several settings, by round-trip time and goodput.

use airbound_report::{Chart, Grid, Lines};

use super::measure::{Figures, figures};
use super::{CLAIMS, CODEL, FIFO, PIE, SCHEMES, WQM};
use crate::Effort;
use crate::papers::experiment::Results;
use crate::papers::row::ClaimRow;
use crate::papers::{Part, Study, or_empty};

/// Settings under all schemes.
pub(super) struct Comparison {
    /// The identity of the claim, and the key of the chapter.
    claim: &'static str,
    /// Figures of the paper that the charts redraw.
    figures: &'static str,
    /// Names of the settings; each is a variant, after `prefix`.
    settings: &'static [&'static str],
    prefix: &'static str,
    /// Variants of all settings.
    also: &'static [&'static str],
    /// The claims.
    rows: fn(&Table) -> Vec<ClaimRow>,
}

const PLAIN: Comparison =
    Comparison { claim: "", figures: "", settings: &[], prefix: "", also: &[], rows: |_| Vec::new() };

/// Sec. V-C, in the order of the paper.
pub(super) const COMPARISONS: [Comparison; 7] = [
    Comparison {
        claim: "hops",
        figures: "Fig. 7 and 8",
        settings: &["1 hop", "2 hops", "3 hops"],
        // FIFO over WQM is so near to its bound that five seeds do not decide.
        also: &["100 s, 10 seeds"],
        rows: hops,
        ..PLAIN
    },
    Comparison {
        claim: "no-aggregation",
        figures: "Fig. 9 and 10",
        settings: &["1 hop", "2 hops", "3 hops"],
        also: &["single frames"],
        rows: single_frames,
        ..PLAIN
    },
    Comparison {
        claim: "distance",
        figures: "Fig. 11 and 12",
        settings: &["10 m", "20 m", "30 m", "10 m at rest", "20 m at rest", "30 m at rest"],
        rows: distance,
        ..PLAIN
    },
    Comparison {
        claim: "short-flows",
        figures: "Fig. 13 and 14",
        settings: &["5 s", "10 s", "15 s"],
        rows: short,
        ..PLAIN
    },
    Comparison {
        claim: "multi-flow",
        figures: "Fig. 15 and 16",
        settings: &["1 flow", "3 flows", "5 flows"],
        rows: several,
        ..PLAIN
    },
    Comparison {
        claim: "multi-flow-no-aggregation",
        figures: "Fig. 17 and 18",
        settings: &["1 flow", "3 flows", "5 flows"],
        also: &["single frames"],
        rows: several_single_frames,
        ..PLAIN
    },
    Comparison {
        claim: "parking-lot",
        figures: "Fig. 20",
        settings: &["6.5 Mb/s", "13 Mb/s", "65 Mb/s", "144.4 Mb/s", "Minstrel"],
        prefix: "parking lot, ",
        rows: parking_lot,
        ..PLAIN
    },
];

impl Comparison {
    /// Calls `with` for the cell of a setting under a scheme.
    fn cell<T>(&self, setting: &str, scheme: &str, with: impl FnOnce(&[&str]) -> T) -> T {
        let variant = format!("{}{setting}", self.prefix);
        let mut cell = vec![variant.as_str(), scheme];
        cell.extend(self.also);
        with(&cell)
    }
}

impl Study for &Comparison {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let of = |setting, scheme| self.cell(setting, scheme, |cell| figures(cell, effort, results));
        let cells = self.settings.iter().map(|setting| SCHEMES.map(|scheme| of(setting, scheme)));
        let table = Table { comparison: self, cells: cells.collect() };
        let chapter = CLAIMS.chapter(self.claim, Vec::new(), table.charts());
        let grid = table.grid(&chapter.title);
        Part {
            rows: (self.rows)(&table),
            chapter: airbound_report::Chapter { tables: vec![grid], ..chapter },
        }
    }
}

/// The figures of all settings and schemes.
struct Table<'a> {
    comparison: &'a Comparison,
    /// By setting, then by [`SCHEMES`].
    cells: Vec<[Option<Figures>; SCHEMES.len()]>,
}

impl Table<'_> {
    fn of(&self, setting: usize, scheme: &str) -> Option<&Figures> {
        let place = SCHEMES.iter().position(|known| *known == scheme)?;
        self.cells.get(setting)?[place].as_ref()
    }

    /// Returns the round-trip time of `scheme` over that of WQM.
    fn factor(&self, setting: usize, scheme: &str) -> Option<f64> {
        Some(self.of(setting, scheme)?.rtt() / self.of(setting, WQM)?.rtt())
    }

    /// The largest factor over all settings.
    fn largest_factor(&self, scheme: &str) -> Option<f64> {
        (0..self.cells.len()).filter_map(|setting| self.factor(setting, scheme)).reduce(f64::max)
    }

    /// The factor of [`Table::factor`] in each run.
    fn factors(&self, setting: usize, over: &str, scheme: &str) -> Vec<f64> {
        let both = self.of(setting, over).zip(self.of(setting, scheme));
        both.map_or_else(Vec::new, |(over, ours)| {
            over.with(ours, |[over, ..], [ours, ..]| over / ours).collect()
        })
    }

    /// By how much WQM's goodput lies below that of the best other scheme in each run, in percent of it.
    fn goodput_drops(&self, setting: usize) -> Vec<f64> {
        let others = [FIFO, CODEL, PIE].iter().filter_map(|scheme| self.of(setting, scheme));
        let best = others.max_by(|one, other| one.goodput.mean.total_cmp(&other.goodput.mean));
        let both = best.zip(self.of(setting, WQM));
        both.map_or_else(Vec::new, |(best, ours)| {
            best.with(ours, |[_, best, _], [_, ours, _]| 100.0 * (1.0 - ours / best)).collect()
        })
    }

    fn goodput_drop(&self, setting: usize) -> Option<f64> {
        let drops = self.goodput_drops(setting);
        (!drops.is_empty()).then(|| drops.iter().sum::<f64>() / drops.len() as f64)
    }

    /// Rows for each setting in turn.
    fn each(&self, rows: impl Fn(usize) -> Vec<ClaimRow>) -> Vec<ClaimRow> {
        (0..self.cells.len()).flat_map(rows).collect()
    }

    /// Rows for each setting but the first, which is that of another comparison and judged there.
    fn others(&self, rows: impl Fn(usize) -> Vec<ClaimRow>) -> Vec<ClaimRow> {
        (1..self.cells.len()).flat_map(rows).collect()
    }

    /// One row: a factor of round-trip times.
    fn factor_row(&self, setting: usize, scheme: &str) -> ClaimRow {
        let factor = self.factor(setting, scheme);
        let row = self.row("factor", setting).with("scheme", scheme);
        row.trend(factor.is_some_and(|factor| factor > 1.0)).over(self.factors(setting, scheme, WQM))
    }

    /// "As good as CoDel and PIE".
    fn as_good_rows(&self, setting: usize) -> impl Iterator<Item = ClaimRow> {
        [CODEL, PIE].into_iter().map(move |scheme| {
            self.row("as-good", setting).with("scheme", scheme).over(self.factors(setting, WQM, scheme))
        })
    }

    /// One row: the most goodput that WQM may cost.
    fn goodput_row(&self, setting: usize) -> ClaimRow {
        self.row("goodput", setting).over(self.goodput_drops(setting))
    }

    fn row(&self, key: &str, setting: usize) -> crate::papers::claims::Row<'_> {
        let Comparison { claim, settings, .. } = self.comparison;
        CLAIMS.row(key).with("claim", claim).with("setting", settings[setting])
    }

    fn grid(&self, title: &str) -> Grid {
        let mut grid = CLAIMS.table("comparison", &[("title", title.to_owned())]);
        for (number, setting) in self.comparison.settings.iter().enumerate() {
            for scheme in SCHEMES {
                let Some(figures) = self.of(number, scheme) else { continue };
                let mut row = vec![(*setting).into(), scheme.into()];
                let [rtt, p99, goodput, jain, ampdu] = figures.columns();
                let factor = or_empty(self.factor(number, scheme));
                row.extend([rtt, p99, factor, goodput, jain, ampdu].map(Into::into));
                grid.rows.push(row);
            }
        }
        grid
    }

    fn charts(&self) -> Vec<Chart> {
        let Comparison { claim, figures, settings, .. } = self.comparison;
        let figures = ("figures", (*figures).to_owned());
        let distribution = |(number, setting): (usize, &&str)| {
            let lines = SCHEMES.iter().filter_map(|scheme| Some(self.of(number, scheme)?.line(scheme)));
            // A mean stands in the middle.
            let printed = [(PIE, 261.3), (WQM, 49.47)].iter().filter(|_| *claim == "hops" && number == 2);
            let marks = printed.map(|(name, ms)| (format!("paper: {name} {ms} ms"), (*ms, 50.0)));
            let lines = Lines { lines: lines.collect(), marks: marks.collect(), ..Lines::default() };
            CLAIMS.plot("distribution", &[figures.clone(), ("setting", (*setting).to_owned())], lines)
        };
        let mut charts: Vec<Chart> = settings.iter().enumerate().map(distribution).collect();
        let bars = |key: &str, values: &[(&str, String)], bar: &dyn Fn(&Figures) -> Option<_>| {
            let series = SCHEMES.iter().map(|scheme| {
                let bars = (0..settings.len()).map(|setting| self.of(setting, scheme).and_then(bar));
                ((*scheme).to_owned(), bars.collect())
            });
            CLAIMS.bars(
                key,
                values,
                settings.iter().map(|name| (*name).to_owned()).collect(),
                series.collect(),
            )
        };
        // Where flows go to different nodes: the round-trip time of each.
        let flows = self.of(0, WQM).filter(|_| *claim == "parking-lot").map_or(&[][..], |of| &of.flows);
        for (flow, name) in flows.iter().enumerate() {
            let values = [figures.clone(), ("flow", name.clone())];
            charts.push(bars("flow-rtt", &values, &|figures| Some(figures.rtt_ms.get(flow)?.bar())));
        }
        charts.push(bars("goodput", &[figures], &|figures| Some(figures.goodput.bar())));
        charts
    }
}

fn hops(table: &Table<'_>) -> Vec<ClaimRow> {
    let mut rows = table.each(|setting| {
        let factors = [FIFO, PIE, CODEL].map(|scheme| table.factor_row(setting, scheme));
        factors.into_iter().chain([table.goodput_row(setting)]).collect()
    });
    rows.extend([PIE, WQM].map(|scheme| {
        let runs = table.of(2, scheme).map_or(&[][..], |figures| &figures.runs);
        CLAIMS.row("printed").with("scheme", scheme).over(runs.iter().map(|[rtt, ..]| *rtt))
    }));
    rows
}

fn single_frames(table: &Table<'_>) -> Vec<ClaimRow> {
    let over_codel =
        |setting| vec![table.row("pie-over-codel", setting).over(table.factors(setting, PIE, CODEL))];
    let largest = table.largest_factor(FIFO);
    let trend = largest.is_some_and(|factor| factor > 1.0);
    let mut rows = vec![CLAIMS.row("largest-fifo").trend(trend).measured(largest)];
    rows.extend(
        table.each(|setting| table.as_good_rows(setting).chain([table.goodput_row(setting)]).collect()),
    );
    let all = table.cells.iter().flatten().flatten();
    let worst = all.map(|figures| figures.rtt_p99_ms.mean).reduce(f64::max);
    rows.push(CLAIMS.row("worst-delay").measured(worst));
    rows.extend(table.each(over_codel));
    rows
}

fn distance(table: &Table<'_>) -> Vec<ClaimRow> {
    // 10 m is the run of one hop.
    let mut rows = table.others(|setting| {
        let factors = [FIFO, CODEL, PIE].map(|scheme| table.factor_row(setting, scheme));
        factors.into_iter().chain([table.goodput_row(setting)]).collect()
    });
    for (near, far) in [(0, 1), (1, 2), (3, 4), (4, 5)] {
        let settings = table.comparison.settings;
        for scheme in [FIFO, WQM] {
            let both = table.of(far, scheme).zip(table.of(near, scheme));
            let longer = both.map_or_else(Vec::new, |(far, near)| {
                far.with(near, |[far, ..], [near, ..]| far / near).collect()
            });
            let row = CLAIMS.row("longer").with("scheme", scheme).with("far", settings[far]);
            rows.push(row.with("near", settings[near]).over(longer));
        }
    }
    for (settings, place) in [(0..3, ""), (3..6, ", channel at rest")] {
        let drops: Option<Vec<f64>> = settings.map(|setting| table.goodput_drop(setting)).collect();
        let shrinks = drops.map(|drops| drops.windows(2).all(|pair| pair[1] <= pair[0]));
        rows.push(CLAIMS.row("gap-shrinks").with("where", place).holds(shrinks));
    }
    rows
}

fn short(table: &Table<'_>) -> Vec<ClaimRow> {
    table.each(|setting| {
        let rtt = table.of(setting, WQM).map(|figures| figures.rtt_p99_ms.mean);
        vec![table.row("short", setting).measured(rtt), table.goodput_row(setting)]
    })
}

fn several(table: &Table<'_>) -> Vec<ClaimRow> {
    // One flow is the run of one hop.
    let mut rows = table.others(|setting| {
        let factors = [FIFO, PIE, CODEL].map(|scheme| table.factor_row(setting, scheme));
        factors.into_iter().chain([table.goodput_row(setting)]).collect()
    });
    rows.extend([FIFO, WQM].map(|scheme| {
        let runs = table.of(1, scheme).map_or(&[][..], |figures| &figures.runs);
        CLAIMS.row("jain").with("scheme", scheme).over(runs.iter().map(|[.., jain]| *jain))
    }));
    rows
}

fn several_single_frames(table: &Table<'_>) -> Vec<ClaimRow> {
    table.others(|setting| {
        let factor = [table.factor_row(setting, FIFO)].into_iter();
        factor.chain(table.as_good_rows(setting)).chain([table.goodput_row(setting)]).collect()
    })
}

fn parking_lot(table: &Table<'_>) -> Vec<ClaimRow> {
    // The paper's factor for each flow, read as the mean over the rates.
    let mean = |flow: usize| {
        let rtt = |setting, scheme| Some(table.of(setting, scheme)?.rtt_ms.get(flow)?.mean);
        let factor = |setting| Some(rtt(setting, FIFO)? / rtt(setting, WQM)?);
        let factors: Vec<f64> = (0..table.cells.len()).filter_map(factor).collect();
        (!factors.is_empty()).then(|| factors.iter().sum::<f64>() / factors.len() as f64)
    };
    let above_one = |factor: Option<f64>| factor.is_some_and(|factor| factor > 1.0);
    let mut rows: Vec<ClaimRow> = ["1 hop", "2 hops", "3 hops"]
        .into_iter()
        .enumerate()
        .map(|(flow, hops)| {
            let mean = mean(flow);
            CLAIMS.row("lot").with("hops", hops).trend(above_one(mean)).measured(mean)
        })
        .collect();
    let minstrel = table.cells.len() - 1;
    rows.push(table.factor_row(minstrel, CODEL));
    let worst = table.largest_factor(PIE);
    rows.push(CLAIMS.row("lot-pie").trend(above_one(worst)).measured(worst));
    let goodput = |scheme| table.of(minstrel, scheme).map(|figures| figures.goodput.mean);
    let gain = goodput(WQM).zip(goodput(CODEL)).map(|(ours, theirs)| ours / theirs);
    rows.push(CLAIMS.row("lot-goodput").measured(gain));
    rows
}
