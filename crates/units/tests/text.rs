//! Quantities as text: written text is read back, and errors state the problem.

use airbound_units::{BitRate, ByteCount, Dbm, Instant, Metre, Span};
use proptest::prelude::*;

#[test]
fn reads_the_units_of_scenario_files() {
    assert_eq!("20 ms".parse(), Ok(Span::from_millis(20)));
    assert_eq!("1.5ms".parse(), Ok(Span::from_micros(1500)));
    assert_eq!("45 Mbit/s".parse(), Ok(BitRate::from_mbps(45)));
    assert_eq!("1e3 kbit/s".parse(), Ok(BitRate::from_mbps(1)));
    assert_eq!("64 KiB".parse(), Ok(ByteCount::new(65536)));
    assert_eq!("-70.5 dBm".parse(), Ok(Dbm::new(-70.5)));
    assert_eq!("10 m".parse(), Ok(Metre::new(10.0)));
}

#[test]
fn errors_state_problem_and_allowed_values() {
    let text = |r: Result<Span, _>| -> String {
        r.map_err(|e: airbound_units::ParseQuantityError| e.to_string()).unwrap_err()
    };
    assert_eq!(text("fast".parse()), "\"fast\" does not start with a number; write for example \"20 ms\"");
    assert_eq!(
        text("20".parse()),
        "\"20\" has no unit; allowed are s, ms, us, µs, ns, min, h, for example \"20 ms\""
    );
    assert!(text("-1 ms".parse()).contains("out of range"));
    assert!(text("1e300 h".parse()).contains("out of range"));
    assert!(text("NaN ms".parse()).contains("does not start with a number"));
    assert!("-3 m".parse::<Metre>().is_err());
}

#[test]
fn differences_never_go_below_zero() {
    assert_eq!(Instant::ZERO - Instant::from_nanos(5), Span::ZERO);
    assert_eq!(Span::from_nanos(3) - Span::from_nanos(5), Span::ZERO);
    assert_eq!(Span::from_secs(1) / 0, Span::MAX);
    assert_eq!(BitRate::ZERO.time_for(ByteCount::new(1)), Span::MAX);
}

proptest! {
    #[test]
    fn spans_survive_text(nanos in 0u64..1_000_000_000_000_000) {
        let span = Span::from_nanos(nanos);
        prop_assert_eq!(span.to_string().parse::<Span>(), Ok(span));
    }

    #[test]
    fn rates_survive_text(bps in 0u64..1_000_000_000_000_000) {
        let rate = BitRate::from_bps(bps);
        prop_assert_eq!(rate.to_string().parse::<BitRate>(), Ok(rate));
    }

    #[test]
    fn a_rate_carries_what_it_takes_time_for(bps in 1u64..10_000_000_000, bytes in 0u64..100_000_000) {
        let rate = BitRate::from_bps(bps);
        let carried = rate.bytes_in(rate.time_for(ByteCount::new(bytes))).as_u64();
        // Time is rounded up to a nanosecond, so the excess is at most one nanosecond's worth.
        prop_assert!(carried >= bytes && carried <= bytes + bps / 8_000_000_000 + 1);
    }

    #[test]
    fn any_text_is_read_or_refused(text in ".{0,40}") {
        let _ = text.parse::<Span>();
        let _ = text.parse::<BitRate>();
        let _ = text.parse::<Dbm>();
    }
}
