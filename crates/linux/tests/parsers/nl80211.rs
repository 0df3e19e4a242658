//! Attributes of nl80211: any bytes are read or refused.

use super::*;

#[test]
fn any_bytes_are_read_without_panic() {
    bolero::check!().with_type::<Vec<u8>>().with_iterations(5000).for_each(|bytes| {
        let attributes = Attributes(bytes);
        let _ = interface(attributes);
        let _ = Station::read(attributes);
        let _ = Survey::read(attributes);
        let mut wiphy = Wiphy::default();
        wiphy.add(attributes);
        let _ = TxqCounters::read(attributes);
    });
}
