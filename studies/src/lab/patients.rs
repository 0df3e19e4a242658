//! `airbound doctor` beside causes that are injected into the laboratory's network: the script that its machine carries out, and what is
//! made of its lines.

use airbound_scenario::{Overrides, Scenario};
use airbound_senders::diagnosis::Cause;

/// The cases, for the shell of the laboratory's machine, and the network that is up meanwhile.
const SCRIPT: &str = include_str!("../../../lab/guest/doctor.sh");
const CLINIC: &str = include_str!("../../../lab/guest/clinic.toml");

/// Cases of the script, and what is injected.
const PATIENTS: [(&str, Cause); 22] = [
    ("healthy", Cause::Healthy),
    ("healthy-ap", Cause::Healthy),
    ("scan-often", Cause::Scan),
    ("scan-seldom", Cause::Scan),
    ("away-ap", Cause::Away),
    // An access point does not learn of a station's scans.
    ("away-station", Cause::Away),
    ("sleep-ap", Cause::Sleep),
    ("weak-station", Cause::WeakSignal),
    ("weak-ap", Cause::WeakSignal),
    ("contention-2", Cause::Contention),
    ("contention-3", Cause::Contention),
    ("contention-tcp", Cause::Contention),
    ("queue-ap", Cause::Queue),
    ("queue-station", Cause::Queue),
    ("queue-upload", Cause::Queue),
    ("wire-loss", Cause::Wire),
    ("wire-jitter", Cause::Wire),
    ("wire-queue", Cause::Wire),
    ("wire-ap", Cause::Wire),
    ("program-stutters", Cause::Program),
    ("program-stalls", Cause::Program),
    ("program-unread", Cause::Program),
];

/// One case of the laboratory, and what the doctor says of it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Patient {
    /// Its name.
    pub name: &'static str,
    /// The cause that was injected.
    pub truth: Cause,
    /// The cause that the doctor names; `None` if the machine did not come to it, or the doctor named none.
    pub named: Option<Cause>,
    /// Its first sentence, or what was in the way.
    pub sentence: String,
}

/// The network of the cases.
///
/// # Errors
/// The scenario is wrong: a defect.
pub fn clinic() -> Result<Scenario, String> {
    Scenario::parse(CLINIC, "clinic", &Overrides::none()).map_err(|error| error.to_string())
}

/// The script of the cases with these names; of all without a name.
///
/// # Errors
/// A name is unknown; the error lists those known.
pub fn patients_script(only: &[String]) -> Result<String, String> {
    let names = PATIENTS.map(|(name, _)| name);
    if let Some(wrong) = only.iter().find(|name| !names.contains(&name.as_str())) {
        return Err(format!("there is no case {wrong:?}; there are {}", names.join(", ")));
    }
    Ok(format!("only='{}'\n{SCRIPT}", only.join(" ")))
}

/// The cases with these names, or all without a name, from the script's output.
#[must_use]
pub fn patients(output: &str, only: &[String]) -> Vec<Patient> {
    let wanted =
        |(name, _): &(&str, Cause)| only.is_empty() || only.iter().any(|wanted| wanted.as_str() == *name);
    let patient = |(name, truth): (&'static str, Cause)| {
        let prefix = format!("patient {name} ");
        let said = output.lines().find_map(|line| line.strip_prefix(&prefix));
        let (named, sentence) = said.and_then(|said| said.split_once(' ')).unwrap_or(("", "not reached"));
        let named = Cause::ALL.into_iter().find(|cause| cause.name() == named);
        Patient { name, truth, named, sentence: sentence.trim().to_owned() }
    };
    PATIENTS.into_iter().filter(wanted).map(patient).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_has_every_case_and_the_laboratory_can_play_the_clinic() {
        let script = patients_script(&[]).expect("all");
        for (name, _) in PATIENTS {
            assert_eq!(script.matches(&format!("if wanted {name}; then")).count(), 1, "{name}");
        }
        assert_eq!(script.matches("if wanted ").count(), PATIENTS.len());
        airbound_lab::plan::check(&clinic().expect("a scenario")).expect("within what it can express");
        let wrong = patients_script(&["scan".to_owned()]).expect_err("unknown");
        assert!(wrong.contains("no case \"scan\"; there are healthy, healthy-ap"), "{wrong}");
    }

    #[test]
    fn lines_become_patients() {
        let only = ["scan-often", "sleep-ap", "wire-ap"].map(str::to_owned);
        let output =
            "noise\npatient scan-often scan A scan takes the radio.\npatient sleep-ap none no gateway\n";
        let found = patients(output, &only);
        assert_eq!(found.iter().map(|patient| patient.name).collect::<Vec<_>>(), only);
        assert_eq!(
            found.iter().map(|patient| patient.named).collect::<Vec<_>>(),
            [Some(Cause::Scan), None, None]
        );
        let sentences: Vec<&str> = found.iter().map(|patient| patient.sentence.as_str()).collect();
        assert_eq!(sentences, ["A scan takes the radio.", "no gateway", "not reached"]);
    }
}
