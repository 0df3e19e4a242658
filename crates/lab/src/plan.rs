//! Checks whether the laboratory supports a scenario, within the limits of Linux, the driver's radios and processor time.

use std::net::Ipv4Addr;

use airbound_air::edca::Countdown;
use airbound_scenario::{ChannelSpec, Edca, Flow, Path, PowerSave, Preset, Scenario, Traffic, Wake};
use airbound_units::{BitRate, Span};
use airbound_wifi::{Band, Format, GuardInterval, Width};

use crate::LabError;
use crate::rates;

/// The port of the first flow; flow k uses this port plus k.
pub const FIRST_PORT: u16 = 5000;
/// The wired server.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 100);
/// Limit of stations, by the driver's number of radios.
pub const MOST_STATIONS: usize = 16;
/// Limit of frames of a category in the access point's radio (`LAB_MOST_DEPTH` of the driver).
const MOST_DEPTH: u32 = 1500;
/// Bit rate above which the virtual wire is no bottleneck.
const UNBOUNDED: BitRate = BitRate::from_mbps(1000);
/// The mode of mac80211's stations: null frames, `wdev->ps_timeout` of cfg80211, each beacon.
const KERNEL_SLEEP: PowerSave =
    PowerSave { wake: Wake::NullFrame, timeout: Some(Span::from_millis(500)), listen_interval: 1 };
/// Longest run; longer ones would take hours.
const LONGEST: Span = Span::from_secs(300);

/// The address of a station, counted from 1.
#[must_use]
pub fn station_address(station: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, u8::try_from(10 + station).unwrap_or(u8::MAX))
}

/// The driver of the access point's radio.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Driver {
    /// A device queue; all decisions are the kernel's.
    #[default]
    Kernel,
    /// Law, which takes all frames from mac80211 at once, and decides queueing, rates and retries.
    Law,
}

impl Driver {
    /// The scenario with this driver. Law becomes the scheme and keeps its parameters if the scheme has any; the radio's queue gets the
    /// largest size unless the scenario sets one.
    ///
    /// # Errors
    /// [`LabError::Scenario`] with the first obstacle.
    pub fn put_into(self, scenario: &Scenario) -> Result<Scenario, LabError> {
        let mut scenario = scenario.clone();
        match self {
            Self::Kernel if scenario.scheme.queue.is_law() => {
                let problem = "scheme.queue is law; allowed is \"linux\", the kernel's own queues; Law is in --driver law";
                return Err(LabError::Scenario(problem.to_owned()));
            }
            Self::Kernel => {}
            Self::Law => {
                scenario.scheme = scenario.scheme.with_law_in_order().map_err(LabError::Scenario)?;
                let path = &mut scenario.access_point.path;
                path.driver_queue.get_or_insert(MOST_DEPTH);
                path.airtime_queue_limit = false;
            }
        }
        check(&scenario)?;
        Ok(scenario)
    }
}

/// Refuses scenarios that the laboratory does not support. Latency demands are not refused: the agent serves them, the kernel ignores
/// them.
///
/// # Errors
/// [`LabError::Scenario`] with the first obstacle.
pub fn check(scenario: &Scenario) -> Result<(), LabError> {
    match obstacle(scenario) {
        Some(obstacle) => Err(LabError::Scenario(obstacle)),
        None => Ok(()),
    }
}

fn obstacle(scenario: &Scenario) -> Option<String> {
    let air = &scenario.air;
    let (name, is_law) = (scenario.scheme.queue.name(), scenario.scheme.queue.is_law());
    let refusals = [
        (
            scenario.stations.len() > MOST_STATIONS,
            format!("it has {} stations; allowed are 1 to {MOST_STATIONS}", scenario.stations.len()),
        ),
        (scenario.stations.is_empty(), format!("it has no station; allowed are 1 to {MOST_STATIONS}")),
        (
            scenario.end() > LONGEST,
            format!("duration and warm-up are {}; allowed are at most {LONGEST}", scenario.end()),
        ),
        (
            name != "linux" && !is_law,
            format!("scheme.queue is {name}; allowed is \"linux\", the kernel's own queues"),
        ),
        (
            is_law && scenario.scheme.queue.law_config().is_ok_and(|config| !config.classic.is_nothing()),
            "law.classic is not supported: Law in the driver takes all frames".to_owned(),
        ),
        (
            !matches!(scenario.access_point.preset, Preset::Mac80211 | Preset::Mt76),
            "access-point.preset is neither mac80211 nor mt76".to_owned(),
        ),
        (
            !is_expressible(&scenario.access_point.path, air.standard),
            "access-point.path differs from its preset in more than completion, driver-queue, driver-order, max-ampdu-mpdus, \
             max-ampdu-bytes, max-ppdu-duration, hardware-tries, max-grants, charge-received-airtime and airtime-queue-limit"
                .to_owned(),
        ),
        (
            scenario.access_point.path.driver_queue.is_some_and(|depth| !(1..=MOST_DEPTH).contains(&depth)),
            format!("access-point.path.driver-queue is not 1 to {MOST_DEPTH}, or unlimited"),
        ),
        (
            !matches!(air.standard, Format::Ht | Format::Vht),
            "air.standard is neither ht nor vht, which the laboratory's radios support".to_owned(),
        ),
        (air.width > Width::Mhz80, "air.width is above 80 MHz, the limit of the laboratory's radios".to_owned()),
        (air.band != Band::Ghz5, "air.band is not 5 GHz".to_owned()),
        (air.edca != Edca::Linux, "air.edca is not linux: hostapd sets the parameters".to_owned()),
        (air.countdown != Countdown::default(), "air.countdown is not boundaries".to_owned()),
        (air.encryption, "air.encryption is on: the laboratory's network is open".to_owned()),
        (!scenario.neighbours.is_empty(), "neighbour networks are not supported".to_owned()),
        (!scenario.interferences.is_empty(), "interference is not supported".to_owned()),
        (!scenario.networks.is_empty(), "several networks ([[network]]) are not supported".to_owned()),
        (
            scenario.hearing.is_some(),
            "[hearing] is not supported: the laboratory's radios all hear each other".to_owned(),
        ),
        (
            scenario.radio.is_some(),
            "[radio] is not supported: the laboratory's channel has whole exchanges".to_owned(),
        ),
        (scenario.has_relays(), "relays are not supported".to_owned()),
        (
            scenario.wire.rate.is_some_and(|rate| rate < UNBOUNDED),
            format!("wire.rate is below {UNBOUNDED}: the laboratory's wire is no bottleneck"),
        ),
        (scenario.access_point.away.is_some(), "access-point.away is not supported".to_owned()),
        (scenario.access_point.shaper.is_some(), "access-point.shaper is not supported".to_owned()),
        (
            !scenario.wire.way.jitter.is_zero() || scenario.wire.way.loss > 0.0,
            "the wire has jitter or loss, which are not supported".to_owned(),
        ),
        (
            scenario.uplink.queue.as_ref().is_some_and(|queue| queue.name() != "linux"),
            "uplink.queue is not linux: stations run the same kernel as the access point".to_owned(),
        ),
    ];
    refusals.into_iter().find_map(|(refused, why)| refused.then_some(why)).or_else(|| {
        let stations = scenario.stations.iter().find_map(|station| {
            let why = if station.standard != air.standard {
                "standard differs from air.standard: all radios of the laboratory are alike"
            } else if station.width != air.width {
                "width differs from air.width"
            } else if matches!(station.channel, ChannelSpec::Trace(_)) {
                "channels from traces are not supported"
            } else if station.away.is_some() {
                "away is not supported"
            } else if station.power_save.is_some() && is_law {
                "power-save is not supported beside Law, which takes the packets that would wait for it"
            } else if station.power_save.is_some_and(|mode| mode != KERNEL_SLEEP) {
                "power-save differs from { timeout = \"500 ms\" }, in which the kernel's stations sleep"
            } else if station.rate.is_some_and(|rate| rates::step_of(rate).is_none()) {
                "rate is neither an HT nor a VHT rate"
            } else if station.rate.is_none() && !is_law && scenario.scheme.rate.kind() != "minstrel-ht" {
                "rate control is not the kernel's; set scheme.rate to minstrel-ht, or the station's rate"
            } else {
                return None;
            };
            Some(format!("station {}: {why}", station.name))
        });
        stations.or_else(|| scenario.flows.iter().find_map(|flow| flow_obstacle(scenario, flow)))
    })
}

/// Whether a path differs from its preset only in fields that driver and medium support.
fn is_expressible(path: &Path, standard: Format) -> bool {
    let supported = Path {
        // The kernel's own, whatever a simulation supposes.
        completion: path.completion,
        driver_queue: path.driver_queue,
        driver_order: path.driver_order,
        max_ampdu_mpdus: path.max_ampdu_mpdus,
        max_ampdu_bytes: path.max_ampdu_bytes,
        max_ppdu_duration: path.max_ppdu_duration,
        hardware_tries: path.hardware_tries,
        max_grants: path.max_grants,
        charge_received_airtime: path.charge_received_airtime,
        airtime_queue_limit: path.airtime_queue_limit,
        ..Preset::Mac80211.path(standard)
    };
    *path == supported
}

fn flow_obstacle(scenario: &Scenario, flow: &Flow) -> Option<String> {
    let why = match &flow.traffic {
        Traffic::Cbr(_) | Traffic::Poisson(_) | Traffic::Voip => None,
        Traffic::Vr(stream) if stream.await_delivery => Some("await-delivery is not supported".to_owned()),
        Traffic::Vr(stream) => {
            stream.tcp.congestion.as_ref().and_then(|slot| unknown_congestion(slot.kind()))
        }
        Traffic::Tcp(bulk) if bulk.limit.is_some() => {
            Some("TCP transfers with a limit are not supported".to_owned())
        }
        Traffic::Tcp(bulk) => bulk.tcp.congestion.as_ref().and_then(|slot| unknown_congestion(slot.kind())),
        Traffic::TcpShort(_) => Some("short TCP transfers are not supported".to_owned()),
        Traffic::Replay(_) => Some("recorded packets are not supported".to_owned()),
        Traffic::Rtc(_) => Some("real-time video is not supported".to_owned()),
        Traffic::Paced(_) => {
            Some("streams paced by the scheme are not supported; kind cbr has a constant rate".to_owned())
        }
    };
    let why = why.or_else(|| {
        (flow.wire != scenario.wire.way).then(|| "a wire of its own is not supported".to_owned())
    });
    why.map(|why| format!("flow {}: {why}", flow.name))
}

fn unknown_congestion(kind: &str) -> Option<String> {
    (!matches!(kind, "cubic" | "reno"))
        .then(|| format!("congestion control is {kind}; allowed are cubic and reno"))
}

/// The parameters of the driver for a scenario.
#[must_use]
pub fn driver_parameters(scenario: &Scenario) -> String {
    let stations = &scenario.stations;
    // The entry of the access point is unused.
    let fixed = stations.iter().map(|station| {
        let step = station.rate.and_then(rates::step_of);
        step.map_or(-1, |step| i32::from(step.index) + 256 * i32::from(step.flags)).to_string()
    });
    let fixed: Vec<String> = std::iter::once("-1".to_owned()).chain(fixed).collect();
    let streams = stations.iter().map(|station| station.streams).max().unwrap_or(1);
    let wide = u8::from(scenario.air.width > Width::Mhz20);
    let vht = u8::from(scenario.air.standard == Format::Vht);
    let short = u8::from(scenario.air.guard_interval == GuardInterval::Ns400);
    let path = &scenario.access_point.path;
    let aql = u8::from(path.airtime_queue_limit);
    let charge = u8::from(path.charge_received_airtime);
    let depth = path.driver_queue.map(|depth| format!(" depth={depth}")).unwrap_or_default();
    format!(
        "radios={} streams={streams} vht={vht} wide={wide} short_gi={short} aql={aql} charge_received={charge}{depth} fixed={}",
        stations.len() + 1,
        fixed.join(",")
    )
}
