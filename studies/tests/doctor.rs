//! A part of the check of the doctor: each injected cause, and healthy links.

use std::num::NonZeroUsize;

use airbound_studies::doctor::{INJECTED, Score, doctor};

#[test]
fn injected_causes_are_named() {
    let two = NonZeroUsize::new(2).expect("not zero");
    let links = doctor(4, 2 * INJECTED.len() as u64, 6, two).expect("runs");
    let score = Score::of(&links);
    let wrong: Vec<_> = links.iter().filter(|link| link.named != link.truth).collect();
    assert_eq!((score.causes, score.healthy, score.alarms), (18, 6, 0), "{wrong:#?}");
    // 95 % of many (airbound-studies doctor): of 18, one in five sets has two wrong.
    assert!(score.right >= 16, "{wrong:#?}");
    assert_eq!(doctor(4, 1, 0, NonZeroUsize::MIN).expect("runs"), links[..1]);
}
