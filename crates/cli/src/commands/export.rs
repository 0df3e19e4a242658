//! `airbound export`: a run in the format of another tool.

use airbound_console::{Verbosity, output};
use airbound_formats::export::{ExportError, FLENT_BEGINNING, QLOG_BEGINNING, flent, qlog};
use airbound_record::RunFolder;
use airbound_runs::output::{Kind, STDOUT, write};

use crate::args::export::{Export, Format};
use crate::error::CliError;

pub(super) fn export(export: &Export, verbosity: Verbosity) -> Result<(), CliError> {
    if export.flow.is_some() && export.format == Format::Flent {
        return Err(CliError::Input("--flow: a data file of flent has all flows".to_owned()));
    }
    let folder = RunFolder::open(&export.run)?;
    let (bytes, begin) = match export.format {
        Format::Flent => (flent(&folder), FLENT_BEGINNING),
        Format::Qlog => (qlog(&folder, export.flow.as_deref()), QLOG_BEGINNING),
    };
    let bytes = bytes.map_err(|error| match error {
        ExportError::Record(error) => CliError::from(error),
        other => CliError::Input(other.to_string()),
    })?;
    write(&export.out, Kind::Export(begin), &bytes)?;
    if export.out.as_os_str() != STDOUT {
        output::say(verbosity, &format!("{} is written.\n", export.out.display()))?;
    }
    Ok(())
}
