//! Faults of one participant, its link or its client in virtual time: nothing panics, and the others go on.

use std::time::Duration;

use airbound_room::session::Join;
use airbound_room::synthetic::{Equipment, Synthetic};
use airbound_senders::conference::room::{RoomConfig, RoomPolicy};
use str0m::change::SdpOffer;

use crate::world::{Clock, World};

const WIDE: f64 = 20e6;

/// Three participants with cameras of 0.8 Mb/s, 12 s after the start.
fn three() -> World {
    let mut world = World::new(RoomConfig { policy: RoomPolicy::Plain, ..RoomConfig::default() });
    (0..3).for_each(|_| world.add(0.8e6, WIDE, 3));
    world.run_until(12.0);
    world
}

/// Numbers for a test that changes bytes: the same in each run.
struct Numbers(u64);

impl Numbers {
    /// A number below `end`.
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end.max(1)
    }

    /// Changes, removes or adds some bytes.
    fn change(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(4) {
            let at = self.below(bytes.len());
            match self.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, self.below(256) as u8),
                _ if bytes.is_empty() => {}
                2 => bytes[at] ^= 1 << self.below(8),
                _ => bytes[at] = self.below(256) as u8,
            }
        }
    }
}

#[test]
fn packets_that_overtake_others_or_are_lost_cost_nobody_else() {
    let mut world = three();
    (world.guests[0].loses, world.guests[0].late) = (20, 7);
    let received = world.received_until(30.0);
    assert!(received[0] > 0.1e6, "{received:?}");
    assert!(received[1..].iter().all(|rate| *rate > 0.5e6), "{received:?}");
}

#[test]
fn another_address_without_a_word_keeps_the_seat_and_the_pictures() {
    let mut world = three();
    let id = world.guests[0].id;
    // As a NAT does that has forgotten: the client knows nothing of it.
    world.guests[0].address = "10.9.9.9:4100".parse().expect("an address");
    world.run_until(24.0);
    let received = world.received_until(30.0);
    assert!(received.iter().all(|rate| *rate > 0.5e6), "{received:?}");
    assert_eq!((world.session.members(), world.guests[0].id), (3, id));
}

#[test]
fn clocks_that_are_wrong_change_nothing() {
    let mut world = World::new(RoomConfig { policy: RoomPolicy::Plain, ..RoomConfig::default() });
    // Crystals are off by up to 100 in a million; an hour is a wrong zone of time.
    for (ahead, speed) in [(3600, 1.0), (0, 1.0002), (10, 0.9998)] {
        let equipment = Equipment { camera: 0.8e6, slots: 3, ears: 0, channel: true };
        world.seat(equipment, WIDE, Clock { ahead: Duration::from_secs(ahead), speed });
    }
    world.run_until(30.0);
    let received = world.received_until(40.0);
    assert!(received.iter().all(|rate| *rate > 2.0 * 0.68 * 0.8e6 * 0.85), "{received:?}");
}

#[test]
fn a_slow_reader_costs_nobody_else() {
    let mut world = three();
    world.add(0.8e6, WIDE, 3);
    world.run_until(25.0);
    world.guests[0].naps = Duration::from_millis(400);
    // The room's messages alone are more than this link carries.
    world.guests[1].link.set_rate(30e3);
    let received = world.received_until(55.0);
    // The best layer of each other.
    assert!(received[2..].iter().all(|rate| *rate > 0.68 * 0.8e6 * 0.85), "{received:?}");
    world.guests[0].naps = Duration::ZERO;
    world.run_until(75.0);
    let received = world.received_until(80.0);
    assert!(received[0] > 0.5e6, "{received:?}");
}

#[test]
fn a_flood_of_offers_costs_nobody_else() {
    let mut world = three();
    let mut answers = [0; 2];
    for step in 0..200_u16 {
        let address = format!("10.2.0.1:{}", 1000 + step).parse().expect("an address");
        let (_, offer) = Synthetic::new(world.now, address, 0.8e6, 30).expect("an offer");
        let token = format!("flood {step}");
        let join = Join { name: token.clone(), host: false, offer, resume: None, token };
        answers[0] += u16::from(world.session.join(world.now, join).is_ok());
        let guest = &mut world.guests[0];
        let offer = guest.synthetic.renew(guest.address).expect("an offer");
        answers[1] += u16::from(world.session.restart(world.now, "token 1", offer).is_ok());
        world.run_until(12.0 + f64::from(step) * 0.02);
    }
    // 32 seats; after 3 s each of those that have not connected gives way once.
    assert_eq!(answers, [29 + 29, 200]);
    let received = world.received_until(40.0);
    assert!(received[1..].iter().all(|rate| *rate > 0.5e6), "{received:?}");
    assert!(world.session.members() <= 3);
}

#[test]
fn offers_that_were_changed_are_answered_or_refused() {
    let mut world = three();
    let address = "10.2.0.1:4000".parse().expect("an address");
    let equipment = Equipment { camera: 0.8e6, slots: 2, ears: 2, channel: true };
    let (_, offer) = Synthetic::equipped(world.now, address, equipment).expect("an offer");
    let whole = offer.to_sdp_string();
    let lines: Vec<&str> = whole.lines().collect();
    let (mut numbers, mut read) = (Numbers(1), 0);
    for step in 0..lines.len() * 8 {
        let at = step % lines.len();
        let mut text: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        match step / lines.len() {
            0 => _ = text.remove(at),
            1 => text.insert(at, lines[at].to_owned()),
            2 => text.swap(at, numbers.below(lines.len())),
            _ => {
                let mut bytes = text[at].clone().into_bytes();
                numbers.change(&mut bytes);
                text[at] = String::from_utf8_lossy(&bytes).into_owned();
            }
        }
        let Ok(offer) = SdpOffer::from_sdp_string(&(text.join("\r\n") + "\r\n")) else { continue };
        read += 1;
        let join =
            Join { name: String::new(), host: false, offer, resume: None, token: "changed".to_owned() };
        let resume = Some("changed".to_owned());
        let _ = world.session.join(world.now, Join { resume, ..join });
    }
    assert!(read > lines.len(), "{read} of {} could be read", lines.len() * 8);
    let received = world.received_until(40.0);
    assert!(received.iter().all(|rate| *rate > 0.5e6), "{received:?}");
    assert_eq!(world.session.members(), 3);
}

/// Changes copies of datagrams on their way; other numbers change others.
fn change_datagrams(mut numbers: Numbers) {
    let (mut world, mut sent) = (three(), 0);
    let stranger = "10.3.3.3:3333".parse().expect("an address");
    for step in 0..2000 {
        for (address, mut bytes) in world.under_way().into_iter().take(4) {
            let from = if step % 10 == 0 { stranger } else { address };
            numbers.change(&mut bytes);
            world.session.receive(world.now, from, &bytes);
            sent += 1;
        }
        world.run_until(12.0 + f64::from(step) * 0.005);
    }
    assert!(sent > 2000, "{sent}");
    let received = world.received_until(30.0);
    assert!(received.iter().all(|rate| *rate > 0.5e6), "{received:?}");
    assert_eq!(world.session.members(), 3);
}

#[test]
fn datagrams_that_were_changed_cost_nothing() {
    (2..8).for_each(|number| change_datagrams(Numbers(number)));
}

#[test]
fn payloads_and_messages_that_mean_nothing_cost_nobody_else() {
    let mut world = three();
    let mut numbers = Numbers(3);
    let frame = [0x90, 0x80, 0x80, 0x01, 0x10, 0x02, 0x00, 0x9d, 0x01, 0x2a, 0xa0, 0x00, 0x5a, 0x00];
    for step in 0..1000 {
        let mut payload = frame.to_vec();
        numbers.change(&mut payload);
        let (guest, now) = (&mut world.guests[0], world.now);
        guest.synthetic.send_payload(now, &payload);
        let mut message = br#"{"t":"views","views":[{"from":2,"largest":1}]}"#.to_vec();
        numbers.change(&mut message);
        guest.synthetic.say(&String::from_utf8_lossy(&message));
        world.run_until(12.0 + f64::from(step) * 0.01);
    }
    let received = world.received_until(30.0);
    // Two thirds of what two cameras send; the third one's is spoilt.
    assert!(received[1..].iter().all(|rate| *rate > 0.4e6), "{received:?}");
    assert_eq!(world.session.members(), 3);
}

#[test]
fn messages_are_bounded_in_length_and_number() {
    let mut world = three();
    let leave = r#"{"t":"leave"}"#;
    let long = leave.to_owned() + &" ".repeat(4097 - leave.len());
    world.guests[0].synthetic.say(&long);
    (0..20).for_each(|_| world.guests[1].synthetic.say("{}"));
    world.guests[1].synthetic.say(leave);
    world.run_until(13.0);
    assert_eq!(world.session.members(), 3, "a byte more than 4 KiB, and more than 20 messages at once");
    world.guests[0].synthetic.say(&long[..4096]);
    // Its own reports are two or three of the twenty.
    (0..16).for_each(|_| world.guests[1].synthetic.say("{}"));
    world.guests[1].synthetic.say(leave);
    world.run_until(14.0);
    assert_eq!(world.session.members(), 1);
}

#[test]
fn a_claimed_uplink_counts_up_to_four_times_what_arrives() {
    let mut world = three();
    for step in 0..40 {
        world.guests[1].synthetic.say(r#"{"t":"up","estimate":9e8}"#);
        world.run_until(12.0 + f64::from(step) * 0.05);
    }
    let state = world.session.state();
    let up = |key: &str| state["members"][1]["up"][key].as_f64().expect("a rate");
    let share = up("estimate") / up("rate");
    assert!((2.0..=4.5).contains(&share), "{share}: {}", state["members"][1]["up"]);
}

#[test]
fn payload_types_with_two_meanings_end_nothing() {
    let mut world = three();
    let address = "10.2.0.1:4000".parse().expect("an address");
    let equipment = Equipment { camera: 0.8e6, slots: 2, ears: 2, channel: true };
    let (_, offer) = Synthetic::equipped(world.now, address, equipment).expect("an offer");
    let whole = offer.to_sdp_string();
    let number = |codec: &str| -> String {
        let line =
            whole.lines().find(|line| line.starts_with("a=rtpmap:") && line.contains(codec)).expect(codec);
        line["a=rtpmap:".len()..].split(' ').next().expect("a number").to_owned()
    };
    let (opus, vp8, rtx) = (number("opus/"), number("VP8/"), number("rtx/"));
    let sound = whole.find("m=audio").expect("sound");
    let (before, after) = whole.split_at(sound);
    let renamed = |to: &str| {
        let after = after.replace(&format!(" {opus}\r"), &format!(" {to}\r"));
        before.to_owned() + &after.replace(&format!(":{opus} "), &format!(":{to} "))
    };
    let resent = |line: &str, extra: &str| whole.replace(line, &format!("{line}\r\n{extra}"));
    let map = format!("a=rtpmap:{opus} opus/48000/2");
    let origin = format!("a=fmtp:{rtx} apt={vp8}");
    assert!(whole.contains(&map) && whole.contains(&origin), "{whole}");
    let crafted = [
        renamed(&vp8),
        renamed(&rtx),
        resent(&map, &format!("a=rtpmap:{rtx} rtx/48000\r\na=fmtp:{rtx} apt={opus}")),
        resent(&origin, &format!("a=rtpmap:{opus} VP8/90000\r\na=fmtp:{rtx} apt={opus}")),
        resent(&origin, &format!("a=fmtp:{rtx} apt={rtx}")),
        resent(&origin, &format!("a=rtpmap:99 VP8/90000\r\na=fmtp:{rtx} apt=99")),
    ];
    for (index, text) in crafted.into_iter().enumerate() {
        let Ok(offer) = SdpOffer::from_sdp_string(&text) else { continue };
        let token = format!("crafted {index}");
        let _ = world
            .session
            .join(world.now, Join { name: token.clone(), host: false, offer, resume: None, token });
    }
    let received = world.received_until(40.0);
    assert!(received.iter().all(|rate| *rate > 0.5e6), "{received:?}");
    assert_eq!(world.session.members(), 3);
}
