//! Configuration of a link.

use std::time::Duration;

use airbound_scenario::{Overrides, Scenario, ScenarioError, reading::shortened};
use airbound_units::Span;

use crate::error::LinkError;
use crate::place::Place;

/// The longest life of a link.
pub(crate) const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// The flows of the caller's packets: down, up.
pub(crate) const FLOWS: [&str; 2] = ["link-down", "link-up"];

/// The place, scheme and seed of a link.
///
/// ```
/// use airbound_link::{Link, LinkConfig};
/// use std::time::Duration;
///
/// let config = LinkConfig::named("headset-beside-downloads")?.scheme("last-pq").demand(Duration::from_millis(20)).seed(7);
/// let link = Link::new(&config)?;
/// # Ok::<(), airbound_link::LinkError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkConfig {
    /// Text of the scenario, and its name in messages.
    text: String,
    origin: String,
    station: String,
    replaces: Vec<String>,
    scheme: Option<String>,
    demand: Option<Duration>,
    seed: u64,
}

impl LinkConfig {
    /// The place with this name.
    ///
    /// # Errors
    /// There is none.
    pub fn named(place: &str) -> Result<Self, LinkError> {
        let place = Place::named(place)?;
        let replaces = place.replaces.iter().map(|flow| (*flow).to_owned()).collect();
        Ok(Self { replaces, ..Self::of(place.text().map_err(wrong)?, place.name, place.station) })
    }

    /// A scenario of one's own: the text of a scenario file (`docs/use/scenarios.md`), and the station at the end of the link.
    #[must_use]
    pub fn of_scenario(text: &str, station: &str) -> Self {
        Self::of(text, "scenario", station)
    }

    fn of(text: &str, origin: &str, station: &str) -> Self {
        Self {
            text: text.to_owned(),
            origin: origin.to_owned(),
            station: station.to_owned(),
            replaces: Vec::new(),
            scheme: None,
            demand: None,
            seed: 1,
        }
    }

    /// The scheme of the access point by name, such as "codel" or "linux+thompson"; that of the scenario by default.
    #[must_use]
    pub fn scheme(self, name: &str) -> Self {
        Self { scheme: Some(name.to_owned()), ..self }
    }

    /// The latency in which packets to the station are to arrive, for schemes that take demands.
    #[must_use]
    pub fn demand(self, latency: Duration) -> Self {
        Self { demand: Some(latency), ..self }
    }

    /// The seed of all randomness; 1 by default.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    pub(crate) const fn seed_value(&self) -> u64 {
        self.seed
    }

    /// The scenario with the flows of the link.
    pub(crate) fn scenario(&self) -> Result<Scenario, LinkError> {
        let demand = self.demand.map(|latency| format!("demand = \"{} us\"\n", latency.as_micros()));
        let flow = |name: &str, direction: &str, demand: &str| {
            let station =
                self.station.replace(|letter: char| letter.is_control() || matches!(letter, '"' | '\\'), "?");
            format!(
                "\n[[flow]]\nname = \"{name}\"\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\nstation = \"{station}\"\ndirection = \"{direction}\"\n{demand}"
            )
        };
        let [down, up] = FLOWS;
        let text =
            [&*self.text, &flow(down, "down", demand.as_deref().unwrap_or_default()), &flow(up, "up", "")]
                .concat();
        let mut scenario = Scenario::parse(&text, &self.origin, &Overrides::none()).map_err(wrong)?;
        if scenario.session.is_some() {
            return Err(LinkError::Scenario(format!("{}: [session] is not allowed in a link", self.origin)));
        }
        scenario.flows.retain(|flow| !self.replaces.contains(&flow.group));
        scenario.duration = Span::from_secs(LONGEST.as_secs());
        if let Some(name) = &self.scheme {
            scenario.scheme = scenario.scheme.with_name(name).map_err(|error| match error {
                ScenarioError::Scheme { problem, .. } => {
                    LinkError::Scenario(format!("scheme \"{}\" {problem}", shortened(name)))
                }
                error => wrong(error),
            })?;
        }
        Ok(scenario)
    }
}

fn wrong(error: ScenarioError) -> LinkError {
    LinkError::Scenario(error.to_string())
}
