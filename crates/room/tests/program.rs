//! The program: input that it refuses.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A new path for a file of one test.
fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let path = folder.join(format!("{name}-{}", std::process::id()));
    let _ = fs::remove_file(&path);
    path
}

/// The program's exit code and standard error.
fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_airbound-room")).args(arguments).output().expect("the program");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_secret_that_others_may_read_or_write_is_refused() {
    let secret = path("secret");
    fs::write(&secret, "sixteen bytes or more").expect("a file");
    let text = secret.to_str().expect("UTF-8");
    for mode in [0o644, 0o640, 0o604, 0o622, 0o666] {
        fs::set_permissions(&secret, Permissions::from_mode(mode)).expect("a mode");
        let (code, error) = run(&["token", "--secret-file", text]);
        assert_eq!(code, Some(2), "{mode:o}");
        assert!(error.contains("may be read or written by others; `chmod 600"), "{error}");
    }
    fs::set_permissions(&secret, Permissions::from_mode(0o600)).expect("a mode");
    assert_eq!(run(&["token", "--secret-file", text]), (Some(0), String::new()));
    fs::remove_file(&secret).expect("removed");
}

#[test]
fn a_socket_that_another_process_listens_at_is_left_to_it() {
    let socket = path("socket");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let (code, error) = run(&["allocator", "--socket", socket.to_str().expect("UTF-8")]);
    assert_eq!(code, Some(2));
    assert!(error.contains("another process listens at"), "{error}");
    drop(listener);
    fs::remove_file(&socket).expect("it is there");
}
