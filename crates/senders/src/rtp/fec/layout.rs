//! The packets of a block covered by each parity packet.

use super::config::FecKind;

/// Packets of a Reed-Solomon block over GF(2^8), parity included (RFC 6865).
const CODE_LENGTH: usize = 255;

/// For a block of `media` packets and `parity` parity packets: the media packets covered by each, as indices into the
/// block.
///
/// The number of parity packets is limited to the useful ones: a row or a column has at least one packet. `media` 0
/// gives none.
#[must_use]
pub fn layout(kind: FecKind, media: usize, parity: usize) -> Vec<Vec<usize>> {
    let parity = parity.min(media);
    match kind {
        FecKind::Row => rows(media, parity),
        FecKind::Column => columns(media, parity),
        FecKind::TwoDimensional => {
            let across = parity / 2;
            let mut covers = rows(media, across);
            covers.extend(columns(media, parity - across));
            covers
        }
        FecKind::ReedSolomon => vec![(0..media).collect(); parity.min(CODE_LENGTH.saturating_sub(media))],
    }
}

/// The D x L block of RFC 8627 (Sec. 1.1.4): `down` rows of `across` packets, then `across` columns of `down`.
#[must_use]
pub fn grid(down: usize, across: usize) -> Vec<Vec<usize>> {
    let media = down.saturating_mul(across);
    let mut covers = rows(media, down);
    covers.extend(columns(media, across));
    covers
}

/// `count` rows of consecutive packets, as equal in length as possible.
fn rows(media: usize, count: usize) -> Vec<Vec<usize>> {
    let edge = |row: usize| row * media / count.max(1);
    (0..count)
        .map(|row| (edge(row)..edge(row + 1)).collect())
        .filter(|row: &Vec<_>| !row.is_empty())
        .collect()
}

/// `count` columns: every `count`-th packet.
fn columns(media: usize, count: usize) -> Vec<Vec<usize>> {
    (0..count.min(media)).map(|column| (column..media).step_by(count).collect()).collect()
}
