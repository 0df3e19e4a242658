//! Table of the users' QoE and of the utility of a conference.

use airbound_record::ConferenceSummary;

use crate::chart::{Bar, Chart, ChartKind, Dots};
use crate::comparison::{Comparison, SchemeRuns};
use crate::figures::dot;
use crate::grid::{Grid, spread};
use crate::groups::Group;
use crate::verdict::{DemandResult, Judged};

/// Reads a value of a conference.
type Value<'a> = &'a dyn Fn(&ConferenceSummary) -> Option<f64>;

/// Rows of a chart.
const MOST_ROWS: usize = 24;

impl Comparison {
    /// Whether any run has a conference.
    pub(crate) fn any_session(&self) -> bool {
        self.schemes.iter().flat_map(|scheme| scheme.summaries()).any(|summary| summary.session.is_some())
    }

    /// The QoE of each user, and utility and fairness, as dots; `None` without a conference, and for a single scheme.
    pub(crate) fn user_dots(&self) -> Option<Chart> {
        let first =
            self.schemes.iter().flat_map(|scheme| scheme.summaries()).find_map(|run| run.session.as_ref())?;
        let users: Vec<&str> = first.users.iter().map(|user| user.name.as_str()).take(MOST_ROWS).collect();
        let values = |scheme: &SchemeRuns| {
            let spread =
                |value: Value<'_>| scheme.spread(|summary| value(summary.session.as_ref()?)).map(dot);
            let qoe = |name: &str| {
                spread(&|session| Some(session.users.iter().find(|user| user.name == name)?.qoe))
            };
            let all = [spread(&|session| Some(session.utility)), spread(&|session| Some(session.fairness))];
            all.into_iter().chain(users.iter().map(|name| qoe(name))).collect()
        };
        let rows = ["utility", "fairness"].into_iter().chain(users.iter().copied());
        let kind = ChartKind::Dots(Dots {
            x: "QoE, utility and fairness".to_owned(),
            logarithmic: false,
            rows: rows.map(str::to_owned).collect(),
            series: self.schemes.iter().map(|scheme| (scheme.name.clone(), values(scheme))).collect(),
        });
        let caption =
            "QoE of each user of the session, its utility and its fairness; 1 is the best.".to_owned();
        (self.schemes.len() > 1).then_some(Chart { kind, caption })
    }

    /// The latency of each demand, of what is demanded, as dots; `None` for a single demand or scheme.
    pub(crate) fn demand_dots(&self, judged: &[Judged]) -> Option<Chart> {
        let groups: Vec<&Group> = self.demanding().take(MOST_ROWS).collect();
        let of = |judged: &Judged| {
            let part = |demand: &DemandResult| {
                let part = |ms: f64| 100.0 * ms / demand.demanded_ms;
                let range = demand.interval_ms.map(|[low, high]| (part(low.max(0.0)), part(high)));
                demand.measured_ms.map(|ms| Bar { value: part(ms), range, reference: None })
            };
            (judged.scheme.clone(), judged.demands.iter().take(MOST_ROWS).map(part).collect())
        };
        let kind = ChartKind::Dots(Dots {
            x: "latency at the demanded percentile (% of the demand)".to_owned(),
            logarithmic: false,
            rows: groups.iter().map(|group| group.label()).collect(),
            series: judged.iter().map(of).collect(),
        });
        let caption =
            "Each demand: up to 100 % it is kept; the lines are the 95 % intervals of the mean.".to_owned();
        (groups.len() > 1 && judged.len() > 1).then_some(Chart { kind, caption })
    }

    /// The QoE of each user, mean, fairness and utility under each scheme; `None` without a conference.
    #[must_use]
    pub fn users(&self) -> Option<Grid> {
        let all = || self.schemes.iter().flat_map(|scheme| scheme.summaries());
        let first = all().find_map(|summary| summary.session.as_ref())?;
        let mut columns = vec!["user"];
        columns.extend(self.schemes.iter().map(|scheme| scheme.name.as_str()));
        let mut grid = Grid::new("QoE of the users, and the utility of the session", &columns, 1);
        let mut row = |name: &str, value: Value<'_>| {
            let cell = |scheme: &crate::SchemeRuns| {
                spread(scheme.spread(|summary| value(summary.session.as_ref()?)))
            };
            let cells = self.schemes.iter().map(cell);
            grid.rows.push(std::iter::once(name.into()).chain(cells).collect());
        };
        for user in &first.users {
            row(&user.name, &|session| {
                session.users.iter().find(|known| known.name == user.name).map(|known| known.qoe)
            });
        }
        row("mean", &|session| Some(session.mean_qoe));
        row("fairness", &|session| Some(session.fairness));
        row("utility", &|session| Some(session.utility));
        // Schemes with different parameters of Plum score differently.
        let scored =
            |session: &ConferenceSummary| (session.qoe.clone(), session.max_bitrate_mbps, session.rho);
        let alike = all()
            .filter_map(|summary| summary.session.as_ref())
            .all(|session| scored(session) == scored(first));
        let how = if alike {
            format!(
                "QoE {} of what a user receives, 1 from {} Mb/s; utility = {} mean + {} fairness.",
                first.qoe,
                first.max_bitrate_mbps,
                1.0 - first.rho,
                first.rho
            )
        } else {
            "Each scheme is scored as its own Plum optimises: summary.json says how.".to_owned()
        };
        let seeds = self.seed_note();
        grid.note = [how, seeds].into_iter().filter(|note| !note.is_empty()).collect::<Vec<_>>().join(" ");
        Some(grid)
    }
}
