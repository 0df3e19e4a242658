//! Lists of keys: any bytes are read or refused.

use super::*;

#[test]
fn any_text_is_read_or_refused() {
    bolero::check!().with_type::<Vec<u8>>().with_iterations(2000).for_each(|bytes| {
        let _ = parse(&String::from_utf8_lossy(bytes));
    });
}
