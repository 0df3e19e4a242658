//! A quick judgement of the evening: the same with any number of threads, and of two ways alike.

use std::num::NonZeroUsize;
use std::process::{Command, Stdio};
use std::time::Duration;

use airbound_studies::evening::{Evening, LINES};

use crate::place::Place;

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn a_judgement_does_not_depend_on_the_number_of_threads() {
    let evening = Evening::new(&names(&["linux", "law"]), &names(&["walk"]), 1, true).expect("known names");
    let one = evening.clone().judge(NonZeroUsize::MIN, &|_, _| ()).expect("runs");
    let three = NonZeroUsize::new(3).expect("not zero");
    assert_eq!(evening.judge(three, &|_, _| ()).expect("runs"), one);
    // Two schemes, the FIFO and the call alone; linux is its own reference.
    assert_eq!(one.runs, 4);
    let [linux, law] = &one.cells[..] else { panic!("two cells: {:?}", one.cells) };
    assert_eq!(linux.figures[0].utility, linux.references[0].plain_utility);
    assert_eq!(linux.references, law.references);
    assert!(linux.references[0].alone_call_ms < linux.references[0].linux_call_ms);
    assert_eq!(linux.passed[LINES.len() - 1], 0, "a scheme does not gain over itself");
    // Law drops what is late, the headset's frames among them.
    assert!(law.figures[0].arrived < 0.95 && law.passed[0] == 0, "{:?}", law.figures);
}

#[test]
fn the_program_prints_the_verdict_first_and_refuses_names() {
    let place = Place::new();
    let arguments = ["evening", "--quick", "--schemes", "linux+plum", "--channels", "static"];
    let output = place.run(&arguments);
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(text.starts_with("=> Of five lines on static, each in one seed, no scheme"), "{text}");
    for (wrong, sentence) in [
        (["--schemes", "linus"], "--schemes: scheme \"linus\" names \"linus\""),
        (["--schemes", "linux,linux"], "--schemes names linux twice; name each once"),
        (["--channels", "moon"], "there is no such channel; channels are static, walk, neighbour"),
    ] {
        let output = place.run(&[&["evening", "--quick"], &wrong[..]].concat());
        let errors = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(2), "{errors}");
        assert!(errors.contains(sentence) && errors.lines().count() == 1, "{errors}");
    }
}

#[test]
fn a_program_that_is_ended_leaves_no_file() {
    let place = Place::new();
    for command in [&["evening", "--seeds", "1000"][..], &["reproduce", "last-pq"]] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_airbound-studies"))
            .args(command)
            .args(["--jobs", "1", "--out", "page.html"])
            .current_dir(place.path("."))
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        // Its page is looked at within that.
        std::thread::sleep(Duration::from_secs(1));
        assert!(program.try_wait().expect("a child").is_none(), "{command:?} ended");
        program.kill().expect("a child");
        program.wait().expect("a child");
        let left = std::fs::read_dir(place.path(".")).expect("a folder").count();
        assert_eq!(left, 0, "{command:?} left a file");
    }
}
