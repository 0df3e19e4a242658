//! Probes: a few packets at the next higher rate, and their verdict.

use airbound_units::Span;

/// A probe in progress.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Probe {
    /// Number of the probe, which tells its packets from those of earlier ones.
    pub(super) round: u32,
    sent: u8,
    settled: u8,
    lost: bool,
    /// Whether one of its packets needed no software retransmission.
    clean: bool,
    time: Span,
    mpdus: usize,
}

/// Outcome of a packet of a probe.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeOutcome {
    /// The probe.
    pub(super) round: u32,
    /// Whether an MPDU of the PSDU was lost.
    pub(super) lost: bool,
    /// Number of software retransmissions.
    pub(super) retransmissions: u8,
    /// TX time of all software transmissions.
    pub(super) time: Span,
    /// Number of MPDUs.
    pub(super) mpdus: usize,
}

impl Probe {
    /// Begins the next probe.
    pub(super) const fn begin(&mut self) {
        *self = Self {
            round: self.round.wrapping_add(1),
            sent: 0,
            settled: 0,
            lost: false,
            clean: false,
            time: Span::ZERO,
            mpdus: 0,
        };
    }

    /// Whether one more of `packets` is to be sent; if so, it is counted as sent.
    pub(super) const fn send(&mut self, packets: u8) -> bool {
        let more = self.sent < packets;
        self.sent += more as u8;
        more
    }

    /// Notes that a packet of the probe was delivered or given up. Returns, once all `packets` are settled, whether the probe
    /// succeeded: none is lost, at least one was delivered without software retransmission, and the mean TX time is below that of the
    /// previous rate (Sec. 3.4).
    pub(super) fn settle(
        &mut self,
        outcome: ProbeOutcome,
        packets: u8,
        seconds_before: Option<f64>,
    ) -> Option<bool> {
        self.settled = self.settled.saturating_add(1);
        self.lost |= outcome.lost;
        self.clean |= !outcome.lost && outcome.retransmissions == 0;
        self.time += outcome.time;
        self.mpdus += outcome.mpdus.max(1);
        if self.settled < packets {
            return None;
        }
        let mean = self.time.as_secs_f64() / self.mpdus as f64;
        let faster = seconds_before.is_none_or(|before| mean < before);
        Some(!self.lost && self.clean && faster)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(packets: &[(bool, u8, u64)]) -> Option<bool> {
        let mut probe = Probe::default();
        probe.begin();
        let mut result = None;
        for &(lost, retransmissions, micros) in packets {
            assert!(probe.send(2));
            let outcome = ProbeOutcome {
                round: probe.round,
                lost,
                retransmissions,
                time: Span::from_micros(micros),
                mpdus: 1,
            };
            result = probe.settle(outcome, 2, Some(0.001));
        }
        result
    }

    #[test]
    fn both_conditions_hold() {
        assert_eq!(probe(&[(false, 0, 900)]), None);
        assert_eq!(probe(&[(false, 0, 900), (false, 0, 1000)]), Some(true));
        assert_eq!(probe(&[(false, 1, 1200), (false, 0, 700)]), Some(true));
        // One lost; both with a software retransmission; not faster.
        assert_eq!(probe(&[(false, 0, 500), (true, 1, 500)]), Some(false));
        assert_eq!(probe(&[(false, 1, 900), (false, 1, 900)]), Some(false));
        assert_eq!(probe(&[(false, 0, 1000), (false, 0, 1000)]), Some(false));
    }

    #[test]
    fn it_has_so_many_packets_and_no_more() {
        let mut probe = Probe::default();
        probe.begin();
        assert_eq!([(); 4].map(|()| probe.send(2)), [true, true, false, false]);
    }
}
