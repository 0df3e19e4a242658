//! Netlink: messages (pure) and sockets.

pub(crate) mod generic;
pub(crate) mod message;
pub(crate) mod socket;
