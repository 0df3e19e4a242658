//! `--pcap FILE`: the air of a run as a capture that Wireshark opens.
//!
//! A classic pcap file with times in nanoseconds and radiotap headers. It holds what a monitor that hears everything would:
//! each MPDU of each aggregate, RTS and CTS where they are used, and the acknowledgements. Payloads are cut behind the
//! headers of IP and transport; a frame that its receiver did not get has the flag of a bad FCS. Left out are beacons,
//! block-ack requests, and the encryption of payloads, which are shown as after decryption.

mod frame;
mod radiotap;

use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use airbound_record::RunInfo;
use airbound_scenario::Air;
use airbound_sim::ExchangeView;
use airbound_units::{ByteCount, Instant};
use airbound_wifi::control_frames::ControlTiming;
use airbound_wifi::rate::{Format, Rate};

use crate::error::RunsError;
use crate::output::{Kind, Output, capture_header};
use frame::{Address, Frame, Names};
use radiotap::Aggregate;

/// A capture under way. Without [`Capture::finish`] no file remains.
pub(crate) struct Capture {
    file: BufWriter<Output>,
    /// The first error; it ends the writing.
    failed: Option<io::Error>,
    control: ControlTiming,
    names: Names,
    aggregates: u32,
    record: Vec<u8>,
}

/// Properties of a frame that its record states besides its bytes.
struct Shown {
    at: Instant,
    rate: Rate,
    aggregate: Option<Aggregate>,
    bad_fcs: bool,
}

impl Capture {
    /// Begins a capture in `path` of the run `info`, on the `air` of its scenario.
    ///
    /// # Errors
    /// There is something else than an earlier capture, or the file cannot be created.
    pub(crate) fn create(path: &Path, info: &RunInfo, air: &Air) -> Result<Self, RunsError> {
        let output = Output::begin(path, Kind::Capture)?;
        let mut capture = Self {
            file: BufWriter::with_capacity(1 << 16, output),
            failed: None,
            control: air.control(),
            names: Names::of(info),
            aggregates: 0,
            record: Vec::with_capacity(512),
        };
        capture.write(&capture_header());
        Ok(capture)
    }

    /// Completes the capture at `path`.
    ///
    /// # Errors
    /// The first error of the whole capture.
    pub(crate) fn finish(mut self, path: &Path) -> Result<(), RunsError> {
        let written = self.failed.take().map_or(Ok(()), Err);
        written.and_then(|()| self.file.flush()).map_err(RunsError::io("write", path))?;
        // The buffer is empty.
        let (output, _) = self.file.into_parts();
        output.finish()
    }

    /// Adds the frames of one exchange.
    pub(crate) fn exchange(&mut self, view: &ExchangeView<'_>) {
        let (from, to) = self.names.ends(view);
        let data_rate = view.rate();
        let control_rate = self.control.band.legacy(self.control.rate_for(data_rate));
        let sifs = self.control.band.sifs();
        let protected = view.ppdu_start() > view.start();
        if protected {
            let rts_end = view.start() + view.first_frame();
            let rts = Frame::rts(from, to, view.end() - rts_end);
            let is_answered = view.end() > view.ppdu_start();
            self.control_frame(&rts, view.start(), control_rate, view.collided() && !is_answered);
            if !is_answered {
                return;
            }
            let cts_start = rts_end + sifs;
            let cts = Frame::cts(from, view.end().since(cts_start));
            self.control_frame(&cts, cts_start, control_rate, false);
        }
        self.data(view, from, to);
        let acknowledged = view.mpdus().filter(|mpdu| mpdu.acknowledged).count();
        if acknowledged > 0 {
            let at = view.ppdu_end() + sifs;
            let answer = if view.aggregated() { Frame::block_ack(from, to, view) } else { Frame::ack(from) };
            self.control_frame(&answer, at, control_rate, false);
        }
    }

    fn data(&mut self, view: &ExchangeView<'_>, from: Address, to: Address) {
        self.aggregates = self.aggregates.wrapping_add(1);
        let last = view.mpdus().count().saturating_sub(1);
        let remaining = view.end() - view.ppdu_end();
        for (place, mpdu) in view.mpdus().enumerate() {
            let frame = Frame::data(&self.names, view, &mpdu, from, to, remaining);
            let aggregate = (view.aggregated() && view.rate().format() != Format::Legacy)
                .then_some(Aggregate { number: self.aggregates, is_last: place == last });
            let shown =
                Shown { at: view.ppdu_start(), rate: view.rate(), aggregate, bad_fcs: !mpdu.acknowledged };
            self.frame(&frame.bytes, frame.length, &shown);
        }
    }

    fn control_frame(&mut self, frame: &Frame, at: Instant, rate: Rate, bad_fcs: bool) {
        self.frame(&frame.bytes, frame.length, &Shown { at, rate, aggregate: None, bad_fcs });
    }

    /// Writes one record.
    fn frame(&mut self, bytes: &[u8], length: ByteCount, shown: &Shown) {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        record.extend([0; 16]);
        radiotap::append(
            &mut record,
            shown.at,
            shown.rate,
            self.control.band,
            shown.aggregate,
            shown.bad_fcs,
        );
        let radiotap_length = record.len() as u64 - 16;
        record.extend_from_slice(bytes);
        let captured = record.len() as u32 - 16;
        let original = u32::try_from(radiotap_length + length.as_u64()).unwrap_or(u32::MAX).max(captured);
        let nanos = shown.at.as_nanos();
        let seconds = u32::try_from(nanos / 1_000_000_000).unwrap_or(u32::MAX);
        let fraction = (nanos % 1_000_000_000) as u32;
        for (place, value) in [seconds, fraction, captured, original].into_iter().enumerate() {
            record[4 * place..4 * place + 4].copy_from_slice(&value.to_le_bytes());
        }
        self.write(&record);
        self.record = record;
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.file.write_all(bytes).err();
        }
    }
}
