//! The page of a comparison, or of a run, and its scorecard.

use std::path::Path;

use airbound_record::{FlowSummary, Summary};

use crate::comparison::{Comparison, SchemeRuns, is_transfer};
use crate::error::ReportError;
use crate::grid::{Column, Grid, NOTHING, Spread, number};
use crate::groups::Group;
use crate::page::{Chapter, Grade, Page, Score, Scorecard};
use crate::run::Run;

/// Share of the seconds from which on a demand counts as met, and as met most of the time.
const MET: f64 = 0.95;
const MOSTLY: f64 = 0.5;

impl Comparison {
    /// The page as HTML, which stands alone.
    ///
    /// # Errors
    /// If it cannot be rendered, which is a defect.
    pub fn to_html(&self) -> Result<String, ReportError> {
        self.page().to_html()
    }

    /// Writes the page.
    ///
    /// # Errors
    /// If it cannot be rendered or written.
    pub fn write_html(&self, path: &Path) -> Result<(), ReportError> {
        let html = self.to_html()?;
        std::fs::write(path, html).map_err(|source| ReportError::Write { path: path.to_owned(), source })
    }

    fn page(&self) -> Page {
        let is_one = self.schemes.len() == 1;
        let kind = if is_one { "one scheme" } else { "schemes compared" };
        let schemes: Vec<&str> = self.schemes.iter().map(|scheme| scheme.name.as_str()).collect();
        let name = self.scenario();
        let seeds = self.seeds();
        let seeds = if seeds > 1 { format!("; {seeds} seeds") } else { String::new() };
        let chapter = |title: &str| Chapter { title: title.to_owned(), ..Chapter::default() };
        let tables = std::iter::once(self.headline())
            .chain(self.networks())
            .chain(self.videos())
            .chain(self.users())
            .chain(self.demands())
            .chain(self.costs())
            .chain([self.flow_table(), self.packets(), self.station_table(), self.air()])
            .chain(self.member_tables());
        let timing = Chapter { tables: self.timing().into_iter().collect(), ..chapter("Timing") };
        let chapters = vec![
            Chapter { scores: self.scorecard(), ..chapter("Scorecard") },
            Chapter { picks: vec![self.distributions(), self.splits()], ..chapter("Latency") },
            Chapter { charts: self.cost_dots(), ..chapter("What it costs the others") },
            Chapter { picks: vec![self.over_time()], ..chapter("Over time") },
            Chapter { tables: tables.collect(), is_folded: true, ..chapter("Tables") },
            timing,
            self.provenance(),
        ];
        let sentences = self.verdict().sentences().map(str::to_owned).collect::<Vec<_>>();
        Page {
            title: self.said("title").unwrap_or_else(|| name.clone()),
            question: self.said("description").unwrap_or_default(),
            subtitle: format!("{name}, {kind}: {}{seeds}", schemes.join(", ")),
            sentences: sentences.into_iter().chain(self.tried.clone()).collect(),
            chapters,
        }
    }

    /// A text at the top of the resolved scenario that all runs share: `title = "…"`.
    fn said(&self, key: &str) -> Option<String> {
        let mut runs = self.schemes.iter().flat_map(|scheme| &scheme.runs);
        let of = |run: &Run| -> Option<String> {
            let top = run.scenario.lines().take_while(|line| !line.starts_with('['));
            let value = top.filter_map(|line| line.split_once(" = ")).find(|(found, _)| *found == key)?.1;
            // A basic string of TOML in one line is one of JSON, a literal string stands as it is.
            let literal = value.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
            literal.map_or_else(|| serde_json::from_str(value).ok(), |literal| Some(literal.to_owned()))
        };
        let first = of(runs.next()?)?;
        runs.all(|run| of(run).as_ref() == Some(&first)).then_some(first)
    }

    /// A row for each scheme, a column for each group with a demand, or for that in focus; `None` without a flow.
    fn scorecard(&self) -> Option<Scorecard> {
        let focus = self.focus()?;
        let mut columns: Vec<ScoreColumn> = Vec::new();
        if self.schemes.iter().any(|scheme| scheme.summaries().any(|summary| summary.session.is_some())) {
            columns.push(self.utility());
        }
        columns.extend(self.demanding().map(|group| self.against_demand(group)));
        if !self.demanding().any(|group| group.is(focus)) {
            columns.insert(0, self.without_demand(focus));
        }
        let judged = self.demanding().next().map_or("", |_| {
            "Measured at the percentile of the demand, on the Wi-Fi part of the latency. Green: met in 95 % of the seconds; yellow: in half \
             of them; red: in fewer, or too little arrives. "
        });
        let best = if self.schemes.len() > 1 { "Bold: the best of those that serve the flow." } else { "" };
        let rows = self.schemes.iter().enumerate().map(|(place, scheme)| {
            let scores = columns.iter().filter_map(|column| column.scores.get(place).cloned());
            (self.labelled(scheme), scores.collect())
        });
        Some(Scorecard {
            rows: rows.collect(),
            columns: columns.iter().map(|column| column.head.clone()).collect(),
            note: format!("{judged}{best} {}", self.seed_note()).trim().to_owned(),
        })
    }

    /// The column of a group with a demand. The best meets it most often, or has the lowest latency where several do.
    fn against_demand(&self, group: &Group) -> ScoreColumn {
        let demand = self.example(group).and_then(|flow| flow.demand);
        let head = demand.map_or_else(String::new, |demand| {
            format!("{}: p{} ≤ {} ms", group.label(), demand.percentile, demand.latency_ms)
        });
        let of = |scheme: &SchemeRuns| {
            let met = scheme.spread(|summary| self.mean_of(summary, group, &|flow| flow.demand?.met_share));
            let measured = self.band(scheme, group, &|flow| flow.demand?.measured_ms);
            (met.map(|met| met.median), measured)
        };
        let values: Vec<_> = self.schemes.iter().map(of).collect();
        let rank = |(place, (met, measured)): (usize, &(Option<f64>, Option<Spread>))| {
            let serves = self.schemes.get(place).is_some_and(|scheme| self.refusal(scheme, group).is_none());
            Some((-met.filter(|_| serves)?.min(MET), (*measured)?.median))
        };
        let best = values
            .iter()
            .enumerate()
            .filter_map(rank)
            .min_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
        let score = |(place, value): (usize, &(Option<f64>, Option<Spread>))| {
            let (share, measured) = *value;
            let counted = self.schemes.get(place).and_then(|scheme| self.demand_seconds(scheme, group));
            let of = counted.map_or("the seconds".to_owned(), |seconds| format!("{seconds} seconds"));
            let seconds =
                share.map_or(String::new(), |share| format!("met in {:.0} % of {of}", 100.0 * share));
            let hidden = self.schemes.get(place).and_then(|scheme| self.hidden(scheme, group));
            let is_refused =
                self.schemes.get(place).is_some_and(|scheme| self.refusal(scheme, group).is_some());
            let grade = match share {
                Some(_) if is_refused => Grade::Poor,
                Some(share) if share >= MET => Grade::Good,
                Some(share) if share >= MOSTLY => Grade::Fair,
                Some(_) => Grade::Poor,
                None => Grade::Plain,
            };
            Score {
                text: measured.map_or(NOTHING.to_owned(), |value| format!("{}{}", between(value), " ms")),
                detail: [seconds, hidden.unwrap_or_default()].join(", ").trim_matches([',', ' ']).to_owned(),
                grade,
                is_best: self.schemes.len() > 1 && best.is_some() && rank((place, value)) == best,
            }
        };
        ScoreColumn { head, scores: values.iter().enumerate().map(score).collect() }
    }

    /// The column of a group without a demand: the goodput of transfers, the latency of others.
    fn without_demand(&self, group: &Group) -> ScoreColumn {
        let is_transfer = self.example(group).is_some_and(is_transfer);
        let value = |summary: &Summary| {
            if is_transfer {
                self.goodput_of(summary, group)
            } else {
                self.middle_of(summary, group, &|flow: &FlowSummary| flow.latency_ms.p95)
            }
        };
        let (figure, unit) = if is_transfer { ("goodput", "Mb/s") } else { ("p95", "ms") };
        let head = format!("{}: {figure}", group.label());
        let serves = |scheme: &SchemeRuns| is_transfer || self.refusal(scheme, group).is_none();
        let hidden = |scheme: &SchemeRuns| {
            if is_transfer { String::new() } else { self.hidden(scheme, group).unwrap_or_default() }
        };
        self.plain(head, unit, is_transfer, value, serves, hidden)
    }

    /// The facts that a latency hides: why the scheme is not chosen, or the share of lost packets.
    fn hidden(&self, scheme: &SchemeRuns, group: &Group) -> Option<String> {
        /// Share from which on it matters.
        const LEAST: f64 = 0.001;
        if let Some(reason) = self.refusal(scheme, group) {
            return Some(reason);
        }
        let lost = scheme.spread(|summary| self.mean_of(summary, group, &|flow| flow.loss_rate))?.median;
        (lost >= LEAST).then(|| format!("{} % lost", number(100.0 * lost)))
    }

    fn utility(&self) -> ScoreColumn {
        let value = |summary: &Summary| Some(summary.session.as_ref()?.utility);
        self.plain("utility of the session".to_owned(), "", true, value, |_| true, |_| String::new())
    }

    fn plain(
        &self,
        head: String,
        unit: &str,
        is_more_better: bool,
        value: impl Fn(&Summary) -> Option<f64>,
        serves: impl Fn(&SchemeRuns) -> bool,
        detail: impl Fn(&SchemeRuns) -> String,
    ) -> ScoreColumn {
        let values: Vec<Option<Spread>> = self.schemes.iter().map(|scheme| scheme.spread(&value)).collect();
        let serving = values.iter().zip(&self.schemes).filter(|(_, scheme)| serves(scheme));
        let medians = serving.filter_map(|(value, _)| value.map(|spread| spread.median));
        let best = if is_more_better { medians.reduce(f64::max) } else { medians.reduce(f64::min) };
        let score = |(value, scheme): (&Option<Spread>, &SchemeRuns)| Score {
            text: value
                .map_or(NOTHING.to_owned(), |value| format!("{} {unit}", between(value)).trim().to_owned()),
            detail: detail(scheme),
            grade: Grade::Plain,
            is_best: self.schemes.len() > 1
                && best.is_some()
                && value.map(|value| value.median) == best
                && serves(scheme),
        };
        ScoreColumn { head, scores: values.iter().zip(&self.schemes).map(score).collect() }
    }

    /// The chapter on the runs: slots, seeds, versions, speed, and the scenarios.
    fn provenance(&self) -> Chapter {
        let columns = [
            "scheme",
            "queue",
            "rate",
            "sender",
            "session",
            "seed",
            "version",
            "measured s",
            "run took s",
            "simulated s per s",
        ];
        let mut grid = Grid::new("Runs", &columns, 5);
        if let Some(Column { numeric, .. }) = grid.columns.get_mut(6) {
            *numeric = false;
        }
        let mut scenarios: Vec<(String, String)> = Vec::new();
        let mut first: Option<String> = None;
        for (scheme, run) in
            self.schemes.iter().flat_map(|scheme| scheme.runs.iter().map(move |run| (scheme, run)))
        {
            let summary = &run.summary;
            let optional = |text: &Option<String>| text.clone().unwrap_or(NOTHING.to_owned());
            let speed = |value: Option<f64>| value.map_or(NOTHING.to_owned(), number);
            let cells = vec![
                scheme.name.clone(),
                summary.scheme.queue.clone(),
                summary.scheme.rate.clone(),
                optional(&summary.scheme.sender),
                optional(&summary.scheme.session),
                summary.seed.to_string(),
                summary.airbound.clone(),
                number(summary.duration_s),
                speed(run.performance.map(|performance| performance.wall_s)),
                speed(run.performance.map(|performance| performance.simulated_s_per_wall_s)),
            ];
            grid.rows.push(cells.into_iter().map(Into::into).collect());
        }
        // The first in full, of the others the lines that differ.
        for scheme in &self.schemes {
            let text = scheme.runs.first().map_or("", |run| run.scenario.as_str());
            match first.as_deref() {
                _ if text.is_empty() => {}
                None => {
                    scenarios.push((format!("Resolved scenario of {}", scheme.name), text.to_owned()));
                    first = Some(text.to_owned());
                }
                Some(first) => {
                    let title = format!("Resolved scenario of {}: what differs", scheme.name);
                    scenarios.push((title, difference(first, text)));
                }
            }
        }
        Chapter {
            title: "What was run".to_owned(),
            tables: vec![grid],
            is_folded: true,
            texts: scenarios,
            ..Chapter::default()
        }
    }
}

/// A column of the scorecard.
struct ScoreColumn {
    head: String,
    /// In the order of the schemes.
    scores: Vec<Score>,
}

/// The lines of a text from the first to the last that differ from another one, with the number of the first.
fn difference(known: &str, text: &str) -> String {
    let same = known.lines().zip(text.lines()).take_while(|(one, other)| one == other).count();
    let (known, lines): (Vec<&str>, Vec<&str>) =
        (known.lines().skip(same).collect(), text.lines().skip(same).collect());
    let after = known.iter().rev().zip(lines.iter().rev()).take_while(|(one, other)| one == other).count();
    let own = &lines[..lines.len() - after];
    match (own, known.len() - after) {
        ([], 0) => "nothing".to_owned(),
        ([], removed) => format!("without its {removed} lines from line {} on", same + 1),
        _ => format!("# from line {} on\n{}", same + 1, own.join("\n")),
    }
}

/// The median, with the range if there is one.
fn between(spread: Spread) -> String {
    let [median, low, high] = [spread.median, spread.low, spread.high].map(number);
    if low == high { median } else { format!("{median} ({low}–{high})") }
}

#[cfg(test)]
mod tests {
    use super::difference;
    use crate::page::Grade;
    use crate::verdict::test_runs::{Made, compared};

    #[test]
    fn a_scheme_that_does_not_serve_the_flow_is_not_green() {
        let runs = vec![
            Made::new("linux", 1).vr(40.0, 0.0),
            Made::new("last-pq", 1).vr(18.0, 0.97),
            Made::new("wqm", 1).vr(6.0, 1.0).goodput("vr", 10.0),
        ];
        let card = compared(runs, "vr", "linux").scorecard().expect("a flow");
        let shown: Vec<_> =
            card.rows.iter().map(|(name, scores)| (&name[..], scores[0].grade, scores[0].is_best)).collect();
        let expected = [
            ("linux (default)", Grade::Poor, false),
            ("last-pq", Grade::Good, true),
            ("wqm", Grade::Poor, false),
        ];
        assert_eq!(shown, expected);
        assert!(card.rows[2].1[0].detail.ends_with("delivers 10.0 of 45.0 Mb/s"), "{card:?}");
    }

    #[test]
    fn scenarios_show_what_differs() {
        let known = "a\nb\nc\nd\n";
        assert_eq!(difference(known, known), "nothing");
        assert_eq!(difference(known, "a\nx\ny\nd\n"), "# from line 2 on\nx\ny");
        assert_eq!(difference(known, "a\nd\n"), "without its 2 lines from line 2 on");
        assert_eq!(difference("a\na\n", "a\na\na\n"), "# from line 3 on\na");
    }
}
