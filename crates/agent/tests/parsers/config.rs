//! Configuration files: any bytes are read or refused.

use super::*;

#[test]
fn any_text_is_read_or_refused() {
    let keys = [
        "scheme = \"law\"",
        "queue = { kind = \"wqm\" }",
        "[window]",
        "packets = 3",
        "[[protect]]",
        "match = \"udp\"",
        "latency = \"20 ms\"",
        "percentile = 95",
        "watchdog = 3",
        "[law]",
        "tries = 2",
        "[[radio]]",
        "[[radio.protect]]",
        "interface = \"wlan0\"",
        "interface = \"wlan1\"",
        "journal = \"j\"",
    ];
    airbound_corpus::check!((String, Vec<u8>), 2000, |(text, picks)| {
        let _ = Config::read_all("a", text);
        let lines: Vec<&str> =
            picks.iter().take(20).map(|pick| keys[usize::from(*pick) % keys.len()]).collect();
        let _ = Config::read_all("a", &lines.join("\n"));
    });
}
