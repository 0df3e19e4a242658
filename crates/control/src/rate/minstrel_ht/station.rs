//! One station: its statistics, the rates in use, the chain.

use std::sync::Arc;

use airbound_units::Instant;
use airbound_wifi::rate::Rate;

use super::estimate::{Overheads, TryContext};
use super::sampling::{InUse, SampleTable, Sampler};
use super::statistics::{RateStats, SCALE, ewma, fraction};
use super::table::{RateId, RateTable, SLOTS};
use super::{MinstrelHtConfig, SampleSpacing};
use crate::frame::RateChain;
use crate::rate::RateReport;

/// Number of best rates kept in order (`MAX_THR_RATES`).
const BEST: usize = 4;
/// Below this success a step of the chain gets two tries: 20 %.
const DOUBTFUL: u32 = fraction(20, 100);
/// Above this success the most reliable rate is chosen by throughput: 75 %.
const RELIABLE: u32 = fraction(75, 100);

/// The best rates of one group.
#[derive(Debug, Clone, Copy)]
struct GroupBest {
    by_throughput: [RateId; BEST],
    reliable: RateId,
}

/// State of one station (`struct minstrel_ht_sta`).
#[derive(Debug, Clone)]
pub(super) struct Station {
    pub(super) table: Arc<RateTable>,
    stats: Vec<[RateStats; SLOTS]>,
    group_best: Vec<GroupBest>,
    by_throughput: [RateId; BEST],
    reliable: RateId,
    /// Aggregates and their MPDUs in this interval.
    ampdus: u32,
    ampdu_mpdus: u32,
    /// Mean MPDUs of an aggregate, fixed point, moving average.
    mean_ampdu: u32,
    last_update: Instant,
    next_sample: Instant,
    /// Frames reported since the last sample was taken.
    unsampled: u32,
    sampler: Sampler,
    chain: RateChain,
    /// Packets in a tenth of a second at the best rate, as of the last update of the chain.
    expected_throughput: u32,
    pub(super) mpdus: u64,
    pub(super) sampled_mpdus: u64,
    /// The rate reported last, with its place in the table.
    reported: Option<(Rate, RateId)>,
}

/// State common to all stations.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) config: &'a MinstrelHtConfig,
    pub(super) overheads: &'a Overheads,
    pub(super) order: &'a SampleTable,
}

impl Station {
    pub(super) fn new(table: Arc<RateTable>, now: Instant, shared: Shared<'_>) -> Self {
        let start = table.start;
        let group_best = table
            .groups
            .iter()
            .map(|group| GroupBest { by_throughput: [group.first; BEST], reliable: group.first })
            .collect();
        let mut station = Self {
            stats: vec![[RateStats::default(); SLOTS]; table.groups.len()],
            group_best,
            by_throughput: [start; BEST],
            reliable: start,
            ampdus: 0,
            ampdu_mpdus: 0,
            mean_ampdu: fraction(1, 1),
            last_update: now,
            next_sample: now,
            unsampled: 0,
            sampler: Sampler::new(table.groups.len()),
            chain: RateChain::single(table.rate(start), 1),
            expected_throughput: 0,
            mpdus: 0,
            sampled_mpdus: 0,
            reported: None,
            table,
        };
        station.update(now, shared);
        station.build_chain(shared);
        station
    }

    /// The rate estimated to be the best.
    pub(super) fn best_rate(&self) -> Rate {
        self.table.rate(self.by_throughput[0])
    }

    /// Packets expected to arrive in a tenth of a second at the best rate (`minstrel_ht_get_expected_throughput`).
    pub(super) const fn expected_throughput(&self) -> u32 {
        self.expected_throughput
    }

    /// The chain for the next frame; at times one that begins with a sample (`minstrel_ht_get_rate`).
    pub(super) fn chain(&mut self, now: Instant, config: &MinstrelHtConfig) -> RateChain {
        let early = match config.sample_spacing {
            SampleSpacing::Time => false,
            SampleSpacing::Frames => self.unsampled < 16 + 2 * self.mean_ampdu(),
        };
        if !config.sampling || early || now < self.next_sample {
            return self.chain;
        }
        self.next_sample = now + config.sample_interval;
        self.unsampled = 0;
        let Some(sample) = self.sampler.take(config.chain_steps > 1) else { return self.chain };
        let mut chain = RateChain::single(self.table.rate(sample), 1);
        for step in self.chain.steps().iter().skip(1) {
            chain.push(step.rate, step.tries);
        }
        chain.probe = true;
        chain
    }

    /// Counts the tries of a report; updates the rates once in an interval (`minstrel_ht_tx_status`).
    pub(super) fn on_report(&mut self, now: Instant, report: &RateReport, shared: Shared<'_>) {
        let mpdus = report.mpdus.max(1);
        let acknowledged = u32::from(report.acknowledged.min(mpdus));
        let mpdus = u32::from(mpdus);
        self.mpdus = self.mpdus.saturating_add(mpdus.into());
        if report.used.probe {
            self.sampled_mpdus = self.sampled_mpdus.saturating_add(mpdus.into());
        }
        self.unsampled = self.unsampled.saturating_add(1);
        self.ampdus = self.ampdus.saturating_add(1);
        self.ampdu_mpdus = self.ampdu_mpdus.saturating_add(mpdus);

        let steps = report.used.steps();
        for (index, step) in steps.iter().enumerate() {
            // Frames mostly go at the rate of the one before.
            if self.reported.is_none_or(|(rate, _)| rate != step.rate) {
                self.reported = self.table.id_of(step.rate).map(|id| (step.rate, id));
            }
            let Some((_, id)) = self.reported else { continue };
            let Some(stats) = stats_mut(&mut self.stats, id) else { continue };
            stats.attempts = stats.attempts.saturating_add(mpdus * u32::from(step.tries));
            if index + 1 == steps.len() {
                stats.successes = stats.successes.saturating_add(acknowledged);
            }
        }

        let mut changed = false;
        if shared.config.chain_steps > 1 {
            changed |= self.downgrade(0);
            changed |= self.downgrade(1);
        }
        if now > self.last_update + shared.config.update_interval {
            self.update(now, shared);
            changed = true;
        }
        if changed {
            self.build_chain(shared);
        }
    }

    /// Replaces one of the two best rates at once if more than 30 of its MPDUs were sent in this interval and less than
    /// a quarter arrived: the best rate of the next lower group without more streams takes its place
    /// (`minstrel_downgrade_rate`).
    fn downgrade(&mut self, place: usize) -> bool {
        let Some(&id) = self.by_throughput.get(place) else { return false };
        let stats = self.stats(id);
        if stats.attempts <= 30 || stats.successes >= stats.attempts / 4 {
            return false;
        }
        let streams = self.table.streams(id);
        let lower = self.table.groups.iter().zip(&self.group_best).take(id.group()).rev();
        let candidate = lower
            .filter(|(group, _)| group.streams <= streams)
            .find_map(|(_, best)| best.by_throughput.get(place).copied());
        if let (Some(candidate), Some(held)) = (candidate, self.by_throughput.get_mut(place)) {
            *held = candidate;
        }
        true
    }

    fn stats(&self, id: RateId) -> RateStats {
        self.stats.get(id.group()).and_then(|group| group.get(id.slot())).copied().unwrap_or_default()
    }

    /// Statistics of each rate.
    pub(super) fn known(&self) -> impl Iterator<Item = (RateId, Rate, RateStats)> + '_ {
        self.table.rates().iter().map(|(rate, id)| (*id, *rate, self.stats(*id)))
    }

    /// Mean MPDUs of an aggregate, at least 1.
    pub(super) fn mean_ampdu(&self) -> u32 {
        (self.mean_ampdu >> SCALE).max(1)
    }

    /// The cached result of [`Overheads::throughput`] for a rate; it is used far more often than it changes.
    fn throughput(&self, id: RateId) -> u32 {
        self.stats(id).throughput
    }

    /// Ends the interval and chooses the rates to use (`minstrel_ht_update_stats`).
    fn update(&mut self, now: Instant, shared: Shared<'_>) {
        let ampdu_before = self.mean_ampdu();
        if self.ampdus > 0 {
            let mean = (u64::from(self.ampdu_mpdus) << SCALE) / u64::from(self.ampdus);
            self.mean_ampdu = ewma(self.mean_ampdu, u32::try_from(mean).unwrap_or(u32::MAX));
            self.ampdus = 0;
            self.ampdu_mpdus = 0;
        }
        let table = Arc::clone(&self.table);
        let ampdu = self.mean_ampdu();
        let throughput =
            |id: RateId, stats: &RateStats| shared.overheads.throughput(&table, id, stats.probability, ampdu);
        if ampdu != ampdu_before {
            for &(_, id) in table.rates() {
                if let Some(stats) = stats_mut(&mut self.stats, id) {
                    stats.throughput = throughput(id, stats);
                }
            }
        }

        let mut best = [table.start; BEST];
        let first_legacy = table.groups.iter().find(|group| group.legacy).map(|group| group.first);
        let mut best_legacy = [first_legacy.unwrap_or(table.start); BEST];
        let only_legacy = table.is_legacy(table.start);
        for (number, group) in table.groups.iter().enumerate() {
            let mut group_best = [group.first; BEST];
            // A station that receives a faster rate receives a slower one too: unknown rates assume the best success
            // above them.
            let mut above = 0;
            for (slot, _) in group.durations().rev() {
                let id = RateId::new(number, slot);
                let Some(stats) = stats_mut(&mut self.stats, id) else { continue };
                stats.end_interval(shared.config.average);
                if stats.all_attempts > 0 {
                    above = above.max(stats.probability);
                } else {
                    stats.assume(above);
                }
                stats.throughput = throughput(id, stats);
                if stats.throughput == 0 {
                    continue;
                }
                let list = if group.legacy && !only_legacy { &mut best_legacy } else { &mut best };
                self.insert(list, id);
                self.insert(&mut group_best, id);
            }
            if let Some(known) = self.group_best.get_mut(number) {
                known.by_throughput = group_best;
            }
        }
        // Rates without aggregation are included only if one of them is the best of all.
        if self.throughput(best_legacy[0]) > self.throughput(best[0]) {
            for id in best_legacy {
                self.insert(&mut best, id);
            }
        }
        self.by_throughput = best;
        self.choose_reliable(&table);
        self.prefer_fewer_streams(&table);

        let in_use = InUse { best: best[0], second: best[1], reliable: self.reliable };
        let stats = &self.stats;
        self.sampler.refill(&table, shared.order, in_use, |id| {
            stats.get(id.group()).and_then(|group| group.get(id.slot())).map_or(0, |stats| stats.probability)
        });
        self.last_update = now;
        self.next_sample = now;
    }

    /// Inserts a rate into a list sorted by descending throughput, then success; the last one is dropped
    /// (`minstrel_ht_sort_best_tp_rates`).
    fn insert(&self, list: &mut [RateId; BEST], id: RateId) {
        let key = |id: RateId| {
            let stats = self.stats(id);
            (stats.throughput, stats.probability)
        };
        let own = key(id);
        let better = list.iter().rev().take_while(|held| key(**held) < own).count();
        if let Some(tail) = list.get_mut(BEST - better..) {
            tail.rotate_right(usize::from(!tail.is_empty()));
            if let Some(first) = tail.first_mut() {
                *first = id;
            }
        }
    }

    /// Finds the rate for the end of the chain, and that of each group (`minstrel_ht_set_best_prob_rate`): among rates
    /// that succeed in more than 75 % the one with the most throughput, else the one with the most success.
    fn choose_reliable(&mut self, table: &RateTable) {
        let best = self.by_throughput[0];
        let best_probability = self.stats(best).probability;
        let mut reliable = table.start;
        for (number, group) in table.groups.iter().enumerate() {
            let mut of_group = group.first;
            for (slot, duration) in group.durations() {
                if group.legacy && !table.is_legacy(best) {
                    break;
                }
                let id = RateId::new(number, slot);
                let probability = self.stats(id).probability;
                if duration < table.duration(best) && probability < best_probability {
                    continue;
                }
                for held in [&mut reliable, &mut of_group] {
                    let better = if u32::from(probability) > RELIABLE {
                        self.throughput(id) > self.throughput(*held)
                    } else {
                        probability > self.stats(*held).probability
                    };
                    if better {
                        *held = id;
                    }
                }
            }
            if let Some(known) = self.group_best.get_mut(number) {
                known.reliable = of_group;
            }
        }
        self.reliable = reliable;
    }

    /// Prefers a reliable rate with fewer streams than the best one, if there is one with any throughput
    /// (`minstrel_ht_prob_rate_reduce_streams`).
    fn prefer_fewer_streams(&mut self, table: &RateTable) {
        if table.is_legacy(table.start) {
            return;
        }
        let streams = table.streams(self.by_throughput[0]);
        let mut most = 0;
        for (group, best) in table.groups.iter().zip(&self.group_best) {
            let throughput = self.throughput(best.reliable);
            if !group.legacy && group.streams < streams && throughput > most {
                self.reliable = best.reliable;
                most = throughput;
            }
        }
    }

    /// The chain of the rates in use (`minstrel_ht_update_rates`): the best; with three steps or more the second best;
    /// then the most reliable.
    fn build_chain(&mut self, shared: Shared<'_>) {
        let config = shared.config;
        let context = TryContext {
            table: &self.table,
            ampdu: self.mean_ampdu(),
            segment: config.segment,
            max_tries: config.max_tries,
        };
        let tries = |id: RateId, first: bool| {
            let probability = self.stats(id).probability;
            if u32::from(probability) < DOUBTFUL {
                return config.max_tries.min(2);
            }
            let tries = shared.overheads.tries(&context, id, probability);
            if first { tries.plain } else { tries.protected }
        };
        let best = self.by_throughput[0];
        let expected_throughput = self.throughput(best);
        let mut chain = RateChain::single(self.table.rate(best), tries(best, true));
        if config.chain_steps >= 3 {
            chain.push(self.table.rate(self.by_throughput[1]), tries(self.by_throughput[1], false));
        }
        if config.chain_steps >= 2 {
            chain.push(self.table.rate(self.reliable), tries(self.reliable, false));
        }
        self.chain = chain;
        self.expected_throughput = expected_throughput;
    }
}

fn stats_mut(stats: &mut [[RateStats; SLOTS]], id: RateId) -> Option<&mut RateStats> {
    stats.get_mut(id.group())?.get_mut(id.slot())
}

#[cfg(test)]
mod tests {
    use airbound_units::Span;
    use airbound_wifi::rate::{GuardInterval, Width};

    use super::*;
    use crate::rate::Capabilities;

    struct Bench {
        station: Station,
        config: MinstrelHtConfig,
        overheads: Overheads,
        order: SampleTable,
    }

    impl Bench {
        fn new() -> Self {
            let table = RateTable::new(&Capabilities::default().rate_set().expect("valid"));
            let (config, overheads, order) =
                (MinstrelHtConfig::default(), Overheads::new(), SampleTable::new(1));
            let shared = Shared { config: &config, overheads: &overheads, order: &order };
            let station = Station::new(Arc::new(table), Instant::ZERO, shared);
            Self { station, config, overheads, order }
        }

        fn report(&mut self, millis: u64, rate: Rate, mpdus: u16, acknowledged: u16) {
            let shared = Shared { config: &self.config, overheads: &self.overheads, order: &self.order };
            let report = RateReport { used: RateChain::single(rate, 1), mpdus, acknowledged };
            self.station.on_report(Instant::ZERO + Span::from_millis(millis), &report, shared);
        }

        fn chain(&self) -> Vec<String> {
            self.station.chain.steps().iter().map(|step| step.rate.to_string()).collect()
        }
    }

    fn vht(mcs: u8, streams: u8, width: Width) -> Rate {
        Rate::vht(mcs, streams, width, GuardInterval::Ns400).expect("exists")
    }

    #[test]
    fn nothing_is_concluded_before_the_interval_has_passed() {
        let mut bench = Bench::new();
        let slowest = bench.station.best_rate();
        bench.report(50, vht(9, 2, Width::Mhz80), 32, 32);
        assert_eq!(bench.station.best_rate(), slowest);
        bench.report(51, vht(9, 2, Width::Mhz80), 32, 32);
        assert_eq!(bench.station.best_rate(), vht(9, 2, Width::Mhz80));
    }

    #[test]
    fn a_best_rate_that_dies_is_replaced_within_the_interval() {
        let mut bench = Bench::new();
        bench.report(10, vht(9, 1, Width::Mhz80), 32, 32);
        bench.report(51, vht(9, 2, Width::Mhz80), 32, 32);
        assert_eq!(bench.chain()[0], "VHT80 MCS9 2SS SGI");
        // 30 MPDUs are too few, and a quarter that arrives is enough.
        bench.report(60, vht(9, 2, Width::Mhz80), 30, 0);
        assert_eq!(bench.chain()[0], "VHT80 MCS9 2SS SGI");
        bench.report(61, vht(9, 2, Width::Mhz80), 1, 0);
        assert_eq!(bench.chain()[0], "VHT80 MCS9 1SS SGI", "the best of the next lower group");

        let mut bench = Bench::new();
        bench.report(51, vht(9, 2, Width::Mhz80), 32, 32);
        bench.report(60, vht(9, 2, Width::Mhz80), 32, 8);
        assert_eq!(bench.chain()[0], "VHT80 MCS9 2SS SGI");
    }

    #[test]
    fn the_end_of_the_chain_is_the_fastest_with_fewer_streams() {
        let mut bench = Bench::new();
        bench.report(10, vht(9, 1, Width::Mhz40), 16, 16);
        bench.report(20, vht(1, 1, Width::Mhz80), 16, 16);
        bench.report(51, vht(9, 2, Width::Mhz80), 16, 16);
        assert_eq!(bench.chain(), ["VHT80 MCS9 2SS SGI", "VHT80 MCS8 2SS SGI", "VHT40 MCS9 1SS SGI"]);
    }

    #[test]
    fn slower_rates_of_the_group_are_assumed_to_work_as_well() {
        let mut bench = Bench::new();
        bench.report(51, vht(7, 2, Width::Mhz80), 32, 16);
        let success = |rate| {
            let mut known = bench.station.known();
            known.find(|(_, known, _)| *known == rate).map(|(_, _, stats)| stats.probability)
        };
        assert_eq!(success(vht(0, 2, Width::Mhz80)), Some(2_048));
        assert_eq!(success(vht(7, 2, Width::Mhz80)), Some(2_048));
        assert_eq!(success(vht(8, 2, Width::Mhz80)), Some(0));
        assert_eq!(success(vht(0, 1, Width::Mhz80)), Some(0));
    }

    #[test]
    fn the_mean_aggregate_moves_by_a_quarter() {
        let mut bench = Bench::new();
        assert_eq!(bench.station.mean_ampdu(), 1);
        bench.report(10, vht(0, 1, Width::Mhz20), 20, 20);
        bench.report(51, vht(0, 1, Width::Mhz20), 46, 46);
        // Aggregates of 33 on average: 1 + 32 / 4.
        assert_eq!(bench.station.mean_ampdu(), 9);
    }
}
