//! The kernel's list of queueing disciplines: any bytes are read or refused.

use super::*;
use crate::netlink::message::Messages;

#[test]
fn any_message_is_read_or_refused() {
    airbound_corpus::check!(Vec<u8>, 2000, |bytes| {
        for message in Messages(bytes) {
            let _ = read(&message);
        }
    });
}
