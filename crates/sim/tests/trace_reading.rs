//! Trace files: their meaning, their errors, and the duration of transfers over them.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use airbound_air::trace::{Capacity, Format, Trace};
use airbound_scenario::load_trace;
use airbound_units::{BitRate, ByteCount, Instant, Span};
use proptest::prelude::*;

fn read(text: &str) -> Result<Trace, String> {
    Trace::parse(text, "t.log", Format::Auto, 1.0, true).map_err(|error| error.to_string())
}

fn millis(millis: u64) -> Instant {
    Instant::ZERO + Span::from_millis(millis)
}

fn wrong(text: &str, parts: &[&str]) {
    let error = read(text).expect_err(text);
    assert!(!error.contains('\n'), "{error}");
    for part in parts {
        assert!(error.contains(part), "\"{part}\" is not in: {error}");
    }
}

#[test]
fn errors_name_their_line() {
    wrong("", &["t.log: is empty"]);
    wrong("# nothing\n\n", &["is empty"]);
    wrong("0 1 2ms 0.1\n0.1 1 2ms\n", &["t.log:2:", "3 columns instead of 4", "truncated"]);
    wrong("0 1\n0.1\n", &["t.log:2:", "1 columns instead of 2"]);
    wrong("0 NaN\n", &["t.log:1:", "bandwidth"]);
    wrong("0 inf\n", &["t.log:1:", "bandwidth"]);
    wrong("0 -1\n", &["t.log:1:", "from 0"]);
    wrong("0 1\n-1 1\n", &["t.log:2:", "time \"-1\""]);
    wrong("0 1\n1 1\n1 2\n", &["t.log:3:", "times must ascend"]);
    wrong("2 1\n1 1\n", &["t.log:2:", "times must ascend"]);
    wrong("0 1 x 0\n", &["t.log:1:", "RTT"]);
    wrong("0 1 5ms 1.5\n", &["t.log:1:", "loss"]);
    wrong("0 1\n99999999999 1\n", &["t.log:2:", "time"]);
    wrong("0 1\n9999999 1\n", &["t.log:2:", "1000 h"]);
    wrong("0 0\n1 0\n", &["t.log: the bandwidth is 0", "above 0"]);
    wrong("1\n2\nx\n", &["t.log:3:", "milliseconds"]);
    wrong("3\n2\n", &["t.log:2:", "must not descend"]);
    wrong("0\n0\n", &["t.log:2:", "last time is 0"]);
    wrong("time,snr\n", &["is empty"]);
    let headers =
        "allowed are \"time,snr\" (seconds, dB above the noise) and \"time,bandwidth\" (seconds, Mbit/s)";
    for header in
        ["time,height", "time,rssi", "time_ms,snr", "time,rate_kbps", "time/ms,bandwidth", "when,snr"]
    {
        wrong(&format!("{header}\n0,1\n"), &["t.log:1:", headers]);
    }
    wrong("time,bandwidth\n", &["is empty"]);
    wrong("time,bandwidth\n0,1\n2\n", &["t.log:3:", "1 columns instead of 2"]);
    wrong("time,snr\n0,20\n1\n", &["t.log:3:", "truncated"]);
    wrong("time,snr\n0,20\n1,nan\n", &["t.log:3:", "SNR"]);
    wrong("time,bandwidth\n0,20\n1,\n", &["t.log:3:", "1 columns instead of 2"]);
    wrong("time,bandwidth,rtt\n0,20,5\n1,,5\n", &["t.log:3:", "the bandwidth in Mbit/s \"\" is wrong"]);
    wrong("hello world of traces and more\n", &["t.log:1:", "has no known format"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bad.log");
    std::fs::write(&file, b"0 1\n1 \xff\n").unwrap();
    let error = load_trace(&file, Format::Auto, 1.0, true).unwrap_err().to_string();
    assert!(error.contains("bad.log:2: is not text in UTF-8"), "{error}");
}

#[test]
fn traps_of_the_measured_traces() {
    // First time not zero, a gap of 10.5 s, no bandwidth for a while, RTT with its unit, Windows line ends.
    let text = "3300.5 8.0 14.0ms -0.03\r\n3301.0 0.00 13ms 0.5\r\n3311.5 4 1ms 0\r\n3312.0 4 1ms 0\r\n";
    let Ok(Trace::Bandwidth(trace)) = read(text) else { panic!() };
    assert_eq!(trace.at(Instant::ZERO), BitRate::from_mbps(8));
    assert_eq!(trace.at(millis(10_999)), BitRate::ZERO);
    assert_eq!(trace.at(millis(11_000)), BitRate::from_mbps(4));
    assert_eq!(trace.next_change(millis(600)), Some(millis(11_000)));
    // The last value lasts for the median step, 0.5 s.
    assert_eq!(trace.length(), Span::from_secs(12));
    assert_eq!(trace.at(millis(12_000)), BitRate::from_mbps(8));
    // 4 Mbit in the first half second; the rest of 5 Mbit waits for the end of the gap.
    assert_eq!(trace.finish(Instant::ZERO, 4_000_000), millis(500));
    assert_eq!(trace.finish(Instant::ZERO, 5_000_000), millis(11_250));
    assert_eq!(trace.finish(Instant::ZERO, 8_000_000), millis(12_000));
    assert_eq!(trace.finish(millis(12_000), 5_000_000), millis(23_250));
    let Ok(Trace::Bandwidth(scaled)) = Trace::parse(text, "t", Format::Auto, 1.5, false) else { panic!() };
    assert_eq!(scaled.at(Instant::ZERO), BitRate::from_mbps(12));
    assert_eq!(scaled.at(millis(1_000_000)), BitRate::from_mbps(6));
    assert_eq!(scaled.next_change(millis(20_000)), None);
}

#[test]
fn a_transfer_over_nothing_never_ends() {
    let Ok(Trace::Bandwidth(trace)) = Trace::parse("0 5\n1 0\n", "t", Format::Auto, 1.0, false) else {
        panic!()
    };
    assert_eq!(trace.finish(millis(2000), 1), Instant::MAX);
}

#[test]
fn opportunities_carry_1500_bytes_each_and_come_round() {
    let Ok(Trace::Opportunities(trace)) = read("2\n2\n5\n10\n") else { panic!() };
    assert_eq!(trace.finish(Instant::ZERO, 12_000), millis(2));
    assert_eq!(trace.finish(Instant::ZERO, 36_000), millis(5));
    assert_eq!(trace.finish(millis(3), 8), millis(5));
    assert_eq!(trace.finish(millis(10), 12_000), millis(10));
    assert_eq!(trace.finish(millis(10), 24_000), millis(12));
    assert_eq!(trace.finish(millis(11), 12_000), millis(12));
    assert_eq!(trace.finish(Instant::ZERO, 12_000 * 4_000_000), millis(10_000_000));
    let mut pipe = Capacity::new(Arc::new(Trace::Opportunities(trace)));
    // Two packets of 700 B wait and share an opportunity; the third takes the next.
    let sent = [700, 700, 700].map(|size| pipe.finish(Instant::ZERO, ByteCount::new(size)));
    assert_eq!(sent, [millis(2), millis(2), millis(2)]);
    assert_eq!(pipe.finish(Instant::ZERO, ByteCount::new(1500)), millis(5));
}

#[test]
fn bandwidth_with_commas_and_header() {
    for header in ["time,bandwidth", "time_s,rate_mbps", "Time (s), Throughput (Mbit/s)", "t,goodput"] {
        let Ok(Trace::Bandwidth(trace)) = read(&format!("{header}\n5, 20\n6,3.5\n")) else {
            panic!("{header}")
        };
        assert_eq!(trace.at(millis(999)), BitRate::from_mbps(20), "{header}");
        assert_eq!(trace.at(millis(1000)), BitRate::from_kbps(3500), "{header}");
    }
    // Without a header the format has to be named.
    let Ok(Trace::Bandwidth(trace)) = Trace::parse("5,20\n6,3.5\n", "t", Format::Bandwidth, 1.0, true) else {
        panic!()
    };
    assert_eq!(trace.at(millis(0)), BitRate::from_mbps(20));
}

#[test]
fn snr_with_and_without_header() {
    let snrs = |trace: Trace| {
        let Trace::Snr(trace) = trace else { panic!("not of SNR") };
        [0, 999, 1000, 1999, 2000].map(|t| trace.at(millis(t)).value())
    };
    for text in ["time,snr\n5, 20\n6,-3.5\n", "Time/s,SNR/dB\n5,20\n6,-3.5\n", "time snr\n5 20\n6 -3.5\n"] {
        assert_eq!(snrs(read(text).unwrap()), [20.0, 20.0, -3.5, -3.5, 20.0], "{text}");
    }
    // Numbers between commas may be either; a bandwidth of 120 Mbit/s is no SNR of 120 dB.
    let bare = "0,120\n1,80\n";
    wrong(
        bare,
        &["t.log:1: \"0,120\" may be a bandwidth or", "\"time,bandwidth\"", "\"time,snr\"", "first line"],
    );
    let snr = Trace::parse("5,20\n6,-3.5", "t", Format::Snr, 1.0, true).unwrap();
    assert_eq!(snrs(snr), [20.0, 20.0, -3.5, -3.5, 20.0]);
    let named = "the columns are named as those of format bandwidth";
    let error = Trace::parse("time,bandwidth\n0,1\n", "t", Format::Snr, 1.0, true).unwrap_err().to_string();
    assert!(error.starts_with("t:1:") && error.contains(named), "{error}");
}

#[test]
fn tables_as_tools_write_them() {
    let tables = [
        // bc, numpy.savetxt, and numpy.savetxt with a header and a delimiter.
        "0 12\n.50 6\n1.00 18\n",
        "0.000000e+00 1.200000e+01\n5.000000e-01 6.000000e+00\n1.000000e+00 1.800000e+01\n",
        "# time,bandwidth\n0,12\n0.5,6\n1,18\n",
        "# made by hand\n# time bandwidth\n0 12\n0.5 6\n1 18\n",
        // pandas: to_csv, with sep = "\t", and with a name of the index.
        ",time,bandwidth\n0,0.0,12\n1,0.5,6\n2,1.0,18\n",
        "\ttime\tbandwidth\n0\t0.0\t12\n1\t0.5\t6\n2\t1.0\t18\n",
        "index,time,bandwidth\n0,0.0,12\n1,5e-1,6\n2,1.0,18\n",
        // R: write.csv and write.table.
        "\"\",\"time\",\"bandwidth\"\n\"1\",0,12\n\"2\",0.5,6\n\"3\",1,18\n",
        "\"time\" \"bandwidth\"\n\"1\" 0 12\n\"2\" 0.5 6\n\"3\" 1 18\n",
        // Blanks, tabs and quotes in a header.
        "time bandwidth\n0 12\n0.5 6\n1 18\n",
        "Time (s)\tThroughput (Mbit/s)\n0\t12\n0.5\t6\n1\t18\n",
        "\"time\",\"bandwidth\"\n\"0\",\"12\"\n\"0.5\",\"6\"\n\"1\",\"18\"\n",
        "\"Time, s\",\"Rate, Mbit/s\"\r\n0,12\r\n0.5,6\r\n1,18\r\n",
    ];
    for text in tables {
        let Ok(Trace::Bandwidth(trace)) = read(text) else { panic!("{text}: {:?}", read(text)) };
        let rates = trace.rates().iter().map(|rate| rate.as_mbps_f64()).collect::<Vec<_>>();
        assert_eq!(rates, [12.0, 6.0, 18.0], "{text}");
        assert_eq!(trace.next_change(Instant::ZERO), Some(millis(500)), "{text}");
    }
    let Ok(Trace::Opportunities(trace)) = read("2.000000e+00\n4.000000e+00\n") else { panic!() };
    assert_eq!(trace.length(), Span::from_millis(4));
    // Other units and quantities are named for what they are, also behind a #.
    wrong("# time,rate_kbps\n0,12000\n", &["t.log:1:", "the header \"# time,rate_kbps\" is unknown"]);
    wrong("time_ms\tbandwidth\n0\t12\n", &["t.log:1:", "is unknown", "\"time,bandwidth\""]);
    wrong("\"index\",\"time\",\"rssi\"\n1,0,-50\n", &["t.log:1:", "is unknown"]);
    // A remark is no header.
    assert!(matches!(read("# time of day, and place\n0 12\n"), Ok(Trace::Bandwidth(_))));
}

#[test]
fn bandwidth_beyond_any_radio_is_questioned() {
    let kbits = "time,rate\n0,120500\n1,80000\n";
    wrong(kbits, &["t.log:2:", "\"120500\"", "from 0 to 20000", "in kbit/s takes scale = 0.001"]);
    let Ok(Trace::Bandwidth(trace)) = Trace::parse(kbits, "t", Format::Auto, 0.001, true) else { panic!() };
    assert_eq!(trace.at(millis(0)), BitRate::from_kbps(120_500));
}

#[test]
fn all_measured_traces_are_read() {
    // Beside the repository, or at the place set in the environment.
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("AIRBOUND_SHARED").map_or_else(beside, PathBuf::from).join("traces");
    let mut count = 0;
    for kind in ["restaurant-wifi", "office-wifi", "hairpin-wifi"] {
        let Ok(files) = std::fs::read_dir(folder.join(kind)) else {
            // Bypasses the test harness, which would capture it.
            let _ =
                writeln!(std::io::stderr(), "SKIPPED: no measured traces in {}", folder.join(kind).display());
            return;
        };
        for file in files {
            let file = file.unwrap().path();
            let trace = load_trace(&file, Format::Auto, 1.0, true).unwrap();
            let Trace::Bandwidth(trace) = trace else { panic!("{}", file.display()) };
            let mean = trace.mean().as_mbps_f64();
            assert!((0.5..60.0).contains(&mean), "{}: {mean}", file.display());
            assert!(trace.length() > Span::from_secs(20), "{}", file.display());
            count += 1;
        }
    }
    assert!(count >= 32, "{count}");
}

proptest! {
    /// Stepwise integration, with cursors, gives the result of one query.
    #[test]
    fn finish_agrees_with_stepping(
        steps in proptest::collection::vec((1u64..3000, prop_oneof![Just(0u64), 0u64..50_000]), 1..12)
            .prop_filter("a trace that carries nothing is refused", |steps| steps.iter().any(|(_, kbps)| *kbps > 0)),
        start in 0u64..20_000,
        kilobits in 1u64..200_000,
        repeat: bool,
    ) {
        let mut text = String::new();
        let mut time = 0;
        for (length, kbps) in &steps {
            text += &format!("{}.{:03} {}.{:03}\n", time / 1000, time % 1000, kbps / 1000, kbps % 1000);
            time += length;
        }
        let Ok(Trace::Bandwidth(trace)) = Trace::parse(&text, "t", Format::Bandwidth, 1.0, repeat) else { panic!("{text}") };
        let finish = trace.finish(millis(start), kilobits * 1000);
        let (mut now, mut left, mut rounds) = (millis(start), kilobits * 1000, 0);
        let mut cursor = trace.cursor();
        let stepped = loop {
            let rate = cursor.at(now);
            prop_assert_eq!(rate, trace.at(now));
            let Some(next) = trace.next_change(now) else {
                break if rate.is_zero() { Instant::MAX } else { now + rate.time_for_bits(left) };
            };
            let passed = rate.bytes_in(next - now).bits().max(rate.as_bps() * (next - now).as_nanos() / 1_000_000_000);
            if passed >= left {
                break now + rate.time_for_bits(left);
            }
            left -= passed;
            now = next;
            rounds += 1;
            if rounds > 20_000 {
                break Instant::MAX;
            }
        };
        if stepped < Instant::MAX {
            // Stepping rounds to bits at each step.
            let difference = finish.since(stepped).max(stepped.since(finish));
            prop_assert!(difference < Span::from_millis(5) , "{finish} {stepped}\n{text}");
        } else {
            prop_assert!(finish > now);
        }
    }

    #[test]
    fn a_pipe_never_goes_back(sizes in proptest::collection::vec((0u64..50, 1u64..4000), 1..60)) {
        for text in ["0 3\n0.01 0\n0.02 9\n", "1\n3\n3\n8\n"] {
            let mut pipe = Capacity::new(Arc::new(read(text).unwrap()));
            let (mut now, mut last) = (Instant::ZERO, Instant::ZERO);
            for (pause, size) in &sizes {
                now += Span::from_millis(*pause);
                let through = pipe.finish(now, ByteCount::new(*size));
                prop_assert!(through >= last && through >= now);
                last = through;
            }
        }
    }
}

#[test]
fn trace_reading_never_panics() {
    airbound_corpus::check!((u8, bool, Vec<u8>), 5000, |(format, repeat, bytes)| {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]).into_owned();
        // Digits and separators get further than any byte does.
        let likely: String = bytes
            .iter()
            .map(|byte| char::from(b"0123456789 \n\n.,-ms#e\"\t+"[usize::from(*byte % 23)]))
            .collect();
        let format =
            [Format::Auto, Format::Bandwidth, Format::Mahimahi, Format::Snr][usize::from(format % 4)];
        for text in [text, likely] {
            if let Ok(trace) = Trace::parse(&text, "fuzz", format, 1.5, *repeat) {
                let mut pipe = Capacity::new(Arc::new(trace));
                for at in [0, 1, 1_000_000, u64::MAX / 2, u64::MAX] {
                    pipe.finish(Instant::from_nanos(at), ByteCount::new(at));
                }
            }
        }
    });
}
