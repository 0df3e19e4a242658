//! The mean latency by stage: one bar for each scheme, divided into stages.

use airbound_record::Stage;

use super::scale::Scale;
use super::svg::{Anchor, Svg};
use super::{Area, NARROW, axes, widest};
use crate::chart::Split;
use crate::grid::number;

const ROW: f64 = 30.0;
const LONGEST: usize = 26;

/// Renders the plot; `None` without bars.
pub(crate) fn split(chart: &Split) -> Option<String> {
    let total = |stages: &[f64; 6]| stages.iter().sum::<f64>();
    let most = chart.bars.iter().map(|(_, stages)| total(stages)).reduce(f64::max)?;
    let names: Vec<String> = chart.bars.iter().map(|(name, _)| shortened(name)).collect();
    let left = widest(names.iter().map(String::as_str)) + 16.0;
    let bottom = 8.0 + ROW * chart.bars.len() as f64;
    // The totals stand at the right of the bars.
    let area = Area { left, right: NARROW - 74.0, top: 4.0, bottom };
    let x = Scale::new(false, (0.0, most), (area.left, area.right));
    let mut svg = Svg::new((NARROW, bottom + 40.0), "Mean latency split into its stages", "");
    axes(&mut svg, area, (Some(&x), None), ("mean latency (ms)", ""));
    for (row, ((full, stages), name)) in chart.bars.iter().zip(&names).enumerate() {
        let top = 8.0 + ROW * row as f64;
        let mut from = 0.0;
        for (number_of_stage, (value, stage)) in stages.iter().zip(Stage::ALL).enumerate() {
            let (start, end) = (x.place(from), x.place(from + value));
            from += value;
            if *value > 0.0 {
                let title = format!("{full}: {} {} ms", stage.name(), number(*value));
                let class = format!("fill t{number_of_stage}");
                svg.rect(&class, (start, top), (end - start, ROW - 8.0), "", &title);
            }
        }
        let middle = top + ROW / 2.0;
        svg.text("", (left - 6.0, middle), Anchor::End, name);
        svg.text("", (x.place(from) + 6.0, middle), Anchor::Start, &format!("{} ms", number(from)));
    }
    Some(svg.finish())
}

/// Shortens a long name in its middle, since names mostly differ at their ends.
fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= LONGEST {
        return name.to_owned();
    }
    let (head, tail) = (&letters[..LONGEST / 2], &letters[letters.len() - (LONGEST / 2 - 1)..]);
    head.iter().chain(&['…']).chain(tail).collect()
}
