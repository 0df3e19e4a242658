//! Attributes of nl80211: any bytes are read or refused.

use super::*;

#[test]
fn any_bytes_are_read_without_panic() {
    airbound_corpus::check!(Vec<u8>, 5000, |bytes| {
        let attributes = Attributes(bytes);
        let _ = interface(attributes);
        let _ = Station::read(attributes);
        let _ = Survey::read(attributes);
        let mut wiphy = Wiphy::default();
        wiphy.add(attributes);
        let _ = TxqCounters::read(attributes);
    });
}
