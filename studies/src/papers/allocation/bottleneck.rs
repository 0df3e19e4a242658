//! Beyond the paper (assumption 3 of Sec. 7): whether the WLAN or the wire is the bottleneck, from the level.

use airbound_senders::allocation::{Bottleneck, Optimum, Utility};
use airbound_units::Span;
use airbound_wifi::Rate;

use super::air::{BITS, PAYLOAD, downlink, vht};
use super::draws::{Draws, stations};
use super::measure::{cell, delay};
use super::{CLAIMS, OURS, RUNS};
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};
use crate::{Effort, Trial};

pub(super) struct Bottlenecks;

/// A random network: MCS and streams of the stations, and a wire of so much of what the WLAN carries at the target.
struct Network {
    stations: Vec<(u8, u8)>,
    wire_share: f64,
}

impl Network {
    fn draw(number: u64) -> Self {
        let mut draws = Draws::new(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, 1);
        let count = 1 + (draws.unit() * 5.0) as usize;
        let mut station = |_| (2 + (draws.unit() * 8.0) as u8, 1 + (draws.unit() * 2.0) as u8);
        let stations = (0..count).map(&mut station).collect();
        Self { stations, wire_share: 0.25 * libm::pow(8.0, draws.unit()) }
    }

    /// Returns the goodput of the WLAN at the target, in Mb/s of payload.
    fn wlan(&self) -> f64 {
        let rates: Vec<Rate> = self.stations.iter().map(|(mcs, streams)| vht(*mcs, *streams)).collect();
        downlink(vht(9, 2), &rates)
            .and_then(|downlink| Optimum::of(&downlink, 32.0, Utility::Proportional))
            .map_or(0.0, |best| best.rates.iter().sum::<f64>() * BITS / 1e6)
    }

    fn truth(&self) -> Bottleneck {
        if self.wire_share < 1.0 { Bottleneck::Wire } else { Bottleneck::Wlan }
    }

    fn experiment(&self, trial: Trial) -> Experiment {
        // The wire carries IP packets.
        let wire = self.wlan() * self.wire_share * 1498.0 / PAYLOAD as f64;
        let keys = |(mcs, streams): &(u8, u8)| format!("rate = \"{}\"", vht(*mcs, *streams));
        let trial = trial
            .set("station", stations(self.stations.iter().map(keys)))
            .set("wire.rate", format!("\"{} kbit/s\"", (wire * 1e3) as u64));
        Experiment::plain(trial).looking(Span::from_millis(500))
    }
}

/// All networks with their runs.
fn networks(effort: Effort) -> impl Iterator<Item = (Network, Experiment)> {
    RUNS.trials(&["bottleneck", OURS], effort).into_iter().map(|trial| {
        let network = Network::draw(trial.seed);
        let experiment = network.experiment(trial);
        (network, experiment)
    })
}

/// The judgement of most stations at most looks after the start.
fn judged_as(run: &Measured) -> Bottleneck {
    let all = run.views.iter().filter(|(at, _)| *at > 15.0).flat_map(|(_, view)| &view.allocations);
    let (mut wire, mut wlan) = (0, 0);
    for one in all {
        match one.bottleneck {
            Bottleneck::Wire => wire += 1,
            Bottleneck::Wlan => wlan += 1,
            Bottleneck::None => {}
        }
    }
    if wire > wlan { Bottleneck::Wire } else { Bottleneck::Wlan }
}

impl Study for Bottlenecks {
    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut wrong = CLAIMS.table("bottleneck", &[]);
        // Networks judged right, and all: those whose bottlenecks differ clearly, and every one.
        let (mut clear, mut every) = ((0, 0), (0, 0));
        for (network, run) in networks(effort) {
            let Some(run) = results.get(&run) else { continue };
            let hit = judged_as(run) == network.truth();
            let count = |(right, all): &mut (u32, u32)| (*right, *all) = (*right + u32::from(hit), *all + 1);
            count(&mut every);
            if !(0.9..1.1).contains(&network.wire_share) {
                count(&mut clear);
            }
            if !hit {
                let stations = network.stations.iter().map(|(mcs, streams)| format!("MCS{mcs}x{streams}"));
                let stations = stations.collect::<Vec<_>>().join(" ");
                wrong
                    .rows
                    .push([stations, shown(network.wire_share), cell(delay(run))].map(Into::into).to_vec());
            }
        }
        let share = |(right, all): (u32, u32)| (all > 0).then(|| f64::from(right) / f64::from(all));
        let rows = vec![
            CLAIMS.row("clear-bottlenecks").with("count", clear.1).measured(share(clear)),
            CLAIMS.row("all-bottlenecks").with("count", every.1).told(share(every)),
        ];
        Part { rows, chapter: CLAIMS.chapter("bottleneck", vec![wrong], Vec::new()) }
    }
}
