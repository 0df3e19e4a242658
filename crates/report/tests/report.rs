//! Reports of synthetic runs: complete, self-contained, and within the given width.

mod example;

use airbound_record::{
    ConferenceSummary, Fate, FrameCounts, LatencyStats, PacketRow, RtcSummary, SentRates, Tables, TxopKind,
    TxopRow, UserSummary,
};
use airbound_report::{
    Around, Comparison, Facts, FlowFacts, OnAir, Outcome, ReportError, Run, Tolerance, ValidationRow,
    Verdict, Waited, explain, outcome, validation_grid, validation_json,
};
use airbound_units::{BitRate, ByteCount, Instant, Span};

fn comparison() -> Comparison {
    Comparison::new(example::runs(), Some("vr"), Some("linux")).unwrap()
}

/// Writes a page to the folder `AIRBOUND_KEEP_REPORTS` for inspection.
fn keep(name: &str, html: &str) {
    if let Some(dir) = std::env::var_os("AIRBOUND_KEEP_REPORTS") {
        std::fs::write(std::path::Path::new(&dir).join(name), html).unwrap();
    }
}

fn assert_stands_alone(html: &str) {
    for forbidden in ["http://", "https://", "src=", "@import", "url(", "fetch(", "import("] {
        assert!(!html.contains(forbidden), "{forbidden}");
    }
    // One script, which is part of the page.
    assert_eq!(html.matches("<script").count(), 1);
    for (open, close) in
        [("<svg ", "</svg>"), ("<table", "</table>"), ("<section>", "</section>"), ("<details", "</details>")]
    {
        assert_eq!(html.matches(open).count(), html.matches(close).count(), "{open}");
    }
    assert!(html.starts_with("<!DOCTYPE html>") && html.trim_end().ends_with("</html>"));
    assert!(html.contains("<meta charset=\"utf-8\">") && html.contains("default-src 'none'"));
}

#[test]
fn a_comparison_makes_a_page_that_stands_alone() {
    let html = comparison().to_html().unwrap();
    keep("comparison.html", &html);
    assert_stands_alone(&html);
    // Two distributions, one split for each of three flows, two plots of costs, three quantities over time of four schemes.
    assert_eq!(html.matches("<svg class=\"plot\"").count(), 2 + 3 + 2 + 3 * 4);
    for text in ["latency (ms)", "packets above this latency", "goodput (Mb/s)", "reordering", "demand 20 ms"]
    {
        assert!(html.contains(text), "{text}");
    }
    // The question and the answer come first, all tables last.
    let chapters =
        ["Scorecard", "Latency", "What it costs the others", "Over time", "Tables", "What was run"];
    let order = ["<h1>", "class=\"verdict\"", "<nav"].map(str::to_owned).into_iter();
    let order: Vec<String> = order.chain(chapters.map(|title| format!("{title}</h2>"))).collect();
    let places: Vec<usize> =
        order.iter().map(|text| html.find(text).unwrap_or_else(|| panic!("{text}"))).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(html.contains("bulk &lt;1&gt;") && !html.contains("bulk <1>"));
    assert!(html.contains("# &lt;script&gt;"));
    assert_eq!(html, comparison().to_html().unwrap());
}

#[test]
fn a_single_run_shows_its_flows() {
    let dir = tempfile::tempdir().unwrap();
    let run = Run::load(&example::write(dir.path(), "linux", 8.0, 1, Tables::SMALL)).unwrap();
    let single = Comparison::new(vec![(run.scheme(), run)], None, None).unwrap();
    let html = single.to_html().unwrap();
    keep("single.html", &html);
    assert_stands_alone(&html);
    // Two distributions, one split, three quantities over time of three flows.
    assert_eq!(html.matches("<svg class=\"plot\"").count(), 2 + 1 + 3 * 3);
    assert!(single.costs().is_none());
    assert!(single.to_text(100).contains("All flows"));
}

#[test]
fn packets_alone_give_the_same_distributions() {
    let dir = tempfile::tempdir().unwrap();
    let packets = Tables { packets: true, ..Tables::default() };
    let made = Run::load(&example::write(&dir.path().join("a"), "pie", 8.0, 1, packets)).unwrap();
    let distributions = Tables { distributions: true, ..Tables::default() };
    let kept = Run::load(&example::write(&dir.path().join("b"), "pie", 8.0, 1, distributions)).unwrap();
    let figures = |run: Run| {
        let html = Comparison::new(vec![("pie".to_owned(), run)], None, None).unwrap().to_html().unwrap();
        let split = html.find("Where the time went").unwrap();
        html[split..].split("</svg>").next().unwrap().to_owned()
    };
    assert_eq!(figures(made), figures(kept));
}

#[test]
fn tables_fit_the_terminal() {
    let comparison = comparison();
    for width in [100, 80] {
        let text = comparison.to_text(width);
        let longest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(longest <= usize::from(width), "{longest} > {width}\n{text}");
        assert!(!text.contains('\u{1b}'));
    }
    if std::env::var_os("AIRBOUND_KEEP_REPORTS").is_some() {
        keep("comparison.txt", &comparison.to_text(100));
    }
}

#[test]
fn costs_are_counted_against_the_same_seed_of_the_default_scheme() {
    let costs = comparison().costs().unwrap();
    assert_eq!(costs.rows.len(), 2 * 4);
    let fifo = &costs.rows[0];
    assert_eq!([fifo[0].text.as_str(), &fifo[1].text], ["bulk <1>", "fifo"]);
    let runs = example::runs();
    let p95 = |scheme: &str, seed: u64| {
        let (_, run) = runs.iter().find(|(name, run)| name == scheme && run.summary.seed == seed).unwrap();
        run.summary.flows[1].latency_ms.p95.unwrap()
    };
    let changes = [1, 2].map(|seed| 100.0 * (p95("fifo", seed) / p95("linux", seed) - 1.0));
    let shown: f64 = fifo[5].text.parse().unwrap();
    assert!((shown - f64::midpoint(changes[0], changes[1])).abs() < 0.6, "{shown} {changes:?}");
    assert!(costs.rows.iter().filter(|row| row[1].text == "linux (default)").all(|row| row[3].text == "–"));
}

/// The same with the flows of `members` as one group.
fn grouped(comparison: Comparison, members: &[&str]) -> Comparison {
    let flow = |name: &&str| FlowFacts {
        name: (*name).to_owned(),
        group: "crowd".to_owned(),
        delay: Span::ZERO,
        start: Span::ZERO,
        rate: None,
        deadline: None,
    };
    comparison.with_facts(Facts { flows: members.iter().map(flow).collect(), ..Facts::default() })
}

#[test]
fn a_group_has_one_row_and_its_members_on_demand() {
    // A hundred calls beside the stream, each with a latency of its own.
    let runs = example::runs().into_iter().map(|(scheme, mut run)| {
        let call = run.summary.flows[2].clone();
        run.summary.flows.truncate(2);
        run.summary.flows.extend((1..=100).map(|number| {
            let mut flow = call.clone();
            flow.name = format!("call-{number}");
            flow.latency_ms.p95 = Some(f64::from(number));
            flow.goodput_mbps = 0.5;
            flow
        }));
        (scheme, run)
    });
    let names: Vec<String> = (1..=100).map(|number| format!("call-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let comparison = Comparison::new(runs.collect(), Some("vr"), Some("linux")).unwrap();
    assert_eq!(comparison.costs().unwrap().rows.len(), 101 * 4);
    let comparison = grouped(comparison, &names);
    let costs = comparison.costs().unwrap();
    assert_eq!(costs.rows.len(), 2 * 4);
    let row: Vec<&str> = costs.rows[4].iter().map(|cell| cell.text.as_str()).collect();
    // All members together, and the median of their latencies.
    assert_eq!((row[0], row[2], row[4]), ("crowd (×100)", "50.0", "50.5"));
    let flows = comparison.flow_table();
    let row = flows.rows.iter().find(|row| row[0].text == "crowd (×100)").unwrap();
    assert_eq!((row[5].text.as_str(), row[5].range.as_str()), ("50.5", "6.00–95.0"));
    let html = comparison.to_html().unwrap();
    keep("group.html", &html);
    assert_stands_alone(&html);
    assert!(html.contains("Members of crowd (100 rows)") && html.contains("call-77"));
    assert!(!comparison.to_text(100).contains("call-77"));
    assert!(comparison.with_members().to_text(100).contains("call-77"));
}

#[test]
fn lost_packets_are_the_floor_of_a_distribution() {
    let (scheme, mut run) = example::runs().remove(0);
    let page = |run: &Run| {
        let comparison = Comparison::new(vec![(scheme.clone(), run.clone())], None, None).unwrap();
        comparison.to_html().unwrap()
    };
    run.summary.flows.iter_mut().for_each(|flow| flow.packets.dropped = 0);
    assert!(!page(&run).contains("class=\"floor\""));
    run.summary.flows[0].packets.dropped = 1000;
    assert_eq!(page(&run).matches("class=\"floor\"").count(), 1);
}

#[test]
fn demands_stand_beside_what_was_measured() {
    let demands = comparison().demands().unwrap();
    // One flow has a demand, under each scheme.
    assert!(demands.rows.len() > 1 && demands.rows.iter().all(|row| row[0].text == "vr"));
    for row in &demands.rows {
        let texts: Vec<&str> = row.iter().map(|cell| cell.text.as_str()).collect();
        assert!(
            texts[2].starts_with("95") && texts[3].starts_with("20") && texts[5].starts_with("90"),
            "{texts:?}"
        );
    }
}

#[test]
fn real_time_video_has_a_table_of_its_own() {
    assert!(comparison().videos().is_none());
    let (_, mut run) = example::runs().remove(0);
    run.summary.flows[0].rtc = Some(RtcSummary {
        bitrate_mbps: 9.75,
        allowed_mbps: 12.0,
        deadline_ms: 100.0,
        deadline_miss_rate: Some(0.25),
        frames: FrameCounts { created: 4, delivered: 3, late: 0, lost: 1, skipped: 0, unfinished: 0 },
        frames_lossy_share: Some(0.5),
        frames_over_20pct_loss_share: None,
        frames_retransmitted_share: Some(0.125),
        first_time_frame_latency_ms: LatencyStats::default(),
        packets_recovered: 7,
        packets_retransmitted: 1,
        key_frame_requests: 1,
        sent_mbps: SentRates::default(),
    });
    let comparison = Comparison::new(vec![("linux".to_owned(), run)], None, None).unwrap();
    let videos = comparison.videos().unwrap();
    let texts: Vec<&str> = videos.rows[0].iter().map(|cell| cell.text.as_str()).collect();
    assert_eq!((videos.rows.len(), &texts[..2]), (1, &["vr", "linux"][..]));
    assert_eq!(texts[5..], ["9.75", "25.0", "50.0", "–", "12.5"]);
    assert!(comparison.to_html().unwrap().contains("Real-time video"));
}

#[test]
fn a_session_is_worth_something_to_each_user() {
    assert!(comparison().users().is_none());
    let session = |qoe: f64| ConferenceSummary {
        qoe: "linear".to_owned(),
        max_bitrate_mbps: 30.0,
        rho: 0.25,
        users: ["near", "far"].map(|name| UserSummary { name: name.to_owned(), weight: 1.0, qoe }).into(),
        mean_qoe: qoe,
        fairness: 1.0,
        utility: 0.75 * qoe + 0.25,
    };
    let runs = [("plain", 0.5), ("plum", 0.7)].map(|(scheme, qoe)| {
        let (_, mut run) = example::runs().remove(0);
        run.summary.session = Some(session(qoe));
        (scheme.to_owned(), run)
    });
    let comparison = Comparison::new(runs.into(), None, None).unwrap();
    let users = comparison.users().unwrap();
    let names: Vec<&str> = users.rows.iter().map(|row| row[0].text.as_str()).collect();
    assert_eq!(names, ["near", "far", "mean", "fairness", "utility"]);
    let column =
        |column: usize| users.rows.iter().map(|row| row[column].text.parse().unwrap()).collect::<Vec<f64>>();
    assert_eq!(column(1), [0.5, 0.5, 0.5, 1.0, 0.625]);
    assert_eq!(column(2), [0.7, 0.7, 0.7, 1.0, 0.775]);
    assert!(
        users.note.contains("1 from 30 Mb/s") && users.note.contains("0.75 mean + 0.25 fairness"),
        "{}",
        users.note
    );
    assert!(comparison.to_text(100).contains("QoE of the users"));
    let html = comparison.to_html().unwrap();
    assert!(html.contains("QoE of the users") && html.contains("QoE of each user of the session"));
    let said: Vec<String> = comparison.verdict().sentences().map(str::to_owned).collect();
    let utility = "Utility of the session: 0.625, at most 0.775 (plum).";
    assert!(said.iter().any(|line| line == utility), "{said:?}");
}

#[test]
fn a_run_without_data_makes_a_page() {
    assert!(matches!(Comparison::new(Vec::new(), None, None), Err(ReportError::NoRun)));
    let (_, run) = example::runs().remove(0);
    let mut empty = run.summary;
    empty.flows.clear();
    empty.stations.clear();
    let bare = Comparison::new(vec![("none".to_owned(), Run::from_summary(empty))], None, None).unwrap();
    assert!(!bare.to_text(80).is_empty());
    assert_stands_alone(&bare.to_html().unwrap());
    let error = Comparison::new(example::runs(), Some("tv"), None).unwrap_err().to_string();
    assert_eq!(error, "no flow is named \"tv\"; the flows are vr, bulk <1>, voip");
}

#[test]
fn many_schemes_and_long_names_still_make_a_page() {
    let (_, run) = example::runs().remove(0);
    let runs =
        (0..12).map(|n| (format!("a scheme with a rather long name, number {n}"), run.clone())).collect();
    let many = Comparison::new(runs, None, None).unwrap();
    let html = many.to_html().unwrap();
    keep("many.html", &html);
    assert_stands_alone(&html);
    assert!(html.contains("the first 7 of 12"));
    assert!(many.to_text(100).lines().all(|line| line.chars().count() <= 100));
}

fn row(reference: Option<f64>, measured: Option<f64>, tolerance: Option<Tolerance>) -> ValidationRow {
    ValidationRow::judged("vr-alone-p95", "VR p95", "ms", reference, measured, tolerance, "Sec. III-A")
}

#[test]
fn verdicts_follow_the_numbers() {
    let within = Some(Tolerance::Relative(0.02));
    let verdict = |reference, measured, tolerance| row(Some(reference), measured, tolerance).verdict;
    assert_eq!(verdict(100.0, Some(102.0), within), Verdict::Held);
    assert_eq!(verdict(100.0, Some(97.9), within), Verdict::Missed);
    assert_eq!(verdict(100.0, None, within), Verdict::NotRun);
    assert_eq!(verdict(100.0, Some(f64::NAN), within), Verdict::Missed);
    assert_eq!(verdict(4.0, Some(6.0), Some(Tolerance::Factor(1.5))), Verdict::Held);
    assert_eq!(verdict(4.0, Some(2.6), Some(Tolerance::Factor(1.5))), Verdict::Missed);
    assert_eq!(verdict(0.3, Some(0.31), Some(Tolerance::Absolute(0.02))), Verdict::Held);
    assert_eq!(verdict(100.0, Some(1.0), None), Verdict::Informs);
    // A range judges without a reference.
    assert_eq!(row(None, Some(-80.0), Some(Tolerance::Range(-84.0, -75.0))).verdict, Verdict::Held);
    assert_eq!(row(None, Some(-90.0), Some(Tolerance::Range(-84.0, -75.0))).verdict, Verdict::Missed);

    let missed = || row(Some(100.0), Some(97.9), within);
    assert_eq!(missed().if_missed(Verdict::Trend).verdict, Verdict::Trend);
    assert_eq!(row(Some(100.0), Some(99.0), within).if_missed(Verdict::Trend).verdict, Verdict::Held);
    assert_eq!(outcome(&[row(Some(1.0), None, within), row(Some(1.0), Some(9.0), None)]), Outcome::Passed);
    // A value outside its tolerance fails even if the trend holds.
    assert_eq!(outcome(&[missed().if_missed(Verdict::Trend)]), Outcome::Failed);
    assert_eq!(outcome(&[row(Some(1.0), Some(f64::NAN), within)]), Outcome::Failed);
}

#[test]
fn an_interval_on_both_sides_of_an_edge_decides_nothing() {
    let verdict = |tolerance, low, high| {
        let measured = f64::midpoint(low, high);
        row(Some(100.0), Some(measured), Some(tolerance)).over((low, high)).verdict
    };
    let within = Tolerance::Relative(0.1);
    assert_eq!(verdict(within, 92.0, 108.0), Verdict::Held);
    assert_eq!(verdict(within, 88.0, 104.0), Verdict::Undecided);
    assert_eq!(verdict(within, 80.0, 130.0), Verdict::Undecided);
    assert_eq!(verdict(within, 112.0, 130.0), Verdict::Missed);
    assert_eq!(verdict(Tolerance::AtMost, 98.0, 101.0), Verdict::Undecided);
    assert_eq!(verdict(Tolerance::AtLeast, 101.0, 104.0), Verdict::Held);
    assert_eq!(verdict(Tolerance::Range(0.0, 50.0), 60.0, 70.0), Verdict::Missed);
    let informs = row(None, Some(99.0), None).over((98.0, 100.0));
    assert_eq!((informs.verdict, informs.interval), (Verdict::Informs, Some((98.0, 100.0))));
}

#[test]
fn validation_rows_have_the_agreed_keys() {
    let rows = [row(Some(7.98), Some(7.123_456_78), Some(Tolerance::Factor(1.5))), row(None, None, None)];
    let json = serde_json::to_string(&rows).unwrap();
    assert_eq!(
        json,
        "[{\"id\":\"vr-alone-p95\",\"metric\":\"VR p95\",\"unit\":\"ms\",\"reference\":7.98,\"measured\":7.12346,\
         \"tolerance\":{\"factor\":1.5},\"verdict\":\"held\",\"note\":\"Sec. III-A\"},\
         {\"id\":\"vr-alone-p95\",\"metric\":\"VR p95\",\"unit\":\"ms\",\"reference\":null,\"measured\":null,\
         \"tolerance\":null,\"verdict\":\"not_run\",\"note\":\"Sec. III-A\"}]"
    );
    let read: Vec<ValidationRow> = serde_json::from_str(&validation_json(&rows).unwrap()).unwrap();
    assert_eq!((read.len(), read[0].verdict, read[1].measured), (2, Verdict::Held, None));
    let text = validation_grid("papers", &rows).to_text(100);
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(text.contains("-10.7 %") && text.contains("1 held, 1 not run"), "{text}");
}

#[test]
fn a_packet_is_explained() {
    let delivered: PacketRow =
        (0..).map(|n| example::packet(n, 0, 8.0, 1)).find(|row| row.tries == 2).unwrap();
    let info = example::info("linux", 1);
    let story = explain(&delivered, &[], &info, &Around::default());
    keep("explain.txt", &story);
    for text in [
        "flow vr",
        "station headset",
        "1500 B",
        "transmitted 2 times",
        "retries",
        "left the reordering buffer",
    ] {
        assert!(story.contains(text), "{text}\n{story}");
    }
    assert!(story.lines().all(|line| line.chars().count() <= 100), "{story}");

    let never = Instant::MAX;
    let mut dropped = PacketRow {
        contending: never,
        first_tx: never,
        last_tx: never,
        received: never,
        delivered: never,
        arrived: never,
        completed: delivered.enqueued,
        fate: Fate::Dropped(1),
        tries: 0,
        ..delivered
    };
    let story = explain(&dropped, &[], &info, &Around::default());
    assert!(
        story.contains("was dropped after 2.000 ms (codel)") && story.contains("never transmitted"),
        "{story}"
    );
    dropped.completed = never;
    dropped.fate = Fate::Dropped(200);
    assert!(explain(&dropped, &[], &info, &Around::default()).contains("was dropped (#200)"));
    dropped.fate = Fate::Queued;
    assert!(explain(&dropped, &[], &info, &Around::default()).contains("still under way"));
}

#[test]
fn a_packet_waits_behind_others() {
    let info = example::info("linux", 1);
    let row: PacketRow = (0..).map(|n| example::packet(n, 0, 8.0, 1)).find(|row| row.tries == 2).unwrap();
    let txop = |txop, (transmitter, receiver), from: u64, until: u64| {
        Ok::<_, String>(TxopRow {
            txop,
            transmitter,
            receiver,
            category: 1,
            kind: TxopKind::Data,
            contending: row.enqueued,
            start: row.enqueued + Span::from_micros(from) - Span::from_micros(100),
            end: row.enqueued + Span::from_micros(until) - Span::from_micros(100),
            rate: BitRate::from_mbps(65),
            mpdus: 1,
            acked: 1,
            size: ByteCount::new(1540),
            collided: false,
        })
    };
    let whole = row.first_tx - row.enqueued;
    // The first began 100 us before the packet came; two collide for 50 us; the last is the packet's own.
    let own = 101 + whole.as_nanos() / 1000;
    let txops = [
        txop(1, (0, 2), 0, 400),
        txop(2, (0, 2), 500, 600),
        txop(3, (1, 0), 550, 650),
        txop(4, (0, 1), own, own + 500),
    ];
    let waited = Waited::of(&row, &[], txops.into_iter()).unwrap().unwrap();
    let of = |way: &OnAir| (way.from, way.to, way.txops, way.airtime.as_nanos() / 1000);
    assert_eq!(waited.ways.iter().map(of).collect::<Vec<_>>(), [(0, 2, 2, 350), (1, 0, 1, 50)]);
    // All parts are those of the whole.
    assert_eq!((waited.span, waited.overlap), (whole, Span::from_micros(50)));
    assert_eq!(waited.rest, whole - Span::from_micros(450));
    let wire_delay = Some(Span::from_millis(1));
    let frame = Some((7, "air.pcap".to_owned()));
    let around = Around { wire_delay, waited: Some(waited.clone()), frame, is_piped: false };
    let story = explain(&row, &[], &info, &around);
    for text in [
        "left the queue of the wire",
        "wire delay     1.000 ms",
        "ap to laptop",
        "2 TXOPs",
        "several at once",
        "frame 7 of air.pcap",
    ] {
        assert!(story.contains(text), "{text}\n{story}");
    }
    assert!(story.lines().all(|line| line.chars().count() <= 100), "{story}");
    let piped = Around { wire_delay, waited: Some(waited), is_piped: true, frame: None };
    let story = explain(&row, &[], &info, &piped);
    for text in ["carried by a wire or a pipe", "queued at its access link", "on the link", "2 turns"] {
        assert!(story.contains(text), "{text}\n{story}");
    }
    for text in ["TXOP", "Wi-Fi transmitter", "the air", "best effort", "reordering", "contend"] {
        assert!(!story.contains(text), "{text}\n{story}");
    }
    // A packet that never waited has nothing to tell.
    let at_once = PacketRow { first_tx: row.enqueued, ..row };
    let none = std::iter::empty::<Result<TxopRow, String>>();
    assert_eq!(Waited::of(&at_once, &[], none), Ok(None));
}
