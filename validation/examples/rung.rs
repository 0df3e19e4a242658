//! Prints one rung: `cargo run -p airbound-validation --example rung -- closed [quick]`.
use airbound_validation::{Effort, Rung};
use std::num::NonZeroUsize;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let rung = words.first().and_then(|name| Rung::named(name)).expect("a rung");
    let effort = Effort { quick: words.len() > 1, jobs: NonZeroUsize::new(2).expect("2") };
    for row in rung.rows(effort).expect("runs") {
        let n = |v: Option<f64>| v.map_or("-".to_owned(), |v| format!("{v:.4}"));
        let d = match (row.reference, row.measured) {
            (Some(r), Some(m)) if r != 0.0 => format!("{:+.1}%", 100.0 * (m / r - 1.0)),
            _ => String::new(),
        };
        println!(
            "{:22} {:52} {:5} {:>10} {:>10} {:>8} {:?}",
            row.id,
            row.metric,
            row.unit,
            n(row.reference),
            n(row.measured),
            d,
            row.verdict
        );
    }
}
