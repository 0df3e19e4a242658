//! Packets of NFQUEUE and its counters: any bytes are read or refused.

use super::tests::{first, message};
use super::*;

#[test]
fn any_bytes_are_read_without_panic() {
    airbound_corpus::check!(Vec<(u8, Vec<u8>)>, 5000, |attributes| {
        let bytes = message(|builder| {
            for (kind, value) in attributes.iter().take(32) {
                builder.put(u16::from(kind % 24), value);
            }
        });
        if let Read::Packet(packet) = first(&bytes) {
            assert!(packet.head.len() <= bytes.len());
            let _ = packet.destination();
        }
        for (_, bytes) in attributes {
            for message in Messages(bytes) {
                let _ = read(&message);
            }
            let _ = kernel_counters(&String::from_utf8_lossy(bytes), 7);
        }
    });
}
