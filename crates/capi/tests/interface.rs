//! The header and the layout of the interface are those that are committed. `AIRBOUND_RENEW=1` writes both anew.
#![allow(clippy::print_stderr)]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::toolchain::{compiler, library_folder};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Compares a text with a committed file, or writes it.
fn compare(file: &Path, text: &str) {
    if std::env::var_os("AIRBOUND_RENEW").is_some() {
        std::fs::write(file, text).expect("writable");
    }
    let committed = std::fs::read_to_string(file).unwrap_or_default();
    let line = committed.lines().zip(text.lines()).find(|(committed, now)| committed != now);
    assert!(
        committed == text,
        "{} is not that of the sources, first at {line:?}; if intended: AIRBOUND_RENEW=1 cargo test -p airbound-capi --test all interface",
        file.display()
    );
}

fn header() -> String {
    let config = cbindgen::Config::from_root_or_default(root());
    let bindings =
        cbindgen::Builder::new().with_crate(root()).with_config(config).generate().expect("a header");
    let mut text = Vec::new();
    bindings.write(&mut text);
    String::from_utf8(text).expect("text")
}

/// Structs with their fields, by the header.
fn structs(header: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    let mut fields = None;
    for line in header.lines() {
        let line = line.trim();
        if line == "typedef struct {" {
            fields = Some(Vec::new());
        } else if let (Some(name), true) = (line.strip_prefix("} "), fields.is_some()) {
            found.push((name.trim_end_matches(';').to_owned(), fields.take().unwrap_or_default()));
        } else if let Some(fields) = &mut fields
            && !line.starts_with(['*', '/'])
            && let Some(name) = line.strip_suffix(';').and_then(|field| field.rsplit(' ').next())
        {
            fields.push(name.split('[').next().unwrap_or(name).to_owned());
        }
    }
    found
}

#[test]
fn header_symbols_sizes_and_offsets_are_those_that_were_published() {
    let header = header();
    compare(&root().join("include/airbound.h"), &header);
    let Some(cc) = compiler("cc") else { return };
    let mut program = String::from("#include \"airbound.h\"\n#include <stdio.h>\nint main(void) {\n");
    let mut print = |text: &str, value: &str| {
        let _ = writeln!(program, "printf(\"{text} %ld\\n\", (long)({value}));");
    };
    let structs = structs(&header);
    assert!(structs.len() >= 4, "{structs:?}");
    for (name, fields) in &structs {
        print(&format!("sizeof {name}"), &format!("sizeof({name})"));
        for field in fields {
            print(&format!("offsetof {name} {field}"), &format!("offsetof({name}, {field})"));
        }
    }
    let names = header.lines().filter_map(|line| line.trim().strip_prefix("AIRBOUND_"));
    for name in names.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name) {
        print(&format!("AIRBOUND_{name}"), &format!("AIRBOUND_{name}"));
    }
    for name in ["ABI", "FEEDBACK_MAX", "COMPANION"] {
        print(&format!("AIRBOUND_{name}"), &format!("AIRBOUND_{name}"));
    }
    program.push_str("return 0;\n}\n");
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("layout.c");
    std::fs::write(&source, program).expect("writable");
    let binary = folder.path().join("layout");
    let include = root().join("include");
    let made =
        Command::new(cc).arg("-I").arg(include).arg(&source).arg("-o").arg(&binary).output().expect("cc");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let layout = Command::new(&binary).output().expect("runs").stdout;
    let mut listing = String::from_utf8(layout).expect("text");

    let library = library_folder().join("libairbound.so");
    let Ok(symbols) =
        Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(&library).output()
    else {
        eprintln!("SKIPPED: symbols of the shared library: nm is missing");
        return;
    };
    assert!(symbols.status.success(), "{}", String::from_utf8_lossy(&symbols.stderr));
    let symbols = String::from_utf8(symbols.stdout).expect("text");
    let mut names: Vec<&str> = symbols.lines().filter_map(|line| line.split(' ').next()).collect();
    names.sort_unstable();
    for name in names {
        assert!(name.starts_with("airbound_"), "the library exports {name}");
        assert!(header.contains(&format!("{name}(")), "{name} is not in the header");
        let _ = writeln!(listing, "symbol {name}");
    }
    // The layout of a 64-bit system; pointers are in no struct.
    compare(&root().join("abi.txt"), &listing);
}
