//! Law in the access point's driver: its bound holds, every frame is completed once, and no receiver waits for a lost frame.

use std::collections::BTreeMap;

use airbound_control::link::LawConfig;
use airbound_lab::channel::{Command, Event, Frame, Step};
use airbound_lab::medium::Medium;
use airbound_lab::plan::{self, Driver};
use airbound_scenario::{Overrides, Scenario};
use airbound_units::{Instant, Span};

use crate::driver::{HT, data_frame, us};

/// Two stations with a signal-to-noise ratio each, and a queue of the scheme.
fn scenario(snr: [&str; 2], queue: &str) -> Scenario {
    let stations = snr
        .map(|snr| format!("[[station]]\nname = \"s\"\nchannel = {{ kind = \"fixed\", snr = \"{snr}\" }}\n"));
    let stations = [stations[0].clone(), stations[1].replace("\"s\"", "\"t\"")].concat();
    let text = format!(
        "duration = \"1 s\"\n[scheme]\nqueue = {queue}\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\n[access-point]\npreset = \"mac80211\"\n\
         streams = 1\n[uplink]\nqueue = \"linux\"\npreset = \"mac80211\"\n{stations}[[flow]]\nname = \"f\"\nkind = \"voip\"\nstation = \"s\"\n"
    );
    Scenario::parse(&text, "test", &Overrides::none()).expect("a scenario")
}

/// A frame of 1500 B from the access point, with a chain of MCS 0.
fn frame(to: u8, cookie: u32, at: Instant) -> Frame {
    let step = Step { index: 0, tries: 4, flags: HT };
    data_frame((0, to), cookie, at, cookie as u16 & 0xfff, (1538, [step, Step::NONE]))
}

/// Completions of frames, which are numbered in the order of arrival.
#[derive(Debug, Default)]
struct Fates {
    delivered: BTreeMap<u32, Instant>,
    acked: BTreeMap<u32, Instant>,
    lost: BTreeMap<u32, Instant>,
    /// Lost frames after whose report an earlier frame was delivered.
    in_vain: Vec<u32>,
    /// Rates of PPDUs.
    rates: Vec<Step>,
}

impl Fates {
    fn note(&mut self, at: Instant, command: &Command, to: impl Fn(u32) -> u8) {
        match *command {
            Command::Deliver { cookie, .. } => {
                assert!(self.delivered.insert(cookie, at).is_none(), "{cookie} was delivered twice");
                let mut lost = self.lost.range(cookie..).filter(|(later, _)| to(**later) == to(cookie));
                self.in_vain.extend(lost.next().map(|(later, _)| *later));
            }
            Command::Done { cookie, acked, .. } => {
                let known = self.acked.contains_key(&cookie) || self.lost.contains_key(&cookie);
                assert!(!known, "{cookie} was completed twice");
                let fates = if acked { &mut self.acked } else { &mut self.lost };
                fates.insert(cookie, at);
            }
            Command::Ppdu { rates, .. } => self.rates.push(rates[0]),
            Command::Alarm(_) | Command::Survey { .. } => {}
        }
    }
}

/// A frame every `gap` us for a second, to the stations in turn.
fn play(scenario: &Scenario, gap: u64, stations: u8) -> (Fates, BTreeMap<u32, Instant>) {
    let mut medium = Medium::new(scenario, 1, Instant::ZERO).expect("a medium");
    let mut fates = Fates::default();
    let mut handed = BTreeMap::new();
    let to = |cookie: u32| 1 + (cookie % u32::from(stations)) as u8;
    let mut catch_up = |medium: &mut Medium, until: Instant| {
        loop {
            let next = medium.next_deadline().min(until);
            medium.advance(next);
            medium.take_commands().iter().for_each(|command| fates.note(next, command, to));
            if next == until {
                break;
            }
        }
    };
    for cookie in 0..(1_000_000 / gap) as u32 {
        let at = us(1000 + u64::from(cookie) * gap);
        catch_up(&mut medium, Instant::from_nanos(at.as_nanos() - 1));
        handed.insert(cookie, at);
        medium.on_event(Event::Frame(Box::new(frame(to(cookie), cookie, at))));
    }
    catch_up(&mut medium, us(3_000_000));
    medium.close();
    medium.take_commands().iter().for_each(|command| fates.note(us(3_000_000), command, to));
    (fates, handed)
}

const LAW: &str = "{ kind = \"law\", inside = \"fifo\" }";

fn oldest(fates: &Fates, handed: &BTreeMap<u32, Instant>) -> Span {
    fates.delivered.iter().map(|(cookie, at)| at.since(handed[cookie])).max().expect("something arrives")
}

#[test]
fn on_a_weak_link_frames_expire_and_none_is_delivered_late() {
    // 24 Mb/s, twice the channel's capacity.
    let (fates, handed) = play(&scenario(["8 dB", "30 dB"], LAW), 500, 1);
    assert_eq!(fates.acked.len() + fates.lost.len(), handed.len());
    assert_eq!(fates.acked.keys().collect::<Vec<_>>(), fates.delivered.keys().collect::<Vec<_>>());
    assert!(fates.lost.len() > 200 && fates.delivered.len() > 200, "{} lost", fates.lost.len());
    // The exchange on the air at the end takes at most Limit_h.
    let config = LawConfig::default();
    let bound = config.bound() + config.limit_h;
    let law = oldest(&fates, &handed);
    assert!(law <= bound, "{law} is above {bound}");
    // The rates are Law's, above those of the kernel's chain.
    assert!(fates.rates.iter().filter(|step| step.index > 0).count() * 2 > fates.rates.len());
    // The kernel's queue would have kept the frames.
    let (kernel, handed) = play(&scenario(["8 dB", "30 dB"], "\"linux\""), 500, 1);
    assert!(oldest(&kernel, &handed) > bound * 2);
}

#[test]
fn a_frame_is_reported_as_lost_when_no_earlier_one_can_arrive_any_more() {
    for (snr, gap) in [(["4 dB", "30 dB"], 700), (["6 dB", "5 dB"], 400), (["30 dB", "30 dB"], 200)] {
        let (fates, handed) = play(&scenario(snr, LAW), gap, 2);
        assert_eq!(fates.acked.len() + fates.lost.len(), handed.len());
        assert!(!fates.lost.is_empty());
        assert_eq!(fates.in_vain, Vec::<u32>::new());
    }
}

#[test]
fn only_the_last_queued_request_is_sent() {
    let mut medium = Medium::new(&scenario(["30 dB", "30 dB"], LAW), 1, Instant::ZERO).expect("a medium");
    // A frame is on the air while they arrive.
    medium.on_event(Event::Frame(Box::new(frame(1, 0, us(1000)))));
    medium.advance(us(1010));
    for (cookie, tid) in [(1, 0), (2, 3), (3, 0), (4, 0)] {
        let mut request = Frame { aggregates: false, length: 24, ..frame(1, cookie, us(1020)) };
        (request.head[0], request.head[17]) = (0x84, tid << 4);
        request.rates[0] = Step { index: 0, tries: 4, flags: 0 };
        medium.on_event(Event::Frame(Box::new(request)));
    }
    medium.advance(us(100_000));
    let commands = medium.take_commands();
    let delivered: Vec<u32> = commands
        .iter()
        .filter_map(|one| if let Command::Deliver { cookie, .. } = one { Some(*cookie) } else { None })
        .collect();
    assert_eq!(delivered, [0, 2, 4]);
    let acked = |one: &&Command| matches!(one, Command::Done { acked: true, .. });
    assert_eq!(commands.iter().filter(acked).count(), 5);
}

#[test]
fn law_becomes_the_scheme_with_all_frames_in_the_driver() {
    let stock = scenario(["20 dB", "20 dB"], "\"linux\"");
    assert_eq!(Driver::Kernel.put_into(&stock).expect("a laboratory"), stock);
    let law = Driver::Law.put_into(&stock).expect("a laboratory");
    assert_eq!(law.scheme.to_string(), "law+law+cubic");
    let parameters = plan::driver_parameters(&law);
    assert!(parameters.contains("aql=0") && parameters.contains("depth=1500"), "{parameters}");
    // The guest reads the same scenario.
    let read = Scenario::parse(&law.to_toml(), "resolved", &Overrides::none()).expect("a scenario");
    assert_eq!(read.scheme, law.scheme);
    // Parameters of the scheme's own Law are kept.
    let own = scenario(["20 dB", "20 dB"], "{ kind = \"law\", limit-q = \"20 ms\" }");
    let config = Driver::Law.put_into(&own).expect("a laboratory").scheme.queue.law_config().expect("Law");
    assert_eq!((config.limit_q, config.inner_queue.0.name()), (Span::from_millis(20), "fifo"));
}

#[test]
fn unsupported_schemes_are_refused() {
    let refusal = |driver: Driver, queue: &str| {
        driver.put_into(&scenario(["20 dB", "20 dB"], queue)).expect_err("refused").to_string()
    };
    assert!(refusal(Driver::Kernel, "\"law\"").contains("--driver law"));
    assert!(refusal(Driver::Law, "\"law-last-pq\"").contains("inside Law is last-pq"));
    assert!(refusal(Driver::Law, "{ kind = \"law\", classic = \"auto\" }").contains("classic"));
}
