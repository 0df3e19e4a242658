//! The common form of the paper's experiments: the four schemes in several settings, by round-trip time and goodput.

use airbound_report::{Bars, Chapter, Chart, ChartKind, Grid, Lines, Tolerance, ValidationRow};

use super::measure::{Case, Figures};
use super::setting::{CODEL, FIFO, PIE, SCHEMES, Scheme, Setting, WQM};
use crate::Effort;
use crate::reproduce::experiment::{Experiment, Results};
use crate::reproduce::{Part, Study, shown};

/// Settings under all schemes.
pub(super) struct Comparison {
    /// The identity of the claim.
    pub(super) claim: &'static str,
    pub(super) title: &'static str,
    pub(super) text: &'static str,
    /// Figures of the paper that the charts redraw.
    pub(super) figures: &'static str,
    pub(super) groups: Vec<(String, Setting)>,
    /// Round-trip times that the paper prints: the number of the setting, the scheme, ms.
    pub(super) printed: &'static [(usize, &'static str, f64)],
    /// The claims.
    pub(super) rows: fn(&Table) -> Vec<ValidationRow>,
}

/// The figures of all groups and schemes.
pub(super) struct Table {
    pub(super) claim: &'static str,
    /// By group, then by [`SCHEMES`].
    cells: Vec<(String, Vec<Option<Figures>>)>,
}

impl Table {
    /// Number of settings.
    pub(super) fn len(&self) -> usize {
        self.cells.len()
    }

    pub(super) fn name(&self, group: usize) -> &str {
        self.cells.get(group).map_or("", |(name, _)| name)
    }

    pub(super) fn of(&self, group: usize, scheme: Scheme) -> Option<&Figures> {
        let place = SCHEMES.iter().position(|known| *known == scheme)?;
        self.cells.get(group)?.1.get(place)?.as_ref()
    }

    /// Returns the round-trip time of `scheme` over that of WQM.
    pub(super) fn factor(&self, group: usize, scheme: Scheme) -> Option<f64> {
        let ours = self.of(group, WQM)?.rtt();
        Some(self.of(group, scheme)?.rtt() / ours)
    }

    /// By how much WQM's goodput lies below that of the best other scheme, in percent of it.
    pub(super) fn goodput_drop(&self, group: usize) -> Option<f64> {
        let others = [FIFO, CODEL, PIE].iter().filter_map(|scheme| self.of(group, *scheme));
        let best = others.map(|figures| figures.goodput.mean).reduce(f64::max)?;
        Some(100.0 * (1.0 - self.of(group, WQM)?.goodput.mean / best))
    }

    /// One row: a factor of round-trip times.
    pub(super) fn factor_row(
        &self,
        group: usize,
        scheme: Scheme,
        reference: f64,
        tolerance: Tolerance,
    ) -> ValidationRow {
        let factor = self.factor(group, scheme);
        let metric = format!("RTT of {} over WQM, {}", scheme.name, self.name(group));
        let holds = factor.is_some_and(|factor| factor > 1.0);
        ValidationRow::judged(
            self.claim,
            metric,
            "",
            Some(reference),
            factor,
            Some(tolerance),
            holds,
            "mean RTT over seeds",
        )
    }

    /// One row: the most goodput that WQM may cost.
    pub(super) fn goodput_row(&self, group: usize, most: f64) -> ValidationRow {
        let drop = self.goodput_drop(group);
        let metric = format!("goodput below the best other, {}", self.name(group));
        let note = "the best of FIFO, CoDel and PIE; negative: WQM has more";
        ValidationRow::judged(self.claim, metric, "%", Some(most), drop, Some(Tolerance::AtMost), false, note)
    }

    /// "As good as CoDel and PIE": a round trip no longer than either's by more than a tenth.
    pub(super) fn as_good_rows(&self, group: usize) -> Vec<ValidationRow> {
        [CODEL, PIE]
            .iter()
            .map(|scheme| {
                let factor = self.factor(group, *scheme).map(|factor| 1.0 / factor);
                let metric = format!("RTT of WQM over {}, {}", scheme.name, self.name(group));
                let note = "\"as good as\": at most a tenth longer";
                ValidationRow::judged(
                    self.claim,
                    metric,
                    "",
                    Some(1.1),
                    factor,
                    Some(Tolerance::AtMost),
                    false,
                    note,
                )
            })
            .collect()
    }

    fn grid(&self, title: &str) -> Grid {
        let columns =
            ["setting", "scheme", "RTT ms", "RTT p99 ms", "over WQM", "goodput Mb/s", "Jain", "MPDUs"];
        let mut grid = Grid::new(title, &columns, 2);
        for (group, (name, _)) in self.cells.iter().enumerate() {
            for scheme in SCHEMES {
                let Some(figures) = self.of(group, scheme) else { continue };
                grid.rows.push(vec![
                    name.as_str().into(),
                    scheme.name.into(),
                    shown(figures.rtt()).into(),
                    shown(figures.rtt_p99_ms.mean).into(),
                    self.factor(group, scheme).map_or(String::new(), shown).into(),
                    shown(figures.goodput.mean).into(),
                    shown(figures.jain.mean).into(),
                    shown(figures.ampdu.mean).into(),
                ]);
            }
        }
        grid
    }

    fn charts(&self, figures: &str, printed: &[(usize, &str, f64)]) -> Vec<Chart> {
        let mut charts: Vec<Chart> = (0..self.len())
            .map(|group| {
                let lines =
                    SCHEMES.iter().filter_map(|scheme| Some(self.of(group, *scheme)?.line(scheme.name)));
                let kind = ChartKind::Lines(Lines {
                    x: "round-trip time (ms)".to_owned(),
                    y: "share of samples (%)".to_owned(),
                    logarithmic: true,
                    top: Some(100.0),
                    lines: lines.collect(),
                    // A mean stands in the middle.
                    marks: printed
                        .iter()
                        .filter(|(setting, ..)| *setting == group)
                        .map(|(_, name, ms)| (format!("paper: {name} {ms} ms"), (*ms, 50.0)))
                        .collect(),
                    ..Lines::default()
                });
                Chart { kind, caption: format!("{figures}: round-trip time, {}.", self.name(group)) }
            })
            .collect();
        charts.extend(self.flow_charts(figures));
        let series = SCHEMES.iter().enumerate().map(|(place, scheme)| {
            let bars = self.cells.iter().map(|(_, cells)| {
                cells.get(place).and_then(Option::as_ref).map(|figures| figures.goodput.bar())
            });
            (scheme.name.to_owned(), bars.collect())
        });
        let kind = ChartKind::Bars(Bars {
            y: "goodput (Mb/s)".to_owned(),
            groups: self.cells.iter().map(|(name, _)| name.clone()).collect(),
            series: series.collect(),
        });
        charts.push(Chart { kind, caption: format!("{figures}: goodput of all flows, range over seeds.") });
        charts
    }
}

impl Table {
    /// Where flows go to different nodes: the round-trip time of each.
    fn flow_charts(&self, figures: &str) -> Vec<Chart> {
        let flows = self.of(0, WQM).map_or(0, |figures| figures.flows.len());
        let name = |flow: usize| self.of(0, WQM).and_then(|figures| figures.flows.get(flow)).cloned();
        let differ = name(0).is_some_and(|name| name.starts_with("hops"));
        let all = (0..flows).filter(|_| differ).filter_map(|flow| Some((flow, name(flow)?)));
        all.map(|(flow, name)| {
            let series = SCHEMES.iter().map(|scheme| {
                let bar = |group| Some(self.of(group, *scheme)?.rtt_ms.get(flow)?.bar());
                (scheme.name.to_owned(), (0..self.len()).map(bar).collect())
            });
            let kind = ChartKind::Bars(Bars {
                y: "round-trip time (ms)".to_owned(),
                groups: self.cells.iter().map(|(name, _)| name.clone()).collect(),
                series: series.collect(),
            });
            Chart {
                kind,
                caption: format!("{figures}: mean round-trip time of the flow {name}, range over seeds."),
            }
        })
        .collect()
    }
}

impl Study for Comparison {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let cases = self.groups.iter().flat_map(|(_, setting)| {
            SCHEMES.iter().map(move |scheme| Case { setting: *setting, scheme: *scheme })
        });
        cases.flat_map(|case| case.experiments(effort)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let cells = self.groups.iter().map(|(name, setting)| {
            let figures =
                |scheme: &Scheme| Case { setting: *setting, scheme: *scheme }.figures(effort, results);
            (name.clone(), SCHEMES.iter().map(figures).collect())
        });
        let table = Table { claim: self.claim, cells: cells.collect() };
        let chapter = Chapter {
            title: self.title.to_owned(),
            text: self.text.to_owned(),
            tables: vec![table.grid(self.title)],
            charts: table.charts(self.figures, self.printed),
        };
        Part { rows: (self.rows)(&table), chapter }
    }
}
