//! `airbound law choose-bound`: a bound that lies where the baselines put it, and Law under it.

use serde_json::Value;

use crate::place::Place;

#[test]
fn the_bound_lies_between_what_the_baselines_need() {
    let place = Place::new();
    let calm = ["--set", "surroundings=calm", "--set", "duration=20 s", "--alpha", "99"];
    let output = place.succeed(&[&["law", "choose-bound", "office", "--json"][..], &calm].concat());
    let form: Value = serde_json::from_str(&output).expect("JSON");
    let number = |value: &Value| value.as_f64().expect("a number");
    let thresholds: Vec<f64> = form["baselines"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|baseline| number(&baseline["threshold_ms"]))
        .collect();
    assert_eq!(thresholds.len(), 3);
    let (lowest, highest) = (number(&form["lowest_ms"]), number(&form["highest_ms"]));
    assert!(thresholds.iter().all(|beta| (lowest..=highest).contains(beta)) && lowest < highest);
    let bound = number(&form["bound_ms"]);
    // Tenths of a millisecond are rounded up.
    assert!((lowest..=highest + 0.1).contains(&bound));
    assert!((bound - number(&form["limit_q_ms"]) - 2.0 * number(&form["limit_h_ms"])).abs() < 1e-6);
    // Law was tried with the bounds, and kept each by at most one frame exchange.
    let trials = form["law"].as_array().expect("a list");
    for law in trials {
        assert!(number(&law["p999_ms"]) < number(&law["bound_ms"]) + 3.0, "{law}");
    }
    // The chosen one is the first that keeps 1 %, and other seeds agree.
    assert_eq!(form["keeps"], true, "{form}");
    let keeping = trials.iter().find(|law| number(&law["most_loss_rate"]) <= 0.01).expect("one keeps it");
    assert_eq!(number(&keeping["bound_ms"]), bound);
    assert_eq!(form["fresh"]["bound_ms"], form["bound_ms"]);
    assert!(number(&form["fresh"]["loss_rate"]) <= 0.01, "{}", form["fresh"]);
    // Whatever the number of jobs.
    let again =
        place.succeed(&[&["law", "choose-bound", "office", "--json", "--jobs", "1"][..], &calm].concat());
    assert_eq!(output, again);
}

#[test]
fn what_cannot_be_chosen_is_said() {
    let place = Place::new();
    let short = ["--set", "duration=1 s"];
    for (arguments, words) in [
        (&["--alpha", "0"][..], "1 to 100"),
        (&["--alpha", "NaN"], "1 to 100"),
        (&["--flow", "nobody"], "there is no such flow; flows are stream"),
        (&["--schemes", "nonsense"], "nonsense"),
        (&["--limit-h", "3"], "--limit-h"),
        (&["--limit-h", "10 s"], "leaves nothing for the queue"),
    ] {
        let sentence = place.refuse(&[&["law", "choose-bound", "office"][..], &short, arguments].concat());
        assert!(sentence.contains(words), "{words} in {sentence}");
    }
    assert!(place.refuse(&["law"]).contains("--help"));
}
