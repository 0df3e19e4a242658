//! An arena: every rule for the rate of a video stream, with every queue, at every place, over seeds; ranked.
//!
//! The score of a rule at a place is its *timely rate*, the bitrate times `1 - 10 x` the share of late frames, 0 from a tenth of late frames
//! on, over that of the best rule there. Frames that were lost, left out or came after the deadline are late. The rank is by the mean over the
//! places; its interval is that of the mean over seeds.

mod figures;
mod place;
mod report;

use std::collections::BTreeMap;

use airbound_scenario::{catalogue, rate_rules};
use airbound_senders::rtp::rate::CustomRule;
use airbound_sim::Make;

use crate::error::RunsError;
use crate::jobs;
use crate::opened::{Named, Opened};
use crate::sweep::Interval;
use crate::watch::{Meter, Watch};
use figures::Figures;
pub use place::Place;

/// An arena to be held.
#[derive(Clone)]
pub struct Arena {
    rules: Vec<String>,
    /// Rules from outside, by name; `rules` has their names, too.
    own: OwnRules,
    schemes: Vec<String>,
    places: Vec<Place>,
    seeds: u32,
    duration: Option<String>,
}

/// Rules from outside, by name.
pub type OwnRules = BTreeMap<String, Make<dyn CustomRule>>;

/// A rule, with a scheme if the arena has several.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entrant {
    rule: String,
    scheme: String,
    label: String,
}

/// The results.
#[derive(Clone)]
pub struct Standings {
    arena: Arena,
    /// Best first.
    rows: Vec<Row>,
    /// Number of runs.
    runs: usize,
}

/// The results of an entrant.
#[derive(Debug, Clone)]
struct Row {
    entrant: Entrant,
    /// 0 to 100.
    score: Estimate,
    /// Means over places and seeds.
    all: Figures,
    /// By place: score and means over the seeds.
    places: Vec<(Estimate, Figures)>,
}

/// A mean, with its interval if there are several seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Estimate {
    mean: f64,
    range: Option<(f64, f64)>,
}

/// The rule of a scenario whose stream follows one from outside: one that takes reports.
const IN_PLACE: &str = "gcc";

/// Of all intervals.
const CONFIDENCE: f64 = 0.95;

impl Estimate {
    fn of(values: &[f64]) -> Self {
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        Self {
            mean,
            range: Interval::of(values, CONFIDENCE, 1).map(|interval| (interval.low, interval.high)),
        }
    }
}

impl Arena {
    /// An arena of these rules, schemes and places, each by name; without rules of all. `own` are further rules that `rules` can name.
    ///
    /// # Errors
    /// A name stands for nothing or is there twice, or a place has no stream.
    pub fn new(
        rules: &[String],
        own: OwnRules,
        schemes: &[String],
        places: &[String],
        seeds: u32,
        duration: Option<String>,
    ) -> Result<Self, RunsError> {
        let known: Vec<&str> = rate_rules().map(|(name, _)| name).collect();
        if let Some(taken) = own.keys().find(|name| known.contains(&name.as_str())) {
            return Err(RunsError::Arena(format!(
                "{taken} is the name of a built-in rule; take another one"
            )));
        }
        let rules = if rules.is_empty() {
            known.iter().copied().chain(own.keys().map(String::as_str)).map(str::to_owned).collect()
        } else {
            rules.to_vec()
        };
        for (option, names) in
            [("--rules", &rules), ("--schemes", &schemes.to_vec()), ("--places", &places.to_vec())]
        {
            if let Some(twice) = names.iter().enumerate().find(|(place, name)| names[..*place].contains(name))
            {
                return Err(RunsError::Arena(format!("{option} names {} twice; name each once", twice.1)));
            }
        }
        let is_unknown = |rule: &&String| !known.contains(&rule.as_str()) && !own.contains_key(*rule);
        if let Some(wrong) = rules.iter().find(is_unknown) {
            let is_sender = catalogue()
                .iter()
                .any(|kind| kind.name == "senders" && kind.words.iter().any(|(name, _)| name == wrong));
            let what = if is_sender { "a sender without frames of video" } else { "there is no such rule" };
            return Err(RunsError::Arena(format!(
                "--rules {wrong}: {what}; rules are {}",
                known.iter().copied().chain(own.keys().map(String::as_str)).collect::<Vec<_>>().join(", ")
            )));
        }
        for scheme in schemes {
            if let Some(rule) = scheme.split('+').find(|part| known.contains(part) && *part != "fixed") {
                return Err(RunsError::Arena(format!(
                    "--schemes {scheme}: {rule} is a rule, which --rules names; allowed are queues and rate controls"
                )));
            }
        }
        let places = places.iter().map(|name| Place::open(name)).collect::<Result<Vec<_>, _>>()?;
        let arena = Self { rules, own, schemes: schemes.to_vec(), places, seeds, duration };
        if let Some(place) = arena.places.first() {
            place.under(None, arena.duration.as_deref())?.schemes(&arena.schemes)?;
        }
        Ok(arena)
    }

    /// Seeds and measured time of a quick arena, and of a full one.
    #[must_use]
    pub fn extent(is_quick: bool) -> (u32, Option<String>) {
        if is_quick { (2, Some("12 s".to_owned())) } else { (5, None) }
    }

    fn entrants(&self) -> Vec<Entrant> {
        let of = |scheme: &String| {
            let label = |rule: &String| match self.schemes.len() {
                1 => rule.clone(),
                _ => format!("{rule} over {scheme}"),
            };
            self.rules
                .iter()
                .map(|rule| Entrant { rule: rule.clone(), scheme: scheme.clone(), label: label(rule) })
                .collect::<Vec<_>>()
        };
        self.schemes.iter().flat_map(of).collect()
    }

    /// Holds it on up to `threads` threads.
    ///
    /// # Errors
    /// A run cannot be built, or [`RunsError::Interrupted`] once `watch` says so.
    pub fn hold(&self, threads: usize, watch: &dyn Watch) -> Result<Standings, RunsError> {
        let entrants = self.entrants();
        let alone = self.schemes.iter().map(|scheme| (None, scheme.as_str()));
        let tried = entrants.iter().map(|entrant| (Some(entrant.rule.as_str()), entrant.scheme.as_str()));
        // The runs without the stream first, then entrant by entrant.
        let mut runs: Vec<(Opened, Named, u64, &Place)> = Vec::new();
        for (rule, scheme) in alone.chain(tried) {
            for place in &self.places {
                let own = rule.and_then(|rule| self.own.get(rule));
                let built_in = if own.is_some() { Some(IN_PLACE) } else { rule };
                let opened = place.under(built_in, self.duration.as_deref())?;
                let mut named = opened.schemes(&[scheme])?.remove(0);
                if let Some(make) = own {
                    named.plugins.rule(&place.flow, make.clone());
                }
                for seed in opened.seeds(self.seeds)? {
                    runs.push((opened.clone(), named.clone(), seed, place));
                }
            }
        }
        let length = runs.iter().map(|(opened, ..)| opened.length()).sum();
        let meter = Meter::new(watch, length);
        let made = jobs::all(threads, &runs, |(opened, named, seed, place)| {
            figures::measure(opened, named, *seed, place, &meter)
        })?;
        let each = self.places.len() * self.seeds as usize;
        let (alone, tried) = made.split_at(self.schemes.len() * each);
        let with_cost = tried.iter().enumerate().map(|(run, figures)| {
            let scheme = run / each / self.rules.len();
            figures.beside(&alone[scheme * each + run % each])
        });
        let figures: Vec<Figures> = with_cost.collect();
        Ok(Standings { rows: self.rank(entrants, &figures), arena: self.clone(), runs: runs.len() })
    }

    /// Rows of the entrants, best first.
    fn rank(&self, entrants: Vec<Entrant>, figures: &[Figures]) -> Vec<Row> {
        let (places, seeds) = (self.places.len(), self.seeds as usize);
        let of = |entrant: usize, place: usize| &figures[(entrant * places + place) * seeds..][..seeds];
        let timely = |runs: &[Figures]| runs.iter().map(Figures::timely_rate).sum::<f64>() / seeds as f64;
        let best: Vec<f64> = (0..places)
            .map(|place| (0..entrants.len()).map(|entrant| timely(of(entrant, place))).fold(0.0, f64::max))
            .collect();
        let score = |run: &Figures, place: usize| {
            if best[place] > 0.0 { 100.0 * run.timely_rate() / best[place] } else { 0.0 }
        };
        let row = |(number, entrant): (usize, Entrant)| {
            let by_place = |place: usize| {
                let scores: Vec<f64> = of(number, place).iter().map(|run| score(run, place)).collect();
                (Estimate::of(&scores), Figures::mean(of(number, place)))
            };
            let by_seed: Vec<f64> = (0..seeds)
                .map(|seed| {
                    (0..places).map(|place| score(&of(number, place)[seed], place)).sum::<f64>()
                        / places as f64
                })
                .collect();
            let all = Figures::mean(&figures[number * places * seeds..][..places * seeds]);
            Row { entrant, score: Estimate::of(&by_seed), all, places: (0..places).map(by_place).collect() }
        };
        let mut rows: Vec<Row> = entrants.into_iter().enumerate().map(row).collect();
        rows.sort_by(|a, b| b.score.mean.total_cmp(&a.score.mean));
        rows
    }
}

#[cfg(test)]
mod tests {
    use airbound_senders::rtp::rate::RuleReport;
    use airbound_units::BitRate;

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_short_arena_ranks_its_rules_alike_on_any_number_of_threads() {
        let arena = Arena::new(
            &names(&["fixed", "moonlight"]),
            OwnRules::new(),
            &names(&["linux", "fifo"]),
            &names(&["calm"]),
            2,
            Some("500 ms".to_owned()),
        )
        .expect("valid");
        let standings = arena.hold(2, &()).expect("runs");
        assert_eq!(standings.runs, 2 * 2 * 2 + 2 * 2);
        assert_eq!(standings.rows.len(), 4);
        assert!(standings.rows.windows(2).all(|pair| pair[0].score.mean >= pair[1].score.mean));
        assert!(standings.rows[0].score.mean > 0.0 && standings.rows[0].all.bitrate > 5.0);
        let again = arena.hold(1, &()).expect("runs");
        assert_eq!(again.to_json().to_string(), standings.to_json().to_string());
        for line in standings.to_text(100).lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
        assert!(standings.to_html().expect("a page").contains("moonlight over fifo"));
    }

    /// Keeps its rate, or lowers it to the least one.
    #[derive(Debug)]
    struct Keeps(bool);

    impl CustomRule for Keeps {
        fn on_report(&mut self, report: &RuleReport) -> BitRate {
            if self.0 { report.rate } else { report.least }
        }
    }

    #[test]
    fn rules_from_outside_enter_the_same_table() {
        let make =
            |keeps: bool| -> Make<dyn CustomRule> { std::sync::Arc::new(move |_| Box::new(Keeps(keeps))) };
        let own = || OwnRules::from([("keeps".to_owned(), make(true)), ("hides".to_owned(), make(false))]);
        let held = |rules: &[&str]| {
            Arena::new(&names(rules), own(), &names(&["linux"]), &names(&["calm"]), 1, Some("2 s".to_owned()))
        };
        let arena = held(&["fixed", "keeps", "hides"]).expect("valid");
        let standings = arena.hold(1, &()).expect("runs");
        let of = |name: &str| {
            standings.rows.iter().find(|row| row.entrant.rule == name).expect("a row").all.bitrate
        };
        assert!(of("keeps") > 15.0 && of("hides") < 0.5 * of("keeps"), "{} {}", of("keeps"), of("hides"));
        assert_eq!(held(&[]).expect("valid").entrants().len(), rate_rules().count() + 2);
        assert!(held(&["leaves"]).err().expect("wrong").to_string().contains("there is no such rule"));
        let taken = OwnRules::from([("gcc".to_owned(), make(true))]);
        let taken = Arena::new(&[], taken, &names(&["linux"]), &names(&["calm"]), 1, None);
        assert!(taken.err().expect("wrong").to_string().contains("gcc is the name of a built-in rule"));
    }

    #[test]
    fn the_score_is_the_timely_rate_over_the_best_one() {
        let arena = Arena::new(
            &names(&["fixed", "gcc"]),
            OwnRules::new(),
            &names(&["linux"]),
            &names(&["calm", "walk"]),
            1,
            None,
        );
        let arena = arena.expect("valid");
        let run = |bitrate, late| Figures { bitrate, late, ..Figures::default() };
        let figures = [run(20.0, 0.0), run(20.0, 0.2), run(10.0, 0.0), run(8.0, 0.02)];
        let rows = arena.rank(arena.entrants(), &figures);
        assert_eq!(rows[0].entrant.rule, "gcc");
        assert!((rows[0].score.mean - 75.0).abs() < 1e-9, "{rows:?}");
        assert!((rows[1].score.mean - 50.0).abs() < 1e-9, "{rows:?}");
        assert_eq!(rows[1].score.range, None);
    }

    #[test]
    fn wrong_names_are_said_in_a_sentence() {
        let all = |rules: &[&str], schemes: &[&str], places: &[&str]| {
            Arena::new(&names(rules), OwnRules::new(), &names(schemes), &names(places), 1, None)
                .err()
                .expect("wrong")
                .to_string()
        };
        assert!(all(&["best"], &["linux"], &["calm"]).contains("rules are gcc, moonlight"));
        assert!(all(&["gcc", "gcc"], &["linux"], &["calm"]).contains("--rules names gcc twice"));
        assert!(all(&["gcc"], &["quick"], &["calm"]).contains("quick"));
        assert!(
            all(&["aggregation"], &["linux"], &["calm"]).contains("a sender without frames of video; rules")
        );
        assert!(all(&["gcc"], &["linux+gcc"], &["calm"]).contains("gcc is a rule, which --rules names"));
        assert!(all(&["gcc"], &["linux"], &["attic"]).contains("places are calm"));
    }
}
