//! The scenario for traces runs on every measured trace.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::place::Place;

/// The measured traces next to the repository, or `None`.
fn traces() -> Option<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    ["../shared/traces", "../../shared/traces"]
        .iter()
        .map(|place| repository.join(place))
        .find(|place| place.is_dir())
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "log") {
            found.push(path);
        }
    }
}

#[test]
fn trace_vr_runs_on_all_of_them() {
    let Some(folder) = traces() else {
        // Past the test harness, which would keep it to itself.
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no ../shared/traces");
        return;
    };
    let mut found = Vec::new();
    files(&folder, &mut found);
    assert!(found.len() > 10, "{found:?}");
    let place = Place::new();
    for trace in found {
        let trace = trace.to_str().expect("a name in UTF-8");
        for way in ["phy", "pipe"] {
            let way = format!("station.tablet.channel.as={way}");
            let summary = place.json(&[
                "run",
                "trace-vr",
                "--trace",
                trace,
                "--set",
                "duration=2 s",
                "--set",
                &way,
                "--out",
                "run",
                "--json",
                "--no-packet-log",
            ]);
            let sent = summary["flows"][0]["packets"]["sent"].as_u64();
            assert!(sent > Some(1000), "{trace}: {summary}");
        }
    }
}
