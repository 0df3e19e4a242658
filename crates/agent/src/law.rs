//! The part of Law that a program above the driver can enforce, and its latency bound.

use airbound_units::{BitRate, ByteCount, Span};
use airbound_wifi::edca::{Category, EdcaParameters};
use airbound_wifi::rate::Legacy;
use airbound_wifi::{Band, control_frames::block_ack};

use crate::config::LawSettings;

/// The terms of the agent's latency bound.
///
/// ```text
/// bound = Limit_q + release window + longest try chain
/// ```
///
/// A packet leaves the agent at most Limit_q after its arrival. In the worst case a full window is before it, and its aggregate needs
/// all tries. The agent cannot recall packets from the hardware. The bound assumes an otherwise idle channel: transmissions of
/// neighbours are not bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bound {
    /// Limit_q.
    pub limit_q: Span,
    /// The airtime that may be below, including one packet above the limit.
    pub window: Span,
    /// All tries of one aggregate, with the mean backoff before each.
    pub chain: Span,
    /// Number of these tries.
    pub tries: u32,
}

impl Bound {
    /// The bound for a station at `rate`, with at most `tries` transmissions of an aggregate.
    #[must_use]
    pub fn new(settings: &LawSettings, aggregate: Span, rate: BitRate, tries: u32) -> Self {
        let packet = rate.time_for(ByteCount::new(1538));
        let one = aggregate.max(packet);
        Self { limit_q: settings.limit_q, window: aggregate * 2 + packet, chain: chain(one, tries), tries }
    }

    /// The sum of the terms.
    #[must_use]
    pub fn total(&self) -> Span {
        self.limit_q + self.window + self.chain
    }
}

/// The time of `tries` transmissions of duration `one`, each with AIFS, the mean backoff of its contention window, and a block ack or
/// its timeout.
fn chain(one: Span, tries: u32) -> Span {
    let band = Band::Ghz5;
    let edca = EdcaParameters::linux_access_point(Category::Be);
    let answer = band.sifs() + block_ack(Legacy::Mbps24, band);
    let each = |failures| {
        let backoff = Span::from_nanos(band.slot().as_nanos() * u64::from(edca.window(failures)) / 2);
        band.aifs(edca.aifsn) + backoff + one + answer
    };
    (0..tries.max(1)).map(each).sum()
}

/// Lists the parts of Law that are in force, and those that are not.
#[must_use]
pub fn in_force(settings: &LawSettings, retries_settable: bool, aggregate: Span) -> Vec<String> {
    let tries = if retries_settable {
        format!("in force: at most {} tries of a transmission (TID configuration)", settings.tries)
    } else {
        "not in force: a limit of tries (the driver does not support it)".to_owned()
    };
    vec![
        format!("in force: the time limit of the queue, Limit_q = {}", settings.limit_q),
        format!(
            "in force: two PSDUs below the agent, each of at most {aggregate} of airtime (Limit_h = {} less contention)",
            settings.limit_h
        ),
        tries,
        "not in force: Limit_h in the hardware (no driver supports aborting a transmission)".to_owned(),
        "not in force: Law's choice of rates, probes and clean-up state (rate control is the driver's)"
            .to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_by_hand() {
        // One try: AIFS 16 + 3 x 9 us, mean backoff 15/2 slots, 1 ms, SIFS, block ack at 24 Mb/s 32 us (36 us preamble and symbols).
        let one = chain(Span::from_millis(1), 1);
        let answer = Band::Ghz5.sifs() + block_ack(Legacy::Mbps24, Band::Ghz5);
        assert_eq!(one, Span::from_nanos(43_000 + 67_500 + 1_000_000) + answer);
        // The second try has a mean backoff of 31/2 slots.
        let two = chain(Span::from_millis(1), 2);
        assert_eq!(two - one, Span::from_nanos(43_000 + 139_500 + 1_000_000) + answer);
    }

    #[test]
    fn the_bound_grows_with_tries_and_slowness() {
        let settings = LawSettings::default();
        let bound = |mbps, tries| {
            Bound::new(&settings, Span::from_micros(2500), BitRate::from_mbps(mbps), tries).total()
        };
        assert!(bound(65, 4) < bound(65, 8) && bound(65, 4) < bound(2, 4));
        let at_65 = Bound::new(&settings, Span::from_micros(2500), BitRate::from_mbps(65), 4);
        assert_eq!((at_65.limit_q, at_65.tries), (Span::from_millis(40), 4));
        // 2 x 2.5 ms and 1538 B at 65 Mb/s.
        assert_eq!(at_65.window, Span::from_micros(5000) + Span::from_nanos(189_293));
    }
}
