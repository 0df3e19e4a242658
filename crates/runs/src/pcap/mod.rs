//! `--pcap FILE`: the air of a run as a capture that Wireshark opens.
//!
//! A classic pcap file with times in nanoseconds and radiotap headers. It holds what a monitor that hears everything, on all channels, would:
//! each MPDU of each aggregate, RTS and CTS where they are used, and the acknowledgements. Payloads are cut four octets behind the
//! headers of IP and transport. A frame that its receiver did not get has the flag of a bad FCS and ends four octets behind its MAC
//! header, since what is in it cannot be trusted. Left out are beacons, block-ack requests, and the encryption of payloads, which are shown as after
//! decryption. Simulated connections are open when they begin: SYN and SYN-ACK stand in front of the first segment of each, at its time,
//! and took no airtime.
//!
//! Packets of a caller ([`Contents`]) have their real bytes, whole.
//!
//! A name that ends in `.pcapng` takes a pcapng file. It has dropped packets beside the air, on an interface of their own, each with a
//! comment that names packet, flow and reason.

mod background;
mod connections;
mod container;
mod content;
mod find;
mod frame;
mod radiotap;

use std::io::{self, BufWriter, Write};
use std::path::Path;

use airbound_record::{Fate, PacketRow, RunInfo};
use airbound_scenario::Scenario;
use airbound_sim::ExchangeView;
use airbound_units::Dbm;
use airbound_wifi::control_frames::ControlTiming;
use airbound_wifi::error::noise_floor;
use airbound_wifi::rate::Format;

use crate::error::RunsError;
use crate::output::{Kind, Output, packets_header};
use background::Background;
pub use background::PreparedCapture;
use connections::Connections;
use container::{Container, Interface};
pub use content::Contents;
pub use find::find_frame;
use frame::{Address, Frame, Names};
use radiotap::{Aggregate, Power, Shown};

/// A capture under way. Without [`Capture::finish`] no file remains.
pub(crate) struct Capture {
    file: Place,
    container: Container,
    /// The bytes of a caller's packets.
    contents: Contents,
    /// The first error; it ends the writing.
    failed: Option<io::Error>,
    control: ControlTiming,
    /// Noise of a receiver.
    noise: Dbm,
    info: RunInfo,
    names: Names,
    connections: Connections,
    aggregates: u32,
    record: Vec<u8>,
}

/// Where records go.
enum Place {
    /// A file that the caller waits for.
    Disk(BufWriter<Output>),
    /// A thread that writes it.
    Thread(Background),
}

impl Capture {
    /// Begins a capture in `path` of the run `info` of a scenario.
    ///
    /// # Errors
    /// There is something else than an earlier capture, or the file cannot be created.
    pub(crate) fn create(path: &Path, info: &RunInfo, scenario: &Scenario) -> Result<Self, RunsError> {
        let output = Output::begin(path, Kind::Capture)?;
        let file = Place::Disk(BufWriter::with_capacity(1 << 16, output));
        let container = Container::of(path);
        Ok(Self::begun(file, container, &container.header(), Contents::none(), (info, scenario)))
    }

    /// Begins a capture with the whole packets of a caller, written by a thread of its own.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(crate) fn with_contents(
        prepared: PreparedCapture,
        contents: Contents,
        info: &RunInfo,
        scenario: &Scenario,
    ) -> Result<Self, RunsError> {
        let file = Place::Thread(prepared.start()?);
        Ok(Self::begun(file, Container::Records, &packets_header(), contents, (info, scenario)))
    }

    fn begun(
        file: Place,
        container: Container,
        header: &[u8],
        contents: Contents,
        (info, scenario): (&RunInfo, &Scenario),
    ) -> Self {
        let mut capture = Self {
            file,
            container,
            contents,
            failed: None,
            control: scenario.air.control(),
            noise: noise_floor(scenario.air.width, scenario.air.noise_figure),
            info: info.clone(),
            names: Names::of(info, scenario),
            connections: Connections::of(info, scenario),
            aggregates: 0,
            record: Vec::with_capacity(512),
        };
        capture.write(header);
        capture
    }

    /// Completes the capture at `path`; the number of frames that the disk could not take in time.
    ///
    /// # Errors
    /// The first error of the whole capture.
    pub(crate) fn finish(mut self, path: &Path) -> Result<u64, RunsError> {
        let written = self.failed.take().map_or(Ok(()), Err);
        match self.file {
            Place::Disk(mut file) => {
                written.and_then(|()| file.flush()).map_err(RunsError::io("write", path))?;
                // The buffer is empty.
                let (output, _) = file.into_parts();
                output.finish().map(|()| 0)
            }
            Place::Thread(thread) => thread.finish(),
        }
    }

    /// Whether it has dropped packets.
    pub(crate) const fn wants_drops(&self) -> bool {
        matches!(self.container, Container::Blocks)
    }

    /// Adds a packet if it was dropped.
    pub(crate) fn packet(&mut self, row: &PacketRow) {
        let Fate::Dropped(reason) = row.fate else { return };
        let flow = RunInfo::name(&self.info.flows, row.flow as usize);
        let reason = RunInfo::name(&self.info.drop_reasons, usize::from(reason));
        let comment = format!("packet {} of {flow} dropped: {reason}", row.packet);
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        record.resize(self.container.head(), 0);
        frame::dropped(&mut record, &self.names, row, row.packet / (self.info.flows.len() as u64).max(1));
        let original = u32::try_from(row.size.as_u64()).unwrap_or(u32::MAX);
        self.container.complete(&mut record, Interface::Drops, row.completed, original, Some(&comment));
        self.write(&record);
        self.record = record;
    }

    /// Adds the frames of one exchange.
    pub(crate) fn exchange(&mut self, view: &ExchangeView<'_>) {
        let (from, to) = self.names.ends(view);
        let data_rate = view.rate();
        let control_rate = self.control.band.legacy(self.control.rate_for(data_rate));
        let band = self.control.band;
        let sifs = band.sifs();
        let power = self.power(view);
        let channel = view.channel();
        let control =
            |at, bad_fcs| Shown { at, rate: control_rate, band, channel, aggregate: None, power, bad_fcs };
        if view.ppdu_start() > view.start() {
            let rts_end = view.start() + view.first_frame();
            let rts = Frame::rts(from, to, view.end() - rts_end);
            let is_answered = view.end() > view.ppdu_start();
            self.frame(&rts, &control(view.start(), view.collided() && !is_answered));
            if !is_answered {
                return;
            }
            let cts_start = rts_end + sifs;
            let cts = Frame::cts(from, view.end().since(cts_start));
            self.frame(&cts, &control(cts_start, false));
        }
        self.handshakes(view, &control(view.ppdu_start(), false));
        self.data(view, from, to, power);
        let acknowledged = view.mpdus().filter(|mpdu| mpdu.acknowledged).count();
        if acknowledged > 0 {
            let at = view.ppdu_end() + sifs;
            let answer = if view.aggregated() { Frame::block_ack(from, to, view) } else { Frame::ack(from) };
            self.frame(&answer, &control(at, false));
        }
    }

    /// Signal and noise at the receiver; the same for what it answers, since both directions have the same channel.
    fn power(&self, view: &ExchangeView<'_>) -> Option<Power> {
        // As a byte of dBm holds them.
        let whole = |power: Dbm| power.value().round().clamp(-128.0, 127.0) as i8;
        view.snr().map(|snr| Power { signal: whole(self.noise + snr), noise: whole(self.noise) })
    }

    /// Opens the connections whose first segment is in an exchange: SYN and SYN-ACK, without airtime, at the beginning of the data.
    fn handshakes(&mut self, view: &ExchangeView<'_>, shown: &Shown) {
        for mpdu in view.mpdus() {
            if self.connections.opens(&mpdu.packet) {
                for frame in Frame::handshake(&self.names, &self.connections, view, &mpdu) {
                    self.frame(&frame, shown);
                }
            }
        }
    }

    fn data(&mut self, view: &ExchangeView<'_>, from: Address, to: Address, power: Option<Power>) {
        self.aggregates = self.aggregates.wrapping_add(1);
        let last = view.mpdus().count().saturating_sub(1);
        let remaining = view.end() - view.ppdu_end();
        for (place, mpdu) in view.mpdus().enumerate() {
            let content = (&self.connections, &self.contents);
            let frame = Frame::data(&self.names, content, view, &mpdu, (from, to), remaining);
            let aggregate = (view.aggregated() && view.rate().format() != Format::Legacy)
                .then_some(Aggregate { number: self.aggregates, is_last: place == last });
            let (at, rate, band) = (view.ppdu_start(), view.rate(), self.control.band);
            let (channel, bad_fcs) = (view.channel(), !mpdu.acknowledged);
            let shown = Shown { at, rate, band, channel, aggregate, power, bad_fcs };
            self.frame(&frame, &shown);
        }
    }

    /// Writes one record.
    fn frame(&mut self, frame: &Frame, shown: &Shown) {
        let mut record = std::mem::take(&mut self.record);
        record.clear();
        let head = self.container.head();
        record.resize(head, 0);
        radiotap::append(&mut record, shown);
        let radiotap_length = (record.len() - head) as u64;
        record.extend_from_slice(&frame.bytes);
        let captured = (record.len() - head) as u32;
        let original =
            u32::try_from(radiotap_length + frame.length.as_u64()).unwrap_or(u32::MAX).max(captured);
        self.container.complete(&mut record, Interface::Air, shown.at, original, None);
        self.write(&record);
        self.record = record;
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            let file: &mut dyn Write = match &mut self.file {
                Place::Disk(file) => file,
                Place::Thread(thread) => thread,
            };
            self.failed = file.write_all(bytes).err();
        }
    }
}
