//! Small networks with several stations and flows, for what the paper has no experiment of.

use std::fmt::Write as _;

use super::setting::{Layer, SHORT_WARM_UP};
use crate::papers::experiment::Experiment;
use crate::{Effort, Trial};

/// A station whose signal fades around a mean as people move.
#[derive(Debug, Clone, Copy)]
pub(super) struct Station {
    pub(super) name: &'static str,
    pub(super) snr_db: i32,
}

/// Traffic to a station.
#[derive(Debug, Clone, Copy)]
pub(super) enum Flow {
    /// UDP at a constant rate, perhaps with a demand on its latency.
    Udp { name: &'static str, station: &'static str, mbps: f64, demand: Option<&'static str> },
    /// A download without end from a server 10 ms away.
    Tcp { name: &'static str, station: &'static str, congestion: &'static str },
    /// Real-time video from the same server.
    Video { name: &'static str, station: &'static str },
}

/// Stations around one access point, 20 MHz, 802.11n, one stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Network {
    pub(super) layer: Layer,
    pub(super) stations: &'static [Station],
    pub(super) flows: &'static [Flow],
    pub(super) seconds: u64,
}

impl Network {
    /// Its runs with so many seeds; a quick run is shorter, and has one.
    pub(super) fn runs(self, seeds: u64, effort: Effort) -> impl Iterator<Item = Experiment> {
        let (seconds, seeds) = if effort.quick { (self.seconds.min(10), 1) } else { (self.seconds, seeds) };
        let network = Self { seconds, ..self };
        (1..=seeds).map(move |seed| Experiment::plain(network.trial(seed)))
    }

    fn trial(&self, seed: u64) -> Trial {
        let seconds = self.seconds;
        let mut scenario = format!(
            "duration = \"{seconds} s\"\nwarm-up = \"{SHORT_WARM_UP}\"\n[air]\nstandard = \"ht\"\nwidth = \"20 MHz\"\n\
             tx-power = \"16 dBm\"\nnoise-figure = \"7 dB\"\n{}",
            self.layer.sections()
        );
        for Station { name, snr_db } in self.stations {
            // 16 dBm are 110 dB above the noise of 20 MHz and a noise figure of 7 dB.
            let loss = 110 - snr_db;
            let _ = write!(
                scenario,
                "[[station]]\nname = \"{name}\"\nchannel = {{ kind = \"log-distance\", distance = \"1 m\", \
                 reference-loss = \"{loss} dB\", fading = {{ kind = \"rician\", k = \"10 dB\", speed = \"0.3 m/s\" }} }}\n"
            );
        }
        for flow in self.flows {
            let (name, station, kind, keys) = flow.keys();
            let _ = write!(
                scenario,
                "[[flow]]\nname = \"{name}\"\nkind = \"{kind}\"\nstation = \"{station}\"\n{keys}\n"
            );
        }
        Trial::new(format!("law beyond, {}", self.layer.name), scenario, seed)
    }
}

impl Flow {
    fn keys(&self) -> (&'static str, &'static str, &'static str, String) {
        const SERVER: &str = "wire = { delay = \"10 ms\" }";
        match self {
            Self::Udp { name, station, mbps, demand } => {
                let demand = demand
                    .map_or(String::new(), |demand| format!("demand = \"{demand}\"\nprotected = true\n"));
                (name, station, "cbr", format!("rate = \"{mbps} Mbit/s\"\nsize = \"1470 B\"\n{demand}"))
            }
            Self::Tcp { name, station, congestion } => {
                (name, station, "tcp", format!("congestion = \"{congestion}\"\n{SERVER}"))
            }
            Self::Video { name, station } => (name, station, "rtc", SERVER.to_owned()),
        }
    }
}
