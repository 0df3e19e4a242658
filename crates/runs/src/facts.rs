//! Facts of a scenario for the verdict of its runs.

use airbound_report::{Facts, FlowFacts, Site};
use airbound_scenario::{ChannelSpec, Flow, Overrides, Position, Scenario, Station, Traffic};
use airbound_units::Span;
use airbound_wifi::Format;

/// The facts of a scenario.
#[must_use]
pub fn facts(scenario: &Scenario) -> Facts {
    Facts {
        wire: scenario.wire.rate,
        delay: scenario.wire.way.delay,
        end: Some(scenario.end()),
        aggregates: scenario.air.standard != Format::Legacy,
        flows: scenario.flows.iter().map(|flow| of_flow(flow, scenario.warm_up)).collect(),
        stations: scenario.stations.iter().map(|one| (one.name.clone(), one.group.clone())).collect(),
        site: site(scenario),
    }
}

fn site(scenario: &Scenario) -> Site {
    let distance = |station: &Station| match &station.channel {
        ChannelSpec::LogDistance(model) => match &model.position {
            Position::Distance(distance) => Some((station.name.clone(), distance.value())),
            _ => None,
        },
        _ => None,
    };
    let uplink = scenario.uplink.queue.as_ref().unwrap_or(&scenario.scheme.queue);
    let absence = |station: &Station| Some((station.name.clone(), station.away?.length));
    Site {
        is_shaped: scenario.access_point.shaper.is_some(),
        has_plain_uplink: matches!(uplink.name(), "fifo" | "codel" | "pie"),
        has_lower_queue: scenario.access_point.path.driver_queue != Some(0),
        // No driver of an 802.11ax card leaves rates to mac80211.
        has_rates_in_firmware: scenario.air.standard == Format::He
            || scenario.access_point.preset.has_rates_in_firmware(),
        is_shared: !scenario.neighbours.is_empty() || !scenario.interferences.is_empty(),
        distances: scenario.stations.iter().filter_map(distance).collect(),
        absences: scenario.stations.iter().filter_map(absence).collect(),
    }
}

/// The facts of a run whose resolved scenario is `text`; none if this version does not read it.
#[must_use]
pub fn facts_of(text: &str) -> Facts {
    Scenario::parse(text, "scenario.toml", &Overrides::none())
        .map_or_else(|_| Facts::default(), |read| facts(&read))
}

fn of_flow(flow: &Flow, warm_up: Span) -> FlowFacts {
    let rate = match &flow.traffic {
        Traffic::Cbr(stream) | Traffic::Poisson(stream) | Traffic::Paced(stream) => Some(stream.rate),
        Traffic::Vr(stream) => Some(stream.rate),
        Traffic::Rtc(stream) => Some(stream.rate),
        Traffic::Tcp(bulk) => bulk.limit,
        Traffic::Replay(replayed) => Some(replayed.recording.rate()),
        Traffic::Voip | Traffic::TcpShort(_) => None,
    };
    // Over the measured time, of which the flow may miss a part.
    let is_whole = flow.start <= warm_up && flow.stop.is_none();
    FlowFacts {
        name: flow.name.clone(),
        group: flow.group.clone(),
        delay: flow.wire.delay,
        start: flow.start,
        rate: rate.filter(|_| is_whole),
        deadline: match &flow.traffic {
            Traffic::Vr(stream) => Some(stream.deadline),
            Traffic::Rtc(stream) => Some(stream.deadline),
            _ => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use airbound_units::BitRate;

    use super::*;
    use crate::opened::Opened;

    #[test]
    fn the_facts_are_those_of_the_scenario_and_of_its_file() {
        let sets = [("flow.film.start", "10 s"), ("flow.call.wire.delay", "30 ms")];
        let opened = Opened::by_name("my-flat", &Overrides::from_pairs(&sets)).expect("a scenario");
        let facts = facts(&opened.scenario);
        assert_eq!(facts, facts_of(&opened.scenario.to_toml()));
        assert_eq!((facts.wire, facts.end), (Some(BitRate::from_mbps(250)), Some(Span::from_secs(23))));
        let rates: Vec<(&str, Option<BitRate>)> =
            facts.flows.iter().map(|flow| (flow.name.as_str(), flow.rate)).collect();
        let call = Some(BitRate::from_kbps(2500));
        // A film that misses a part of the measured time has no offer over all of it.
        let expected = [
            ("game", Some(BitRate::from_mbps(40))),
            ("input", Some(BitRate::from_kbps(100))),
            ("call", call),
            ("call-back", call),
            ("film", None),
            ("download", None),
        ];
        assert_eq!(rates, expected);
        assert_eq!(facts.flows[2].delay, Span::from_millis(30));
        assert_eq!(facts_of("no scenario"), Facts::default());
    }
}
