//! The output of a plan: sentences, and the stable form of `--json`.

use std::collections::BTreeMap;

use airbound_units::Span;
use serde::Serialize;

use super::answer::{Answer, MOST_HEADROOM, Outlook, Plan};
use super::search::{DELIVERED, STEPS};

/// Output of `airbound plan --json`: keys with their units, as in `summary.json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanForm {
    /// Name of the scenario.
    pub scenario: String,
    /// Whether all demands can be met: "yes" or "no".
    pub answer: &'static str,
    /// Whether one half of the runs gives the other answer.
    pub close: bool,
    /// Share of time that the flows with demands need.
    pub load: f64,
    /// The factor, less one, by which all their rates could grow; null if that was not searched, or a session decides them all.
    pub headroom: Option<f64>,
    /// The result for each demand.
    pub demands: Vec<DemandForm>,
    /// Relaxed demands that could be met.
    pub relax: Vec<RelaxForm>,
    /// Rates of single flows at which all demands could be met.
    pub slow_down: Vec<RateForm>,
}

/// The result for one demand.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DemandForm {
    /// The flow.
    pub flow: String,
    /// Its station.
    pub station: String,
    /// Latency demanded, in milliseconds.
    pub latency_ms: f64,
    /// The percentile that it bounds.
    pub percentile: f64,
    /// Payload rate of the source, in Mbit/s.
    pub rate_mbps: f64,
    /// The station's median PHY rate.
    pub phy_rate_mbps: f64,
    /// The longest delay of the wire before the access point, in milliseconds.
    pub wire_ms: f64,
    /// The demand that is left to the access point, in milliseconds.
    pub left_ms: f64,
    /// The demand that LAST-PQ has to be given, in milliseconds.
    pub target_ms: f64,
    /// Share of time that the flow needs.
    pub load: f64,
    /// Delivered over offered payload, at most 1.
    pub delivered: f64,
    /// Expected latency at the percentile from the sender on, in milliseconds; null if nothing arrives.
    pub expected_ms: Option<f64>,
    /// Demanded less expected latency, in milliseconds.
    pub margin_ms: Option<f64>,
    /// Whether it can be met.
    pub met: bool,
}

/// A relaxed demand.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RelaxForm {
    /// The flow.
    pub flow: String,
    /// Latency demanded, in milliseconds.
    pub from_ms: f64,
    /// Latency that could be met, in milliseconds.
    pub to_ms: f64,
}

/// A rate at which all demands could be met.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateForm {
    /// The flow.
    pub flow: String,
    /// Its payload rate, in Mbit/s.
    pub from_mbps: f64,
    /// Payload rate at which all demands could be met, in Mbit/s.
    pub to_mbps: f64,
}

impl Plan {
    /// The stable form.
    #[must_use]
    pub fn form(&self, scenario: &str) -> PlanForm {
        PlanForm {
            scenario: scenario.to_owned(),
            answer: self.answer.name(),
            close: self.is_close,
            load: rounded(self.load),
            headroom: self.headroom.map(rounded),
            demands: self
                .demands
                .iter()
                .map(|outlook| {
                    let demanded = outlook.demand.latency.as_millis_f64();
                    let expected = outlook.latency.map(Span::as_millis_f64);
                    DemandForm {
                        flow: outlook.demand.flow.clone(),
                        station: outlook.station.clone(),
                        latency_ms: rounded(demanded),
                        percentile: outlook.demand.percentile,
                        rate_mbps: rounded(outlook.rate.as_mbps_f64()),
                        phy_rate_mbps: rounded(outlook.phy_rate.as_mbps_f64()),
                        wire_ms: rounded(outlook.wire.as_millis_f64()),
                        left_ms: rounded(outlook.left.as_millis_f64()),
                        target_ms: rounded(outlook.target.as_millis_f64()),
                        load: rounded(outlook.load),
                        delivered: rounded(outlook.delivered),
                        expected_ms: expected.map(rounded),
                        margin_ms: expected.map(|expected| rounded(demanded - expected)),
                        met: outlook.met,
                    }
                })
                .collect(),
            relax: self
                .relax
                .iter()
                .map(|relaxed| RelaxForm {
                    flow: relaxed.flow.clone(),
                    from_ms: relaxed.from.as_millis_f64(),
                    to_ms: relaxed.to.as_millis_f64(),
                })
                .collect(),
            slow_down: self
                .slow_down
                .iter()
                .map(|slower| RateForm {
                    flow: slower.flow.clone(),
                    from_mbps: slower.from.as_mbps_f64(),
                    to_mbps: slower.to.as_mbps_f64(),
                })
                .collect(),
        }
    }

    /// The answer in a word: "about" if half of the runs give the other one.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        if self.is_close { "about" } else { self.answer.name() }
    }

    /// The way to ask for demands that are shorter than what the scenario leaves; `None` if none is.
    fn asking(&self) -> Option<String> {
        // By less than a step of the grid it is what a comparison asks for anyway.
        let is_shorter = |outlook: &&Outlook| outlook.target.mul_f64(libm::exp2(1.0 / STEPS)) <= outlook.left;
        let mut asked: BTreeMap<&str, &Outlook> = BTreeMap::new();
        for outlook in self.demands.iter().filter(is_shorter) {
            let least = asked.entry(&outlook.key).or_insert(outlook);
            if outlook.target < least.target {
                *least = outlook;
            }
        }
        let set = |(key, outlook): (&str, &Outlook)| {
            let latency = format!("{:.1} ms", outlook.target.as_millis_f64());
            match outlook.demand.percentile {
                95.0 => format!(" --set '{key}={latency}'"),
                percentile => {
                    format!(" --set '{key}={{ latency = \"{latency}\", percentile = {percentile} }}'")
                }
            }
        };
        let sets: String = asked.into_iter().map(set).collect();
        (!sets.is_empty())
            .then(|| format!("so: compare --schemes last-pq{sets}; it judges by that demand, too"))
    }

    /// The answer and the recommendations, one sentence per line.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let offered: f64 = self.demands.iter().map(|outlook| outlook.rate.as_mbps_f64()).sum();
        match self.answer {
            Answer::Yes => {
                let more = self.headroom.map(|share| {
                    let more = if share >= MOST_HEADROOM { "at least " } else { "" };
                    let (rate, percents) = (share * offered, percent(share));
                    let digits = usize::from(rate < 10.0);
                    if share < 0.01 {
                        "; more of these flows would be late".to_owned()
                    } else {
                        format!(", and {more}{rate:.digits$} Mb/s ({more}{percents}) more could be carried in time")
                    }
                });
                lines.push(format!(
                    "{}: all demands can be met; {} of the airtime is left{}",
                    self.word(),
                    percent(1.0 - self.load),
                    more.unwrap_or_default()
                ));
                let each = self.demands.iter().map(|outlook| {
                    format!("{:.1} ms for {}", outlook.target.as_millis_f64(), outlook.demand.flow)
                });
                lines.push(format!("ask LAST-PQ to hold {}", each.collect::<Vec<_>>().join(" and ")));
                lines.extend(self.asking());
            }
            Answer::No if self.load > 1.0 => lines.push(format!(
                "no: the demanding flows alone need {} of the airtime; {} is missing",
                percent(self.load),
                percent(self.load - 1.0)
            )),
            Answer::No => {
                for outlook in self.demands.iter().filter(|outlook| !outlook.met) {
                    let flow = &outlook.demand.flow;
                    let over = outlook.latency.map(|latency| latency.saturating_sub(outlook.demand.latency));
                    lines.push(match over {
                        _ if outlook.left.is_zero() => format!(
                            "no: the wire of {flow} takes {:.1} ms by itself",
                            outlook.wire.as_millis_f64()
                        ),
                        Some(over) if !over.is_zero() => format!(
                            "no: {flow} misses its demand by {:.1} ms even when it is served first",
                            over.as_millis_f64()
                        ),
                        _ => format!(
                            "no: only {} of {flow} arrives ({} is asked for)",
                            percent(outlook.delivered),
                            percent(DELIVERED)
                        ),
                    });
                }
            }
        }
        if self.is_close {
            lines.push("half of the runs say otherwise; compare --seeds 20 decides".to_owned());
        }
        if !self.relax.is_empty() {
            let each = self.relax.iter().map(|relaxed| {
                format!("{} to {} ms (from {})", relaxed.flow, relaxed.to.as_millis(), relaxed.from)
            });
            lines.push(format!("relax {}", each.collect::<Vec<_>>().join(" and ")));
        }
        for slower in self.slow_down.iter().take(2) {
            lines.push(format!("or slow {} down to {} (from {})", slower.flow, slower.to, slower.from));
        }
        if self.answer == Answer::No && self.relax.is_empty() && self.slow_down.is_empty() {
            lines.push(
                "no single flow that is slowed down would make room enough: slow several down".to_owned(),
            );
        }
        lines
    }
}

impl Answer {
    /// "yes" or "no".
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
        }
    }
}

/// Rounds to a thousandth, the precision of short runs.
fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}
