//! The lower rungs hold, and results do not depend on the number of jobs.

use std::num::NonZeroUsize;

use airbound_report::{Verdict, outcome};
use airbound_studies::Effort;
use airbound_studies::ladder::Rung;

fn effort(jobs: usize) -> Effort {
    Effort { quick: true, jobs: NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN), ..Effort::default() }
}

#[test]
fn closed_forms_hold() {
    let rows = Rung::Closed.rows(effort(2)).expect("runs");
    // A rate that could not be read would leave rows out.
    assert_eq!(rows.len(), 90);
    let outside: Vec<_> = rows.iter().filter(|row| row.within() == Some(false)).collect();
    assert!(outside.is_empty(), "{outside:#?}");
}

#[test]
fn contention_follows_the_model() {
    let rows = Rung::Bianchi.rows(effort(2)).expect("runs");
    assert_eq!(rows.len(), 48);
    assert_eq!(outcome(&rows), airbound_report::Outcome::Passed, "{rows:#?}");
    assert!(rows.iter().all(|row| row.verdict == Verdict::Held));
    assert_eq!(rows, Rung::Bianchi.rows(effort(1)).expect("runs"));
}

#[test]
fn rungs_are_found_by_their_names() {
    for rung in Rung::ALL {
        assert_eq!(Rung::named(rung.name()), Some(rung));
    }
    assert_eq!(Rung::named("top"), None);
}
