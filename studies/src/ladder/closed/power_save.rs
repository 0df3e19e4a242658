//! Stations that save power: the delay of packets to one that sleeps.

use airbound_report::{Tolerance, ValidationRow};
use airbound_units::{ByteCount, Span};
use airbound_wifi::mpdu::{DATA_HEADER, DELIMITER, FCS, Protection, mpdu_of_packet};
use airbound_wifi::timing::ppdu_duration;
use airbound_wifi::{Band, EdcaParameters, Legacy, Rate, control_frames};

use super::super::scene::Scene;
use crate::{Effort, Trial, TrialError};

const BAND: Band = Band::Ghz5;
/// UDP payload, and with IPv4 and UDP.
const PAYLOAD: u64 = 200;
const PACKET: ByteCount = ByteCount::new(PAYLOAD + 28);
const RATE: &str = "VHT80 MCS9 2SS LGI";
const CONTROL: Legacy = Legacy::Mbps24;
/// 100 time units.
const BEACON: Span = Span::from_micros(102_400);

/// Spans of the exchanges, in ms.
struct Times {
    /// A data PPDU of one packet.
    data: f64,
    /// SIFS and an acknowledgement.
    answer: f64,
    /// From the start of a beacon to the end of the null frame that answers it.
    call: f64,
    /// AIFS and the mean backoff: packets that are released while the channel is busy contend.
    access: f64,
}

impl Times {
    fn new() -> Result<Self, TrialError> {
        let rate: Rate = RATE.parse().map_err(|error: airbound_wifi::RateError| TrialError {
            name: RATE.to_owned(),
            reason: error.to_string(),
        })?;
        let answer = BAND.sifs() + control_frames::ack(CONTROL, BAND);
        let beacon = ppdu_duration(BAND.legacy(Legacy::Mbps6), ByteCount::new(250));
        let null = ppdu_duration(BAND.legacy(CONTROL), DATA_HEADER + FCS) + answer;
        let edca = EdcaParameters::dcf();
        let access = BAND.aifs(edca.aifsn) + BAND.slot() * u64::from(edca.cw_min) / 2;
        Ok(Self {
            data: ppdu_duration(rate, DELIMITER + mpdu_of_packet(PACKET, Protection::Open)).as_millis_f64(),
            answer: answer.as_millis_f64(),
            call: (beacon + BAND.sifs() + BAND.slot() + null).as_millis_f64(),
            access: access.as_millis_f64(),
        })
    }
}

fn scenario(beacons: &str, power_save: &str, flows: &str, seconds: u32) -> String {
    Scene::downlinks(seconds)
        .air(&format!("edca = \"dcf\"\ncontrol-rate = \"24 Mbit/s\"\nbeacons = {beacons}"))
        .stations("station", 1, &format!("rate = \"{RATE}\"\npower-save = {{ {power_save} }}"))
        .table(flows)
        .text()
}

/// A constant stream of a packet in each interval.
fn stream(name: &str, interval: Span, way: &str) -> String {
    let rate = (PAYLOAD * 8) as f64 / interval.as_secs_f64();
    format!(
        "[[flow]]\nname = \"{name}\"\nkind = \"cbr\"\nstation = \"station\"\nsize = \"{PAYLOAD} B\"\nrate = \"{rate:.3} bit/s\"\n{way}"
    )
}

pub(super) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let times = Times::new()?;
    let mut rows = Vec::new();
    let seconds = effort.seconds(2000, 600);
    // Intervals that no multiple of another time is near. The first leaves the station time to fall asleep.
    let sparse = Span::from_micros(1_037_100);
    for every in [1_u16, 3] {
        let power_save = format!("timeout = \"50 ms\", listen-interval = {every}");
        let text = scenario("true", &power_save, &stream("down", sparse, ""), seconds);
        let outcome =
            Trial::new(format!("a station that listens to one beacon of {every}"), text, 1).run()?;
        let waiting = expected_wait(every);
        rows.push(row(
            &format!("mean latency to a sleeping station, one beacon of {every}"),
            waiting + times.call + times.access + times.data,
            outcome.summary.flows.first().and_then(|flow| flow.latency_ms.mean),
            "half of the time between the beacons that it listens to, beacon, null frame, access, PPDU",
        ));
    }
    // Packets while the station is awake: as without power save.
    let dense = Span::from_micros(30_700);
    let text = scenario("true", "timeout = \"200 ms\"", &stream("down", dense, ""), seconds / 10);
    let outcome = Trial::new("a station that never falls asleep", text, 1).run()?;
    rows.push(row(
        "median latency to a station with packets more often than its timeout",
        times.data,
        outcome.summary.flows.first().and_then(|flow| flow.latency_ms.p50),
        "one PPDU: it never sleeps",
    ));
    rows.push(u_apsd(&times, seconds / 10)?);
    Ok(rows)
}

/// The mean time to the next beacon of those that a station listens to, from a packet at any time.
fn expected_wait(every: u16) -> f64 {
    BEACON.as_millis_f64() * f64::from(every) / 2.0
}

/// A packet waits for the next uplink frame or the next beacon, whichever comes first.
fn u_apsd(times: &Times, seconds: u32) -> Result<ValidationRow, TrialError> {
    let (trigger, beacon) = (Span::from_millis(20), Span::from_secs(1));
    let flows =
        [stream("down", Span::from_micros(37_310), ""), stream("up", trigger, "direction = \"up\"\n")];
    let text = scenario("\"1 s\"", "wake = \"u-apsd\"", &flows.join("\n"), seconds);
    let outcome = Trial::new("a station with U-APSD", text, 1).run()?;
    let (trigger, beacon) = (trigger.as_millis_f64(), beacon.as_millis_f64());
    // The mean of the smaller of two uniform times.
    let waiting = trigger / 2.0 - trigger * trigger / (6.0 * beacon);
    let exchange = times.data + times.answer;
    Ok(row(
        "mean latency with U-APSD, uplink every 20 ms",
        waiting + exchange + times.access + times.data,
        outcome.summary.flows.first().and_then(|flow| flow.latency_ms.mean),
        "half of the trigger's interval, less what beacons spare; its exchange, access, PPDU",
    ))
}

fn row(metric: &str, reference: f64, measured: Option<f64>, note: &str) -> ValidationRow {
    let tolerance = Some(Tolerance::Relative(0.05));
    ValidationRow::judged("power-save", metric, "ms", Some(reference), measured, tolerance, note)
}
