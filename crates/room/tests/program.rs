//! The program: input that it refuses.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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
fn an_ice_server_that_is_none_is_refused_in_one_sentence_without_its_credential() {
    for (server, said) in [
        (
            "http://turn.example,ann,hidden",
            "--ice-server http://turn.example is not allowed; allowed are stun:HOST",
        ),
        (
            "turn:turn.example",
            "--ice-server turn:turn.example is not allowed; a TURN server needs a user name",
        ),
        ("stun:a,ann,hidden", "--ice-server stun:a is not allowed; a STUN server has no user name"),
        ("turn:a,,hidden", "--ice-server turn:a is not allowed; a user name, a credential and a secret have"),
    ] {
        let good = "stun:stun.example";
        let (code, error) =
            run(&["room", "--listen", "127.0.0.1:0", "--ice-server", good, "--ice-server", server]);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.starts_with(&format!("airbound: {said}")) && error.lines().count() == 1, "{error}");
        assert!(!error.contains("hidden"), "{error}");
    }
}

#[test]
fn ice_servers_of_a_file_are_read_as_those_of_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str, text: &str, mode: u32| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("a mode");
        path.to_str().expect("UTF-8").to_owned()
    };
    let wrong = format!("@{}", path("wrong", "stun:a\n\nturn:turn.example\n", 0o600));
    let open = format!("@{}", path("open", "turn:a,ann,hidden\n", 0o644));
    let secret = path("secret", "a\u{e9}\n", 0o600);
    for (arguments, said) in [
        (
            ["--ice-server", wrong.as_str()],
            "wrong:3: --ice-server turn:turn.example is not allowed; a TURN server needs",
        ),
        (["--ice-server", &open], "may be read or written by others; `chmod 600"),
        (["--ice-server", "@/nothing/here"], "cannot read /nothing/here"),
        (
            ["--turn-secret-file", &secret],
            "--turn-secret-file is not allowed; a user name, a credential and a secret",
        ),
    ] {
        let (code, error) = run(&[&["room", "--listen", "127.0.0.1:0"][..], &arguments].concat());
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(said) && !error.contains("hidden"), "{error}");
    }
}

/// A running allocator, and where it listens.
fn allocator(arguments: &[&str]) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_airbound-room"));
    let mut program =
        command.arg("allocator").args(arguments).stdout(Stdio::piped()).spawn().expect("the program");
    let mut said = String::new();
    BufReader::new(program.stdout.take().expect("a pipe")).read_line(&mut said).expect("a line");
    (program, said.trim().strip_prefix("allocator on ").expect("an address").to_owned())
}

#[test]
fn a_caller_too_many_is_told_so() {
    let (mut program, address) = allocator(&["--listen", "127.0.0.1:0"]);
    let callers: Vec<TcpStream> = (0..65).map(|_| TcpStream::connect(&address).expect("a caller")).collect();
    let first = |caller: &TcpStream| {
        let mut line = String::new();
        BufReader::new(caller).read_line(&mut line).expect("a line");
        line
    };
    assert_eq!(first(&callers[64]), "{\"error\":\"there are 64 callers already\"}\n");
    (&callers[63]).write_all(b"{\"room\":\"a\"}\n").expect("asked");
    assert!(first(&callers[63]).starts_with("{\"room\":\"a\""));
    program.kill().expect("it runs");
    program.wait().expect("it ended");
}

#[test]
fn a_socket_that_another_process_listens_at_is_left_to_it() {
    let socket = path("socket");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let (code, error) = run(&["allocator", "--socket", socket.to_str().expect("UTF-8")]);
    assert_eq!(code, Some(2));
    assert!(error.contains("another process listens at"), "{error}");
    drop(listener);
    // The socket that is left is replaced, and this user's alone.
    let (mut program, _) = allocator(&["--socket", socket.to_str().expect("UTF-8")]);
    assert_eq!(fs::metadata(&socket).expect("a socket").permissions().mode() & 0o777, 0o600);
    program.kill().expect("it runs");
    program.wait().expect("it ended");
    fs::remove_file(&socket).expect("it is there");
}

#[test]
fn a_policy_whose_name_meant_less_before_is_named_at_the_start() {
    let said = |policy: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_airbound-room"))
            .args(["room", "--listen", "127.0.0.1:0", "--policy", policy])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        std::thread::sleep(std::time::Duration::from_millis(700));
        program.kill().expect("it runs");
        let output = program.wait_with_output().expect("its output");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let plum = said("plum");
    assert!(
        plum.contains("layer-suspension only switches off layers") && plum.lines().count() == 1,
        "{plum}"
    );
    assert_eq!(said("layer-suspension"), "");
}
