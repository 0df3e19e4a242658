//! A part of the check of verdicts: none contradicts itself, most agree with the oracle, and jobs do not matter.

use std::num::NonZeroUsize;

use airbound_studies::verdict::{Score, check};

#[test]
fn most_verdicts_agree_with_the_oracle() {
    let two = NonZeroUsize::new(2).expect("not zero");
    let networks = check(1, 4, 3, two).expect("runs");
    let score = Score::of(&networks);
    assert_eq!((score.all, score.contradict), (4, 0), "{networks:#?}");
    assert!(score.agree >= 3, "{networks:#?}");
    assert_eq!(check(1, 1, 3, NonZeroUsize::MIN).expect("runs"), networks[..1]);
}
