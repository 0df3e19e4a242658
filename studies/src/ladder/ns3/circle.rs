//! Levels of stations at equal distances on a circle around the access point, or on an arc of it.

use std::fmt::Write as _;

/// Transmit power less the loss at 1 m, in dBm. Nearer ones are not louder in ns-3.
const AT_ONE_METRE: f64 = 16.0206 - 46.6777;

/// Level after a loss that grows with the cube of the distance.
fn level(metres: f64) -> f64 {
    AT_ONE_METRE - 30.0 * metres.max(1.0).log10()
}

/// `[radio.capture]` for the stations of a group on an arc of these degrees.
pub(super) fn capture(group: &str, stations: u32, radius: f64, degrees: f64) -> String {
    let mut levels = String::new();
    // A single one has no number, and nobody to be louder than.
    for receiver in (1..=stations).filter(|_| stations > 1) {
        let row = (1..=stations).filter(|sender| *sender != receiver).map(|sender| {
            let share = f64::from(sender.abs_diff(receiver)) / f64::from(stations);
            let metres = 2.0 * radius * (share * degrees.to_radians() / 2.0).sin().abs();
            format!("{group}-{sender} = \"{:.3} dBm\"", level(metres))
        });
        let row: Vec<String> = row.collect();
        let _ = writeln!(levels, "{group}-{receiver} = {{ {} }}", row.join(", "));
    }
    format!("[radio.capture]\nlevel = \"{:.3} dBm\"\n[radio.capture.levels]\n{levels}", level(radius))
}
