//! The arithmetic that the papers print, from the constants of `airbound-wifi` and, where they differ, the papers' own.

use airbound_report::{ValidationRow, Verdict};
use airbound_units::{BitRate, ByteCount, Span};
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

/// WQM, Table 1: preamble and header of every PPDU.
const T_PHY: Span = Span::from_micros(33);
/// WQM, Table 1, L_MAC: header, FCS and delimiter.
const L_MAC: ByteCount = ByteCount::new(38);
/// WQM, Table 1, L_BACK; a compressed BlockAck has 32 B.
const L_BACK: ByteCount = ByteCount::new(30);

/// What WQM's equations 6 and 7 share: T_BO + T_DIFS + 2 T_PHY + T_SIFS + T_BACK, in seconds.
fn overhead() -> f64 {
    // The paper's mean backoff is (CW_min - 1) / 2 slots; that of the standard is CW_min / 2.
    let backoff = BAND.slot() * u64::from(EdcaParameters::dcf().cw_min - 1) / 2;
    let block_ack = Legacy::Mbps6.bit_rate().time_for(L_BACK);
    (backoff + BAND.difs() + T_PHY * 2 + BAND.sifs() + block_ack).as_secs_f64()
}

/// WQM's equation 6 or 7: `frames` subframes of `packet` bytes at `rate`, in seconds.
fn exchange(rate: BitRate, frames: f64, packet: u64) -> f64 {
    overhead() + frames * rate.time_for(L_MAC + ByteCount::new(packet)).as_secs_f64()
}

/// ARTT: `frames` segments of 1500 B there, half as many acknowledgements of 40 B back, in seconds.
fn artt(rate: BitRate, frames: f64) -> f64 {
    exchange(rate, frames, 1_500) + exchange(rate, frames / 2.0, 40)
}

fn overhead_row() -> ValidationRow {
    exact(
        "wqm-eq-6-7",
        "overhead of one exchange",
        "us",
        219.0,
        overhead() * 1e6,
        1e-6,
        "WQM Table 1: 63 + 34 + 66 + 16 + 40 us",
    )
}

fn buffer_rows() -> Result<Vec<ValidationRow>, RateError> {
    let fastest = Rate::ht(31, Width::Mhz40, GuardInterval::Ns400)?.bit_rate();
    let slowest = Rate::ht(0, Width::Mhz20, GuardInterval::Ns800)?.bit_rate();
    let printed = |metric: &str, unit: &str, reference: f64, measured: f64, note: &str| ValidationRow {
        id: "wqm-buffer-bounds".to_owned(),
        metric: metric.to_owned(),
        unit: unit.to_owned(),
        reference: Some(reference),
        measured: Some(measured),
        // The paper's text rounds upwards; its equations are what is implemented.
        tolerance: None,
        verdict: Verdict::Trend,
        note: note.to_owned(),
    };
    let most = artt(fastest, 64.0);
    Ok(vec![
        printed(
            "ARTT at 600 Mb/s, 64 subframes",
            "ms",
            1.9,
            most * 1e3,
            "the text says about 1.9 ms; equations 6 and 7 with Table 1 give 1.78",
        ),
        printed(
            "B_max",
            "packets",
            95.0,
            (fastest.as_bps() as f64 * most / 12_000.0).floor(),
            "95 follows from the rounded 1.9 ms",
        ),
        printed(
            "lower limit of the drain time (ARTT at 6.5 Mb/s, 1 subframe)",
            "ms",
            2.5,
            artt(slowest, 1.0) * 1e3,
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
