//! A shaper in front of the Wi-Fi queue: delay and loss of known arrivals.

use airbound_report::{Tolerance, ValidationRow};
use airbound_units::{BitRate, ByteCount, Span};
use airbound_wifi::Rate;
use airbound_wifi::mpdu::{DELIMITER, Protection, mpdu_of_packet};
use airbound_wifi::timing::ppdu_duration;

use super::super::scene::Scene;
use crate::{Effort, Trial, TrialError};

/// UDP payload, and with IPv4 and UDP.
const PAYLOAD: u64 = 1_470;
const PACKET: ByteCount = ByteCount::new(PAYLOAD + 28);
const SHAPED: BitRate = BitRate::from_mbps(10);
/// Places of the shaper's queue.
const PLACES: u64 = 50;
const RATE: &str = "VHT80 MCS9 2SS LGI";

fn scenario(shaper: &str, flow: &str, seconds: u32) -> String {
    Scene::downlinks(seconds)
        .air("beacons = false")
        .access_point(&format!("shaper = {{ rate = \"10 Mbit/s\", burst = \"{PACKET}\", {shaper} }}"))
        .stations("station", 1, &format!("rate = \"{RATE}\""))
        .named_flow("stream", "station", &format!("size = \"{PAYLOAD} B\"\n{flow}"))
        .text()
}

/// The time that the tokens of a packet stand for.
fn each() -> f64 {
    SHAPED.time_for(PACKET).as_millis_f64()
}

/// From the air to the receiver: packets leave the shaper so far apart that each finds the channel idle.
fn beyond() -> Result<f64, TrialError> {
    let rate: Rate = RATE.parse().map_err(|error: airbound_wifi::RateError| TrialError {
        name: RATE.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(ppdu_duration(rate, DELIMITER + mpdu_of_packet(PACKET, Protection::Open)).as_millis_f64())
}

pub(super) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let mut rows = overload(effort)?;
    rows.extend(poisson(effort)?);
    Ok(rows)
}

fn row(
    metric: &str,
    unit: &str,
    reference: f64,
    measured: Option<f64>,
    tolerance: f64,
    note: &str,
) -> ValidationRow {
    let tolerance = Some(Tolerance::Relative(tolerance));
    ValidationRow::judged("shaper", metric, unit, Some(reference), measured, tolerance, note)
}

/// Twice the rate, at constant intervals: the queue is always full when a packet comes.
fn overload(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let queue = format!("queue = {{ kind = \"fifo\", limit = {{ packets = {PLACES} }} }}");
    let flow = "kind = \"cbr\"\nrate = \"20 Mbit/s\"";
    let text = scenario(&queue, flow, effort.seconds(60, 20));
    let outcome = Trial::new("a shaper at twice its rate", text, 1).run()?;
    let flow = outcome.summary.flows.first();
    let interval = Span::from_nanos(PAYLOAD * 8 * 1_000 / 20).as_millis_f64();
    // The first packet after a departure takes the place that has become free, behind the others and the one at the bucket.
    let delay = (PLACES + 1) as f64 * each() - interval / 2.0 + beyond()?;
    Ok(vec![
        row(
            "loss of 20 Mb/s at 10 Mb/s",
            "",
            1.0 - interval / each(),
            flow.and_then(|flow| flow.loss_rate),
            0.005,
            "one minus the ratio of the intervals",
        ),
        row(
            "mean latency of 20 Mb/s at 10 Mb/s",
            "ms",
            delay,
            flow.and_then(|flow| flow.latency_ms.mean),
            0.005,
            "51 packet times less half an interval, and one PPDU",
        ),
        row(
            "goodput of 20 Mb/s at 10 Mb/s",
            "Mb/s",
            (PAYLOAD * 8) as f64 / each() / 1e3,
            flow.map(|flow| flow.goodput_mbps),
            0.005,
            "the shaper's rate, less IPv4 and UDP",
        ),
    ])
}

/// Poisson arrivals at half the rate: the waiting time of M/D/1 (Pollaczek and Khinchine).
fn poisson(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let load = 0.5;
    let offered = load * (PAYLOAD * 8) as f64 / each() / 1e3;
    let flow = format!("kind = \"poisson\"\nrate = \"{offered:.6} Mbit/s\"");
    let text = scenario("queue = \"fifo\"", &flow, effort.seconds(600, 200));
    let outcome = Trial::new("a shaper with Poisson arrivals", text, 1).run()?;
    let waiting = load * each() / (2.0 * (1.0 - load));
    let measured = outcome.summary.flows.first().and_then(|flow| flow.latency_ms.mean);
    let beyond = beyond()?;
    Ok(vec![row(
        "mean wait of Poisson arrivals at half the rate",
        "ms",
        waiting,
        measured.map(|mean| mean - beyond),
        0.02,
        "M/D/1: load over twice the rest, times the packet time; the latency less one PPDU",
    )])
}
