//! The airtime that the airtime scheduler leaves to uplink transfers.
//!
//! The rate of a TCP transfer from a station is bounded by its acknowledgements, which wait in the access point's queue for the
//! station's turn. Turns are by airtime, which includes the station's own transmissions. So beside saturated stations an uplink
//! transfer gets no more airtime than these, less the airtime of a demand at the same station. (Stations that are served as urgent
//! take theirs first.) Acknowledgements that fill up urgent aggregates add to it.

/// Airtime claims of a station.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Claim {
    /// Share of time of its demands.
    pub(crate) demanded: f64,
    /// Whether it has saturated downlink traffic.
    pub(crate) downlink_saturated: bool,
    /// Whether it has saturated uplink traffic.
    pub(crate) uplink_saturated: bool,
    /// Share of time of uplink data for the acknowledgements that fill up the aggregates of its demands.
    pub(crate) filled: f64,
}

const HALVINGS: usize = 40;

/// The share of time of each station's uplink transfers; infinite if only contention bounds them.
pub(crate) fn uplink_shares(claims: &[Claim]) -> Vec<f64> {
    let is_alone = |place: usize| {
        let others = claims.iter().enumerate().filter(|(other, _)| *other != place);
        !others.into_iter().any(|(_, other)| other.downlink_saturated)
    };
    let level = level(claims);
    let shares = claims.iter().enumerate().map(|(place, claim)| {
        if is_alone(place) { f64::INFINITY } else { (level - claim.demanded).max(claim.filled) }
    });
    shares.collect()
}

/// The airtime share of each saturated station when all time is allocated.
fn level(claims: &[Claim]) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        let used: f64 = claims
            .iter()
            .map(|claim| {
                let rises = claim.downlink_saturated || claim.uplink_saturated;
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

    const BULK: Claim =
        Claim { demanded: 0.0, downlink_saturated: true, uplink_saturated: false, filled: 0.0 };
    const UPLOAD: Claim =
        Claim { demanded: 0.0, downlink_saturated: false, uplink_saturated: true, filled: 0.0 };

    #[test]
    fn a_lone_transfer_is_not_bound() {
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
        let shares = uplink_shares(&[Claim { demanded: 0.7, filled: 0.05, ..UPLOAD }, BULK]);
        assert!((shares[0] - 0.05).abs() < 1e-6, "only by filled-up aggregates: {shares:?}");
    }
}
