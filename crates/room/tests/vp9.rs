//! Scalable pictures in VP9 over loopback: a viewer without room for all layers gets a stream without gaps of those that fit.

use std::time::{Duration, Instant};

use str0m::format::Codec;

use super::h264::{Client, number};
use super::one_way::Room;

/// Bytes of a frame's packets for each size, 25 pictures a second: 40 kb/s, 120 kb/s and 1.2 Mb/s.
const SIZES: [&[usize]; 3] = [&[200], &[600], &[1000; 6]];

/// The packets of a picture in mode L3T3_KEY, with descriptors as Chromium writes them.
fn picture(number: u16, place: usize) -> Vec<Vec<u8>> {
    let (temporal, distance) = [(0, 4), (2, 1), (1, 2), (2, 1)][place % 4];
    let mut packets = Vec::new();
    for (spatial, sizes) in SIZES.iter().enumerate() {
        for (part, size) in sizes.iter().enumerate() {
            let mut flags = 0xb0;
            flags |= if place > 0 { 0x40 } else { 0 };
            flags |= if part == 0 { 0x08 } else { 0 } | if part + 1 == sizes.len() { 0x04 } else { 0 };
            let depends = u8::from(place == 0 && spatial > 0);
            let [high, low] = number.to_be_bytes();
            let mut payload =
                vec![flags, 0x80 | high, low, temporal << 5 | 0x10 | (spatial as u8) << 1 | depends];
            payload.extend((place > 0).then_some(distance << 1));
            payload.resize(*size, 0);
            packets.push(payload);
        }
    }
    packets
}

#[test]
fn a_narrow_viewer_gets_the_layers_of_vp9_that_fit_without_gaps() {
    let room = Room::new();
    let (mut camera, answer) = Client::join(&room, "/whip?name=camera", &[Codec::Vp9], |offer| offer);
    let sent = number(&answer, "VP9/90000").expect("a number");
    assert!(answer.contains(&format!("a=fmtp:{sent} profile-id=0")), "{answer}");
    // Without feedback on its downlink, which then has 300 kb/s for pictures.
    let silent = |offer: String| {
        let reports = |line: &&str| !line.contains("transport-cc") && !line.contains("goog-remb");
        offer.lines().filter(reports).map(|line| format!("{line}\r\n")).collect()
    };
    let (mut viewer, answer) = Client::join(&room, "/whep?name=viewer", &[Codec::Vp8, Codec::Vp9], silent);
    assert!(number(&answer, "VP9/90000").is_some(), "{answer}");
    let (mut other, _) = Client::join(&room, "/whep?name=other", &[Codec::Vp8], |offer| offer);
    let (mut count, mut place, mut next) = (0_u16, 0, Instant::now());
    let until = Instant::now() + Duration::from_secs(30);
    while viewer.numbers.len() < 200 {
        assert!(Instant::now() < until, "{} {}", viewer.numbers.len(), room.state());
        [&mut camera, &mut viewer, &mut other].into_iter().for_each(Client::step);
        if camera.connected && viewer.connected && other.connected && Instant::now() >= next {
            next += Duration::from_millis(40);
            place = if camera.asked > 0 { 0 } else { place + 1 };
            camera.asked = 0;
            count = (count + 1) & 0x7fff;
            let packets = picture(count, place);
            let last = packets.len() - 1;
            for (index, payload) in packets.iter().enumerate() {
                camera.send_at(sent, payload, u32::from(count) * 3600, index == last);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let layers: Vec<(u8, u8)> =
        viewer.payloads().map(|payload| (payload[3] >> 1 & 7, payload[3] >> 5)).collect();
    assert_eq!(viewer.payloads().next().map(|payload| payload[0] & 0x40), Some(0), "a key picture first");
    // Its second half is after the room has measured the layers.
    let late = &layers[100..];
    assert!(late.iter().all(|(spatial, _)| *spatial < 2) && late.contains(&(1, 2)), "{late:?}");
    let numbers = &viewer.numbers;
    assert!(numbers.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1), "no gap: {numbers:?}");
    let ends = |pair: &[(u64, u32, bool)]| pair[0].2 == (pair[0].1 != pair[1].1);
    assert!(numbers.windows(2).all(ends), "a marker at the end of each picture: {numbers:?}");
    assert_eq!(other.numbers.len(), 0);
    // The state is published at intervals.
    let said = |state: &serde_json::Value| {
        let layers = state["members"][0]["layers"].as_array().expect("layers");
        let log = state["log"].to_string();
        layers[8].as_u64() > layers[5].as_u64() && log.contains("other cannot show camera, who sends VP9")
    };
    while !said(&room.state()) {
        assert!(Instant::now() < until, "{}", room.state());
        std::thread::sleep(Duration::from_millis(20));
    }
}
