//! Sec. V-A: the step rule, and how the buffer size moves.

use airbound_report::{Chapter, Chart, ChartKind, Grid, Line, Lines, Tolerance, ValidationRow};
use airbound_units::Span;

use super::measure::{Case, Figures};
use super::setting::{Rate, Scheme, Setting, WQM};
use crate::Effort;
use crate::reproduce::experiment::{Experiment, Measured, Results};
use crate::reproduce::{Part, Study, shown};

/// The four rules of Fig. 5.
const RULES: [Scheme; 4] = [
    Scheme { name: "AIMD", ..WQM },
    Scheme { name: "AIAD", queue: "{ kind = \"wqm\", step = \"aiad\" }", ..WQM },
    Scheme { name: "MIAD", queue: "{ kind = \"wqm\", step = \"miad\" }", ..WQM },
    Scheme { name: "MIMD", queue: "{ kind = \"wqm\", step = \"mimd\" }", ..WQM },
];

pub(super) struct Steps;

fn case(scheme: Scheme) -> Case {
    Case { setting: Setting::USUAL, scheme }
}

/// A rule of which the buffer size is looked at.
fn looked_at(rule: Scheme, effort: Effort) -> Experiment {
    let setting = Setting { seconds: effort.seconds(100, 8), ..Setting::USUAL };
    Experiment::plain(setting.trial(rule, 1)).looking(Span::from_millis(50))
}

/// The mean buffer size of a run.
fn mean_size(run: &Measured) -> Option<f64> {
    let sizes: Vec<f64> =
        run.views.iter().filter_map(|(_, view)| view.buffer_size).map(|size| size as f64).collect();
    (!sizes.is_empty()).then(|| sizes.iter().sum::<f64>() / sizes.len() as f64)
}

/// One flow at 65 Mb/s, of which buffer size and queue are looked at (Fig. 4).
fn watched(effort: Effort) -> Experiment {
    let setting = Setting { rate: Rate::Mcs7, seconds: effort.seconds(30, 8), ..Setting::USUAL };
    Experiment::plain(setting.trial(WQM, 1)).looking(Span::from_millis(50))
}

/// The buffer size and what waits, over time.
fn adaptation(run: &Measured) -> Chart {
    let size = run.views.iter().filter_map(|(at, view)| Some((*at, view.buffer_size? as f64)));
    let backlog = run.views.iter().map(|(at, view)| (*at, view.backlog.packets as f64));
    let kind = ChartKind::Lines(Lines {
        x: "time (s)".to_owned(),
        y: "packets".to_owned(),
        lines: vec![
            Line::whole("buffer size B", size),
            Line::whole("waiting at the sender, driver included", backlog),
        ],
        ..Lines::default()
    });
    Chart { kind, caption: "Fig. 4: how the buffer size follows the queue, one flow at 65 Mb/s.".to_owned() }
}

impl Study for Steps {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        let rules = RULES.iter().flat_map(|rule| case(*rule).experiments(effort));
        let looks = RULES.iter().map(|rule| looked_at(*rule, effort));
        rules.chain(looks).chain([watched(effort)]).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let figures: Vec<Option<Figures>> =
            RULES.iter().map(|rule| case(*rule).figures(effort, results)).collect();
        let mut grid = Grid::new(
            "Step rules, one flow over one hop",
            &["rule", "RTT ms", "RTT p99 ms", "goodput Mb/s", "mean B"],
            1,
        );
        let mut lines = Vec::new();
        for (rule, figures) in RULES.iter().zip(&figures) {
            let Some(figures) = figures else { continue };
            grid.rows.push(vec![
                rule.name.into(),
                shown(figures.rtt()).into(),
                shown(figures.rtt_p99_ms.mean).into(),
                shown(figures.goodput.mean).into(),
                results
                    .get(&looked_at(*rule, effort))
                    .and_then(mean_size)
                    .map_or(String::new(), shown)
                    .into(),
            ]);
            lines.push(figures.line(rule.name));
        }
        let aimd = figures.first().and_then(Option::as_ref).map(Figures::rtt);
        let rows = RULES.iter().zip(&figures).skip(1).map(|(rule, figures)| {
            let factor = figures.as_ref().map(Figures::rtt).zip(aimd).map(|(other, aimd)| other / aimd);
            let metric = format!("RTT of {} over AIMD", rule.name);
            let note = "Fig. 5; the rules other than AIMD are ours to define (docs/understand/wqm.md)";
            ValidationRow::judged(
                "aimd",
                metric,
                "",
                Some(1.0),
                factor,
                Some(Tolerance::AtLeast),
                false,
                note,
            )
        });
        let rows = rows.collect();
        let kind = ChartKind::Lines(Lines {
            x: "round-trip time (ms)".to_owned(),
            y: "share of samples (%)".to_owned(),
            top: Some(100.0),
            lines,
            ..Lines::default()
        });
        let chapter = Chapter {
            title: "The step rule".to_owned(),
            text: "How the buffer grows and shrinks: additively or multiplicatively.".to_owned(),
            tables: vec![grid],
            charts: [Chart { kind, caption: "Fig. 5: round-trip time of the four rules.".to_owned() }]
                .into_iter()
                .chain(results.get(&watched(effort)).map(adaptation))
                .collect(),
        };
        Part { rows, chapter }
    }
}
