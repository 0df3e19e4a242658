//! The grids that come with the program.

use airbound_scenario::ScenarioError;

/// Names and texts.
pub(crate) const SHIPPED: [(&str, &str); 2] = [
    ("vr-load", include_str!("../../../../sweeps/vr-load.toml")),
    ("wifi-sample", include_str!("../../../../sweeps/wifi-sample.toml")),
];

/// Names and titles of the grids that come with the program.
pub fn shipped() -> impl Iterator<Item = (&'static str, &'static str)> {
    SHIPPED.into_iter().map(|(name, text)| {
        // Every one begins with its title, which a test checks.
        let title = text.lines().find_map(|line| line.strip_prefix("title = \""));
        (name, title.and_then(|title| title.strip_suffix('"')).unwrap_or_default())
    })
}

/// The text of the grid of that name.
pub(crate) fn find(name: &str) -> Result<&'static str, ScenarioError> {
    let found = SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
    let known = || SHIPPED.map(|(name, _)| name).join(", ");
    found.ok_or_else(|| ScenarioError::Read {
        file: name.to_owned(),
        reason: format!(
            "there is no such file, and no grid of that name comes with airbound; there are {}",
            known()
        ),
    })
}
