//! Lists of keys: any bytes are read or refused.

use super::*;

#[test]
fn any_text_is_read_or_refused() {
    airbound_corpus::check!(Vec<u8>, 2000, |bytes| {
        let _ = parse(&String::from_utf8_lossy(bytes));
    });
}
