//! The networks of the experiments as scenarios: one proxy, a round-robin access point, aggregates formed at channel access.

use std::fmt::Write as _;

use airbound_units::{ByteCount, Instant, Span};
use airbound_wifi::edca::{Category, EdcaParameters};
use airbound_wifi::mpdu::{Protection, mpdu_of_packet, psdu_size};
use airbound_wifi::timing::ppdu_duration;
use airbound_wifi::{Band, Legacy, Rate, control_frames};

use crate::Trial;

/// UDP payload of the packets.
pub(super) const PAYLOAD: u64 = 1470;
/// IPv4 and UDP.
const HEADERS: u64 = 28;
/// The rate of the ns-3 runs with two streams.
pub(super) const FAST: &str = "VHT80 MCS9 2SS LGI";
const CONTROL: Legacy = Legacy::Mbps24;
const BAND: Band = Band::Ghz5;

/// Values of the slot `rate`: each station's own key decides; the best rate by the channel; Minstrel-HT of mac80211.
pub(super) const FIXED: &str = "\"fixed\"";
pub(super) const IDEAL: &str = "\"ideal\"";
pub(super) const KERNEL: &str = "\"minstrel-ht\"";
/// Minstrel-HT as in ns-3, where the paper's runs were made: one sample in 16 + 2 L frames.
pub(super) const NS3: &str = "{ kind = \"minstrel-ht\", sample-spacing = \"frames\" }";

/// The allocator's parameters, as far as experiments vary them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sender {
    pub(super) target: u32,
    /// K₀ in Mb/s per packet.
    pub(super) gain: f64,
    pub(super) interval_ms: u32,
    pub(super) share: &'static str,
    pub(super) form: &'static str,
    pub(super) start: &'static str,
    pub(super) steady: bool,
    pub(super) tell_bottleneck: bool,
}

/// The paper's prototype (Sec. 6.1), in the feasible form of theorem 1.
pub(super) const PAPER: Sender = Sender {
    target: 32,
    gain: 1.0,
    interval_ms: 500,
    share: "equal-airtime",
    form: "central",
    start: "feedback",
    steady: false,
    tell_bottleneck: false,
};
/// Airbound's defaults.
pub(super) const OURS: Sender =
    Sender { share: "optimal", start: "model", steady: true, tell_bottleneck: true, ..PAPER };

impl Sender {
    fn text(&self) -> String {
        let Self { target, gain, interval_ms, share, form, start, steady, tell_bottleneck } = self;
        format!(
            "{{ kind = \"aggregation\", target = {target}, gain = {gain:?}, interval = \"{interval_ms} ms\", share = \"{share}\", form = \"{form}\", start = \"{start}\", steady = {steady}, tell-bottleneck = {tell_bottleneck} }}"
        )
    }
}

/// Traffic to each station.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Load {
    /// Rates that the allocator decides.
    Allocated(Sender),
    /// The same constant rate in kb/s to each station.
    Constant(u64),
}

/// One experiment.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    /// The keys of each station, without its name.
    pub(super) stations: Vec<String>,
    pub(super) load: Load,
    /// The slot `rate`, in TOML.
    pub(super) rate_control: &'static str,
    /// Transmissions of one grant: more than one lets Minstrel's chain fall back from a rate that it only tries.
    pub(super) hardware_tries: u32,
    pub(super) streams: u8,
    pub(super) warm_up: u32,
    pub(super) seconds: u32,
    /// Keys of `[wire]`.
    pub(super) wire: String,
    /// Packets of all stations that wait at most.
    pub(super) queue: u32,
    /// Further sections.
    pub(super) extra: String,
}

/// The key of a station that fixes its rate.
pub(super) fn fixed(rate: &str) -> String {
    format!("rate = \"{rate}\"")
}

impl Setting {
    /// `count` stations at a fixed rate under the paper's prototype: measured for 10 s after a start of 15 s.
    pub(super) fn alike(count: usize, rate: &str) -> Self {
        Self::of(vec![fixed(rate); count])
    }

    pub(super) fn of(stations: Vec<String>) -> Self {
        Self {
            stations,
            load: Load::Allocated(PAPER),
            rate_control: FIXED,
            hardware_tries: 1,
            streams: 2,
            warm_up: 15,
            seconds: 10,
            wire: String::new(),
            queue: 1000,
            extra: String::new(),
        }
    }

    pub(super) fn under(self, sender: Sender) -> Self {
        Self { load: Load::Allocated(sender), ..self }
    }

    /// The end of the warm-up.
    pub(super) fn measured_from(&self) -> Instant {
        Instant::ZERO + Span::from_secs(u64::from(self.warm_up))
    }

    pub(super) fn trial(&self, name: &str, seed: u64) -> Trial {
        let Self { rate_control, hardware_tries, streams, warm_up, seconds, wire, queue, .. } = self;
        let (sender, flow) = match &self.load {
            Load::Allocated(sender) => (sender.text(), "kind = \"paced\"".to_owned()),
            Load::Constant(kbps) => {
                ("\"cubic\"".to_owned(), format!("kind = \"cbr\"\nrate = \"{kbps} kbit/s\""))
            }
        };
        let mut scenario = format!(
            r#"duration = "{seconds} s"
warm-up = "{warm_up} s"
[air]
standard = "vht"
width = "80 MHz"
guard-interval = "800 ns"
control-rate = "24 Mbit/s"
edca = "equal"
[access-point]
preset = "direct"
streams = {streams}
path = {{ hardware-tries = {hardware_tries} }}
[wire]
{wire}
[scheme]
queue = {{ kind = "round-robin", limit = {{ packets = {queue} }} }}
rate = {rate_control}
sender = {sender}
"#
        );
        for (number, keys) in self.stations.iter().enumerate() {
            let _ = writeln!(scenario, "[[station]]\nname = \"s{number}\"\n{keys}");
        }
        for number in 0..self.stations.len() {
            let _ = writeln!(
                scenario,
                "[[flow]]\nname = \"f{number}\"\nstation = \"s{number}\"\nsize = \"{PAYLOAD} B\"\n{flow}"
            );
        }
        scenario.push_str(&self.extra);
        Trial::new(format!("allocation {name}"), scenario, seed)
    }
}

/// The exchanges on this air, from the same formulas of 802.11 as `airbound validate closed`.
pub(super) struct Air;

impl Air {
    fn access() -> Span {
        let edca = EdcaParameters::linux_station(Category::Be);
        BAND.aifs(edca.aifsn) + BAND.slot() * u64::from(edca.cw_min) / 2
    }

    fn psdu(mpdus: u64, payload: u64) -> ByteCount {
        let mpdu = mpdu_of_packet(ByteCount::new(payload + HEADERS), Protection::Open);
        psdu_size(std::iter::repeat_n(mpdu, mpdus as usize))
    }

    /// AIFS, mean backoff, PPDU, SIFS and acknowledgement of so many packets, in s.
    pub(super) fn exchange(rate: Rate, mpdus: u64, payload: u64) -> f64 {
        let answer = control_frames::block_ack(CONTROL, BAND);
        (Self::access() + ppdu_duration(rate, Self::psdu(mpdus, payload)) + BAND.sifs() + answer)
            .as_secs_f64()
    }

    /// w: the airtime of one more packet in a frame, in s.
    pub(super) fn packet(rate: Rate) -> f64 {
        Self::psdu(64, PAYLOAD).bits() as f64 / 64.0 / rate.bit_rate().as_bps() as f64
    }

    /// T_acc + T_oh: what a frame of 32 packets takes beyond them, in s.
    pub(super) fn frame_overhead(rate: Rate) -> f64 {
        Self::exchange(rate, 32, PAYLOAD) - 32.0 * Self::packet(rate)
    }

    /// The paper's limit in Mb/s: frames of 32, `reports` a second of each station, 10 beacons a second, no collisions.
    pub(super) fn limit(rate: Rate, stations: usize, reports: f64) -> f64 {
        let beacon = BAND.aifs(2) + ppdu_duration(Rate::legacy(Legacy::Mbps6), ByteCount::new(250));
        let report = Self::exchange(rate, 1, 60);
        let taken = reports * stations as f64 * report + 10.0 * beacon.as_secs_f64();
        (1.0 - taken) * (32 * PAYLOAD * 8) as f64 / Self::exchange(rate, 32, PAYLOAD) / 1e6
    }
}

/// A VHT rate over 80 MHz with the long guard interval.
pub(super) fn vht(mcs: u8, streams: u8) -> Rate {
    format!("VHT80 MCS{mcs} {streams}SS LGI").parse().unwrap_or_else(|_| Rate::legacy(Legacy::Mbps6))
}
