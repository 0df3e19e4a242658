//! Texts of scenarios: an access point without a queue in front of its hardware, behind a wire that delays nothing.

use std::fmt::Write as _;

/// A scenario, of which the parts that differ between rungs are named.
#[derive(Debug, Clone, Default)]
pub(super) struct Scene {
    /// Measured time, in seconds.
    pub(super) seconds: u32,
    /// Warm-up, in seconds.
    pub(super) warm_up: u32,
    /// Lines of `[air]`.
    pub(super) air: String,
    /// Lines of `[access-point]`.
    pub(super) access_point: String,
    /// `[scheme]` or `[uplink]`, or both.
    pub(super) deciders: String,
    /// Stations, flows and further tables.
    pub(super) rest: String,
}

impl Scene {
    /// 802.11a without beacons whose stations send upwards: control frames at 24 Mb/s, at slow rates at that rate; a queue of
    /// `packets`, and `attempts` for each frame, or the default.
    pub(super) fn uplinks(
        seconds: u32,
        warm_up: u32,
        rate: u32,
        packets: u32,
        attempts: Option<u32>,
    ) -> Self {
        let path = attempts.map(|attempts| format!("path = {{ max-grants = {attempts} }}\n"));
        Self {
            seconds,
            warm_up,
            air: format!(
                "standard = \"legacy\"\nedca = \"dcf\"\ncontrol-rate = \"{} Mbit/s\"\nbeacons = false\n",
                if rate < 24 { 6 } else { 24 }
            ),
            deciders: format!(
                "[uplink]\nqueue = {{ kind = \"fifo\", limit = {{ packets = {packets} }} }}\nrate = \"fixed\"\n{}",
                path.unwrap_or_default()
            ),
            ..Self::default()
        }
    }

    /// An access point that sends to its stations at fixed rates, first in, first out.
    pub(super) fn downlinks(seconds: u32) -> Self {
        let deciders = "[scheme]\nqueue = \"fifo\"\nrate = \"fixed\"\n".to_owned();
        Self { seconds, warm_up: 1, deciders, ..Self::default() }
    }

    /// Adds lines to `[air]`.
    pub(super) fn air(mut self, lines: &str) -> Self {
        let _ = writeln!(self.air, "{lines}");
        self
    }

    /// Adds lines to `[access-point]`.
    pub(super) fn access_point(mut self, lines: &str) -> Self {
        let _ = writeln!(self.access_point, "{lines}");
        self
    }

    /// Adds a group of stations.
    pub(super) fn stations(mut self, name: &str, count: u32, lines: &str) -> Self {
        let _ = write!(self.rest, "[[station]]\nname = \"{name}\"\ncount = {count}\n{lines}\n");
        self
    }

    /// Adds a flow of each station of a group, which has the group's name.
    pub(super) fn flow(self, station: &str, lines: &str) -> Self {
        self.named_flow(station, station, lines)
    }

    /// Adds a flow of each station of a group.
    pub(super) fn named_flow(mut self, name: &str, station: &str, lines: &str) -> Self {
        let _ = write!(self.rest, "[[flow]]\nname = \"{name}\"\nstation = \"{station}\"\n{lines}\n");
        self
    }

    /// Adds other tables.
    pub(super) fn table(mut self, lines: &str) -> Self {
        let _ = writeln!(self.rest, "{lines}");
        self
    }

    /// The scenario as in a file.
    pub(super) fn text(&self) -> String {
        let Self { seconds, warm_up, air, access_point, deciders, rest } = self;
        format!(
            "duration = \"{seconds} s\"\nwarm-up = \"{warm_up} s\"\n[air]\n{air}[access-point]\npreset = \"direct\"\n\
             {access_point}{deciders}[wire]\nrate = \"unlimited\"\ndelay = \"0 ms\"\n{rest}"
        )
    }
}
