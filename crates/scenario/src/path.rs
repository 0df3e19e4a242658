//! `[access-point.path]`: the layers of a transmit path below the queueing scheme, each with its depth.

use std::fmt::Display;
use std::ops::RangeInclusive;

use airbound_control::link::{DriverOrder, TimeLimits};
use airbound_units::{ByteCount, Span};
use airbound_wifi::Format;
use airbound_wifi::ampdu::AmpduLimits;
use airbound_wifi::edca::Category;
use serde::Serialize;

use super::error::ScenarioError;
use super::key::{Key, key};
use super::node::{Node, Value};
use super::section::Section;
use super::text;

/// A transmit path with the depths of a known driver or simulator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Linux's mac80211 over a card whose firmware schedules: FQ-CoDel bounded by the airtime queue limit, packets
    /// waiting in the firmware, aggregates formed at channel access.
    Mac80211,
    /// Linux's ath9k since it has per-station queues: aggregates formed in advance by the driver, two in hardware, no airtime
    /// queue limit (LAST-PQ's access point).
    Ath9kFq,
    /// Linux's ath9k as of 3.17, before mac80211 had queues: 123 frames in the driver below the transmit queue of the
    /// device, aggregates formed ahead by station in turn, two in hardware (WQM's testbed).
    #[serde(rename = "ath9k-2014")]
    Ath9k2014,
    /// openwifi's driver on the board of Law's paper (Sec. 4): a frame is handed down once, at one rate; no aggregation.
    Openwifi,
    /// The layers of Law's Fig. 5 with the depths that its Sec. 2.2 gives of ath9k: a driver that holds packets for retransmission,
    /// eight frames in each hardware queue, 31 transmissions; no aggregation.
    OpenwifiAth9k,
    /// Law's setting A (Sec. 3.1): `Openwifi` with 25 ms for the flow queues and eight frames in all hardware queues together.
    OpenwifiA,
    /// Law's setting B (Sec. 3.1): `Openwifi` without a hardware queue; each frame is handed down when the previous one has ended.
    OpenwifiB,
    /// `OpenwifiAth9k` with 10 ms for each of the three layers (Law, Figs. 13 and 14).
    OpenwifiSplit,
    /// `OpenwifiAth9k` with one limit of 30 ms over all three layers (Law, Figs. 13 and 14).
    OpenwifiBound,
    /// mt76 (MT7915, MT7996): `Mac80211`, whose airtime queue limit and tries are this driver's.
    Mt76,
    /// ath11k (IPQ8074, QCN9074): no airtime queue limit and a handler of mac80211 that hands down whatever arrives, so that packets
    /// wait in the firmware's queues for each station.
    Ath11k,
    /// ath12k (QCN9274): as `Ath11k`.
    Ath12k,
    /// rtw89 (RTL8852, RTL8922): no airtime queue limit, a ring of 256 packets for each category, served in order.
    Rtw89,
    /// One queue, aggregated at channel access: a transmit path without layers, as in ns-3.
    Direct,
}

/// Time of forming an aggregate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// When the channel has been won: all packets queued then may join.
    AtAccess,
    /// In advance, when the hardware queue has room: the aggregate waits there unchanged.
    Ahead,
}

/// The depths of a transmit path.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Path {
    /// PPDUs that the hardware holds in each category, the one on the air included.
    pub hardware_aggregates: u16,
    /// PPDUs that the hardware holds over all categories together.
    #[serde(serialize_with = "text::or_unlimited")]
    pub hardware_total: Option<u16>,
    /// Time from the end of a PPDU until its successor is in the hardware: an interrupt and the driver's reaction. Only for aggregates
    /// formed in advance.
    pub handover: Span,
    /// Time in which the host completes a frame of an ended PPDU; only then it moves packets to the driver's queue.
    pub completion: Span,
    /// Time of forming an aggregate.
    pub form: Form,
    /// Capacity in packets of a queue below the queueing scheme in each category; 0: there is no such queue; `None`: limited only by
    /// the airtime queue limit.
    #[serde(serialize_with = "text::or_unlimited")]
    pub driver_queue: Option<u32>,
    /// The order in which that queue serves stations.
    pub driver_order: DriverOrder,
    /// Upper limit on MPDUs of an aggregate.
    pub max_ampdu_mpdus: u16,
    /// Whether voice is aggregated as the other categories are; without, its frames are sent one by one, without a block-ack agreement.
    pub aggregate_voice: bool,
    /// Upper limit on bytes of an A-MPDU.
    pub max_ampdu_bytes: ByteCount,
    /// Longest PPDU.
    pub max_ppdu_duration: Span,
    /// Bytes that the driver adds after the first subframe of an A-MPDU, beyond its padding.
    pub first_subframe_padding: ByteCount,
    /// Upper limit on transmissions of one PPDU by the hardware, for any rate chain.
    pub hardware_tries: u8,
    /// Steps of a rate chain that the hardware accepts with one PPDU; longer chains are truncated.
    pub rates_per_grant: u8,
    /// Number of descriptors after which an MPDU is given up.
    pub max_grants: u8,
    /// Number of transmissions, over all descriptors, after which a returned MPDU is given up.
    #[serde(serialize_with = "text::or_unlimited")]
    pub max_tries: Option<u16>,
    /// Longest time of a packet in the queueing scheme.
    #[serde(serialize_with = "text::optional")]
    pub queue_limit_time: Option<Span>,
    /// Longest time in the driver, waiting for retransmission, all waits together.
    #[serde(serialize_with = "text::optional")]
    pub driver_limit_time: Option<Span>,
    /// Longest time in the hardware, over all descriptors.
    #[serde(serialize_with = "text::optional")]
    pub hardware_limit_time: Option<Span>,
    /// Longest time in all layers together.
    #[serde(serialize_with = "text::optional")]
    pub total_limit_time: Option<Span>,
    /// Whether there is a block-ack agreement; without one, frames are sent one by one, no window bounds them, and receivers deliver
    /// them in order of arrival.
    pub block_ack: bool,
    /// Greatest distance from the oldest unacknowledged MPDU to the newest.
    pub block_ack_window: u16,
    /// Whether airtime of a station's own transmissions counts against its share.
    pub charge_received_airtime: bool,
    /// Whether the queueing scheme bounds the airtime pending below it (Linux's AQL).
    pub airtime_queue_limit: bool,
    /// Whether a packet counts against the queueing scheme's limit until it is acknowledged, as in ns-3's MAC queue, rather than until
    /// it is handed down.
    pub queue_holds_in_flight: bool,
}

/// Upper limit on MPDUs of a block acknowledgement: 64 up to VHT (compressed bitmap of 8 octets), 256 in HE.
const fn largest_window(standard: Format) -> u16 {
    match standard {
        Format::Legacy | Format::Ht | Format::Vht => 64,
        Format::He => 256,
    }
}

/// The limit of MPDUs in the type of a path.
fn mpdus_of(limits: AmpduLimits) -> u16 {
    u16::try_from(limits.max_mpdus).unwrap_or(u16::MAX)
}

impl Preset {
    /// The depths of the preset for a standard.
    #[must_use]
    pub fn path(self, standard: Format) -> Path {
        let limits = AmpduLimits::of(standard);
        let ath9k = limits.and(AmpduLimits::ath9k());
        // The limits of the standard alone.
        let direct = Path {
            hardware_aggregates: 1,
            hardware_total: None,
            handover: Span::ZERO,
            completion: Span::ZERO,
            form: Form::AtAccess,
            driver_queue: Some(0),
            driver_order: DriverOrder::OldestFirst,
            max_ampdu_mpdus: mpdus_of(limits),
            // Neither mac80211 and its drivers nor ns-3 (VO_MaxAmpduSize) aggregate voice.
            aggregate_voice: false,
            max_ampdu_bytes: limits.max_bytes,
            max_ppdu_duration: limits.max_duration,
            first_subframe_padding: ByteCount::ZERO,
            // No rate chain: each try has its own decision.
            hardware_tries: 1,
            rates_per_grant: 4,
            // dot11ShortRetryLimit; ns-3 counts an aggregate's MPDUs likewise (MaxSsrc, MaxSlrc).
            max_grants: 7,
            max_tries: None,
            queue_limit_time: None,
            driver_limit_time: None,
            hardware_limit_time: None,
            total_limit_time: None,
            block_ack: true,
            block_ack_window: largest_window(standard),
            charge_received_airtime: false,
            airtime_queue_limit: false,
            queue_holds_in_flight: true,
        };
        match self {
            Self::Direct => direct,
            Self::Mac80211 => Path {
                // Firmware accepts all that AQL admits and serves its stations in turn.
                driver_queue: None,
                driver_order: DriverOrder::RoundRobin,
                // Four steps of a chain with `max_rate_tries` each.
                hardware_tries: 40,
                // mt76 lets the card send an MPDU 15 times (MT_TXD3_REM_TX_COUNT).
                max_grants: 15,
                airtime_queue_limit: true,
                queue_holds_in_flight: false,
                ..direct
            },
            // Linux 6.12.107, drivers/net/wireless: mediatek/mt76/mac80211.c sets EXT_FEATURE_AQL and EXT_FEATURE_AIRTIME_FAIRNESS.
            Self::Mt76 => Self::Mac80211.path(standard),
            // ath/ath11k/mac.c, ath/ath12k/mac.c: neither feature; `.wake_tx_queue = ieee80211_handle_wake_tx_queue`, which no full ring
            // stops. DP_TX_IDR_SIZE and ATH12K_NUM_POOL_TX_DESC are 32768. The firmware's order of stations is not public.
            Self::Ath11k | Self::Ath12k => Path {
                driver_queue: Some(32_768),
                airtime_queue_limit: false,
                ..Self::Mac80211.path(standard)
            },
            // realtek/rtw89/core.c: neither feature, and a turn of a station takes as many packets as the ring has room for. pci.h:
            // RTW89_PCI_TXBD_NUM_MAX is 256; core.h: RTW89_MAX_TX_AGG_NUM is 128.
            Self::Rtw89 => {
                let mac80211 = Self::Mac80211.path(standard);
                Path {
                    driver_queue: Some(256),
                    driver_order: DriverOrder::OldestFirst,
                    max_ampdu_mpdus: mac80211.max_ampdu_mpdus.min(128),
                    airtime_queue_limit: false,
                    ..mac80211
                }
            }
            Self::Ath9k2014 => Path {
                // ATH_MAX_QDEPTH: a quarter of ATH_TXBUF (512) less ATH_TXBUF_RESERVE (5). `ath_tx_start` stops the queue of the
                // category when this number of frames is below it, including those waiting for retransmission.
                driver_queue: Some(123),
                // `ath_txq_schedule` returns a station with more packets to the end of the list.
                driver_order: DriverOrder::RoundRobin,
                // xmit.c, `ath_compute_num_delims`: 60 delimiters of 4 B (FIRST_DESC_NDELIMS) on cards like the testbed's AR9380,
                // so that 4 ms at 6.5 Mb/s hold one frame.
                first_subframe_padding: ByteCount::new(240),
                // There was no airtime fairness before 4.11.
                charge_received_airtime: false,
                ..Self::Ath9kFq.path(standard)
            },
            Self::Ath9kFq => Path {
                // ATH_AGGR_MIN_QDEPTH: the driver stops at two aggregates.
                hardware_aggregates: 2,
                form: Form::Ahead,
                // See `AmpduLimits::ath9k`.
                max_ampdu_mpdus: mpdus_of(ath9k),
                max_ampdu_bytes: ath9k.max_bytes,
                max_ppdu_duration: ath9k.max_duration,
                // Four steps of a chain with `max_rate_tries` each.
                hardware_tries: 40,
                // ATH_MAX_SW_RETRIES.
                max_grants: 30,
                // `ath_rx_count_airtime`.
                charge_received_airtime: true,
                queue_holds_in_flight: false,
                ..direct
            },
            // open-sdr/openwifi, 1a19af9 (v1.5.0 and v1.4.0 alike), driver/.
            Self::Openwifi => Path {
                // sdr.h: 64 descriptors a queue; tx_intf.c: the kernel's queue stops above 3676 words of 8 octets on small FPGAs, as
                // XC7Z020 is. That are 20 frames of 1500 octets, beside the one on the air.
                hardware_aggregates: 21,
                form: Form::Ahead,
                // `AGGR_ENABLE` is false.
                max_ampdu_mpdus: 1,
                // sdr.c, `openwifi_tx`: `rates[0].count` transmissions, less one in a field of 4 bits.
                hardware_tries: 16,
                // `max_rates = 1`.
                rates_per_grant: 1,
                // `openwifi_tx_interrupt` hands the status to mac80211, which sends nothing again.
                max_grants: 1,
                queue_holds_in_flight: false,
                ..direct
            },
            Self::OpenwifiAth9k => Path {
                // Law, Sec. 2.2; ath9k's ATH_NON_AGGR_MIN_QDEPTH.
                hardware_aggregates: 8,
                // The number of transmissions is the limit: 31 (Law, Sec. 2.2; ath9k's `ATH_MAX_SW_RETRIES` of 30 counts retries).
                max_grants: 255,
                max_tries: Some(31),
                ..Self::Openwifi.path(standard)
            },
            Self::OpenwifiA => Path {
                queue_limit_time: Some(Span::from_millis(25)),
                hardware_total: Some(8),
                ..Self::Openwifi.path(standard)
            },
            Self::OpenwifiB => Path {
                hardware_aggregates: 1,
                // Interrupt, soft interrupt, dequeueing, DMA of 1500 B on a Cortex-A9 at 667 MHz: the paper gives no figure. Some tens
                // to some hundreds of microseconds are usual under Linux without real-time measures.
                handover: Span::from_micros(150),
                ..Self::Openwifi.path(standard)
            },
            Self::OpenwifiSplit => Path {
                queue_limit_time: Some(Span::from_millis(10)),
                driver_limit_time: Some(Span::from_millis(10)),
                hardware_limit_time: Some(Span::from_millis(10)),
                ..Self::OpenwifiAth9k.path(standard)
            },
            Self::OpenwifiBound => {
                Path { total_limit_time: Some(Span::from_millis(30)), ..Self::OpenwifiAth9k.path(standard) }
            }
        }
    }

    /// Whether its kernel is a current one, without CoDel parameters of slow stations (commit 487637698808; Linux 6.12.35).
    #[must_use]
    pub const fn has_one_codel(self) -> bool {
        matches!(self, Self::Mac80211 | Self::Mt76 | Self::Ath11k | Self::Ath12k | Self::Rtw89)
    }

    /// Whether its cards' firmware decides rates (`HAS_RATE_CONTROL`), so that a scheme's rate control cannot act.
    #[must_use]
    pub const fn has_rates_in_firmware(self) -> bool {
        matches!(self, Self::Mt76 | Self::Ath11k | Self::Ath12k | Self::Rtw89)
    }

    /// Whether frames are sent one by one, without a block-ack agreement, unless aggregation is enabled.
    const fn is_openwifi(self) -> bool {
        matches!(
            self,
            Self::Openwifi
                | Self::OpenwifiAth9k
                | Self::OpenwifiA
                | Self::OpenwifiB
                | Self::OpenwifiSplit
                | Self::OpenwifiBound
        )
    }
}

pub(super) const KEYS: &[Key] = &[
    key("hardware-aggregates", "1–1000", "PPDUs in hardware, each category, with that on air"),
    key("hardware-total", r#"1–4000, `"unlimited"`"#, r#"the same over all categories (`form = "ahead"`)"#),
    key("handover", "0–100 ms", "from a PPDU's end to its successor in hardware"),
    key("completion", "0–1 ms", "host's time for a sent frame, before it fills `driver-queue`"),
    key("form", "`at-access` `ahead`", "aggregates are formed"),
    key("driver-queue", r#"0–100000, `"unlimited"`"#, "packets below the scheme's queue, each category"),
    key("driver-order", "`round-robin` `oldest-first`", "its order of stations"),
    key("max-ampdu-mpdus", "1–64 (HE 256, legacy 1)", "of an aggregate"),
    key("aggregate-voice", "", "`vo` has aggregates, as other categories have"),
    key("max-ampdu-bytes", "1 B to the standard's limit", "of an A-MPDU"),
    key("max-ppdu-duration", "100 us–5.484 ms", "longest PPDU"),
    key("first-subframe-padding", "0–4000 B", "behind the first subframe"),
    key("hardware-tries", "1–120", "of one PPDU, whatever the rate chain"),
    key("rates-per-grant", "1–4", "steps of a rate chain, cut off beyond"),
    key("max-grants", "1–255", "times that an MPDU is handed to hardware"),
    key("max-tries", r#"1–10000, `"unlimited"`"#, "transmissions of an MPDU in all"),
    key("queue-limit-time", r#"100 us–100 s, `"none"`"#, "in the scheme's queue"),
    key("driver-limit-time", "as above", "in the driver"),
    key("hardware-limit-time", "as above", "in hardware, all grants"),
    key("total-limit-time", "as above", "in all of these"),
    key("block-ack", "", "block-ack agreement"),
    key("block-ack-window", "1–64 (HE 256)", "oldest unacknowledged MPDU to newest"),
    key("charge-received-airtime", "", "a station's sending counts in its share"),
    key("airtime-queue-limit", "", "Linux's AQL"),
    key("queue-holds-in-flight", "", "packets count until acknowledged (ns-3)"),
];

/// Reads `preset`.
pub(super) fn read_preset(section: &Section<'_>, default: Preset) -> Result<Preset, ScenarioError> {
    section.choice("preset", default, PRESETS)
}

/// The presets by their words.
pub(super) const PRESETS: &[(&str, Preset)] = &[
    ("mac80211", Preset::Mac80211),
    ("ath9k-fq", Preset::Ath9kFq),
    ("ath9k-2014", Preset::Ath9k2014),
    ("openwifi", Preset::Openwifi),
    ("openwifi-ath9k", Preset::OpenwifiAth9k),
    ("openwifi-a", Preset::OpenwifiA),
    ("openwifi-b", Preset::OpenwifiB),
    ("openwifi-split", Preset::OpenwifiSplit),
    ("openwifi-bound", Preset::OpenwifiBound),
    ("mt76", Preset::Mt76),
    ("ath11k", Preset::Ath11k),
    ("ath12k", Preset::Ath12k),
    ("rtw89", Preset::Rtw89),
    ("direct", Preset::Direct),
];

/// A whole number, or "unlimited".
fn read_limit<T: TryFrom<i128> + Display + PartialOrd + Copy>(
    section: &Section<'_>,
    key: &str,
    base: Option<T>,
    range: RangeInclusive<T>,
) -> Result<Option<T>, ScenarioError> {
    match section.get(key) {
        None => Ok(base),
        Some(Node { value: Value::Text(word), .. }) if word == "unlimited" => Ok(None),
        Some(Node { value: Value::Text(_), .. }) => Err(section.wrong(
            key,
            format!(
                "is a text; allowed is a whole number from {} to {}, or \"unlimited\"",
                range.start(),
                range.end()
            ),
        )),
        Some(_) => section.whole(key, *range.start(), range).map(Some),
    }
}

/// A time limit, or "none".
fn read_limit_time(
    section: &Section<'_>,
    key: &str,
    base: Option<Span>,
) -> Result<Option<Span>, ScenarioError> {
    match section.get(key) {
        None => Ok(base),
        Some(Node { value: Value::Text(word), .. }) if word == "none" => Ok(None),
        Some(_) => {
            let range = Span::from_micros(100)..=Span::from_secs(100);
            section.ranged(key, base.unwrap_or(Span::from_millis(10)), range).map(Some)
        }
    }
}

impl Path {
    /// The depth of the driver's queue in packets; 0 without one. A queue without a depth of its own is useful only below a scheme
    /// that limits the airtime below it (`counts_airtime`).
    #[must_use]
    pub const fn lower_depth(&self, counts_airtime: bool) -> usize {
        match self.driver_queue {
            None if counts_airtime => usize::MAX,
            None => 0,
            Some(packets) => packets as usize,
        }
    }

    /// Whether frames of a category are sent under a block-ack agreement.
    #[must_use]
    pub const fn has_agreement(&self, category: Category) -> bool {
        self.block_ack && (self.aggregate_voice || !matches!(category, Category::Vo))
    }

    /// Returns the time limits of a packet in each layer, and in all together.
    #[must_use]
    pub const fn time_limits(&self) -> TimeLimits {
        TimeLimits {
            queue: self.queue_limit_time,
            driver: self.driver_limit_time,
            hardware: self.hardware_limit_time,
            total: self.total_limit_time,
        }
    }

    /// The limits of an aggregate in the type of `airbound_wifi`.
    #[must_use]
    pub fn ampdu_limits(&self) -> AmpduLimits {
        AmpduLimits {
            max_mpdus: u32::from(self.max_ampdu_mpdus),
            max_bytes: self.max_ampdu_bytes,
            max_duration: self.max_ppdu_duration,
        }
    }

    /// Reads `[….path]` over the depths of a preset.
    pub(super) fn read(
        section: &Section<'_>,
        preset: Preset,
        standard: Format,
    ) -> Result<Self, ScenarioError> {
        section.allow("a transmit path", &[KEYS])?;
        let base = preset.path(standard);
        let window = largest_window(standard);
        let limits = AmpduLimits::of(standard);
        let forms = &[("at-access", Form::AtAccess), ("ahead", Form::Ahead)];
        let form = section.choice("form", base.form, forms)?;
        let handover = section.ranged("handover", base.handover, Span::ZERO..=Span::from_millis(100))?;
        let hardware_total = read_limit(section, "hardware-total", base.hardware_total, 1..=4000)?;
        for (key, is_set) in [("handover", !handover.is_zero()), ("hardware-total", hardware_total.is_some())]
        {
            if is_set && form == Form::AtAccess {
                return Err(
                    section.wrong(key, "needs form = \"ahead\": nothing waits in the hardware otherwise")
                );
            }
        }
        let driver_queue = read_limit(section, "driver-queue", base.driver_queue, 0..=100_000)?;
        let completion = section.ranged("completion", base.completion, Span::ZERO..=Span::from_millis(1))?;
        if !completion.is_zero() && driver_queue == Some(0) {
            return Err(section.wrong("completion", "needs a driver-queue: nothing moves down otherwise"));
        }
        let max_ampdu_mpdus = section.whole("max-ampdu-mpdus", base.max_ampdu_mpdus, 1..=mpdus_of(limits))?;
        let block_ack = if preset.is_openwifi() { max_ampdu_mpdus > 1 } else { base.block_ack };
        let block_ack = section.boolean("block-ack", block_ack)?;
        if max_ampdu_mpdus > 1 && !block_ack && section.has("block-ack") {
            return Err(section.wrong("block-ack", "is false; that needs max-ampdu-mpdus = 1"));
        }
        Ok(Self {
            hardware_aggregates: section.whole("hardware-aggregates", base.hardware_aggregates, 1..=1000)?,
            hardware_total,
            handover,
            completion,
            form,
            driver_queue,
            driver_order: section.choice(
                "driver-order",
                base.driver_order,
                &[("oldest-first", DriverOrder::OldestFirst), ("round-robin", DriverOrder::RoundRobin)],
            )?,
            max_ampdu_mpdus,
            aggregate_voice: section.boolean("aggregate-voice", base.aggregate_voice)?,
            max_ampdu_bytes: section.ranged(
                "max-ampdu-bytes",
                base.max_ampdu_bytes,
                ByteCount::new(1)..=limits.max_bytes,
            )?,
            max_ppdu_duration: section.ranged(
                "max-ppdu-duration",
                base.max_ppdu_duration,
                Span::from_micros(100)..=limits.max_duration,
            )?,
            first_subframe_padding: section.ranged(
                "first-subframe-padding",
                base.first_subframe_padding,
                ByteCount::ZERO..=ByteCount::new(4000),
            )?,
            hardware_tries: section.whole("hardware-tries", base.hardware_tries, 1..=120)?,
            rates_per_grant: section.whole("rates-per-grant", base.rates_per_grant, 1..=4)?,
            max_grants: section.whole("max-grants", base.max_grants, 1..=255)?,
            max_tries: read_limit(section, "max-tries", base.max_tries, 1..=10_000)?,
            queue_limit_time: read_limit_time(section, "queue-limit-time", base.queue_limit_time)?,
            driver_limit_time: read_limit_time(section, "driver-limit-time", base.driver_limit_time)?,
            hardware_limit_time: read_limit_time(section, "hardware-limit-time", base.hardware_limit_time)?,
            total_limit_time: read_limit_time(section, "total-limit-time", base.total_limit_time)?,
            block_ack,
            block_ack_window: section.whole("block-ack-window", base.block_ack_window, 1..=window)?,
            charge_received_airtime: section
                .boolean("charge-received-airtime", base.charge_received_airtime)?,
            airtime_queue_limit: section.boolean("airtime-queue-limit", base.airtime_queue_limit)?,
            queue_holds_in_flight: section.boolean("queue-holds-in-flight", base.queue_holds_in_flight)?,
        })
    }
}
