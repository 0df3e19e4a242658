//! The rows of the report, derived from the findings.

use super::{Availability, Findings, Row, Tried};
use crate::LinuxError;
use crate::bpf::types::Types;
use crate::completions::{CompletionConfig, Completions, Source};
use crate::nfqueue::{Queue, QueueConfig};
use crate::nftables::{self, Plane, Rules};
use crate::nl80211::WifiInterface;

use Availability::{No, Unknown, Yes};

/// Queue numbers for the trial, near the end of the range, which other programs are unlikely to use.
const TRIAL_QUEUES: std::ops::Range<u16> = 65_000..65_008;

/// Opens an unused queue, and closes it.
pub(super) fn try_queue() -> Tried {
    let mut tried = Tried::Fails("no queue is free".to_owned());
    for number in TRIAL_QUEUES {
        tried = Tried::of(Queue::open(&QueueConfig { number, ..QueueConfig::default() }));
        if tried == Tried::Works {
            break;
        }
    }
    tried
}

/// Lets `nft` check the rules without installing them.
pub(super) fn try_rules(interface: &str, bridged: bool) -> Tried {
    let plane = if bridged { Plane::Bridged } else { Plane::Routed };
    let rules = Rules::of(interface, TRIAL_QUEUES.start, [plane]);
    match nftables::check(&rules) {
        // The program's message has no error number.
        Err(LinuxError::Program { reason, .. }) if reason.contains("not permitted") => {
            Tried::Forbidden(reason)
        }
        other => Tried::of(other),
    }
}

/// Loads, attaches and detaches the eBPF programs.
pub(super) fn try_tracing(interface: &WifiInterface) -> Tried {
    let config = CompletionConfig { source: Some(Source::Traced), ..CompletionConfig::default() };
    match Completions::open(interface, &config) {
        Err(error) if error.to_string().contains("not permitted") => Tried::Forbidden(error.to_string()),
        other => Tried::of(other),
    }
}

/// Whether the kernel supports queueing disciplines in eBPF, by its types (6.16 and newer).
pub(super) fn find_bpf_qdisc() -> Option<bool> {
    let types = Types::load("vmlinux", None).ok()?;
    Some(types.offset("bpf_struct_ops_Qdisc_ops", &["data"]).is_some())
}

fn row(id: &'static str, what: &'static str, available: Availability, found: String, therefore: &str) -> Row {
    Row { id, what, available, found, therefore: therefore.to_owned() }
}

const fn yes_or_no(yes: bool) -> Availability {
    if yes { Yes } else { No }
}

fn of_trial(tried: Option<&Tried>, works: &str) -> (Availability, String) {
    match tried {
        Some(Tried::Works) => (Yes, works.to_owned()),
        Some(Tried::Fails(why)) => (No, why.clone()),
        Some(Tried::Forbidden(why)) => (Unknown, format!("not permitted: {why}")),
        None => (Unknown, "not tried".to_owned()),
    }
}

/// All rows, in the order of a packet's path.
pub(super) fn all(findings: &Findings) -> Vec<Row> {
    let mut rows = vec![capabilities(findings)];
    rows.extend(holding(findings));
    rows.push(offloads(findings));
    rows.extend(mac80211_queues(findings));
    rows.extend(airtime(findings));
    rows.extend(tries_and_rates(findings));
    rows.extend(watching(findings));
    rows
}

fn capabilities(findings: &Findings) -> Row {
    let all: Vec<&str> =
        crate::privileges::Capability::ALL.iter().map(|capability| capability.name()).collect();
    let missing: Vec<&str> =
        all.iter().copied().filter(|name| !findings.capabilities.contains(name)).collect();
    let found = match (findings.capabilities.is_empty(), missing.is_empty()) {
        (_, true) => format!("has {}", all.join(", ")),
        (true, _) => "has none of them".to_owned(),
        _ => format!("has {}, lacks {}", findings.capabilities.join(", "), missing.join(", ")),
    };
    let therefore = if missing.is_empty() {
        "all other capabilities are dropped"
    } else if missing.contains(&"CAP_NET_ADMIN") {
        "the agent cannot run: start it as root, or with these capabilities"
    } else {
        "no eBPF: counters are read instead"
    };
    row("capabilities", "capabilities of this process", yes_or_no(missing.is_empty()), found, therefore)
}

fn holding(findings: &Findings) -> [Row; 3] {
    let (queue, queue_found) = of_trial(findings.queue.as_ref(), "opened a queue and closed it");
    let (rules, rules_found) = of_trial(findings.rules.as_ref(), "`nft` accepted the rules for inet");
    let (bridge, bridge_found) =
        of_trial(findings.bridge_rules.as_ref(), "`nft` accepted the rules for bridge");
    let is_port = findings.link.as_ref().is_some_and(|link| link.bridge.is_some());
    let port =
        if is_port { "the interface is a bridge's port" } else { "the interface is not a bridge's port" };
    let use_of = |available, used: bool, plane: &str| match available {
        No => format!("no {plane} packets can be held"),
        _ if used => format!("{plane} packets are held"),
        _ => format!("not needed here: {port}"),
    };
    [
        row(
            "nfqueue",
            "holding packets (NFQUEUE)",
            queue,
            queue_found,
            if queue == No {
                "LAST-PQ and Law are not available"
            } else {
                "packets are held, and released in the scheme's order"
            },
        ),
        row(
            "rules_routed",
            "rules for routed packets",
            rules,
            rules_found,
            &use_of(rules, !is_port, "routed"),
        ),
        row(
            "rules_bridged",
            "rules for bridged packets",
            bridge,
            format!("{bridge_found}; {port}"),
            &use_of(bridge, is_port, "bridged"),
        ),
    ]
}

fn offloads(findings: &Findings) -> Row {
    let merging: Vec<&str> =
        findings.wired.iter().filter(|(_, it)| it.receive_merging).map(|(name, _)| name.as_str()).collect();
    let found = match (merging.is_empty(), findings.wired.is_empty()) {
        (_, true) => "no wired interface is up, or ethtool does not report it".to_owned(),
        (true, _) => "disabled on all wired interfaces (ethtool)".to_owned(),
        _ => format!("enabled on {} (ethtool)", merging.join(", ")),
    };
    let therefore = match merging.first() {
        None => "one verdict for each packet".to_owned(),
        Some(first) => format!(
            "one verdict releases a whole super-packet; `ethtool -K {first} gro off` allows scheduling of single packets"
        ),
    };
    let available = if findings.wired.is_empty() { Unknown } else { yes_or_no(!merging.is_empty()) };
    row("super_packets", "packets merged on the wired side (GRO)", available, found, &therefore)
}

fn mac80211_queues(findings: &Findings) -> [Row; 4] {
    let wiphy = &findings.wiphy;
    let limits = wiphy.txq_limits;
    let number = |value: Option<u32>| value.map_or("?".to_owned(), |value| value.to_string());
    let limits_found = format!(
        "nl80211 reports {} packets, {} bytes, quantum {} bytes",
        number(limits.packets),
        number(limits.memory),
        number(limits.quantum)
    );
    let has_limits = limits.packets.is_some();
    let (length, qdisc) =
        findings.link.as_ref().map_or((0, "?"), |link| (link.queue_length, link.qdisc.as_str()));
    let is_plain = findings.link.as_ref().is_some_and(|link| !link.queues_in_mac80211()) && !wiphy.has_txqs();
    let statistics = findings.stations.iter().any(|station| station.backlog().is_some());
    [
        row(
            "txqs",
            "queues for each station in mac80211 (FQ-CoDel)",
            yes_or_no(wiphy.has_txqs()),
            "nl80211's extended feature TXQS".to_owned(),
            if wiphy.has_txqs() {
                "the release window keeps them short"
            } else {
                "released packets wait in the driver's plain queue"
            },
        ),
        row(
            "txq_limits",
            "limit of mac80211's queues",
            yes_or_no(has_limits),
            if has_limits { limits_found } else { "nl80211 reports no limit".to_owned() },
            if has_limits { "wqm sets the packet limit" } else { "wqm cannot set it" },
        ),
        row(
            "transmit_queue",
            "a plain transmit queue",
            yes_or_no(is_plain),
            format!("rtnetlink: qdisc {qdisc}, txqueuelen {length}"),
            if is_plain { "wqm sets txqueuelen" } else { "txqueuelen has no effect; wqm does not set it" },
        ),
        row(
            "txq_statistics",
            "backlog and drops for each station",
            match (statistics, findings.stations.is_empty()) {
                (true, _) => Yes,
                (false, true) => Unknown,
                (false, false) => No,
            },
            in_station_dump(findings, statistics, "backlog and drops of mac80211's queues"),
            if statistics { "wqm uses the backlog" } else { "wqm does not know the backlog" },
        ),
    ]
}

fn in_station_dump(findings: &Findings, present: bool, what: &str) -> String {
    match (findings.stations.len(), present) {
        (0, _) => "no station is associated".to_owned(),
        (_, true) => format!("the station dump has {what}"),
        (_, false) => format!("the station dump lacks {what}"),
    }
}

fn airtime(findings: &Findings) -> [Row; 4] {
    let wiphy = &findings.wiphy;
    // For drivers that register no airtime mac80211 reports zero.
    let has_airtime = findings
        .stations
        .iter()
        .any(|station| station.transmit_airtime.is_some_and(|airtime| !airtime.is_zero()));
    let weight = findings.stations.iter().find_map(|station| station.airtime_weight);
    let survey = findings.survey.iter().find(|survey| survey.is_in_use);
    let busy = survey.and_then(|survey| survey.busy).is_some();
    [
        row(
            "airtime_queue_limit",
            "bound on airtime in the hardware (AQL)",
            yes_or_no(wiphy.has_airtime_queue_limit()),
            "nl80211's extended feature AQL".to_owned(),
            if wiphy.has_airtime_queue_limit() {
                "the kernel bounds the airtime in the hardware"
            } else {
                "only the release window bounds the airtime in the hardware"
            },
        ),
        row(
            "airtime_weights",
            "airtime fairness by weight",
            yes_or_no(wiphy.has_airtime_fairness()),
            match weight {
                Some(weight) => {
                    format!("nl80211's extended feature AIRTIME_FAIRNESS; a station has weight {weight}")
                }
                None => "nl80211's extended feature AIRTIME_FAIRNESS".to_owned(),
            },
            if wiphy.has_airtime_fairness() {
                "the agent's queue decides the shares; weights are not changed"
            } else {
                "the agent's queue decides the shares"
            },
        ),
        row(
            "airtime_counters",
            "airtime counters of each station",
            match (has_airtime, findings.stations.is_empty()) {
                (true, _) => Yes,
                (false, true) => Unknown,
                (false, false) => No,
            },
            in_station_dump(findings, has_airtime, "airtime above zero"),
            if has_airtime {
                "used where the release window follows counters"
            } else {
                "airtime is computed from rates and lengths"
            },
        ),
        row(
            "survey",
            "load of the channel",
            yes_or_no(busy),
            match (survey, busy) {
                (Some(survey), true) => format!("the survey of {} MHz has the busy time", survey.frequency),
                (Some(survey), false) => {
                    format!("the survey of {} MHz lacks the busy time", survey.frequency)
                }
                (None, _) => "the driver has no survey of the channel in use".to_owned(),
            },
            if busy {
                "wqm uses the free share of the channel"
            } else {
                "wqm does not know the free share of the channel"
            },
        ),
    ]
}

fn tries_and_rates(findings: &Findings) -> [Row; 4] {
    let wiphy = &findings.wiphy;
    let tid = wiphy.tid;
    let names = tid.names();
    let expected = findings.stations.iter().any(|station| station.expected_throughput.is_some());
    let masks = wiphy.has_bitrate_mask();
    let retries = match (wiphy.short_retries, wiphy.long_retries) {
        (Some(short), Some(long)) => {
            format!(
                "nl80211 accepts a limit for all frames (now {short} short, {long} long); whether the driver applies it is unknown"
            )
        }
        _ => "nl80211 reports no limit".to_owned(),
    };
    [
        row(
            "tid_config",
            "settings for each station and traffic identifier",
            yes_or_no(!names.is_empty()),
            if names.is_empty() {
                "nl80211 lists none".to_owned()
            } else {
                format!(
                    "nl80211 lists {}; at most {} short and {} long tries",
                    names.join(", "),
                    tid.short_retries,
                    tid.long_retries
                )
            },
            if tid.has_retries() {
                "law sets the retry limit of each station"
            } else {
                "law cannot set the retry limit of each station"
            },
        ),
        row(
            "retries",
            "a radio's retry limit",
            Unknown,
            retries,
            "not changed: rate control in mac80211 ignores it, firmware may apply it",
        ),
        row(
            "rate_mask",
            "rate masks",
            if masks { Unknown } else { No },
            match (masks, expected) {
                (false, _) => "nl80211 does not list the command",
                (true, true) => {
                    "nl80211 lists the command; rate control seems to be mac80211's, which applies masks"
                }
                (true, false) => {
                    "nl80211 lists the command; a firmware that chooses rates itself may refuse it"
                }
            }
            .to_owned(),
            "not used: rate control chooses the rates",
        ),
        row(
            "rate_control",
            "rate control in the kernel",
            match (expected, findings.stations.is_empty()) {
                (true, _) => Yes,
                (false, true) => Unknown,
                (false, false) => No,
            },
            in_station_dump(
                findings,
                expected,
                "an expected throughput, which mac80211's own rate control reports",
            ),
            if expected {
                "not used: rates follow from completions"
            } else {
                "rates follow from completions"
            },
        ),
    ]
}

fn watching(findings: &Findings) -> [Row; 2] {
    let (tracing, found) =
        of_trial(findings.tracing.as_ref(), "four programs were loaded, attached to mac80211, and detached");
    [
        row(
            "ebpf",
            "completions of each frame (eBPF, type information of modules)",
            tracing,
            found,
            if tracing == Yes {
                "the release window follows each frame's fate"
            } else {
                "the release window follows nl80211's counters, more coarsely"
            },
        ),
        row(
            "bpf_qdisc",
            "queueing disciplines in eBPF",
            findings.has_bpf_qdisc.map_or(Unknown, yes_or_no),
            match findings.has_bpf_qdisc {
                Some(true) => "the kernel's types have bpf_struct_ops_Qdisc_ops",
                Some(false) => {
                    "the kernel's types lack bpf_struct_ops_Qdisc_ops (6.16 and newer may have it)"
                }
                None => "the kernel has no type information (/sys/kernel/btf/vmlinux)",
            }
            .to_owned(),
            "not used: packets are held by NFQUEUE",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nl80211::{Station, TidCounters, TxqCounters};
    use airbound_units::{BitRate, Span};

    fn find<'r>(rows: &'r [Row], id: &str) -> &'r Row {
        rows.iter().find(|row| row.id == id).expect(id)
    }

    #[test]
    fn without_findings_no_feature_is_available() {
        let rows = all(&Findings::default());
        assert!(rows.iter().all(|row| row.available != Yes), "{rows:#?}");
        let mut ids: Vec<&str> = rows.iter().map(|row| row.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), rows.len());
    }

    #[test]
    fn facts_of_stations_are_unknown_without_a_station() {
        let mut findings = Findings::default();
        for id in ["txq_statistics", "airtime_counters", "rate_control"] {
            assert_eq!(find(&all(&findings), id).available, Unknown, "{id}");
        }
        findings.stations.push(Station::default());
        for id in ["txq_statistics", "airtime_counters", "rate_control"] {
            assert_eq!(find(&all(&findings), id).available, No, "{id}");
        }
        findings.stations[0] = Station {
            transmit_airtime: Some(Span::from_micros(1)),
            expected_throughput: Some(BitRate::from_mbps(10)),
            tids: vec![TidCounters { txq: Some(TxqCounters::default()), ..TidCounters::default() }],
            ..Station::default()
        };
        for id in ["txq_statistics", "airtime_counters", "rate_control"] {
            assert_eq!(find(&all(&findings), id).available, Yes, "{id}");
        }
    }

    #[test]
    fn a_forbidden_trial_is_unknown() {
        let findings =
            Findings { tracing: Some(Tried::Forbidden("EPERM".to_owned())), ..Findings::default() };
        let rows = all(&findings);
        let row = find(&rows, "ebpf");
        assert_eq!((row.available, row.found.as_str()), (Unknown, "not permitted: EPERM"));
        let findings = Findings { tracing: Some(Tried::Works), ..Findings::default() };
        assert_eq!(find(&all(&findings), "ebpf").available, Yes);
    }
}
