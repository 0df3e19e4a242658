//! The bottleneck of the flow in focus: the stage that holds most of its latency, or what bounds a transfer.

use std::collections::BTreeSet;

use airbound_record::{Direction, FlowSummary, StationSummary, Summary};

use super::rules::{AIR_BUSY, Rule, STAGE, STANDING, WIRE_FULL};
use super::{Bottleneck, Cause, Figure, median, percent};
use crate::comparison::{Comparison, SchemeRuns, is_transfer};
use crate::grid::{Spread, number};
use crate::groups::Group;
use crate::run::Run;

/// Share of the rate that a transfer asks for, from which on it counts as reached.
const ASKED: f64 = 0.9;

/// The flow in focus under one scheme.
pub(super) struct Subject<'a> {
    pub(super) comparison: &'a Comparison,
    pub(super) scheme: &'a SchemeRuns,
    pub(super) group: &'a Group,
    /// Its first member.
    pub(super) flow: &'a FlowSummary,
}

/// The flow in focus under `scheme`; `None` of a conference, which has wires of its own, and of several networks.
pub(super) fn subject<'a>(comparison: &'a Comparison, scheme: &'a SchemeRuns) -> Option<Subject<'a>> {
    let summary = scheme.summaries().next()?;
    if summary.session.is_some() || !summary.networks.is_empty() {
        return None;
    }
    let group = comparison.focus()?;
    let flow = comparison.flows_of(summary, group).next()?;
    Some(Subject { comparison, scheme, group, flow })
}

/// The bottleneck of the flow in focus under `scheme`; `None` if it delivered nothing, of a conference, and where facts are missing.
pub(super) fn bottleneck(comparison: &Comparison, scheme: &SchemeRuns) -> Option<Bottleneck> {
    let subject = subject(comparison, scheme)?;
    if subject.is_transfer() { subject.of_transfer() } else { subject.of_latency() }
}

impl Subject<'_> {
    pub(super) fn name(&self) -> &str {
        &self.group.name
    }

    /// Whether its goodput counts, not its latency.
    pub(super) fn is_transfer(&self) -> bool {
        is_transfer(self.flow) && self.flow.demand.is_none()
    }

    /// Its station, or those of its members.
    fn station(&self) -> &str {
        if self.group.is_many() { "its stations" } else { &self.flow.station }
    }

    fn of(&self, cause: Cause, rule: Rule, share: f64, sentence: String) -> Bottleneck {
        let (flow, scheme) = (self.name().to_owned(), self.scheme.name.clone());
        let figure = if rule == STAGE { Figure::MeanLatency } else { Figure::Goodput };
        let members = self.group.members.clone();
        Bottleneck { cause, figure, flow, members, scheme, rule: rule.name, share, sentence }
    }

    /// Payload that the wire carries in the direction of the flow, Mb/s.
    fn wire_payload(&self) -> f64 {
        let sum = |summary: &Summary| {
            let same = summary.flows.iter().filter(|flow| flow.direction == self.flow.direction);
            Some(same.map(|flow| flow.goodput_mbps).sum())
        };
        median(self.scheme, sum).unwrap_or(0.0)
    }

    pub(super) fn wire_mbps(&self) -> Option<f64> {
        self.comparison.facts.wire.map(|rate| rate.as_mbps_f64())
    }

    pub(super) fn busy(&self) -> f64 {
        median(self.scheme, |summary| Some(summary.air.busy_share)).unwrap_or(0.0)
    }

    /// The bottleneck of a transfer.
    pub(super) fn of_transfer(&self) -> Option<Bottleneck> {
        let (name, scheme) = (self.name(), &self.scheme.name);
        let facts = self.comparison.facts.flow(&self.flow.name)?;
        let goodput =
            self.comparison.middle(self.scheme, self.group, &|flow| Some(flow.goodput_mbps))?.median;
        if goodput <= 0.0 {
            return None;
        }
        let (busy, payload) = (self.busy(), self.wire_payload());
        let air = format!("the air is {} busy", percent(busy));
        let limit = facts.rate.map(|rate| rate.as_mbps_f64());
        if let Some(limit) = limit.filter(|limit| goodput >= ASKED * limit) {
            let sentence = format!(
                "{name} gets {} of the {} Mb/s that it asks for under {scheme}.",
                number(goodput.min(limit)),
                number(limit)
            );
            return Some(self.of(Cause::Sender, AIR_BUSY, busy, sentence));
        }
        if let Some(wire) = self.wire_mbps() {
            let full = payload / wire;
            if 100.0 * full >= WIRE_FULL.threshold {
                let sentence = format!(
                    "{name} is bounded by the wire under {scheme}: it carries {} Mb/s of payload of its {} Mb/s, and {air}.",
                    number(payload),
                    number(wire)
                );
                return Some(self.of(Cause::Wire, WIRE_FULL, full, sentence));
            }
        }
        if 100.0 * busy > AIR_BUSY.threshold {
            let sentence = format!("{name} is bounded by the air under {scheme}: {air}.");
            return Some(self.of(Cause::Air, AIR_BUSY, busy, sentence));
        }
        if let Some(standing) = self.standing_queue().filter(|wait| *wait >= STANDING.threshold) {
            let queue =
                if self.flow.direction == Direction::Downlink { "the access point" } else { self.station() };
            let sentence = format!(
                "{name} is bounded by the air under {scheme}: {air}, and 90 % of its packets wait longer than {} ms in the queue of \
                 {queue}, which never empties.",
                number(standing)
            );
            return Some(self.of(Cause::Air, STANDING, busy, sentence));
        }
        let wire = self.wire_mbps().map_or_else(
            || "the wire has no bottleneck".to_owned(),
            |wire| format!("the wire carries {} of its rate", percent(payload / wire)),
        );
        let lost = self.comparison.middle(self.scheme, self.group, &|flow| flow.loss_rate);
        let lost = lost.map_or(0.0, |lost| lost.median);
        let answers = if lost > 0.0 {
            format!(" It answers the loss of {} of its packets.", small(lost))
        } else {
            String::new()
        };
        let sentence = format!(
            "{name} is bounded by its own sender under {scheme}: {air}, {wire}, and no queue stands.{answers}"
        );
        Some(self.of(Cause::Sender, AIR_BUSY, busy, sentence))
    }

    /// Time in queues that nine tenths of its packets exceed, ms.
    fn standing_queue(&self) -> Option<f64> {
        let flows = self.scheme.runs.iter().flat_map(|run| {
            self.comparison.numbers_of(run, self.group).into_iter().map(move |flow| (run, flow))
        });
        Run::queueing(flows, 0.1)
    }

    /// The parts of its mean latency, ms, the largest first; `None` if it delivered nothing.
    pub(super) fn parts(&self) -> Option<[(Cause, f64); 7]> {
        let stages = self.comparison.mean_split(self.scheme, self.group)?;
        if stages.iter().sum::<f64>() <= 0.0 {
            return None;
        }
        let [wired, queueing, contention, airtime, retries, reordering] = stages;
        // Without a bottleneck of the wire, or without facts, all of it is distance.
        let delay = self.comparison.wire_delay(self.group).map_or(wired, airbound_units::Span::as_millis_f64);
        let distance = if self.wire_mbps().is_some() { wired.min(delay) } else { wired };
        let queue =
            if self.flow.direction == Direction::Downlink { Cause::Queue } else { Cause::StationQueue };
        let mut parts = [
            (Cause::Wire, wired - distance),
            (Cause::Distance, distance),
            (queue, queueing),
            (Cause::Contention, contention),
            (Cause::Rate, airtime),
            (Cause::Retries, retries),
            (Cause::Reordering, reordering),
        ];
        parts.sort_by(|one, other| other.1.total_cmp(&one.1));
        Some(parts)
    }

    fn of_latency(&self) -> Option<Bottleneck> {
        let parts = self.parts()?;
        let total: f64 = parts.iter().map(|(_, part)| part).sum();
        let [(cause, most), (second, next), ..] = parts;
        let share = most / total;
        let of = format!(
            "of the mean latency of {} under {}, {} ms,",
            self.name(),
            self.scheme.name,
            number(total)
        );
        if 100.0 * share < STAGE.threshold {
            let sentence = format!(
                "No single stage holds half {of} the largest are {} with {} and {} with {}.",
                stage(cause),
                percent(share),
                stage(second),
                percent(next / total)
            );
            return Some(self.of(Cause::Several, STAGE, share, sentence));
        }
        let sentence = format!("{} {of} {}.", percent(share), self.words(cause));
        Some(self.of(cause, STAGE, share, sentence))
    }

    /// The predicate of a stage that holds most of the latency.
    fn words(&self, cause: Cause) -> String {
        let of_station = |summary: &Summary, value: fn(&StationSummary) -> Option<f64>| {
            let names: BTreeSet<&str> =
                self.comparison.flows_of(summary, self.group).map(|flow| flow.station.as_str()).collect();
            let stations = summary.stations.iter().filter(|station| names.contains(station.name.as_str()));
            Spread::of(stations.map(value)).map(|spread| spread.median)
        };
        match cause {
            Cause::Wire => {
                let wire = self.wire_mbps().unwrap_or(0.0);
                format!(
                    "is queueing at the {} Mb/s wire, which carries {} Mb/s of payload: no queue behind it shortens it, unless a \
                     shaper moves the queueing there",
                    number(wire),
                    number(self.wire_payload())
                )
            }
            Cause::Distance => "is the delay of the wire, which no queue changes".to_owned(),
            Cause::Queue => {
                format!("is spent in the access point's queue; the air is {} busy", percent(self.busy()))
            }
            Cause::StationQueue => {
                format!(
                    "is spent in the queue of {}; the air is {} busy",
                    self.station(),
                    percent(self.busy())
                )
            }
            Cause::Contention => {
                let collide = median(self.scheme, |summary| summary.air.collision_rate).unwrap_or(0.0);
                format!(
                    "is waiting for the air, which is {} busy; {} of the transmissions collide",
                    percent(self.busy()),
                    percent(collide)
                )
            }
            Cause::Retries => {
                let again = median(self.scheme, |summary| of_station(summary, |station| station.retry_rate))
                    .unwrap_or(0.0);
                format!(
                    "is spent on transmissions that fail; {} of the MPDUs to or from {} are sent again",
                    percent(again),
                    self.station()
                )
            }
            Cause::Rate => {
                let rate =
                    median(self.scheme, |summary| of_station(summary, |station| station.mean_phy_rate_mbps))
                        .unwrap_or(0.0);
                format!(
                    "is the transmission itself; the mean rate to or from {} is {} Mb/s",
                    self.station(),
                    number(rate)
                )
            }
            Cause::Reordering => "is waiting in the receiver's reordering buffer".to_owned(),
            Cause::Air | Cause::Sender | Cause::Several => String::new(),
        }
    }
}

/// A small share in percent, with two digits that count.
fn small(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 0.01 { "less than 0.01 %".to_owned() } else { format!("{percent:.2} %") }
}

const fn stage(cause: Cause) -> &'static str {
    match cause {
        Cause::Wire => "queueing at the wire",
        Cause::Distance => "the wire's delay",
        Cause::Queue => "the access point's queue",
        Cause::StationQueue => "the station's queue",
        Cause::Contention => "contention",
        Cause::Retries => "retries",
        Cause::Rate => "the transmission itself",
        Cause::Reordering => "reordering",
        Cause::Air => "the air",
        Cause::Sender => "the sender",
        Cause::Several => "several",
    }
}

#[cfg(test)]
mod tests {
    use airbound_units::{BitRate, Span};

    use super::super::test_runs::{Made, compared};
    use super::*;
    use crate::facts::{Facts, FlowFacts};

    fn facts(flow: &str, wire: Option<u64>, limit: Option<u64>) -> Facts {
        let rate = limit.map(BitRate::from_mbps);
        let (name, group) = (flow.to_owned(), flow.to_owned());
        let flow =
            FlowFacts { name, group, delay: Span::from_millis(8), start: Span::ZERO, rate, deadline: None };
        Facts {
            wire: wire.map(BitRate::from_mbps),
            end: Some(Span::from_secs(20)),
            aggregates: true,
            flows: vec![flow],
            ..Facts::default()
        }
    }

    fn of_call(stages: [f64; 6], wire: Option<u64>) -> Bottleneck {
        let made = Made::new("linux", 1).call(20.0).download(235.0).stages("call", stages).air(0.42, 0.03);
        let comparison = compared(vec![made], "call", "linux").with_facts(facts("call", wire, None));
        comparison.verdict().bottleneck.expect("packets")
    }

    #[test]
    fn queueing_at_the_wire_is_told_from_its_delay() {
        let wire = of_call([58.0, 0.5, 0.5, 0.5, 0.25, 0.25], Some(250));
        assert_eq!((wire.cause, wire.share), (Cause::Wire, 50.0 / 60.0));
        assert!(
            wire.sentence.starts_with(
                "83 % of the mean latency of call under linux, 60.0 ms, is queueing at the 250 Mb/s wire, which carries 237 Mb/s"
            ) && wire.sentence.ends_with("unless a shaper moves the queueing there."),
            "{}",
            wire.sentence
        );
        assert_eq!(of_call([8.5, 0.5, 0.5, 0.5, 0.25, 0.25], Some(250)).cause, Cause::Distance);
        // Without a bottleneck there is no queue.
        assert_eq!(of_call([58.0, 0.5, 0.5, 0.5, 0.25, 0.25], None).cause, Cause::Distance);
    }

    #[test]
    fn each_stage_has_its_cause_at_half_of_the_latency() {
        let causes = [Cause::Queue, Cause::Contention, Cause::Rate, Cause::Retries, Cause::Reordering];
        for (place, cause) in (1..).zip(causes) {
            let mut stages = [1.0; 6];
            stages[place] = 5.0;
            assert_eq!(of_call(stages, None).cause, cause);
            stages[place] = 4.9;
            assert_eq!(of_call(stages, None).cause, Cause::Several);
        }
    }

    #[test]
    fn a_transfer_is_bounded_by_wire_air_or_sender() {
        let of_queue = |queue: f64, goodput: f64, busy: f64, wire: Option<u64>, limit: Option<u64>| {
            let stages = [8.7, queue, 0.2, 0.6, 0.1, 0.0];
            let made = Made::new("linux", 1).download(goodput).air(busy, 0.0).stages("download", stages);
            let comparison =
                compared(vec![made], "download", "linux").with_facts(facts("download", wire, limit));
            comparison.verdict().bottleneck.expect("packets")
        };
        let of = |goodput, busy, wire, limit| of_queue(0.9, goodput, busy, wire, limit);
        assert_eq!(of(213.0, 0.5, Some(250), None).cause, Cause::Wire);
        assert_eq!(of(212.0, 0.91, Some(250), None).cause, Cause::Air);
        let sender = of(212.0, 0.9, Some(250), None);
        assert_eq!(sender.cause, Cause::Sender);
        assert!(
            sender.sentence.ends_with(
                "bounded by its own sender under linux: the air is 90 % busy, the wire carries 85 % of its rate, and no queue stands."
            ),
            "{}",
            sender.sentence
        );
        // What reaches its limit is not bounded, however full wire and queue are.
        assert!(
            of(24.0, 0.2, None, Some(25)).sentence.contains("gets 24.0 of the 25.0 Mb/s that it asks for")
        );
        assert_eq!(of_queue(30.0, 24.0, 0.95, Some(25), Some(25)).cause, Cause::Sender);
        assert_eq!(of_queue(0.9, 22.0, 0.87, Some(1000), Some(25)).cause, Cause::Sender);
        // A queue that never empties: the air does not serve more, though gaps and backoff leave it idle.
        let air = of_queue(1.0, 291.0, 0.87, Some(1000), None);
        assert_eq!((air.cause, air.rule), (Cause::Air, "standing-queue"));
        assert!(
            air.sentence.contains("the air is 87 % busy, and 90 % of its packets wait longer than 1.00 ms"),
            "{}",
            air.sentence
        );
        assert_eq!(of_queue(30.0, 213.0, 0.87, Some(250), None).cause, Cause::Wire);
    }

    #[test]
    fn without_packets_nothing_is_said() {
        let made = Made::new("linux", 1).call(20.0);
        assert_eq!(compared(vec![made], "call", "linux").verdict().bottleneck, None);
        let made = Made::new("linux", 1).download(0.0).air(0.87, 0.0);
        let silent = compared(vec![made], "download", "linux").with_facts(facts("download", None, None));
        assert_eq!(silent.verdict().bottleneck, None);
    }

    #[test]
    fn a_sender_that_answers_losses_is_named_with_them() {
        let made = Made::new("codel", 1).download(109.0).air(0.81, 0.0).loss("download", 0.00096);
        let made = made.stages("download", [5.3, 0.1, 0.2, 0.9, 0.1, 0.0]);
        let comparison = compared(vec![made], "download", "codel").with_facts(facts("download", None, None));
        let bottleneck = comparison.verdict().bottleneck.expect("packets");
        assert!(
            bottleneck.sentence.ends_with("It answers the loss of 0.10 % of its packets."),
            "{}",
            bottleneck.sentence
        );
    }
}
