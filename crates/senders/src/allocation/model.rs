//! The throughput model of Sec. 4: aggregation levels for given send rates, and the feasible rates.

/// A downlink whose access point serves its stations in turn, one aggregate each.
///
/// Rates `x` are in packets per second, one for each station.
#[derive(Debug, Clone, PartialEq)]
pub struct Downlink {
    frame_overhead: f64,
    packet_airtime: Vec<f64>,
}

/// The station held at the target by an allocation of equal airtimes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Regulated {
    /// The fastest: then no station exceeds it (Sec. 6.1, Fig. 12).
    Fastest,
    /// The slowest, as theorem 1 is printed: then every faster station exceeds it.
    Slowest,
}

impl Downlink {
    /// `frame_overhead` is T_acc + T_oh in seconds, `packet_airtime` the w_i = L / μ_Ri of equation 4 in seconds.
    ///
    /// `None` unless there is a station and all values are positive and finite.
    #[must_use]
    pub fn new(frame_overhead: f64, packet_airtime: Vec<f64>) -> Option<Self> {
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let valid = positive(frame_overhead)
            && !packet_airtime.is_empty()
            && packet_airtime.iter().all(|airtime| positive(*airtime));
        valid.then_some(Self { frame_overhead, packet_airtime })
    }

    /// Adds link-layer retransmissions (assumption 2 of Sec. 7): an MPDU lost with probability `losses[i]` takes its airtime 1 / (1
    /// - p) times on average.
    ///
    /// `None` unless there is one probability for each station, from 0 to below 1.
    #[must_use]
    pub fn with_retransmissions(&self, losses: &[f64]) -> Option<Self> {
        let valid = losses.len() == self.stations() && losses.iter().all(|loss| (0.0..1.0).contains(loss));
        if !valid {
            return None;
        }
        let airtime = self.packet_airtime.iter().zip(losses).map(|(airtime, loss)| airtime / (1.0 - loss));
        Self::new(self.frame_overhead, airtime.collect())
    }

    /// Number of stations, n.
    #[must_use]
    pub fn stations(&self) -> usize {
        self.packet_airtime.len()
    }

    /// The w_i in seconds.
    #[must_use]
    pub fn packet_airtime(&self) -> &[f64] {
        &self.packet_airtime
    }

    /// c = n (T_acc + T_oh), the overhead of a round, in seconds.
    #[must_use]
    pub fn round_overhead(&self) -> f64 {
        self.stations() as f64 * self.frame_overhead
    }

    /// wᵀx, the share of time used by payload.
    #[must_use]
    pub fn payload_share(&self, rates: &[f64]) -> f64 {
        self.packet_airtime.iter().zip(rates).map(|(airtime, rate)| airtime * rate).sum()
    }

    /// Lemma 1: frames per second to each station, (1 - wᵀx) / c.
    #[must_use]
    pub fn frame_rate(&self, rates: &[f64]) -> f64 {
        (1.0 - self.payload_share(rates)) / self.round_overhead()
    }

    /// Lemma 2: the levels c x_i / (1 - wᵀx); `None` for wᵀx >= 1, which no finite queue carries.
    #[must_use]
    pub fn levels(&self, rates: &[f64]) -> Option<Vec<f64>> {
        let frames = self.frame_rate(rates);
        (frames > 0.0).then(|| rates.iter().map(|rate| rate / frames).collect())
    }

    /// Equation 7: the levels with the projection Π onto 1 to `most`; its least solution, found by iterating from 1.
    ///
    /// For stations of equal w and x it is equation 8 with w = L / μ_R. (The paper prints L μ_N / μ_R below equation 8; only L / μ_R
    /// has the dimension of time that equation 4 gives it.)
    #[must_use]
    pub fn projected_levels(&self, rates: &[f64], most: f64) -> Vec<f64> {
        let most = most.max(1.0);
        let mut levels = vec![1.0; self.stations()];
        // The map increases in every level and is bounded, so the iteration rises to the least fixed point. Near overload it
        // converges slowly, by w^T x a step.
        for _ in 0..100_000 {
            let round = self.round_overhead() + self.payload_share(&levels);
            let mut moved = 0.0_f64;
            for (level, rate) in levels.iter_mut().zip(rates) {
                let next = (round * rate).clamp(1.0, most);
                moved = moved.max((next - *level) / next);
                *level = next;
            }
            if moved < 1e-12 {
                break;
            }
        }
        levels
    }

    /// Equation 8 for identical stations: Π(c x / (1 - n x w)) onto 1 to `most`; overload gives `most`.
    #[must_use]
    pub fn symmetric_level(&self, rate: f64, most: f64) -> f64 {
        let free = 1.0 - self.payload_share(&vec![rate; self.stations()]);
        if free <= 0.0 { most } else { (self.round_overhead() * rate / free).clamp(1.0, most.max(1.0)) }
    }

    /// Equations 16 and 17: whether the rates keep every queue stable with frames of at most `most` packets.
    #[must_use]
    pub fn admits(&self, rates: &[f64], most: f64) -> bool {
        let positive = rates.len() == self.stations() && rates.iter().all(|rate| *rate >= 0.0);
        positive && self.levels(rates).is_some_and(|levels| levels.iter().all(|level| *level < most))
    }

    /// Theorem 1: rates α / w_j with α = N w / (c + N w n), N the target and w that of the regulated station.
    ///
    /// With [`Regulated::Fastest`] w is the least: feasible, each station has 1/n of the airtime (corollary 1), and levels are in
    /// proportion to PHY rates (corollary 2). The theorem is printed with the largest w, [`Regulated::Slowest`]; with unequal w
    /// that violates the constraint N_i <= N for every faster station.
    #[must_use]
    pub fn equal_airtime(&self, target: f64, regulated: Regulated) -> Vec<f64> {
        let pick = match regulated {
            Regulated::Fastest => f64::min,
            Regulated::Slowest => f64::max,
        };
        let airtime = self.packet_airtime.iter().copied().reduce(pick).unwrap_or(0.0);
        let payload = target * airtime;
        let alpha = payload / (self.round_overhead() + payload * self.stations() as f64);
        self.packet_airtime.iter().map(|airtime| alpha / airtime).collect()
    }

    /// Corollary 1: the share of all time used by each station, its frames' overhead included.
    #[must_use]
    pub fn airtime_shares(&self, rates: &[f64]) -> Vec<f64> {
        let frames = self.frame_rate(rates);
        let payload = self.packet_airtime.iter().zip(rates).map(|(airtime, rate)| airtime * rate);
        payload.map(|payload| self.frame_overhead * frames + payload).collect()
    }

    /// Equation 35: the derivative of a station's level by its own rate, in packets per (packet/s), the other rates constant.
    #[must_use]
    pub fn own_slope(&self, rates: &[f64], station: usize) -> Option<f64> {
        let free = 1.0 - self.payload_share(rates);
        let own = self.packet_airtime.get(station)? * rates.get(station)?;
        (free > 0.0).then(|| self.round_overhead() / free * (1.0 + own / free))
    }

    /// The derivative for all rates changing in proportion, as in algorithm 2: c / (1 - wᵀx)².
    #[must_use]
    pub fn joint_slope(&self, rates: &[f64]) -> Option<f64> {
        let free = 1.0 - self.payload_share(rates);
        (free > 0.0).then(|| self.round_overhead() / (free * free))
    }

    /// Sec. 6.1.1: the gain K₀ at which the loop around `rates` loses stability, in (packet/s) per packet: 2 n over the slope.
    #[must_use]
    pub fn critical_gain(&self, rates: &[f64]) -> Option<f64> {
        self.joint_slope(rates).map(|slope| 2.0 * self.stations() as f64 / slope)
    }
}
