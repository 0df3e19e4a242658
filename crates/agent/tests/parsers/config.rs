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
    ];
    airbound_corpus::check!((String, Vec<u8>), 2000, |(text, picks)| {
        let _ = Config::read("a", text);
        let lines: Vec<&str> =
            picks.iter().take(20).map(|pick| keys[usize::from(*pick) % keys.len()]).collect();
        let _ = Config::read("a", &lines.join("\n"));
    });
}
