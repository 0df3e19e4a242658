//! Match expressions of rules: any bytes are read or refused.

use super::*;

#[test]
fn any_text_is_read_or_refused() {
    let words = [
        "udp",
        "dport",
        "(",
        ")",
        "or",
        "not",
        "5000-5010",
        "10.0.0.0/8",
        "dscp",
        "ef",
        "ä",
        ",",
        "station",
        "mark",
        "0x1/2",
    ];
    bolero::check!().with_type::<(String, Vec<u8>)>().with_iterations(5000).for_each(|(text, picks)| {
        let _ = parse(text);
        let sentence: Vec<&str> = picks.iter().map(|pick| words[usize::from(*pick) % words.len()]).collect();
        let sentence = sentence.join(" ");
        if let Err(error) = parse(&sentence) {
            assert!((1..=sentence.chars().count() + 1).contains(&error.column), "{sentence}: {error}");
        }
    });
}
