//! The doctor's answers to observations made by hand, one for each cause.

use airbound_senders::diagnosis::{
    Cause, Counters, Diagnosis, Observations, Probe, Side, diagnose, schedule,
};
use airbound_units::{Instant, Span};

const LENGTH: Span = Span::from_secs(30);

fn at(seconds: f64) -> Instant {
    Instant::ZERO + Span::from_secs_f64(seconds)
}

/// Probes for 30 s with the round trips of `time(ms of sending)` in ms, near and far; `None` for lost.
fn probed(near: impl Fn(f64) -> Option<f64>, far: impl Fn(f64) -> Option<f64>) -> Observations {
    let mut seen = Observations { power_save: Some(true), ..Observations::default() };
    for (after, turn) in schedule(LENGTH) {
        let probe = |time: Option<f64>| Probe {
            sent: Instant::ZERO + after,
            round_trip: time.map(|millis| Span::from_secs_f64(millis / 1000.0)),
        };
        if turn.near {
            seen.near.push(probe(near(after.as_millis_f64())));
        }
        if turn.far {
            seen.far.push(probe(far(after.as_millis_f64())));
        }
    }
    seen.counters = vec![Counters::default(), counted(-50.0, 0.05, 0.1, 0.05)];
    seen
}

/// Counters after 30 s: signal, retries for each frame, shares of the time that all and this network held the channel.
fn counted(signal: f64, retries: f64, busy: f64, own: f64) -> Counters {
    let first = Counters { signal: Some(signal), ..Counters::default() };
    Counters {
        at: at(30.0),
        sent: Some(1000),
        retries: Some((1000.0 * retries) as u64),
        on_channel: Some(LENGTH),
        busy: Some(LENGTH.mul_f64(busy)),
        own: Some(LENGTH.mul_f64(own)),
        ..first
    }
}

fn with(mut seen: Observations, counters: Counters) -> Observations {
    let zero = Some(Span::ZERO);
    let first =
        Counters { sent: Some(0), retries: Some(0), on_channel: zero, busy: zero, own: zero, ..counters };
    seen.counters = vec![Counters { at: at(0.0), ..first }, counters];
    seen
}

/// The rest of an absence of `length` ms at every `period` ms, else 2 ms.
fn away(period: f64, length: f64) -> impl Fn(f64) -> Option<f64> {
    move |ms| Some(2.0 + (length - ms % period).max(0.0))
}

fn quick(_: f64) -> Option<f64> {
    Some(2.0)
}

/// One probe of `n`, at no period, takes 40 ms.
fn now_and_then(n: u64) -> impl Fn(f64) -> Option<f64> {
    let drawn = |number: u64| {
        (number.wrapping_mul(6_364_136_223_846_793_005) ^ 0x9e37_79b9_7f4a_7c15).rotate_left(23)
    };
    let mixed = move |number| drawn(drawn(number)) >> 33;
    move |ms| Some(if mixed((ms / 10.0) as u64).is_multiple_of(n) { 40.0 } else { 2.0 })
}

#[track_caller]
fn says(seen: &Observations, cause: Cause) -> Diagnosis {
    let found = diagnose(seen);
    assert_eq!(found.cause, cause, "{found:#?}");
    assert!(found.sentence.split_whitespace().count() <= 20, "{}", found.sentence);
    assert!(found.advice.matches(". ").count() == 0 && found.advice.ends_with('.'), "{}", found.advice);
    found
}

#[test]
fn a_link_without_trouble_is_healthy() {
    says(&probed(quick, |_| Some(30.0)), Cause::Healthy);
    says(&Observations::default(), Cause::Healthy);
}

#[test]
fn late_probes_in_scans_are_those_of_scans() {
    let mut seen = probed(away(9000.0, 120.0), away(9000.0, 120.0));
    seen.scans =
        (0..4).map(|number| (at(9.0 * f64::from(number)), at(9.0 * f64::from(number) + 0.12))).collect();
    let found = says(&seen, Cause::Scan);
    assert!(
        found.evidence.iter().any(|row| row.what == "scan" && row.value == "9.0 s after the start, 120 ms")
    );
    // The same without a scan that this machine knows of.
    seen.scans.clear();
    says(&seen, Cause::Away);
}

/// Fades delay more probes than two scans do; a scan of the own channel delays none.
#[test]
fn scans_are_named_beside_fades() {
    let scan = |ms: f64| {
        [3000.0, 12_000.0].iter().map(|begin| begin + 185.0 - ms).find(|left| (0.0..185.0).contains(left))
    };
    let waits = |ms: f64| scan(ms).map_or_else(|| now_and_then(25)(ms), |left| Some(2.0 + left));
    let scans = vec![(at(3.0), at(3.185)), (at(12.0), at(12.185))];
    let seen = Observations { scans: scans.clone(), ..swinging(probed(waits, waits), 3.0, 0.2) };
    let found = says(&seen, Cause::Scan);
    assert!(found.sentence.contains("of the probes that were sent meanwhile"), "{}", found.sentence);
    says(
        &Observations { scans: scans.clone(), ..swinging(probed(now_and_then(25), quick), 3.0, 0.2) },
        Cause::Healthy,
    );
    // Where as many are late all the time, the scans are not the reason.
    let always = probed(now_and_then(1), quick);
    says(&Observations { scans, ..with(always, counted(-50.0, 0.1, 0.8, 0.1)) }, Cause::Contention);
}

#[test]
fn who_sleeps_waits_after_a_pause_only() {
    let sleeps = |ms: f64| Some(if ms > 20_000.0 { 2.0 + 102.4 - ms % 102.4 } else { 2.0 });
    let mut seen = probed(sleeps, quick);
    says(&seen, Cause::Sleep);
    seen.power_save = Some(false);
    assert_ne!(diagnose(&seen).cause, Cause::Sleep);
    // A station that an access point probes stays asleep: all wait for the beacons.
    let asleep = |ms: f64| Some(2.0 + 102.4 - ms % 102.4);
    says(&Observations { side: Side::AccessPoint, power_save: None, ..probed(asleep, quick) }, Cause::Sleep);
}

/// A request triggers a service period (U-APSD), which the answer of the gateway reaches, and that of a far host does not: it waits for a
/// beacon, or for the next request.
#[test]
fn a_radio_that_sleeps_before_the_far_answer_comes_sleeps() {
    let until_beacon = |ms: f64| 102.4 - (ms + 20.0) % 102.4;
    let far = move |ms: f64| Some(if ms > 20_000.0 { 20.0 + until_beacon(ms) } else { 20.0 });
    let found = says(&probed(quick, far), Cause::Sleep);
    assert!(found.sentence.starts_with("A radio sleeps: "), "{}", found.sentence);
    let seen = Observations { power_save: Some(false), ..probed(quick, far) };
    assert_ne!(diagnose(&seen).cause, Cause::Sleep);
    // An access point has no radio on its far way; a far link that wakes after a pause knows no beacons; a wire that delays all the time.
    let seen = Observations { side: Side::AccessPoint, power_save: None, ..probed(quick, far) };
    assert_ne!(diagnose(&seen).cause, Cause::Sleep);
    says(&probed(quick, |ms| Some(if ms > 20_000.0 { 80.0 } else { 20.0 })), Cause::Healthy);
    says(&probed(quick, |ms| Some(if ms < 100.0 { 20.0 } else { 20.0 + until_beacon(ms) })), Cause::Wire);
}

#[test]
fn a_period_is_named_with_its_length() {
    let found = says(&probed(away(524.288, 64.0), away(524.288, 64.0)), Cause::Away);
    assert!(found.sentence.starts_with("A radio leaves the channel every 524 ms for "), "{}", found.sentence);
}

#[test]
fn eight_absences_show_a_period_though_all_is_lost_in_them() {
    let away = |ms: f64| (ms % 2404.0 >= 268.0).then_some(2.0);
    let found = says(&with(probed(away, away), counted(-50.0, 0.4, 0.1, 0.1)), Cause::Away);
    assert!(
        found.sentence.starts_with("A radio leaves the channel every 2404 ms for "),
        "{}",
        found.sentence
    );
}

#[test]
fn losses_that_this_end_did_not_retry_are_said_as_such() {
    let lossy = |ms: f64| now_and_then(50)(ms).filter(|delay| *delay < 40.0);
    let found = says(&with(probed(lossy, lossy), counted(-50.0, 0.02, 0.1, 0.1)), Cause::Retries);
    assert!(found.sentence.starts_with("The air loses "), "{}", found.sentence);
    // Held in three absences, with a few losses: the way was closed.
    let closed =
        |ms: f64| match [1000.0, 4500.0, 13_700.0].iter().find(|begin| (0.0..200.0).contains(&(ms - *begin)))
        {
            Some(begin) if ms - begin >= 90.0 => Some(2.0 + begin + 200.0 - ms),
            Some(_) => None,
            None => Some(2.0),
        };
    says(&with(probed(closed, closed), counted(-50.0, 0.02, 0.1, 0.02)), Cause::Away);
}

#[test]
fn counters_tell_causes_of_the_air_apart() {
    let late = || probed(now_and_then(20), now_and_then(20));
    says(&with(late(), counted(-50.0, 0.1, 0.8, 0.1)), Cause::Contention);
    says(&with(late(), counted(-50.0, 0.6, 0.3, 0.1)), Cause::Retries);
    says(&with(late(), counted(-80.0, 0.6, 0.3, 0.1)), Cause::WeakSignal);
    says(&with(late(), counted(-50.0, 0.1, 0.9, 0.8)), Cause::Queue);
    says(&with(late(), counted(-50.0, 0.1, 0.2, 0.1)), Cause::Unknown);
    // Nothing answers on a full channel.
    says(&with(probed(|_| None, |_| None), counted(-50.0, 0.1, 0.9, 0.0)), Cause::Contention);
}

/// Of 20 round trips the longest does not count (draft-ietf-ippm-responsiveness-06).
#[test]
fn a_queue_has_its_round_trips_a_minute_and_a_healthy_link_none() {
    let seen = probed(|ms| Some(if ms < 1000.0 { 2.0 } else { 40.0 }), quick);
    let found = says(&with(seen, counted(-50.0, 0.1, 0.9, 0.8)), Cause::Queue);
    let value = |found: &Diagnosis, what: &str| {
        found.evidence.iter().find(|row| row.what == format!("round trips a minute (RPM), {what}")).cloned()
    };
    // 2 and 40 ms in the shares of the first second and of the others; 95 % of them.
    let near = value(&found, "near").unwrap().value;
    let (loaded, unloaded) = near.split_once("; at the least round trip ").unwrap();
    assert_eq!(unloaded, "30000");
    let loaded: f64 = loaded.parse().unwrap();
    assert!((1500.0..1650.0).contains(&loaded), "{loaded}");
    assert_eq!(value(&found, "far").unwrap().value, "30000; at the least round trip 30000");
    assert_eq!(value(&says(&probed(quick, quick), Cause::Healthy), "near"), None);
}

/// Counters each second, with a signal that swings by `swing` dB in each direction.
fn swinging(seen: Observations, swing: f64, retries: f64) -> Observations {
    let counters = (0..=30_u32).map(|second| {
        let part = f64::from(second) / 30.0;
        let up = if second % 2 == 0 { swing } else { -swing };
        let all = counted(-50.0 + up, retries, 0.2, 0.1);
        let some = |whole: Option<u64>| whole.map(|whole| (part * whole as f64) as u64);
        let time = |whole: Option<Span>| whole.map(|whole| whole.mul_f64(part));
        Counters {
            at: at(f64::from(second)),
            sent: some(all.sent),
            retries: some(all.retries),
            on_channel: time(all.on_channel),
            busy: time(all.busy),
            own: time(all.own),
            ..all
        }
    });
    Observations { counters: counters.collect(), ..seen }
}

#[test]
fn fades_of_a_good_link_are_no_fault() {
    let late = || probed(now_and_then(30), now_and_then(30));
    let found = says(&swinging(late(), 3.0, 0.4), Cause::Healthy);
    assert!(found.sentence.ends_with("as the signal fades by 3 dB."), "{}", found.sentence);
    // Somebody minds; the signal rests; more retries than rate control settles for in fades; more late probes than fades explain; loss.
    let stuttering = Observations { stutters: true, ..swinging(late(), 3.0, 0.4) };
    let found = says(&stuttering, Cause::Retries);
    assert!(found.sentence.starts_with("Frames fail as the signal fades by 3 dB"), "{}", found.sentence);
    says(&swinging(late(), 1.0, 0.4), Cause::Retries);
    says(&swinging(late(), 3.0, 0.6), Cause::Retries);
    says(&swinging(probed(now_and_then(6), now_and_then(6)), 3.0, 0.4), Cause::Unknown);
    let lossy = |ms: f64| now_and_then(30)(ms).filter(|time| *time < 10.0);
    says(&swinging(probed(lossy, lossy), 3.0, 0.4), Cause::Retries);
}

#[test]
fn loss_beyond_the_gateway_is_the_wires() {
    let lossy = |ms: f64| (ms as u64 % 700 >= 60).then_some(30.0);
    says(&probed(quick, lossy), Cause::Wire);
    // A gateway that answers no echo requests is not judged.
    let found = says(&probed(|_| None, |_| Some(30.0)), Cause::Healthy);
    assert!(found.missing[0].starts_with("no probe of the near end was answered"), "{:?}", found.missing);
    let found = says(&Observations { side: Side::Wired, ..probed(now_and_then(20), quick) }, Cause::Wire);
    assert!(found.sentence.contains("to the gateway"), "{}", found.sentence);
}

#[test]
fn a_machine_that_stalls_blames_no_network() {
    let stall = Span::from_millis(120);
    let mut seen = probed(away(2000.0, 120.0), away(2000.0, 120.0));
    seen.stalls = (0..15).map(|number| (at(2.0 * f64::from(number)), stall)).collect();
    let found = says(&seen, Cause::Program);
    assert!(found.sentence.contains("120 ms"), "{}", found.sentence);
    // Seldom closed by the air besides: the larger share of the time is felt. A few stalls are not.
    let closed = |ms: f64| {
        let left = [1000.0, 4500.0, 13_700.0].iter().map(|begin| begin + 100.0 - ms);
        Some(2.0 + left.filter(|left| (0.0..100.0).contains(left)).sum::<f64>())
    };
    let stalls = |count: u32| (0..count).map(|number| (at(0.4 + f64::from(number)), stall)).collect();
    says(&Observations { stalls: stalls(29), ..probed(closed, closed) }, Cause::Program);
    says(&Observations { stalls: stalls(1), ..probed(closed, closed) }, Cause::Away);
    let well = probed(quick, quick);
    says(&Observations { unread: 3, ..well.clone() }, Cause::Program);
    says(&Observations { stutters: true, ..well }, Cause::Program);
}
