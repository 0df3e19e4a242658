//! A comparison on one screen of a terminal: the verdict, and a row for each scheme.

use crate::comparison::Comparison;
use crate::grid::{Cell, Column, Grid, wrapped};
use crate::overview::score;
use crate::page::{Score, Scorecard};
use crate::verdict::Judged;

/// Demands that have a column each.
const MOST_DEMANDS: usize = 2;
/// Lines of a comparison, of a screen of 24 with what a command adds.
const LINES: usize = 20;

impl Comparison {
    /// Text for a terminal, at most `width` columns wide: the choice, a row for each scheme, and as many of the other sentences as fit on
    /// a screen of 24 lines. The last line counts what is left out, and names `more`, the option that shows it.
    #[must_use]
    pub fn to_screen(&self, width: u16, more: &str) -> String {
        let verdict = self.verdict();
        let judged = verdict.choice.as_ref().map_or(&[][..], |choice| &choice.schemes);
        let mut card = self.scorecard(verdict.choice.as_ref());
        if judged.iter().any(|judged| judged.demands.len() > MOST_DEMANDS)
            && let Some(card) = &mut card
        {
            furthest(card, judged);
        }
        let table = card.map(|card| {
            let head = |name: String, numeric| Column { name, numeric };
            let columns = card.columns.into_iter().map(|name| head(name, false));
            let row = |(scheme, scores): (String, Vec<Score>)| {
                let mark = if scores.iter().any(|score| score.is_best) { "=> " } else { "   " };
                let cells = scores.into_iter().map(|score| {
                    let text = [score.text, score.detail].join(" ");
                    Cell::from(text.trim().to_owned())
                });
                std::iter::once(Cell::from(format!("{mark}{scheme}"))).chain(cells).collect()
            };
            Grid {
                columns: std::iter::once(head("   scheme".to_owned(), false)).chain(columns).collect(),
                rows: card.rows.into_iter().map(row).collect(),
                ..Grid::default()
            }
            .to_text(width)
        });
        let table = table.unwrap_or_default();
        let sentences: Vec<String> = verdict
            .sentences()
            .map(|sentence| wrapped(&format!("=> {sentence}"), usize::from(width)))
            .collect();
        let (shown, left) = fitting(&sentences, LINES.saturating_sub(table.lines().count() + 2));
        let mut text = format!("{}\n{table}", shown.concat());
        text += &match left {
            0 => format!("All tables: {more}\n"),
            1 => format!("One more remark, and all tables: {more}\n"),
            _ => format!("{left} more remarks, and all tables: {more}\n"),
        };
        text
    }
}

/// Puts one column in place of those of the demands: the demand that is furthest from being kept.
fn furthest(card: &mut Scorecard, judged: &[Judged]) {
    let demands = judged.first().map_or(0, |judged| judged.demands.len());
    let is_demand = |head: &String| head.contains(" ≤ ");
    let Some(first) = card.columns.iter().position(is_demand) else { return };
    let last = first + card.columns.iter().filter(|head| is_demand(head)).count();
    card.columns.splice(first..last, [format!("furthest of {demands} demands")]);
    for ((_, scores), judged) in card.rows.iter_mut().zip(judged) {
        let worst = judged.worst().map_or_else(Score::default, |worst| {
            let score = score(worst);
            let text =
                format!("{}: {} of {} ms", worst.flow, score.text.trim_end_matches(" ms"), worst.demanded_ms);
            Score { text, is_best: scores.iter().any(|score| score.is_best), ..score }
        });
        scores.splice(first..last.min(scores.len()), [worst]);
    }
}

/// The first sentence and those that follow it as long as they fit into `room` lines, and the number of others.
fn fitting(sentences: &[String], room: usize) -> (&[String], usize) {
    let mut used = 0;
    let fits = |(place, sentence): (usize, &String)| {
        used += sentence.lines().count();
        place == 0 || used <= room
    };
    let count = sentences.iter().enumerate().map(fits).take_while(|fits| *fits).count();
    let (shown, left) = sentences.split_at(count);
    (shown, left.len())
}

#[cfg(test)]
mod tests {
    use crate::verdict::test_runs::{Made, compared};

    #[test]
    fn of_many_demands_the_furthest_has_the_column() {
        let run = |name: &str, p95| Made::new(name, 1).vr(p95, 0.1).uplink(9.0).stream("film", 30.0);
        let text =
            compared(vec![run("linux", 50.0), run("pie", 24.0)], "vr", "linux").to_screen(100, "--full");
        assert!(text.contains("furthest of 3 demands"), "{text}");
        assert!(
            text.contains("vr: 50.0 of 20 ms missed") && text.contains("film: 30.0 of 20 ms missed"),
            "{text}"
        );
        assert!(!text.contains("camera: p95"), "{text}");
    }

    #[test]
    fn it_fits_a_screen_and_says_what_is_left_out() {
        let schemes = ["linux", "fifo", "codel", "pie", "last-pq", "wqm", "law", "fq-codel", "round-robin"];
        let runs = schemes.map(|name| Made::new(name, 1).vr(30.0, 0.1).download(50.0).call(9.0));
        let comparison = compared(runs.to_vec(), "vr", "linux");
        for width in [60, 80, 120] {
            let text = comparison.to_screen(width, "--full");
            assert!(text.lines().count() <= 24, "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= usize::from(width)), "{text}");
            assert!(text.starts_with("=> No scheme keeps the demand of vr,"), "{text}");
            assert!(schemes.iter().all(|scheme| text.contains(scheme)), "{text}");
            assert!(text.trim_end().ends_with("--full"), "{text}");
        }
    }
}
