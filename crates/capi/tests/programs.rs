//! Programs in C and C++ against the libraries: plainly, under AddressSanitizer, under valgrind. A missing tool is SKIPPED.
#![allow(clippy::print_stderr)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::toolchain::{compiler, library_folder};
use tempfile::TempDir;

const STRICT: [&str; 5] = ["-O1", "-g", "-Wall", "-Wextra", "-Werror"];

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(name)
}

/// Compiles a program with these options; `None` if there is no compiler.
fn build(name: &str, options: &[&str], shared: bool) -> Option<(TempDir, PathBuf)> {
    let (compiler, standard) =
        if name.ends_with(".cpp") { (compiler("c++")?, "-std=c++11") } else { (compiler("cc")?, "-std=c99") };
    let folder = tempfile::tempdir().expect("a folder");
    let binary = folder.path().join("program");
    let library: Vec<OsString> = if shared {
        // The dynamic linker looks for the name with the version.
        std::os::unix::fs::symlink(
            library_folder().join("libairbound.so"),
            folder.path().join("libairbound.so.1"),
        )
        .expect("a link");
        let mut search = OsString::from("-Wl,-rpath,");
        search.push(folder.path());
        vec![library_folder().join("libairbound.so").into(), search]
    } else {
        vec![library_folder().join("libairbound.a").into()]
    };
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let output = Command::new(compiler)
        .args([standard, "-pedantic"])
        .args(STRICT)
        .args(options)
        .arg("-I")
        .arg(include)
        .arg(source(name))
        .args(library)
        .args(["-o".as_ref(), binary.as_os_str()])
        .args(["-lpthread", "-ldl", "-lm"])
        .output()
        .expect("the compiler runs");
    assert!(output.status.success(), "{name} {options:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some((folder, binary))
}

fn passes(name: &str, output: &Output) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(
        output.status.success(),
        "{name}: {}\n{}{}",
        output.status,
        text(&output.stdout),
        text(&output.stderr)
    );
    eprint!("{}", text(&output.stdout));
}

fn run(name: &str, options: &[&str], shared: bool) {
    let Some((_folder, binary)) = build(name, options, shared) else { return };
    passes(name, &Command::new(binary).output().expect("runs"));
}

#[test]
fn a_stream_lives_in_c() {
    run("life.c", &[], false);
    run("life.c", &[], true);
}

#[test]
fn each_fault_has_one_status() {
    run("faults.c", &[], false);
}

#[test]
fn the_header_is_cpp_too() {
    run("plain.cpp", &[], false);
    run("plain.cpp", &[], true);
}

#[test]
fn address_sanitizer_finds_nothing() {
    if !has_sanitizer() {
        eprintln!("SKIPPED: the compiler has no AddressSanitizer");
        return;
    }
    let sanitizer = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    run("life.c", &sanitizer, false);
    run("faults.c", &sanitizer, false);
}

fn has_sanitizer() -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("empty.c");
    std::fs::write(&file, "int main(void) { return 0; }\n").expect("writable");
    let output = Command::new("cc")
        .arg("-fsanitize=address,undefined")
        .arg(file)
        .arg("-o")
        .arg(folder.path().join("empty"))
        .output();
    output.is_ok_and(|output| output.status.success())
}

#[test]
fn valgrind_finds_nothing() {
    let Some(valgrind) = compiler("valgrind") else { return };
    for name in ["life.c", "faults.c"] {
        let Some((_folder, binary)) = build(name, &[], false) else { return };
        let checks = ["--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=all"];
        passes(name, &Command::new(valgrind).args(checks).arg(binary).output().expect("runs"));
    }
}

#[test]
fn a_packet_and_a_poll_take_less_than_1000_instructions() {
    let Some(valgrind) = compiler("valgrind") else { return };
    let Some((folder, binary)) = build("life.c", &[], false) else { return };
    let cost = |function: &str| -> u64 {
        let output = Command::new(valgrind)
            .args(["--tool=callgrind", &format!("--toggle-collect={function}")])
            .arg(format!("--callgrind-out-file={}", folder.path().join("out").display()))
            .args([binary.as_os_str(), "eager".as_ref()])
            .output()
            .expect("runs");
        passes(function, &output);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let collected = text.split("Collected : ").nth(1).and_then(|rest| rest.split_whitespace().next());
        collected.and_then(|count| count.parse().ok()).unwrap_or_else(|| panic!("{text}"))
    };
    let output = Command::new(&binary).arg("eager").output().expect("runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut words = text.split_whitespace().filter_map(|word| word.parse::<u64>().ok());
    let (packets, polls) = (words.next().expect("packets"), words.next().expect("polls"));
    for (function, calls) in [("airbound_receiver_arrived", packets), ("airbound_sender_poll", polls)] {
        let each = cost(function) / calls;
        eprintln!("{function}: {each} instructions each of {calls}");
        assert!((1..1000).contains(&each), "{function}: {each}");
    }
}
