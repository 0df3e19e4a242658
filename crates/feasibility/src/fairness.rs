//! Airtime that the airtime scheduler leaves to uplink transfers.
//!
//! A TCP transfer from a station goes no faster than its acknowledgements come back, and these wait in the access point's
//! queue until the station's turn. Turns are by airtime, in which what the station itself sent counts too. So beside stations that
//! have always something queued, a transfer from a station gets no more airtime than these do, less what a demand at the same
//! station takes. (Other stations that are served as urgent take theirs beforehand.) What rides along with urgent aggregates comes on top.

/// Airtime claims of a station.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Claim {
    /// Share of all time that its demands take.
    pub(crate) demanded: f64,
    /// Whether it takes what else it gets, downwards.
    pub(crate) takes_more: bool,
    /// Whether it takes what else it gets, upwards.
    pub(crate) sends_more: bool,
    /// Share of all time for what its uplink transfers may send for the acknowledgements that ride along with its demands.
    pub(crate) rides: f64,
}

const HALVINGS: usize = 40;

/// The share of all time that each station's uplink transfers get; infinite if only contention bounds them.
pub(crate) fn uplink_shares(claims: &[Claim]) -> Vec<f64> {
    let is_alone = |place: usize| {
        let others = claims.iter().enumerate().filter(|(other, _)| *other != place);
        !others.into_iter().any(|(_, other)| other.takes_more)
    };
    let level = level(claims);
    let shares = claims.iter().enumerate().map(|(place, claim)| {
        if is_alone(place) { f64::INFINITY } else { (level - claim.demanded).max(claim.rides) }
    });
    shares.collect()
}

/// The level to which all rise who take more, when all time is shared out.
fn level(claims: &[Claim]) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        let used: f64 = claims
            .iter()
            .map(|claim| {
                let rises = claim.takes_more || claim.sends_more;
                if rises { claim.demanded.max(middle) } else { claim.demanded }
            })
            .sum();
        if used > 1.0 {
            high = middle;
        } else {
            low = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    const BULK: Claim = Claim { demanded: 0.0, takes_more: true, sends_more: false, rides: 0.0 };
    const UPLOAD: Claim = Claim { demanded: 0.0, takes_more: false, sends_more: true, rides: 0.0 };

    #[test]
    fn alone_it_is_not_bound() {
        let other = Claim { demanded: 0.3, ..Claim::default() };
        assert!(uplink_shares(&[UPLOAD, other])[0].is_infinite());
    }

    #[test]
    fn beside_downloads_it_gets_an_equal_share_less_its_demand() {
        let shares = uplink_shares(&[UPLOAD, BULK, Claim { demanded: 0.4, ..Claim::default() }]);
        assert!((shares[0] - 0.3).abs() < 1e-6, "{shares:?}");
        let shares = uplink_shares(&[Claim { demanded: 0.1, ..UPLOAD }, BULK]);
        assert!((shares[0] - 0.4).abs() < 1e-6, "{shares:?}");
        let shares = uplink_shares(&[Claim { demanded: 0.7, ..UPLOAD }, BULK]);
        assert!(shares[0].abs() < 1e-6, "it starves: {shares:?}");
        let shares = uplink_shares(&[Claim { demanded: 0.7, rides: 0.05, ..UPLOAD }, BULK]);
        assert!((shares[0] - 0.05).abs() < 1e-6, "but for what rides along: {shares:?}");
    }
}
