//! The page has the delays that the simulator gives.

use airbound_link::places;

use crate::table::table;

#[test]
fn the_page_has_all_places_and_their_delays() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/use/link.md");
    let page = std::fs::read_to_string(file).expect("the page");
    let table = table().expect("all places");
    let (before, rest) = page.split_once("| place | down").expect("a table");
    let (_, after) = rest.split_once("\n\n").expect("an end of the table");
    let now = format!("{before}{table}\n{after}");
    if std::env::var_os("AIRBOUND_RENEW").is_some() {
        std::fs::write(file, &now).expect("writable");
    } else {
        assert!(
            page == now,
            "docs/use/link.md has other delays; if intended: AIRBOUND_RENEW=1 cargo test -p airbound-link --test all page\n{table}"
        );
    }
    for place in places() {
        assert!(now.contains(&format!("| `{}` | {} |", place.name, place.scenario())), "{}", place.name);
    }
}
