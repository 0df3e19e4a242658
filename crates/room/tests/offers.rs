//! Offers of real clients: each is answered in a way that browsers read, or refused with its reason; media that come are used.

use std::time::{Duration, Instant};

use airbound_room::session::{Join, JoinError, OfferError};
use airbound_room::synthetic::{Equipment, Synthetic};
use airbound_senders::conference::room::{RoomConfig, RoomPolicy};
use str0m::change::{SdpAnswer, SdpOffer};

use crate::world::{Clock, World, prepare};

const WIDE: f64 = 20e6;
const REAL: Clock = Clock { ahead: Duration::ZERO, speed: 1.0 };
const CAMERA: Equipment = Equipment { camera: 0.8e6, slots: 0, ears: 0, channel: true };

fn world() -> World {
    World::new(RoomConfig { policy: RoomPolicy::Plain, ..RoomConfig::default() })
}

/// Joins with an offer; the answer in lines.
fn join(world: &mut World, offer: &str) -> Result<Vec<String>, JoinError> {
    let offer = SdpOffer::from_sdp_string(offer).expect("an offer");
    let join = Join { name: "x".to_owned(), host: false, offer, resume: None, token: "x".to_owned() };
    let joined = world.session.join(world.now, join)?;
    let text = joined.answer.to_sdp_string();
    let again = SdpAnswer::from_sdp_string(&text).expect("an answer that can be read").to_sdp_string();
    assert_eq!(again, text);
    Ok(text.lines().map(str::to_owned).collect())
}

/// An offer with a group of `mids` and sections, each a line of media with its attributes.
fn offer(mids: Option<&str>, sections: &[&str]) -> String {
    let transport = "c=IN IP4 0.0.0.0\na=ice-ufrag:ufrag\na=ice-pwd:passwordpasswordpassword\na=setup:actpass\na=rtcp-mux";
    let print = vec!["AB"; 32].join(":");
    let group = mids.map(|mids| format!("a=group:BUNDLE {mids}\n")).unwrap_or_default();
    let mut text =
        format!("v=0\no=- 1 1 IN IP4 127.0.0.1\ns=-\nt=0 0\n{group}a=fingerprint:sha-256 {print}\n");
    for section in sections {
        let (media, attributes) = section.split_once('\n').expect("attributes");
        text += &format!("{media}\n{transport}\n{attributes}\n");
    }
    text.replace('\n', "\r\n")
}

const VP8: &str = "a=rtpmap:96 VP8/90000\na=rtcp-fb:96 nack\na=rtcp-fb:96 nack pli\na=rtcp-fb:96 goog-remb";

fn video(mid: &str, flow: &str) -> String {
    format!("m=video 9 UDP/TLS/RTP/SAVPF 96\na=mid:{mid}\na={flow}\n{VP8}")
}

/// Sections of an answer.
fn sections(answer: &[String]) -> Vec<&[String]> {
    let starts: Vec<usize> = (0..answer.len()).filter(|at| answer[*at].starts_with("m=")).collect();
    let ends = starts.iter().copied().skip(1).chain([answer.len()]);
    starts.iter().zip(ends).map(|(start, end)| &answer[*start..end]).collect()
}

fn has(section: &[String], line: &str) -> bool {
    section.iter().any(|own| own == line)
}

#[test]
fn a_section_without_a_common_codec_is_refused_alone_with_a_format() {
    let none = "m=video 9 UDP/TLS/RTP/SAVPF 102 103\na=mid:0\na=recvonly\na=rtpmap:102 AV1/90000\n\
                a=rtpmap:103 rtx/90000\na=fmtp:103 apt=102";
    let text = "m=text 9 UDP/TLS/RTP/SAVPF 98\na=mid:t\na=recvonly\na=rtpmap:98 t140/1000";
    let answer = join(&mut world(), &offer(Some("0 t 1"), &[none, text, &video("1", "recvonly")]));
    let answer = answer.expect("an answer");
    let sections = sections(&answer);
    // RFC 3264 section 6: at least one format, and as many sections as offered; RFC 9143 section 7.3: not in the group.
    let first = |at: usize| sections[at][0].as_str();
    assert_eq!(first(0), "m=video 0 UDP/TLS/RTP/SAVPF 102");
    assert_eq!(first(1), "m=text 0 UDP/TLS/RTP/SAVPF 98");
    assert_eq!(first(2), "m=video 9 UDP/TLS/RTP/SAVPF 96");
    assert!(has(sections[0], "a=mid:0") && has(sections[0], "a=inactive"), "{answer:?}");
    assert!(has(sections[2], "a=sendonly") && has(&answer, "a=group:BUNDLE 1"), "{answer:?}");
    let only = join(&mut world(), &offer(Some("0"), &[none])).expect_err("nothing to use");
    assert_eq!(only, JoinError::Offer(OfferError::Unused));
}

#[test]
fn each_section_has_its_own_numbers() {
    let other = "m=video 9 UDP/TLS/RTP/SAVPF 35 36\na=mid:0\na=recvonly\na=rtpmap:35 VP8/90000\na=rtpmap:36 rtx/90000\n\
                 a=fmtp:36 apt=35\na=rtcp-fb:35 nack";
    let sound = |mid: &str, number: u8| {
        format!(
            "m=audio 9 UDP/TLS/RTP/SAVPF {number}\na=mid:{mid}\na=recvonly\na=rtpmap:{number} opus/48000/2"
        )
    };
    let all =
        [other.to_owned(), video("1", "recvonly"), sound("2", 111), sound("3", 109), video("4", "sendonly")];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let answer = join(&mut world(), &offer(Some("0 1 2 3 4"), &all)).expect("an answer");
    let sections = sections(&answer);
    let firsts: Vec<&str> = sections.iter().map(|section| section[0].as_str()).collect();
    assert_eq!(
        firsts,
        [
            "m=video 9 UDP/TLS/RTP/SAVPF 35 36",
            "m=video 9 UDP/TLS/RTP/SAVPF 96",
            "m=audio 9 UDP/TLS/RTP/SAVPF 111",
            "m=audio 9 UDP/TLS/RTP/SAVPF 109",
            "m=video 9 UDP/TLS/RTP/SAVPF 96",
        ]
    );
    assert!(
        has(sections[0], "a=rtpmap:35 VP8/90000") && has(sections[1], "a=rtpmap:96 VP8/90000"),
        "{answer:?}"
    );
    assert!(has(sections[3], "a=rtpmap:109 opus/48000/2"), "{answer:?}");
    // A number with two meanings in one group (RFC 9143 section 9.1): the later section is refused.
    let twice = "m=audio 9 UDP/TLS/RTP/SAVPF 96\na=mid:1\na=recvonly\na=rtpmap:96 opus/48000/2";
    let answer =
        join(&mut world(), &offer(Some("0 1"), &[&video("0", "recvonly"), twice])).expect("an answer");
    assert_eq!(super::offers::sections(&answer)[1][0], "m=audio 0 UDP/TLS/RTP/SAVPF 96");
}

#[test]
fn vp9_is_answered_where_it_is_named_first_in_its_usual_profile() {
    let section = |formats: &str| {
        format!(
            "m=video 9 UDP/TLS/RTP/SAVPF {formats}\na=mid:0\na=sendonly\n{VP8}\na=rtpmap:98 VP9/90000\n\
             a=fmtp:98 profile-id=0\na=rtpmap:100 VP9/90000\na=fmtp:100 profile-id=2\na=rtcp-fb:98 nack pli"
        )
    };
    for (formats, first) in [("96 98 100", "96"), ("98 96", "98"), ("100 96 98", "96"), ("100 98", "98")] {
        let answer = join(&mut world(), &offer(Some("0"), &[&section(formats)])).expect("an answer");
        let part = sections(&answer)[0];
        assert_eq!(part[0], format!("m=video 9 UDP/TLS/RTP/SAVPF {first}"), "{formats}: {answer:?}");
        assert_eq!(has(part, "a=fmtp:98 profile-id=0"), first == "98", "{answer:?}");
    }
    let other = section("100").replace(&format!("{VP8}\n"), "");
    let only = join(&mut world(), &offer(Some("0"), &[&other])).expect_err("another profile");
    assert_eq!(only, JoinError::Offer(OfferError::Unused));
}

#[test]
fn one_section_needs_no_group_and_several_are_refused_for_that_reason() {
    let one = video("0", "recvonly");
    let answer = join(&mut world(), &offer(None, &[&one])).expect("an answer");
    assert!(!answer.iter().any(|line| line.starts_with("a=group")), "{answer:?}");
    assert!(has(sections(&answer)[0], "a=sendonly") && has(&answer, "a=mid:0"), "{answer:?}");
    let two = join(&mut world(), &offer(None, &[&one, &video("1", "recvonly")])).expect_err("two transports");
    assert_eq!(two, JoinError::Offer(OfferError::Apart { sections: 2 }));
    assert!(two.to_string().contains("without a=group:BUNDLE"), "{two}");
    // Another order than that of the sections, another group before, a section outside.
    let text = offer(Some("1 0"), &[&one, &video("1", "recvonly"), &video("2", "recvonly")]);
    let text = text.replace("a=group:", "a=group:LS 0 1\r\na=group:");
    let answer = join(&mut world(), &text).expect("an answer");
    assert!(has(&answer, "a=group:BUNDLE 0 1"), "{answer:?}");
    assert_eq!(sections(&answer)[2][0], "m=video 0 UDP/TLS/RTP/SAVPF 96");
    // Port 0 in the group shares the transport (RFC 9143 section 6).
    let bundled = video("1", "recvonly").replace("video 9", "video 0") + "\na=bundle-only";
    let answer = join(&mut world(), &offer(Some("0 1"), &[&one, &bundled])).expect("an answer");
    assert_eq!(sections(&answer)[1][0], "m=video 9 UDP/TLS/RTP/SAVPF 96");
}

#[test]
fn an_answer_repeats_no_feedback_that_was_not_offered() {
    let plain = "m=video 9 UDP/TLS/RTP/SAVPF 96\na=mid:0\na=sendonly\na=rtpmap:96 VP8/90000\na=rtcp-fb:96 nack pli\n\
                 a=rtcp-fb:96 transport-cc";
    let answer = join(&mut world(), &offer(Some("0"), &[plain])).expect("an answer");
    let feedback: Vec<&String> = answer.iter().filter(|line| line.starts_with("a=rtcp-fb")).collect();
    // transport-cc needs its extension.
    assert_eq!(feedback, ["a=rtcp-fb:96 nack pli"]);
    assert!(!has(&answer, "a=extmap-allow-mixed"));
}

#[test]
fn rids_that_cannot_be_layers_are_not_answered() {
    let sends = |rids: &str| {
        let lines: String = rids.split(';').map(|rid| format!("\na=rid:{rid} send")).collect();
        let section = video("0", "sendonly") + &lines + "\na=simulcast:send " + rids;
        let answer = join(&mut world(), &offer(Some("0"), &[&section])).expect("an answer");
        answer.into_iter().find(|line| line.starts_with("a=simulcast")).expect("simulcast")
    };
    assert_eq!(sends("a;b;c"), "a=simulcast:recv a;b;c");
    assert_eq!(sends("a;b;c;d"), "a=simulcast:recv a;b;c");
    assert_eq!(sends("x;f;h;q"), "a=simulcast:recv f;h;q");
}

#[test]
fn one_camera_is_taken_and_what_only_receives_is_said() {
    // A camera that only sends, and sections of the default direction to watch on.
    let all = [video("0", "sendonly"), video("1", "sendrecv"), video("2", "sendonly")];
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let mut world = world();
    let answer = join(&mut world, &offer(Some("0 1 2"), &all)).expect("an answer");
    let sections = sections(&answer);
    assert!(has(sections[0], "a=recvonly") && has(sections[1], "a=sendonly"), "{answer:?}");
    assert!(has(sections[2], "a=inactive"), "{answer:?}");
    let log = world.session.state()["log"].to_string();
    assert!(log.contains("1 more media than one camera"), "{log}");
    // Both ways alone: both ways.
    let answer = join(&mut world, &offer(Some("0"), &[&video("0", "sendrecv")])).expect("an answer");
    assert!(has(&answer, "a=sendrecv"), "{answer:?}");
}

/// Seats a participant whose offer is changed on its way.
fn seat(world: &mut World, equipment: Equipment, change: impl Fn(&str) -> String) {
    let (synthetic, offer) =
        Synthetic::equipped(world.now, world.next_address(), equipment).expect("an offer");
    let offer = SdpOffer::from_sdp_string(&change(&offer.to_sdp_string())).expect("an offer");
    world.seat_made((synthetic, offer), WIDE, REAL);
}

/// The rates of layers of the first participant, by the room's state.
fn layers(world: &World) -> Vec<u64> {
    let state = world.session.state();
    let layers = state["members"][0]["layers"].as_array().expect("layers");
    layers.iter().filter_map(serde_json::Value::as_u64).collect()
}

#[test]
fn media_of_a_section_that_goes_both_ways_are_used_both_ways() {
    for simulcast in [true, false] {
        let mut world = world();
        for _ in 0..2 {
            // One section alone: the camera's, on which the other is watched, too.
            seat(&mut world, CAMERA, |text| {
                let lines = text.replace("a=sendonly", "a=sendrecv");
                let kept = lines.lines().filter(|line| {
                    simulcast || !line.starts_with("a=rid:") && !line.starts_with("a=simulcast:")
                });
                kept.map(|line| format!("{line}\r\n")).collect()
            });
        }
        world.run_until(12.0);
        let received = world.received_until(15.0);
        let sent = layers(&world);
        assert!(sent[0] > 20_000, "simulcast {simulcast}: {sent:?}");
        // str0m as a client takes only streams with one of the names that its answer receives; browsers take these (tests/browsers).
        let leaves = world.session.state()["members"][0]["down"]["rate"].as_f64();
        assert!(leaves > Some(0.05e6), "simulcast {simulcast}: {leaves:?}");
        assert!(simulcast || received.iter().all(|rate| *rate > 0.05e6), "{received:?}");
    }
}

#[test]
fn sections_that_a_participant_offers_have_names_of_their_own() {
    prepare();
    let address = "127.0.0.1:9".parse().expect("an address");
    for _ in 0..150 {
        let equipment = Equipment { slots: 120, ..CAMERA };
        let (_, offer) = Synthetic::equipped(Instant::now(), address, equipment).expect("an offer");
        let text = offer.to_sdp_string();
        let mut names: Vec<&str> = text.lines().filter(|line| line.starts_with("a=mid:")).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 122);
    }
}

#[test]
fn layers_are_ordered_by_their_size_and_not_by_their_names() {
    // By name h would be the middle one, by the order of the offer the smallest.
    let mut world = world();
    for _ in 0..2 {
        let equipment = Equipment { slots: 1, ..CAMERA };
        let made = Synthetic::named(world.now, world.next_address(), equipment, ["z", "a", "h"]);
        world.seat_made(made.expect("an offer"), WIDE, REAL);
    }
    world.run_until(25.0);
    let sent = layers(&world);
    assert!(0 < sent[0] && sent[0] < sent[1] && sent[1] < sent[2], "{sent:?}");
    let received = world.received_until(30.0);
    assert!(received.iter().all(|rate| *rate > 0.68 * 0.8e6 * 0.85), "{received:?}");
}

/// An offer without reports on each packet, and perhaps without the receiver's own estimate.
fn without_reports(text: &str, remb: bool) -> String {
    let dropped = |line: &&str| {
        line.contains("transport-cc")
            || line.contains("transport-wide")
            || !remb && line.contains("goog-remb")
    };
    text.lines().filter(|line| !dropped(line)).map(|line| format!("{line}\r\n")).collect()
}

#[test]
fn a_viewer_that_estimates_by_itself_is_believed_and_one_that_measures_nothing_is_named() {
    let mut world = world();
    (0..3).for_each(|_| world.add(0.8e6, WIDE, 3));
    // Each of the two sees the other, too, who sends next to nothing.
    let watches = Equipment { slots: 4, ..CAMERA };
    seat(&mut world, watches, |text| without_reports(text, true));
    seat(&mut world, watches, |text| without_reports(text, false));
    // As libwebrtc's and aiortc's: at most half more than what arrives.
    let estimate = |world: &mut World, until: u32| {
        let mut received = 0.0;
        while world.now < world.start + Duration::from_secs(u64::from(until)) {
            let next = (world.now - world.start).as_secs_f64() + 0.5;
            received = world.received_until(next)[3];
            world.guests[3].synthetic.estimate_by_remb((received * 1.5).max(106e3));
        }
        received
    };
    let received = estimate(&mut world, 60);
    let member = |id: usize| {
        let view = world.guests[id].synthetic.view().expect("a view");
        (view["own"]["down"].clone(), view["own"]["views"].clone())
    };
    let (down, views) = member(3);
    assert_eq!(down["by"], "client", "{down}");
    // Three pictures of 0.54 Mb/s.
    assert!(received > 1.3e6, "{received} {views}");
    let (down, views) = member(4);
    assert_eq!((&down["estimate"], &down["by"]), (&0.into(), &"nothing".into()), "{down}");
    let why = views.to_string();
    assert!(why.contains("are assumed for your downlink, which is not measured"), "{why}");
    assert!(!why.contains("in use on your downlink"), "{why}");
    assert_eq!(member(0).0["by"], "server");
}
