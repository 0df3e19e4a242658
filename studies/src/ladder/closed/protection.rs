//! RTS and CTS that are lost: goodput of one saturated station against the renewal of its accesses.

use airbound_report::{Tolerance, ValidationRow};
use airbound_units::{ByteCount, Span};
use airbound_wifi::mpdu::{DATA_HEADER, FCS, LLC_SNAP};
use airbound_wifi::timing::ppdu_duration;
use airbound_wifi::{Band, EdcaParameters, Legacy, control_frames};

use super::super::scene::Scene;
use crate::{Effort, Trial, TrialError};

const BAND: Band = Band::Ghz5;
/// UDP payload, and with IPv4 and UDP.
const PAYLOAD: u64 = 1_470;
const PACKET: ByteCount = ByteCount::new(PAYLOAD + 28);
/// Accesses without CTS after which a frame is given up.
const ATTEMPTS: u32 = 7;

/// Goodput in Mb/s if RTS and CTS are each lost with this probability.
fn goodput((data, control): (Legacy, Legacy), lost: f64) -> f64 {
    let seconds = Span::as_secs_f64;
    let (rts, cts) = (control_frames::rts(control, BAND), control_frames::cts(control, BAND));
    let ppdu = ppdu_duration(BAND.legacy(data), DATA_HEADER + LLC_SNAP + PACKET + FCS);
    let sifs = BAND.sifs();
    let exchange = rts + sifs + cts + sifs + ppdu + sifs + control_frames::ack(control, BAND);
    let without_rts = rts + BAND.response_timeout();
    // The sender noticed a frame that it could not decode.
    let without_cts = rts + sifs + cts + (BAND.eifs() - BAND.difs());
    let edca = EdcaParameters::dcf();
    let cleared = (1.0 - lost) * (1.0 - lost);
    let (mut reached, mut time) = (1.0, 0.0);
    for failures in 0..ATTEMPTS {
        let access =
            seconds(BAND.aifs(edca.aifsn)) + seconds(BAND.slot()) * f64::from(edca.window(failures)) / 2.0;
        let spent = cleared * seconds(exchange)
            + lost * seconds(without_rts)
            + (1.0 - lost) * lost * seconds(without_cts);
        time += reached * (access + spent);
        reached *= 1.0 - cleared;
    }
    (PAYLOAD * 8) as f64 * (1.0 - reached) / time / 1e6
}

pub(super) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let mut rows = Vec::new();
    for (rates, mbps) in [((Legacy::Mbps54, Legacy::Mbps24), 54), ((Legacy::Mbps6, Legacy::Mbps6), 6)] {
        for lost in [0.0, 0.05, 0.2] {
            let name = format!("goodput, {mbps} Mb/s, {lost} of RTS and of CTS lost");
            let scenario = Scene::uplinks(effort.seconds(120, 60), 1, mbps, 20, None)
                .air("rts-threshold = \"0 B\"")
                .stations("station", 1, &format!("rate = \"OFDM {mbps} Mbit/s\""))
                .named_flow(
                    "up",
                    "station",
                    &format!(
                        "kind = \"cbr\"\ndirection = \"up\"\nrate = \"{mbps} Mbit/s\"\nsize = \"{PAYLOAD} B\""
                    ),
                )
                .table(&format!("[radio]\nprotection-loss = {lost:?}"));
            let outcome = Trial::new(name.clone(), scenario.text(), 1).run()?;
            rows.push(ValidationRow::judged(
                "lost-protection",
                name,
                "Mb/s",
                Some(goodput(rates, lost)),
                outcome.summary.flows.first().map(|flow| flow.goodput_mbps),
                Some(Tolerance::Relative(0.02)),
                "payload over accesses, lost RTS with their timeout, lost CTS with EIFS, and exchanges",
            ));
        }
    }
    Ok(rows)
}
