//! Errors as sentences, for the tests of wrong scenarios.

use airbound_scenario::{Overrides, Scenario};

/// A scenario without an error.
pub(crate) const GOOD: &str = r#"duration = "2 s"
[air]
standard = "ht"
[[station]]
name = "phone"
[[flow]]
name = "stream"
kind = "cbr"
station = "phone"
rate = "20 Mbit/s"
"#;

/// The error of a scenario.
fn error_of(text: &str) -> String {
    Scenario::parse(text, "test.toml", &Overrides::none()).expect_err(text).to_string()
}

/// Checks that the error of a scenario is one sentence with these parts.
pub(crate) fn check(text: &str, parts: &[&str]) {
    let error = error_of(text);
    assert!(!error.contains('\n') && error.len() < 700, "{error}");
    for part in parts {
        assert!(error.contains(part), "\"{part}\" is not in: {error}");
    }
}
