//! `airbound demo`: the first thing to look at.

use std::env;
use std::path::PathBuf;

use airbound_runs::{Matrix, Opened, jobs};
use airbound_scenario::Overrides;

use super::compare;
use crate::args::Demo;
use crate::error::CliError;
use airbound_console::Verbosity;
use airbound_console::output;

const SCENARIO: &str = "vr-congested";
/// The page's last line.
const ROOM: &str = "A demonstration to look at while it runs: airbound room --demo, a video conference that says why each \
    picture has its bitrate";

pub(super) fn demo(demo: &Demo, verbosity: Verbosity) -> Result<(), CliError> {
    let opened = Opened::by_name(SCENARIO, &Overrides::none())?;
    let matrix = Matrix::of(&opened, opened.schemes(&opened.scenario.schemes)?);
    airbound_runs::folder::check(&demo.out)?;
    output::say(verbosity, &format!("{}\n{}\n\n", opened.scenario.title, opened.scenario.description))?;
    let shown = compare::Shown {
        open: demo.open,
        more: Some(format!("airbound report {} --full", demo.out.display())),
        next: guide().map(|guide| (ROOM.to_owned(), address(&guide))),
        ..Default::default()
    };
    compare::matrix(&opened, &matrix, shown, jobs::threads(demo.jobs), &demo.out, verbosity)?;
    Ok(output::say(verbosity, "\nThe same with your own values: airbound compare vr-congested --help\n")?)
}

/// The room's guide: that of the package that installed this program, else that of the repository in which it is started.
fn guide() -> Option<PathBuf> {
    let installed =
        env::current_exe().ok().map(|own| own.with_file_name("../share/doc/airbound/use/room.md"));
    let guides = installed.into_iter().chain([PathBuf::from("docs/use/room.md")]);
    guides.filter_map(|guide| guide.canonicalize().ok()).next()
}

/// The address of a file (RFC 8089).
fn address(path: &std::path::Path) -> String {
    let path = path.to_string_lossy();
    let escaped = |byte: u8| match byte {
        b'/' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    format!("file://{}", path.bytes().map(escaped).collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn an_address_has_no_letters_that_mean_something_else() {
        assert_eq!(
            super::address(Path::new("/my runs/50%#1/room.md")),
            "file:///my%20runs/50%25%231/room.md"
        );
    }
}
