//! Events of both ends, for a journal.

use core::net::SocketAddr;

use airbound_senders::stream::Reason;
use airbound_units::{BitRate, Span};

/// The reason why a client is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Gone {
    /// It said so.
    Closed,
    /// Nothing was heard of it for this time.
    Silent(Span),
    /// Its keys were taken from the list.
    NoKey,
}

/// Something that a journal notes. `client` is the name in the list of keys.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A session began.
    Joined {
        /// The client.
        client: String,
        /// The peer's address.
        address: SocketAddr,
        /// The epoch of the key.
        epoch: u8,
        /// Whether rates and sequence numbers of an earlier session go on.
        resumes: bool,
    },
    /// A peer's packets come from another address.
    Moved {
        /// The client.
        client: String,
        /// The address before.
        from: SocketAddr,
        /// The address now.
        to: SocketAddr,
    },
    /// A peer's new address has answered.
    Proven {
        /// The client.
        client: String,
        /// The address.
        address: SocketAddr,
    },
    /// The largest datagram that the path carries has changed.
    Mtu {
        /// The client.
        client: String,
        /// Bytes of a datagram, header included.
        bytes: u16,
    },
    /// Another part of the path limits a client's rate.
    Rate {
        /// The client.
        client: String,
        /// The rate.
        rate: BitRate,
        /// The aggregation level of the last report with frames.
        level: Option<f64>,
        /// The part that limits it.
        reason: Reason,
        /// Mean distance of its packets at this rate.
        distance: Span,
    },
    /// A client is gone.
    Left {
        /// The client.
        client: String,
        /// The reason.
        why: Gone,
    },
    /// The edge does not answer: the client begins anew.
    EdgeSilent {
        /// Time without a packet of it.
        silence: Span,
    },
}

/// Distances of packets at which a receiver cannot tell a frame from a steady stream: those about its floor of 100 us, below which packets
/// count as one frame.
const UNCLEAR: core::ops::RangeInclusive<Span> = Span::from_micros(70)..=Span::from_micros(150);

impl Event {
    /// The reason in a sentence.
    #[must_use]
    pub fn why(&self) -> String {
        match self {
            Self::Joined { resumes: false, .. } => {
                "a hello with a known key was answered and used".to_owned()
            }
            Self::Joined { resumes: true, .. } => {
                "new keys for a client that goes on: its key was changed, or one end was not heard".to_owned()
            }
            Self::Moved { .. } => "the newest authenticated packet came from there".to_owned(),
            Self::Proven { .. } => "the challenge sent there was echoed".to_owned(),
            Self::Mtu { .. } => {
                "a padded probe of this size was echoed, or larger ones no longer are".to_owned()
            }
            Self::Rate {
                reason: reason @ (Reason::AirFull | Reason::LevelAboveTarget), distance, ..
            } if UNCLEAR.contains(distance) => {
                format!(
                    "{}; packets leave {distance} apart, and those less than 100 us apart look like one frame: without Wi-Fi on the way \
                     only --least gives a higher rate",
                    reason.text()
                )
            }
            Self::Rate { reason, .. } => reason.text().to_owned(),
            Self::Left { why: Gone::Closed, .. } => "the peer closed the session".to_owned(),
            Self::Left { why: Gone::Silent(silence), .. } => format!("nothing was heard of it for {silence}"),
            Self::Left { why: Gone::NoKey, .. } => "its keys are no longer in the list".to_owned(),
            Self::EdgeSilent { silence } => format!("no authenticated packet for {silence}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_at_which_packets_look_like_a_frame_says_so() {
        let why = |micros, reason| {
            let (client, rate) = ("vr".to_owned(), BitRate::from_mbps(96));
            Event::Rate { client, rate, level: Some(32.0), reason, distance: Span::from_micros(micros) }.why()
        };
        assert!(
            why(100, Reason::AirFull).contains("without Wi-Fi on the way only --least gives a higher rate")
        );
        assert_eq!(why(20, Reason::AirFull), Reason::AirFull.text());
        assert_eq!(why(100, Reason::Rising), Reason::Rising.text());
    }
}
