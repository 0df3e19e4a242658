//! Steps of the state machine of Sec. 3.4 and algorithm 1.

use airbound_units::Span;
use airbound_wifi::rate::{Format, Width};

use super::config::{CleanUpRate, LawConfig};
use super::controller::{Controller, LawState, Transmission};
use super::probe::ProbeOutcome;
use crate::link::law::config::LawRates;
use crate::link::law::rate_set;
use crate::rate::Capabilities;

/// MCS 0 to 7, the rates of the paper's card.
fn controller(config: &LawConfig) -> Controller {
    let capabilities =
        Capabilities { format: Format::Ht, width: Width::Mhz20, max_streams: 1, ..Capabilities::default() };
    Controller::new(rate_set::rates(LawRates::default(), &capabilities).expect("valid"), config)
}

fn end(rate: usize, micros: u64, arrived: bool) -> Transmission {
    Transmission {
        rate,
        time: Span::from_micros(micros),
        mpdus: 1,
        arrived: f64::from(u8::from(arrived)),
        sent: true,
        first: true,
    }
}

/// Sends one packet as planned; it arrives after `micros` at the lowest rate and `faster` less at each next one.
fn send(controller: &mut Controller, config: &LawConfig, micros: u64, faster: u64) {
    let attempt = controller.attempt(config);
    let micros = micros - faster * attempt.rate as u64;
    let time = Span::from_micros(micros);
    controller.on_transmission(&end(attempt.rate, micros, true), config);
    controller.on_delivered();
    if let Some(round) = attempt.probe {
        let outcome = ProbeOutcome { round, lost: false, retransmissions: 0, time, mpdus: 1 };
        controller.on_probe(outcome, config);
    }
}

fn deliver(controller: &mut Controller, config: &LawConfig, micros: u64) {
    send(controller, config, micros, 0);
}

/// One packet that is lost after one software transmission.
fn lose(controller: &mut Controller, config: &LawConfig) {
    let attempt = controller.attempt(config);
    controller.on_transmission(&end(attempt.rate, 2500, false), config);
    controller.on_lost(Some(attempt.rate), config);
}

/// A controller that has climbed to an index of the rate set, each rate faster than the one before.
fn climbed(config: &LawConfig, place: usize) -> Controller {
    let mut controller = controller(config);
    for _ in 0..2000 {
        if controller.rate() >= place && controller.state() == LawState::Stable {
            break;
        }
        send(&mut controller, config, 2000, 200);
    }
    assert_eq!(controller.rate(), place);
    controller
}

#[test]
fn five_successes_start_a_probe_of_two_packets() {
    let config = LawConfig::default();
    let mut controller = controller(&config);
    for _ in 0..5 {
        assert_eq!((controller.state(), controller.attempt(&config).tries), (LawState::Stable, 4));
        deliver(&mut controller, &config, 2000);
    }
    let probes = [(); 3].map(|()| controller.attempt(&config));
    assert_eq!(controller.state(), LawState::Probing);
    assert_eq!(probes.map(|attempt| (attempt.rate, attempt.tries)), [(1, 2), (1, 2), (0, 4)]);
}

#[test]
fn a_probe_that_is_no_faster_comes_back_and_is_tried_later() {
    let config = LawConfig::default();
    let mut controller = controller(&config);
    for _ in 0..7 {
        deliver(&mut controller, &config, 2000);
    }
    assert_eq!((controller.state(), controller.rate()), (LawState::Stable, 0));
    assert_eq!((controller.failed_probes(), controller.threshold(&config)), (1, 10));
    // Ten more successes, then two packets that are again no faster.
    for _ in 0..12 {
        deliver(&mut controller, &config, 2000);
    }
    assert_eq!((controller.rate(), controller.failed_probes(), controller.threshold(&config)), (0, 2, 15));
}

#[test]
fn a_software_retransmission_is_sent_one_rate_down() {
    let config = LawConfig::default();
    let mut controller = climbed(&config, 3);
    for _ in 0..12 {
        controller.on_transmission(&end(3, 2900, false), &config);
    }
    controller.on_retransmission(3, &config);
    assert_eq!((controller.rate(), controller.retransmission_attempt(&config, None).rate), (2, 2));
}

#[test]
fn two_software_retransmissions_in_a_row_may_be_asked_for() {
    let config = LawConfig { rate_down_retransmissions: 2, ..LawConfig::default() };
    let mut controller = climbed(&config, 3);
    controller.on_transmission(&end(3, 2500, false), &config);
    controller.on_retransmission(3, &config);
    assert_eq!(controller.rate(), 3);
    // Transmissions at another rate do not count.
    controller.on_retransmission(2, &config);
    assert_eq!(controller.rate(), 3);
    for _ in 0..12 {
        controller.on_transmission(&end(3, 2900, false), &config);
    }
    controller.on_retransmission(3, &config);
    assert_eq!((controller.rate(), controller.retransmissions()), (2, 0));
}

#[test]
fn too_old_a_packet_enters_the_clean_up_state_and_a_short_queue_leaves_it() {
    let config = LawConfig { clean_up_rate: CleanUpRate::Present, ..LawConfig::default() };
    let mut controller = climbed(&config, 3);
    controller.on_too_old(&config);
    assert_eq!((controller.state(), controller.attempt(&config).tries), (LawState::CleanUp, 2));
    assert_eq!(controller.permitted(&config), 0);
    // Two drops in a row lower the rate; the saved one stays, even when the state is entered again.
    lose(&mut controller, &config);
    assert_eq!(controller.rate(), 3);
    lose(&mut controller, &config);
    assert_eq!(controller.rate(), 2);
    controller.on_too_old(&config);
    controller.on_passed(10, Some(10.0), &config);
    assert_eq!(controller.state(), LawState::CleanUp, "equality changes nothing");
    controller.on_passed(9, Some(10.0), &config);
    assert_eq!((controller.state(), controller.rate()), (LawState::Stable, 3));
}

#[test]
fn successes_raise_the_rate_in_the_clean_up_state() {
    let config = LawConfig { clean_up_rate: CleanUpRate::Present, ..LawConfig::default() };
    let mut controller = climbed(&config, 2);
    controller.on_enqueued(11, Some(10.0), &config);
    assert_eq!((controller.state(), controller.threshold(&config)), (LawState::CleanUp, 15));
    for _ in 0..15 {
        assert_eq!(controller.rate(), 2);
        deliver(&mut controller, &config, 1500);
    }
    assert_eq!((controller.rate(), controller.threshold(&config)), (3, 20));
}

#[test]
fn the_clean_up_state_begins_with_rate_min_and_an_empty_queue_ends_it() {
    let config = LawConfig::default();
    let mut controller = climbed(&config, 5);
    // The present rate has become slow; the next lower one was the fastest.
    for _ in 0..12 {
        controller.on_transmission(&end(5, 2900, false), &config);
    }
    controller.on_too_old(&config);
    assert_eq!(controller.rate(), 4);
    controller.on_passed(0, Some(0.0), &config);
    assert_eq!((controller.state(), controller.rate()), (LawState::Stable, 5));
}

#[test]
fn three_losses_in_a_row_give_the_next_packet_one_more_retransmission() {
    let config = LawConfig::default();
    let mut controller = climbed(&config, 2);
    for permitted in [1, 1, 1, 2] {
        assert_eq!(controller.permitted(&config), permitted);
        controller.on_lost(None, &config);
    }
    controller.on_too_old(&config);
    assert_eq!(controller.permitted(&config), 1);
    controller.on_delivered();
    assert_eq!(controller.permitted(&config), 0);
}

#[test]
fn packets_that_expired_lower_the_rate_where_they_count() {
    for (rate_down_expired, rate) in [(false, 2), (true, 1)] {
        let clean_up_rate = CleanUpRate::Present;
        let config = LawConfig { rate_down_expired, clean_up_rate, ..LawConfig::default() };
        let mut controller = climbed(&config, 2);
        controller.on_too_old(&config);
        controller.on_lost(None, &config);
        assert_eq!(controller.rate(), 2);
        controller.on_lost(None, &config);
        assert_eq!(controller.rate(), rate);
    }
}

#[test]
fn a_psdu_never_sent_does_not_count_for_the_rate() {
    let config = LawConfig::default();
    let mut controller = climbed(&config, 2);
    let before = (controller.current_averages(), controller.successes());
    controller.on_transmission(&Transmission { sent: false, ..end(2, 3000, false) }, &config);
    assert_eq!((controller.current_averages(), controller.successes()), before);
}
