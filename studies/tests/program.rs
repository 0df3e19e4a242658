//! The program, as `airbound` starts it.

use crate::place::Place;

/// Expects exit code 2 with one sentence, nothing printed and nothing left behind; returns the sentence.
fn refuse(arguments: &[&str]) -> String {
    let place = Place::new();
    let output = place.run(arguments);
    let errors = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
    assert!(errors.starts_with("airbound: ") && errors.lines().count() == 1, "{arguments:?}: {errors}");
    assert!(output.stdout.is_empty(), "{arguments:?} prints nothing");
    assert!(place.path(".").read_dir().expect("a folder").next().is_none(), "{arguments:?} leaves nothing");
    errors
}

#[test]
fn only_known_papers_and_pages_are_taken() {
    let text = refuse(&["reproduce", "plumb"]);
    assert!(text.contains("plumb") && text.contains("wqm"), "{text}");
    let text = refuse(&["reproduce", "wqm", "--traces", "."]);
    assert!(text.contains("--traces is for plum"), "{text}");
    let text = refuse(&["reproduce", "plum", "--quick", "--traces", "nowhere"]);
    assert!(text.contains("nowhere"), "{text}");
    let text = refuse(&["reproduce", "wqm", "--quick", "--out", "."]);
    assert!(text.contains("is a folder"), "{text}");
}

#[test]
fn tables_of_users_are_looked_at_first() {
    let text = refuse(&["validate", "closed", "--quick", "--data", "."]);
    assert!(text.contains("--data is for the rung ns3 or lab alone"), "{text}");
    let text = refuse(&["validate", "lab", "--data", "nowhere"]);
    assert!(text.contains("nowhere has no runs of the laboratory; airbound validate lab --out"), "{text}");
    let text = refuse(&["validate", "lab", "--only", "uplods"]);
    assert!(text.contains("--only uplods names no case; allowed are idle, udp-saturated"), "{text}");
    let text = refuse(&["validate", "closed", "--only", "idle"]);
    assert!(text.contains("--only is for the rung lab; write airbound validate lab --only NAME"), "{text}");
    let text = refuse(&["validate", "ns3", "--quick", "--data", "nowhere"]);
    assert!(text.contains("nowhere has no table; allowed are files named hidden.csv"), "{text}");
}

#[test]
fn a_table_without_rows_is_refused() {
    let place = Place::new();
    std::fs::create_dir(place.path("tables")).expect("a folder");
    let shipped = include_str!("../data/ns3-lostack.csv");
    let head = shipped.lines().find(|line| !line.starts_with('#')).expect("names of columns");
    std::fs::write(place.path("tables/lostack.csv"), head).expect("a file");
    let output = place.run(&["validate", "ns3", "--quick", "--data", "tables"]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("lostack.csv: has no row; allowed are tables with at least one"), "{errors}");
    assert!(output.stdout.is_empty());
}

fn printed(place: &Place, arguments: &[&str]) -> String {
    let output = place.run(arguments);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && errors.is_empty(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn validate_prints_rows_in_their_stable_form() {
    let place = Place::new();
    let rows = printed(&place, &["validate", "closed", "--quick", "--json"]);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&rows).expect("JSON and nothing else");
    assert!(rows.len() > 60);
    for row in &rows {
        for key in ["id", "metric", "unit", "reference", "measured", "tolerance", "verdict", "note"] {
            assert!(row.get(key).is_some(), "{key} in {row}");
        }
        let verdict = row["verdict"].as_str().expect("a text");
        assert!(["informs", "held", "trend", "missed", "not_run"].contains(&verdict), "{row}");
    }
    let text = printed(&place, &["validate", "closed", "--quick"]);
    assert!(!text.contains("missed"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(place.path(".").read_dir().expect("a folder").next().is_none(), "nothing is left behind");
}

#[test]
fn every_command_teaches() {
    let place = Place::new();
    let of = |program: &str, command: &[&str]| {
        let help = printed(&place, &[command, &["--help"]].concat());
        assert!(help.contains(&format!("Usage: {program} {} [OPTIONS]", command.join(" "))), "{help}");
    };
    for command in [&["reproduce"][..], &["validate"], &["lab", "demo"], &["lab", "faults"]] {
        of("airbound", command);
    }
    // airbound does not start these.
    for command in ["verdict", "evening", "doctor"] {
        of("airbound-studies", &[command]);
        assert!(printed(&place, &["--help"]).contains(&format!("airbound-studies {command} ")));
    }
}
