//! The schemes that a comparison has if none are named.

use airbound_control::queue::QueueConfig;
use airbound_scenario::{DEFAULT_SCHEMES, Flow, Traffic};

use crate::opened::Opened;

/// The word that stands for all schemes.
const ALL: &str = "all";
/// The scheme of queue and rate control in one, which is no kind of queue.
const LAW: &str = "law";

/// Whether a flow is one that a scheme is made for.
type IsMadeFor = fn(&Flow) -> bool;

/// Schemes, each with the flows that it is made for.
const MADE_FOR: [(&str, IsMadeFor); 3] = [
    ("last-pq", |flow| flow.demand.is_some()),
    (LAW, |flow| matches!(flow.traffic, Traffic::Rtc(_))),
    ("wqm", |flow| matches!(&flow.traffic, Traffic::Tcp(bulk) if bulk.limit.is_none())),
];

impl Opened {
    /// The names of the schemes of a comparison for which `asked` names none, or `all`.
    ///
    /// Without names these are the `schemes` of the scenario. Where they are the default, those are added that are made for its
    /// traffic: `last-pq` for latency demands (of a session also with `plum`), `law` for real-time video, `wqm` for transfers. `all` are all queues and `law`, or the
    /// policies of a conference. What the scenario cannot be run with is left out of what is added.
    #[must_use]
    pub fn compared(&self, asked: &[String]) -> Vec<String> {
        let own = &self.scenario.schemes;
        if let [only] = asked
            && only.trim() == ALL
        {
            if self.scenario.session.is_some() {
                return own.clone();
            }
            let kinds = QueueConfig::KINDS.iter().map(|(kind, _)| *kind).chain([LAW]).map(str::to_owned);
            return kinds.filter(|name| self.can_run(name)).collect();
        }
        if !asked.is_empty() {
            return asked.to_vec();
        }
        let mut names = own.clone();
        if let Some(session) = &self.scenario.session {
            // A queue that keeps demands, beside the policies of bitrates and together with Plum's.
            let demands = session.clients.iter().map(|client| &client.demand);
            let mut demands = demands.chain(self.scenario.flows.iter().map(|flow| &flow.demand));
            if *own == session.usual_schemes() && demands.any(Option::is_some) {
                let made = ["last-pq", "last-pq+plum"].map(str::to_owned);
                names.extend(made.into_iter().filter(|name| self.can_run(name)));
            }
        } else if *own == DEFAULT_SCHEMES {
            let made = MADE_FOR.iter().filter(|(_, is_about)| self.scenario.flows.iter().any(is_about));
            names.extend(made.map(|(name, _)| (*name).to_owned()).filter(|name| self.can_run(name)));
        }
        names
    }

    fn can_run(&self, name: &str) -> bool {
        self.scheme(Some(name)).is_ok_and(|named| self.build(&named, self.scenario.seed).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use airbound_scenario::{Overrides, Scenario};

    use super::*;

    fn opened(flow: &str) -> Opened {
        let text = format!(
            "duration = \"1 s\"\n[[station]]\nname = \"a\"\n[[flow]]\nname = \"f\"\nstation = \"a\"\n{flow}\n"
        );
        Opened::of("made.toml", Scenario::parse(&text, "made.toml", &Overrides::none()).expect("a scenario"))
    }

    fn names(opened: &Opened, asked: &[&str]) -> String {
        opened.compared(&asked.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).join(" ")
    }

    #[test]
    fn the_traffic_brings_the_scheme_that_is_made_for_it() {
        for (flow, added) in [
            ("kind = \"cbr\"\nrate = \"1 Mbit/s\"", ""),
            ("kind = \"cbr\"\nrate = \"1 Mbit/s\"\ndemand = \"20 ms\"", " last-pq"),
            ("kind = \"rtc\"", " law"),
            ("kind = \"tcp\"", " wqm"),
            ("kind = \"tcp\"\nlimit = \"5 Mbit/s\"", ""),
            ("kind = \"rtc\"\ndemand = \"20 ms\"", " last-pq law"),
        ] {
            assert_eq!(names(&opened(flow), &[]), format!("fifo codel pie linux{added}"), "{flow}");
        }
    }

    #[test]
    fn the_scenarios_own_list_and_that_of_the_command_line_stay() {
        let own = Opened::by_name("vr-congested", &Overrides::none()).expect("a scenario");
        assert_eq!(names(&own, &[]), "fifo codel pie linux last-pq wqm");
        assert_eq!(names(&own, &["pie", "fifo"]), "pie fifo");
    }

    #[test]
    fn all_are_the_queues_and_law_where_they_can_run() {
        let all = names(&opened("kind = \"tcp\""), &["all"]);
        for kind in QueueConfig::KINDS.iter().map(|(kind, _)| *kind).chain([LAW]) {
            assert!(all.split(' ').any(|name| name == kind), "{kind} in {all}");
        }
    }
}
