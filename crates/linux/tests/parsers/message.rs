//! Netlink messages and attributes: any bytes are read or refused.

use super::*;

#[test]
fn any_bytes_are_read_without_panic() {
    airbound_corpus::check!(Vec<u8>, 5000, |bytes| {
        fn depth(attributes: Attributes<'_>, left: u8) {
            for attribute in attributes {
                let _ = (attribute.u8(), attribute.u16(), attribute.u32(), attribute.u64());
                let _ = (attribute.be32(), attribute.text());
                if left > 0 {
                    depth(attribute.nested(), left - 1);
                }
            }
        }
        for message in Messages(bytes) {
            let _ = message.outcome();
            depth(message.attributes(20), 3);
        }
        depth(Attributes(bytes), 3);
    });
}
