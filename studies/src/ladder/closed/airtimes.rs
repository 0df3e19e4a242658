//! Rates and durations against the standard's printed values and those that ns-3 measured.

use airbound_report::ValidationRow;
use airbound_units::{ByteCount, Span};
use airbound_wifi::mpdu::{Protection, mpdu_of_packet, psdu_size};
use airbound_wifi::timing::{ppdu_duration, preamble};
use airbound_wifi::{Band, GuardInterval, Legacy, Rate, RateError, Width, control_frames};

use super::exact;

const BAND: Band = Band::Ghz5;

fn micros(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e3
}

/// A rate as text with what 802.11-2020 (27.5 of 802.11ax-2021 for HE) prints for it, in Mb/s.
const RATES: [(&str, f64); 9] = [
    ("OFDM 54 Mbit/s", 54.0),
    ("HT20 MCS7 1SS LGI", 65.0),
    ("HT40 MCS12 2SS LGI", 162.0),
    ("HT40 MCS23 3SS LGI", 405.0),
    ("HT40 MCS31 4SS SGI", 600.0),
    ("VHT80 MCS9 2SS LGI", 780.0),
    ("VHT80 MCS9 3SS SGI", 1300.0),
    ("VHT160 MCS9 4SS SGI", 3466.7),
    ("HE80 MCS11 2SS 0.8us", 1201.0),
];

/// Durations worked by hand from the TXTIME equations (17.4.3, 19.4.3, 21.4.3, 27.4.3), in us: rate, PSDU in bytes.
const DURATIONS: [(&str, u64, f64); 6] = [
    ("OFDM 54 Mbit/s", 1_534, 248.0),
    ("OFDM 6 Mbit/s", 1_534, 2_072.0),
    ("HT20 MCS0 1SS LGI", 1_500, 36.0 + 463.0 * 4.0),
    ("HT20 MCS0 1SS SGI", 1_500, 36.0 + 1_668.0),
    ("VHT80 MCS9 2SS LGI", 387, 44.0 + 8.0),
    ("HE80 MCS1 1SS 0.8us", 1_500, 43.2 + 13.0 * 13.6),
];

/// Preambles of the standard, in us.
const PREAMBLES: [(&str, f64); 6] = [
    ("OFDM 6 Mbit/s", 20.0),
    ("HT40 MCS12 2SS LGI", 40.0),
    ("HT40 MCS23 3SS LGI", 48.0),
    ("VHT80 MCS9 2SS LGI", 44.0),
    ("VHT80 MCS9 3SS SGI", 52.0),
    ("HE80 MCS11 2SS 0.8us", 50.4),
];

pub(super) fn rows() -> Vec<ValidationRow> {
    let rate = |text: &str| -> Result<Rate, RateError> { text.parse() };
    let mut rows = Vec::new();
    for (text, reference) in RATES {
        if let Ok(rate) = rate(text) {
            let note = "802.11-2020 tables 17-4, 19-27 ff., 21-29 ff.; 802.11ax-2021 table 27-111 ff.";
            let ours = rate.bit_rate().as_mbps_f64();
            rows.push(exact("phy-rate", text, "Mb/s", reference, ours, 0.051, note));
        }
    }
    for (text, reference) in PREAMBLES {
        if let Ok(rate) = rate(text) {
            rows.push(exact("preamble", text, "us", reference, micros(preamble(rate)), 1e-9, "802.11-2020"));
        }
    }
    for (text, bytes, reference) in DURATIONS {
        if let Ok(rate) = rate(text) {
            let ours = micros(ppdu_duration(rate, ByteCount::new(bytes)));
            let metric = format!("{text}, {bytes} B");
            rows.push(exact("ppdu", &metric, "us", reference, ours, 1e-9, "TXTIME worked by hand"));
        }
    }
    rows.extend(control_frame_rows());
    rows.extend(ns3_aggregate());
    rows
}

fn control_frame_rows() -> Vec<ValidationRow> {
    let note = "data_ppdu_us and ack_us of ns-3 (data/ns3-dcf.csv)";
    let ack = |rate| micros(control_frames::ack(rate, BAND));
    vec![
        exact("ack", "ACK at 24 Mb/s", "us", 28.0, ack(Legacy::Mbps24), 1e-9, note),
        exact("ack", "ACK at 6 Mb/s", "us", 44.0, ack(Legacy::Mbps6), 1e-9, note),
        exact(
            "block-ack",
            "BlockAck at 24 Mb/s",
            "us",
            32.0,
            micros(control_frames::block_ack(Legacy::Mbps24, BAND)),
            1e-9,
            "20 us + 3 symbols for 16 + 256 + 6 bits",
        ),
        exact("eifs", "EIFS", "us", 94.0, micros(BAND.eifs()), 1e-9, "SIFS + ACK at 6 Mb/s + DIFS"),
    ]
}

/// ns-3 with one saturated VHT station: 64 MPDUs of 1470 B payload every 64 * 1470 * 8 / 620.12244 us, of which the data PPDU
/// takes 0.866848. It leaves out VHT-SIG-B, so 4 us are missing there.
fn ns3_aggregate() -> Option<ValidationRow> {
    let rate = Rate::vht(9, 2, Width::Mhz80, GuardInterval::Ns800).ok()?;
    let mpdu = mpdu_of_packet(ByteCount::new(1_498), Protection::Open);
    let ours = micros(ppdu_duration(rate, psdu_size(std::iter::repeat_n(mpdu, 64))));
    let reference = 0.866_848 * 64.0 * 1_470.0 * 8.0 / 620.122_44 + 4.0;
    let note =
        "ns-3's data airtime (data/ns3-vht.csv, n = 1, sat) and the 4 us of VHT-SIG-B that it leaves out";
    Some(exact("ppdu", "64 MPDUs of 1536 B at VHT80 MCS9 2SS", "us", reference, ours, 0.5, note))
}
