//! The judgement on a terminal, in Markdown, as JSON and as a page.

use airbound_report::{Chapter, Grade, Grid, Page, Score, Scorecard, wrapped};
use airbound_runs::RunsError;
use serde_json::{Map, Value, json};

use super::{Cell, Channel, Evening, Figures, Judgement, LINES, Reference};
use crate::page_markdown;

const TITLE: &str = "An evening under each scheme";

impl Evening {
    /// The command that makes it again.
    #[must_use]
    pub fn command(&self) -> String {
        let mut command = format!("airbound-studies evening --seeds {}", self.seeds);
        let schemes: Vec<&str> = self.names().collect();
        if schemes != super::SCHEMES {
            command += &format!(" --schemes {}", schemes.join(","));
        }
        if self.channels != Channel::ALL {
            let names: Vec<&str> = self.channels.iter().map(|channel| channel.name).collect();
            command += &format!(" --channels {}", names.join(","));
        }
        if self.is_quick { command + " --quick" } else { command }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.schemes.iter().map(|(name, _)| name.as_str())
    }
}

/// The middle of the sample; of an even number the upper one.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

impl Cell {
    /// Lines that pass in enough seeds.
    fn held(&self, least: u32) -> usize {
        self.passed.iter().filter(|count| **count >= least).count()
    }

    fn of(&self, value: impl Fn(&Figures, &Reference) -> f64) -> f64 {
        median(self.figures.iter().zip(&self.references).map(|(own, to)| value(own, to)))
    }
}

impl Judgement {
    fn of_scheme<'a>(&'a self, scheme: &'a str) -> impl Iterator<Item = &'a Cell> {
        self.cells.iter().filter(move |cell| cell.scheme == scheme)
    }

    /// Lines that a scheme passes, over all channels.
    #[must_use]
    pub fn held(&self, scheme: &str) -> usize {
        self.of_scheme(scheme).map(|cell| cell.held(self.evening.least())).sum()
    }

    /// The answer: who passes most, whether one passes all, and lines that nobody passes.
    fn sentences(&self) -> Vec<String> {
        let Evening { channels, seeds, .. } = &self.evening;
        let (all, least) = (LINES.len() * channels.len(), self.evening.least());
        let most = self.evening.names().map(|scheme| self.held(scheme)).max().unwrap_or_default();
        let first: Vec<&str> = self.evening.names().filter(|scheme| self.held(scheme) == most).collect();
        let whether = if most == all {
            format!("{} passes all {all} lines", first.join(" and "))
        } else {
            format!("no scheme passes all {all} lines; {} {most}", first.join(" and "))
        };
        let grounds = match channels.as_slice() {
            [one] => one.name.to_owned(),
            all => format!("{} channels", all.len()),
        };
        let enough = if *seeds == 1 { "one seed".to_owned() } else { format!("{least} of {seeds} seeds") };
        let mut sentences = vec![format!("Of five lines on {grounds}, each in {enough}, {whether}.")];
        for (place, line) in LINES.iter().enumerate() {
            let nobody: Vec<&str> = channels
                .iter()
                .map(|channel| channel.name)
                .filter(|name| {
                    self.cells.iter().all(|cell| cell.channel != *name || cell.passed[place] < least)
                })
                .collect();
            if !nobody.is_empty() {
                sentences.push(format!(
                    "Line {} is passed by no scheme on {}.",
                    line.name,
                    nobody.join(", ")
                ));
            }
        }
        sentences
    }

    fn verdict(&self, channel: &Channel) -> Grid {
        let mut columns = vec!["scheme"];
        columns.extend(LINES.iter().map(|line| line.name));
        columns.push("passed");
        let mut grid = Grid::new(format!("Lines on {}", channel.name), &columns, 1);
        for cell in self.cells.iter().filter(|cell| cell.channel == channel.name) {
            let mut row = vec![cell.scheme.clone().into()];
            row.extend(cell.passed.iter().map(|count| count.to_string().into()));
            row.push(cell.held(self.evening.least()).to_string().into());
            grid.rows.push(row);
        }
        grid.note = format!(
            "Seeds of {} in which each line passes; passed: lines with {} or more.",
            self.evening.seeds,
            self.evening.least()
        );
        grid
    }

    /// Medians over the seeds.
    fn figures(&self, channel: &Channel) -> Grid {
        let columns = [
            "scheme",
            "kept %",
            "arrive %",
            "call ms",
            "added",
            "loss %",
            "downloads ms",
            "of fifo",
            "Mb/s",
            "of linux",
            "unfair %",
            "level",
            "target",
            "lost %",
            "Mb/s stream",
            "utility",
            "of plain",
        ];
        let mut grid = Grid::new(format!("Figures on {}", channel.name), &columns, 1);
        let mut references = String::new();
        for cell in self.cells.iter().filter(|cell| cell.channel == channel.name) {
            let percent = |value: f64| format!("{:.1}", 100.0 * value);
            let small = |value: f64| format!("{:.2}", 100.0 * value);
            let row = [
                cell.scheme.clone(),
                percent(cell.of(|own, _| own.kept)),
                percent(cell.of(|own, _| own.arrived)),
                format!("{:.1}", cell.of(|own, _| own.call_p99_ms)),
                format!("{:.2}", cell.of(|own, to| to.call_delay(own))),
                small(cell.of(|own, _| own.call_loss)),
                format!("{:.1}", cell.of(|own, _| own.download_ms)),
                format!("{:.2}", cell.of(|own, to| own.download_ms / to.fifo_download_ms.max(1e-3))),
                format!("{:.0}", cell.of(|own, _| own.download_mbps)),
                format!("{:.2}", cell.of(|own, to| own.download_mbps / to.linux_download_mbps.max(1e-3))),
                percent(cell.of(|own, _| own.unfair)),
                format!("{:.1}", cell.of(|own, _| own.level)),
                format!("{:.1}", cell.of(|own, _| own.target)),
                small(cell.of(|own, _| own.stream_loss)),
                format!("{:.1}", cell.of(|own, _| own.stream_mbps)),
                format!("{:.3}", cell.of(|own, _| own.utility)),
                format!("{:.2}", cell.of(|own, to| own.utility / to.plain_utility.max(1e-3))),
            ];
            grid.rows.push(row.map(airbound_report::Cell::from).to_vec());
            references = format!(
                "Medians over the seeds. Call alone {:.1} ms; downloads behind a FIFO of 8192 packets {:.0} ms. added: p99 of the call less that \
                 alone, over Linux's.",
                cell.of(|_, to| to.alone_call_ms),
                cell.of(|_, to| to.fifo_download_ms)
            );
        }
        grid.note = references;
        grid
    }

    /// Lines and channels with their meaning.
    fn meanings(&self) -> [Grid; 2] {
        let mut lines = Grid::new("The lines", &["line", "passes if"], 2);
        lines.rows = LINES.iter().map(|line| vec![line.name.into(), line.meaning.into()]).collect();
        let mut channels = Grid::new("The channels", &["channel", "what it is"], 2);
        let rows = self.evening.channels.iter().map(|one| vec![one.name.into(), one.meaning.into()]);
        channels.rows = rows.collect();
        [lines, channels]
    }

    fn tables(&self) -> Vec<Grid> {
        let mut tables: Vec<Grid> = self.evening.channels.iter().map(|one| self.verdict(one)).collect();
        tables.extend(self.evening.channels.iter().map(|one| self.figures(one)));
        tables
    }

    /// The verdict and the tables, no wider than `width` columns.
    #[must_use]
    pub fn to_text(&self, width: u16) -> String {
        let wide = usize::from(width);
        let answer: String =
            self.sentences().iter().map(|sentence| wrapped(&format!("=> {sentence}"), wide)).collect();
        let [lines, _] = self.meanings();
        let tables = self.tables();
        let tables: String =
            [&lines].into_iter().chain(&tables).map(|table| format!("\n{}", table.to_text(width))).collect();
        format!("{answer}{tables}\n{} simulations.\n", self.runs)
    }

    /// The tables in Markdown, for `scripts/results.py take`.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let (meanings, tables) = (self.meanings(), self.tables());
        page_markdown(TITLE, &self.evening.command(), meanings.iter().chain(&tables)) + "\n"
    }

    /// The verdict first, then everything that was measured.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let held: Map<String, Value> =
            self.evening.names().map(|scheme| (scheme.to_owned(), json!(self.held(scheme)))).collect();
        json!({
            "verdict": self.sentences(),
            "command": self.evening.command(),
            "lines": LINES.map(|line| json!({ "name": line.name, "meaning": line.meaning })),
            "values": held,
            "runs": self.runs,
            "cells": self.cells,
        })
    }

    fn scorecard(&self) -> Scorecard {
        let (channels, seeds, least) = (&self.evening.channels, self.evening.seeds, self.evening.least());
        let columns = channels
            .iter()
            .flat_map(|one| LINES.map(|line| format!("{}, {}", line.name, one.name)))
            .collect();
        let rows = self.evening.names().map(|scheme| {
            let scores = self.of_scheme(scheme).flat_map(|cell| {
                cell.passed.map(|count| Score {
                    text: format!("{count} of {seeds}"),
                    detail: String::new(),
                    grade: match count {
                        count if count >= least => Grade::Good,
                        count if 2 * count >= seeds => Grade::Fair,
                        _ => Grade::Poor,
                    },
                    is_best: count >= least,
                })
            });
            (scheme.to_owned(), scores.collect())
        });
        let note = format!("Seeds in which a line passes. Green and bold: {least} or more; yellow: half.");
        Scorecard { of: "scheme", columns, rows: rows.collect(), note }
    }

    /// The page, which stands alone.
    ///
    /// # Errors
    /// It cannot be rendered, which is a defect.
    pub fn to_html(&self) -> Result<String, RunsError> {
        let chapter = |title: &str| Chapter { title: title.to_owned(), ..Chapter::default() };
        let page = Page {
            title: TITLE.to_owned(),
            question:
                "Which scheme keeps a headset, a call, downloads, a stream that senses and a session at once?"
                    .to_owned(),
            subtitle: format!("{} runs: {}", self.runs, self.evening.command()),
            sentences: self.sentences(),
            chapters: vec![
                Chapter { scores: Some(self.scorecard()), ..chapter("Line by line") },
                Chapter { tables: self.tables(), ..chapter("Figures") },
                Chapter { tables: self.meanings().to_vec(), ..chapter("Lines and channels") },
            ],
            ..Page::default()
        };
        Ok(page.to_html()?)
    }
}
