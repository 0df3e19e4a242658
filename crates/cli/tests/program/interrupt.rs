//! Ctrl-C leaves nothing half done.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::place::Place;

#[test]
fn ctrl_c_leaves_nothing_behind() {
    stop(&[], "-INT");
}

#[test]
fn further_signals_leave_nothing_behind_either() {
    // `timeout` sends two at once.
    for (pauses, signal) in [(&[0][..], "-TERM"), (&[1], "-INT"), (&[5, 5, 5, 300], "-TERM")] {
        stop(pauses, signal);
    }
}

/// Stops each command by Ctrl-C and, after pauses in ms, by further signals.
fn stop(pauses: &[u64], signal: &str) {
    let place = Place::new();
    let before = place.list();
    for command in ["run", "compare"] {
        let child = Command::new(env!("CARGO_BIN_EXE_airbound"))
            .args([command, "tiny.toml", "--set", "duration=10000 s", "--jobs", "1", "--no-packet-log"])
            .current_dir(place.path("."))
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        // It is at work when its first table is there.
        let begun = Instant::now();
        while !place.list().iter().any(|name| name.ends_with("series.parquet.partial")) {
            assert!(begun.elapsed() < Duration::from_secs(20), "it never begins");
            std::thread::sleep(Duration::from_millis(10));
        }
        let process = child.id().to_string();
        let kill = |signal: &str| {
            let mut kill = Command::new("sh");
            kill.args(["-c", "kill \"$0\" \"$1\"", signal, &process]).stderr(Stdio::null()).status()
        };
        let killed = kill("-INT");
        assert!(killed.expect("kill starts").success());
        for pause in pauses {
            std::thread::sleep(Duration::from_millis(*pause));
            // It may have ended.
            let _ = kill(signal);
        }
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(130));
        assert!(String::from_utf8_lossy(&output.stderr).contains("interrupted"));
        assert_eq!(place.list(), before);
    }
}
