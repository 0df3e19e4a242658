//! Window while losses are repaired: proportional rate reduction (RFC 6937, RFC 9937; Linux
//! `tcp_cwnd_reduction`).

/// State of one recovery, in segments.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reduction {
    /// RecoverFS: the window before.
    prior_cwnd: u32,
    delivered: u32,
    sent: u32,
}

impl Reduction {
    pub(super) fn begin(prior_cwnd: u32) -> Self {
        Self { prior_cwnd: prior_cwnd.max(1), delivered: 0, sent: 0 }
    }

    pub(super) fn on_transmit(&mut self) {
        self.sent = self.sent.saturating_add(1);
    }

    /// Returns the window after an acknowledgement that delivered `delivered` segments. `advanced`: it acknowledged
    /// cumulatively and showed no new loss, so the slow-start reduction bound applies, otherwise the conservative one
    /// (RFC 9937).
    pub(super) fn window(
        &mut self,
        delivered: u32,
        advanced: bool,
        in_flight: u32,
        ssthresh: u32,
    ) -> Option<u32> {
        if delivered == 0 {
            return None;
        }
        self.delivered = self.delivered.saturating_add(delivered);
        let room = if in_flight > ssthresh {
            let share = u64::from(ssthresh) * u64::from(self.delivered);
            let allowed = share.div_ceil(u64::from(self.prior_cwnd.max(1)));
            u32::try_from(allowed).unwrap_or(u32::MAX).saturating_sub(self.sent)
        } else {
            let limit = self.delivered.saturating_sub(self.sent).max(delivered) + u32::from(advanced);
            limit.min(ssthresh - in_flight)
        };
        // The first acknowledgement always permits the first retransmission.
        let room = room.max(u32::from(self.sent == 0));
        Some(in_flight.saturating_add(room).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_in_proportion_to_what_is_delivered() {
        // RFC 6937 section 3.1: 20 segments, one lost, Reno. The flight shrinks from 20 to 10 over the recovery: one
        // segment leaves for two delivered.
        let mut reduction = Reduction::begin(20);
        let mut flight = 19; // one marked as lost
        let mut sent = 0;
        for _ in 0..18 {
            flight -= 1;
            let window = reduction.window(1, false, flight, 10).expect("delivered");
            while flight < window {
                flight += 1;
                sent += 1;
                reduction.on_transmit();
            }
        }
        assert_eq!(sent, 9);
        assert_eq!(flight, 10);
    }

    #[test]
    fn after_heavy_loss_the_bound_follows_what_is_delivered() {
        // 20 segments, 15 lost at once: below the threshold of 10 each delivery lets one leave, with progress two.
        let mut reduction = Reduction::begin(20);
        assert_eq!(reduction.window(1, false, 4, 10), Some(5));
        reduction.on_transmit();
        assert_eq!(reduction.window(1, true, 4, 10), Some(6));
        reduction.on_transmit();
        assert_eq!(reduction.window(0, false, 5, 10), None);
    }
}
