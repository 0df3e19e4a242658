//! The page of a comparison, or of a run, and its scorecard.

use std::path::Path;

use airbound_record::Summary;

use crate::comparison::{Comparison, SchemeRuns, is_adaptive, is_transfer};
use crate::error::ReportError;
use crate::grid::{Column, Grid, NOTHING, Spread, number};
use crate::groups::Group;
use crate::page::{Chapter, Grade, Page, Score, Scorecard};
use crate::run::Run;
use crate::verdict::{Choice, DemandResult, Judged, Keeping, missed_frames};

/// Share of lost packets from which on it matters.
const LEAST: f64 = 0.001;

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
        let verdict = self.verdict();
        let judged = verdict.choice.as_ref().map_or(&[][..], |choice| &choice.schemes);
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
            Chapter {
                scores: self.scorecard(verdict.choice.as_ref()),
                charts: self.demand_dots(judged).into_iter().chain(self.user_dots()).collect(),
                ..chapter("Scorecard")
            },
            Chapter { picks: vec![self.distributions(), self.splits()], ..chapter("Latency") },
            Chapter { charts: self.cost_dots(), ..chapter("What it costs the others") },
            Chapter { picks: vec![self.over_time()], ..chapter("Over time") },
            Chapter { tables: tables.collect(), is_folded: true, ..chapter("Tables") },
            timing,
            self.provenance(),
        ];
        let sentences = verdict.sentences().map(str::to_owned).collect::<Vec<_>>();
        let title = self.said("title").unwrap_or_else(|| name.clone());
        let (title, question) = if self.is_emulated() {
            (format!("Real programs over {name}"), title)
        } else {
            (title, self.said("description").unwrap_or_default())
        };
        Page {
            title,
            question,
            subtitle: format!("{name}, {kind}: {}{seeds}", schemes.join(", ")),
            sentences: sentences.into_iter().chain(self.tried.clone()).collect(),
            chapters,
            next: self.next.clone(),
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

    /// A row for each scheme, a column for each demand, or for the group in focus; and what the others lose.
    pub(crate) fn scorecard(&self, choice: Option<&Choice>) -> Option<Scorecard> {
        let focus = self.focus()?;
        let judged: &[Judged] = choice.map_or(&[], |choice| &choice.schemes);
        let mut columns: Vec<ScoreColumn> = Vec::new();
        if self.any_session() {
            columns.push(self.utility());
        }
        columns.extend(self.demanding().map(|group| self.against_demand(group, judged)));
        if !self.demanding().any(|group| group.is(focus)) {
            columns.insert(0, self.without_demand(focus));
        }
        columns.extend(cost_column(judged));
        let judged = self.demanding().next().map_or("", |_| {
            "At the percentile of the demand, on the Wi-Fi part of the latency, mean over the seeds. Green: kept; yellow: the seeds \
             do not tell; red: missed, or more than 5 % did not arrive. "
        });
        let chosen = choice.and_then(|choice| choice.scheme.as_deref());
        let bold = if chosen.is_some() { "Bold: the choice." } else { "" };
        let rows = self.schemes.iter().enumerate().map(|(place, scheme)| {
            let is_chosen = chosen == Some(scheme.name.as_str());
            let scores = columns.iter().filter_map(|column| column.scores.get(place).cloned());
            (self.labelled(scheme), scores.map(|score| Score { is_best: is_chosen, ..score }).collect())
        });
        Some(Scorecard {
            of: "scheme",
            rows: rows.collect(),
            columns: columns.iter().map(|column| column.head.clone()).collect(),
            note: format!("{judged}{bold}").trim().to_owned(),
        })
    }

    /// The column of a group with a demand.
    fn against_demand(&self, group: &Group, judged: &[Judged]) -> ScoreColumn {
        let demand = self.example(group).and_then(|flow| flow.demand);
        let head = demand.map_or_else(String::new, |demand| {
            format!("{}: p{} ≤ {} ms", group.label(), demand.percentile, demand.latency_ms)
        });
        let place = self.demanding().position(|known| known.is(group)).unwrap_or(0);
        let of = |scheme: &SchemeRuns| {
            let own = judged.iter().find(|judged| judged.scheme == scheme.name);
            own.and_then(|judged| judged.demands.get(place)).map_or_else(Score::default, score)
        };
        ScoreColumn { head, scores: self.schemes.iter().map(of).collect() }
    }

    /// The column of a group without a demand: the goodput of transfers, the frames that a video misses, the latency of others.
    fn without_demand(&self, group: &Group) -> ScoreColumn {
        let goodput = |scheme: &SchemeRuns| scheme.spread(|summary| self.goodput_of(summary, group));
        let missed = |summary: &Summary| Some(100.0 * self.mean_of(summary, group, &missed_frames)?);
        let (is_transfer, adapts) =
            self.example(group).map_or((false, false), |flow| (is_transfer(flow), is_adaptive(flow)));
        let head = |figure: &str| format!("{}: {figure}", group.label());
        if is_transfer {
            let goodput = |summary: &Summary| self.goodput_of(summary, group);
            self.plain(head("goodput"), "Mb/s", goodput, |_| String::new())
        } else if self.any(group, &missed_frames) {
            let bitrate = |scheme: &SchemeRuns| {
                let goodput = goodput(scheme).filter(|_| adapts);
                goodput.map_or(String::new(), |goodput| format!("{} Mb/s", number(goodput.median)))
            };
            self.plain(head("missed frames"), "%", missed, bitrate)
        } else {
            let p95 = |summary: &Summary| self.middle_of(summary, group, &|flow| flow.latency_ms.p95);
            let hidden = |scheme: &SchemeRuns| self.hidden(scheme, group).unwrap_or_default();
            self.plain(head("p95"), "ms", p95, hidden)
        }
    }

    /// The facts that a latency hides: why the scheme is not chosen, or the share of lost packets.
    fn hidden(&self, scheme: &SchemeRuns, group: &Group) -> Option<String> {
        if let Some(reason) = self.refusal(scheme, group) {
            return Some(reason);
        }
        let lost = scheme.spread(|summary| self.mean_of(summary, group, &|flow| flow.loss_rate))?.median;
        (lost >= LEAST).then(|| format!("{} % lost", number(100.0 * lost)))
    }

    fn utility(&self) -> ScoreColumn {
        let value = |summary: &Summary| Some(summary.session.as_ref()?.utility);
        self.plain("utility of the session".to_owned(), "", value, |_| String::new())
    }

    fn plain(
        &self,
        head: String,
        unit: &str,
        value: impl Fn(&Summary) -> Option<f64>,
        detail: impl Fn(&SchemeRuns) -> String,
    ) -> ScoreColumn {
        let score = |scheme: &SchemeRuns| Score {
            text: scheme
                .spread(&value)
                .map_or(NOTHING.to_owned(), |value| format!("{} {unit}", between(value)).trim().to_owned()),
            detail: detail(scheme),
            ..Score::default()
        };
        ScoreColumn { head, scores: self.schemes.iter().map(score).collect() }
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

/// The cell of a demand.
pub(crate) fn score(demand: &DemandResult) -> Score {
    let word = match demand.keeping {
        Keeping::Kept => "kept",
        Keeping::About => "about kept",
        Keeping::Missed => "missed",
    };
    let bitrate = demand.bitrate_mbps.map(|mbps| format!(", {} Mb/s", number(mbps)));
    let lost = (demand.lost_share >= LEAST)
        .then(|| format!(", {} % undelivered", number(100.0 * demand.lost_share)));
    Score {
        text: demand.measured_ms.map_or(NOTHING.to_owned(), |value| format!("{} ms", number(value))),
        detail: format!("{word}{}{}", bitrate.unwrap_or_default(), lost.unwrap_or_default()),
        grade: match demand.keeping {
            Keeping::Kept => Grade::Good,
            Keeping::About => Grade::Fair,
            Keeping::Missed => Grade::Poor,
        },
        is_best: false,
    }
}

/// The column of what other flows lose; `None` where nothing is compared, or nothing is lost anywhere.
fn cost_column(judged: &[Judged]) -> Option<ScoreColumn> {
    let score = |judged: &Judged| {
        let largest = judged.costs.first();
        Score {
            text: largest.map_or("none".to_owned(), |cost| format!("{:.0} %", 100.0 * cost.lost)),
            detail: largest.map_or(String::new(), |cost| cost.flow.clone()),
            ..Score::default()
        }
    };
    let is_any = judged.iter().any(|judged| !judged.costs.is_empty());
    is_any.then(|| ScoreColumn {
        head: "largest loss of goodput".to_owned(),
        scores: judged.iter().map(score).collect(),
    })
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
    fn what_keeps_the_demand_is_green_and_the_choice_is_bold() {
        let runs = vec![
            Made::new("linux", 1).vr(40.0, 0.0).download(100.0),
            Made::new("last-pq", 1).vr(18.0, 0.7).download(95.0),
            Made::new("law", 1).vr(6.0, 1.0).download(40.0),
            Made::new("wqm", 1).vr(6.0, 1.0).loss("vr", 0.778).download(100.0),
        ];
        let comparison = compared(runs, "vr", "linux");
        let card = comparison.scorecard(comparison.verdict().choice.as_ref()).expect("a flow");
        let shown: Vec<_> = card
            .rows
            .iter()
            .map(|(name, scores)| (&name[..], scores[0].grade, scores[0].is_best, &scores[1].text[..]))
            .collect();
        let expected = [
            ("linux (default)", Grade::Poor, false, "none"),
            ("last-pq", Grade::Good, true, "5 %"),
            ("law", Grade::Good, false, "60 %"),
            ("wqm", Grade::Poor, false, "none"),
        ];
        assert_eq!(shown, expected);
        assert_eq!(card.rows[3].1[0].detail, "missed, 77.8 % undelivered");
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
