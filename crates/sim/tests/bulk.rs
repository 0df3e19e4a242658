//! Bulk transfers are recognised by their effect on the queue, and use the classic link beside Law.

use crate::simulate;
use std::collections::BTreeMap;

use airbound_control::classify::Verdict;
use airbound_units::Span;

/// Flows of a kind, and whether they are loss-sensitive bulk transfers; `None`: either verdict is right.
const KINDS: [(&str, Option<bool>, &str); 10] = [
    ("cubic", Some(true), "kind = \"tcp\"\ncongestion = \"cubic\""),
    ("reno", Some(true), "kind = \"tcp\"\ncongestion = \"reno\""),
    ("bbr", None, "kind = \"tcp\"\ncongestion = \"bbr\""),
    ("rtc", Some(false), "kind = \"rtc\""),
    ("voip", Some(false), "kind = \"voip\""),
    ("cbr", Some(false), "kind = \"cbr\"\nrate = \"3 Mbit/s\""),
    ("poisson", Some(false), "kind = \"poisson\"\nrate = \"2 Mbit/s\""),
    ("vr", Some(false), "kind = \"vr\"\nrate = \"5 Mbit/s\"\nfps = 60\ntransport = \"udp\""),
    ("slow-vr", Some(false), "kind = \"vr\"\nrate = \"2 Mbit/s\"\nfps = 30\ntransport = \"udp\""),
    // Beside a video that takes the rest of the link its queue stands, and it does not give way.
    ("cbr-8", None, "kind = \"cbr\"\nrate = \"8 Mbit/s\""),
];

/// Concurrent flows over one fading link of some 20 Mbit/s, all in one category.
const MIXES: [&[&str]; 7] = [
    &["cubic", "rtc", "voip"],
    &["reno", "cbr", "vr"],
    &["cubic", "reno", "slow-vr", "poisson"],
    &["cubic"],
    &["rtc", "cbr", "voip", "vr"],
    &["bbr", "rtc"],
    &["cbr-8", "rtc", "slow-vr"],
];

fn scenario(mix: &[&str], snr: u32, seconds: u64) -> String {
    let mut text = format!(
        "duration = \"{seconds} s\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\ntx-power = \"16 dBm\"\nnoise-figure = \"7 dB\"\n\
         [access-point]\npreset = \"openwifi\"\nstreams = 1\n[scheme]\nqueue = {{ kind = \"law\", classic = \"auto\" }}\n\
         [[station]]\nname = \"a\"\nchannel = {{ kind = \"log-distance\", distance = \"1 m\", reference-loss = \"{} dB\", \
         fading = {{ kind = \"rician\", k = \"10 dB\", speed = \"0.3 m/s\" }} }}\n",
        110 - snr
    );
    for name in mix {
        let (.., keys) = KINDS.iter().find(|(kind, ..)| kind == name).unwrap();
        text += &format!(
            "[[flow]]\nname = \"{name}\"\n{keys}\nstation = \"a\"\ncategory = \"be\"\nwire = {{ delay = \"10 ms\" }}\n"
        );
    }
    text
}

/// Counts, for each kind of flow known for 5 s, all looks at its verdict, and those that found it on the classic link: on trial, and
/// found.
fn looks(seeds: std::ops::Range<u64>, seconds: u64) -> BTreeMap<&'static str, [u64; 3]> {
    let mut looks = BTreeMap::<_, [u64; 3]>::new();
    for seed in seeds {
        for mix in MIXES {
            let scenario = simulate::scenario(&format!("seed = {seed}\n{}", scenario(mix, 24, seconds)));
            let (mut run, _) = simulate::prepare(&scenario);
            run.advance(Span::from_secs(5));
            while run.advance(Span::from_millis(100)) {
                let verdicts = run.snapshot().verdicts;
                for (name, number) in mix.iter().zip(0..) {
                    let (kind, ..) = KINDS.iter().find(|(kind, ..)| kind == name).unwrap();
                    let count = looks.entry(*kind).or_default();
                    count[0] += 1;
                    let verdict =
                        verdicts.iter().find(|(flow, _)| flow.0 == number).map(|(_, verdict)| *verdict);
                    count[1] += u64::from(verdict == Some(Verdict::Tried));
                    count[2] += u64::from(verdict == Some(Verdict::Bulk));
                }
            }
            run.finish().unwrap();
        }
    }
    looks
}

/// Precision and recall over all looks, and the share of looks at other flows that found them on trial.
fn quality(looks: &BTreeMap<&'static str, [u64; 3]>) -> (f64, f64, f64) {
    let sum = |bulk: bool, place: usize| -> f64 {
        let kinds = KINDS.iter().filter(|(_, is, _)| *is == Some(bulk));
        kinds.filter_map(|(name, ..)| looks.get(name)).map(|count| count[place] as f64).sum()
    };
    let found = sum(true, 2);
    (found / (found + sum(false, 2)), found / sum(true, 0), sum(false, 1) / sum(false, 0))
}

#[test]
fn bulk_transfers_are_found_and_nothing_else() {
    let looks = looks(1..3, 20);
    let (precision, recall, tried) = quality(&looks);
    assert!(precision > 0.99 && recall > 0.9 && tried < 0.2, "{precision} {recall} {tried} {looks:?}");
    for mouse in ["voip", "rtc", "vr", "slow-vr"] {
        assert_eq!(looks[mouse][1..], [0, 0], "{mouse}");
    }
}

/// The figures of `docs/results/law.md`: `cargo test -p airbound-sim --release --test all bulk -- --ignored --nocapture`.
#[test]
#[ignore = "takes a minute; prints a table"]
// Its purpose is to print the table.
#[allow(clippy::print_stdout)]
fn accuracy_of_the_bulk_detector() {
    let looks = looks(1..9, 60);
    for (name, [all, tried, found]) in &looks {
        let share = |part: &u64| 100.0 * *part as f64 / *all as f64;
        println!("{name:<10} {all:>7} looks, tried {:>5.1} %, bulk {:>5.1} %", share(tried), share(found));
    }
    let (precision, recall, tried) = quality(&looks);
    println!("precision {precision:.4}, recall {recall:.4}, others on trial {tried:.4}");
    assert!(precision > 0.99 && recall > 0.9);
}
