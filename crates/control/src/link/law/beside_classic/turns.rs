//! Order of the two links, which share a category by the airtime of their flows.

use airbound_units::Span;
use airbound_wifi::edca::Category;

use super::sides::Side;

/// Start-time fair queueing over the two links of each category: the link with less airtime for each of its flows goes first.
///
/// A link without packets accumulates no credit: a flow that sends now and then goes before one that always has a backlog, for at most one
/// turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Turns {
    /// Airtime used for each flow, by category and side.
    used: [[Span; 2]; 4],
}

impl Turns {
    /// The order of the links with a backlog; the second is used if the first has nothing to send. On a tie Law goes first.
    pub(super) fn order(&mut self, category: Category, has_backlog: impl Fn(Side) -> bool) -> [Side; 2] {
        let used = &mut self.used[category.index()];
        for side in Side::BOTH {
            if !has_backlog(side) {
                used[side as usize] = used[side as usize].max(used[side.other() as usize]);
            }
        }
        let [sensitive, classic] = *used;
        match has_backlog(Side::Sensitive) && sensitive <= classic || !has_backlog(Side::Classic) {
            true => [Side::Sensitive, Side::Classic],
            false => [Side::Classic, Side::Sensitive],
        }
    }

    /// Charges `airtime` to a side, divided by its number of flows.
    pub(super) fn charge(&mut self, category: Category, side: Side, airtime: Span, flows: u32) {
        self.used[category.index()][side as usize] += airtime / u64::from(flows.max(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BE: Category = Category::Be;

    fn air(turns: &mut Turns, rounds: usize, flows: [u32; 2], cost: [u64; 2]) -> [u64; 2] {
        let mut air = [0; 2];
        for _ in 0..rounds {
            let [side, _] = turns.order(BE, |_| true);
            let (place, flows) = (side as usize, flows[side as usize]);
            turns.charge(BE, side, Span::from_micros(cost[place]), flows);
            air[place] += cost[place];
        }
        air
    }

    #[test]
    fn each_flow_has_the_same_air() {
        let [sensitive, classic] = air(&mut Turns::default(), 3000, [1, 1], [500, 2000]);
        assert!(sensitive.abs_diff(classic) <= 2000, "{sensitive} {classic}");
        let [sensitive, classic] = air(&mut Turns::default(), 3000, [3, 1], [500, 2000]);
        assert!(sensitive.abs_diff(3 * classic) <= 6000, "{sensitive} {classic}");
    }

    #[test]
    fn a_silent_link_gets_the_next_turn_and_no_more() {
        let mut turns = Turns::default();
        for _ in 0..1000 {
            assert_eq!(turns.order(BE, |side| side == Side::Classic)[0], Side::Classic);
            turns.charge(BE, Side::Classic, Span::from_millis(1), 1);
        }
        let [sensitive, classic] = air(&mut turns, 1, [1, 1], [1000, 1000]);
        assert_eq!((sensitive, classic), (1000, 0));
        let [sensitive, classic] = air(&mut turns, 100, [1, 1], [1000, 1000]);
        assert!(sensitive.abs_diff(classic) <= 1000, "{sensitive} {classic}");
    }
}
