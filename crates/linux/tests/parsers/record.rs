//! Records of the eBPF programs: any bytes are read or refused.

use super::*;

#[test]
fn any_record_is_read_without_panic() {
    bolero::check!().with_type::<[u8; SIZE]>().with_iterations(5000).for_each(|record| {
        if let Some(completion) = read(record) {
            assert!(completion.frames == 1 && completion.tries <= 4 * 31);
        }
    });
}
