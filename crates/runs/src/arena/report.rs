//! The standings on a terminal, as a page, and as JSON.

use airbound_report::{
    Bar, Cell, Chapter, Chart, ChartKind, Dots, Grade, Grid, Page, Score, Scorecard, wrapped,
};
use serde_json::{Value, json};

use super::{Estimate, Figures, Row, Standings};
use crate::error::RunsError;

/// Share of late frames up to which a place counts as good, and from which on as bad.
const GOOD: f64 = 0.01;
const BAD: f64 = 0.05;

/// Entrants in a chart: as many as there are colours.
const SHOWN: usize = 6;

const MEANING: &str = "Score: bitrate, less tenfold the share of late frames, over that of the best at each place, mean of the places. Late: lost, left out, or after \
     the deadline. Changes: of the target by 2 % or more. Others lose: goodput, against the same place without the stream.";

fn percent(share: f64) -> String {
    match 100.0 * share {
        all if all.abs() >= 9.95 => format!("{all:.0}"),
        all => format!("{all:.1}"),
    }
}

fn in_time(value: f64) -> String {
    if value >= 99.5 { format!("{value:.0}") } else { format!("{value:.1}") }
}

impl Estimate {
    fn cell(self) -> Cell {
        let range = self.range.map_or_else(String::new, |(low, high)| format!("{low:.0}–{high:.0}"));
        Cell { text: format!("{:.0}", self.mean), range }
    }

    fn json(self) -> Value {
        json!({ "mean": self.mean, "low": self.range.map(|range| range.0), "high": self.range.map(|range| range.1) })
    }
}

impl Standings {
    /// The answer: who is first and by how much, who is most often in time, and where each place is lost.
    fn sentences(&self) -> Vec<String> {
        let mut sentences = Vec::new();
        let Some(first) = self.rows.first() else { return sentences };
        let known = |row: &Row| {
            format!("{} Mb/s with {} % of its frames late", in_time(row.all.bitrate), percent(row.all.late))
        };
        // Intervals that overlap tell nothing apart.
        let near = |row: &&Row| match (row.score.range, first.score.range) {
            (Some((_, high)), Some((low, _))) => high >= low,
            _ => row.score.mean >= first.score.mean,
        };
        let equals: Vec<&str> =
            self.rows[1..].iter().filter(near).map(|row| row.entrant.label.as_str()).collect();
        let beside = match equals.as_slice() {
            [] => String::new(),
            names => format!("; not told apart from {}", names.join(", ")),
        };
        let label = &first.entrant.label;
        sentences.push(format!(
            "{label} is first, with {:.0} of 100: {}{beside}.",
            first.score.mean,
            known(first)
        ));
        let latest = self.rows.iter().min_by(|a, b| a.all.late.total_cmp(&b.all.late));
        if let Some(row) = latest.filter(|row| row.entrant != first.entrant) {
            sentences.push(format!("Fewest late frames: {}, {}.", row.entrant.label, known(row)));
        }
        let worst =
            first.places.iter().zip(&self.arena.places).max_by(|a, b| a.0.1.late.total_cmp(&b.0.1.late));
        if let Some(((_, figures), place)) = worst.filter(|((_, figures), _)| figures.late > GOOD) {
            let best = |row: &&Row| {
                row.places
                    .iter()
                    .zip(&self.arena.places)
                    .any(|((_, own), known)| known.name == place.name && own.late <= GOOD)
            };
            let others = self.rows.iter().filter(best).count();
            let whether = if others == 0 { "no rule keeps" } else { "others keep" };
            sentences.push(format!(
                "The worst place of {label} is {} ({}), with {} % late; {whether} 99 % of the frames in time there.",
                place.name,
                place.meaning,
                percent(figures.late)
            ));
        }
        sentences
    }

    fn subtitle(&self) -> String {
        let count = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
        let arena = &self.arena;
        format!(
            "{}, {}, {}, {}: {}{}",
            count(arena.rules.len(), "rule"),
            count(arena.schemes.len(), "scheme"),
            count(arena.places.len(), "place"),
            count(arena.seeds as usize, "seed"),
            count(self.runs, "run"),
            arena.duration.as_deref().map_or_else(String::new, |length| format!(" of {length}"))
        )
    }

    fn ranking(&self) -> Grid {
        let columns = [
            "rule",
            "score",
            "late %",
            "frame p99 ms",
            "Mb/s",
            "stalls %",
            "changes /min",
            "others lose %",
            "worst place",
        ];
        let mut grid = Grid::new("", &columns, 1);
        if let Some(last) = grid.columns.last_mut() {
            last.numeric = false;
        }
        for row in &self.rows {
            let Figures { p99, late, bitrate, stalls, changes, cost, .. } = row.all;
            let worst =
                row.places.iter().zip(&self.arena.places).max_by(|a, b| a.0.1.late.total_cmp(&b.0.1.late));
            let worst = worst.map_or_else(String::new, |(_, place)| place.name.clone());
            grid.rows.push(vec![
                row.entrant.label.clone().into(),
                row.score.cell(),
                percent(late).into(),
                in_time(p99).into(),
                in_time(bitrate).into(),
                percent(stalls).into(),
                format!("{changes:.0}").into(),
                percent(cost).into(),
                worst.into(),
            ]);
        }
        let intervals =
            if self.arena.seeds > 1 { " Below the score: its 95 % interval over the seeds." } else { "" };
        grid.note = format!("{MEANING}{intervals}");
        grid
    }

    /// The table and the verdict, no wider than `width` columns.
    #[must_use]
    pub fn to_text(&self, width: u16) -> String {
        let wide = usize::from(width);
        let answer: String =
            self.sentences().iter().map(|sentence| wrapped(&format!("=> {sentence}"), wide)).collect();
        format!(
            "{}\n\n{answer}\n{}",
            wrapped(&format!("Arena of {}.", self.subtitle()), wide).trim_end(),
            self.ranking().to_text(width)
        )
    }

    /// Late frames by place: a row for each entrant.
    fn scorecard(&self) -> Scorecard {
        let rows = self.rows.iter().map(|row| {
            let scores = row.places.iter().enumerate().map(|(place, (_, figures))| {
                let best = self.rows.iter().map(|row| row.places[place].0.mean).fold(0.0, f64::max);
                let grade = match figures.late {
                    late if late <= GOOD => Grade::Good,
                    late if late <= BAD => Grade::Fair,
                    _ => Grade::Poor,
                };
                Score {
                    text: format!("{} %", percent(figures.late)),
                    detail: format!("{} Mb/s, p99 {} ms", in_time(figures.bitrate), in_time(figures.p99)),
                    grade,
                    is_best: best > 0.0 && row.places[place].0.mean >= best,
                }
            });
            (row.entrant.label.clone(), scores.collect())
        });
        Scorecard {
            of: "rule",
            columns: self.arena.places.iter().map(|place| place.name.clone()).collect(),
            rows: rows.collect(),
            note: "Late frames; below, bitrate of the video and 99th percentile of the frames' latency. Green: up to 1 %; yellow: up to 5 %. Bold: the \
                   highest score of the place."
                .to_owned(),
        }
    }

    fn dots(&self, x: &str, caption: &str, of: impl Fn(&(Estimate, Figures)) -> Bar) -> Chart {
        let series =
            self.rows.iter().take(SHOWN).map(|row| {
                (row.entrant.label.clone(), row.places.iter().map(|place| Some(of(place))).collect())
            });
        Chart {
            kind: ChartKind::Dots(Dots {
                x: x.to_owned(),
                logarithmic: false,
                rows: self.arena.places.iter().map(|place| place.name.clone()).collect(),
                series: series.collect(),
            }),
            caption: caption.to_owned(),
        }
    }

    /// The page, which stands alone.
    ///
    /// # Errors
    /// It cannot be rendered, which is a defect.
    pub fn to_html(&self) -> Result<String, RunsError> {
        let chapter = |title: &str| Chapter { title: title.to_owned(), ..Chapter::default() };
        let mut places = Grid::new("", &["place", "what it is"], 2);
        places.rows = self
            .arena
            .places
            .iter()
            .map(|place| vec![place.name.clone().into(), place.meaning.clone().into()])
            .collect();
        let score =
            |place: &(Estimate, Figures)| Bar { value: place.0.mean, range: place.0.range, reference: None };
        let cost = |place: &(Estimate, Figures)| Bar { value: 100.0 * place.1.cost, ..Bar::default() };
        let chapters = vec![
            Chapter { tables: vec![self.ranking()], ..chapter("Ranking") },
            Chapter { scores: Some(self.scorecard()), ..chapter("Place by place") },
            Chapter {
                charts: vec![
                    self.dots(
                        "score",
                        "Score of the six best at each place, with its interval over the seeds.",
                        score,
                    ),
                    self.dots(
                        "goodput that the others lose, %",
                        "Cost of the six best to the others, against the place without the stream.",
                        cost,
                    ),
                ],
                ..chapter("Scores and costs")
            },
            Chapter { tables: vec![places], ..chapter("Places") },
        ];
        let page = Page {
            title: "An arena of bitrate rules".to_owned(),
            question: "Which rule for the bitrate of a streamed game is any good on Wi-Fi?".to_owned(),
            subtitle: self.subtitle(),
            sentences: self.sentences(),
            chapters,
            ..Page::default()
        };
        Ok(page.to_html()?)
    }

    /// Everything, with the verdict first.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let row = |row: &Row| {
            let places = row.places.iter().zip(&self.arena.places).map(|((score, figures), place)| {
                json!({ "place": place.name, "score": score.json(), "figures": figures })
            });
            json!({
                "rule": row.entrant.rule,
                "scheme": row.entrant.scheme,
                "score": row.score.json(),
                "figures": row.all,
                "places": places.collect::<Vec<_>>(),
            })
        };
        json!({
            "verdict": self.sentences(),
            "seeds": self.arena.seeds,
            "runs": self.runs,
            "ranking": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}
