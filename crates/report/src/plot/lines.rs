//! Lines: a quantity over another one, the share of samples above a latency, small multiples over time.

use super::scale::Scale;
use super::svg::{Anchor, Svg, shown};
use super::{Area, NARROW, axes, series, widest, width};
use crate::chart::{Line, Lines, Panels, Tails};
use crate::plot::SERIES;

const HEIGHT: f64 = 300.0;
/// The smallest share of a tail that is shown, in per cent: the 99.99th percentile.
const SMALLEST: f64 = 0.01;
/// Size of one of several small plots, and of a single one: the page shows both without scaling, so that texts have one size.
const PANEL: (f64, f64) = (228.0, 140.0);
const ALONE: (f64, f64) = (NARROW, 200.0);

fn points(line: &Line) -> impl Iterator<Item = (f64, f64)> + '_ {
    line.points.iter().flatten().copied()
}

/// Lowest and highest; `None` without values.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let mut values = values.filter(|value| value.is_finite());
    let first = values.next()?;
    Some(values.fold((first, first), |(low, high), value| (low.min(value), high.max(value))))
}

/// Draws a line, interrupted where it has no point; a point alone is a short dash.
fn draw(svg: &mut Svg, number: usize, line: &Line, (x, y): (&Scale, &Scale)) {
    svg.open_series(&series(number), &line.name);
    for piece in line.points.split(Option::is_none).filter(|piece| !piece.is_empty()) {
        let place = |(across, up): &(f64, f64)| (x.place(*across), y.place(y.clamp(*up)));
        if let [Some(alone)] = piece {
            let (across, up) = place(alone);
            svg.path("line", [(across - 1.5, up), (across + 1.5, up)]);
        } else {
            svg.path("line", piece.iter().flatten().map(place));
        }
    }
    svg.close("g");
}

/// The room of the marks of a vertical axis up to `high`.
fn left(high: f64) -> f64 {
    14.0 + widest([shown(high.round()).as_str(), "0.01"].into_iter())
}

/// Lines over a common axis; `None` without a point.
pub(crate) fn lines(chart: &Lines) -> Option<String> {
    let drawn = || chart.lines.iter().take(SERIES);
    let is_shown = |(x, _): &(f64, f64)| !chart.logarithmic || *x > 0.0;
    let marks = || chart.marks.iter().filter(|(_, at)| is_shown(at));
    let all = || drawn().flat_map(points).filter(is_shown).chain(marks().map(|(_, at)| *at));
    drawn().flat_map(points).find(is_shown)?;
    let across = ends(all().map(|(x, _)| x))?;
    let upper = chart.bands.iter().take(SERIES).flatten().map(|(_, _, high)| *high);
    let heights = all().map(|(_, y)| y).chain(upper).chain(chart.levels.iter().map(|(_, y)| *y));
    let (lowest, highest) = ends(heights)?;
    let low = if lowest < 0.0 { 1.08 * lowest } else { 0.0 };
    let top = chart.top.unwrap_or(1.08 * highest);
    let area = Area { left: left(top), right: NARROW - 16.0, top: 26.0, bottom: HEIGHT - 42.0 };
    let x = Scale::new(chart.logarithmic, across, (area.left, area.right));
    let y = Scale::new(false, (low, top), (area.bottom, area.top));
    let over = chart.x.split(" (").next().unwrap_or(&chart.x);
    let attributes = x.attribute("x") + &y.attribute("y");
    let mut svg = Svg::new((NARROW, HEIGHT), &format!("{} over {over}", chart.y), &attributes);
    axes(&mut svg, area, (Some(&x), Some(&y)), (&chart.x, &chart.y));
    for (number, band) in chart.bands.iter().take(SERIES.min(chart.lines.len())).enumerate() {
        let band: Vec<_> = band.iter().filter(|(x, ..)| !chart.logarithmic || *x > 0.0).collect();
        if band.len() > 1 {
            let above = band.iter().map(|(across, _, high)| (x.place(*across), y.place(y.clamp(*high))));
            let below = band.iter().rev().map(|(across, low, _)| (x.place(*across), y.place(y.clamp(*low))));
            svg.shape(&format!("band {}", series(number)), above.chain(below));
        }
    }
    for (_, level) in &chart.levels {
        let at = y.place(*level);
        svg.path("level", [(area.left, at), (area.right, at)]);
    }
    for (number, line) in drawn().enumerate() {
        let kept = Line {
            name: line.name.clone(),
            points: line.points.iter().copied().map(|point| point.filter(is_shown)).collect(),
        };
        draw(&mut svg, number, &kept, (&x, &y));
    }
    for (name, level) in &chart.levels {
        // At the side where fewer lines pass.
        let near = |from: f64, to: f64| {
            let close = |(across, up): &(f64, f64)| {
                (from..=to).contains(&x.place(*across)) && (y.place(*up) - y.place(*level)).abs() < 14.0
            };
            drawn().flat_map(points).filter(is_shown).filter(close).count()
        };
        let room = width(name);
        let (side, anchor) = if near(area.left, area.left + room) < near(area.right - room, area.right) {
            (area.left + 4.0, Anchor::Start)
        } else {
            (area.right, Anchor::End)
        };
        svg.text("at", (side, y.place(*level) - 4.0), anchor, name);
    }
    for (number, (name, (across, up))) in marks().enumerate() {
        let (across, up) = (x.place(*across), y.place(y.clamp(*up)));
        // Names of marks at one height do not touch.
        let offset = if number.is_multiple_of(2) { -9.0 } else { 19.0 };
        let anchor = if across + width(name) > area.right { Anchor::End } else { Anchor::Start };
        svg.text("at mark", (across, up + 5.0), Anchor::Middle, "◆");
        svg.text("at", (across, up + offset), anchor, name);
    }
    Some(svg.finish())
}

/// The share of samples above each latency; `None` without a point.
pub(crate) fn tails(chart: &Tails) -> Option<String> {
    let drawn = || chart.lines.iter().take(SERIES);
    let is_shown = |(ms, _): &(f64, f64)| *ms > 0.0;
    // Beyond the smallest share a line leaves the plot.
    let visible = |line: &Line| {
        let all: Vec<(f64, f64)> = points(line).filter(is_shown).collect();
        let end =
            all.iter().position(|(_, share)| 100.0 * share < SMALLEST).map_or(all.len(), |last| last + 1);
        all.into_iter().take(end).collect::<Vec<_>>()
    };
    let (low, high) = ends(drawn().flat_map(|line| visible(line).into_iter().map(|(ms, _)| ms)))?;
    let demand = chart.demand.as_ref();
    let (low, high) = demand.map_or((low, high), |(_, ms, _)| (low.min(*ms), high.max(*ms)));
    let area = Area { left: left(100.0), right: NARROW - 16.0, top: 26.0, bottom: HEIGHT - 42.0 };
    let x = Scale::new(true, (low * 0.9, high * 1.1), (area.left, area.right));
    let y = Scale::new(true, (SMALLEST, 100.0), (area.bottom, area.top));
    let attributes = x.attribute("x") + &y.attribute("y");
    let of = &chart.samples;
    let mut svg =
        Svg::new((NARROW, HEIGHT), &format!("Share of {of} that take longer than a latency"), &attributes);
    axes(&mut svg, area, (Some(&x), Some(&y)), ("latency (ms)", &format!("{of} above this latency (%)")));
    if let Some((_, ms, share)) = demand {
        let (at, bound) = (x.place(*ms), y.place(y.clamp(100.0 * share)));
        svg.path("level", [(at, area.top), (at, area.bottom)]);
        svg.path("level", [(area.left, bound), (at, bound)]);
    }
    for (number, line) in drawn().enumerate() {
        let seen = visible(line);
        svg.open_series(&series(number), &line.name);
        let place = |(ms, share): (f64, f64)| (x.place(ms), y.place(y.clamp(100.0 * share)));
        svg.path("line", seen.iter().copied().map(place));
        // What never arrives is above every latency.
        if let Some((ms, share)) = seen.last().filter(|(_, share)| 100.0 * share >= SMALLEST) {
            svg.path("floor", [place((*ms, *share)), (area.right, place((*ms, *share)).1)]);
        }
        svg.close("g");
    }
    if let Some((name, ms, _)) = demand {
        let at = x.place(*ms);
        let (offset, anchor) =
            if at + 6.0 + width(name) > area.right { (-6.0, Anchor::End) } else { (6.0, Anchor::Start) };
        svg.text("at", (at + offset, area.bottom - 6.0), anchor, name);
    }
    Some(svg.finish())
}

/// Small plots over one pair of axes; none without a point.
pub(crate) fn panels(chart: &Panels) -> Vec<String> {
    let all = || chart.panels.iter().flat_map(|(line, _)| points(line));
    let upper = chart.panels.iter().flat_map(|(_, band)| band).map(|(_, _, high)| *high);
    let heights = all().map(|(_, y)| y).chain(upper).chain(chart.levels.iter().flatten().copied());
    let (Some(across), Some((_, highest))) = (ends(all().map(|(x, _)| x)), ends(heights)) else {
        return Vec::new();
    };
    let is_shown = |line: &Line| points(line).next().is_some();
    let is_alone = chart.panels.iter().filter(|(line, _)| is_shown(line)).count() == 1;
    let size = if is_alone { ALONE } else { PANEL };
    let (width, height) = size;
    let area = Area { left: left(highest), right: width - 10.0, top: 24.0, bottom: height - 22.0 };
    let x = Scale::new(false, across, (area.left, area.right));
    let y = Scale::new(false, (0.0, 1.05 * highest), (area.bottom, area.top));
    let attributes = x.attribute("x") + &y.attribute("y");
    let draw_one = |(number, (line, band)): (usize, &(Line, _))| {
        let band: &crate::chart::Band = band;
        let mut svg = Svg::new(size, &format!("{} of {}", chart.y, line.name), &attributes);
        axes(&mut svg, area, (Some(&x), Some(&y)), ("", &line.name));
        if band.len() > 1 {
            let above = band.iter().map(|(across, _, high)| (x.place(*across), y.place(*high)));
            let below = band.iter().rev().map(|(across, low, _)| (x.place(*across), y.place(*low)));
            svg.shape(&format!("band {}", series(number)), above.chain(below));
        }
        if let Some(level) = chart.levels.get(number).copied().flatten() {
            let at = y.place(level);
            svg.path("level", [(area.left, at), (area.right, at)]);
        }
        draw(&mut svg, number, line, (&x, &y));
        svg.finish()
    };
    chart.panels.iter().enumerate().filter(|(_, (line, _))| is_shown(line)).map(draw_one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_alone_is_seen() {
        let points = vec![Some((0.0, 1.0)), None, Some((2.0, 1.0)), Some((3.0, 2.0)), Some((4.0, 2.0))];
        let line = Line { name: "a".to_owned(), points };
        let drawn =
            panels(&Panels { y: "y".to_owned(), panels: vec![(line, Vec::new())], levels: Vec::new() });
        let paths: Vec<&str> = drawn[0].split("<polyline class=\"line\" points=\"").skip(1).collect();
        let counts =
            paths.iter().map(|path| path.split('"').next().map_or(0, |points| points.split(' ').count()));
        assert_eq!(counts.collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn texts_of_one_plot_are_as_large_as_those_of_several() {
        let line =
            |name: &str| Line { name: name.to_owned(), points: vec![Some((0.0, 1.0)), Some((1.0, 2.0))] };
        let drawn = |count: usize| {
            let all = (0..count).map(|_| (line("a"), crate::chart::Band::new())).collect();
            panels(&Panels { y: "y".to_owned(), panels: all, levels: Vec::new() })
        };
        // A style sheet that stretches neither shows both at their own size.
        assert!(drawn(1)[0].contains("viewBox=\"0 0 480 200\" width=\"480\""), "{}", drawn(1)[0]);
        assert!(drawn(2)[1].contains("viewBox=\"0 0 228 140\" width=\"228\""), "{}", drawn(2)[1]);
        let style = include_str!("../page/style.css");
        let stretched =
            style.lines().filter(|line| line.starts_with(".small .plot")).any(|line| line.contains("width"));
        assert!(!stretched);
    }
}
