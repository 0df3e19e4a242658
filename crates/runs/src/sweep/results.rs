//! The rows of the data set: one for each flow of each run.

use std::collections::BTreeMap;

use super::axis::Parameter;
use super::columns::{AFTER, BEFORE};
use super::key::Key;
use super::metric::{FlowResult, METRICS, RunResult};
use super::number::{Form, Setting};
use super::plan::Plan;
use super::table::{self, Column, Read, Values};
use crate::error::RunsError;

/// Name of the table in its files.
pub(crate) const TABLE: &str = "sweep";
/// Columns of the parameters, one value for each of the cells given.
pub(crate) fn parameter_columns(plan: &Plan, cells: &[usize]) -> Vec<Column> {
    let settings: Vec<Vec<Setting>> = cells.iter().map(|cell| plan.grid.design.settings(*cell)).collect();
    let parameters = plan.grid.design.parameters();
    let column = |(number, parameter): (usize, &&Parameter)| {
        let values = settings.iter().map(|settings| &settings[number]);
        let values = match parameter.form {
            Form::Whole => {
                Values::Whole(values.map(|value| value.number.map(|number| number as i64)).collect())
            }
            Form::Real => Values::Real(values.map(|value| value.number).collect()),
            Form::Text => Values::Text(values.map(|value| Some(value.shown.clone())).collect()),
        };
        Column {
            name: parameter.name.clone(),
            unit: parameter.unit.clone(),
            meaning: format!("set in the scenario: {}", parameter.keys.join(", ")),
            values,
        }
    };
    parameters.iter().enumerate().map(column).collect()
}

/// A run with its place in the plan: point, number of the seed.
pub(crate) type Placed<'a> = (usize, usize, &'a RunResult);

/// All columns of these runs, in their order.
pub(crate) fn columns(plan: &Plan, runs: &[Placed<'_>]) -> Vec<Column> {
    // One entry for each row, by its run.
    let rows: Vec<(usize, usize, &FlowResult)> = runs
        .iter()
        .flat_map(|(point, number, result)| result.iter().map(|row| (*point, *number, row)))
        .collect();
    let cells: Vec<usize> = rows.iter().map(|(point, ..)| plan.place(*point).0).collect();
    let plain = |(name, meaning): (&str, &str), values| Column {
        name: name.to_owned(),
        unit: String::new(),
        meaning: meaning.to_owned(),
        values,
    };
    let text = |of: &dyn Fn(&(usize, usize, &FlowResult)) -> String| {
        Values::Text(rows.iter().map(|row| Some(of(row))).collect())
    };
    let whole = |of: &dyn Fn(&(usize, usize, &FlowResult)) -> u64| {
        Values::Whole(rows.iter().map(|row| i64::try_from(of(row)).ok()).collect())
    };
    let [run, cell, scheme, seed] = BEFORE;
    let mut columns = vec![
        plain(run, text(&|(point, number, _)| plan.run_key(*point, *number).to_string())),
        plain(cell, whole(&|(point, ..)| plan.place(*point).0 as u64)),
        plain(scheme, text(&|(point, ..)| plan.grid.schemes[plan.place(*point).1].clone())),
        plain(seed, whole(&|(_, number, _)| plan.grid.seeds[*number])),
    ];
    columns.extend(parameter_columns(plan, &cells));
    let [flow, group, kind, station, direction] = AFTER;
    columns.extend([
        plain(flow, text(&|(.., row)| row.flow.clone())),
        plain(group, text(&|(.., row)| row.group.clone())),
        plain(kind, text(&|(.., row)| row.kind.clone())),
        plain(station, text(&|(.., row)| row.station.clone())),
        plain(direction, text(&|(.., row)| row.direction.clone())),
    ]);
    columns.extend(METRICS.iter().enumerate().map(|(number, metric)| {
        let values = rows.iter().map(|(.., row)| row.values.get(number).copied().flatten());
        let values = if metric.is_count {
            Values::Whole(values.map(|value| value.map(|count| count as i64)).collect())
        } else {
            Values::Real(values.collect())
        };
        Column {
            name: metric.name.to_owned(),
            unit: metric.unit.to_owned(),
            meaning: metric.meaning.to_owned(),
            values,
        }
    }));
    columns
}

/// The runs of a table that was read, by what they are known by.
pub(crate) fn runs(read: &Read) -> Result<BTreeMap<Key, RunResult>, String> {
    let missing = |name: &str| format!("its column {name} is missing or of another type");
    let text = |name: &'static str| match read.column(name) {
        Some(Values::Text(values)) => Ok(values),
        _ => Err(missing(name)),
    };
    let keys = text("run")?;
    let [flows, groups, kinds, stations, directions] =
        [text("flow")?, text("group")?, text("kind")?, text("station")?, text("direction")?];
    let metrics: Vec<&Values> = METRICS
        .iter()
        .map(|metric| read.column(metric.name).ok_or_else(|| missing(metric.name)))
        .collect::<Result<_, _>>()?;
    let mut found: BTreeMap<Key, RunResult> = BTreeMap::new();
    for (row, key) in keys.iter().enumerate() {
        let key: Option<Key> = key.as_ref().and_then(|key| key.parse().ok());
        let key = key.ok_or_else(|| missing("run"))?;
        let word = |values: &[Option<String>]| values.get(row).cloned().flatten().unwrap_or_default();
        let value = |values: &&Values| match values {
            Values::Whole(values) => values.get(row).copied().flatten().map(|count| count as f64),
            Values::Real(values) => values.get(row).copied().flatten(),
            Values::Text(_) => None,
        };
        found.entry(key).or_default().push(FlowResult {
            flow: word(flows),
            group: word(groups),
            kind: word(kinds),
            station: word(stations),
            direction: word(directions),
            values: metrics.iter().map(value).collect(),
        });
    }
    Ok(found)
}

/// The runs of a partition, read whole.
pub(crate) fn read(path: &std::path::Path) -> Result<BTreeMap<Key, RunResult>, RunsError> {
    let read = table::read(path, TABLE)?;
    runs(&read).map_err(|reason| RunsError::Table { path: path.to_owned(), reason })
}
