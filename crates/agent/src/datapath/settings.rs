//! Driver settings that a scheme needs: changed while the agent runs, restored at its end.

use std::collections::BTreeMap;

use airbound_linux::MacAddress;
use airbound_linux::nl80211::{TidConfig, TxqLimits, Wiphy, Wireless};
use airbound_units::Instant;

use super::ports::Port;
use crate::journal::{Event, Journal};

/// The eight traffic identifiers of data frames.
const ALL_TIDS: u16 = 0xff;

/// The previous values of the settings changed.
#[derive(Debug, Default)]
pub(super) struct Settings {
    txq: Option<u32>,
    /// Lengths of the interfaces' queues, by name.
    queue_lengths: BTreeMap<String, u32>,
    /// Stations with a limit of tries, and their interfaces.
    limited: BTreeMap<MacAddress, u32>,
    refused: bool,
}

/// Whether the driver supports a limit of tries for each station.
pub(super) fn retries_settable(wiphy: &Wiphy) -> bool {
    wiphy.has_tid_config() && wiphy.tid.has_retries()
}

impl Settings {
    /// Limits the tries of frames to a station.
    pub(super) fn limit_tries(
        &mut self,
        now: Instant,
        wireless: &mut Wireless,
        interface: u32,
        station: MacAddress,
        tries: u8,
        journal: &mut Journal,
    ) {
        if self.refused || self.limited.insert(station, interface) == Some(interface) {
            return;
        }
        let config = TidConfig {
            tids: ALL_TIDS,
            short_retries: Some(tries),
            long_retries: Some(tries),
            ..TidConfig::default()
        };
        let answer = wireless.set_tid_config(interface, Some(station), &config);
        // The driver would refuse it for every station.
        self.refused = answer.is_err();
        journal.event(
            now,
            &Event::Setting {
                what: format!("tries of frames to {station}"),
                value: tries.to_string(),
                accepted: answer.is_ok(),
                answer: answer.err().map(|error| error.to_string()),
            },
        );
    }

    /// Forgets a station that left: the driver loses its limit of tries, which is set again when the station returns.
    pub(super) fn forget(&mut self, station: MacAddress) {
        self.limited.remove(&station);
    }

    /// Whether any station has a limit of tries.
    pub(super) fn are_tries_limited(&self) -> bool {
        !self.refused && !self.limited.is_empty()
    }

    /// Sets the packet limit of mac80211's queues.
    pub(super) fn limit_txq(
        &mut self,
        now: Instant,
        wireless: &mut Wireless,
        wiphy: &Wiphy,
        packets: u32,
        journal: &mut Journal,
    ) {
        if self.txq.is_none() {
            self.txq = wiphy.txq_limits.packets;
        }
        let answer = wireless
            .set_txq_limits(wiphy.number, &TxqLimits { packets: Some(packets), ..TxqLimits::default() });
        report(now, "packets in mac80211's queues", packets, answer.err(), journal);
    }

    /// Sets the length of an interface's queue.
    pub(super) fn set_queue_length(
        &mut self,
        now: Instant,
        port: &Port,
        packets: u32,
        journal: &mut Journal,
    ) {
        let name = port.wifi.name.clone();
        self.queue_lengths.entry(name).or_insert(port.interface.queue_length);
        let answer = port.interface.set_queue_length(packets);
        report(now, "txqueuelen", packets, answer.err(), journal);
    }

    /// Restores the previous settings. Failures are written to the journal and ignored: the interface may have disappeared.
    pub(super) fn restore(
        &mut self,
        now: Instant,
        wireless: &mut Wireless,
        radio: u32,
        ports: &[Port],
        journal: &mut Journal,
    ) {
        if let Some(packets) = self.txq.take() {
            let limits = TxqLimits { packets: Some(packets), ..TxqLimits::default() };
            let answer = wireless.set_txq_limits(radio, &limits);
            report(now, "packets in mac80211's queues", packets, answer.err(), journal);
        }
        let lengths = std::mem::take(&mut self.queue_lengths);
        for port in ports {
            if let Some(packets) = lengths.get(&port.wifi.name) {
                report(now, "txqueuelen", *packets, port.interface.set_queue_length(*packets).err(), journal);
            }
        }
        if !self.refused {
            for (station, interface) in std::mem::take(&mut self.limited) {
                // An override without values restores the driver's defaults. A failure means that the station has left.
                let config = TidConfig { tids: ALL_TIDS, replaces: true, ..TidConfig::default() };
                let _ = wireless.set_tid_config(interface, Some(station), &config);
            }
        }
    }
}

fn report(
    now: Instant,
    what: &str,
    packets: u32,
    error: Option<airbound_linux::LinuxError>,
    journal: &mut Journal,
) {
    let (accepted, answer) = (error.is_none(), error.map(|error| error.to_string()));
    journal
        .event(now, &Event::Setting { what: what.to_owned(), value: packets.to_string(), accepted, answer });
}
