//! Driver settings that a scheme needs: changed while the agent runs, restored at its end.

use std::collections::BTreeSet;

use airbound_linux::MacAddress;
use airbound_linux::interface::Interface;
use airbound_linux::nl80211::{TidConfig, TxqLimits, WifiInterface, Wiphy, Wireless};
use airbound_units::Instant;

use crate::journal::{Event, Journal};

/// The eight traffic identifiers of data frames.
const ALL_TIDS: u16 = 0xff;

/// The previous values of the settings changed.
#[derive(Debug, Default)]
pub(super) struct Settings {
    txq: Option<u32>,
    queue_length: Option<u32>,
    /// Stations with a limit of tries.
    limited: BTreeSet<MacAddress>,
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
        wifi: &WifiInterface,
        station: MacAddress,
        tries: u8,
        journal: &mut Journal,
    ) {
        if self.refused || !self.limited.insert(station) {
            return;
        }
        let config = TidConfig {
            tids: ALL_TIDS,
            short_retries: Some(tries),
            long_retries: Some(tries),
            ..TidConfig::default()
        };
        let answer = wireless.set_tid_config(wifi.index, Some(station), &config);
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

    /// Sets the length of the interface's queue.
    pub(super) fn set_queue_length(
        &mut self,
        now: Instant,
        interface: &Interface,
        packets: u32,
        journal: &mut Journal,
    ) {
        self.queue_length.get_or_insert(interface.queue_length);
        let answer = interface.set_queue_length(packets);
        report(now, "txqueuelen", packets, answer.err(), journal);
    }

    /// Restores the previous settings. Failures are written to the journal and ignored: the interface may have disappeared.
    pub(super) fn restore(
        &mut self,
        now: Instant,
        wireless: &mut Wireless,
        wifi: &WifiInterface,
        interface: &Interface,
        journal: &mut Journal,
    ) {
        if let Some(packets) = self.txq.take() {
            let limits = TxqLimits { packets: Some(packets), ..TxqLimits::default() };
            let answer = wireless.set_txq_limits(wifi.wiphy, &limits);
            report(now, "packets in mac80211's queues", packets, answer.err(), journal);
        }
        if let Some(packets) = self.queue_length.take() {
            report(now, "txqueuelen", packets, interface.set_queue_length(packets).err(), journal);
        }
        if !self.refused {
            for station in std::mem::take(&mut self.limited) {
                // An override without values restores the driver's defaults. A failure means that the station has left.
                let config = TidConfig { tids: ALL_TIDS, replaces: true, ..TidConfig::default() };
                let _ = wireless.set_tid_config(wifi.index, Some(station), &config);
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
