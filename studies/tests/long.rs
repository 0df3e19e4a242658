//! The papers, reproduced quickly: every claim has its row, every row is as it was when it was last looked at, and the page stands
//! alone; and the verdicts of forty random networks. Not part of `make test`: `make long` runs it.

use std::io::Write;
use std::num::NonZeroUsize;
use std::path::Path;

use airbound_studies::verdict::{Score, check};
use serde_json::Value;

mod place;

use place::Place;

/// Identities of a paper's claims that every version of ours must judge.
fn known(paper: &str) -> &'static [&'static str] {
    match paper {
        "wqm" => &[
            "bloat",
            "ampdu-length",
            "hops",
            "no-aggregation",
            "distance",
            "short-flows",
            "multi-flow",
            "parking-lot",
            "aimd",
            "multi-flow-no-aggregation",
            "parking-lot-goodput",
        ],
        "law" => &[
            "packet-tail",
            "packet-loss",
            "consecutive-loss",
            "frame-tail",
            "per-frame-loss",
            "stronger-routers",
            "bound-60-vs-46",
            "competing-2mbps",
            "bbr",
            "fairness",
            "naive-a",
            "naive-b",
            "fec-copes",
            "breakdown",
            "one-limit-beats-three",
            "choose-bound",
        ],
        "low-delay-rate-allocation" => &[
            "mcs9-nss2-goodput",
            "mcs9-nss2-delay",
            "aggregation-regulated",
            "random-square",
            "stream-drop",
            "delay-knee",
            "theorem-1",
            "stability",
            "noise-rejection",
            "model-against-measurement",
            "tracking",
        ],
        "plum" => &[
            "average-downlink",
            "distribution",
            "shared-channel",
            "mobility",
            "worst-user",
            "rho",
            "solver-time",
            "yield",
            "testbed",
            "motivation-split",
            "half-duplex",
        ],
        _ => &[
            "vr-alone-p95",
            "fig1-congested",
            "multi-flow",
            "multi-client",
            "edca-all-in-vi",
            "runtime-control",
            "static-headline",
            "mobility",
            "edca-last-pq",
            "edca-multi-client",
            "mobility-excursion",
        ],
    }
}

/// Claims of constants and arithmetic that have no rows: unit tests of the controllers compare them with the paper.
const WITHOUT_ROWS: [(&str, &str); 3] =
    [("law", "parameters"), ("wqm", "bounds"), ("low-delay-rate-allocation", "model")];

/// The identities in the list of claims next to the repository, or `None`.
fn listed(paper: &str) -> Option<Vec<String>> {
    let claims = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../shared/claims/{paper}.toml"));
    let text = std::fs::read_to_string(claims).ok()?;
    let ids = text.lines().filter_map(|line| line.strip_prefix("id = ")).map(|id| id.trim_matches('"'));
    // Unit tests judge constants.
    Some(ids.filter(|id| *id != "parameters").map(str::to_owned).collect())
}

/// The rows, one a line. A change that is meant is accepted with `INSTA_UPDATE=always`, and reviewed like code.
fn text(rows: &[Value]) -> String {
    let row = |row: &Value| {
        // The machine has a say in how long a solver takes.
        let timed = row["id"] == "solver-time";
        let of = |key: &str| row[key].to_string().trim_matches('"').to_owned();
        let (measured, verdict) = if timed { Default::default() } else { (of("measured"), of("verdict")) };
        let [id, metric, unit] = ["id", "metric", "unit"].map(of);
        format!("{id} | {metric} | {measured} {unit} | {} | {} | {verdict}", of("reference"), of("tolerance"))
    };
    rows.iter().map(row).collect::<Vec<_>>().join("\n")
}

/// The list of rows by which a quick reproduction fails, without its heading.
fn steady(paper: &str) -> String {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("data/steady/{paper}.txt"));
    let text = std::fs::read_to_string(list).expect("a list");
    text.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
}

fn reproduces(paper: &str) {
    let place = Place::new();
    let output = place.run(&["reproduce", paper, "--quick", "--json"]);
    // Not every claim holds, and of the quick runs still others do not.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let judged = |id: &str| rows.iter().any(|row| row["id"] == id && !row["tolerance"].is_null());
    insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
        insta::assert_snapshot!(paper.to_owned(), text(&rows));
    });
    for id in known(paper) {
        assert!(judged(id), "{id} is not judged");
    }
    let name = |row: &Value| Some(format!("{} | {}", row["id"].as_str()?, row["metric"].as_str()?));
    let names: Vec<String> = rows.iter().filter_map(name).collect();
    let list = steady(paper);
    let stale: Vec<&str> = list.lines().filter(|line| !names.iter().any(|name| name == line)).collect();
    assert!(stale.is_empty(), "studies/data/steady/{paper}.txt: no row is named {stale:?}");
    match listed(paper) {
        Some(ids) => {
            assert!(ids.len() >= 10, "{ids:?}");
            let ids = ids.iter().filter(|id| !WITHOUT_ROWS.contains(&(paper, id.as_str())));
            ids.for_each(|id| assert!(judged(id), "{id} of ../shared/claims is not judged"));
        }
        None => {
            let _ = writeln!(std::io::stderr(), "SKIPPED: there is no ../shared/claims/{paper}.toml");
        }
    }
    let not_run: Vec<&Value> = rows.iter().filter(|row| row["verdict"] == "not_run").collect();
    assert!(not_run.is_empty(), "{not_run:?}");
    let page = String::from_utf8(
        std::fs::read(place.path(&format!("runs/reproduce-{paper}.html"))).expect("a page"),
    )
    .expect("text");
    for forbidden in ["http://", "https://", "src="] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.matches("<svg ").count() > 5 && page.contains("What holds, what does not, and why"));
}

#[test]
fn wqm_is_done_again() {
    reproduces("wqm");
}

#[test]
fn last_pq_is_done_again() {
    reproduces("last-pq");
}

#[test]
fn law_is_done_again() {
    reproduces("law");
}

#[test]
fn plum_is_done_again() {
    reproduces("plum");
}

#[test]
fn low_delay_rate_allocation_is_done_again() {
    reproduces("low-delay-rate-allocation");
}

#[test]
fn verdicts_agree_with_the_oracle() {
    let two = NonZeroUsize::new(2).expect("not zero");
    let networks = check(1, 40, 20, two).expect("runs");
    let score = Score::of(&networks);
    assert_eq!((score.all, score.contradict), (40, 0), "{networks:#?}");
    assert!(score.agree >= 36, "{score:?}");
    // Networks for which one answer is nearly always right would prove nothing.
    assert!(score.default <= 20, "{score:?}");
}
