//! Records of the eBPF programs: any bytes are read or refused.

use super::*;

#[test]
fn any_record_is_read_without_panic() {
    airbound_corpus::check!([u8; SIZE], 5000, |record| {
        if let Some(completion) = read(record) {
            assert!(completion.frames == 1 && completion.tries <= 4 * 31);
        }
    });
}
