//! Times in which a radio is not there: its scans, by multicast, and whether it may sleep. Neither needs privileges.

use std::os::fd::{AsFd, BorrowedFd};

use super::{Wireless, attribute, command};
use crate::LinuxError;
use crate::netlink::generic::{Family, HEADER};
use crate::netlink::message::Message;

/// `NL80211_PS_ENABLED`.
const ENABLED: u32 = 1;

/// A scan of a radio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanEvent {
    /// It begins.
    Begins,
    /// It has ended, or was given up.
    Ends,
}

/// A listener to the scans of one radio.
#[derive(Debug)]
pub struct Scans {
    family: Family,
    wiphy: u32,
}

impl Scans {
    /// Listens to the scans of a radio from now on.
    ///
    /// # Errors
    /// The kernel lacks cfg80211, or its group of scans.
    pub fn open(wiphy: u32) -> Result<Self, LinuxError> {
        let family = Family::open("nl80211")?;
        let missing = || LinuxError::Unavailable {
            what: "nl80211's notice of scans",
            why: "the kernel has no such group".to_owned(),
        };
        family.socket.join(family.group("scan").ok_or_else(missing)?)?;
        Ok(Self { family, wiphy })
    }

    /// The descriptor to poll.
    #[must_use]
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.family.socket.as_fd()
    }

    /// Reads pending events without waiting. An error of the socket ends the reading; later events follow.
    pub fn read(&mut self, mut each: impl FnMut(ScanEvent)) {
        let (id, wiphy) = (self.family.id, self.wiphy);
        while let Ok(Some(messages)) = self.family.socket.receive() {
            messages
                .filter(|message| message.kind == id)
                .filter_map(|message| event(&message, wiphy))
                .for_each(&mut each);
        }
    }
}

fn event(message: &Message<'_>, wiphy: u32) -> Option<ScanEvent> {
    if message.attributes(HEADER).find(attribute::WIPHY)?.u32()? != wiphy {
        return None;
    }
    match *message.body.first()? {
        command::TRIGGER_SCAN => Some(ScanEvent::Begins),
        command::NEW_SCAN_RESULTS | command::SCAN_ABORTED => Some(ScanEvent::Ends),
        _ => None,
    }
}

impl Wireless {
    /// Whether a station's radio may sleep; `None` if the driver does not say.
    pub fn power_save(&mut self, interface: u32) -> Option<bool> {
        let mut state = None;
        let asked = self.family.request(
            "read the power save state",
            command::GET_POWER_SAVE,
            0,
            |builder| builder.put_u32(attribute::IFINDEX, interface),
            |message| {
                state = message.attributes(HEADER).find(attribute::PS_STATE).and_then(|state| state.u32())
            },
        );
        asked.ok().and(state).map(|state| state == ENABLED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message::{Builder, Messages};

    #[test]
    fn scans_of_this_radio_are_told_from_others() {
        let read = |kind: u8, wiphy: u32| {
            let mut builder = Builder::with_capacity(64);
            builder.begin(30, 0, 0, &[kind, 1, 0, 0]);
            builder.put_u32(attribute::WIPHY, wiphy);
            Messages(builder.as_bytes()).next().and_then(|message| event(&message, 3))
        };
        assert_eq!(read(33, 3), Some(ScanEvent::Begins));
        assert_eq!([read(34, 3), read(35, 3)], [Some(ScanEvent::Ends); 2]);
        assert_eq!([read(33, 4), read(19, 3)], [None; 2]);
    }
}
