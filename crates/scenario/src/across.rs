//! Keys of several tables that must fit each other, checked when all are read.

use std::collections::BTreeSet;

use airbound_control::rate::RateConfig;
use airbound_wifi::{Band, Width};

use super::error::ScenarioError;
use super::fits::{Beyond, Hardware, RateLimits, Side, clash};
use super::path::Preset;
use super::section::Section;
use super::{AccessPoint, Air, ChannelSpec, Network, Scheme, Slot, Station, TraceUse, Uplink, relay};

/// Refuses fixed rates that the channel or the access point lacks.
pub(super) fn check_fixed_rates(
    top: &Section<'_>,
    (air, access_point): (&Air, &AccessPoint),
    (scheme, uplink): (&Scheme, &Uplink),
    networks: &[Network],
) -> Result<(), ScenarioError> {
    let limits = RateLimits {
        owner: "the access point",
        band: air.band,
        standard: air.standard,
        width: air.width,
        streams: access_point.streams,
    };
    let problem_of = |slot: &Slot| {
        let Ok(RateConfig::Fixed(config)) = slot.config() else { return None };
        let mut rates = config.rate.into_iter().chain(config.stations.iter().map(|one| one.rate));
        rates.find_map(|rate| {
            limits.problem_of(rate).map(|problem| format!("has the rate {rate}, but {problem}"))
        })
    };
    for (table, slot) in [("scheme", Some(&scheme.rate)), ("uplink", uplink.rate.as_ref())] {
        if let Some(problem) = slot.and_then(problem_of) {
            return Err(top.table(table)?.wrong("rate", problem));
        }
    }
    for Network { name, scheme, .. } in networks {
        if let Some(problem) = scheme.as_ref().and_then(|scheme| problem_of(&scheme.rate)) {
            return Err(top.wrong("network", format!("{name}: the scheme {problem}")));
        }
    }
    Ok(())
}

/// Refuses more channels than a band has without overlap: 2.4 GHz has 1, 5, 9 and 13, and half as many of 40 MHz (802.11-2020, Annex
/// E). Those of 5 GHz depend on the country, and stand for 6 GHz, too.
pub(super) fn check_channels(
    top: &Section<'_>,
    air: &Air,
    networks: &[Network],
) -> Result<(), ScenarioError> {
    let most = match air.band {
        Band::Ghz2 if air.width == Width::Mhz40 => 2,
        Band::Ghz2 => 4,
        Band::Ghz5 | Band::Ghz59 => return Ok(()),
    };
    let channels: BTreeSet<u16> = networks.iter().map(|network| network.channel).collect();
    if channels.len() <= most {
        return Ok(());
    }
    let width = air.width;
    Err(top.wrong(
        "network",
        format!(
            "entries use {} channels; 2.4 GHz has {most} of {width} that do not overlap (see air.band and air.width)",
            channels.len()
        ),
    ))
}

/// Refuses stations whose transmit path, that of `[uplink]`, is of hardware that lacks what they are. Relays have the access point's.
pub(super) fn check_uplink(
    top: &Section<'_>,
    preset: Preset,
    entries: &[relay::Entry<'_>],
    stations: &[Station],
) -> Result<(), ScenarioError> {
    let Some(hardware) = Hardware::of(preset) else { return Ok(()) };
    let (uplink, air) = (top.table("uplink")?, top.table("air")?);
    let is_relay = |name: &str| stations.iter().any(|station| station.via.as_deref() == Some(name));
    for entry in entries {
        // What the entry omits is that of the channel.
        let owner = |key: &str| if entry.section.has(key) { &entry.section } else { &air };
        let members = stations.get(entry.members.clone()).into_iter().flatten();
        for station in members.filter(|station| !is_relay(&station.name)) {
            let side = match hardware.lacks(station.standard, station.width, station.streams) {
                None => continue,
                Some(Beyond::Standard) => Side::standard(owner("standard"), station.standard),
                Some(Beyond::Width) => Side::new(owner("width"), "width", station.width),
                Some(Beyond::Streams) => Side::new(&entry.section, "streams", station.streams),
            };
            return Err(clash(&Side::preset(&uplink, preset), &side, &hardware.rule()));
        }
    }
    Ok(())
}

/// A pipe has no radios.
pub(super) fn refuse_effects_of_pipes(
    top: &Section<'_>,
    access_point: &AccessPoint,
    stations: &[Station],
) -> Result<(), ScenarioError> {
    let is_pipe = |station: &Station| matches!(&station.channel, ChannelSpec::Trace(link) if link.used_as == TraceUse::Pipe);
    if !stations.iter().any(is_pipe) {
        return Ok(());
    }
    let problem = "is not allowed, since a trace replaces the radios (as = \"pipe\")";
    if access_point.away.is_some() {
        return Err(top.table("access-point")?.wrong("away", problem));
    }
    for section in top.tables("station")? {
        if let Some(key) = ["away", "power-save"].into_iter().find(|key| section.has(key)) {
            return Err(section.wrong(key, problem));
        }
    }
    Ok(())
}
