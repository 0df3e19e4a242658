//! Headers of frames and packets: any bytes are read or refused.

use super::*;

#[test]
fn any_bytes_are_read_without_panic() {
    let keys = RandomState::new();
    airbound_corpus::check!((u8, Vec<u8>), 20_000, |(version, bytes)| {
        let mut bytes = bytes.clone();
        let _ = Frame::read(&bytes).map(|frame| frame.headers());
        // A valid version reaches more of the parser.
        if let Some(first) = bytes.first_mut() {
            *first = [0x45, 0x46, 0x60, *version][usize::from(version % 4)];
        }
        if let Some(headers) = Headers::read(&bytes) {
            assert!(headers.dscp < 64 && headers.ecn < 4);
            assert!(headers.ports.is_none() || headers.fragment.is_none_or(|fragment| fragment.is_first));
            let _ = headers.flow_hash(&keys);
        }
    });
}
