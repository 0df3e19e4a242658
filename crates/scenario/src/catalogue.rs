//! Words that a scenario may choose from, each with what it stands for: schemes by their slots, presets, surroundings.

use crate::scheme::{QUEUES, RATES, RTC_SENDERS, SENDERS, SESSIONS};

/// Words of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chapter {
    /// Name of the kind, in the plural.
    pub name: &'static str,
    /// Place of its words in a scenario or on the command line.
    pub place: &'static str,
    /// The words, each with its meaning in one line.
    pub words: Vec<(&'static str, &'static str)>,
}

/// The chapters: the slots of a scheme in their order, then presets.
#[must_use]
pub fn catalogue() -> Vec<Chapter> {
    let slots = [
        ("queues", "--scheme, scheme.queue", QUEUES),
        ("rate controls", "--scheme, scheme.rate", RATES),
        ("senders", "--scheme, scheme.sender", SENDERS),
        ("session policies", "--scheme, scheme.session", SESSIONS),
    ];
    let slots = slots.into_iter().map(|(name, place, choices)| (name, place, choices.words()));
    let places = PLACES.iter().map(|(name, place, words)| (*name, *place, words.to_vec()));
    slots.chain(places).map(|(name, place, words)| Chapter { name, place, words }).collect()
}

/// The rules for the rate of real-time video, each with its meaning.
pub fn rate_rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    RTC_SENDERS.words().into_iter()
}

/// Words, each with its meaning.
type Words = &'static [(&'static str, &'static str)];

/// Presets and surroundings: chapter, place, words.
const PLACES: &[(&str, &str, Words)] = &[
    (
        "presets",
        "access-point.preset, uplink.preset",
        &[
            ("mac80211", "Linux's mac80211 over a card whose firmware schedules, bounded by AQL"),
            ("ath9k-fq", "Linux's ath9k with per-station queues: two aggregates in hardware, no AQL"),
            ("ath9k-2014", "Linux 3.17's ath9k: 123 frames in the driver"),
            ("openwifi", "openwifi's driver: a frame is handed down once, 21 in hardware"),
            ("openwifi-ath9k", "Law's three layers with ath9k's depths: 8 in hardware, 31 transmissions"),
            ("openwifi-a", "openwifi, Law's setting A: 25 ms in the flow queues"),
            ("openwifi-b", "openwifi, Law's setting B: no hardware queue"),
            ("openwifi-split", "openwifi-ath9k with 10 ms for each layer"),
            ("openwifi-bound", "openwifi-ath9k with 30 ms for all layers together"),
            ("mt76", "mac80211 by the name of the driver that has all of it"),
            ("ath11k", "no airtime queue limit: packets wait in firmware, by station"),
            ("ath12k", "as ath11k"),
            ("rtw89", "no airtime queue limit: 256 packets wait in a ring, oldest first"),
            ("direct", "one queue, aggregated at channel access, as ns-3"),
        ],
    ),
    (
        "surroundings",
        "surroundings",
        &[
            ("calm", "a quiet room: a strong signal, few people, light neighbours"),
            ("office", "an office in the afternoon: people walk about, neighbours download"),
            ("harsh", "a crowded place behind a wall: a weak signal, loaded neighbours"),
            ("hidden", "a strong signal, and a network that the access point does not hear"),
            ("distant", "as hidden, without downloads, and that network farther away"),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn words(name: &str) -> Vec<&'static str> {
        let chapters = catalogue();
        let chapter = chapters.iter().find(|chapter| chapter.name == name).expect(name);
        chapter.words.iter().map(|(word, _)| *word).collect()
    }

    #[test]
    fn every_preset_that_is_read_is_listed() {
        let presets: Vec<&str> = crate::path::PRESETS.iter().map(|(name, _)| *name).collect();
        assert_eq!(words("presets"), presets);
        let surroundings: Vec<&str> = crate::surroundings::PRESETS.iter().map(|(name, _)| *name).collect();
        assert_eq!(words("surroundings"), surroundings);
    }

    #[test]
    fn a_kind_is_followed_by_its_variants_and_every_word_has_a_short_meaning() {
        let queues = words("queues");
        assert!(queues.windows(2).any(|pair| pair == ["last-pq", "last-pq-auto"]), "{queues:?}");
        assert!(queues.ends_with(&["law", "law-last-pq"]), "{queues:?}");
        assert!(words("rate controls").ends_with(&["thompson", "law"]), "variants are queues");
        for chapter in catalogue() {
            assert!(chapter.words.iter().all(|(_, meaning)| (3..80).contains(&meaning.len())), "{chapter:?}");
        }
    }
}
