//! Beyond the paper (assumption 3 of Sec. 7): whether the WLAN or the wire is the bottleneck, from the level.

use airbound_report::{Chapter, Grid, Tolerance};
use airbound_senders::allocation::{Bottleneck, Downlink, Optimum, Utility};
use airbound_units::Span;

use super::measure::{delay, judged, told};
use super::setting::{Air, OURS, PAYLOAD, Setting, fixed, vht};
use crate::Effort;
use crate::papers::experiment::{Experiment, Measured, Results};
use crate::papers::{Part, Study, shown};

pub(super) struct Bottlenecks;

/// A random network: PHY rates, and a wire of so much of what the WLAN carries at the target.
struct Network {
    stations: Vec<(u8, u8)>,
    wire_share: f64,
}

impl Network {
    fn draw(number: u64) -> Self {
        let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut unit = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        unit();
        let count = 1 + (unit() * 5.0) as usize;
        let stations = (0..count).map(|_| (2 + (unit() * 8.0) as u8, 1 + (unit() * 2.0) as u8)).collect();
        Self { stations, wire_share: 0.25 * libm::pow(8.0, unit()) }
    }

    /// Returns the goodput of the WLAN at the target, in Mb/s of payload.
    fn wlan(&self) -> f64 {
        let airtimes = self.stations.iter().map(|(mcs, streams)| Air::packet(vht(*mcs, *streams))).collect();
        Downlink::new(Air::frame_overhead(vht(9, 2)), airtimes)
            .and_then(|downlink| Optimum::of(&downlink, 32.0, Utility::Proportional))
            .map_or(0.0, |best| best.rates.iter().sum::<f64>() * (PAYLOAD * 8) as f64 / 1e6)
    }

    fn truth(&self) -> Bottleneck {
        if self.wire_share < 1.0 { Bottleneck::Wire } else { Bottleneck::Wlan }
    }

    fn experiment(&self, number: u64) -> Experiment {
        // The wire carries IP packets.
        let wire = self.wlan() * self.wire_share * 1498.0 / PAYLOAD as f64;
        let stations =
            self.stations.iter().map(|(mcs, streams)| fixed(&format!("VHT80 MCS{mcs} {streams}SS LGI")));
        let setting = Setting {
            warm_up: 15,
            seconds: 15,
            wire: format!("rate = \"{} kbit/s\"\nqueue = 1000\ndelay = \"2 ms\"", (wire * 1e3) as u64),
            ..Setting::of(stations.collect()).under(OURS)
        };
        Experiment::plain(setting.trial("bottleneck", number)).looking(Span::from_millis(500))
    }
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

fn numbers(effort: Effort) -> std::ops::RangeInclusive<u64> {
    if effort.quick { 1..=10 } else { 1..=100 }
}

impl Study for Bottlenecks {
    fn experiments(&self, effort: Effort) -> Vec<Experiment> {
        numbers(effort).map(|number| Network::draw(number).experiment(number)).collect()
    }

    fn part(&self, effort: Effort, results: &Results) -> Part {
        let mut wrong = Grid::new("Networks judged wrong", &["stations", "wire over WLAN", "delay ms"], 3);
        let (mut right, mut all) = (0, 0);
        let (mut clearly_right, mut clear) = (0, 0);
        for number in numbers(effort) {
            let network = Network::draw(number);
            let Some(run) = results.get(&network.experiment(number)) else { continue };
            let hit = judged_as(run) == network.truth();
            all += 1;
            right += u32::from(hit);
            if !(0.9..1.1).contains(&network.wire_share) {
                clear += 1;
                clearly_right += u32::from(hit);
            }
            if !hit {
                let stations: Vec<String> =
                    network.stations.iter().map(|(mcs, streams)| format!("MCS{mcs}x{streams}")).collect();
                wrong.rows.push(vec![
                    stations.join(" ").into(),
                    shown(network.wire_share).into(),
                    delay(run).map_or(String::new(), shown).into(),
                ]);
            }
        }
        let share = |right: u32, all: u32| (all > 0).then(|| f64::from(right) / f64::from(all));
        let rows = vec![
            judged(
                "bottleneck",
                format!("judged right of {clear} networks whose bottlenecks differ by a tenth"),
                "",
                0.95,
                share(clearly_right, clear),
                Tolerance::AtLeast,
                "1 to 5 stations at random PHY rates, a wire of 0.25 to 2 times what the WLAN carries at the target",
            ),
            told(
                "bottleneck",
                format!("judged right of all {all} networks"),
                "",
                share(right, all),
                "near 1 both limit",
            ),
        ];
        let text = "Packets that wait on the wire come in small frames however fast they are sent; those that wait in the access point come in large ones.";
        Part {
            rows,
            chapter: Chapter {
                title: "The bottleneck told apart".to_owned(),
                text: text.to_owned(),
                tables: vec![wrong],
                charts: Vec::new(),
            },
        }
    }
}
