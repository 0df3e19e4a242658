//! Observers, which receive the events of a run.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use airbound_record::{FrameRow, HopRow, PacketRow, SenderRow, SeriesRow, TxopRow};

use super::ExchangeView;

/// Kinds of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Events {
    /// [`Event::Packet`] and [`Event::Hop`].
    pub packets: bool,
    /// [`Event::Sender`].
    pub senders: bool,
    /// [`Event::Txop`].
    pub txops: bool,
    /// [`Event::Frame`].
    pub frames: bool,
    /// [`Event::Series`].
    pub series: bool,
    /// [`Event::Exchange`].
    pub exchanges: bool,
}

impl Events {
    /// No events.
    pub const NONE: Self =
        Self { packets: false, senders: false, txops: false, frames: false, series: false, exchanges: false };
    /// The rows of all tables.
    pub const ROWS: Self =
        Self { packets: true, senders: true, txops: true, frames: true, series: true, exchanges: false };
}

/// An event of a run.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A packet was delivered or dropped.
    Packet(&'a PacketRow),
    /// A packet reached a relay.
    Hop(&'a HopRow),
    /// An acknowledgement or a report has reached a sender.
    Sender(&'a SenderRow),
    /// A frame exchange or a collision has ended.
    Txop(&'a TxopRow),
    /// The fate of a video frame is known.
    Frame(&'a FrameRow),
    /// A window of the time series has ended.
    Series(&'a SeriesRow),
    /// The same as `Txop`, with the transmitted frames, for a capture.
    Exchange(&'a ExchangeView<'a>),
}

/// Receives events of a run.
///
/// `Any`, so that [`crate::Run::finish`] can return the observer with its own type.
///
/// ```
/// use airbound_sim::{Event, Events, Observer};
///
/// /// Counts delivered and dropped packets.
/// struct Count(u64);
///
/// impl Observer for Count {
///     fn wants(&self) -> Events {
///         Events { packets: true, ..Events::NONE }
///     }
///     fn on_event(&mut self, event: Event<'_>) {
///         self.0 += u64::from(matches!(event, Event::Packet(_)));
///     }
/// }
/// ```
pub trait Observer: Any {
    /// The kinds of events to receive; asked once, when the run is built.
    fn wants(&self) -> Events;
    /// Receives an event of a wanted kind.
    fn on_event(&mut self, event: Event<'_>);
}

/// Receives no event.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn wants(&self) -> Events {
        Events::NONE
    }
    fn on_event(&mut self, _event: Event<'_>) {}
}

/// The observer of a run, which all its networks share.
#[derive(Clone)]
pub(crate) struct Audience {
    observer: Rc<RefCell<Box<dyn Observer>>>,
    /// The kinds of events that it receives.
    pub(crate) wants: Events,
}

impl fmt::Debug for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Audience")
    }
}

impl Default for Audience {
    fn default() -> Self {
        Self::new(Box::new(NoObserver))
    }
}

impl Audience {
    pub(crate) fn new(observer: Box<dyn Observer>) -> Self {
        Self { wants: observer.wants(), observer: Rc::new(RefCell::new(observer)) }
    }

    /// Passes on an event of a wanted kind.
    pub(crate) fn notify(&self, event: Event<'_>) {
        self.observer.borrow_mut().on_event(event);
    }

    /// Returns the observer, if no network holds it any more.
    pub(crate) fn into_observer(self) -> Option<Box<dyn Observer>> {
        Rc::try_unwrap(self.observer).ok().map(RefCell::into_inner)
    }
}
