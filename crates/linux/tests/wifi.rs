//! Settings, counters, completions and notifications of a real mac80211. The test changes settings and removes a station, so it runs only
//! if AIRBOUND_TEST_WIFI names the interface of an access point for tests, such as the laboratory's:
//! `airbound lab shell --command 'AIRBOUND_TEST_WIFI=wlan0 /files/wifi --nocapture' --with TEST_PROGRAM`.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stderr, reason = "reports what is skipped")]

use std::process::Command;
use std::time::{Duration, Instant};

use airbound_linux::completions::{CompletionConfig, Completions, Fate, Source};
use airbound_linux::interface::Interface;
use airbound_linux::monitor::{Change, Monitor};
use airbound_linux::neighbours::Neighbours;
use airbound_linux::nfqueue::{Queue, QueueConfig};
use airbound_linux::nftables::{Plane, Rules, Table};
use airbound_linux::nl80211::{
    Band, BitrateMask, Role, Station, Switch, TidConfig, TxqLimits, WifiInterface, Wireless,
};
use airbound_linux::packet::Headers;
use airbound_units::Span;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const QUEUE: u16 = 64_903;

fn call(line: &str) -> bool {
    let mut words = line.split(' ');
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words).stdout(std::process::Stdio::null()).status().is_ok_and(|status| status.success())
}

fn until<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        if let Some(found) = look() {
            return Some(found);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    None
}

/// One test runs all parts in sequence, since they share the interface.
#[test]
fn a_real_access_point() {
    let Ok(name) = std::env::var("AIRBOUND_TEST_WIFI") else {
        return eprintln!("SKIPPED: AIRBOUND_TEST_WIFI names no access point for tests");
    };
    let mut wireless = Wireless::open().expect("nl80211");
    let interface = wireless.interface(&name).expect("the interface");
    assert_eq!(interface.role, Role::AccessPoint);
    let stations = wireless.stations(interface.index).expect("stations");
    let station = stations.first().expect("an associated station").clone();
    let neighbours = Neighbours::of(interface.index).expect("neighbours");
    let ip = (1..255u8)
        .map(|host| std::net::IpAddr::from([10, 0, 0, host]))
        .find(|ip| neighbours.station(*ip) == Some(station.address))
        .expect("the station's address");
    settings(&mut wireless, &interface, &station);
    traced(&interface, &station, ip);
    polled(&interface, &station, ip);
    noticed(&interface, &station);
}

fn settings(wireless: &mut Wireless, interface: &WifiInterface, station: &Station) {
    let wiphy = wireless.wiphy(interface.wiphy).expect("the radio");
    if wiphy.has_txqs() {
        let before = wiphy.txq_limits;
        let limits = TxqLimits { packets: Some(1234), ..TxqLimits::default() };
        wireless.set_txq_limits(interface.wiphy, &limits).expect("to limit the queues");
        let after = wireless.wiphy(interface.wiphy).expect("the radio").txq_limits;
        assert_eq!(after, TxqLimits { packets: Some(1234), ..before });
        wireless.set_txq_limits(interface.wiphy, &before).expect("to undo it");
    }
    if wiphy.has_airtime_fairness() {
        wireless.set_airtime_weight(interface.index, station.address, 512).expect("to set a weight");
        let weight = |wireless: &mut Wireless| {
            wireless.stations(interface.index).expect("stations").first().and_then(|one| one.airtime_weight)
        };
        assert_eq!(weight(wireless), Some(512));
        wireless.set_airtime_weight(interface.index, station.address, 256).expect("to undo it");
    }
    let config =
        TidConfig { tids: 0xff, long_retries: Some(9), ampdu: Some(Switch::On), ..TidConfig::default() };
    let set = wireless.set_tid_config(interface.index, Some(station.address), &config);
    assert_eq!(set.is_ok(), wiphy.tid.has_retries() && wiphy.tid.has_ampdu(), "{set:?}");
    let band = interface.frequency.and_then(Band::of_frequency).expect("a channel");
    let mask = BitrateMask { ht: Some(vec![0, 1, 2]), ..BitrateMask::default() };
    wireless.set_bitrate_mask(interface.index, band, &mask).expect("to mask rates");
    wireless.set_bitrate_mask(interface.index, band, &BitrateMask::default()).expect("to undo it");
    // The error has the kernel's explanation, or at least the error number.
    let nonsense = BitrateMask { ht: Some(vec![77]), ..BitrateMask::default() };
    let refused =
        wireless.set_bitrate_mask(interface.index, band, &nonsense).expect_err("there is no such rate");
    assert!(refused.errno().is_some(), "{refused}");
    let link = Interface::find(&interface.name).expect("the link");
    link.set_queue_length(link.queue_length + 1).expect("to set txqueuelen");
    assert_eq!(Interface::find(&interface.name).expect("the link").queue_length, link.queue_length + 1);
    link.set_queue_length(link.queue_length).expect("to undo it");
    eprintln!("settings: TID configuration {}", if set.is_ok() { "supported" } else { "not supported" });
}

/// A held packet is released with a mark, and its completion has the mark.
fn traced(interface: &WifiInterface, station: &Station, ip: std::net::IpAddr) {
    let config = CompletionConfig { source: Some(Source::Traced), ..CompletionConfig::default() };
    let mut completions = Completions::open(interface, &config).expect("eBPF");
    let config = QueueConfig { number: QUEUE, ..QueueConfig::default() };
    let mut queue = Queue::open(&config).expect("a queue");
    let rules = Rules::of(&interface.name, QUEUE, [Plane::Local]);
    let table = Table::install(&rules).expect("rules");
    assert!(table.is_present().expect("an answer"));
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").expect("a socket");
    socket.send_to(&[1; 200], (ip, 9)).expect("to send");
    let held = until(|| {
        let mut held = None;
        queue
            .receive(64, |packet| {
                let headers = Headers::read(packet.head).expect("an IP packet");
                if headers.destination == ip {
                    held = Some(packet.id);
                }
            })
            .expect("to receive");
        held
    });
    queue.accept(held.expect("the packet is held"), Some(0x00ab_cdef)).expect("a verdict");
    queue.flush().expect("to send it");
    // The frame is not sent yet; its completion wakes the reader.
    let patience = Timespec { tv_sec: 1, tv_nsec: 0 };
    let descriptor = completions.descriptor().expect("a descriptor");
    let woken = poll(&mut [PollFd::new(&descriptor, PollFlags::IN)], Some(&patience)).expect("to wait");
    assert_eq!(woken, 1, "the completion wakes the reader");
    let completion = until(|| {
        let mut found = None;
        completions
            .drain(airbound_linux::now(), |one| {
                if one.details.is_some_and(|details| details.mark == 0x00ab_cdef) {
                    found = Some(*one);
                }
            })
            .expect("to drain");
        found
    });
    let completion = completion.expect("a completion with the mark");
    assert_eq!((completion.station, completion.fate), (station.address, Fate::Acknowledged));
    let details = completion.details.expect("details");
    assert!(details.in_host.is_some_and(|host| details.in_driver.is_some_and(|driver| host >= driver)));
    assert!(details.rates[0].is_some() && completion.tries >= 1);
    table.remove().expect("to remove the rules");
    eprintln!("traced: {completion:?}");
}

fn polled(interface: &WifiInterface, station: &Station, ip: std::net::IpAddr) {
    let config = CompletionConfig {
        source: Some(Source::Polled),
        interval: Span::from_millis(5),
        ..CompletionConfig::default()
    };
    let mut completions = Completions::open(interface, &config).expect("counters");
    let socket = std::net::UdpSocket::bind("0.0.0.0:0").expect("a socket");
    for _ in 0..20 {
        socket.send_to(&[1; 200], (ip, 9)).expect("to send");
    }
    let mut frames = 0;
    let all = until(|| {
        completions
            .drain(airbound_linux::now(), |one| {
                assert_eq!(one.station, station.address);
                frames += one.frames;
            })
            .expect("to drain");
        (frames >= 20).then_some(())
    });
    assert!(all.is_some(), "{frames} of 20 frames");
    eprintln!("polled: {frames} frames");
}

/// Notifications of changes to neighbours, rules, stations and the interface.
fn noticed(interface: &WifiInterface, station: &Station) {
    let mut monitor = Monitor::open([interface.index]).expect("a monitor");
    let mut expect = |what: &str, wanted: &dyn Fn(&Change) -> bool| {
        let seen = until(|| {
            let mut seen = None;
            monitor.read(|change| {
                if wanted(&change) {
                    seen = Some(());
                }
            });
            seen
        });
        assert!(seen.is_some(), "{what}");
        eprintln!("noticed: {what}");
    };
    let name = &interface.name;
    assert!(call(&format!("ip neigh replace 10.0.0.99 lladdr 02:00:00:00:99:00 dev {name}")));
    expect(
        "a new neighbour",
        &|change| matches!(change, Change::Neighbour(one) if one.station.is_some_and(|mac| mac.0[4] == 0x99)),
    );
    assert!(call(&format!("ip neigh del 10.0.0.99 dev {name}")));
    expect("a neighbour gone", &|change| matches!(change, Change::Neighbour(one) if one.station.is_none()));
    let rules = Rules::of(name, QUEUE, [Plane::Routed, Plane::Bridged]);
    let table = Table::install(&rules).expect("rules");
    assert!(call("nft flush ruleset"), "to flush the rules");
    expect("rules flushed", &|change| *change == Change::RulesTouched);
    assert!(!table.is_present().expect("an answer"));
    assert!(call(&format!("iw dev {name} station del {}", station.address)));
    expect("a station thrown out", &|change| *change == Change::StationLeft(station.address));
    assert!(call(&format!("ip link set {name} down")));
    expect("the interface down", &|change| matches!(change, Change::Interface(link) if !link.is_up));
}
