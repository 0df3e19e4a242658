//! The rules of the verdict: each sentence has one, with its threshold.

use serde::Serialize;

/// A rule by which the verdict says a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rule {
    /// Name, as in `--json` and in the documents.
    pub name: &'static str,
    /// The threshold.
    pub threshold: f64,
    /// Its unit: "%", "points" of a share in per cent, "ms" or "packets".
    pub unit: &'static str,
    /// Meaning of the threshold.
    pub meaning: &'static str,
}

macro_rules! rules {
    ($($id:ident $name:literal $threshold:literal $unit:literal $meaning:literal;)*) => {
        $(pub(super) const $id: Rule =
            Rule { name: $name, threshold: $threshold, unit: $unit, meaning: $meaning };)*
        /// All rules, in the order of the documents.
        pub const RULES: &[Rule] = &[$($id),*];
    };
}

rules! {
    CHOICE "choice" 10.0 "%"
        "least difference that one seed shows: of the larger value, or in points of a share";
    LITTLE "little" 5.0 "ms"
        "gain of a flow's p95 below which a scheme that costs other flows something is not chosen";
    DELIVERS "delivers" 90.0 "%"
        "least goodput of a scheme to be chosen for a latency, of the largest goodput of that flow";
    LOSES "loses" 1.0 "%"
        "most packets of the flow that a scheme to be chosen loses beyond the least loss";
    LOSSY "lossy" 5.0 "%"
        "share of a flow that does not arrive, above which its demand is not kept";
    PLAYABLE "playable" 50.0 "%"
        "share of late or lost frames, above which nothing is playable";
    SPOILED "spoiled" 10.0 "%"
        "share of frames that are late or lost under the choice, from which on it is said";
    COST "cost" 10.0 "%"
        "least loss of goodput of another flow that is named as a cost";
    EQUAL "equal" 5.0 "points"
        "difference of the largest costs of two schemes up to which they are equal";
    DELAYS "delays" 50.0 "%"
        "least rise of the p95 of another flow, no transfer, that is named as a cost; and 5 ms";
    STAGE "stage" 50.0 "%"
        "least share of the mean latency at which one stage is named the bottleneck";
    SHAPER "shaper" 96.0 "%"
        "rate of the shaper that is advised for a wire that queues, of the wire's rate";
    HALVED "halved" 50.0 "%"
        "limit that is advised for transfers that fill the air, of the goodput that they get; and distance of far stations";
    SHORTER "shorter" 10.0 "%"
        "length that is advised for absences of a radio, of the one that they have";
    WORTH "worth" 5.0 "ms"
        "mean latency of the flow in focus beyond the delay of its wire, from which on something is advised";
    CONFIRMED "confirmed" 50.0 "%"
        "least fall of the mean latency with --why, of the part that the verdict names";
    WIRE_FULL "wire-full" 85.0 "%"
        "least payload on the wire, of its rate, at which it bounds a transfer";
    AIR_BUSY "air-busy" 90.0 "%"
        "share of the time in which the air is busy, above which it is full";
    STANDING "standing-queue" 1.0 "ms"
        "tenth percentile of a transfer's time in queues, from which on it always has packets for the air";
    COLLISIONS "collisions" 33.3 "%"
        "share of the transmissions that collide, above which contention is heavy";
    RETRIES "retries" 30.0 "%"
        "share of the MPDUs to or from a station that are sent again, above which its channel is poor";
    SLOW_STATION "slow-station" 40.0 "%"
        "least airtime of a station that is named slow; its mean rate is below half of the fastest one's";
    BELOW_OFFER "below-offer" 50.0 "%"
        "goodput of a flow, of its offer, below which it counts as not served";
    NEVER_SENDS "never-sends" 1.0 "packets"
        "packets sent, below which a flow took no part";
    LOST "lost" 1.0 "%"
        "share of the packets of the flow in focus that are lost, above which latencies hide it";
    SINGLES "singles" 1.5 "packets"
        "mean aggregate of a station with 5 % of the airtime below which it is remarked, if another scheme has twice that";
    SHORT_AGGREGATES "short-aggregates" 60.0 "%"
        "size of a scheme's aggregates, of the default's, below which they explain what it costs transfers, if more air is idle";
    IDENTICAL "identical" 0.0 "%"
        "difference of all figures of two schemes at which they decided alike";
    EMPTY_QUEUE "empty-queue" 5.0 "%"
        "share of the latency in queues, below which it is named as the reason that two schemes decided alike";
    SHORT_RUN "short-run" 10.0 "packets"
        "packets beyond a percentile, below which it rests on too few";
}

#[cfg(test)]
mod tests {
    use super::RULES;

    #[test]
    fn the_documents_have_every_rule_with_its_threshold() {
        let page = include_str!("../../../../docs/understand/verdicts.md");
        for rule in RULES {
            let row = format!("| `{}` | {} {} |", rule.name, rule.threshold, rule.unit);
            assert!(page.contains(&row), "{row}");
        }
        let table = page.split("## Rules").nth(1).unwrap_or_default();
        assert_eq!(table.lines().filter(|line| line.starts_with("| `")).count(), RULES.len());
    }
}
