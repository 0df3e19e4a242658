//! The compilers of C and C++, and the libraries under test.
#![allow(clippy::print_stderr, reason = "reports what is skipped")]

use std::path::PathBuf;
use std::process::Command;

/// A program that can be run; says so if it is missing.
pub(crate) fn compiler(name: &'static str) -> Option<&'static str> {
    if Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Some(name);
    }
    eprintln!("SKIPPED: {name} is missing");
    None
}

/// The folder of libairbound.a and libairbound.so: cargo leaves them beside the test.
pub(crate) fn library_folder() -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    test.parent().expect("a folder").to_owned()
}
