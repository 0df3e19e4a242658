//! Looks for a packet in a capture of a run.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use airbound_record::{PacketRow, RunInfo};
use airbound_units::Instant;
use airbound_wifi::timing::PPDU_MAX_TIME;

use super::frame::Names;
use crate::error::RunsError;
use crate::output::capture_header;

/// A record of a capture: its frame with the radiotap header, and its time in nanoseconds.
struct Record {
    at: u64,
    frame: Vec<u8>,
}

/// The longest record that this program writes is far shorter.
const LONGEST: usize = 1 << 16;

/// The number of the frame, from 1 as Wireshark counts, that was the last transmission of a packet in a capture of its run; `None` if
/// it is not there, as a packet that no receiver got, whose content a capture does not show.
///
/// # Errors
/// The file cannot be read, or is no capture of `airbound run`.
pub fn find_frame(path: &Path, row: &PacketRow, info: &RunInfo) -> Result<Option<u64>, RunsError> {
    let mut file = BufReader::new(File::open(path).map_err(RunsError::io("read", path))?);
    let mut header = vec![0; capture_header().len()];
    let read = file.read_exact(&mut header);
    if read.is_err() || header != capture_header() {
        return Err(RunsError::NoCapture { path: path.to_owned() });
    }
    if row.last_tx == Instant::MAX || row.received == Instant::MAX {
        return Ok(None);
    }
    // The simulator numbers packets so that flows take turns.
    let number_in_flow = row.packet / (info.flows.len() as u64).max(1);
    let port = Names::of(info).port(row.flow as usize);
    let times = row.last_tx.as_nanos()..=row.received.as_nanos();
    let mut number = 0;
    while let Some(record) = next(&mut file).map_err(RunsError::io("read", path))? {
        number += 1;
        // Frames that overlap, on several channels above all, are in the order of their ends.
        if record.at > times.end().saturating_add(PPDU_MAX_TIME.as_nanos()) {
            break;
        }
        // The identification of IPv4 is the packet's number in its flow, of which a port tells.
        if times.contains(&record.at)
            && let Some((identification, ports)) = packet_in(&record.frame)
            && identification == number_in_flow as u16
            && ports.contains(&port)
        {
            return Ok(Some(number));
        }
    }
    Ok(None)
}

fn next(file: &mut impl Read) -> io::Result<Option<Record>> {
    let mut head = [0; 16];
    match file.read_exact(&mut head) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let word = |place: usize| {
        let bytes = head.get(place..place + 4).and_then(|bytes| bytes.try_into().ok());
        u64::from(u32::from_le_bytes(bytes.unwrap_or_default()))
    };
    let length = usize::try_from(word(8)).unwrap_or(usize::MAX);
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a record is too long"));
    }
    let mut frame = vec![0; length];
    file.read_exact(&mut frame)?;
    Ok(Some(Record { at: word(0) * 1_000_000_000 + word(4), frame }))
}

/// The identification and the ports of the IPv4 packet in a data frame behind a radiotap header; `None` for other frames, and for those
/// that end behind their MAC header.
fn packet_in(frame: &[u8]) -> Option<(u16, [u16; 2])> {
    let radiotap = usize::from(u16::from_le_bytes(frame.get(2..4)?.try_into().ok()?));
    let mac = frame.get(radiotap..)?;
    let control = *mac.first()?;
    if control & 0x0c != 0x08 {
        return None;
    }
    let header = if control & 0x80 == 0 { 24 } else { 26 };
    let snap = mac.get(header..header + 8)?;
    if snap.get(6..8)? != [0x08, 0x00] {
        return None;
    }
    // SYN and SYN-ACK, which open a connection, have the number of its first segment.
    let packet = mac.get(header + 8..)?;
    let is_syn = packet.get(9) == Some(&6) && packet.get(33).is_some_and(|flags| flags & 0x02 != 0);
    let word = |at: usize| Some(u16::from_be_bytes(packet.get(at..at + 2)?.try_into().ok()?));
    let found = (word(4)?, [word(20)?, word(22)?]);
    (!is_syn).then_some(found)
}
