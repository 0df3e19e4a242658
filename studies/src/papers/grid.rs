//! Runs as data: a scenario file, named variants of it, and seeds.
//!
//! A grid file names a scenario beside it, values that hold in all runs (`[set]`), what `--quick` changes (`[quick]`), and axes
//! (`[[axes.NAME]]`, or a key with its values). Each axis is a list of variants: a name, and the keys that it sets, as `--set`
//! takes them. A cell is one variant of each axis; an axis that a cell does not name is at its first variant, or, if it is
//! optional, sets nothing. Axes are applied in the order of their names.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Table;

use super::experiment::Experiment;
use crate::{Effort, Trial};

/// A grid of runs.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grid {
    /// File name of the scenario.
    scenario: String,
    /// Runs of each cell, with the seeds from 1 on.
    #[serde(default = "one")]
    seeds: u64,
    /// Values in all cells.
    #[serde(default)]
    set: Table,
    #[serde(default)]
    quick: Quick,
    #[serde(default)]
    axes: BTreeMap<String, Axis>,
    /// Name in messages, and text of the scenario.
    #[serde(skip)]
    name: String,
    #[serde(skip)]
    text: String,
}

/// Changes that `--quick` makes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Quick {
    seeds: Option<u64>,
    #[serde(default)]
    set: Table,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Axis {
    Variants(Vec<Variant>),
    Values(Values),
}

/// One key, or several that change together; each value is the name of its variant.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Values {
    keys: Vec<String>,
    values: Vec<toml::Value>,
    /// Name of a variant, in which `{}` stands for its value.
    #[serde(default = "value_alone")]
    name: String,
    /// Values under `--quick`; all of them if there is none.
    #[serde(default)]
    quick: Vec<toml::Value>,
    /// Whether a cell that names none of them leaves the keys as they are.
    #[serde(default)]
    optional: bool,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Variant {
    name: String,
    #[serde(default)]
    set: Table,
    /// Lines that follow the scenario file's. `surroundings` leave alone what stands there, and not what `set` changes.
    #[serde(default)]
    append: String,
    /// Runs of its cells, where they are not as many as the grid's, and those under `--quick`.
    seeds: Option<u64>,
    quick_seeds: Option<u64>,
    /// Further values under `--quick`.
    #[serde(default)]
    quick: Table,
    /// Whether `--quick` leaves it out.
    #[serde(default)]
    full_only: bool,
    /// Whether only `--quick` has it.
    #[serde(default)]
    quick_only: bool,
}

impl Values {
    fn variants(&self) -> Vec<Variant> {
        let variant = |value: &toml::Value| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            Variant {
                name: self.name.replace("{}", &text),
                set: self.keys.iter().map(|key| (key.clone(), value.clone())).collect(),
                ..Variant::default()
            }
        };
        // The variant of cells that name none.
        let none = self.optional.then(Variant::default);
        let full_only = !self.quick.is_empty();
        let full = self.values.iter().map(|value| Variant { full_only, ..variant(value) });
        let quick = self.quick.iter().map(|value| Variant { quick_only: true, ..variant(value) });
        none.into_iter().chain(full).chain(quick).collect()
    }
}

const fn one() -> u64 {
    1
}

fn value_alone() -> String {
    "{}".to_owned()
}

impl Grid {
    /// Reads a grid file whose scenario is one of `files` (name, text).
    ///
    /// # Panics
    /// If the file is wrong, which is a defect of this crate: its files are compiled in, and a test reads all of them.
    pub(crate) fn read(name: &str, text: &str, files: &[(&str, &str)]) -> Self {
        let mut grid: Self =
            toml::from_str(text).unwrap_or_else(|error| panic!("the grid {name} is wrong: {error}"));
        let file = files.iter().find(|(file, _)| *file == grid.scenario);
        let (_, text) = file.unwrap_or_else(|| panic!("the grid {name} names no file: {}", grid.scenario));
        grid.name = name.to_owned();
        grid.text = (*text).to_owned();
        for axis in grid.axes.values_mut() {
            if let Axis::Values(values) = axis {
                *axis = Axis::Variants(values.variants());
            }
        }
        grid
    }

    fn variants(axis: &Axis) -> &[Variant] {
        if let Axis::Variants(variants) = axis { variants } else { &[] }
    }

    /// Returns the names of the variants of an axis, in the order of the file.
    pub(crate) fn names(&self, axis: &str, effort: Effort) -> Vec<&str> {
        let variants = self.axes.get(axis).map_or(&[][..], Self::variants);
        let left_out = |one: &&Variant| if effort.quick { one.full_only } else { one.quick_only };
        let named = variants.iter().filter(|one| !left_out(one) && !one.name.is_empty());
        named.map(|one| one.name.as_str()).collect()
    }

    /// Returns the seeds of a cell.
    fn seeds(&self, cell: &[&str], effort: Effort) -> std::ops::RangeInclusive<u64> {
        let of = |seeds: fn(&Variant) -> Option<u64>| self.chosen(cell).into_iter().find_map(seeds);
        let quick = effort.quick.then(|| of(|variant| variant.quick_seeds).or(self.quick.seeds)).flatten();
        let count = quick.or_else(|| of(|variant| variant.seeds)).unwrap_or(self.seeds);
        effort.seeds(count)
    }

    /// Returns the runs of a cell, one for each seed.
    ///
    /// # Panics
    /// If a name is that of no variant, which is a defect of this crate.
    pub(crate) fn trials(&self, cell: &[&str], effort: Effort) -> Vec<Trial> {
        self.seeds(cell, effort).map(|seed| self.trial(cell, seed, effort)).collect()
    }

    /// Returns the runs of a cell of which the figures are wanted.
    ///
    /// # Panics
    /// As [`Grid::trials`].
    pub(crate) fn experiments(&self, cell: &[&str], effort: Effort) -> Vec<Experiment> {
        self.trials(cell, effort).into_iter().map(Experiment::plain).collect()
    }

    /// Returns the variants of a cell, one for each axis.
    fn chosen(&self, cell: &[&str]) -> Vec<&Variant> {
        let axes: Vec<&[Variant]> = self.axes.values().map(Self::variants).collect();
        let find = |name: &&str| {
            let place = |variants: &&[Variant]| variants.iter().position(|one| one.name == **name);
            let found = axes.iter().enumerate().find_map(|(axis, variants)| Some((axis, place(variants)?)));
            found.unwrap_or_else(|| panic!("the grid {} has no variant {name}", self.name))
        };
        let mut places = vec![0; axes.len()];
        cell.iter().map(find).for_each(|(axis, place)| places[axis] = place);
        axes.iter().zip(places).filter_map(|(variants, place)| variants.get(place)).collect()
    }

    /// Returns the run of a cell with a seed.
    ///
    /// # Panics
    /// As [`Grid::trials`].
    pub(crate) fn trial(&self, cell: &[&str], seed: u64, effort: Effort) -> Trial {
        let mut sets: Vec<(String, String)> = Vec::new();
        let mut add = |table: &Table| {
            for (key, value) in table {
                sets.retain(|(known, _)| known != key);
                sets.push((key.clone(), value.to_string()));
            }
        };
        add(&self.set);
        if effort.quick {
            add(&self.quick.set);
        }
        let mut scenario = self.text.clone();
        for variant in self.chosen(cell) {
            scenario += &variant.append;
            add(&variant.set);
            if effort.quick {
                add(&variant.quick);
            }
        }
        Trial { name: self.name.clone(), scenario, sets, seed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
scenario = "one.toml"
seeds = 3
[set]
duration = "9 s"
[quick]
seeds = 1
set = { duration = "2 s" }
[[axes.scheme]]
name = "FIFO"
set = { "scheme.queue" = "fifo" }
[[axes.scheme]]
name = "short"
set = { "scheme.queue" = { kind = "fifo", limit = { packets = 10 } } }
quick = { duration = "1 s" }
seeds = 2
append = "y"
[axes.distance]
keys = ["station.a.channel.distance"]
values = ["1 m", "2 m"]
[axes.flows]
keys = ["flow.bulk.count"]
values = [0, 1, 2]
quick = [0, 2]
name = "{}F"
[axes.target]
keys = ["scheme.sender.target"]
name = "N = {}"
values = [10, 32]
quick = [10, 56]
optional = true
[[axes.load]]
name = "light"
[[axes.load]]
name = "heavy"
seeds = 7
quick_seeds = 2
"#;

    fn grid() -> Grid {
        Grid::read("test", TEXT, &[("one.toml", "x")])
    }

    #[test]
    fn a_cell_sets_what_its_variants_set() {
        let quick = Effort { quick: true, ..Effort::default() };
        assert_eq!(grid().names("scheme", quick), ["FIFO", "short"]);
        assert_eq!(grid().trials(&[], Effort::default()).len(), 3);
        assert_eq!(grid().trials(&["short"], Effort::default()).len(), 2);
        assert_eq!(grid().trials(&["short"], quick).len(), 1);
        assert_eq!(grid().trial(&["short"], 1, quick).scenario, "xy");
        let value = |trial: &Trial, key: &str| {
            trial.sets.iter().find(|(known, _)| known == key).map(|(_, value)| value.clone())
        };
        let trial = grid().trial(&["2 m", "short"], 1, quick);
        assert_eq!(value(&trial, "duration").as_deref(), Some("\"1 s\""));
        assert_eq!(value(&trial, "station.a.channel.distance").as_deref(), Some("\"2 m\""));
        assert!(value(&trial, "scheme.queue").is_some_and(|text| text.contains("packets = 10")));
        let usual = grid().trial(&[], 2, Effort::default());
        assert_eq!(value(&usual, "duration").as_deref(), Some("\"9 s\""));
        assert_eq!(value(&usual, "station.a.channel.distance").as_deref(), Some("\"1 m\""));
    }

    #[test]
    fn values_are_named_by_their_template_and_some_are_left_out_when_quick() {
        let grid = grid();
        assert_eq!(grid.names("flows", Effort::default()), ["0F", "1F", "2F"]);
        assert_eq!(grid.names("flows", Effort { quick: true, ..Effort::default() }), ["0F", "2F"]);
        let trial = grid.trial(&["1F"], 1, Effort::default());
        assert!(trial.sets.contains(&("flow.bulk.count".to_owned(), "1".to_owned())));
    }

    #[test]
    fn values_may_be_optional_and_differ_under_quick() {
        let (full, quick) = (Effort::default(), Effort { quick: true, ..Effort::default() });
        assert_eq!(grid().names("target", full), ["N = 10", "N = 32"]);
        assert_eq!(grid().names("target", quick), ["N = 10", "N = 56"]);
        let target =
            |trial: &Trial| trial.sets.iter().find(|(key, _)| key == "scheme.sender.target").cloned();
        assert_eq!(target(&grid().trial(&[], 1, full)), None);
        assert_eq!(
            target(&grid().trial(&["N = 56"], 1, quick)).map(|(_, value)| value).as_deref(),
            Some("56")
        );
    }

    #[test]
    fn a_variant_may_have_its_own_seeds() {
        let (full, quick) = (Effort::default(), Effort { quick: true, ..Effort::default() });
        assert_eq!((grid().seeds(&["light"], full), grid().seeds(&["light"], quick)), (1..=3, 1..=1));
        assert_eq!((grid().seeds(&["heavy"], full), grid().seeds(&["heavy"], quick)), (1..=7, 1..=2));
    }

    #[test]
    #[should_panic(expected = "no variant 3 m")]
    fn a_variant_that_is_none_is_a_defect() {
        grid().trial(&["3 m"], 1, Effort::default());
    }
}
