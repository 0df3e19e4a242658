//! Notifications of routes, Wi-Fi and nftables: any bytes are read or refused.

use super::*;

#[test]
fn any_bytes_are_read_without_panic() {
    airbound_corpus::check!((u16, Vec<u8>), 5000, |(kind, body)| {
        for kind in [*kind, kind % 32, 0x0a00 | (kind & 0xff)] {
            let message = Message { kind, flags: 0, sequence: 0, body };
            let _ = (of_route(&message, &[3]), of_wifi(&message, &[3]), nftables::is_ours_removed(&message));
        }
    });
}
