//! A row of a reproduction: a validation row with its headline and the source of its aim.

use airbound_report::ValidationRow;
use serde::{Deserialize, Serialize, Serializer};

/// Source of the aim of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The paper states it.
    #[default]
    Paper,
    /// It is an aim of this project.
    Ours,
}

/// A row of a reproduction.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimRow {
    /// The quantity beside its reference.
    #[serde(flatten)]
    pub row: ValidationRow,
    /// The headline that it is part of; in JSON, whether there is one.
    #[serde(serialize_with = "is_some")]
    pub headline: Option<String>,
    /// Source of its aim.
    pub origin: Origin,
}

fn is_some<S: Serializer>(value: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(value.is_some())
}

impl std::ops::Deref for ClaimRow {
    type Target = ValidationRow;

    fn deref(&self) -> &ValidationRow {
        &self.row
    }
}
