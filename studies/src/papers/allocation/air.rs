//! Exchanges on the air of `wlan.toml`, from the same formulas of 802.11 as `airbound validate closed`.

use airbound_senders::allocation::Downlink;
use airbound_units::{ByteCount, Span};
use airbound_wifi::edca::{Category, EdcaParameters};
use airbound_wifi::mpdu::{Protection, mpdu_of_packet, psdu_size};
use airbound_wifi::timing::ppdu_duration;
use airbound_wifi::{Band, Legacy, Rate, control_frames};

use crate::Trial;

/// UDP payload of the packets.
pub(super) const PAYLOAD: u64 = 1470;
/// The same in bits.
pub(super) const BITS: f64 = (PAYLOAD * 8) as f64;
/// IPv4 and UDP.
const HEADERS: u64 = 28;
const CONTROL: Legacy = Legacy::Mbps24;
const BAND: Band = Band::Ghz5;

fn access() -> Span {
    let edca = EdcaParameters::linux_station(Category::Be);
    BAND.aifs(edca.aifsn) + BAND.slot() * u64::from(edca.cw_min) / 2
}

fn psdu(mpdus: u64, payload: u64) -> ByteCount {
    let mpdu = mpdu_of_packet(ByteCount::new(payload + HEADERS), Protection::Open);
    psdu_size(std::iter::repeat_n(mpdu, mpdus as usize))
}

/// AIFS, mean backoff, PPDU, SIFS and acknowledgement of so many packets, in s.
fn exchange(rate: Rate, mpdus: u64, payload: u64) -> f64 {
    let answer = control_frames::block_ack(CONTROL, BAND);
    (access() + ppdu_duration(rate, psdu(mpdus, payload)) + BAND.sifs() + answer).as_secs_f64()
}

/// w: the airtime of one more packet in a frame, in s.
fn packet(rate: Rate) -> f64 {
    psdu(64, PAYLOAD).bits() as f64 / 64.0 / rate.bit_rate().as_bps() as f64
}

/// T_acc + T_oh: what a frame of 32 packets takes beyond them, in s.
pub(super) fn frame_overhead(rate: Rate) -> f64 {
    exchange(rate, 32, PAYLOAD) - 32.0 * packet(rate)
}

/// The paper's limit in Mb/s: frames of 32, `reports` a second of each station, 10 beacons a second, no collisions.
pub(super) fn limit(rate: Rate, stations: usize, reports: f64) -> f64 {
    let beacon = BAND.aifs(2) + ppdu_duration(Rate::legacy(Legacy::Mbps6), ByteCount::new(250));
    let report = exchange(rate, 1, 60);
    let taken = reports * stations as f64 * report + 10.0 * beacon.as_secs_f64();
    (1.0 - taken) * (32 * PAYLOAD * 8) as f64 / exchange(rate, 32, PAYLOAD) / 1e6
}

/// A VHT rate over 80 MHz with the long guard interval.
pub(super) fn vht(mcs: u8, streams: u8) -> Rate {
    format!("VHT80 MCS{mcs} {streams}SS LGI").parse().unwrap_or_else(|_| Rate::legacy(Legacy::Mbps6))
}

/// The model of stations at these rates, with the overhead of a frame at `overhead`.
pub(super) fn downlink(overhead: Rate, rates: &[Rate]) -> Option<Downlink> {
    Downlink::new(frame_overhead(overhead), rates.iter().map(|rate| packet(*rate)).collect())
}

/// The model of a run's stations, all at fixed rates.
pub(super) fn downlink_of(trial: &Trial) -> Option<Downlink> {
    let stations = trial.read().ok()?.stations;
    let rates: Option<Vec<Rate>> = stations.iter().map(|station| station.rate).collect();
    let rates = rates?;
    downlink(*rates.first()?, &rates)
}
