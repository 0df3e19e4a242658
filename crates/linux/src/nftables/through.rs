//! Packets that go through without being queued, while nothing would wait: a set of interfaces in each table, switched by one netlink
//! message, since `nft` takes 25 ms and changes of rules more than those of a set.

use super::{Plane, SUBSYSTEM, TABLE_NAME, Table, table_of};
use crate::LinuxError;
use crate::netlink::message::Builder;
use crate::netlink::socket::{NETFILTER, Socket};

/// The name of the set.
pub(super) const SET: &str = "through";
/// `NFT_MSG_NEWSETELEM`, `NFT_MSG_DELSETELEM`.
const NEW_ELEMENT: u16 = SUBSYSTEM | 12;
const DELETE_ELEMENT: u16 = SUBSYSTEM | 14;
/// `NLM_F_CREATE`.
const CREATE: u16 = 0x400;
/// Bytes of the name of an interface (`IFNAMSIZ`).
const NAME: usize = 16;

/// The marks of packets that go through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Through {
    /// A condition of nftables, and the mark of packets that meet it; the first that is met counts.
    pub marks: Vec<(String, u32)>,
    /// The mark of all others.
    pub other: u32,
}

impl Through {
    /// The rules that mark.
    pub(super) fn lines(&self) -> Vec<String> {
        let mark = |condition: &str, mark: u32, end: &str| {
            let condition = if condition.is_empty() { String::new() } else { format!(" {condition}") };
            format!("oifname @{SET}{condition} meta mark set {mark:#010x}{end}")
        };
        let each = self.marks.iter().map(|(condition, value)| mark(condition, *value, " accept"));
        each.chain([mark("", self.other, "")]).collect()
    }
}

/// Lets packets through, or leads them to the queue again.
#[derive(Debug)]
pub struct Switch {
    socket: Socket,
}

impl Switch {
    /// A switch for the tables of this process.
    ///
    /// # Errors
    /// There is no socket of netfilter.
    pub fn open() -> Result<Self, LinuxError> {
        Ok(Self { socket: Socket::open(NETFILTER)? })
    }

    /// Lets packets of all interfaces of a table through, or none. Packets that are queued stay so. [`Table::update`] lets none through.
    ///
    /// # Errors
    /// The table is gone, or has no rules for it.
    pub fn set(&mut self, table: &Table, through: bool) -> Result<(), LinuxError> {
        let rules = table.rules();
        let name = table_of(&rules.owner);
        let mut families: Vec<u8> = rules.planes().into_iter().map(|plane: Plane| plane.place().1).collect();
        families.dedup();
        for family in families {
            let (action, kind, flags) = if through {
                ("let packets through", NEW_ELEMENT, CREATE)
            } else {
                ("lead packets to the queue", DELETE_ELEMENT, 0)
            };
            self.socket.change(action, kind, flags, &[family, 0, 0, 0], |builder| {
                builder.put_text(TABLE_NAME, &name);
                builder.put_text(SET_NAME, SET);
                if through {
                    put_elements(builder, rules.ports.keys());
                }
            })?;
        }
        Ok(())
    }
}

/// `NFTA_SET_ELEM_LIST_SET`, `NFTA_SET_ELEM_LIST_ELEMENTS`; without elements a deletion empties the set.
const SET_NAME: u16 = 2;
const ELEMENTS: u16 = 3;
/// `NFTA_LIST_ELEM`, `NFTA_SET_ELEM_KEY`, `NFTA_DATA_VALUE`.
const ELEMENT: u16 = 1;
const KEY: u16 = 1;
const VALUE: u16 = 1;

fn put_elements<'a>(builder: &mut Builder, names: impl Iterator<Item = &'a String>) {
    let elements = builder.nest(ELEMENTS);
    for name in names {
        let (element, key) = (builder.nest(ELEMENT), builder.nest(KEY));
        let mut padded = [0; NAME];
        let length = name.len().min(NAME - 1);
        padded[..length].copy_from_slice(&name.as_bytes()[..length]);
        builder.put(VALUE, &padded);
        builder.end(key);
        builder.end(element);
    }
    builder.end(elements);
}

#[cfg(test)]
mod tests {
    use super::super::Rules;
    use super::*;

    #[test]
    fn what_goes_through_is_marked_by_the_first_condition() {
        let through = Through {
            marks: vec![("udp dport 5000".to_owned(), 0xac00_0001), (String::new(), 0xac00_0002)],
            other: 0xac00_0000,
        };
        let rules = Rules { through: Some(through), ..Rules::of("wlan0", 77, [Plane::Routed]) };
        let script = rules.script().expect("a script");
        assert!(script.ends_with(
            "table inet airbound_wlan0 {\nset through {\ntype ifname;\n}\nchain routed {\n\
             type filter hook forward priority 300; policy accept;\n\
             oifname \"wlan0\" oifname != @through queue flags bypass to 77\n\
             oifname @through udp dport 5000 meta mark set 0xac000001 accept\n\
             oifname @through meta mark set 0xac000002 accept\n\
             oifname @through meta mark set 0xac000000\n}\n}\n\
             flush set inet airbound_wlan0 through\n"
        ));
        assert_eq!(rules.counts().into_values().collect::<Vec<_>>(), [4]);
    }
}
