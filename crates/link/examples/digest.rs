//! Prints a digest of all arrivals of each place: the same on every machine, WebAssembly included
//! (`scripts/link-targets.sh`).
#![allow(clippy::print_stdout, reason = "it prints")]

use std::time::Duration;

use airbound_link::{Direction, Link, LinkError, places};

/// FNV-1a over 64 bits.
fn add(digest: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(digest, |digest, byte| (digest ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn main() -> Result<(), LinkError> {
    for place in places() {
        let mut link = Link::named(place.name)?;
        let mut digest = 0xcbf2_9ce4_8422_2325;
        for round in 0..2000u64 {
            let now = Duration::from_millis(5 * round);
            for direction in [Direction::Down, Direction::Up] {
                link.push(now, direction, vec![round as u8; 700 + (round % 700) as usize])?;
            }
            for arrival in link.take(now)? {
                digest = add(digest, &[arrival.direction as u8]);
                digest = add(digest, &(arrival.at.as_nanos() as u64).to_le_bytes());
                digest = add(digest, &arrival.bytes);
            }
        }
        let counts = [Direction::Down, Direction::Up].map(|direction| link.counts(direction));
        println!("{} {digest:016x} {} {}", place.name, counts[0].arrived, counts[1].arrived);
    }
    Ok(())
}
