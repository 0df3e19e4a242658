//! Looks for a packet in a capture of a run.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use airbound_record::{PacketRow, RunInfo};
use airbound_units::Instant;
use airbound_wifi::timing::PPDU_MAX_TIME;

use super::container::Container;
use super::frame::port;
use crate::error::RunsError;

/// The number of the frame, from 1 as Wireshark counts, that was the last transmission of a packet in a capture of its run, or of a pcapng
/// capture its drop; `None` if neither is there: a classic capture does not show what no receiver got.
///
/// # Errors
/// The file cannot be read, or is no capture of `airbound run`.
pub fn find_frame(path: &Path, row: &PacketRow, info: &RunInfo) -> Result<Option<u64>, RunsError> {
    let mut file = BufReader::new(File::open(path).map_err(RunsError::io("read", path))?);
    let Some(container) = begin(&mut file) else {
        return Err(RunsError::NoCapture { path: path.to_owned() });
    };
    let mut next = || container.next(&mut file).map_err(RunsError::io("read", path));
    let mut number = 0;
    if row.received == Instant::MAX {
        let own = format!("packet {} of ", row.packet);
        while let Some(record) = next()? {
            number += 1;
            if record.comment.is_some_and(|comment| comment.starts_with(&own)) {
                return Ok(Some(number));
            }
        }
        return Ok(None);
    }
    // The simulator numbers packets so that flows take turns.
    let number_in_flow = row.packet / (info.flows.len() as u64).max(1);
    let port = port(info, row.flow as usize);
    let times = row.last_tx.as_nanos()..=row.received.as_nanos();
    while let Some(record) = next()? {
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

/// Reads the header of a capture of this program.
fn begin(file: &mut impl Read) -> Option<Container> {
    let mut header = vec![0; Container::Records.header().len()];
    file.read_exact(&mut header).ok()?;
    if header == Container::Records.header() {
        return Some(Container::Records);
    }
    let whole = Container::Blocks.header();
    let begun = header.len();
    header.resize(whole.len(), 0);
    file.read_exact(&mut header[begun..]).ok()?;
    (header == whole).then_some(Container::Blocks)
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
