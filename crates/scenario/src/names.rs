//! Names in a run's record for the numbers in its tables.

use super::Scenario;

impl Scenario {
    /// The stations, followed by the clients of a session that are not stations, in the order of their numbers in a record.
    #[must_use]
    pub fn station_names(&self) -> Vec<String> {
        let stations = self.stations.iter().map(|station| &station.name);
        stations.chain(self.clients_elsewhere().map(|client| &client.name)).cloned().collect()
    }

    /// All transmitters, in the order of their numbers in a record: each network's access point before its stations, neighbours last.
    #[must_use]
    pub fn transmitter_names(&self) -> Vec<String> {
        let station_names = |network: Option<&String>| {
            let stations = self.stations.iter().filter(move |station| station.network.as_ref() == network);
            stations.map(|station| station.name.clone()).collect::<Vec<_>>()
        };
        if self.networks.is_empty() {
            let neighbours = self.neighbours.iter().flat_map(|network| {
                (1..=network.transmitters).map(move |number| format!("{}-{number}", network.name))
            });
            return std::iter::once("access-point".to_owned())
                .chain(station_names(None))
                .chain(neighbours)
                .collect();
        }
        let mut names = Vec::new();
        for network in &self.networks {
            names.push(format!("{}-access-point", network.name));
            names.extend(station_names(Some(&network.name)));
        }
        names
    }
}
