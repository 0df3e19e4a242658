//! The arithmetic that the papers print: WQM's equations as its core has them, the others from the constants of `airbound-wifi`.

use airbound_control::queue::wqm::equations;
use airbound_report::ValidationRow;
use airbound_units::Span;
use airbound_wifi::timing::preamble;
use airbound_wifi::{Band, EdcaParameters, GuardInterval, Legacy, Rate, RateError, Width, control_frames};

use super::exact;

const BAND: Band = Band::Ghz5;

pub(super) fn rows() -> Vec<ValidationRow> {
    let mut rows = vec![overhead_row()];
    // The rates exist; an error here would leave rows out, which the crate's test would notice.
    rows.extend(buffer_rows().unwrap_or_default());
    rows.extend(rate_allocation_rows().unwrap_or_default());
    rows
}

fn overhead_row() -> ValidationRow {
    exact(
        "wqm-eq-6-7",
        "overhead of one exchange",
        "us",
        219.0,
        equations::exchange_overhead().as_secs_f64() * 1e6,
        1e-6,
        "WQM Table 1: 63 + 34 + 66 + 16 + 40 us",
    )
}

fn buffer_rows() -> Result<Vec<ValidationRow>, RateError> {
    let fastest = Rate::ht(31, Width::Mhz40, GuardInterval::Ns400)?.bit_rate();
    let slowest = Rate::ht(0, Width::Mhz20, GuardInterval::Ns800)?.bit_rate();
    // The paper's text rounds upwards; its equations are what is implemented.
    let printed = |metric: &str, unit: &str, reference: f64, measured: f64, note: &str| {
        ValidationRow::judged("wqm-buffer-bounds", metric, unit, Some(reference), Some(measured), None, note)
    };
    let packets = equations::bandwidth_delay_product(fastest, 64);
    Ok(vec![
        printed(
            "ARTT at 600 Mb/s, 64 subframes",
            "ms",
            1.9,
            equations::round_trip(fastest, 64).as_millis_f64(),
            "the text says about 1.9 ms; equations 6 and 7 with Table 1 give 1.78",
        ),
        printed("B_max", "packets", 95.0, packets as f64, "95 follows from the rounded 1.9 ms"),
        printed(
            "lower limit of the drain time (ARTT at 6.5 Mb/s, 1 subframe)",
            "ms",
            2.5,
            equations::round_trip(slowest, 1).as_millis_f64(),
            "the text says 2.5 ms; the equations give 2.38",
        ),
    ])
}

/// Low-delay rate allocation, Sec. 4.1, footnote 6.
fn rate_allocation_rows() -> Result<Vec<ValidationRow>, RateError> {
    let cw_min = u64::from(EdcaParameters::dcf().cw_min);
    let micros = |span: Span| span.as_nanos() as f64 / 1e3;
    let access = BAND.difs() + BAND.slot() * (cw_min + 1) / 2;
    // A preamble of three streams; the paper's 108 us come out if VHT-SIG-B is left out of it, as ns-3 does.
    let rate = Rate::vht(9, 3, Width::Mhz80, GuardInterval::Ns400)?;
    let overhead =
        preamble(rate) - Span::from_micros(4) + BAND.sifs() + control_frames::block_ack(Legacy::Mbps12, BAND);
    Ok(vec![
        exact(
            "rate-allocation-model",
            "T_acc",
            "us",
            106.0,
            micros(access),
            1e-9,
            "DIFS and half of 16 slots (the mean of 0 to 15 is half a slot less)",
        ),
        exact(
            "rate-allocation-model",
            "T_oh",
            "us",
            108.0,
            micros(overhead),
            1e-9,
            "preamble of 3 streams without VHT-SIG-B, SIFS, BlockAck at 12 Mb/s; with VHT-SIG-B 112",
        ),
    ])
}
