//! A hall of 200 stations with 2000 flows: short in the terminal, small as a page.

use crate::place::Place;

/// The tests of pages in a browser (python/tests/test_pages.py) read it, too.
const CROWD: &str = include_str!("crowd.toml");

#[test]
fn a_crowd_is_shown_in_groups() {
    let place = Place::new();
    std::fs::write(place.path("crowd.toml"), CROWD).expect("a scenario");
    let text =
        place.succeed(&["compare", "crowd.toml", "--schemes", "fifo,linux", "--out", "hall", "--full"]);
    assert!(text.lines().count() < 60, "{text}");
    for name in ["Flows call (×200)", "film (×200)", "web (×1600)"] {
        assert!(text.contains(name), "{name} in {text}");
    }
    assert!(!text.contains("film-17"), "{text}");
    let page = String::from_utf8(place.bytes("hall/report.html")).expect("text");
    assert!(page.len() < 2_000_000, "{}", page.len());
    for folded in ["Members of call (200 rows)", "Members of web (1600 rows)", "film-17"] {
        assert!(page.contains(folded), "{folded}");
    }
    let members = place.succeed(&["report", "hall", "--members"]);
    assert!(members.contains("film-17 ") && members.lines().count() > 2000);
    // A single run too.
    let run = place.succeed(&["run", "crowd.toml", "--no-packet-log"]);
    assert!(run.contains("web (×1600)") && run.lines().count() < 60, "{run}");
}
