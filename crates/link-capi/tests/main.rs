//! The header is that of the sources, and a program in C passes with both libraries, under valgrind where it is.
#![allow(clippy::print_stderr, reason = "reports what is skipped")]

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("SKIPPED: {program} is missing");
    }
    found
}

#[test]
fn the_header_is_that_of_the_sources() {
    let config = cbindgen::Config::from_root_or_default(root());
    let bindings =
        cbindgen::Builder::new().with_crate(root()).with_config(config).generate().expect("a header");
    let mut text = Vec::new();
    bindings.write(&mut text);
    let file = root().join("include/airbound_link.h");
    if std::env::var_os("AIRBOUND_RENEW").is_some() {
        std::fs::write(&file, &text).expect("writable");
    }
    assert!(
        std::fs::read(&file).is_ok_and(|committed| committed == text),
        "{} is not that of the sources; if intended: AIRBOUND_RENEW=1 cargo test -p airbound-link-capi --test all",
        file.display()
    );
}

fn run(library: &Path, is_checked: bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = folder.path().join("program");
    let mut search = std::ffi::OsString::from("-Wl,-rpath,");
    search.push(library.parent().expect("a folder"));
    let built = Command::new("cc")
        .args(["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-I"])
        .args([root().join("include"), root().join("tests/link.c"), library.to_owned()])
        .arg(&search)
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&binary)
        .output()
        .expect("the compiler runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let plain = Command::new(&binary).output().expect("runs");
    assert!(plain.status.success(), "{}", String::from_utf8_lossy(&plain.stderr));
    if is_checked && is_there("valgrind") {
        // Optimised code of safe Rust reads the unused part of an enum before it looks at its kind; bounds and leaks are checked.
        let checked = Command::new("valgrind")
            .args(["--quiet", "--undef-value-errors=no", "--error-exitcode=9", "--leak-check=full"])
            .arg(&binary)
            .output()
            .expect("runs");
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}

#[test]
fn a_program_in_c_passes_with_both_libraries() {
    if is_there("cc") {
        // Cargo leaves the libraries beside the test.
        let test = std::env::current_exe().expect("a path");
        run(&test.with_file_name("libairboundlink.so"), false);
        run(&test.with_file_name("libairboundlink.a"), true);
    }
}
