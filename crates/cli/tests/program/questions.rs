//! Everyday questions: the verdict's sentence about a scenario, and a run with the advice that proves it (docs/use/questions.md).

use serde_json::Value;

use crate::place::Place;

/// A question: scenario, a part of a sentence of its verdict, the advice, and what the advice improves.
struct Question {
    scenario: &'static str,
    /// Schemes of the comparison; the figures are those of the first.
    schemes: &'static str,
    sentence: &'static str,
    advice: &'static [&'static str],
    /// Number of changes that the verdict itself advises; a run with each must show that it helps.
    advised: usize,
    flow: &'static str,
    figure: Figure,
    /// The share of the figure that must remain at most, or the factor by which it must grow at least.
    factor: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Figure {
    Mean,
    P95,
    P99,
    Goodput,
}

const QUESTIONS: [Question; 7] = [
    Question {
        scenario: "my-flat",
        schemes: "linux",
        sentence: "is queueing at the 250 Mb/s wire",
        advice: &["wire.rate=1 Gbit/s"],
        advised: 2,
        flow: "game",
        figure: Figure::P95,
        factor: 0.6,
    },
    Question {
        scenario: "call-backup",
        schemes: "linux",
        sentence: "the largest are the station's queue with",
        advice: &["flow.backup.limit=10 Mbit/s"],
        advised: 2,
        flow: "picture",
        figure: Figure::P95,
        factor: 0.5,
    },
    Question {
        scenario: "bedroom-tv",
        schemes: "linux,wqm",
        sentence: "television takes",
        advice: &["station.television.channel.distance=20 m"],
        advised: 0,
        flow: "download",
        figure: Figure::Goodput,
        factor: 1.1,
    },
    Question {
        scenario: "two-neighbours",
        schemes: "linux",
        sentence: "The air is 9",
        advice: &["neighbour.above.load=1 Mbit/s", "neighbour.below.load=1 Mbit/s"],
        advised: 1,
        flow: "game",
        figure: Figure::P95,
        factor: 0.2,
    },
    Question {
        scenario: "mesh-game",
        schemes: "linux",
        sentence: "stairs takes",
        advice: &["flow.download.limit=40 Mbit/s"],
        advised: 1,
        flow: "game",
        figure: Figure::P95,
        factor: 0.5,
    },
    Question {
        scenario: "class-of-thirty",
        schemes: "linux",
        sentence: "is spent in the access point's queue",
        advice: &["station.laptop.channel.distance=6 m"],
        advised: 1,
        flow: "call",
        figure: Figure::Mean,
        factor: 0.6,
    },
    Question {
        scenario: "phone-scan",
        schemes: "linux",
        sentence: "of the MPDUs to or from phone are sent again",
        advice: &["station.phone.away.length=20 ms"],
        advised: 1,
        flow: "call",
        figure: Figure::P99,
        factor: 0.3,
    },
];

/// Every sentence of a verdict.
fn sentences(verdict: &Value) -> String {
    let all = verdict["health"]
        .as_array()
        .expect("a list")
        .iter()
        .chain([&verdict["choice"], &verdict["bottleneck"]]);
    all.filter_map(|finding| finding["sentence"].as_str()).collect::<Vec<_>>().join("\n")
}

impl Question {
    fn run(&self, place: &Place, advice: &[&str]) -> Value {
        let mut arguments = vec!["compare", self.scenario, "--schemes", self.schemes, "--json"];
        if advice.is_empty() {
            arguments.push("--why");
        }
        for set in advice {
            arguments.extend(["--set", set]);
        }
        place.json(&arguments)
    }

    fn figure(&self, results: &Value) -> f64 {
        let flows = results["runs"][0]["summary"]["flows"].as_array().expect("flows");
        let flow = flows.iter().find(|flow| flow["name"] == self.flow).expect("the flow");
        let value = match self.figure {
            Figure::Mean => &flow["latency_ms"]["mean"],
            Figure::P95 => &flow["latency_ms"]["p95"],
            Figure::P99 => &flow["latency_ms"]["p99"],
            Figure::Goodput => &flow["goodput_mbps"],
        };
        value.as_f64().expect("a figure")
    }
}

#[test]
fn the_advice_improves_what_the_verdict_says() {
    let place = Place::new();
    for question in &QUESTIONS {
        let name = question.scenario;
        let before = question.run(&place, &[]);
        let advised = before["verdict"]["advice"].as_array().expect("a list");
        assert_eq!(advised.len(), question.advised, "{name}: {advised:?}");
        for attempt in before["attempts"].as_array().expect("a list") {
            assert_eq!(attempt["helps"], true, "{name}: {}", attempt["sentence"]);
        }
        assert_eq!(before["attempts"].as_array().map(Vec::len), Some(question.advised), "{name}");
        let said = sentences(&before["verdict"]);
        assert!(said.contains(question.sentence), "{name}: {} in {said}", question.sentence);
        let after = question.run(&place, question.advice);
        let (from, to) = (question.figure(&before), question.figure(&after));
        let is_better =
            if question.factor > 1.0 { to >= question.factor * from } else { to <= question.factor * from };
        assert!(is_better, "{name}: {from} before, {to} with the advice {:?}", question.advice);
    }
}

/// The one who pays for a slow station is told so, by a run in which it comes nearer.
#[test]
fn a_transfer_gains_where_a_slow_station_comes_nearer() {
    let place = Place::new();
    let sets = ["--set", "focus=download", "--set", "station.television.channel.distance=44 m"];
    let asked = ["compare", "bedroom-tv", "--schemes", "linux", "--why", "--json"];
    let results = place.json(&[&asked[..], &sets[..]].concat());
    let advice = results["verdict"]["advice"].as_array().expect("a list");
    assert_eq!(advice.len(), 1, "{advice:?}");
    assert_eq!(advice[0]["sets"][0], "station.television.channel.distance=22 m", "{advice:?}");
    let attempt = &results["attempts"][0];
    assert!(attempt["figure"] == "goodput" && attempt["helps"] == true, "{attempt}");
    let goodput = |key: &str| attempt[key].as_f64().expect("a goodput");
    assert!(goodput("after") > 1.1 * goodput("before"), "{attempt}");
}

/// The page has each question with its scenario, its sentence and the advice.
#[test]
fn the_page_has_all_questions() {
    let page = include_str!("../../../../docs/use/questions.md");
    let flowing = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for question in &QUESTIONS {
        assert!(
            flowing.contains(&format!("airbound compare {}", question.scenario)),
            "{}",
            question.scenario
        );
        assert!(flowing.contains(question.sentence), "{}", question.sentence);
        for set in question.advice {
            let (key, value) = set.split_once('=').expect("a change");
            assert!(flowing.contains(&format!("--set {key}=\"{value}\"")), "{set}");
        }
    }
}
