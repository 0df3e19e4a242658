//! Commands of other programs: started beside the program, or named as missing.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A copy of the program without studies beside it, and nothing on `PATH`.
fn alone() -> (TempDir, Command) {
    let folder = TempDir::new().expect("a temporary folder");
    let program = folder.path().join("airbound");
    fs::copy(env!("CARGO_BIN_EXE_airbound"), &program).expect("a copy");
    let mut command = Command::new(program);
    command.env("PATH", "").current_dir(folder.path());
    (folder, command)
}

/// Starts a program that was just written: while another test forks, its file may still count as open for writing.
fn output(command: &mut Command) -> Output {
    loop {
        match command.output() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            output => return output.expect("starts"),
        }
    }
}

#[test]
fn without_the_studies_one_sentence_says_so() {
    for arguments in [&["reproduce", "wqm"][..], &["validate"], &["lab", "demo", "vr"]] {
        let (_folder, mut command) = alone();
        let output = output(command.args(arguments));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.starts_with("airbound: airbound ") && errors.lines().count() == 1, "{errors}");
        assert!(errors.contains("airbound-studies") && errors.contains("make install"), "{errors}");
    }
}

#[test]
fn the_studies_receive_arguments_and_this_programs_path() {
    let (folder, mut command) = alone();
    let studies = folder.path().join("airbound-studies");
    fs::write(&studies, "#!/bin/sh\necho \"$AIRBOUND_PROGRAM: $*\"\nexit 7\n").expect("a script");
    fs::set_permissions(&studies, fs::Permissions::from_mode(0o755)).expect("permissions");
    let output = output(command.args(["--json", "reproduce", "law", "--quick", "--jobs", "2"]));
    assert_eq!(output.status.code(), Some(7), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(
        text.trim(),
        format!("{}: reproduce --json law --quick --jobs 2", folder.path().join("airbound").display())
    );
}

#[test]
fn the_relay_receives_arguments_alone_and_the_room_its_command_too() {
    for (program, arguments, expected) in [
        ("airbound-relay", &["relay", "edge", "--dry-run"][..], "edge --dry-run"),
        ("airbound-room", &["room", "--demo"], "room --demo"),
        ("airbound-room", &["allocator", "--socket", "s"], "allocator --socket s"),
        ("airbound-room", &["--json", "bitrate", "--least", "3"], "bitrate --json --least 3"),
    ] {
        let (folder, mut command) = alone();
        let missing = output(command.args(arguments));
        assert_eq!(missing.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&missing.stderr).contains(program));
        let beside = folder.path().join(program);
        fs::write(&beside, "#!/bin/sh\necho \"$*\"\n").expect("a script");
        fs::set_permissions(&beside, fs::Permissions::from_mode(0o755)).expect("permissions");
        let found = output(&mut command);
        assert_eq!(String::from_utf8_lossy(&found.stdout).trim(), expected);
    }
}
