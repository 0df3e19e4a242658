//! Upright bars in groups: a group for each setting, a bar for each scheme, with the range over seeds and a reference value.

use super::scale::Scale;
use super::svg::{Anchor, Svg, shown};
use super::{Area, NARROW, WIDE, axes, series, widest};
use crate::chart::{Bar, Bars};
use crate::grid::number;

const HEIGHT: f64 = 280.0;
/// Room of a group of bars that can be told apart.
const LEAST: f64 = 12.0;

/// Renders the plot, and whether it is wide; `None` without a bar.
pub(crate) fn bars(chart: &Bars) -> Option<(String, bool)> {
    let all = || chart.series.iter().flat_map(|(_, bars)| bars.iter().flatten());
    let high =
        |bar: &Bar| bar.value.max(bar.range.map_or(0.0, |(_, high)| high)).max(bar.reference.unwrap_or(0.0));
    let highest = all().map(high).reduce(f64::max)?;
    let groups = chart.groups.len().max(1) as f64;
    let longest = widest(chart.groups.iter().map(String::as_str)) + 8.0;
    let room = longest.max(LEAST * (chart.series.len() + 1) as f64);
    let is_wide = groups * room > NARROW - 80.0;
    let width = if is_wide { WIDE } else { NARROW };
    let left = 20.0 + widest([shown((1.05 * highest).round()).as_str(), "0.001"].into_iter());
    // Names that do not fit beside each other lean.
    let leans = groups * longest > width - left - 16.0;
    let below = if leans { (0.6 * longest + 24.0).min(150.0) } else { 26.0 };
    let area = Area { left, right: width - 16.0, top: 26.0, bottom: HEIGHT };
    let x = Scale::new(false, (0.0, groups), (area.left, area.right));
    let y = Scale::new(false, (0.0, 1.05 * highest), (area.bottom, area.top));
    let mut svg = Svg::new((width, HEIGHT + below), &format!("{} as bars", chart.y), "");
    axes(&mut svg, area, (None, Some(&y)), ("", &chart.y));
    let breadth = 0.8 / chart.series.len().max(1) as f64;
    for (place, (name, bars)) in chart.series.iter().enumerate() {
        svg.open_series(&series(place), name);
        for (group, bar) in bars.iter().enumerate().filter_map(|(group, bar)| Some((group, (*bar)?))) {
            let start = group as f64 + 0.1 + breadth * place as f64;
            let (from, to) = (x.place(start), x.place(start + 0.92 * breadth));
            let reference =
                bar.reference.map_or(String::new(), |value| format!(", reference {}", number(value)));
            let of = chart.groups.get(group).map_or("", String::as_str);
            let title = format!("{name}, {of}: {}{reference}", number(bar.value));
            let top = y.place(y.clamp(bar.value));
            svg.rect("fill", (from, top), (to - from, area.bottom - top), "", &title);
            let middle = f64::midpoint(from, to);
            if let Some((low, high)) = bar.range.filter(|(low, high)| high > low) {
                svg.line("whisker", (middle, y.place(y.clamp(low))), (middle, y.place(y.clamp(high))));
            }
            if let Some(value) = bar.reference {
                svg.text("mark", (middle, y.place(y.clamp(value)) + 5.0), Anchor::Middle, "◆");
            }
        }
        svg.close("g");
    }
    for (group, name) in chart.groups.iter().enumerate() {
        let at = (x.place(group as f64 + 0.5), area.bottom + 18.0);
        if leans {
            let turn = format!(" transform=\"rotate(-35 {:.0} {:.0})\"", at.0, at.1);
            svg.turned("", at, Anchor::End, name, &turn);
        } else {
            svg.text("", at, Anchor::Middle, name);
        }
    }
    Some((svg.finish(), is_wide))
}
