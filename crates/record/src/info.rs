//! Metadata of every table about the run that it belongs to.

use serde::{Deserialize, Serialize};

use crate::rows::Component;
use crate::table::Row;

/// Version of the tables' columns and metadata. Rises when a reader of the one before would be misled.
pub const SCHEMA_VERSION: u32 = 2;

/// The run that a table belongs to, and the names behind its numbers. Stands in the metadata of each file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInfo {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the scheme.
    pub scheme: String,
    /// Seed of the run.
    pub seed: u64,
    /// Names of the flows, by number.
    pub flows: Vec<String>,
    /// Names of the stations, by number.
    pub stations: Vec<String>,
    /// Names of everybody who transmits (access point, stations, neighbours), by number.
    pub transmitters: Vec<String>,
    /// Reasons for which packets are dropped, by number, as in the summary.
    pub drop_reasons: Vec<String>,
}

/// Key under which the table's name stands; a file without it is not ours.
pub(crate) const TABLE_KEY: &str = "airbound.table";
/// Key of [`SCHEMA_VERSION`].
pub(crate) const SCHEMA_KEY: &str = "airbound.schema";
/// Key of the [`RunInfo`] as one JSON object.
pub(crate) const RUN_KEY: &str = "airbound.run";

impl RunInfo {
    /// Keys and values for a Parquet file of rows `R`.
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

    /// The name behind a number in `names`, or the number.
    #[must_use]
    pub fn name(names: &[String], number: usize) -> String {
        names.get(number).cloned().unwrap_or_else(|| format!("#{number}"))
    }
}
