//! Scenarios of what was measured or recorded, with the files that they name.

use core::net::IpAddr;
use std::fmt::Write as _;

use super::{Content, Conversation, FormatError, Measured, Path, Transport, percentile};

/// A scenario, and files beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// One sentence on the file.
    pub verdict: String,
    /// Text of the scenario.
    pub scenario: String,
    /// Name and text of each file that it refers to.
    pub files: Vec<(String, String)>,
}

/// The most recorded flows of a scenario.
const MOST_FLOWS: usize = 20;
/// Largest IP packet on Ethernet; larger ones are what a sender's card still has to cut.
const MTU: u32 = 1500;
/// Smallest IP packet with a header of UDP.
const LEAST: u32 = 28;

/// Makes a scenario of what `name` holds; `station` is the address of the recorded station, if it is not evident.
///
/// # Errors
/// No address is evident as the station's, or none of the conversations has the given one.
pub fn draft(measured: &Measured, name: &str, station: Option<IpAddr>) -> Result<Draft, FormatError> {
    match &measured.content {
        Content::Path(path) => Ok(of_path(measured, path, name)),
        Content::Packets(conversations) => of_packets(measured, conversations, name, station),
    }
}

/// A text of TOML.
fn quoted(text: &str) -> String {
    let clean: String = text
        .chars()
        .filter(|sign| !sign.is_control())
        .flat_map(|sign| match sign {
            '"' | '\\' => vec!['\\', sign],
            _ => vec![sign],
        })
        .collect();
    format!("\"{clean}\"")
}

fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn head(name: &str, description: &str, seconds: f64, focus: &str) -> String {
    format!(
        "title = {}\ndescription = {}\nduration = \"{} s\"\nfocus = {}\n",
        quoted(&format!("As measured: {name}")),
        quoted(description),
        seconds,
        quoted(focus)
    )
}

fn of_path(measured: &Measured, path: &Path, name: &str) -> Draft {
    let mut said = measured.tool.clone();
    let trips = |percent| percentile(&path.round_trips, percent);
    if let Some(link) = &path.link {
        let _ = match link.mean {
            Some(mean) => write!(said, ": {} of {mean:.1} Mb/s in the mean", link.of),
            None => write!(said, ": {}", link.of),
        };
    }
    if path.seconds > 0.0 {
        let _ = write!(said, " over {:.1} s", path.seconds);
    }
    if let (Some(least), Some(median), Some(p95), Some(p99)) =
        (trips(0.0), trips(50.0), trips(95.0), trips(99.0))
    {
        let _ = write!(
            said,
            "; round trips of {least:.2} ms at least, p50 {median:.2}, p95 {p95:.2}, p99 {p99:.2} ms"
        );
    }
    if let Some(loss) = path.loss {
        let _ = write!(said, "; {:.2} % lost", 100.0 * loss);
    }
    let focus = if path.probe.is_some() { "probe" } else { "call" };
    let mut text = head(
        name,
        &format!("{said}. Made by airbound import."),
        path.seconds.clamp(5.0, 60.0).round(),
        focus,
    );
    if path.link.is_none() {
        text.push_str("\n# The file says how long packets took, not what the radio did: channel, rates and other traffic are to be added.\n");
    }
    // What the fastest round trip took is not the queue's and not the radio's.
    let delay = trips(0.0).map_or(0.0, |least| rounded(least.min(10_000.0) / 2.0));
    let loss = path
        .loss
        .filter(|loss| *loss > 0.0)
        .map_or_else(String::new, |loss| format!("loss = {}\n", (loss.min(0.5) * 1e5).round() / 1e5));
    let _ = write!(text, "\n[wire]\ndelay = \"{delay} ms\"\n{loss}");
    text.push_str("\n[[station]]\nname = \"client\"\n");
    let mut files = Vec::new();
    if let Some(link) = &path.link {
        let file = format!("link.{}", link.ending);
        let used = if link.mean.is_some() { ", as = \"pipe\"" } else { "" };
        let _ = writeln!(text, "channel = {{ kind = \"trace\", file = \"{file}\"{used} }}");
        files.push((file, link.trace.clone()));
    }
    match path.probe {
        Some(probe) => {
            let rate = probe.bytes as f64 * 8.0 / probe.interval;
            for (flow, direction) in [("probe", "down"), ("probe-back", "up")] {
                let _ = write!(
                    text,
                    "\n[[flow]]\nname = \"{flow}\"\nkind = \"cbr\"\nstation = \"client\"\ndirection = \"{direction}\"\n\
                     rate = \"{} kbit/s\"\nsize = \"{} B\"\n",
                    rounded(rate.max(1.0)),
                    probe.bytes.clamp(12, 1472)
                );
            }
        }
        None => {
            let (beside, upload) = if path.both_ways {
                (
                    "a download and an upload, as measured,",
                    "\n[[flow]]\nname = \"upload\"\nkind = \"tcp\"\nstation = \"client\"\ndirection = \"up\"\n",
                )
            } else {
                ("a download", "")
            };
            let _ = write!(
                text,
                "\n# The file has no traffic: a call beside {beside} is an example.\n[[flow]]\nname = \"call\"\nkind = \"cbr\"\nstation = \"client\"\nrate = \"1 Mbit/s\"\nsize = \"1100 B\"\n\
                 \n[[flow]]\nname = \"download\"\nkind = \"tcp\"\nstation = \"client\"\n{upload}"
            );
        }
    }
    Draft { verdict: format!("{name}: {said}."), scenario: text, files }
}

/// The address that all conversations have in common, else that of the end which is private, else that of the higher port.
fn station_of(conversations: &[Conversation]) -> Option<IpAddr> {
    let first = conversations.first()?;
    let of = |one: &Conversation| one.ends.map(|end| end.address);
    let mut common: Vec<IpAddr> = of(first)
        .into_iter()
        .filter(|address| conversations.iter().all(|one| of(one).contains(address)))
        .collect();
    common.dedup();
    if let [only] = common.as_slice() {
        return Some(*only);
    }
    let private = |address: &IpAddr| match address {
        IpAddr::V4(v4) => v4.is_private() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unique_local() || v6.is_unicast_link_local(),
    };
    let (inside, outside): (Vec<IpAddr>, Vec<IpAddr>) = of(first).into_iter().partition(private);
    match (inside.as_slice(), outside.as_slice()) {
        ([inside], [_]) => Some(*inside),
        _ => first.ends.iter().max_by_key(|end| end.port).map(|end| end.address),
    }
}

/// Which end of a conversation is the station's; of a machine that speaks to itself, that of the higher port.
fn station_end(one: &Conversation, station: IpAddr) -> Option<usize> {
    match one.ends.map(|end| end.address == station) {
        [true, true] => Some(usize::from(one.ends[1].port > one.ends[0].port)),
        [true, false] => Some(0),
        [false, true] => Some(1),
        [false, false] => None,
    }
}

fn of_packets(
    measured: &Measured,
    conversations: &[Conversation],
    name: &str,
    station: Option<IpAddr>,
) -> Result<Draft, FormatError> {
    let none = || FormatError::new(format!("{name}: there is no conversation"));
    let station = station.or_else(|| station_of(conversations)).ok_or_else(none)?;
    let its: Vec<(&Conversation, usize)> =
        conversations.iter().filter_map(|one| station_end(one, station).map(|own| (one, own))).collect();
    if its.is_empty() {
        let mut known: Vec<String> =
            conversations.iter().flat_map(|one| one.ends).map(|end| end.address.to_string()).collect();
        known.sort();
        known.dedup();
        known.truncate(8);
        return Err(FormatError::new(format!(
            "{name}: no conversation has the address {station}; there are {}",
            known.join(", ")
        )));
    }
    let (mut flows, mut files, mut end) = (String::new(), Vec::new(), 0.0_f64);
    let mut focus = None;
    for (number, (one, own)) in its.iter().enumerate() {
        for (sender, packets) in one.packets.iter().enumerate().filter(|(_, packets)| !packets.is_empty()) {
            if files.len() == MOST_FLOWS {
                break;
            }
            let (is_up, far) = (sender == *own, &one.ends[1 - own]);
            let protocol = if one.transport == Transport::Udp { "udp" } else { "tcp" };
            let way = if is_up { "up" } else { "down" };
            let flow = format!("{protocol}-{}-{}-{way}", far.port, number + 1);
            let file = format!("{flow}.csv");
            let start = packets.first().map_or(0.0, |(at, _)| *at);
            end = end.max(packets.last().map_or(0.0, |(at, _)| *at));
            let _ = write!(
                flows,
                "\n[[flow]]\nname = \"{flow}\"\nkind = \"replay\"\nfile = \"{file}\"\nloop = false\nstation = \"station\"\n\
                 direction = \"{way}\"\nstart = \"{} s\"\n",
                (start * 1e6).round() / 1e6
            );
            files.push((file, recording(packets)));
            focus.get_or_insert(flow);
        }
    }
    let packets: usize = its.iter().flat_map(|(one, _)| &one.packets).map(Vec::len).sum();
    let bytes: u64 = its.iter().map(|(one, _)| one.bytes()).sum();
    let said = format!(
        "{}: {} conversations of {station} with {packets} packets and {:.2} MB in {end:.1} s",
        measured.tool,
        its.len(),
        bytes as f64 / 1e6
    ) + &measured.left_out.as_ref().map_or_else(String::new, |clause| format!("; {clause}"));
    let focus = focus.ok_or_else(none)?;
    let mut text = head(
        name,
        &format!("{said}; each direction is a flow of its own. Made by airbound import."),
        (end + 1.0).clamp(1.0, 3600.0).ceil(),
        &focus,
    );
    text.push_str(
        "warm-up = \"0 s\"\n\n# Packets leave when they left in the capture, also those of TCP, whatever the simulated air does to them.\n\
         [[station]]\nname = \"station\"\n",
    );
    text.push_str(&flows);
    Ok(Draft { verdict: format!("{name}: {said}."), scenario: text, files })
}

/// The file of recorded packets; super-packets of a card are cut to what Ethernet carries.
fn recording(packets: &[(f64, u32)]) -> String {
    let first = packets.first().map_or(0.0, |(at, _)| *at);
    let mut text = "time,bytes\n".to_owned();
    for (at, size) in packets {
        let mut left = (*size).max(LEAST);
        while left > 0 {
            let size = left.min(MTU);
            let _ = writeln!(text, "{:.6},{}", at - first, size.max(LEAST));
            left -= size;
        }
    }
    text
}
