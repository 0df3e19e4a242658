//! What a run leaves on disk: its tables, and the capture of its air.

use std::any::Any;

use airbound_record::{FrameRow, HopRow, PacketRow, Recorder, SeriesRow, TxopRow};

use crate::measure::{ExchangeView, Observer};
use crate::pcap::Capture;

/// An observer that passes everything on to a recorder and, where one is wanted, to a capture.
pub struct Recording {
    recorder: Recorder,
    capture: Option<Capture>,
}

impl Recording {
    /// Writes to `recorder`, and to `capture` if there is one.
    #[must_use]
    pub const fn new(recorder: Recorder, capture: Option<Capture>) -> Self {
        Self { recorder, capture }
    }

    /// What [`crate::Run::finish`] gives back of a run that a recording observed; `None` if it was another observer.
    #[must_use]
    pub fn of(observer: Box<dyn Observer>) -> Option<Self> {
        let observer: Box<dyn Any> = observer;
        observer.downcast::<Self>().ok().map(|recording| *recording)
    }

    /// The recorder and the capture, to be completed.
    #[must_use]
    pub fn into_parts(self) -> (Recorder, Option<Capture>) {
        (self.recorder, self.capture)
    }
}

impl Observer for Recording {
    fn on_packet(&mut self, row: &PacketRow) {
        self.recorder.packet(*row);
    }
    fn on_hop(&mut self, row: &HopRow) {
        self.recorder.hop(*row);
    }
    fn on_txop(&mut self, row: &TxopRow) {
        self.recorder.txop(*row);
    }
    fn on_frame(&mut self, row: &FrameRow) {
        self.recorder.frame(*row);
    }
    fn on_series(&mut self, row: &SeriesRow) {
        self.recorder.series(*row);
    }
    fn on_air(&mut self, exchange: &ExchangeView<'_>) {
        if let Some(capture) = &mut self.capture {
            capture.exchange(exchange);
        }
    }
    fn wants_packets(&self) -> bool {
        self.recorder.tables().packets
    }
    fn wants_txops(&self) -> bool {
        self.recorder.tables().txops
    }
    fn wants_air(&self) -> bool {
        self.capture.is_some()
    }
}
