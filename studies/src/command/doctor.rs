//! `airbound-studies doctor`: how often `airbound doctor` names the cause that was injected.

use std::num::NonZeroUsize;

use airbound_console::{Verbosity, output};
#[cfg(target_os = "linux")]
use airbound_lab::host::{self, Machine, Network};
use airbound_report::{Cell, Grid};
use airbound_runs::jobs;

use super::args::Patients;
use super::error::CommandError;
#[cfg(target_os = "linux")]
use super::lab::{prepare, progress};
use crate::doctor::{INJECTED, Score, doctor};
#[cfg(target_os = "linux")]
use crate::lab::{clinic, patients, patients_script};
use airbound_senders::diagnosis::Cause;

pub(super) fn doctor_set(set: &Patients, verbosity: Verbosity) -> Result<(), CommandError> {
    let jobs = NonZeroUsize::new(jobs::threads(set.jobs)).unwrap_or(NonZeroUsize::MIN);
    let links = doctor(set.seed, u64::from(set.causes), u64::from(set.healthy), jobs)
        .map_err(|error| CommandError::Defect(error.to_string()))?;
    if verbosity.json {
        return Ok(output::json(&links)?);
    }
    let mut grid = Grid::new("Causes as injected and as named", &["injected", "links", "right", "else"], 1);
    for truth in INJECTED.into_iter().chain([Cause::Healthy]) {
        let all: Vec<_> = links.iter().filter(|link| link.truth == truth).collect();
        let wrong: Vec<&str> =
            all.iter().filter(|link| link.named != truth).map(|link| link.named.name()).collect();
        let right = all.len() - wrong.len();
        let cells = [truth.name().to_owned(), all.len().to_string(), right.to_string(), wrong.join(", ")];
        grid.rows.push(cells.map(Cell::from).to_vec());
    }
    let Score { causes, right, healthy, alarms, unfelt } = Score::of(&links);
    grid.note = format!(
        "{right} of {causes} causes are named right, {alarms} of {healthy} healthy links raise an alarm; {unfelt} draws that delay nobody were drawn again."
    );
    Ok(output::say(verbosity, &grid.to_text(output::width()))?)
}

/// The output of the machine, whose cases are said as they come.
#[cfg(target_os = "linux")]
struct Heard {
    all: Vec<u8>,
    said: usize,
    verbosity: Verbosity,
}

#[cfg(target_os = "linux")]
impl std::io::Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.all.extend_from_slice(bytes);
        while let Some(length) = self.all[self.said..].iter().position(|byte| *byte == b'\n') {
            let line = String::from_utf8_lossy(&self.all[self.said..self.said + length]);
            if let Some(patient) = line.strip_prefix("patient ") {
                progress(self.verbosity, patient);
            }
            self.said += length + 1;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The doctor's cases on the real stack. All of them in one machine, one after another.
#[cfg(target_os = "linux")]
pub(super) fn in_the_laboratory(set: &Patients, verbosity: Verbosity) -> Result<(), CommandError> {
    let script = patients_script(&set.only).map_err(CommandError::Input)?;
    let scenario = clinic().map_err(CommandError::Defect)?;
    let built = prepare(&set.build, verbosity)?;
    let network = Network::default();
    let scratch = host::scratch(&std::env::temp_dir().join("airbound-clinic"));
    let machine = Machine { built: &built, scenario: &scenario, network: &network, scratch };
    progress(verbosity, "injecting causes: two to ten minutes each");
    let mut heard = Heard { all: Vec::new(), said: 0, verbosity };
    machine.command(&script, &[], &mut heard)?;
    let found = patients(&String::from_utf8_lossy(&heard.all), &set.only);
    // Cases that were judged wrongly, of those with a cause and of healthy links.
    let wrong = |healthy: bool| {
        let all = found.iter().filter(|patient| (patient.truth == Cause::Healthy) == healthy);
        (all.clone().filter(|patient| patient.named != Some(patient.truth)).count(), all.count())
    };
    let ((missed, causes), (alarms, healthy)) = (wrong(false), wrong(true));
    if verbosity.json {
        output::json(&found)?;
    } else {
        let heads = &["case", "injected", "named", "sentence"];
        let mut grid = Grid::new("Causes on the real stack", heads, 4);
        for patient in &found {
            let named = patient.named.map_or("none", Cause::name);
            let cells = [patient.name, patient.truth.name(), named, patient.sentence.as_str()];
            grid.rows.push(cells.map(|cell| Cell::from(cell.to_owned())).to_vec());
        }
        let right = causes - missed;
        grid.note = format!(
            "{right} of {causes} causes are named right, {alarms} of {healthy} healthy links raise an alarm."
        );
        output::say(verbosity, &grid.to_text(output::width()))?;
    }
    // Nineteen causes of twenty, and no alarm.
    if 20 * missed <= causes && alarms == 0 {
        Ok(())
    } else {
        Err(CommandError::Demonstration(missed + alarms, found.len(), "docs/use/doctor.md"))
    }
}
