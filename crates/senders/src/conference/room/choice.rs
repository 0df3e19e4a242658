//! The choice of layers for all viewers of a room: which layer of each source fits into which budget.

use crate::conference::plum::ClientId;

/// Upper limit of the layers of one source.
///
/// Three sizes at three frame rates (L3T3 of VP9 and AV1).
pub const MOST_LAYERS: usize = 9;

/// One source as one viewer sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) source: ClientId,
    /// Rates of the source's layers in bit/s, ascending where sent; 0 for a layer that is not sent.
    pub(super) rates: [u64; MOST_LAYERS],
    /// The largest layer asked for.
    pub(super) largest: u8,
    /// The layer forwarded now.
    pub(super) current: Option<u8>,
    /// The policy does not forward this source.
    pub(super) paused: bool,
}

/// One viewer: its budgets in bit/s and its wishes, the most important first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Demand {
    /// The part of the downlink estimate that may be filled.
    pub(super) capacity: u64,
    /// The capacity is that of an estimate, and not assumed.
    pub(super) measured: bool,
    /// The rate at which the policy holds forwarding.
    pub(super) hold: Option<u64>,
    /// The capacity is no more than a lower bound, so that a first layer may be tried: without any packets it would never be known better.
    pub(super) trial: bool,
    pub(super) wishes: Vec<Wish>,
}

impl Wish {
    /// The rate of a layer; 0 for none.
    pub(super) fn rate(&self, layer: Option<u8>) -> u64 {
        layer.and_then(|layer| self.rates.get(usize::from(layer))).copied().unwrap_or(0)
    }

    /// The lowest sent layer above `layer`.
    pub(super) fn above(&self, layer: Option<u8>) -> Option<u8> {
        let first = layer.map_or(0, |layer| layer + 1);
        (first..MOST_LAYERS as u8).find(|layer| self.rate(Some(*layer)) > 0)
    }
}

impl Demand {
    pub(super) fn budget(&self) -> u64 {
        self.hold.map_or(self.capacity, |hold| hold.min(self.capacity))
    }

    pub(super) fn used(&self) -> u64 {
        self.wishes.iter().map(|wish| wish.rate(wish.current)).fold(0, u64::saturating_add)
    }
}

/// The layers of all viewers, in the order of their wishes.
pub(super) type Choice = Vec<Vec<Option<u8>>>;

/// Chooses layers. Low layers go before high ones, important wishes before others, viewers take turns. A step beyond what is forwarded now
/// leaves `margin` of each budget free; what is forwarded stays while it fits.
pub(super) fn choose(demands: &[Demand], server: Option<u64>, margin: f64) -> Choice {
    let mut chosen: Choice = demands.iter().map(|demand| vec![None; demand.wishes.len()]).collect();
    let mut used = vec![0_u64; demands.len()];
    let mut outbound = 0_u64;
    let server = server.unwrap_or(u64::MAX);
    let most = demands.iter().map(|demand| demand.wishes.len()).max().unwrap_or(0);
    let narrow =
        |budget: u64| if budget == u64::MAX { budget } else { (budget as f64 * (1.0 - margin)) as u64 };
    let sent = |wish: &Wish| wish.rates.iter().rposition(|rate| *rate > 0).map_or(0, |top| top + 1);
    let layers = demands.iter().flat_map(|demand| &demand.wishes).map(sent).max().unwrap_or(0);
    for layer in 0..layers as u8 {
        for rank in 0..most {
            let viewers = demands.iter().zip(&mut chosen).zip(&mut used);
            for ((demand, chosen), used) in viewers {
                let (Some(wish), Some(chosen)) = (demand.wishes.get(rank), chosen.get_mut(rank)) else {
                    continue;
                };
                let rate = wish.rate(Some(layer));
                if wish.paused || layer > wish.largest || rate == 0 {
                    continue;
                }
                let step = rate.saturating_sub(wish.rate(*chosen));
                let held = Some(layer) <= wish.current;
                let within = |used: u64, budget: u64| {
                    used.saturating_add(step) <= if held { budget } else { narrow(budget) }
                };
                let budget = match demand.hold {
                    hold if demand.trial && *used == 0 => hold.unwrap_or(u64::MAX),
                    _ => demand.budget(),
                };
                if within(*used, budget) && within(outbound, server) {
                    *chosen = Some(layer);
                    *used = used.saturating_add(step);
                    outbound = outbound.saturating_add(step);
                }
            }
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wish(source: u16, current: Option<u8>) -> Wish {
        let rates = [100, 300, 900, 0, 0, 0, 0, 0, 0];
        Wish { source: ClientId(source), rates, largest: MOST_LAYERS as u8 - 1, current, paused: false }
    }

    fn demand(capacity: u64, wishes: Vec<Wish>) -> Demand {
        Demand { capacity, measured: true, hold: None, trial: false, wishes }
    }

    #[test]
    fn low_layers_of_all_go_before_a_high_one() {
        let wishes = vec![wish(1, None), wish(2, None), wish(3, None)];
        let chosen = choose(&[demand(760, wishes)], None, 0.0);
        assert_eq!(chosen, [[Some(1), Some(1), Some(0)]]);
    }

    #[test]
    fn what_is_forwarded_stays_and_a_new_step_needs_room() {
        let chosen = |capacity, current| choose(&[demand(capacity, vec![wish(1, current)])], None, 0.1)[0][0];
        assert_eq!((chosen(900, Some(1)), chosen(900, Some(2))), (Some(1), Some(2)));
        assert_eq!(chosen(1000, Some(1)), Some(2));
        assert_eq!(chosen(899, Some(2)), Some(1));
    }

    #[test]
    fn a_lower_bound_lets_one_smallest_layer_be_tried() {
        let tried = |hold| {
            let demand = Demand { hold, trial: true, ..demand(50, vec![wish(1, None), wish(2, None)]) };
            choose(&[demand], None, 0.1)
        };
        assert_eq!(tried(None), [[Some(0), None]]);
        assert_eq!(tried(Some(60)), [[None, None]]);
    }

    #[test]
    fn rates_that_no_link_has_are_counted_as_the_largest() {
        let huge = Wish { rates: [u64::MAX, 0, 0, 0, 0, 0, 0, 0, 0], ..wish(1, None) };
        let chosen = choose(&[demand(u64::MAX, vec![huge, Wish { source: ClientId(2), ..huge }])], None, 0.0);
        assert_eq!(chosen, [[Some(0), Some(0)]]);
    }

    #[test]
    fn viewers_take_turns_at_the_outbound_link() {
        let all = || demand(u64::MAX, vec![wish(1, None), wish(2, None)]);
        let chosen = choose(&[all(), all()], Some(1000), 0.0);
        assert_eq!(chosen, [[Some(1), Some(1)], [Some(1), Some(0)]]);
    }
}
