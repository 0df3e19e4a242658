//! Saturated contention against Bianchi's model with a retry limit.

use airbound_report::{Tolerance, ValidationRow};
use airbound_units::ByteCount;
use airbound_wifi::bianchi::{Contention, Saturation, SlotTimes, saturation};
use airbound_wifi::{EdcaParameters, Legacy, Rate};

use super::scene::Scene;
use crate::trial::run_all;
use crate::{Effort, Trial, TrialError};

/// UDP payload, and the MPDU that carries it: IPv4, UDP, LLC/SNAP, MAC header without QoS, FCS.
const PAYLOAD: ByteCount = ByteCount::new(1_470);
const MPDU: ByteCount = ByteCount::new(1_470 + 20 + 8 + 8 + 24 + 4);
/// Attempts before a frame is dropped (dot11ShortRetryLimit).
const ATTEMPTS: u32 = 7;

const STATIONS: [u32; 6] = [1, 2, 5, 10, 20, 50];
const RATES: [(Legacy, Legacy); 2] = [(Legacy::Mbps54, Legacy::Mbps24), (Legacy::Mbps6, Legacy::Mbps6)];

/// One point of the comparison.
#[derive(Debug, Clone, Copy)]
struct Case {
    stations: u32,
    data: Legacy,
    acknowledgement: Legacy,
    eifs: bool,
}

impl Case {
    fn all() -> Vec<Self> {
        let mut cases = Vec::new();
        for eifs in [false, true] {
            for (data, acknowledgement) in RATES {
                for stations in STATIONS {
                    cases.push(Self { stations, data, acknowledgement, eifs });
                }
            }
        }
        cases
    }

    fn model(self) -> Saturation {
        let contention = Contention {
            stations: self.stations,
            windows: EdcaParameters::dcf(),
            max_attempts: Some(ATTEMPTS),
        };
        let times = SlotTimes::basic_access(Rate::legacy(self.data), MPDU, self.acknowledgement, self.eifs);
        saturation(&contention, &times, PAYLOAD)
    }

    fn trial(self, effort: Effort) -> Trial {
        let Self { stations, data, eifs, .. } = self;
        // Frames given up free room for others, so each station is offered far more than its share.
        let offered = 3.0 * self.model().goodput.as_mbps_f64() / f64::from(stations);
        // At 6 Mb/s there are a sixth as many attempts in a second.
        let seconds = if data == Legacy::Mbps6 { effort.seconds(200, 20) } else { effort.seconds(60, 10) };
        let rate = data.bit_rate().as_bps() / 1_000_000;
        let scenario = Scene::uplinks(seconds, 5, rate as u32, 20, Some(ATTEMPTS))
            .air(&format!("eifs = {eifs}"))
            .stations("sender", stations, &format!("rate = \"OFDM {rate} Mbit/s\""))
            .named_flow(
                "up",
                "sender",
                &format!(
                    "kind = \"cbr\"\ndirection = \"up\"\nrate = \"{offered:.3} Mbit/s\"\nsize = \"{} B\"",
                    PAYLOAD.as_u64()
                ),
            );
        Trial::new(self.name(), scenario.text(), 1)
    }

    fn name(self) -> String {
        let eifs = if self.eifs { ", EIFS" } else { "" };
        format!("{} Mb/s, n = {}{eifs}", megabits(self.data), self.stations)
    }
}

fn megabits(rate: Legacy) -> u64 {
    rate.bit_rate().as_bps() / 1_000_000
}

/// All rows of this rung.
pub(crate) fn rows(effort: Effort) -> Result<Vec<ValidationRow>, TrialError> {
    let cases = Case::all();
    let trials: Vec<Trial> = cases.iter().map(|case| case.trial(effort)).collect();
    let outcomes = run_all(&trials, effort.jobs)?;
    let mut rows = Vec::new();
    for (case, outcome) in cases.iter().zip(outcomes) {
        let model = case.model();
        let goodput: f64 = outcome.summary.flows.iter().map(|flow| flow.goodput_mbps).sum();
        rows.push(ValidationRow::judged(
            "bianchi-goodput",
            case.name(),
            "Mb/s",
            Some(model.goodput.as_mbps_f64()),
            Some(goodput),
            Some(Tolerance::Relative(0.02)),
            "sum over the stations; retry limit 7",
        ));
        rows.push(ValidationRow::judged(
            "bianchi-collision",
            case.name(),
            "",
            Some(model.point.collision),
            outcome.summary.air.collision_rate,
            Some(Tolerance::Absolute(0.02)),
            "collided over all transmissions",
        ));
    }
    Ok(rows)
}
