//! Metadata of the run in each table.

use serde::{Deserialize, Serialize};

#[cfg(feature = "files")]
use crate::{rows::Component, table::Row};

/// Version of the tables' columns and metadata, incremented with changes that would mislead an older reader.
pub const SCHEMA_VERSION: u32 = 2;

/// The run of a table, and the names of its numbers, stored in the metadata of each file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Seed of the run.
    pub seed: u64,
    /// Names of the flows, by number; that of a flow which an emulation holds ready and never used is empty.
    pub flows: Vec<String>,
    /// Names of the stations, by number.
    pub stations: Vec<String>,
    /// Names of transmitters (access point, stations, neighbours), by number.
    pub transmitters: Vec<String>,
    /// Reasons of drops, by number, as in the summary.
    pub drop_reasons: Vec<String>,
}

/// Key of the table's name; files without it are not Airbound's.
#[cfg(feature = "files")]
pub(crate) const TABLE_KEY: &str = "airbound.table";
/// Key of [`SCHEMA_VERSION`].
#[cfg(feature = "files")]
pub(crate) const SCHEMA_KEY: &str = "airbound.schema";
/// Key of the [`RunInfo`] as one JSON object.
#[cfg(feature = "files")]
pub(crate) const RUN_KEY: &str = "airbound.run";

impl RunInfo {
    /// Keys and values for a Parquet file of rows `R`.
    #[cfg(feature = "files")]
    pub(crate) fn metadata<R: Row>(&self) -> Vec<(&'static str, String)> {
        let columns = R::COLUMNS
            .iter()
            .map(|column| {
                serde_json::json!({ "name": column.name, "unit": column.unit, "meaning": column.meaning })
            })
            .collect::<serde_json::Value>();
        let mut metadata = vec![
            (TABLE_KEY, R::TABLE.to_owned()),
            (SCHEMA_KEY, SCHEMA_VERSION.to_string()),
            ("airbound.version", env!("CARGO_PKG_VERSION").to_owned()),
            ("airbound.row", R::MEANING.to_owned()),
            ("airbound.columns", columns.to_string()),
            (RUN_KEY, serde_json::json!(self).to_string()),
        ];
        match R::TABLE {
            "packets" => {
                let fates = ["delivered", "queued"].into_iter().map(str::to_owned);
                let fates: Vec<String> = fates.chain(self.drop_reasons.iter().cloned()).collect();
                metadata.push(("airbound.fates", serde_json::json!(fates).to_string()));
            }
            "distributions" => {
                let components: Vec<&str> = Component::ALL.iter().map(|component| component.name()).collect();
                metadata.push(("airbound.components", serde_json::json!(components).to_string()));
            }
            _ => {}
        }
        metadata
    }

    /// The name of a number, or the number if it has none.
    #[must_use]
    pub fn name(names: &[String], number: usize) -> String {
        let name = names.get(number).filter(|name| !name.is_empty());
        name.cloned().unwrap_or_else(|| format!("#{number}"))
    }
}
