//! The answer in words.

use airbound_units::Span;

use super::figures::{Figures, HALF, SICK, SWING, WEAK, is_answered};
use super::series::{Series, share};
use super::{Cause, Diagnosis, Evidence, Observations, Side};

pub(super) fn words(cause: Cause, figures: &Figures, seen: &Observations) -> Diagnosis {
    Diagnosis {
        cause,
        sentence: sentence(cause, figures, seen),
        advice: advice(cause, figures, seen).to_owned(),
        evidence: evidence(cause, figures, seen),
        missing: missing(seen),
    }
}

fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

fn millis(span: Span) -> String {
    if span >= Span::from_secs(3600) {
        return "lost".to_owned();
    }
    format!("{:.0} ms", span.as_millis_f64())
}

/// At most 20 words.
fn sentence(cause: Cause, figures: &Figures, seen: &Observations) -> String {
    let known = |share: Option<f64>| share.map_or_else(|| "an unknown share".to_owned(), percent);
    let late = percent(figures.near.late_share());
    let swing = figures.swing.unwrap_or(0.0);
    match cause {
        Cause::Healthy if figures.near.delays.is_empty() => {
            "Nothing is wrong on the way to the host.".to_owned()
        }
        Cause::Healthy if figures.is_late() => {
            format!("No fault: {late} of the probes were late, as the signal fades by {swing:.0} dB.")
        }
        Cause::Healthy => format!("Nothing is wrong: {late} of the probes to the near end were late."),
        Cause::Scan if figures.in_scans < HALF => format!(
            "The radio scans: {} of the probes that were sent meanwhile were late.",
            percent(figures.scanned.0)
        ),
        Cause::Scan => {
            format!("The radio scans: {} of all late probes fell into scans.", percent(figures.in_scans))
        }
        Cause::Sleep => {
            format!(
                "A radio sleeps: {} of the probes after a pause waited for it.",
                percent(figures.asleep.1.max(figures.far_asleep.1))
            )
        }
        Cause::Away => match figures.period {
            Some(absence) => format!(
                "A radio leaves the channel every {} for {}.",
                millis(absence.period),
                millis(absence.length)
            ),
            None => format!("A radio leaves the channel: {late} of the probes waited until it was back."),
        },
        Cause::Contention => {
            format!(
                "Others hold the channel for {} of the time; {late} of the probes were late.",
                known(figures.others)
            )
        }
        Cause::Retries if figures.swings() => format!(
            "Frames fail as the signal fades by {swing:.0} dB: {:.1} retries for each; {late} of the probes were late.",
            figures.retries.unwrap_or(0.0)
        ),
        Cause::Retries if figures.retries.is_none_or(|retries| retries < figures.most_retries()) => format!(
            "The air loses {} of the probes at a good signal, without a queue; {late} were late.",
            percent(share(figures.near.lost(), figures.near.delays.len()))
        ),
        Cause::Retries => format!(
            "Frames fail at a good signal: {:.1} retries for each; {late} of the probes were late.",
            figures.retries.unwrap_or(0.0)
        ),
        Cause::WeakSignal => format!(
            "The signal is weak, {:.0} dBm; {late} of the probes were late.",
            figures.signal.unwrap_or(WEAK)
        ),
        Cause::Queue => format!("Packets wait in a queue before the Wi-Fi; {late} of the probes were late."),
        Cause::Wire if seen.side == Side::Wired && figures.beyond < SICK => {
            format!("The wire to the gateway delays or loses packets: {late} of the probes.")
        }
        Cause::Wire if figures.near.delays.is_empty() => {
            format!("The way to the host delays or loses packets: {} of the probes.", percent(figures.beyond))
        }
        Cause::Wire => format!(
            "The way beyond the gateway delays or loses packets: {} of the probes.",
            percent(figures.beyond)
        ),
        Cause::Program if figures.stalled > 0.0 => format!(
            "This machine stalls programs, for up to {}; the network is well.",
            millis(figures.longest_stall)
        ),
        Cause::Program if seen.unread > 0 => {
            format!("A program here does not read in time: {} datagrams were dropped unread.", seen.unread)
        }
        Cause::Program => "The network is well; the program itself stutters.".to_owned(),
        Cause::Unknown if !is_answered(&seen.near) => {
            "No end answered a probe; the counters do not say why.".to_owned()
        }
        Cause::Unknown => format!("The Wi-Fi is late for {late} of the probes; its counters do not say why."),
    }
}

fn advice(cause: Cause, figures: &Figures, seen: &Observations) -> &'static str {
    match (cause, seen.side) {
        (Cause::Healthy, _) if figures.is_late() => {
            "What moves between both ends makes a signal fade; if a program stutters now, start this again while it does, with --stutters."
        }
        (Cause::Retries, _) if figures.swings() => {
            "Look for interference or a hidden sender, then for what moves between both ends: move one of them, or its antennas."
        }
        (Cause::Healthy, _) => "If a program stutters now, start this again while it does, with --stutters.",
        (Cause::Scan, _) => {
            "Stop background scans while streaming: pin the network to its BSSID (NetworkManager: 802-11-wireless.bssid), and close network menus."
        }
        (Cause::Sleep, Side::AccessPoint) => {
            "Switch power save of the station off (Linux: iw dev NAME set power_save off)."
        }
        (Cause::Sleep, _) => "Switch power save off: iw dev NAME set power_save off.",
        (Cause::Away, _) => {
            "Switch off what shares a radio: Wi-Fi Direct, a hotspot, AirDrop (AWDL), location by Wi-Fi, Bluetooth on 2.4 GHz; on both ends."
        }
        (Cause::Contention, _) => "Move the network to a channel with less load, or to 5 or 6 GHz.",
        (Cause::Retries, _) => {
            "Look for interference or a hidden sender: change the channel, use a narrower one, move antennas."
        }
        (Cause::WeakSignal, _) => {
            "Move closer, or put an access point between; a lower band reaches farther."
        }
        (Cause::Queue, Side::AccessPoint) => {
            "Keep queues short here: airbound agent, or mac80211's FQ-CoDel with AQL."
        }
        (Cause::Queue, _) => {
            "Keep the access point's queue short (airbound agent, FQ-CoDel), or bound transfers below the rate of the link."
        }
        (Cause::Wire, Side::Wired) => {
            "Check cable, switch and router; a shaper (SQM, CAKE) helps against a full uplink."
        }
        (Cause::Wire, _) => {
            "The Wi-Fi is not the reason: a shaper at the router (SQM, CAKE) helps against a full line, else ask the provider."
        }
        (Cause::Program, _) => {
            "Look at the load of the machine, and at decoder, driver and settings of the program."
        }
        (Cause::Unknown, _) => {
            "Try a cable or another driver for comparison; the evidence says which counters are missing."
        }
    }
}

fn evidence(cause: Cause, figures: &Figures, seen: &Observations) -> Vec<Evidence> {
    let mut rows = Vec::new();
    let mut row = |what: &str, value: String, limit: String| {
        rows.push(Evidence { what: what.to_owned(), value, limit });
    };
    let round_trips = |series: &Series| {
        let at = |share| series.quantile(share).map_or_else(|| "none".to_owned(), millis);
        let least = series
            .least
            .map_or_else(|| "none".to_owned(), |least| format!("{:.1} ms", least.as_millis_f64()));
        format!("least {least}; beyond it p50 {}, p95 {}, p99 {}", at(0.5), at(0.95), at(0.99))
    };
    for (name, series) in [("near", &figures.near), ("far", &figures.far)] {
        if series.delays.is_empty() {
            continue;
        }
        row(&format!("round trips, {name}"), round_trips(series), String::new());
        let counts = format!("{} of {}, {} of them lost", series.late(), series.delays.len(), series.lost());
        row(&format!("late probes, {name}"), counts, percent(SICK));
        // Round trips a minute are those under a load, which is this network's own here.
        if let (Cause::Queue, Some(loaded), Some(least)) = (cause, series.per_minute(), series.least) {
            let unloaded = 60.0 / least.as_secs_f64().max(1e-9);
            row(
                &format!("round trips a minute (RPM), {name}"),
                format!("{loaded:.0}; at the least round trip {unloaded:.0}"),
                String::new(),
            );
        }
    }
    if !figures.far.delays.is_empty() && !figures.near.delays.is_empty() {
        row("late beyond the near end", percent(figures.beyond), percent(SICK));
    }
    if let Some(worst) = figures.episodes.iter().max_by_key(|episode| episode.end.since(episode.begin)) {
        let begin = seen.near.first().map_or(Span::ZERO, |first| worst.begin.since(first.sent));
        let length = millis(worst.end.since(worst.begin));
        row(
            "longest time without an answer in time",
            format!("{length}, {:.1} s after the start", begin.as_secs_f64()),
            String::new(),
        );
    }
    for (begin, end) in seen.scans.iter().take(5) {
        let after = seen.near.first().map_or(Span::ZERO, |first| begin.since(first.sent));
        row(
            "scan",
            format!("{:.1} s after the start, {}", after.as_secs_f64(), millis(end.since(*begin))),
            String::new(),
        );
    }
    row("late probes in scans", percent(figures.in_scans), percent(HALF));
    let (inside, outside) = figures.scanned;
    row(
        "late of those sent in scans, else",
        format!("{}, {}", percent(inside), percent(outside)),
        percent(HALF),
    );
    for (name, (dense, sparse), on_beacons) in
        [("near", figures.asleep, figures.on_beacons), ("far", figures.far_asleep, figures.far_on_beacons)]
    {
        let shares = format!("{}, {}", percent(sparse), percent(dense));
        row(&format!("late after a pause, else, {name}"), shares, percent(HALF));
        row(&format!("delayed arrivals on the beacons, {name}"), percent(on_beacons), String::new());
    }
    if let Some(is_on) = seen.power_save {
        row("power save", (if is_on { "on" } else { "off" }).to_owned(), String::new());
    }
    row("late probes that arrived together", percent(figures.held), percent(HALF));
    if let Some(absence) = figures.period {
        row(
            "steady absences",
            format!("{} every {}", millis(absence.length), millis(absence.period)),
            String::new(),
        );
    }
    row("late probes in a standing queue", percent(figures.standing), percent(HALF));
    let optional = [
        ("signal", figures.signal.map(|signal| format!("{signal:.0} dBm")), format!("{WEAK:.0} dBm")),
        (
            "deviation of the signal",
            figures.swing.map(|swing| format!("{swing:.1} dB")),
            format!("{SWING:.0} dB"),
        ),
        (
            "retries for each frame",
            figures.retries.map(|retries| format!("{retries:.2}")),
            format!("{:.2}", figures.most_retries()),
        ),
        ("channel held by others", figures.others.map(percent), percent(HALF)),
        ("channel held by this network", figures.own.map(percent), String::new()),
        ("samples with packets that wait here", figures.backlog.map(percent), percent(HALF)),
    ];
    for (what, value, limit) in optional {
        if let Some(value) = value {
            row(what, value, limit);
        }
    }
    row("time in which this machine stalled", percent(figures.stalled), percent(SICK));
    row("datagrams dropped unread", seen.unread.to_string(), "1".to_owned());
    rows
}

fn missing(seen: &Observations) -> Vec<String> {
    let mut missing = Vec::new();
    let mut say = |is_missing: bool, what: &str| {
        if is_missing {
            missing.push(what.to_owned());
        }
    };
    say(!is_answered(&seen.near), "no probe of the near end was answered: Wi-Fi and wire are not told apart");
    say(
        !is_answered(&seen.far),
        "no probe of a host was answered: the way beyond the near end is not judged",
    );
    if seen.side == Side::Wired {
        say(true, "this machine has no Wi-Fi: neither scans nor sleep nor the channel are judged");
        return missing;
    }
    let none = |is: fn(&super::Counters) -> bool| !seen.counters.iter().any(is);
    say(
        none(|counters| counters.signal.is_some()),
        "the driver reports no signal: weak signal is not judged",
    );
    say(none(|counters| counters.retries.is_some()), "the driver reports no retries: they are not judged");
    say(none(|counters| counters.busy.is_some()), "the driver has no survey: contention is not judged");
    missing
}
