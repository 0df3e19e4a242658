//! Generic netlink: families by name, their commands and multicast groups (kernel include/uapi/linux/genetlink.h).

use super::message::{Builder, Message};
use super::socket::{GENERIC, Socket};
use crate::LinuxError;

/// `GENL_ID_CTRL`: the family that resolves the names of others.
const CONTROL: u16 = 16;
/// `CTRL_CMD_GETFAMILY`.
const GET_FAMILY: u8 = 3;
/// Bytes of `struct genlmsghdr`.
pub(crate) const HEADER: usize = 4;

mod attribute {
    pub(super) const FAMILY_ID: u16 = 1;
    pub(super) const FAMILY_NAME: u16 = 2;
    pub(super) const MCAST_GROUPS: u16 = 7;
    pub(super) const GROUP_NAME: u16 = 1;
    pub(super) const GROUP_ID: u16 = 2;
}

/// A socket with the numbers of one family.
#[derive(Debug)]
pub(crate) struct Family {
    pub(crate) socket: Socket,
    pub(crate) id: u16,
    groups: Vec<(String, u32)>,
}

impl Family {
    /// Resolves a family; `Unavailable` if the kernel has none of this name.
    pub(crate) fn open(name: &'static str) -> Result<Self, LinuxError> {
        let mut socket = Socket::open(GENERIC)?;
        let mut id = None;
        let mut groups = Vec::new();
        let found = socket.request(
            "look up a netlink family",
            CONTROL,
            0,
            &[GET_FAMILY, 1, 0, 0],
            |builder| builder.put_text(attribute::FAMILY_NAME, name),
            |message| {
                let attributes = message.attributes(HEADER);
                id = id.or(attributes.find(attribute::FAMILY_ID).and_then(|id| id.u16()));
                groups.extend(groups_of(message));
            },
        );
        match (found, id) {
            (Ok(()), Some(id)) => Ok(Self { socket, id, groups }),
            (Ok(()), None) => Err(LinuxError::Malformed("look up a netlink family")),
            (Err(error), _) if error.errno() == Some(libc::ENOENT) => {
                Err(LinuxError::Unavailable { what: name, why: "the kernel has not loaded it".to_owned() })
            }
            (Err(error), _) => Err(error),
        }
    }

    /// The number of a multicast group.
    pub(crate) fn group(&self, name: &str) -> Option<u32> {
        self.groups.iter().find(|(known, _)| known == name).map(|(_, id)| *id)
    }

    /// Sends a request to this family; see [`Socket::request`].
    pub(crate) fn request(
        &mut self,
        action: &'static str,
        command: u8,
        flags: u16,
        write: impl FnOnce(&mut Builder),
        each: impl FnMut(&Message<'_>),
    ) -> Result<(), LinuxError> {
        self.socket.request(action, self.id, flags, &[command, 1, 0, 0], write, each)
    }
}

fn groups_of(message: &Message<'_>) -> Vec<(String, u32)> {
    let Some(groups) = message.attributes(HEADER).find(attribute::MCAST_GROUPS) else { return Vec::new() };
    groups
        .nested()
        .filter_map(|group| {
            let name = group.nested().find(attribute::GROUP_NAME)?.text()?.to_owned();
            Some((name, group.nested().find(attribute::GROUP_ID)?.u32()?))
        })
        .collect()
}
