//! Packets that come to a queue or leave it in a run: what they have in common is asked once, and not for each of them.

use std::ops::ControlFlow;

use airbound_units::{ByteCount, Instant, Span};

/// Packets that come to a link, each at its own time.
pub trait Arrivals<P> {
    /// Hands them to `take` in the order of time, until there are no more or `take` wants no more.
    fn hand_over(&mut self, take: impl FnMut(Instant, P) -> ControlFlow<()>);
}

/// Where packets go that leave a queue through [`super::Queue::dequeue_into`].
pub trait Sink<P> {
    /// Whether there is room for one more. `size` tells how large it will be, if the queue knows.
    fn has_room(&mut self, size: impl FnOnce() -> Option<ByteCount>) -> bool;

    /// Takes a packet; returns the airtime that it is expected to take, if that is to be counted against the queue.
    ///
    /// # Errors
    /// Gives a packet back that has waited too long. It is dropped, and another may come in its place, of whatever size.
    fn put(&mut self, packet: P) -> Result<Option<Span>, P>;
}
