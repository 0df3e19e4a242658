//! Words that a scenario may choose from, each with what it stands for: schemes by their slots, presets, surroundings.

/// Words of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chapter {
    /// Name of the kind, in the plural.
    pub name: &'static str,
    /// Place of its words in a scenario or on the command line.
    pub place: &'static str,
    /// The words, each with its meaning in one line.
    pub words: &'static [(&'static str, &'static str)],
}

/// The chapters: the slots of a scheme in their order, then presets.
#[must_use]
pub const fn catalogue() -> &'static [Chapter] {
    CHAPTERS
}

const CHAPTERS: &[Chapter] = &[
    Chapter {
        name: "queues",
        place: "--scheme, scheme.queue",
        words: &[
            ("fifo", "first in, first out"),
            ("codel", "CoDel over one queue (RFC 8289)"),
            ("pie", "PIE over one queue (RFC 8033)"),
            ("fq-codel", "FQ-CoDel over everything in a category (RFC 8290)"),
            ("linux", "mac80211's queueing: FQ-CoDel, airtime fairness, AQL"),
            ("last-pq", "linux with urgent flows first"),
            ("last-pq-auto", "last-pq that finds the urgent flows itself"),
            ("round-robin", "stations in turn, one aggregate each"),
            ("wqm", "drop-tail whose size adapts to aggregates and drain time"),
            ("law", "a time limit, and rate control in one"),
            ("law-last-pq", "law with last-pq as the order within its limit"),
        ],
    },
    Chapter {
        name: "rate controls",
        place: "--scheme, scheme.rate",
        words: &[
            ("fixed", "one rate for each station"),
            ("ideal", "the rate that the SNR calls for"),
            ("minstrel-ht", "Linux's default"),
            ("llra", "the rate with the shortest tail of the delay"),
            ("thompson", "Thompson sampling"),
            ("law", "with queue = \"law\""),
        ],
    },
    Chapter {
        name: "senders",
        place: "--scheme, scheme.sender",
        words: &[
            ("cubic", "TCP CUBIC, Linux's default"),
            ("reno", "TCP Reno"),
            ("bbr", "TCP BBR"),
            ("gcc", "Google congestion control, for flows of kind rtc"),
            ("aggregation", "rates of flows of kind paced, by their level of aggregation"),
        ],
    },
    Chapter {
        name: "session policies",
        place: "--scheme, scheme.session",
        words: &[
            ("plain", "every stream for itself"),
            ("last-n", "only the latest speakers are forwarded"),
            ("tack", "fewer acknowledgements"),
            ("plum", "coordinated bitrates"),
            ("room", "scalable layers, estimates that may be lower bounds, dwell times"),
        ],
    },
    Chapter {
        name: "presets",
        place: "access-point.preset, uplink.preset",
        words: &[
            ("mac80211", "Linux's mac80211 over a card whose firmware schedules, bounded by AQL"),
            ("ath9k-fq", "Linux's ath9k with per-station queues: two aggregates in hardware, no AQL"),
            ("ath9k-2014", "Linux 3.17's ath9k: 123 frames in the driver"),
            ("openwifi", "three layers of queues, as the Law paper draws them"),
            ("openwifi-a", "openwifi, Law's setting A: 25 ms in the flow queues"),
            ("openwifi-b", "openwifi, Law's setting B: no hardware queue"),
            ("openwifi-split", "openwifi with 10 ms for each layer"),
            ("openwifi-bound", "openwifi with 30 ms for all layers together"),
            ("mt76", "mac80211 by the name of the driver that has all of it"),
            ("ath11k", "no airtime queue limit: packets wait in firmware, by station"),
            ("ath12k", "as ath11k"),
            ("rtw89", "no airtime queue limit: 256 packets wait in a ring, oldest first"),
            ("direct", "one queue, aggregated at channel access, as ns-3"),
        ],
    },
    Chapter {
        name: "surroundings",
        place: "surroundings",
        words: &[
            ("calm", "a quiet room: a strong signal, few people, light neighbours"),
            ("office", "an office in the afternoon: people walk about, neighbours download"),
            ("harsh", "a crowded place behind a wall: a weak signal, loaded neighbours"),
            ("hidden", "a strong signal, and a network that the access point does not hear"),
        ],
    },
];

#[cfg(test)]
mod tests {
    use crate::scheme::{QUEUES, RATES, SENDERS, SESSIONS, VARIANTS};

    use super::*;

    fn words(name: &str) -> Vec<&'static str> {
        let chapter = CHAPTERS.iter().find(|chapter| chapter.name == name).expect(name);
        assert!(chapter.words.iter().all(|(_, meaning)| (3..80).contains(&meaning.len())), "{name}");
        chapter.words.iter().map(|(word, _)| *word).collect()
    }

    fn sorted(mut words: Vec<&'static str>) -> Vec<&'static str> {
        words.sort_unstable();
        words
    }

    #[test]
    fn every_word_that_is_read_is_listed() {
        let variants = VARIANTS.iter().map(|(name, ..)| *name);
        let queues = QUEUES.kinds.iter().copied().chain(variants).collect();
        assert_eq!(sorted(words("queues")), sorted(queues));
        for (name, choices) in
            [("rate controls", RATES), ("senders", SENDERS), ("session policies", SESSIONS)]
        {
            assert_eq!(sorted(words(name)), sorted(choices.kinds.to_vec()), "{name}");
        }
        let presets: Vec<&str> = crate::path::PRESETS.iter().map(|(name, _)| *name).collect();
        assert_eq!(words("presets"), presets);
        let surroundings: Vec<&str> = crate::surroundings::PRESETS.iter().map(|(name, _)| *name).collect();
        assert_eq!(words("surroundings"), surroundings);
    }
}
