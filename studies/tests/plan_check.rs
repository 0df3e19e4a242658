//! A part of the check of `airbound plan`: most answers agree with the simulator, and do not depend on the number of jobs.

use std::num::NonZeroUsize;

use airbound_studies::plan::{Confusion, Set, check};

const SET: Set = Set { seed: 1, count: 30, runs: 1 };

#[test]
fn most_answers_agree_with_the_simulator() {
    let two = NonZeroUsize::new(2).expect("not zero");
    let cases = check(SET, two).expect("runs");
    let all = Confusion::of(&cases);
    assert_eq!(all.all(), 30);
    // A set of which all are feasible, or none, would prove nothing.
    let met = all.yes_met + all.no_met;
    assert!((8..=22).contains(&met), "{all:?}");
    // One answer for all would be wrong at least eight times.
    assert!(all.wrong() <= 5, "{all:?}");
    let clear = Confusion::of(cases.iter().filter(|case| !case.is_at_border()));
    assert!(clear.wrong_share() <= 0.15, "{clear:?}");
    let few = Set { count: 2, ..SET };
    assert_eq!(check(few, NonZeroUsize::MIN).expect("runs"), cases[..2]);
}
