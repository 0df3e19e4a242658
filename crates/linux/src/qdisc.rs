//! Queueing disciplines of an interface (rtnetlink), and whether they send packets at their times.

use std::fmt;

use crate::LinuxError;
use crate::interface::Interface;
use crate::netlink::message::{DUMP, Message, u32_at};
use crate::netlink::socket::{ROUTE, Socket};

const NEW_QDISC: u16 = 36;
const GET_QDISC: u16 = 38;
/// Bytes of `struct tcmsg`.
const FIXED: usize = 20;
/// `TCA_KIND`.
const KIND: u16 = 1;
/// `TC_H_INGRESS`, the parent of what handles arrivals.
const INGRESS: u32 = 0xffff_fff1;

/// The kind of a queueing discipline.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// `fq`: sends each packet at its time.
    Fq,
    /// `mq`: one discipline for each queue of the device.
    Mq,
    /// Any other, by its name.
    Other(String),
}

impl Kind {
    fn of(name: &str) -> Self {
        match name {
            "fq" => Self::Fq,
            "mq" => Self::Mq,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fq => "fq",
            Self::Mq => "mq",
            Self::Other(name) => name,
        })
    }
}

/// The kinds of an interface's queueing disciplines for what leaves. A device with several queues has "mq" and one
/// for each of them.
///
/// # Errors
/// There is no such interface, or rtnetlink failed.
pub fn kinds(interface: &str) -> Result<Vec<Kind>, LinuxError> {
    let index = Interface::find(interface)?.index;
    let mut kinds = Vec::new();
    let mut fixed = [0; FIXED];
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    Socket::open(ROUTE)?.request(
        "list queueing disciplines",
        GET_QDISC,
        DUMP,
        &fixed,
        |_| {},
        |message| {
            kinds.extend(read(message).filter(|(of, _)| *of == index).map(|(_, kind)| kind));
        },
    )?;
    Ok(kinds)
}

/// Whether each packet leaves at the time given with it (`SO_TXTIME` by CLOCK_MONOTONIC): only `fq` does that.
#[must_use]
pub fn keep_times(kinds: &[Kind]) -> bool {
    let mut leaves = kinds.iter().filter(|kind| **kind != Kind::Mq).peekable();
    leaves.peek().is_some() && leaves.all(|kind| *kind == Kind::Fq)
}

/// Reads rtnetlink's message about a queueing discipline: its interface and its kind; `None` for other messages.
fn read(message: &Message<'_>) -> Option<(u32, Kind)> {
    if message.kind != NEW_QDISC || u32_at(message.body, 12)? == INGRESS {
        return None;
    }
    let kind = message.attributes(FIXED).find(KIND)?.text()?;
    Some((u32_at(message.body, 4)?, Kind::of(kind)))
}

#[cfg(test)]
#[path = "../tests/parsers/qdisc.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message::{Builder, Messages};

    #[test]
    fn all_queues_of_a_device_have_to_keep_times() {
        let kinds = |text: &str| text.split_whitespace().map(Kind::of).collect::<Vec<_>>();
        for yes in ["fq", "mq fq fq fq"] {
            assert!(keep_times(&kinds(yes)), "{yes}");
        }
        for no in ["", "mq", "noqueue", "fq_codel", "mq fq fq_codel", "htb fq"] {
            assert!(!keep_times(&kinds(no)), "{no}");
        }
    }

    #[test]
    fn messages_are_read_by_interface_and_what_arrives_is_left_out() {
        let message = |parent: u32| {
            let mut fixed = [0; FIXED];
            fixed[4..8].copy_from_slice(&7_u32.to_ne_bytes());
            fixed[12..16].copy_from_slice(&parent.to_ne_bytes());
            let mut builder = Builder::with_capacity(64);
            builder.begin(NEW_QDISC, 0, 1, &fixed);
            builder.put_text(KIND, "fq");
            builder.as_bytes().to_vec()
        };
        let of = |bytes: &[u8]| Messages(bytes).next().and_then(|message| read(&message));
        assert_eq!(of(&message(0xffff_ffff)), Some((7, Kind::Fq)));
        assert_eq!(of(&message(INGRESS)), None);
    }

    #[test]
    fn the_loopback_device_is_found_and_another_is_not() {
        let kinds = kinds("lo").expect("rtnetlink");
        assert!(!keep_times(&kinds) || kinds.contains(&Kind::Fq), "{kinds:?}");
        assert!(super::kinds("no-such-device").is_err());
    }
}
