//! Law in the simulator: its bound holds for any channel and load, and schemes that name it are read.

use crate::simulate;
use std::collections::BTreeMap;

use airbound_control::classify::Verdict;
use airbound_control::link::{LawConfig, LawState};
use airbound_record::Fate;
use airbound_scenario::{Overrides, Scenario, Scheme};
use airbound_units::{Instant, Span};
use proptest::prelude::*;

/// A scenario with one link under Law: `channel`, and flows over it.
fn home(law: &str, standard: &str, mpdus: u16, channel: &str, rest: &str) -> String {
    format!(
        "duration = \"600 ms\"\n[air]\nstandard = \"{standard}\"\n[scheme]\nqueue = {law}\n\
         [access-point.path]\nmax-ampdu-mpdus = {mpdus}\n\
         [[station]]\nname = \"a\"\nchannel = {channel}\n[[station]]\nname = \"b\"\n\
         channel = {{ kind = \"fixed\", snr = \"25 dB\" }}\n{rest}"
    )
}

fn worlds() -> impl Strategy<Value = (String, Span)> {
    let inner = prop::sample::select(vec!["fifo", "codel", "linux", "last-pq", "round-robin"]);
    let law = (2..50u64, 500..4000u64, 2..4u8, inner).prop_map(|(q, h, psdus, inner)| {
        let text = format!(
            "{{ kind = \"law\", limit-q = \"{q} ms\", limit-h = \"{h} us\", psdus-in-hardware = {psdus}, inside = \"{inner}\" }}"
        );
        (text, Span::from_millis(q) + Span::from_micros(h) * u64::from(psdus))
    });
    let channel = prop_oneof![
        (0..30i32).prop_map(|snr| format!("{{ kind = \"fixed\", snr = \"{snr} dB\" }}")),
        (5..60u32).prop_map(|metres| format!(
            "{{ kind = \"log-distance\", distance = \"{metres} m\", shadowing = \"6 dB\", shadowing-coherence = \"50 ms\", fading = \"rayleigh\" }}"
        )),
    ];
    let flows = prop::collection::vec(
        (1..40u32, prop::sample::select(vec!["a", "b"]), prop::sample::select(vec!["bk", "be", "vi", "vo"])),
        1..4,
    )
    .prop_map(|flows| {
        let flow = |(index, (mbps, station, category)): (usize, (u32, &str, &str))| {
            format!(
                "[[flow]]\nname = \"f{index}\"\nkind = \"poisson\"\nstation = \"{station}\"\nrate = \"{mbps} Mbit/s\"\ncategory = \"{category}\"\n"
            )
        };
        flows.into_iter().enumerate().map(flow).collect::<String>()
    });
    let others = prop::sample::select(vec![
        "",
        "[[neighbour]]\nname = \"n\"\ntransmitters = 3\n",
        "[[neighbour]]\nname = \"n\"\ncategory = \"vi\"\nrate = \"OFDM 6 Mbit/s\"\n",
        "[[interference]]\nname = \"i\"\nmean-on = \"8 ms\"\nmean-off = \"20 ms\"\neffect = \"busy\"\n",
        "[[flow]]\nname = \"up\"\nkind = \"tcp\"\nstation = \"b\"\ndirection = \"up\"\n",
        "[[flow]]\nname = \"down\"\nkind = \"tcp\"\nstation = \"a\"\n",
    ]);
    let shape = (prop::sample::select(vec!["legacy", "ht", "vht"]), prop::sample::select(vec![1u16, 8, 64]));
    (law, channel, flows, others, shape).prop_map(
        |((law, bound), channel, flows, others, (standard, mpdus))| {
            let mpdus = if standard == "legacy" { 1 } else { mpdus };
            (home(&law, standard, mpdus, &channel, &(flows + others)), bound)
        },
    )
}

/// The longest time of a downlink packet in Law's link, and the greatest excess over bound and frame exchange.
fn longest(text: &str, bound: Span) -> (Span, Span) {
    let (_, rows) = simulate::observed(text);
    let exchanges: BTreeMap<u64, Span> =
        rows.txops.iter().map(|row| (row.txop, row.end - row.start)).collect();
    // After the flows of the scenario come those of neighbours; the last may be an uplink.
    let flows = text.matches("[[flow]]").count() - usize::from(text.contains("\"up\""));
    let ours = |flow: u32| usize::try_from(flow).unwrap() < flows;
    let (mut longest, mut excess) = (Span::ZERO, Span::ZERO);
    for row in rows.packets.iter().filter(|row| row.fate == Fate::Delivered && ours(row.flow)) {
        // A TCP flow's acknowledgements use the uplink.
        if row.enqueued == Instant::MAX || (text.contains("\"tcp\"") && row.size.as_u64() < 100) {
            continue;
        }
        let latency = row.delivered - row.enqueued;
        let exchange = exchanges.get(&row.txop).copied().unwrap_or_default();
        longest = longest.max(latency);
        excess = excess.max(latency - (bound + exchange));
    }
    (longest, excess)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 100, ..ProptestConfig::default() })]
    #[test]
    fn no_delivered_packet_exceeds_the_bound_by_more_than_a_frame_exchange((text, bound) in worlds()) {
        prop_assert_eq!(longest(&text, bound).1, Span::ZERO, "{}", text);
    }
}

/// A fading link with more load than capacity.
fn overloaded(queue: &str) -> String {
    home(
        queue,
        "ht",
        1,
        "{ kind = \"log-distance\", distance = \"35 m\", shadowing = \"6 dB\", shadowing-coherence = \"50 ms\", fading = \"rayleigh\" }",
        "[[flow]]\nname = \"f\"\nkind = \"cbr\"\nstation = \"a\"\nrate = \"20 Mbit/s\"\n\
         [[interference]]\nname = \"i\"\nmean-on = \"6 ms\"\nmean-off = \"30 ms\"\neffect = \"busy\"\n",
    )
}

#[test]
fn the_bound_is_reached_and_what_law_replaces_is_far_beyond_it() {
    let bound = LawConfig::default().bound();
    let (law, excess) = longest(&overloaded("\"law\""), bound);
    assert!(law > Span::from_millis(40) && excess.is_zero(), "{law}");
    let (linux, _) = longest(&overloaded("\"linux\""), bound);
    assert!(linux > bound + Span::from_millis(20), "{linux}");
}

#[test]
fn a_psdu_can_be_given_up_before_it_reaches_the_air() {
    let scenario = simulate::scenario(&overloaded("\"law\""));
    let (mut run, _) = simulate::prepare(&scenario);
    let mut states = Vec::new();
    while run.advance(Span::from_millis(1)) {
        let view = run.snapshot();
        let law = view.law.iter().find(|law| law.station.0 == 1).copied().unwrap();
        assert!(law.in_hardware <= 2);
        states.push(law.state);
    }
    for state in [LawState::Stable, LawState::Probing, LawState::CleanUp] {
        assert!(states.contains(&state), "never {}", state.name());
    }
    let counts = run.snapshot().law.iter().find(|law| law.station.0 == 1).unwrap().counts;
    assert!(counts.never_sent > 0 && counts.never_sent <= counts.failed, "{counts:?}");
    assert!(counts.retransmissions > 0 && counts.expired > 0 && counts.given_up > 0, "{counts:?}");
    run.finish().unwrap();
}

fn scheme(text: &str) -> Result<Scheme, String> {
    let text = format!(
        "duration = \"1 s\"\n{text}[[station]]\nname = \"s\"\n[[flow]]\nname = \"f\"\nkind = \"voip\"\nstation = \"s\"\n"
    );
    let read = Scenario::parse(&text, "test", &Overrides::none());
    read.map(|scenario| scenario.scheme).map_err(|error| error.to_string())
}

#[test]
fn law_fills_two_slots() {
    let default = scheme("").unwrap();
    assert_eq!(default.with_name("law").unwrap().to_string(), "law+law+cubic");
    assert_eq!(default.with_name("law+bbr").unwrap().to_string(), "law+law+bbr");
    let law = scheme("[scheme]\nqueue = { kind = \"law\", limit-q = \"30 ms\" }\n").unwrap();
    assert_eq!(law.to_string(), "law+law+cubic");
    // The parameters of the scenario are kept; another queue has its own rate control.
    assert_eq!(law.with_name("law").unwrap(), law);
    assert_eq!(law.with_name("linux").unwrap().to_string(), "linux+minstrel-ht+cubic");
    let both = default.with_name("law-last-pq").unwrap();
    assert_eq!((both.to_string(), both.queue.kind()), ("law-last-pq+law+cubic".to_owned(), "law"));
    assert_eq!(scheme("[scheme]\nrate = \"law\"\n").unwrap().to_string(), "law+law+cubic");
}

#[test]
fn law_with_another_decider_is_refused() {
    let sentence = "law controls queue and rate with one state, so queue law and rate minstrel-ht cannot be combined; write law for both, or for neither";
    let default = scheme("").unwrap();
    assert!(default.with_name("law+minstrel-ht").unwrap_err().to_string().contains(sentence));
    let law = scheme("[scheme]\nqueue = \"law\"\n").unwrap();
    assert!(law.with_name("minstrel-ht").unwrap_err().to_string().contains(sentence));
    let error = scheme("[scheme]\nqueue = \"law\"\nrate = \"minstrel-ht\"\n").unwrap_err();
    assert!(error.contains(sentence) && error.contains("test:4"), "{error}");
    let error = scheme("[scheme]\nqueue = \"linux\"\nrate = \"law\"\n").unwrap_err();
    assert!(error.contains("queue linux and rate law cannot be combined"), "{error}");
    let error = scheme("[scheme]\nqueue = { kind = \"law\", limit = 3 }\n").unwrap_err();
    assert!(error.contains("unknown field limit"), "{error}");
    let error = scheme("[scheme]\nqueue = { kind = \"law\", limit-q = \"0 ms\" }\n").unwrap_err();
    assert!(error.contains("limit-q is 0 ms; allowed is 1 ms to 10 s"), "{error}");
    let error = scheme("[scheme]\nrate = { kind = \"law\", limit-q = \"9 ms\" }\n").unwrap_err();
    assert!(error.contains("law has its parameters in the queue slot"), "{error}");
    let error = scheme("[uplink]\nqueue = \"law\"\nrate = \"fixed\"\n").unwrap_err();
    assert!(error.contains("queue law and rate fixed cannot be combined"), "{error}");
}

#[test]
fn a_station_and_a_relay_can_have_laws_link() {
    let text = "duration = \"1 s\"\n[scheme]\nqueue = \"law\"\n[uplink]\nqueue = \"law\"\n\
                [[station]]\nname = \"relay\"\n[[station]]\nname = \"far\"\nvia = \"relay\"\nchannel = { kind = \"fixed\", snr = \"14 dB\" }\n\
                [[flow]]\nname = \"down\"\nkind = \"cbr\"\nstation = \"far\"\nrate = \"8 Mbit/s\"\n\
                [[flow]]\nname = \"up\"\nkind = \"cbr\"\nstation = \"far\"\ndirection = \"up\"\nrate = \"4 Mbit/s\"\n";
    let outcome = simulate::run(text);
    simulate::assert_within(simulate::flow(&outcome, "down").goodput_mbps, 8.0, 0.05, "down");
    simulate::assert_within(simulate::flow(&outcome, "up").goodput_mbps, 4.0, 0.05, "up");
}

/// A fast station and a slow one with the same load, 6 Mbit/s each.
fn unequal(inner: &str) -> f64 {
    let queue = format!("{{ kind = \"law\", inside = \"{inner}\" }}");
    let flow = |name: &str, station: &str, mbps: u32| {
        format!(
            "[[flow]]\nname = \"{name}\"\nkind = \"cbr\"\nstation = \"{station}\"\nrate = \"{mbps} Mbit/s\"\n"
        )
    };
    let flows = flow("bad", "a", 12) + &flow("good", "b", 12);
    let text = home(&queue, "ht", 1, "{ kind = \"fixed\", snr = \"6 dB\" }", &flows);
    simulate::flow(&simulate::run(&text), "good").loss_rate.unwrap()
}

#[test]
fn a_good_station_does_not_wait_behind_a_bad_one() {
    let (one_queue, airtime) = (unequal("fifo"), unequal("fq-codel-airtime"));
    assert!(one_queue > 0.1 && airtime < 0.01, "{one_queue} {airtime}");
}

/// Goodput of a download beside a video, and the 99th percentile of the video's latency.
fn beside_video(queue: &str) -> (f64, f64) {
    let text = home(
        queue,
        "ht",
        32,
        "{ kind = \"fixed\", snr = \"22 dB\" }",
        "[[flow]]\nname = \"video\"\nkind = \"cbr\"\nstation = \"a\"\nrate = \"8 Mbit/s\"\ncategory = \"vi\"\n\
         [[flow]]\nname = \"download\"\nkind = \"tcp\"\nstation = \"b\"\n",
    )
    .replace("600 ms", "3 s");
    let outcome = simulate::run(&text);
    let latency = simulate::flow(&outcome, "video").latency_ms.p99.unwrap();
    (simulate::flow(&outcome, "download").goodput_mbps, latency)
}

#[test]
fn a_download_can_go_the_classic_way_beside_laws_video() {
    let (stock, _) = beside_video("\"linux\"");
    let (classic, latency) = beside_video("{ kind = \"law\", classic = [\"be\", \"bk\"] }");
    assert!(classic > 0.9 * stock, "{classic} of {stock} Mbit/s");
    assert!(latency < LawConfig::default().bound().as_millis_f64(), "{latency} ms");
}

/// A download that is found as bulk, beside a call and a video in its category, over a link with bursts of
/// interference.
fn shared(seed: u64, mpdus: u16) -> String {
    let channel = "{ kind = \"log-distance\", distance = \"20 m\", fading = \"rayleigh\" }";
    let flows = "[[flow]]\nname = \"download\"\nkind = \"tcp\"\nstation = \"b\"\n\
         [[flow]]\nname = \"video\"\nkind = \"vr\"\ntransport = \"udp\"\nfps = 60\nrate = \"8 Mbit/s\"\nstation = \"a\"\n\
         [[flow]]\nname = \"call\"\nkind = \"voip\"\ncategory = \"be\"\nstation = \"b\"\n\
         [[interference]]\nname = \"i\"\nmean-on = \"6 ms\"\nmean-off = \"40 ms\"\neffect = \"busy\"\n";
    let text = home("{ kind = \"law\", classic = \"auto\" }", "ht", mpdus, channel, flows);
    format!("seed = {seed}\n{}", text.replace("600 ms", "6 s"))
}

#[test]
fn the_bound_holds_beside_a_classic_download_in_the_same_category() {
    let bound = LawConfig::default().bound();
    for (seed, mpdus) in [(1, 1), (2, 32)] {
        let (mut run, rows) = simulate::prepare(&simulate::scenario(&shared(seed, mpdus)));
        let (mut found, mut others) = (0, 0);
        while run.advance(Span::from_millis(100)) {
            for (flow, verdict) in run.snapshot().verdicts {
                match flow.0 {
                    0 => found += usize::from(verdict == Verdict::Bulk),
                    _ => others += usize::from(verdict != Verdict::Watched),
                }
            }
        }
        run.finish().unwrap();
        assert!(found > 15 && others == 0, "{found} {others}");
        let rows = rows.take();
        let exchanges: BTreeMap<u64, Span> =
            rows.txops.iter().map(|row| (row.txop, row.end - row.start)).collect();
        let ours =
            rows.packets.iter().filter(|row| row.fate == Fate::Delivered && (1..3).contains(&row.flow));
        let mut longest = Span::ZERO;
        for row in ours {
            let latency = row.delivered - row.enqueued;
            let exchange = exchanges.get(&row.txop).copied().unwrap_or_default();
            assert!(latency <= bound + exchange, "{latency} of flow {}", row.flow);
            longest = longest.max(latency);
        }
        assert!(longest > Span::from_millis(20), "{longest}");
    }
}

#[test]
fn the_configuration_in_force_is_written_out_and_means_the_same() {
    use airbound_scenario::{Overrides, Scenario};
    use airbound_sim::Run;

    let text = "surroundings = \"calm\"\nduration = \"500 ms\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\n[access-point]\n\
                preset = \"openwifi\"\n[scheme]\nqueue = { kind = \"law\", limit-q = \"20 ms\" }\n[[station]]\nname = \"s\"\n\
                [[flow]]\nname = \"f\"\nkind = \"cbr\"\nstation = \"s\"\nrate = \"10 Mbit/s\"\n";
    let read = |text: &str| Scenario::parse(text, "law", &Overrides::default()).expect("valid");
    let scenario = read(text);
    let full = Scenario { scheme: scenario.scheme.in_full(), ..scenario.clone() }.to_toml();
    for key in ["limit-q = \"20 ms\"", "limit-h = \"3 ms\"", "weight-all = 0.125", "never-sent = \"apart\""] {
        assert!(full.contains(key), "{key} in {full}");
    }
    let summary = |scenario: &Scenario| {
        let run = Run::new("law", scenario, &scenario.scheme, 1).expect("can be built");
        run.finish().expect("balanced").0.summary
    };
    assert_eq!(summary(&scenario), summary(&read(&full)));
}
