//! Links with one cause each, drawn by rules: ordinary homes, and what is done to them.

use airbound_senders::diagnosis::{Cause, Side};
use airbound_units::{Instant, Span};

use crate::draws::Draws;

/// Measured time of a case, as of `airbound doctor`.
pub(super) const DURATION: u64 = 30;

/// Fading of a home, as of `my-flat`.
const CALM: &str = "{ kind = \"rician\", k = \"6 dB\", speed = \"0.3 m/s\" }";

/// One link.
#[derive(Debug, Clone)]
pub(super) struct Case {
    /// The scenario, with the flows of the probes.
    pub(super) scenario: String,
    pub(super) seed: u64,
    pub(super) side: Side,
    /// Reports of the driver: scans, power save.
    pub(super) scans: Vec<(Instant, Instant)>,
    pub(super) power_save: Option<bool>,
    /// Of this machine.
    pub(super) stalls: Vec<(Instant, Span)>,
    pub(super) unread: u64,
    pub(super) stutters: bool,
    /// The wire as an access point sees it, of which the simulated radio is no part: round trip, jitter, loss.
    pub(super) wire: (Span, Span, f64),
}

fn millis(value: f64) -> Span {
    Span::from_secs_f64(value / 1000.0)
}

impl Case {
    /// A member of a set.
    pub(super) fn draw(set: u64, number: u64, cause: Cause) -> Self {
        let mut draws = Draws::of(set, number);
        let side = if draws.chance(0.3) { Side::AccessPoint } else { Side::Station };
        let (standard, width) = draws.one_of(&[("ht", 20), ("ht", 40), ("vht", 40), ("vht", 80), ("he", 80)]);
        let is_weak = cause == Cause::WeakSignal;
        let distance = if is_weak { draws.around(25.0, 60.0) } else { draws.around(1.5, 7.0) };
        let calm = draws.one_of(&["\"none\"", CALM]);
        let fading = if is_weak { "\"rayleigh\"" } else { calm };
        let delay = draws.around(2.0, 20.0);
        let far_loss = if cause == Cause::Wire { draws.around(0.02, 0.1) } else { 0.0005 };
        let far_jitter =
            if cause == Cause::Wire && draws.chance(0.5) { draws.around(25.0, 100.0) } else { 0.5 };
        let mut air = String::new();
        let mut station = String::new();
        let mut access_point = String::new();
        let mut more = String::new();
        let mut scheme = "queue = \"linux\"".to_owned();
        let mut wire =
            format!("delay = \"{delay:.2} ms\"\nrate = \"{} Mbit/s\"", draws.one_of(&[100, 250, 1000]));
        let (mut scans, mut stalls, mut unread, mut stutters) = (Vec::new(), Vec::new(), 0, false);
        let mut power_save = (side == Side::Station).then(|| draws.chance(0.5));
        // A program's stream, and others' moderate traffic; a radio that sleeps is idle.
        if cause != Cause::Sleep {
            let rate = draws.around(1.0, f64::from(width) / 4.0);
            more += &flow("stream", "cbr", "me", &format!("rate = \"{rate:.2} Mbit/s\""));
            if draws.chance(0.5) {
                let limit = draws.around(1.0, f64::from(width) / 8.0);
                more += &flow("film", "tcp", "other", &format!("limit = \"{limit:.2} Mbit/s\""));
            }
        }
        if draws.chance(0.4) {
            more += &neighbour(1, &format!("load = \"{:.2} Mbit/s\"", draws.around(0.2, 3.0)), 1);
        }
        // A scan of the own channel does not take the radio away.
        if cause != Cause::Scan && draws.chance(0.2) {
            scans = times(draws.around(2.0, 20.0), draws.around(5.0, 20.0), 60.0);
        }
        match cause {
            Cause::Scan | Cause::Away => {
                let (period, length) = if cause == Cause::Scan {
                    (draws.around(3.0, 20.0), draws.around(60.0, 250.0))
                } else {
                    (draws.around(0.15, 1.1), draws.around(30.0, 70.0))
                };
                let phase = draws.unit() * period;
                let is_announced = draws.chance(0.7);
                let away = format!(
                    "away = {{ period = \"{:.0} us\", length = \"{length:.0} ms\", phase = \"{:.0} us\", announced = {is_announced} }}",
                    1e6 * period,
                    1e6 * phase
                );
                // Who scans knows it; others are away for no reason that is known.
                let is_own = cause == Cause::Scan || draws.chance(0.5);
                if is_own == (side == Side::Station) {
                    station = away
                } else {
                    access_point = away
                }
                if cause == Cause::Scan {
                    scans = times(phase, period, length);
                }
            }
            Cause::Sleep => {
                let wake =
                    if side == Side::Station { "u-apsd" } else { draws.one_of(&["u-apsd", "null-frame"]) };
                let timeout = draws.around(20.0, 500.0);
                let timeout =
                    if wake == "u-apsd" { String::new() } else { format!(", timeout = \"{timeout:.0} ms\"") };
                let interval = draws.one_of(&[1, 1, 2, 3]);
                station =
                    format!("power-save = {{ wake = \"{wake}\", listen-interval = {interval}{timeout} }}");
                power_save = power_save.map(|_| true);
            }
            Cause::Contention => {
                let count = 3 + draws.below(14);
                let frames =
                    if standard == "ht" { draws.one_of(&[1, 8, 16]) } else { draws.one_of(&[8, 16, 32]) };
                more += &neighbour(count, "load = \"saturated\"", frames);
            }
            Cause::Retries => {
                let (on, off) = (draws.around(5.0, 40.0), draws.around(10.0, 80.0));
                let level = 15.0 + 20.0 * draws.unit();
                more += &format!(
                    "[[interference]]\nname = \"noise\"\neffect = \"noise\"\nmean-on = \"{on:.1} ms\"\nmean-off = \"{off:.1} ms\"\nlevel = \"{level:.0} dB\"\n"
                );
            }
            Cause::Queue => {
                scheme = format!(
                    "queue = {{ kind = \"fifo\", limit.packets = {} }}",
                    draws.one_of(&[250, 500, 1000])
                );
                for number in 0..=draws.below(4) {
                    more += &flow(&format!("download-{number}"), "tcp", "me", "");
                }
                wire = format!("delay = \"{delay:.2} ms\"\nrate = \"1 Gbit/s\"");
            }
            Cause::Program => match draws.below(3) {
                0 => {
                    let mut at = 0.5;
                    while at < DURATION as f64 {
                        stalls.push((
                            Instant::ZERO + Span::from_secs_f64(at),
                            millis(draws.around(20.0, 200.0)),
                        ));
                        at += draws.around(0.3, 3.0);
                    }
                }
                1 => unread = 1 + draws.below(500) as u64,
                _ => stutters = true,
            },
            Cause::Wire if draws.chance(0.3) && side == Side::Station => {
                // A full line of the provider, with its queue.
                let (rate, packets) = (draws.around(5.0, 30.0), draws.one_of(&[100, 300, 1000]));
                wire = format!("delay = \"{delay:.2} ms\"\nrate = \"{rate:.1} Mbit/s\"\nqueue = {packets}");
                more += &flow("update", "tcp", "other", "");
            }
            _ => {}
        }
        if standard == "ht" {
            air += "guard-interval = \"800 ns\"\n";
        }
        let own = format!(
            "wire = {{ delay = \"{delay:.2} ms\", loss = {far_loss:.5}, jitter = \"{far_jitter:.2} ms\" }}"
        );
        let probes: String = [("near", ""), ("far", own.as_str())]
            .iter()
            .flat_map(|(name, keys)| ["down", "up"].map(|way| probe(name, way, keys)))
            .collect();
        let channel = format!(
            "channel = {{ kind = \"log-distance\", distance = \"{distance:.2} m\", shadowing = \"1 dB\", fading = {fading} }}"
        );
        let access_point =
            if access_point.is_empty() { String::new() } else { format!("[access-point]\n{access_point}\n") };
        let scenario = format!(
            "duration = \"{} s\"\n[air]\nstandard = \"{standard}\"\nwidth = \"{width} MHz\"\n{air}{access_point}[uplink]\npreset = \"mac80211\"\nqueue = \"linux\"\n[scheme]\n{scheme}\n[wire]\n{wire}\n\
             [[station]]\nname = \"me\"\n{channel}\n{station}\n\
             [[station]]\nname = \"other\"\nchannel = {{ kind = \"log-distance\", distance = \"4 m\" }}\n{probes}{more}",
            DURATION + 2
        );
        let wire = (millis(2.0 * delay), millis(far_jitter), far_loss);
        Self { scenario, seed: 1 + number, side, scans, power_save, stalls, unread, stutters, wire }
    }
}

/// Times of length `length` ms, at a period of seconds from `phase` on.
fn times(phase: f64, period: f64, length: f64) -> Vec<(Instant, Instant)> {
    let begins =
        (0..).map(|number| phase + f64::from(number) * period).take_while(|begin| *begin < DURATION as f64);
    begins
        .map(|begin| {
            let begin = Instant::ZERO + Span::from_secs_f64(begin);
            (begin, begin + millis(length))
        })
        .collect()
}

fn flow(name: &str, kind: &str, station: &str, keys: &str) -> String {
    format!("[[flow]]\nname = \"{name}\"\nkind = \"{kind}\"\nstation = \"{station}\"\n{keys}\n")
}

fn probe(name: &str, way: &str, keys: &str) -> String {
    let keys = format!("rate = \"30 kbit/s\"\nsize = \"56 B\"\ndirection = \"{way}\"\n{keys}");
    flow(&format!("{name}-{way}"), "cbr", "me", &keys)
}

fn neighbour(count: usize, load: &str, frames: u32) -> String {
    let rate = if frames > 1 { "rate = \"HT20 MCS4 1SS LGI\"\n" } else { "" };
    format!(
        "[[neighbour]]\nname = \"next-{count}-{frames}\"\ntransmitters = {count}\n{load}\nampdu-mpdus = {frames}\n{rate}"
    )
}
