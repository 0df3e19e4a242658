//! A client by its keys: the session in use, and the handshake that may become one.

use std::collections::VecDeque;

use core::net::SocketAddr;

use airbound_units::{Instant, Span};

use super::hello::Hello;
use super::lane::Lane;
use super::session::Session;

/// Times of hellos without effect that are kept for each client.
const MOST_VOID: usize = 16;
/// Time for which an answer that was not used keeps out hellos with an earlier time: a round trip and its losses.
const YOUNG: Span = Span::from_secs(3);

/// An answer that was not used yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) session: Session,
    pub(super) nonce: [u8; 16],
    pub(super) answer: Vec<u8>,
    pub(super) resumes: bool,
    /// Time of the hello.
    pub(super) time: u64,
    /// The address of all its hellos, if it is one: only who receives there can have the answer.
    pub(super) from: Option<SocketAddr>,
    pub(super) made: Instant,
}

/// A client by its keys.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) name: String,
    /// Time of the hello of the session in use; 0 without one, since the client's clock may be set back until it comes again.
    pub(super) hello: u64,
    pub(super) pending: Option<Pending>,
    /// Times of hellos whose answers were not used, the latest last: they are not answered again.
    pub(super) void: VecDeque<u64>,
    pub(super) lane: Option<Lane>,
}

impl Known {
    /// Whether a hello is old: before the session in use, without effect the last time, or before one that may still be used. An unused
    /// answer counts for a moment only, since its hello may be a copy from when the client's clock was ahead.
    pub(super) fn is_old(&self, now: Instant, hello: &Hello) -> bool {
        let waits = self.pending.as_ref().is_some_and(|pending| {
            if pending.nonce == hello.nonce {
                hello.time < pending.time
            } else {
                hello.time <= pending.time && now.since(pending.made) < YOUNG
            }
        });
        hello.time <= self.hello || self.void.contains(&hello.time) || waits
    }

    /// Ends an answer that was not used. Returns the number of its session.
    pub(super) fn end_pending(&mut self) -> Option<u32> {
        let Pending { session, time, .. } = self.pending.take()?;
        if self.void.len() >= MOST_VOID {
            self.void.pop_front();
        }
        self.void.push_back(time);
        Some(session.id)
    }
}
