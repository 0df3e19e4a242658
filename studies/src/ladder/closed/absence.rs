//! Radios that leave the channel: the delay that announced absences add, and the loss of those that nobody knows of.

use airbound_report::{Tolerance, ValidationRow};
use airbound_units::{ByteCount, Span};
use airbound_wifi::mpdu::{DATA_HEADER, DELIMITER, FCS, LLC_SNAP, Protection, mpdu_of_packet};
use airbound_wifi::timing::ppdu_duration;
use airbound_wifi::{Band, EdcaParameters, Legacy, Rate, control_frames};

use super::super::scene::Scene;
use crate::{Effort, Trial, TrialError};

const BAND: Band = Band::Ghz5;
/// UDP payload, and with IPv4 and UDP.
const PAYLOAD: u64 = 200;
const PACKET: ByteCount = ByteCount::new(PAYLOAD + 28);
const RATE: &str = "VHT80 MCS9 2SS LGI";
/// Tries of a frame to a radio that is away.
const TRIES: u32 = 4;

fn scenario(
    standard: &str,
    rate: &str,
    access_point: &str,
    station: &str,
    flow: &str,
    seconds: u32,
) -> String {
    Scene::downlinks(seconds)
        .air(&format!(
            "standard = \"{standard}\"\nedca = \"dcf\"\ncontrol-rate = \"24 Mbit/s\"\nbeacons = false"
        ))
        .access_point(&format!("path = {{ max-grants = {TRIES} }}\n{access_point}"))
        .stations("station", 1, &format!("rate = \"{rate}\"\n{station}"))
        .named_flow("stream", "station", &format!("kind = \"cbr\"\nsize = \"{PAYLOAD} B\"\n{flow}"))
        .text()
}

pub(super) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let mut rows = announced(effort)?;
    rows.extend(unannounced(effort)?);
    Ok(rows)
}

fn rate_of(name: &str) -> Result<Rate, TrialError> {
    name.parse().map_err(|error: airbound_wifi::RateError| TrialError {
        name: name.to_owned(),
        reason: error.to_string(),
    })
}

/// Packets that come at times unrelated to the absences wait for the rest of one with the probability of its share.
fn announced(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let (period, length) = (Span::from_millis(500), Span::from_millis(60));
    let away = format!("away = {{ period = \"{period}\", length = \"{length}\", phase = \"137 ms\" }}");
    // An interval of 7.3 ms, which no multiple of the period is near.
    let down = "rate = \"219178 bit/s\"";
    let up = "rate = \"219178 bit/s\"\ndirection = \"up\"";
    let alone = ppdu_duration(rate_of(RATE)?, DELIMITER + mpdu_of_packet(PACKET, Protection::Open));
    let waiting = length.as_millis_f64().powi(2) / (2.0 * period.as_millis_f64());
    let cases = [
        ("a station that is away, downlink", "", away.as_str(), down),
        ("a station that is away, its own uplink", "", away.as_str(), up),
        ("an access point that is away, downlink", away.as_str(), "", down),
        ("an access point that is away, uplink", away.as_str(), "", up),
    ];
    let mut rows = Vec::new();
    for (name, access_point, station, flow) in cases {
        let text = scenario("vht", RATE, access_point, station, flow, effort.seconds(200, 60));
        let outcome = Trial::new(name, text, 1).run()?;
        let latency = outcome.summary.flows.first().map(|flow| flow.latency_ms);
        rows.push(ValidationRow::judged(
            "absence",
            format!("mean delay added, {name}"),
            "ms",
            Some(waiting),
            latency.and_then(|latency| latency.mean).map(|mean| mean - alone.as_millis_f64()),
            Some(Tolerance::Relative(0.05)),
            "length squared over twice the period: 60 ms every 500 ms",
        ));
        rows.push(ValidationRow::judged(
            "absence",
            format!("longest delay added, {name}"),
            "ms",
            Some(length.as_millis_f64()),
            latency.and_then(|latency| latency.max).map(|max| max - alone.as_millis_f64()),
            Some(Tolerance::Relative(0.05)),
            "the whole absence",
        ));
    }
    Ok(rows)
}

/// Frames whose last try begins during an absence are lost, one by one.
fn unannounced(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let (period, length) = (Span::from_millis(1000), Span::from_millis(200));
    let away = format!("away = {{ period = \"{period}\", length = \"{length}\", announced = false }}");
    let name = "OFDM 54 Mbit/s";
    // An interval of 10.7 ms, longer than all tries of a frame.
    let flow = "rate = \"149533 bit/s\"";
    let text = scenario("legacy", name, "", &away, flow, effort.seconds(600, 200));
    let outcome = Trial::new("a station that is away unannounced", text, 1).run()?;
    let exchange = ppdu_duration(rate_of(name)?, DATA_HEADER + LLC_SNAP + PACKET + FCS)
        + BAND.sifs()
        + control_frames::ack(Legacy::Mbps24, BAND);
    let edca = EdcaParameters::dcf();
    // From the first try to the last: exchanges, DIFS and the mean backoffs of the windows that follow a failure.
    let tries: f64 = (1..TRIES)
        .map(|failures| {
            let backoff = BAND.slot().as_secs_f64() * f64::from(edca.window(failures)) / 2.0;
            (exchange + BAND.aifs(edca.aifsn)).as_secs_f64() + backoff
        })
        .sum();
    let lost = (length.as_secs_f64() - tries) / period.as_secs_f64();
    Ok(vec![ValidationRow::judged(
        "absence",
        "loss, a station that is away unannounced",
        "",
        Some(lost),
        outcome.summary.flows.first().and_then(|flow| flow.loss_rate),
        Some(Tolerance::Relative(0.02)),
        "the share of the time in which all four tries of a frame fall into an absence",
    )])
}
