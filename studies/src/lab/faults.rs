//! Losses and outages under faults beside the agent, or in it: the script that the laboratory's machine carries out, and the rows made of
//! its lines.

use airbound_report::{Tolerance, ValidationRow};
use serde_json::Value;

/// The cases, for the shell of the laboratory's machine.
const FAULTS: [&str; 2] =
    [include_str!("../../../lab/guest/faults.sh"), include_str!("../../../lab/guest/networks.sh")];
/// The scenario whose network is up meanwhile.
pub const FAULTS_SCENARIO: &str = "lab-vr";

/// A case, by the name that the script gives it.
struct Case {
    name: &'static str,
    what: &'static str,
    /// The longest time without an answer, if it is bounded: stations that have to associate again take theirs.
    longest_ms: Option<f64>,
    /// Whether the agent goes on.
    lives: bool,
    /// Whether its rules are there at the end of the case.
    rules: bool,
    /// The datagrams that may be lost, if that is judged.
    most_lost: Option<f64>,
}

impl Case {
    /// A case in which no datagram may be lost.
    const fn lossless(self) -> Self {
        Self { most_lost: Some(0.0), ..self }
    }
}

const fn case(
    name: &'static str,
    what: &'static str,
    longest_ms: Option<f64>,
    lives: bool,
    rules: bool,
) -> Case {
    Case { name, what, longest_ms, lives, rules, most_lost: None }
}

const CASES: [Case; 32] = [
    case("nothing", "nothing happens", Some(50.0), true, true).lossless(),
    case("killed", "kill -9 of the part that holds packets", Some(100.0), false, false),
    case("all-killed", "kill -9 of all of the agent", Some(100.0), false, true),
    case("through", "kill -9 of all of it while a light stream goes through", Some(100.0), false, true)
        .lossless(),
    case("parent-killed", "kill -9 of the part that watches", Some(100.0), false, false).lossless(),
    case("hangs", "it hangs (SIGSTOP)", Some(1000.0), false, false),
    case("asked-to-end", "it is asked to end (SIGTERM)", Some(100.0), false, false).lossless(),
    case("second-agent", "a second agent is started for the interface", Some(100.0), true, true).lossless(),
    case("frames-to-nobody", "15 Mb/s to receivers that are not associated", Some(100.0), true, true)
        .lossless(),
    case("bridge-joined", "the interface joins a bridge and leaves it", None, true, true),
    case("station-leaves", "another station leaves and comes back", Some(100.0), true, true).lossless(),
    case("interface-down", "the interface goes down and up", None, true, true),
    case("hostapd-restarted", "hostapd is restarted", None, true, true),
    case("rules-flushed", "somebody else removes all rules", Some(100.0), true, true),
    case("overload", "more comes than the radio carries", None, true, true),
    case("clock-jumps", "the clock of the day jumps by an hour, back by two", Some(100.0), true, true),
    case("sleeping-station", "90 Mb/s to a station that was asleep", Some(100.0), true, true),
    case("departed-station", "90 Mb/s to a station that has left", Some(100.0), true, true),
    case("ipv6", "the protected flow is of IPv6", Some(100.0), true, true),
    case("vlan", "the wire is a VLAN, bridged to the interface", Some(100.0), true, true),
    case("flow-offload", "a flowtable leads the protected stream past the agent", Some(100.0), true, true),
    case("runtime-control", "the demand on a stream changes beside seven downloads", None, true, true),
    case("restarted", "it is ended and started again, as by an upgrade", Some(100.0), true, true).lossless(),
    case("firewall-reloaded", "the firewall is loaded anew five times", Some(100.0), true, true).lossless(),
    case("two-networks", "90 Mb/s to the second of two networks", Some(100.0), true, true),
    case("roaming", "the station roams to the second of two networks", None, true, true),
    case("two-radios", "a second radio's agent starts and ends", Some(100.0), true, true).lossless(),
    case("wds", "the protected host is behind a station with four addresses", None, true, true),
    case("bridge-offload", "a flowtable leads the stream past a bridge's port", Some(100.0), true, true),
    case("counters", "the agent reads counters, as without type information", Some(100.0), true, true),
    case("network-removed", "the other of two networks is removed and comes back", Some(100.0), true, true),
    case("all-removed", "all networks are removed and come back", None, true, true),
];

/// The script of the cases with these names; of all without a name.
///
/// # Errors
/// A name is unknown; the error lists those known.
pub fn faults_script(only: &[String]) -> Result<String, String> {
    let known = || CASES.iter().map(|case| case.name).chain([LATE]);
    if let Some(wrong) = only.iter().find(|name| known().all(|known| known != name.as_str())) {
        let names: Vec<&str> = known().collect();
        return Err(format!("there is no case {wrong:?}; there are {}", names.join(", ")));
    }
    Ok(format!("only='{}'\n{}", only.join(" "), FAULTS.concat()))
}

/// The case whose line is not that of a fault: the agent waits for its interface.
const LATE: &str = "interface-late";

/// One line of the script.
struct Line<'a> {
    outage_ms: f64,
    slowest_ms: f64,
    pings_lost: &'a str,
    datagrams_lost: &'a str,
    datagrams: &'a str,
    agent: &'a str,
    rules_before: bool,
    rules_after: bool,
    left: &'a str,
    note: String,
}

fn line<'a>(output: &'a str, name: &str) -> Option<Line<'a>> {
    output.lines().find_map(|line| {
        let mut words =
            line.strip_prefix("fault ")?.strip_prefix(name)?.strip_prefix(' ')?.split_whitespace();
        Some(Line {
            outage_ms: words.next()?.parse().ok()?,
            slowest_ms: words.next()?.parse().ok()?,
            pings_lost: words.next()?,
            datagrams_lost: words.next()?,
            datagrams: words.next()?,
            agent: words.next()?,
            rules_before: words.next()? == "yes",
            rules_after: words.next()? == "yes",
            left: words.next()?,
            note: words.collect::<Vec<_>>().join(" "),
        })
    })
}

/// Returns the rows of the script's output for the cases with these names, or for all without a name: two or three for each case, not run
/// where a line is missing.
#[must_use]
pub fn fault_rows(output: &str, only: &[String]) -> Vec<ValidationRow> {
    let cases = CASES.iter().flat_map(|case| rows_of(case, line(output, case.name)));
    cases
        .chain(DEMANDS_MS.iter().map(|demand| demand_row(output, *demand)))
        .chain([wrong_demand(output)])
        .chain(OFFLOADS.iter().map(|(name, word)| unseen(output, name, word)))
        .chain(KEPT.iter().map(|name| kept(output, name)))
        .chain([went_through(output), readings(output), late(output), said(output)])
        .chain(vanished(output))
        .chain([answered(output)])
        .filter(|row| only.is_empty() || only.contains(&row.id))
        .collect()
}

/// The share of a light stream's packets that the agent does not hold.
fn went_through(output: &str) -> ValidationRow {
    let counted = output.lines().find_map(|line| line.strip_prefix("went "));
    let share = |counted: &str| {
        let (through, held) = counted.trim().split_once(' ')?;
        let (through, held): (f64, f64) = (through.parse().ok()?, held.parse().ok()?);
        Some(100.0 * through / (through + held))
    };
    ValidationRow::judged(
        "through",
        "packets that are not held, of a stream of 2 Mb/s and the ping",
        "%",
        Some(90.0),
        counted.map(|counted| share(counted).unwrap_or(0.0)),
        Some(Tolerance::AtLeast),
        counted.map_or_else(String::new, |counted| format!("through and held: {counted}")),
    )
}

/// The share of a processor that readings of counters take.
fn readings(output: &str) -> ValidationRow {
    let said = output.lines().find_map(|line| line.strip_prefix("readings "));
    ValidationRow::judged(
        "counters",
        "processor time of the readings alone",
        "%",
        Some(3.0),
        said.map(|share| share.trim().parse().unwrap_or(f64::INFINITY)),
        Some(Tolerance::AtMost),
        String::new(),
    )
}

/// Time until the agent holds packets of an interface that came after its start; a service manager starts it again each second.
fn late(output: &str) -> ValidationRow {
    let tenths = output.lines().find_map(|line| line.strip_prefix("late "));
    ValidationRow::judged(
        LATE,
        "from the interface's coming to the agent's rules",
        "ms",
        Some(3000.0),
        tenths.map(|tenths| tenths.trim().parse::<f64>().map_or(f64::INFINITY, |tenths| tenths * 100.0)),
        Some(Tolerance::AtMost),
        "started again each second, as by a service manager".to_owned(),
    )
}

/// Whether the journal says that a network went and came.
fn said(output: &str) -> ValidationRow {
    let words = output.lines().find_map(|line| line.strip_prefix("said "));
    let words: Option<Vec<&str>> = words.map(|words| words.split_whitespace().collect());
    ValidationRow::judged(
        "network-removed",
        "the journal says once that it went, and that it came",
        "",
        Some(1.0),
        words.as_ref().map(|words| {
            let right = words.len() == 3 && words[..2] == ["1", "1"];
            f64::from(u8::from(right))
        }),
        Some(Tolerance::AtLeast),
        words.map_or_else(String::new, |words| {
            format!("{} packets held after 3 s without it", words.last().unwrap_or(&"unknown"))
        }),
    )
}

/// The agent after the removal of all of its networks: time until its rules are gone, time from the coming of the first network to its
/// rules, its exit code, and whether it holds packets of both in the end.
fn vanished(output: &str) -> [ValidationRow; 4] {
    let words = output.lines().find_map(|line| line.strip_prefix("vanished "));
    let words: Vec<&str> = words.map(|words| words.split_whitespace().collect()).unwrap_or_default();
    let ms = |place: usize| {
        let tenths: Option<&&str> = words.get(place);
        tenths.map(|tenths| tenths.parse::<f64>().map_or(f64::INFINITY, |tenths| tenths * 100.0))
    };
    let row = |metric: &str, unit: &str, aim: f64, value: Option<f64>, tolerance, note: String| {
        ValidationRow::judged("all-removed", metric, unit, Some(aim), value, Some(tolerance), note)
    };
    let code = words.get(1).map(|code| code.parse().unwrap_or(f64::INFINITY));
    let again = "started again each second, as by a service manager".to_owned();
    let both = words.get(3).map(|networks| f64::from(u8::from(*networks == "both")));
    [
        row("from their end to that of the rules", "ms", 1000.0, ms(0), Tolerance::AtMost, String::new()),
        row("exit code", "", 1.0, code, Tolerance::Range(1.0, 1.0), String::new()),
        row("from the first's coming to the rules", "ms", 3000.0, ms(2), Tolerance::AtMost, again),
        row("packets of both are held again", "", 1.0, both, Tolerance::AtLeast, String::new()),
    ]
}

/// Time from the return of the protected flow's station to the first second in which its demand is met or missed. A question for its
/// address goes out each second, stations are read each second, traffic past the agent counts against the next reading, and the demand is
/// judged by whole seconds: 4 s, and one more for the association.
fn answered(output: &str) -> ValidationRow {
    let words = output.lines().find_map(|line| line.strip_prefix("answered all-removed "));
    let said = words.map(|words| words.split_once(' ').unwrap_or((words, "")));
    ValidationRow::judged(
        "all-removed",
        "from the station's return to an answer on its demand",
        "ms",
        Some(5000.0),
        said.map(|(hundredths, _)| {
            hundredths.parse().map_or(f64::INFINITY, |hundredths: f64| hundredths * 10.0)
        }),
        Some(Tolerance::AtMost),
        said.map_or_else(String::new, |(_, states)| format!("on the way: {states}")),
    )
}

/// The cases of flow offload, and the words before what their journal says.
const OFFLOADS: [(&str, &str); 2] = [("flow-offload", "unseen "), ("bridge-offload", "unseen-bridged ")];

/// The demands of the case `runtime-control`, one after the other.
const DEMANDS_MS: [u32; 3] = [25, 20, 15];

/// A demand that was changed while the agent ran: its percentile while it was in force, as the agent's answer to the next change has it.
fn demand_row(output: &str, demand_ms: u32) -> ValidationRow {
    let prefix = format!("demand {demand_ms} ");
    let answer = output.lines().find_map(|line| line.strip_prefix(&prefix));
    let answer: Option<Value> = answer.and_then(|answer| serde_json::from_str(answer).ok());
    let before = answer.map(|answer| answer["before"].clone());
    let before = before.filter(|before| before["demand_ms"].as_f64() == Some(f64::from(demand_ms)));
    ValidationRow::judged(
        "runtime-control",
        format!("95th percentile while {demand_ms} ms are demanded"),
        "ms",
        Some(f64::from(demand_ms)),
        before.as_ref().and_then(|before| before["measured_ms"].as_f64()),
        Some(Tolerance::AtMost),
        before.map_or_else(String::new, |before| {
            format!("met in {} of {} s", before["seconds_met"], before["seconds"])
        }),
    )
}

/// Journal and status 2 s after packets of a protected stream began to pass the agent.
fn unseen(output: &str, name: &str, word: &str) -> ValidationRow {
    let words = output.lines().find_map(|line| line.strip_prefix(word));
    let said: Vec<&str> = words.map(|words| words.split_whitespace().collect()).unwrap_or_default();
    let right = matches!(said[..], ["met", "unknown", lines] if lines != "0");
    ValidationRow::judged(
        name,
        "within 2 s the journal says so, and the demand is unknown",
        "",
        Some(1.0),
        (!said.is_empty()).then(|| f64::from(u8::from(right))),
        Some(Tolerance::AtLeast),
        match said[..] {
            [before, after, lines] => {
                format!("demand {before} before, {after} after; {lines} lines in the journal")
            }
            _ => String::new(),
        },
    )
}

/// The cases in which the demand of the protected flow has to be met in each second.
const KEPT: [&str; 11] = [
    "sleeping-station",
    "departed-station",
    "ipv6",
    "vlan",
    "two-networks",
    "roaming",
    "two-radios",
    "wds",
    "counters",
    "network-removed",
    "all-removed",
];

/// The seconds of a case in which the demand of the protected flow was met.
fn kept(output: &str, name: &str) -> ValidationRow {
    let prefix = format!("kept {name} ");
    let states = output.lines().find_map(|line| line.strip_prefix(&prefix)).map(str::trim);
    let met = states.map(|states| states.split(' ').filter(|state| *state == "met").count());
    ValidationRow::judged(
        name,
        "seconds of three in which the demand was met",
        "",
        Some(3.0),
        met.map(|met| met as f64),
        Some(Tolerance::AtLeast),
        states.unwrap_or_default().to_owned(),
    )
}

/// The exit code of `airbound agent set` with a demand that cannot be kept.
fn wrong_demand(output: &str) -> ValidationRow {
    let said = output.lines().find_map(|line| line.strip_prefix("wrong-demand ")?.split_once(' '));
    ValidationRow::judged(
        "runtime-control",
        "exit code when 1 us is demanded",
        "",
        Some(2.0),
        said.and_then(|(code, _)| code.parse().ok()),
        Some(Tolerance::Range(2.0, 2.0)),
        said.map_or_else(String::new, |(_, sentence)| sentence.to_owned()),
    )
}

fn rows_of(case: &Case, line: Option<Line<'_>>) -> Vec<ValidationRow> {
    let lost = line.as_ref().map_or_else(String::new, |line| {
        let note = if line.note.is_empty() { String::new() } else { format!("; {}", line.note) };
        format!(
            "lost: {} pings, {} of {} datagrams; slowest answer {:.0} ms{note}",
            line.pings_lost, line.datagrams_lost, line.datagrams, line.slowest_ms
        )
    });
    // After kill -9 of everything nobody is left who could remove rules; the next start does.
    let orphaned = !case.lives && case.rules;
    let order = line.as_ref().map(|line| {
        let state = (line.agent == "alive") == case.lives && line.rules_after == case.rules;
        f64::from(u8::from(line.rules_before && state && ((line.left == "removed") != orphaned)))
    });
    let state = line.as_ref().map_or_else(String::new, |line| {
        let rules = if line.rules_after { "there" } else { "gone" };
        format!("agent {}, its rules {rules}, {} when it was told to end", line.agent, line.left)
    });
    let datagrams = case.most_lost.map(|most| {
        ValidationRow::judged(
            case.name,
            "datagrams lost",
            "",
            Some(most),
            line.as_ref().and_then(|line| line.datagrams_lost.parse().ok()),
            Some(Tolerance::AtMost),
            String::new(),
        )
    });
    let rows = [
        ValidationRow::judged(
            case.name,
            format!("{}: longest time without an answer", case.what),
            "ms",
            case.longest_ms,
            line.map(|line| line.outage_ms),
            case.longest_ms.map(|_| Tolerance::AtMost),
            lost,
        ),
        ValidationRow::judged(
            case.name,
            "agent and rules as they should be",
            "",
            Some(1.0),
            order,
            Some(Tolerance::AtLeast),
            state,
        ),
    ];
    rows.into_iter().chain(datagrams).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_of_the_script_is_judged() {
        let script = faults_script(&[]).expect("all");
        for case in &CASES {
            assert!(script.contains(&format!("end {}", case.name)), "{}", case.name);
            assert!(script.contains(&format!("if wanted {}; then", case.name)), "{}", case.name);
        }
        let ends =
            script.lines().filter(|line| line.trim_start().starts_with("end ") || line.contains("; end "));
        assert_eq!(ends.count(), CASES.len());
    }

    #[test]
    fn cases_are_chosen_by_name() {
        let names = ["killed".to_owned(), LATE.to_owned()];
        assert!(faults_script(&names).expect("known").starts_with("only='killed interface-late'\n"));
        assert!(
            faults_script(&["late".to_owned()])
                .expect_err("unknown")
                .contains("no case \"late\"; there are nothing, killed")
        );
        let rows = fault_rows("late 12\n", &names);
        assert_eq!(rows.iter().map(ValidationRow::within).collect::<Vec<_>>(), [None, None, Some(true)]);
    }

    #[test]
    fn lines_become_rows() {
        let output = "noise\nfault killed 30 12.5 3 17 20000 ended:1 yes no removed 9 packets held before\n\
                      fault hangs 1400 5.0 140 9 20000 ended:1 yes no removed \n";
        let rows = fault_rows(output, &[]);
        let of = |name: &str| {
            rows.iter().filter(|row| row.id == name).map(ValidationRow::within).collect::<Vec<_>>()
        };
        assert_eq!(of("killed"), [Some(true), Some(true)]);
        assert_eq!(of("hangs"), [Some(false), Some(true)]);
        assert!(of("runtime-control").iter().all(Option::is_none));
        let demands = "demand 25 {\"before\": {\"demand_ms\": 25.0, \"measured_ms\": 24.5, \"seconds\": 5, \"seconds_met\": 5}}\n\
                       demand 20 {\"before\": {\"demand_ms\": 20.0, \"measured_ms\": 20.5}}\n\
                       demand 15 {\"before\": {\"demand_ms\": 20.0, \"measured_ms\": 1.0}}\n\
                       wrong-demand 2 demand.latency is 1 us\nunseen met met 0\n\
                       kept ipv6 met met met \nkept vlan met unknown missed \n";
        let of_demands = DEMANDS_MS.map(|demand| demand_row(demands, demand).within());
        assert_eq!(of_demands, [Some(true), Some(false), None]);
        assert_eq!(wrong_demand(demands).within(), Some(true));
        assert_eq!(unseen(demands, "flow-offload", "unseen ").within(), Some(false));
        let shares = ["went 450 20\n", "went 0 400\n", "went \n", ""].map(|text| went_through(text).within());
        assert_eq!(shares, [Some(true), Some(false), Some(false), None]);
        let of_kept = ["ipv6", "vlan", "wds"].map(|name| kept(demands, name).within());
        assert_eq!(of_kept, [Some(true), Some(false), None]);
        let removed = "said 1 1 40\nvanished 3 1 7 both\n";
        assert_eq!(said(removed).within(), Some(true));
        assert_eq!(said("said 1 0 40\n").within(), Some(false));
        assert_eq!(said("said 2 1 0\n").within(), Some(false));
        assert!(vanished(removed).iter().all(|row| row.within() == Some(true)));
        let missed = vanished("vanished none 2 none one\n").map(|row| row.within());
        assert_eq!(missed, [Some(false); 4]);
        assert!(vanished("").iter().all(|row| row.within().is_none()));
        let of_answers =
            ["answered all-removed 310 idle unknown met\n", "answered all-removed none unknown\n"];
        assert_eq!(of_answers.map(|line| answered(line).within()), [Some(true), Some(false)]);
        assert_eq!(answered("kept all-removed met\n").within(), None);
        assert_eq!(unseen("unseen met unknown 1\n", "flow-offload", "unseen ").within(), Some(true));
        // What the script did not come to is not judged.
        assert_eq!(of("overload"), [None, None]);
        assert!(rows.iter().any(|row| row.note.contains("9 packets held before")));
    }
}
