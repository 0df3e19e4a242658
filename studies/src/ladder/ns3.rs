//! The same scenario in ns-3: recorded results of the programs in `studies/ns3`, each with its definitions in
//! `studies/ns3/README.md`.

mod dcf;
mod rate_control;
mod tcp;
mod vht;

use airbound_record::StationSummary;
use airbound_report::ValidationRow;

use crate::{Effort, TrialError};

/// All rows of this rung.
pub(crate) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let mut rows = vht::rows(effort)?;
    rows.extend(tcp::rows(effort)?);
    rows.extend(rate_control::rows(effort)?);
    rows.extend(dcf::rows(effort)?);
    Ok(rows)
}

/// MPDUs over A-MPDUs of all stations, each of which got equally many MPDUs.
fn mean_ampdu(stations: &[StationSummary]) -> Option<f64> {
    let inverse: f64 = stations.iter().filter_map(|station| station.mean_ampdu).map(f64::recip).sum();
    (inverse > 0.0).then(|| stations.len() as f64 / inverse)
}
