//! Access categories and their contention parameters.

use airbound_units::Span;
use serde::{Deserialize, Serialize};

/// An access category of EDCA. The order is that of priority, lowest first.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Background.
    Bk,
    /// Best effort.
    #[default]
    Be,
    /// Video.
    Vi,
    /// Voice.
    Vo,
}

impl Category {
    /// All four, lowest priority first.
    pub const ALL: [Self; 4] = [Self::Bk, Self::Be, Self::Vi, Self::Vo];

    /// Its index: 0 (background) to 3 (voice).
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The category of a user priority (table 10-1). Only the low three bits count.
    #[must_use]
    pub const fn of_user_priority(priority: u8) -> Self {
        match priority & 7 {
            1 | 2 => Self::Bk,
            0 | 3 => Self::Be,
            4 | 5 => Self::Vi,
            _ => Self::Vo,
        }
    }

    /// The category of a DSCP by RFC 8325 section 4.3.
    #[must_use]
    pub const fn of_dscp(dscp: u8) -> Self {
        Self::of_user_priority(user_priority_rfc8325(dscp))
    }

    /// The name in lower case, as in scenario files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bk => "bk",
            Self::Be => "be",
            Self::Vi => "vi",
            Self::Vo => "vo",
        }
    }
}

impl std::fmt::Display for Category {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The user priority of a DSCP by RFC 8325 section 4.3, with the lower-effort class of RFC 8622. Other code points have
/// priority 0.
#[must_use]
pub const fn user_priority_rfc8325(dscp: u8) -> u8 {
    match dscp {
        // CS6 and CS7: network control.
        48 | 56 => 7,
        // EF and VOICE-ADMIT.
        44 | 46 => 6,
        // CS5: signalling.
        40 => 5,
        // AF41-43, CS4, AF31-33, CS3: conferencing, interactive, streaming, broadcast video.
        34 | 36 | 38 | 32 | 26 | 28 | 30 | 24 => 4,
        // AF21-23: low-latency data.
        18 | 20 | 22 => 3,
        // CS1 and LE: low-priority data.
        8 | 1 => 1,
        _ => 0,
    }
}

/// The user priority from the precedence bits of a DSCP, as in Linux without a QoS map (cfg80211 net/wireless/util.c).
#[must_use]
pub const fn user_priority_precedence(dscp: u8) -> u8 {
    (dscp >> 3) & 7
}

/// The contention parameters of a category.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct EdcaParameters {
    /// Slots after SIFS that the channel must stay idle (AIFSN); 2 makes AIFS equal DIFS. An access point may use 1.
    pub aifsn: u8,
    /// The first backoff is uniform in 0 to this number of slots.
    pub cw_min: u16,
    /// Upper limit of the window, in slots.
    pub cw_max: u16,
    /// Longest transmission opportunity; zero allows one frame exchange of any length.
    pub txop_limit: Span,
}

/// The unit of the TXOP limit in beacons.
const TXOP_UNIT: Span = Span::from_micros(32);

impl EdcaParameters {
    const fn new(aifsn: u8, cw_min: u16, cw_max: u16, txop_limit: Span) -> Self {
        Self { aifsn, cw_min, cw_max, txop_limit }
    }

    /// DCF, the access of transmitters without QoS: DIFS, window 15 to 1023 (10.3.4, table 17-21).
    #[must_use]
    pub const fn dcf() -> Self {
        Self::new(2, 15, 1023, Span::ZERO)
    }

    /// The default parameters of stations (802.11-2020 table 9-155, OFDM column).
    #[must_use]
    pub const fn standard_station(category: Category) -> Self {
        match category {
            Category::Bk => Self::new(7, 15, 1023, Span::from_micros(2_528)),
            Category::Be => Self::new(3, 15, 1023, Span::from_micros(2_528)),
            Category::Vi => Self::new(2, 7, 15, Span::from_micros(4_096)),
            Category::Vo => Self::new(2, 3, 7, Span::from_micros(2_080)),
        }
    }

    /// The parameters that Linux access points announce to their stations (hostapd `wmm_ac_*`), and mac80211's default
    /// (`ieee80211_set_wmm_default`): the table of 802.11-2012, in which best effort and background have one frame exchange
    /// per access.
    #[must_use]
    pub fn linux_station(category: Category) -> Self {
        let txop_limit = match category {
            Category::Bk | Category::Be => Span::ZERO,
            Category::Vi => TXOP_UNIT * 94,
            Category::Vo => TXOP_UNIT * 47,
        };
        Self { txop_limit, ..Self::standard_station(category) }
    }

    /// The parameters of a Linux access point itself (hostapd `tx_queue_data*`): best effort with a window of at most 63,
    /// video and voice with AIFSN 1.
    #[must_use]
    pub fn linux_access_point(category: Category) -> Self {
        match category {
            Category::Bk => Self::new(7, 15, 1023, Span::ZERO),
            Category::Be => Self::new(3, 15, 63, Span::ZERO),
            Category::Vi => Self::new(1, 7, 15, Span::from_micros(3_008)),
            Category::Vo => Self::new(1, 3, 7, Span::from_micros(1_504)),
        }
    }

    /// The window after `failures` consecutive failures: doubled for each, up to `cw_max` (10.23.2.2).
    #[must_use]
    pub fn window(&self, failures: u32) -> u16 {
        let slots = u32::from(self.cw_min) + 1;
        let doubled = slots.checked_shl(failures.min(16)).unwrap_or(u32::MAX);
        let window = doubled.saturating_sub(1).min(u32::from(self.cw_max.max(self.cw_min)));
        u16::try_from(window).unwrap_or(u16::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn priorities_map_as_the_standard_prints_them() {
        let order = [Category::Be, Category::Bk, Category::Bk, Category::Be];
        for (priority, category) in (0u8..).zip(order) {
            assert_eq!(Category::of_user_priority(priority), category);
        }
        for priority in [4, 5] {
            assert_eq!(Category::of_user_priority(priority), Category::Vi);
        }
        for priority in [6, 7] {
            assert_eq!(Category::of_user_priority(priority), Category::Vo);
        }
    }

    #[test]
    fn code_points_map_as_rfc_8325_says() {
        let cases = [
            (0, Category::Be),
            (1, Category::Bk),
            (8, Category::Bk),
            (10, Category::Be),
            (16, Category::Be),
            (18, Category::Be),
            (24, Category::Vi),
            (26, Category::Vi),
            (32, Category::Vi),
            (34, Category::Vi),
            (40, Category::Vi),
            (44, Category::Vo),
            (46, Category::Vo),
            (48, Category::Vo),
            (56, Category::Vo),
            (63, Category::Be),
        ];
        for (dscp, category) in cases {
            assert_eq!(Category::of_dscp(dscp), category, "DSCP {dscp}");
        }
        // Without a map EF is mapped to video, which RFC 8325 corrects.
        assert_eq!(Category::of_user_priority(user_priority_precedence(46)), Category::Vi);
    }

    #[test]
    fn windows_double_up_to_their_limit() {
        let windows: Vec<u16> = (0..9).map(|failures| EdcaParameters::dcf().window(failures)).collect();
        assert_eq!(windows, [15, 31, 63, 127, 255, 511, 1023, 1023, 1023]);
        assert_eq!(EdcaParameters::linux_access_point(Category::Be).window(9), 63);
        assert_eq!(EdcaParameters::standard_station(Category::Vo).window(u32::MAX), 7);
    }

    #[test]
    fn categories_are_lower_case_text() {
        let vo: Category = serde::Deserialize::deserialize(serde::de::value::StrDeserializer::<
            serde::de::value::Error,
        >::new("vo"))
        .unwrap();
        assert_eq!(vo, Category::Vo);
        assert_eq!(Category::Bk.to_string(), "bk");
        assert_eq!(Category::ALL.map(Category::index), [0, 1, 2, 3]);
    }
}
