//! The files of a run: its tables, and the capture of its air.

use airbound_record::Recorder;
use airbound_sim::{Event, Events, Observer};

use crate::pcap::Capture;

/// An observer that passes everything on to a recorder and, where one is wanted, to a capture.
pub(crate) struct Recording {
    recorder: Recorder,
    capture: Option<Capture>,
}

impl Recording {
    /// Writes to `recorder`, and to `capture` if there is one.
    pub(crate) const fn new(recorder: Recorder, capture: Option<Capture>) -> Self {
        Self { recorder, capture }
    }

    /// The recorder and the capture, to be completed.
    pub(crate) fn into_parts(self) -> (Recorder, Option<Capture>) {
        (self.recorder, self.capture)
    }
}

impl Observer for Recording {
    fn wants(&self) -> Events {
        let tables = self.recorder.tables();
        let exchanges = self.capture.is_some();
        let drops = self.capture.as_ref().is_some_and(Capture::wants_drops);
        Events {
            packets: tables.packets || drops,
            senders: tables.senders,
            txops: tables.txops,
            frames: true,
            series: true,
            exchanges,
        }
    }
    fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::Packet(row) => {
                self.recorder.packet(*row);
                if let Some(capture) = self.capture.as_mut().filter(|capture| capture.wants_drops()) {
                    capture.packet(row);
                }
            }
            Event::Hop(row) => self.recorder.hop(*row),
            Event::Sender(row) => self.recorder.sender(*row),
            Event::Txop(row) => self.recorder.txop(*row),
            Event::Frame(row) => self.recorder.frame(*row),
            Event::Series(row) => self.recorder.series(*row),
            Event::Exchange(exchange) => {
                if let Some(capture) = &mut self.capture {
                    capture.exchange(exchange);
                }
            }
            _ => {}
        }
    }
}
