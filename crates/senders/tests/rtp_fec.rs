//! Forward error correction: every loss that a layout should repair is repaired, and none that it cannot.

use std::collections::BTreeSet;

use airbound_senders::rtp::fec::{
    FecConfig, FecDecoder, FecEncoder, FecKind, MediaPacket, ParityPacket, grid, layout,
};
use airbound_units::ByteCount;
use proptest::prelude::*;

const KINDS: [FecKind; 4] = [FecKind::Row, FecKind::Column, FecKind::TwoDimensional, FecKind::ReedSolomon];

fn packet(sequence: u64) -> MediaPacket {
    MediaPacket { sequence, size: ByteCount::new(1000 + sequence % 7) }
}

/// A block that begins with sequence number 100.
fn block(kind: FecKind, covers: Vec<Vec<usize>>) -> Vec<ParityPacket> {
    covers
        .into_iter()
        .zip(0..)
        .map(|(covers, index)| ParityPacket {
            block: 0,
            index,
            kind,
            covers: covers.into_iter().map(|place| 100 + place as u64).collect(),
            size: ByteCount::new(1016),
        })
        .collect()
}

/// Returns the media packets of `media` known after all but the lost ones have arrived, in an order drawn from `seed`.
fn known(media: usize, parity: &[ParityPacket], lost: &BTreeSet<usize>, seed: u64) -> BTreeSet<usize> {
    // Indices below `media` are media packets, the others parity packets.
    let mut arrivals: Vec<usize> = (0..media + parity.len()).filter(|index| !lost.contains(index)).collect();
    let mut random = seed;
    for place in (1..arrivals.len()).rev() {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        arrivals.swap(place, (random >> 33) as usize % (place + 1));
    }
    let mut decoder = FecDecoder::new();
    let mut known = BTreeSet::new();
    let mut rebuilt = 0;
    for index in arrivals {
        let found = match index.checked_sub(media) {
            None => {
                known.insert(index);
                decoder.on_media(100 + index as u64)
            }
            Some(index) => decoder.on_parity(parity[index].clone()),
        };
        rebuilt += found.len() as u64;
        known.extend(found.into_iter().map(|sequence| sequence as usize - 100));
    }
    assert_eq!(decoder.recovered(), rebuilt);
    known
}

proptest! {
    #[test]
    fn a_row_repairs_any_single_loss_in_it(
        media in 1..120_usize, parity in 1..16_usize, choice in prop::collection::vec(any::<prop::sample::Index>(), 16), seed in any::<u64>()
    ) {
        let covers = layout(FecKind::Row, media, parity);
        let lost = covers.iter().zip(choice).map(|(row, one)| row[one.index(row.len())]).collect();
        let parity = block(FecKind::Row, covers);
        prop_assert_eq!(known(media, &parity, &lost, seed).len(), media);
    }

    #[test]
    fn columns_repair_any_burst_as_long_as_they_are_many(
        media in 1..120_usize, parity in 1..16_usize, rows_too in any::<bool>(), begin in any::<prop::sample::Index>(), seed in any::<u64>()
    ) {
        let kind = if rows_too { FecKind::TwoDimensional } else { FecKind::Column };
        let columns = parity.min(media) - if rows_too { parity.min(media) / 2 } else { 0 };
        let begin = begin.index(media);
        let lost = (begin..(begin + columns).min(media)).collect();
        let parity = block(kind, layout(kind, media, parity));
        prop_assert_eq!(known(media, &parity, &lost, seed).len(), media);
    }

    /// A media packet and both parity packets that cover it are three.
    #[test]
    fn a_grid_repairs_any_three_media_packets_or_any_two_packets(
        down in 2..9_usize, across in 2..9_usize, lost in prop::collection::vec(any::<prop::sample::Index>(), 3), seed in any::<u64>()
    ) {
        let covers = grid(down, across);
        prop_assert_eq!(covers.len(), down + across);
        let media = down * across;
        let all = media + covers.len();
        let parity = block(FecKind::TwoDimensional, covers);
        let three = lost.iter().map(|index| index.index(media)).collect();
        prop_assert_eq!(known(media, &parity, &three, seed).len(), media);
        let two = lost.iter().take(2).map(|index| index.index(all)).collect();
        prop_assert_eq!(known(media, &parity, &two, seed).len(), media);
    }

    #[test]
    fn reed_solomon_repairs_any_as_many_losses_as_it_has_parity_packets_and_no_more(
        media in 1..120_usize, parity in 1..16_usize, lost in prop::collection::vec(any::<prop::sample::Index>(), 0..24), seed in any::<u64>()
    ) {
        let parity = block(FecKind::ReedSolomon, layout(FecKind::ReedSolomon, media, parity));
        let lost: BTreeSet<usize> = lost.into_iter().map(|index| index.index(media + parity.len())).collect();
        let known = known(media, &parity, &lost, seed);
        if lost.len() <= parity.len() {
            prop_assert_eq!(known.len(), media);
        } else {
            let arrived = (0..media).filter(|index| !lost.contains(index)).collect();
            prop_assert_eq!(known, arrived);
        }
    }

    /// The decoder knows the packets found by solving the equations one unknown at a time, for any order of arrival.
    #[test]
    fn two_dimensions_are_decoded_by_turns_until_nothing_new_comes(
        media in 1..100_usize, parity in 1..20_usize, lost in prop::collection::vec(any::<prop::sample::Index>(), 0..40), seed in any::<u64>()
    ) {
        let parity = block(FecKind::TwoDimensional, layout(FecKind::TwoDimensional, media, parity));
        let lost: BTreeSet<usize> = lost.into_iter().map(|index| index.index(media + parity.len())).collect();
        let mut unknown: BTreeSet<u64> = lost.iter().filter(|index| **index < media).map(|index| 100 + *index as u64).collect();
        loop {
            let before = unknown.len();
            for (index, equation) in parity.iter().enumerate() {
                let open: Vec<u64> = equation.covers.iter().copied().filter(|one| unknown.contains(one)).collect();
                if open.len() == 1 && !lost.contains(&(media + index)) {
                    unknown.remove(&open[0]);
                }
            }
            if unknown.len() == before {
                break;
            }
        }
        prop_assert_eq!(known(media, &parity, &lost, seed).len(), media - unknown.len());
    }

    #[test]
    fn the_overhead_is_an_eighth_for_frames_of_eight_packets_and_more(
        frames in prop::collection::vec(8..60_u64, 50..80), kind in prop::sample::select(KINDS.to_vec())
    ) {
        let mut encoder = FecEncoder::new(FecConfig { kind, ..FecConfig::default() }).expect("valid");
        let (mut sequence, mut covered) = (0, BTreeSet::new());
        let mut parity = 0;
        for length in frames {
            for place in 1..=length {
                for packet in encoder.on_media(packet(sequence), place == length) {
                    parity += 1;
                    prop_assert_eq!(packet.size, ByteCount::new(1016 + packet.covers.iter().map(|one| one % 7).max().unwrap_or(0)));
                    covered.extend(packet.covers);
                }
                sequence += 1;
            }
        }
        // Every frame is protected as soon as it ends.
        prop_assert_eq!(covered.len() as u64, sequence);
        let share = f64::from(parity) / sequence as f64;
        prop_assert!((share - 0.125).abs() < 2.0 / sequence as f64 + 1e-9, "{}", share);
    }
}

#[test]
fn four_losses_at_the_corners_of_a_rectangle_are_beyond_a_grid() {
    let parity = block(FecKind::TwoDimensional, grid(4, 4));
    let corners = BTreeSet::from([0, 2, 8, 10]);
    assert_eq!(known(16, &parity, &corners, 1).len(), 12);
    let three = BTreeSet::from([0, 2, 8]);
    assert_eq!(known(16, &parity, &three, 1).len(), 16);
}

#[test]
fn small_frames_share_a_parity_packet_but_wait_for_two_frames_at_most() {
    let mut encoder = FecEncoder::new(FecConfig::default()).expect("valid");
    let mut frame = |from: u64, length: u64| -> Vec<ParityPacket> {
        (0..length).flat_map(|place| encoder.on_media(packet(from + place), place + 1 == length)).collect()
    };
    assert!(frame(0, 2).is_empty());
    let parity = frame(2, 3);
    assert_eq!(parity.len(), 1);
    assert_eq!(parity[0].covers, [0, 1, 2, 3, 4]);
    assert_eq!(frame(5, 9).len(), 1);
}

#[test]
fn a_block_never_exceeds_its_packets_even_inside_a_key_frame() {
    for kind in KINDS {
        let config = FecConfig { kind, overhead: 1.0, packets: 200, ..FecConfig::default() };
        let mut encoder = FecEncoder::new(config).expect("valid");
        let parity: Vec<_> =
            (0..1000).flat_map(|sequence| encoder.on_media(packet(sequence), false)).collect();
        assert!(parity.iter().all(|packet| packet.covers.len() <= 200), "{kind:?}");
        let of_a_block = parity.iter().filter(|packet| packet.block == 3).count();
        assert_eq!(of_a_block, if kind == FecKind::ReedSolomon { 55 } else { 200 }, "{kind:?}");
    }
}

#[test]
fn nonsense_is_refused() {
    let usual = FecConfig::default();
    for wrong in [
        FecConfig { overhead: 0.0, ..usual },
        FecConfig { overhead: f64::NAN, ..usual },
        FecConfig { frames: 0, ..usual },
        FecConfig { packets: 201, ..usual },
    ] {
        assert!(FecEncoder::new(wrong).is_err(), "{wrong:?}");
    }
    assert!(toml::from_str::<FecConfig>("kind = \"two-dimensional\"\nshare = 1").is_err());
    let read: FecConfig = toml::from_str("kind = \"reed-solomon\"\noverhead = 0.25").expect("valid");
    assert_eq!(read, FecConfig { kind: FecKind::ReedSolomon, overhead: 0.25, ..usual });
}
