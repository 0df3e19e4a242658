//! `airbound import`: says what a file of another tool is, and makes a scenario of it.

use std::fs;
use std::path::{Path, PathBuf};

use airbound_console::{Verbosity, output};
use airbound_formats::draft::{Draft, draft};
use airbound_scenario::{Overrides, Scenario, ScenarioError};

use crate::args::import::Import;
use crate::error::CliError;

/// The scenario in the folder.
const SCENARIO: &str = "scenario.toml";

pub(super) fn import(import: &Import, verbosity: Verbosity) -> Result<(), CliError> {
    let file = &import.file;
    let name =
        file.file_name().map_or_else(|| file.display().to_string(), |name| name.to_string_lossy().into());
    let metadata = fs::metadata(file).map_err(CliError::io("read", file))?;
    if !metadata.is_file() || metadata.len() > airbound_formats::LARGEST {
        let largest = airbound_formats::LARGEST;
        let problem = format!("{} is no file of at most {largest} bytes", file.display());
        return Err(CliError::Input(problem));
    }
    let bytes = fs::read(file).map_err(CliError::io("read", file))?;
    let refused = |error: airbound_formats::FormatError| CliError::Input(error.to_string());
    let measured = airbound_formats::read(&bytes, &name).map_err(refused)?;
    let draft = draft(&measured, &name, import.station).map_err(refused)?;
    let folder = import.out.clone().unwrap_or_else(|| usual_folder(Path::new(&name)));
    write(&draft, &folder)?;
    output::print(&format!("{}\n", draft.verdict))?;
    let scenario = folder.join(SCENARIO);
    let next = format!("{0} is written. Next: airbound compare {0}\n", scenario.display());
    Ok(output::say(verbosity, &next)?)
}

/// The name of a file without its endings.
fn usual_folder(file: &Path) -> PathBuf {
    let stem = file.to_string_lossy();
    let stem = stem.split('.').find(|part| !part.is_empty()).unwrap_or("imported");
    PathBuf::from(if stem == file.to_string_lossy() { format!("{stem}-imported") } else { stem.to_owned() })
}

/// Writes a folder whole: beside its place first, where the scenario is read as a user's would be.
fn write(draft: &Draft, folder: &Path) -> Result<(), CliError> {
    if folder.symlink_metadata().is_ok() {
        let taken = folder.display();
        return Err(CliError::Input(format!("{taken} exists; name another folder with --out")));
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent {
        fs::create_dir_all(parent).map_err(CliError::io("make", parent))?;
    }
    let partial = folder.with_extension(format!("partial-{}", std::process::id()));
    let written = fill(draft, &partial)
        .and_then(|()| fs::rename(&partial, folder).map_err(CliError::io("make", folder)));
    if written.is_err() {
        // What was begun is of no use; the first failure is what counts.
        let _ = fs::remove_dir_all(&partial);
    }
    written
}

fn fill(draft: &Draft, folder: &Path) -> Result<(), CliError> {
    fs::create_dir(folder).map_err(CliError::io("make", folder))?;
    let scenario = (SCENARIO.to_owned(), draft.scenario.clone());
    for (name, text) in draft.files.iter().chain([&scenario]) {
        let file = folder.join(name);
        fs::write(&file, text).map_err(CliError::io("write", &file))?;
    }
    // Its places lie in a folder that the user does not know.
    let own = format!("{}/", folder.display());
    let problem = |error: ScenarioError| {
        CliError::Input(format!("what it holds makes no scenario: {}", error.to_string().replace(&own, "")))
    };
    Scenario::load(&folder.join(SCENARIO), &Overrides::none()).map(drop).map_err(problem)
}
