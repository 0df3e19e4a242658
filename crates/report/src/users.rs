//! Table of the users' QoE and of the utility of a conference.

use airbound_record::ConferenceSummary;

use crate::comparison::Comparison;
use crate::grid::{Grid, spread};

/// Reads a value of a conference.
type Value<'a> = &'a dyn Fn(&ConferenceSummary) -> Option<f64>;

impl Comparison {
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
