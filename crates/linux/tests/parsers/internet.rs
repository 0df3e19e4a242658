//! Lengths of IP packets in a stream of bytes: any bytes are read or refused.

use std::io::Write;

use super::tests::pair;

#[test]
fn any_bytes_are_read_without_panic() {
    airbound_corpus::check!(Vec<u8>, |bytes| {
        let (mut own, mut other) = pair();
        other.write_all(bytes).expect("room");
        drop(other);
        let mut into = [0; 100];
        while own.read(&mut into).is_ok_and(|length| length.is_some_and(|length| length <= 100)) {}
    });
}
