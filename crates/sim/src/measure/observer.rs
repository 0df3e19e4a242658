//! Observers, which receive the events of a run.

use std::any::Any;

use airbound_record::{FrameRow, HopRow, PacketRow, SeriesRow, TxopRow};

use super::ExchangeView;

/// Kinds of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Events {
    /// [`Event::Packet`] and [`Event::Hop`].
    pub packets: bool,
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
        Self { packets: false, txops: false, frames: false, series: false, exchanges: false };
    /// The rows of all tables.
    pub const ROWS: Self = Self { packets: true, txops: true, frames: true, series: true, exchanges: false };
}

/// An event of a run.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A packet was delivered or dropped.
    Packet(&'a PacketRow),
    /// A packet reached a relay.
    Hop(&'a HopRow),
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

/// An observer and its wanted kinds of events.
pub(super) struct Subscriber {
    pub(super) wants: Events,
    pub(super) observer: Box<dyn Observer>,
}

impl Subscriber {
    pub(super) fn new(observer: Box<dyn Observer>) -> Self {
        Self { wants: observer.wants(), observer }
    }

    /// Passes on an event of a wanted kind.
    pub(super) fn notify(&mut self, event: Event<'_>) {
        self.observer.on_event(event);
    }

    /// Passes on the row of a frame, if wanted.
    pub(super) fn frame(&mut self, row: &FrameRow) {
        if self.wants.frames {
            self.observer.on_event(Event::Frame(row));
        }
    }
}
