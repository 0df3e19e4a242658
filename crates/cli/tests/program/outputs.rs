//! Outputs replace nothing but earlier outputs, and one program at a time writes into a folder.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::place::Place;

const CAPTURE: [u8; 4] = 0xa1b2_3c4d_u32.to_le_bytes();

#[test]
fn a_capture_replaces_a_capture_and_nothing_else() {
    let place = Place::new();
    let scenario = place.bytes("tiny.toml");
    let run = |file: &str| place.run(&["run", "tiny.toml", "--out", "out", "--pcap", file, "--quiet"]);
    let sentence = place.refuse(&["run", "tiny.toml", "--out", "out", "--pcap", "tiny.toml"]);
    assert!(sentence.contains("tiny.toml is not an earlier capture of airbound"), "{sentence}");
    assert_eq!(place.bytes("tiny.toml"), scenario);

    assert!(run("air.pcap").status.success());
    let first = place.bytes("air.pcap");
    assert_eq!(first[..4], CAPTURE);
    assert!(run("air.pcap").status.success());
    assert_eq!(place.bytes("air.pcap"), first);

    assert!(run("-").stdout == first, "standard output takes the same bytes");
    let hidden = |name: &String| name.contains(".airbound-");
    assert!(!place.list().iter().any(hidden), "{:?}", place.list());
}

#[test]
fn a_capture_on_standard_output_leaves_the_tables_to_standard_error() {
    let place = Place::new();
    let output = place.run(&["run", "tiny.toml", "--pcap", "-"]);
    assert!(output.status.success());
    assert_eq!(output.stdout[..4], CAPTURE);
    assert!(String::from_utf8_lossy(&output.stderr).contains("Flow stream"));
    let sentence = place.refuse(&["run", "tiny.toml", "--pcap", "-", "--json"]);
    assert!(sentence.contains("both write to standard output"), "{sentence}");
}

#[cfg(unix)]
#[test]
fn links_are_left_alone_and_devices_written_through() {
    let place = Place::new();
    std::os::unix::fs::symlink(place.path("tiny.toml"), place.path("air.pcap")).expect("a link");
    let sentence = place.refuse(&["run", "tiny.toml", "--pcap", "air.pcap"]);
    assert!(sentence.contains("symbolic link"), "{sentence}");
    assert!(place.path("air.pcap").is_symlink());
    for device in ["/dev/null", "/dev/stdout"] {
        let output = place.run(&["run", "tiny.toml", "--pcap", device, "--quiet"]);
        assert!(output.status.success(), "{device}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let output = place.run(&["run", "tiny.toml", "--out", "full", "--pcap", "/dev/full", "--quiet"]);
    assert_eq!(output.status.code(), Some(2));
    use std::os::unix::fs::FileTypeExt as _;
    for device in ["/dev/null", "/dev/full"] {
        assert!(std::fs::metadata(device).expect("a device").file_type().is_char_device(), "{device}");
    }
}

#[test]
fn a_page_replaces_a_page_and_nothing_else() {
    let place = Place::new();
    place.succeed(&["compare", "tiny.toml", "--out", "both"]);
    std::fs::write(place.path("mine.html"), "<!DOCTYPE html><title>Mine</title>").expect("written");
    let sentence = place.refuse(&["report", "both", "--out", "mine.html"]);
    assert!(sentence.contains("mine.html is not an earlier report of airbound"), "{sentence}");
    place.refuse(&["report", "both", "--out", "tiny.toml"]);
    place.succeed(&["report", "both", "--out", "page.html"]);
    place.succeed(&["report", "both", "--out", "page.html"]);
    let streamed = place.succeed(&["report", "both", "--out", "-"]);
    assert_eq!(streamed.as_bytes(), place.bytes("page.html"));
}

#[test]
fn notes_within_a_run_of_a_comparison_are_kept() {
    let place = Place::new();
    place.succeed(&["compare", "tiny.toml", "--out", "both"]);
    std::fs::write(place.path("both/fifo-seed1/notes.txt"), "Remember").expect("written");
    let sentence = place.refuse(&["compare", "tiny.toml", "--out", "both"]);
    assert!(sentence.contains("notes.txt"), "{sentence}");
}

#[cfg(unix)]
#[test]
fn a_comparison_behind_a_link_keeps_the_link() {
    let place = Place::new();
    std::fs::create_dir(place.path("disk")).expect("a folder");
    std::os::unix::fs::symlink(place.path("disk"), place.path("link")).expect("a link");
    place.succeed(&["compare", "tiny.toml", "--out", "link"]);
    assert!(place.path("link").is_symlink());
    assert!(place.path("disk/comparison.json").is_file());
}

/// A program that writes into a folder for long, ended when dropped.
struct Long(Child);

impl Long {
    fn begin(place: &Place, arguments: &[&str]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_airbound"))
            .args(arguments)
            .args(["--set", "duration=20 h", "--quiet", "--no-packet-log"])
            .current_dir(place.path("."))
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        Self(child)
    }

    /// Waits until the file is there.
    fn until(&mut self, place: &Place, name: &str) {
        let begun = Instant::now();
        while !place.path(name).exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{name} does not come");
            if self.0.try_wait().expect("a child").is_some() {
                let mut said = String::new();
                self.0.stderr.take().map(|mut errors| errors.read_to_string(&mut said));
                panic!("the program ended before {name} came: {said}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Long {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn one_program_at_a_time_writes_into_a_folder() {
    let place = Place::new();
    for (command, lock) in [("run", "out/.lock"), ("compare", ".out.airbound-lock")] {
        let arguments = [command, "tiny.toml", "--out", "out"];
        let mut first = Long::begin(&place, &arguments);
        first.until(&place, lock);
        let second = place.run(&arguments);
        let sentence = String::from_utf8_lossy(&second.stderr).into_owned();
        assert_eq!(second.status.code(), Some(2), "{sentence}");
        assert!(sentence.contains("another airbound is writing into out"), "{sentence}");
        assert_eq!(sentence.lines().count(), 1, "{sentence}");
        drop(first);
        // The lock of a killed program means nothing.
        place.succeed(&arguments);
        assert!(!place.path(lock).exists());
        // Nor is anything left of what it had begun to write.
        for folder in ["", "out"] {
            let entries = std::fs::read_dir(place.path(folder)).expect("a folder");
            let names =
                entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
            assert_eq!(names.filter(|name| name.ends_with("partial")).collect::<Vec<_>>(), [""; 0]);
        }
        std::fs::remove_dir_all(place.path("out")).expect("removed");
    }
}

/// Words in the files of others do not command the terminal: they are escaped in errors, and in the tables of a report.
#[test]
fn words_of_others_are_escaped() {
    let place = Place::new();
    place.succeed(&["run", "tiny.toml", "--scheme", "fifo", "--out", "run", "--quiet"]);
    let summary = String::from_utf8(place.bytes("run/summary.json")).expect("text");
    for (word, exit) in [("\"direction\": \"down", 2), ("\"queue\": \"", 0)] {
        let forged = summary.replace(word, &format!("{word}\\u001b[2Jx"));
        assert_ne!(forged, summary);
        std::fs::write(place.path("run/summary.json"), forged).expect("written");
        let output = place.run(&["report", "run"]);
        let said = [output.stdout, output.stderr].concat();
        assert_eq!(output.status.code(), Some(exit), "{}", String::from_utf8_lossy(&said).escape_debug());
        assert!(!said.contains(&0x1b), "{}", String::from_utf8_lossy(&said).escape_debug());
        assert!(String::from_utf8_lossy(&said).contains("\\u{1b}[2Jx"));
    }
}
