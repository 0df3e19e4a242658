//! `kind = "rtc"`: real-time video as in WebRTC.

use airbound_units::{BitRate, ByteCount, Span};
use airbound_wifi::Category;
use serde::Serialize;

use super::error::ScenarioError;
use super::key::{Key, key};
use super::scheme::{RTC_SENDERS, Scheme, Slot};
use super::section::Section;
use super::size_law::{SizeLaw, read_size_law};
use super::text;

/// Real-time video over RTP: an encoder, a pacer, congestion control, forward error correction and retransmission.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct RtcStream {
    /// Highest rate of the encoder: its target if the network permits it.
    pub rate: BitRate,
    /// Lowest rate of congestion control.
    pub min_rate: BitRate,
    /// Initial rate of congestion control.
    pub start_rate: BitRate,
    /// Highest rate of congestion control for all data: media, error correction, retransmissions, headers.
    pub max_rate: BitRate,
    /// Frames per second.
    pub fps: f64,
    /// Largest RTP packet, its header included.
    pub size: ByteCount,
    /// Variation of frame sizes around their mean.
    pub size_law: SizeLaw,
    /// Longest time from one key frame to the next.
    pub key_frame_interval: Span,
    /// Ratio of the mean size of key frames to that of all frames.
    pub key_frame_factor: f64,
    /// Least time between two changes of the encoder's rate.
    pub reaction: Span,
    /// Forward error correction.
    pub fec: ErrorCorrection,
    /// Parity packets for each media packet.
    pub fec_overhead: f64,
    /// Whether the receiver requests lost packets again.
    pub nack: bool,
    /// Whether the receiver knows the round trip, and requests a lost packet again after as long; else after 100 ms.
    pub receiver_round_trip: bool,
    /// Time that the receiver waits for a frame before it requests a key frame.
    pub give_up: Span,
    /// Longest time from the creation of a frame until it can be decoded; later frames miss their deadline.
    pub deadline: Span,
    /// The access category of the receiver's feedback.
    pub feedback_category: Category,
    /// The rule for its rate; `None` uses the scheme's sender if that is one, else `gcc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<Slot>,
}

pub(super) const RTC_KEYS: &[Key] = &[
    key("rate", r#"`"10 Mbit/s"`; 10 kbit/s–1 Gbit/s"#, "largest, of coded video"),
    key("min-rate", r#"`"30 kbit/s"`; 5 kbit/s–`max-rate`"#, "least target"),
    key("start-rate", r#"`"300 kbit/s"`; `min-rate` to `max-rate`"#, "its first target"),
    key("max-rate", "1.5 times `rate`; 5 kbit/s–10 Gbit/s", "its largest target"),
    key("fps", "30; 1–1000", "frames a second"),
    key("size", r#"`"1200 B"`; 100–1452 B"#, "RTP packet, with header"),
    key("size-law", r#"`"lognormal(0.21)"`; as of `vr`"#, "of frame sizes"),
    key("key-frame-interval", r#"`"100 s"`; 1 ms–24 h"#, "longest, between key frames"),
    key("key-frame-factor", "3.24; 1–20", "key frame over mean"),
    key("reaction", r#"`"200 ms"`; 0–10 s"#, "least, between rate changes"),
    key("fec", "`none` `rows` **`columns`** `two-dimensional` `reed-solomon`", "forward error correction"),
    key("fec-overhead", "0.125; 0.01–1", "parity per media packet"),
    key("nack", "true", "lost packets are resent"),
    key("receiver-round-trip", "false", "requests follow it; else 100 ms"),
    key("give-up", r#"`"3 s"`; 10 ms–60 s"#, "before a key frame is asked for"),
    key("deadline", r#"`"100 ms"`; 1 ms–10 s"#, "of decoded frames"),
    key("feedback-category", "`bk` **`be`** `vi` `vo`", "of the receiver's packets"),
    key("congestion", "see below; [rules](#rules-for-the-rate-of-video)", "of its rate"),
];

/// Layout of the parity packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCorrection {
    /// No error correction.
    None,
    /// XOR over consecutive packets.
    Rows,
    /// XOR over packets at equal distances: repairs a burst up to the number of columns.
    Columns,
    /// XOR over rows and columns.
    TwoDimensional,
    /// Reed-Solomon: repairs losses up to the number of parity packets.
    ReedSolomon,
}

const CORRECTIONS: &[(&str, ErrorCorrection)] = &[
    ("none", ErrorCorrection::None),
    ("rows", ErrorCorrection::Rows),
    ("columns", ErrorCorrection::Columns),
    ("two-dimensional", ErrorCorrection::TwoDimensional),
    ("reed-solomon", ErrorCorrection::ReedSolomon),
];

impl RtcStream {
    /// The rule for its rate under a scheme: its own, else the scheme's sender if that is one, else `gcc`.
    #[must_use]
    pub fn sender(&self, scheme: &Scheme) -> Slot {
        let scheme = Some(&scheme.sender).filter(|sender| sender.is_media_rate());
        self.congestion.as_ref().or(scheme).cloned().unwrap_or_else(|| Slot::plain("gcc"))
    }

    pub(super) fn read(section: &Section<'_>) -> Result<Self, ScenarioError> {
        let rate = section.ranged(
            "rate",
            BitRate::from_mbps(10),
            BitRate::from_kbps(10)..=BitRate::from_mbps(1_000),
        )?;
        let nack = section.boolean("nack", true)?;
        let rates = |key, default: BitRate, range| section.ranged(key, default, range);
        let (least, most) = (BitRate::from_kbps(5), BitRate::from_mbps(10_000));
        // libwebrtc begins with 300 kbit/s and requests at least 30 kbit/s from video encoders.
        let max_rate = rates("max-rate", rate.mul_f64(1.5).max(least), least..=most)?;
        let min_rate = rates("min-rate", BitRate::from_kbps(30).min(max_rate), least..=max_rate)?;
        let start = BitRate::from_kbps(300).clamp(min_rate, max_rate);
        let start_rate = rates("start-rate", start, min_rate..=max_rate)?;
        let second = Span::from_secs(1);
        Ok(Self {
            rate,
            min_rate,
            start_rate,
            max_rate,
            fps: section.number("fps", 30.0, 1.0..=1000.0)?,
            // libwebrtc's largest RTP packet.
            size: section.ranged("size", ByteCount::new(1200), ByteCount::new(100)..=ByteCount::new(1452))?,
            // The standard deviation of RFC 8593's Laplacian law of scale 0.15 (Table 2), without its negative sizes.
            size_law: read_size_law(section, SizeLaw::Lognormal { sigma: 0.21 })?,
            // 3000 frames at 30 a second: libwebrtc's encoders make key frames on request, and hardly ever otherwise.
            key_frame_interval: section.ranged(
                "key-frame-interval",
                second * 100,
                Span::from_millis(1)..=second * 86_400,
            )?,
            // RFC 8593, Table 2: 13.5 kB in place of 4.17 kB.
            key_frame_factor: section.number("key-frame-factor", 3.24, 1.0..=20.0)?,
            // The encoder's reaction latency, RFC 8593, Table 2.
            reaction: section.ranged("reaction", Span::from_millis(200), Span::ZERO..=second * 10)?,
            fec: section.choice("fec", ErrorCorrection::Columns, CORRECTIONS)?,
            fec_overhead: section.number("fec-overhead", 0.125, 0.01..=1.0)?,
            nack,
            receiver_round_trip: section.boolean("receiver-round-trip", false)?,
            // libwebrtc's wait for a frame; without retransmission, its wait for a key frame.
            give_up: section.ranged(
                "give-up",
                if nack { second * 3 } else { Span::from_millis(200) },
                Span::from_millis(10)..=second * 60,
            )?,
            deadline: section.ranged(
                "deadline",
                Span::from_millis(100),
                Span::from_millis(1)..=second * 10,
            )?,
            feedback_category: section.choice("feedback-category", Category::Be, text::CATEGORIES)?,
            congestion: Slot::read(section, "congestion", RTC_SENDERS)?,
        })
    }
}
