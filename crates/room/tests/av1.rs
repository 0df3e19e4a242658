//! Scalable pictures in AV1 over loopback: dependency descriptors say which packets a viewer gets, and go on with them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use str0m::format::Codec;
use str0m::rtp::{Extension, ExtensionSerializer, ExtensionValues};

use super::h264::{Client, number};
use super::one_way::Room;

/// Number of the extension in an offer.
pub(crate) const DESCRIBED: u8 = 9;

/// The bytes of a dependency descriptor.
#[derive(Debug)]
pub(crate) struct Described(pub(crate) Vec<u8>);

impl Described {
    pub(crate) fn extension() -> Extension {
        let uri = "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension";
        Extension::with_serializer(uri, Bytes)
    }
}

#[derive(Debug)]
struct Bytes;

impl ExtensionSerializer for Bytes {
    fn write_to(&self, buffer: &mut [u8], values: &ExtensionValues) -> usize {
        let Some(Described(bytes)) = values.user_values.get::<Described>() else { return 0 };
        buffer[..bytes.len()].copy_from_slice(bytes);
        bytes.len()
    }

    fn parse_value(&self, bytes: &[u8], values: &mut ExtensionValues) -> bool {
        values.user_values.set(Described(bytes.to_vec()));
        true
    }

    fn is_video(&self) -> bool {
        true
    }

    fn is_audio(&self) -> bool {
        false
    }

    fn requires_two_byte_form(&self, values: &ExtensionValues) -> bool {
        values.user_values.get::<Described>().is_some_and(|Described(bytes)| bytes.len() > 16)
    }
}

/// The structure of Chromium 156 in mode L3T3_KEY at 960 by 540, as its key pictures carry it after flags and frame number: for each size five
/// templates, of a key picture, of the lowest frame rate, the second, and twice the third.
const STRUCTURE: &[u8] = &[
    0x80, 0x08, 0x14, 0x85, 0x21, 0x4e, 0xaa, 0xaa, 0xa8, 0x00, 0x06, 0x00, 0x00, 0x40, 0x00, 0x10, 0x00,
    0x02, 0xaa, 0x80, 0xa8, 0x00, 0x06, 0x00, 0x00, 0x40, 0x00, 0x10, 0x00, 0x02, 0xa0, 0x00, 0xa8, 0x00,
    0x06, 0x00, 0x00, 0x40, 0x00, 0x16, 0xd5, 0x49, 0x24, 0x1b, 0x55, 0x24, 0x90, 0x6d, 0x54, 0x92, 0x31,
    0x57, 0xe0, 0x01, 0x97, 0x4c, 0xa8, 0x64, 0x33, 0x0e, 0x22, 0x23, 0x96, 0xec, 0xa8, 0x65, 0x53, 0x04,
    0x22, 0x43, 0x90, 0xec, 0xa8, 0x77, 0x53, 0x00, 0xef, 0x00, 0x86, 0x01, 0xdf, 0x01, 0x0d, 0x03, 0xbf,
    0x02, 0x1b,
];
/// Of each of its templates, the frame rate and the distance to the frame that is needed, in frames.
const TEMPLATES: [(u8, u16); 5] = [(0, 0), (0, 12), (1, 6), (2, 3), (2, 3)];
/// Bytes of a frame's packets for each size, 25 pictures a second: 40 kb/s, 120 kb/s and 600 kb/s.
const SIZES: [&[usize]; 3] = [&[200], &[600], &[1000; 3]];

/// The packets of a picture, each with its descriptor; `frame` is the number of its first frame.
fn picture(frame: u16, place: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let kind = if place == 0 { 0 } else { [1, 3, 2, 4][place % 4] };
    let mut packets = Vec::new();
    for (spatial, sizes) in SIZES.iter().enumerate() {
        let number = frame.wrapping_add(spatial as u16).to_be_bytes();
        for (part, size) in sizes.iter().enumerate() {
            let begins = if part == 0 { 0x80 } else { 0 };
            let ends = if part + 1 == sizes.len() { 0x40 } else { 0 };
            let mut descriptor = vec![begins | ends | (spatial as u8 * 5 + kind), number[0], number[1]];
            if place == 0 && spatial == 0 && part == 0 {
                descriptor.extend(STRUCTURE);
            }
            packets.push((vec![spatial as u8; *size], descriptor));
        }
    }
    packets
}

/// The size, the frame rate and the number of a packet's frame, and the number of the frame that it needs.
fn read(descriptor: &[u8]) -> (u8, u8, u16, Option<u16>) {
    let (template, number) = (descriptor[0] & 0x3f, u16::from_be_bytes([descriptor[1], descriptor[2]]));
    let (spatial, (temporal, distance)) = (template / 5, TEMPLATES[usize::from(template % 5)]);
    // A larger size of a key picture needs the one below.
    let distance = if template % 5 == 0 && spatial > 0 { 1 } else { distance };
    (spatial, temporal, number, (distance > 0).then(|| number.wrapping_sub(distance)))
}

/// A viewer got a stream that has no gap, one marker for each picture, and all that it needs, from a key picture with its structure on.
fn is_whole(viewer: &Client) {
    let numbers = &viewer.numbers;
    assert_eq!(numbers.len(), viewer.described.len(), "each packet has a descriptor");
    assert!(numbers.windows(2).all(|pair| pair[1].0 == pair[0].0 + 1), "no gap: {numbers:?}");
    let ends = |pair: &[(u64, u32, bool)]| pair[0].2 == (pair[0].1 != pair[1].1);
    assert!(numbers.windows(2).all(ends), "a marker at the end of each picture: {numbers:?}");
    assert_eq!(viewer.described[0].get(3..), Some(STRUCTURE), "a key picture first");
    let mut seen = BTreeSet::new();
    for (descriptor, payload) in viewer.described.iter().zip(viewer.payloads()) {
        let (spatial, _, number, needs) = read(descriptor);
        assert_eq!(payload[0], spatial, "a payload keeps its descriptor");
        assert!(needs.is_none_or(|needs| seen.contains(&needs)), "{number} needs {needs:?}");
        seen.insert(number);
        let key = descriptor[0] & 0xbf == 0x80;
        assert_eq!(descriptor.get(3..), Some(if key { STRUCTURE } else { &[] }), "{number}");
    }
}

#[test]
fn viewers_get_the_layers_of_av1_that_fit_and_their_descriptors() {
    let room = Room::new();
    let (mut camera, answer) = Client::join(&room, "/whip?name=camera", &[Codec::Av1], |offer| offer);
    let sent = number(&answer, "AV1/90000").expect("a number");
    assert!(answer.contains("dependency-descriptor"), "{answer}");
    // Without feedback on its downlink, which then has 300 kb/s for pictures.
    let silent = |offer: String| {
        let reports = |line: &&str| !line.contains("transport-cc") && !line.contains("goog-remb");
        offer.lines().filter(reports).map(|line| format!("{line}\r\n")).collect()
    };
    let (mut narrow, _) = Client::join(&room, "/whep?name=narrow", &[Codec::Vp8, Codec::Av1], silent);
    let (mut wide, _) = Client::join(&room, "/whep?name=wide", &[Codec::Vp8, Codec::Av1], |offer| offer);
    let (mut other, _) = Client::join(&room, "/whep?name=other", &[Codec::Vp8], |offer| offer);
    // The stream has begun before, so that its structure has to be asked for; frame numbers begin again at 65536 on the way.
    let (mut frame, mut count, mut place, mut next) = (65_300_u16, 0, 0, Instant::now());
    let until = Instant::now() + Duration::from_secs(40);
    let large = |viewer: &Client| viewer.payloads().filter(|payload| payload[0] == 2).count();
    while narrow.numbers.len() < 250 || large(&wide) < 200 {
        assert!(Instant::now() < until, "{} {} {}", narrow.numbers.len(), large(&wide), room.state());
        [&mut camera, &mut narrow, &mut wide, &mut other].into_iter().for_each(Client::step);
        let connected = [&camera, &narrow, &wide, &other].iter().all(|client| client.connected);
        if connected && Instant::now() >= next {
            next += Duration::from_millis(40);
            place = if camera.asked > 0 { 0 } else { place + 1 };
            camera.asked = 0;
            let packets = picture(frame, place);
            (frame, count) = (frame.wrapping_add(3), count + 1);
            let last = packets.len() - 1;
            for (index, (payload, descriptor)) in packets.into_iter().enumerate() {
                camera.send_described(sent, &payload, count * 3600, index == last, Some(descriptor));
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    [&narrow, &wide].into_iter().for_each(is_whole);
    let layers: Vec<(u8, u8)> = narrow
        .described
        .iter()
        .map(|descriptor| read(descriptor))
        .map(|(spatial, temporal, ..)| (spatial, temporal))
        .collect();
    // The rest is after the room has measured the layers.
    let late = &layers[100..];
    assert!(late.iter().all(|(spatial, _)| *spatial < 2) && late.contains(&(1, 2)), "{late:?}");
    assert_eq!(other.numbers.len(), 0);
}
