//! The kernel's list of queueing disciplines: any bytes are read or refused.

use super::*;
use crate::netlink::message::Messages;

#[test]
fn any_message_is_read_or_refused() {
    bolero::check!().with_type::<Vec<u8>>().with_iterations(2000).for_each(|bytes| {
        for message in Messages(bytes) {
            let _ = read(&message);
        }
    });
}
