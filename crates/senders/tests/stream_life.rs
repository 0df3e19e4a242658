//! The life of a stream: start, target, silence, absences, bottlenecks, clocks that are set.

use airbound_senders::stream::{Feedback, Reason, Refusal, Sample, StreamError};
use airbound_units::{BitRate, ByteCount, Span};

use crate::stream_path::{Air, Path, id};

const SECOND: Span = Span::from_secs(1);

#[test]
fn a_rate_rises_to_the_target_and_the_queue_stays_short() {
    for tells_phy in [true, false] {
        let mut air = Air::new(&[Path { tells_phy, ..Path::USUAL }]);
        air.run(Span::from_secs(8));
        air.longest = 0;
        let mut levels = 0.0;
        for _ in 0..50 {
            air.run(Span::from_millis(100));
            levels += air.decision(0).level.expect("reported") / 50.0;
        }
        let decision = air.decision(0);
        assert!((24.0..40.0).contains(&levels), "{levels} {decision:?}");
        assert!(decision.rate > BitRate::from_mbps(200), "{decision:?}");
        assert!(air.longest < 200, "{}", air.longest);
        assert!(air.refused.is_empty(), "{:?}", air.refused);
        assert_eq!(decision.refused, 0);
    }
}

#[test]
fn at_a_low_phy_rate_frames_stay_half_full() {
    // The longest PPDU holds 21 packets at 40 Mbit/s: 32 would never be reached, and the rate would rise until the queue is full.
    let mut air = Air::new(&[Path { phy: BitRate::from_mbps(40), window: 21, ..Path::USUAL }]);
    air.run(Span::from_secs(8));
    air.longest = 0;
    air.run(Span::from_secs(10));
    let decision = air.decision(0);
    assert!((6.0..16.0).contains(&decision.level.expect("reported")), "{decision:?}");
    assert!(decision.rate > BitRate::from_mbps(25), "{decision:?}");
    assert!(air.longest < 64, "{}", air.longest);
}

#[test]
fn an_application_that_sends_less_is_named_and_its_rate_stays_near() {
    let mut air = Air::new(&[Path { application: BitRate::from_mbps(20), ..Path::USUAL }]);
    air.run(Span::from_secs(5));
    let decision = air.decision(0);
    assert_eq!(decision.reason, Reason::Application, "{decision:?}");
    assert!(decision.rate < BitRate::from_mbps(40), "{decision:?}");
}

#[test]
fn a_silent_receiver_has_the_lowest_rate_within_a_second_and_its_own_two_seconds_later() {
    for silence in [Span::from_millis(800), SECOND, Span::from_secs(5), Span::from_secs(60)] {
        for tells_phy in [true, false] {
            let mut air = Air::new(&[Path { tells_phy, ..Path::USUAL }]);
            air.run(Span::from_secs(8));
            let before = air.decision(0).rate;
            air.path(0).feedback = false;
            air.run(SECOND.min(silence));
            if silence >= SECOND {
                assert_eq!(air.decision(0).rate, BitRate::from_mbps(1), "{silence}");
                assert_eq!(air.decision(0).reason, Reason::NoFeedback);
            }
            air.run(silence.saturating_sub(SECOND));
            air.path(0).feedback = true;
            air.run(Span::from_secs(2));
            let after = air.decision(0).rate;
            assert!(after > before.mul_f64(0.8), "{silence} {tells_phy}: {before} {after}");
        }
    }
}

#[test]
fn a_radio_that_leaves_the_channel_is_named_with_its_period() {
    let away = Some((Span::from_millis(512), Span::from_millis(60)));
    let mut air = Air::new(&[Path { away, ..Path::USUAL }]);
    air.run(Span::from_secs(10));
    let decision = air.decision(0);
    assert_eq!(decision.reason, Reason::RadioAway, "{decision:?}");
    let absence = decision.absence.expect("a period");
    assert!(absence.period.as_millis().abs_diff(512) <= 10, "{absence:?}");
    assert!((45..80).contains(&absence.length.as_millis()), "{absence:?}");
    // It takes the time of the absences, and not more.
    assert!(decision.rate > BitRate::from_mbps(100), "{decision:?}");
    air.path(0).away = None;
    air.run(Span::from_secs(5));
    assert_eq!(air.decision(0).absence, None);
}

#[test]
fn a_wire_and_an_access_point_that_does_not_aggregate_are_told_apart() {
    let mut air = Air::new(&[Path { wire: BitRate::from_mbps(20), ..Path::USUAL }]);
    air.run(Span::from_secs(6));
    assert_eq!(air.decision(0).reason, Reason::Wire, "{:?}", air.decision(0));
    assert!(air.decision(0).rate < BitRate::from_mbps(30), "{:?}", air.decision(0));
    let mut air = Air::new(&[Path { window: 1, ..Path::USUAL }]);
    air.run(Span::from_secs(6));
    assert_eq!(air.decision(0).reason, Reason::NotAggregating, "{:?}", air.decision(0));
}

#[test]
fn receivers_share_the_air_fairly() {
    let slow = Path { phy: BitRate::from_mbps(130), ..Path::USUAL };
    let mut air = Air::new(&[Path::USUAL, Path::USUAL, slow]);
    air.run(Span::from_secs(10));
    let rates = [0, 1, 2].map(|station| air.decision(station).rate.as_mbps_f64());
    assert!((rates[0] / rates[1] - 1.0).abs() < 0.15, "{rates:?}");
    assert!(rates[2] < rates[0] && rates[2] > 20.0, "{rates:?}");
    air.sender.leave(air.now, id(2)).expect("joined");
    air.sender.join(air.now, id(2), [3; 16]).expect("room");
}

#[test]
fn clocks_that_are_set_do_not_stop_a_stream() {
    let hour = Span::from_secs(3600);
    let mut air = Air::new(&[Path::USUAL]);
    air.run(Span::from_secs(5));
    let before = air.decision(0).rate;
    air.stamps_ahead += hour;
    air.run(Span::from_secs(3));
    assert!(air.decision(0).rate > before.mul_f64(0.7), "{:?}", air.decision(0));
    air.stamps_ahead = Span::ZERO;
    air.run(Span::from_secs(3));
    assert!(air.decision(0).rate > before.mul_f64(0.7), "{:?}", air.decision(0));
    air.sender_ahead = hour;
    air.run(Span::from_secs(3));
    assert!(air.decision(0).rate > before.mul_f64(0.7), "{:?}", air.decision(0));
    air.sender_ahead = Span::ZERO;
    air.run(Span::from_secs(3));
    assert!(air.decision(0).rate > before.mul_f64(0.7), "{:?}", air.decision(0));
}

#[test]
fn feedback_that_lies_is_refused() {
    let mut air = Air::new(&[Path::USUAL, Path::USUAL]);
    air.run(Span::from_secs(3));
    let rate = air.decision(0).rate;
    let refused = |air: &mut Air, bytes: &[u8], why| {
        let now = air.now;
        assert_eq!(air.sender.report(now, bytes), Err(StreamError::Refused(why)));
    };
    let report = airbound_senders::allocation::Report {
        number: 1 << 20,
        slot: Span::from_millis(100),
        frames: 1,
        packets: 1,
        transmissions: 1,
        payload: ByteCount::new(1200),
        ..airbound_senders::allocation::Report::default()
    };
    let honest =
        Feedback { receiver: id(0), report, absence: None, sample: Sample::default(), disturbed: false };
    let with = |change: fn(&mut Feedback)| {
        let mut feedback = honest;
        change(&mut feedback);
        feedback
    };
    let key = [1; 16];
    refused(&mut air, &honest.encode(&[2; 16]), Refusal::Forged);
    refused(&mut air, &with(|one| one.receiver = id(9)).encode(&key), Refusal::Receiver);
    refused(&mut air, &with(|one| one.receiver = id(1)).encode(&key), Refusal::Forged);
    refused(&mut air, &with(|one| one.report.number = 0).encode(&key), Refusal::Old);
    refused(&mut air, &with(|one| one.report.transmissions = u32::MAX).encode(&key), Refusal::Impossible);
    let boast = with(|one| (one.report.packets, one.report.transmissions) = (1 << 20, 1 << 20));
    let mut boast = boast;
    boast.report.frames = 1 << 16;
    refused(&mut air, &boast.encode(&key), Refusal::Unsent);
    refused(&mut air, &[0; 64], Refusal::Version);
    refused(&mut air, &[], Refusal::Length);
    refused(&mut air, &[2; 4096], Refusal::Length);
    assert_eq!(air.sender.poll(id(0), air.now).expect("joined").rate, rate);
    assert_eq!(air.sender.refused(), 5);
    assert_eq!(air.sender.report(air.now, &honest.encode(&key)), Ok(id(0)));
    refused(&mut air, &honest.encode(&key), Refusal::Old);
}
