//! Beyond the paper: weights, window-based senders, a VR room in which Plum chooses the bitrates and LAST-PQ keeps the latency, and Sec.
//! VI's remote desktop.

use std::sync::Arc;

use airbound_air::trace::{Format, Trace};
use airbound_report::{Chapter, Grid};
use airbound_scenario::{Overrides, Scenario};
use airbound_senders::conference::{ConferenceConfig, PlumConfig, Qoe};
use airbound_senders::congestion::Congestion;
use airbound_sim::conference::{
    AccessSpec, AirSpec, ClientOutcome, Conference, ConferenceOutcome, ConferenceSpec,
};
use airbound_sim::path::PipeSpec;
use airbound_units::{BitRate, Span};

use super::scene::wired;
use super::text;
use crate::papers::{Part, shown};
use crate::trial::in_parallel;
use crate::{Effort, TrialError};

fn wrong(reason: impl ToString) -> TrialError {
    TrialError { name: "plum beyond".to_owned(), reason: reason.to_string() }
}

/// A client behind a half-duplex pipe of constant speed.
fn pipe(mbps: u32) -> Result<AccessSpec, TrialError> {
    let trace = Trace::parse(&format!("0 {mbps}\n"), "pipe", Format::Bandwidth, 1.0, true).map_err(wrong)?;
    Ok(AccessSpec::Pipe(PipeSpec::new(Arc::new(trace))))
}

/// Three headsets of a room on one access point, and a laptop that downloads, as in the scenario `vr-room`. Each headset demands 30 ms of
/// what comes down.
fn room(queue: &str) -> Result<AccessSpec, TrialError> {
    let rate = if queue == "law" { "law" } else { "fixed" };
    let headset = |number: u32| {
        format!(
            "[[station]]\nname = \"headset-{number}\"\nrate = \"VHT20 MCS7 1SS LGI\"\n\
             [[flow]]\nname = \"view-{number}\"\nkind = \"cbr\"\nstation = \"headset-{number}\"\ndemand = \"30 ms\"\nrate = \"1 Mbit/s\"\n"
        )
    };
    let headsets: String = (1..=3).map(headset).collect();
    let text = format!(
        "duration = \"1 s\"\n[air]\nstandard = \"vht\"\nwidth = \"20 MHz\"\n[access-point]\npreset = \"ath9k-fq\"\n\
         [scheme]\nqueue = \"{queue}\"\nrate = \"{rate}\"\n[wire]\ndelay = \"0 s\"\n{headsets}\
         [[station]]\nname = \"laptop\"\nrate = \"VHT20 MCS7 1SS LGI\"\n\
         [[flow]]\nname = \"download\"\nkind = \"tcp\"\nstation = \"laptop\"\n"
    );
    let scenario = Scenario::parse(&text, "vr room", &Overrides::default()).map_err(wrong)?;
    let clients = (1..=3).map(|number| format!("headset-{number}")).collect();
    Ok(AccessSpec::Air(AirSpec { scenario: Arc::new(scenario), clients }))
}

const MEAN_ALONE: fn() -> ConferenceConfig =
    || ConferenceConfig::Plum(PlumConfig { rho: 0.0, ..PlumConfig::default() });
const PLUM: fn() -> ConferenceConfig = || ConferenceConfig::Plum(PlumConfig::default());
/// Plum with a largest bitrate at which the rest of the channel has room for the demand.
const ROOM: fn() -> ConferenceConfig =
    || ConferenceConfig::Plum(PlumConfig { max_bitrate: BitRate::from_mbps(8), ..PlumConfig::default() });

/// A session with its names in the table.
struct Trial {
    setting: &'static str,
    scheme: &'static str,
    spec: ConferenceSpec,
}

fn trials(effort: Effort) -> Result<Vec<Trial>, TrialError> {
    let mut trials = Vec::new();
    let seconds = u64::from(effort.seconds(60, 12));
    let mut add = |setting, scheme, access: Vec<AccessSpec>, policy, change: fn(&mut ConferenceSpec)| {
        let mut spec = ConferenceSpec::new(access, policy, 1);
        spec.duration = Span::from_secs(seconds);
        change(&mut spec);
        trials.push(Trial { setting, scheme, spec });
    };
    let lecture =
        || -> Result<Vec<AccessSpec>, TrialError> { [40, 10, 10, 10].into_iter().map(pipe).collect() };
    add("a presenter on 40 Mb/s, three on 10", "Plum, rho 0", lecture()?, MEAN_ALONE(), |_| {});
    add("a presenter on 40 Mb/s, three on 10", "presenter's weight 8", lecture()?, MEAN_ALONE(), |spec| {
        spec.weights = vec![8.0, 1.0, 1.0, 1.0];
    });
    let alike = || -> Result<Vec<AccessSpec>, TrialError> { (0..8).map(|_| pipe(16)).collect() };
    add("eight on 16 Mb/s, CUBIC", "Vanilla", alike()?, ConferenceConfig::Plain, |spec| {
        spec.congestion = Congestion::Cubic;
    });
    add("eight on 16 Mb/s, CUBIC", "Plum", alike()?, PLUM(), |spec| spec.congestion = Congestion::Cubic);
    for (queue, policy, scheme) in [
        ("linux", ConferenceConfig::Plain, "neither"),
        ("last-pq", ConferenceConfig::Plain, "LAST-PQ alone"),
        ("law", ConferenceConfig::Plain, "Law alone"),
        ("linux", ROOM(), "Plum alone"),
        ("last-pq", ROOM(), "Plum and LAST-PQ"),
        ("law", ROOM(), "Plum and Law"),
    ] {
        let access = vec![room(queue)?, wired()?, wired()?, wired()?];
        add("VR room: three headsets beside a download", scheme, access, policy, |spec| {
            spec.encoder.most = BitRate::from_mbps(3);
        });
    }
    let desktop = || -> Result<Vec<AccessSpec>, TrialError> { Ok(vec![pipe(12)?, wired()?]) };
    add("remote desktop on 12 Mb/s", "Vanilla", desktop()?, ConferenceConfig::Plain, |_| {});
    add("remote desktop on 12 Mb/s", "host's weight 4", desktop()?, MEAN_ALONE(), |spec| {
        spec.weights = vec![1.0, 4.0];
        // One viewer for each source: nothing is gained by compressing.
        if let ConferenceConfig::Plum(config) = &mut spec.policy {
            config.compressibility = Some(1.0);
            // Returns that diminish leave the user something to look at.
            config.qoe = Qoe::Logarithmic;
        }
    });
    Ok(trials)
}

pub(super) fn part(effort: Effort) -> Result<Part, TrialError> {
    let trials = trials(effort)?;
    let outcomes: Vec<ConferenceOutcome> = in_parallel(&trials, effort.jobs, |trial| {
        Ok(Conference::new(trial.spec.clone()).map_err(wrong)?.finish())
    })?;
    let mut grid = Grid::new(
        "Beyond the paper",
        &[
            "setting",
            "scheme",
            "first down",
            "first up",
            "others down",
            "view p95 ms",
            "view p99 ms",
            "uplink p95 ms",
        ],
        2,
    );
    for (trial, outcome) in trials.iter().zip(&outcomes) {
        // In the VR room the headsets are the first three.
        let first = if trial.setting.starts_with("VR") { 3 } else { 1 };
        let (firsts, others) = outcome.clients.split_at(first.min(outcome.clients.len()));
        let mean = |clients: &[ClientOutcome], figure: fn(&ClientOutcome) -> f64| {
            clients.iter().map(figure).sum::<f64>() / clients.len().max(1) as f64
        };
        let largest =
            |figure: fn(&ClientOutcome) -> Option<f64>| firsts.iter().filter_map(figure).reduce(f64::max);
        let cells = [
            trial.setting.to_owned(),
            trial.scheme.to_owned(),
            shown(mean(firsts, |client| client.down_mbps)),
            shown(mean(firsts, |client| client.up_mbps)),
            shown(mean(others, |client| client.down_mbps)),
            text(largest(|client| client.latency.p95)),
            text(largest(|client| client.latency.p99)),
            text(largest(|client| client.uplink_latency.p95)),
        ];
        grid.rows.push(cells.map(Into::into).to_vec());
    }
    grid.note = "Mb/s. first: the presenter, one of eight alike, the headsets, the desktop's user. Latencies of whole frames from the camera, \
                 the worst of the first; \"view\" to the viewer, 20 ms of it wires; \"uplink\" to the server. Room: 802.11ac, 20 MHz, MCS 7; \
                 cameras of up to 3 Mb/s; a headset demands 30 ms of each packet at the access point; Law's limit is 40 ms."
        .to_owned();
    let chapter = Chapter {
        title: "Beyond the paper".to_owned(),
        text: "Weights of users, capacity from the window over the round trip, Plum with LAST-PQ in one room, and a remote desktop, whose \
               host is the viewer that counts."
            .to_owned(),
        tables: vec![grid],
        charts: Vec::new(),
    };
    Ok(Part { rows: Vec::new(), chapter })
}
