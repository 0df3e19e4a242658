//! mac80211's rate chains: up to four steps, each with a number of tries.

use crate::channel::Step;

/// The step of the transmission with this number, counted from 0; the last step after the end of the chain.
pub(super) fn step_at(chain: &[Step; 4], transmission: u32) -> Step {
    let mut before = 0;
    let mut last = Step { index: 0, tries: 1, flags: 0 };
    for step in steps(chain) {
        last = *step;
        before += tries(step);
        if transmission < before {
            break;
        }
    }
    last
}

/// The number of tries of a chain.
pub(super) fn total_tries(chain: &[Step; 4]) -> u32 {
    steps(chain).map(tries).sum::<u32>().max(1)
}

/// The chain with the tries used by a number of transmissions.
pub(super) fn used(chain: &[Step; 4], transmissions: u32) -> [Step; 4] {
    let mut left = transmissions.max(1);
    chain.map(|step| {
        if step.index < 0 || left == 0 {
            return Step::NONE;
        }
        let tries = left.min(tries(&step));
        left -= tries;
        Step { tries: u8::try_from(tries).unwrap_or(u8::MAX), ..step }
    })
}

/// The steps that are used.
pub(super) fn steps(chain: &[Step; 4]) -> impl Iterator<Item = &Step> {
    chain.iter().take_while(|step| step.index >= 0)
}

fn tries(step: &Step) -> u32 {
    u32::from(step.tries.max(1))
}
