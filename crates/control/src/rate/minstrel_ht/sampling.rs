//! Selection of the rates to sample.
//!
//! Three pools are filled at every update (Linux 5.12 and later): *increments*, in each group the first rate that is
//! faster than the best; *jumps*, any rate that is faster than all in use; *slow* rates, between the slowest and the
//! fastest in use, whose success is not above 95 %. Samples are taken from them in the order increment, jump,
//! increment, jump, increment, slow.

use super::statistics::fraction;
use super::table::{RateId, RateTable, SLOTS};
use crate::rate::splitmix64;

/// Rates in a pool (`MINSTREL_SAMPLE_RATES`).
const POOL: usize = 5;
/// Permutations in the sample table (`SAMPLE_COLUMNS`).
const COLUMNS: usize = 10;
/// Slow rates whose success is above 95 % are not sampled.
const SURE: u32 = fraction(95, 100);

/// Orders in which the rates of a group are visited: permutations from a seed, where the kernel draws random bytes
/// (`init_sample_table`).
#[derive(Debug, Clone)]
pub(super) struct SampleTable([[u8; SLOTS]; COLUMNS]);

impl SampleTable {
    pub(super) fn new(seed: u64) -> Self {
        let mut state = seed;
        let mut columns = [std::array::from_fn(|slot| slot as u8); COLUMNS];
        for column in &mut columns {
            for last in (1..SLOTS).rev() {
                let other = splitmix64(&mut state) % (last as u64 + 1);
                column.swap(last, other as usize);
            }
        }
        Self(columns)
    }
}

/// Rates waiting to be sampled.
#[derive(Debug, Clone, Copy)]
struct Pool {
    rates: [RateId; POOL],
    /// The group visited last.
    group: usize,
}

impl Pool {
    const EMPTY: Self = Self { rates: [RateId::NONE; POOL], group: 0 };

    fn holds(&self, id: RateId) -> bool {
        self.rates.iter().take_while(|held| **held != RateId::NONE).any(|held| *held == id)
    }

    fn take(&mut self) -> Option<RateId> {
        let first = self.rates.iter_mut().find(|held| **held != RateId::NONE)?;
        Some(std::mem::replace(first, RateId::NONE))
    }

    /// Keeps rates still worth a sample, moved to the front; returns the index for new ones. As in the kernel
    /// (`minstrel_ht_move_sample_rates`), the rate in the first place makes room for the next.
    fn retain(&mut self, valid: impl Fn(RateId) -> bool) -> usize {
        let mut kept = 0;
        for index in 0..POOL {
            let Some(&id) = self.rates.get(index) else { break };
            if id == RateId::NONE || (valid(id) && index == kept) {
                continue;
            }
            self.put(index, RateId::NONE);
            if valid(id) {
                self.put(kept, id);
                kept += 1;
            }
        }
        kept
    }

    fn put(&mut self, index: usize, id: RateId) {
        if let Some(place) = self.rates.get_mut(index) {
            *place = id;
        }
    }
}

/// Position of the walk through a group.
#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    column: usize,
    slot: usize,
}

/// The rates in use at a refill.
#[derive(Debug, Clone, Copy)]
pub(super) struct InUse {
    /// The best two by throughput and the most reliable one.
    pub(super) best: RateId,
    pub(super) second: RateId,
    pub(super) reliable: RateId,
}

/// The samples of one station.
#[derive(Debug, Clone)]
pub(super) struct Sampler {
    increments: Pool,
    jumps: Pool,
    slow: Pool,
    cursors: Vec<Cursor>,
    sequence: u8,
}

impl Sampler {
    pub(super) fn new(groups: usize) -> Self {
        Self {
            increments: Pool::EMPTY,
            jumps: Pool::EMPTY,
            slow: Pool::EMPTY,
            cursors: vec![Cursor::default(); groups],
            sequence: 0,
        }
    }

    /// The rate to be sampled now, if any. Hardware without a chain samples increments only, since a failed sample has
    /// no rate to fall back to.
    pub(super) fn take(&mut self, has_chain: bool) -> Option<RateId> {
        if !has_chain {
            return self.increments.take();
        }
        let turn = self.sequence;
        self.sequence = (turn + 1) % 6;
        match turn {
            1 | 3 => self.jumps.take(),
            5 => self.slow.take(),
            _ => self.increments.take(),
        }
    }

    /// Fills the pools after an update (`minstrel_ht_refill_sample_rates`); `probability` returns a rate's success.
    pub(super) fn refill(
        &mut self,
        table: &RateTable,
        order: &SampleTable,
        in_use: InUse,
        probability: impl Fn(RateId) -> u16,
    ) {
        let best = table.duration(in_use.best);
        let durations = [best, table.duration(in_use.second), table.duration(in_use.reliable)];
        let fastest = durations.into_iter().min().unwrap_or(best);
        let slowest = durations.into_iter().max().unwrap_or(best);

        let faster = |id: RateId| table.duration(id) < fastest;
        let mut next = self.increments.retain(faster);
        while next < POOL {
            let id = self.next_increment(table, best);
            self.increments.put(next, id);
            if id == RateId::NONE {
                break;
            }
            next += 1;
        }

        let mut next = self.jumps.retain(faster);
        let mut next_slow =
            self.slow.retain(|id| (fastest.saturating_add(1)..slowest).contains(&table.duration(id)));
        while next < POOL {
            let id = self.next_jump(table, order, [fastest, slowest], &mut next_slow, &probability);
            self.jumps.put(next, id);
            if id == RateId::NONE {
                break;
            }
            next += 1;
        }
    }

    /// From the next group on, the slowest rate that is faster than the best (`minstrel_ht_next_inc_rate`).
    fn next_increment(&mut self, table: &RateTable, best: u32) -> RateId {
        let groups = table.groups.len().max(1);
        let mut group = self.increments.group;
        let mut found = RateId::NONE;
        for _ in 0..groups {
            group = (group + 1) % groups;
            let Some(slot) = first_faster(table, group, best) else { continue };
            let id = RateId::new(group, slot);
            if !self.increments.holds(id) {
                found = id;
                break;
            }
        }
        self.increments.group = group;
        found
    }

    /// From the next group on, a rate faster than all in use. Rates that prove to lie between the rates in use go to
    /// the slow pool (`minstrel_ht_next_jump_rate`).
    fn next_jump(
        &mut self,
        table: &RateTable,
        order: &SampleTable,
        [fastest, slowest]: [u32; 2],
        next_slow: &mut usize,
        probability: impl Fn(RateId) -> u16,
    ) -> RateId {
        let groups = table.groups.len().max(1);
        let mut group = self.jumps.group;
        let mut found = RateId::NONE;
        for _ in 0..groups {
            group = (group + 1) % groups;
            let bound = if *next_slow >= POOL { fastest } else { slowest };
            let Some(from) = first_faster(table, group, bound) else { continue };
            let Some(id) = self.walk(table, order, group, from) else { continue };
            let duration = table.duration(id);
            if duration < fastest {
                if self.jumps.holds(id) {
                    continue;
                }
                found = id;
                break;
            }
            let worth_it = *next_slow < POOL && duration < slowest && u32::from(probability(id)) <= SURE;
            if worth_it && !self.slow.holds(id) {
                self.slow.put(*next_slow, id);
                *next_slow += 1;
            }
        }
        self.jumps.group = group;
        found
    }

    /// The next rate of the group in the order of the sample table, from slot `from` upwards.
    fn walk(&mut self, table: &RateTable, order: &SampleTable, group: usize, from: usize) -> Option<RateId> {
        let cursor = self.cursors.get_mut(group)?;
        for _ in 0..SLOTS {
            let slot = usize::from(*order.0.get(cursor.column)?.get(cursor.slot)?);
            cursor.slot += 1;
            if cursor.slot >= SLOTS {
                cursor.slot = 0;
                cursor.column = (cursor.column + 1) % COLUMNS;
            }
            if slot >= from && table.groups.get(group).is_some_and(|group| group.holds(slot)) {
                return Some(RateId::new(group, slot));
            }
        }
        None
    }
}

/// The lowest slot of a group whose rate takes less than `duration` (`minstrel_ht_group_min_rate_offset`).
fn first_faster(table: &RateTable, group: usize, duration: u32) -> Option<usize> {
    let group = table.groups.get(group)?;
    group.durations().find(|(_, candidate)| *candidate < duration).map(|(slot, _)| slot)
}

#[cfg(test)]
mod tests {
    use airbound_wifi::rate::{GuardInterval, Rate, Width};

    use super::*;
    use crate::rate::Capabilities;

    #[test]
    fn columns_are_permutations_and_follow_from_the_seed() {
        let table = SampleTable::new(7);
        for mut column in table.0 {
            column.sort_unstable();
            assert!(column.iter().enumerate().all(|(slot, held)| usize::from(*held) == slot));
        }
        assert_eq!(table.0, SampleTable::new(7).0);
        assert_ne!(table.0, SampleTable::new(8).0);
    }

    #[test]
    fn pools_move_their_rates_to_the_front() {
        let id = |slot| RateId::new(0, slot);
        let mut pool = Pool { rates: [RateId::NONE, id(1), id(2), id(3), RateId::NONE], group: 0 };
        assert_eq!(pool.retain(|held| held != id(2)), 2);
        assert_eq!(pool.rates[..3], [id(1), id(3), RateId::NONE]);
        assert!(pool.holds(id(3)));
        assert_eq!(pool.take(), Some(id(1)));
        assert!(!pool.holds(id(3)), "the kernel's search ends at the first gap");
        assert_eq!(pool.take(), Some(id(3)));
        assert_eq!(pool.take(), None);
    }

    fn sampler() -> (RateTable, Sampler, InUse) {
        let table = RateTable::new(&Capabilities::default().rate_set().expect("valid"));
        let id = |mcs, width| {
            let rate = Rate::vht(mcs, 1, width, GuardInterval::Ns800).expect("exists");
            table.id_of(rate).expect("in the table")
        };
        let in_use =
            InUse { best: id(4, Width::Mhz80), second: id(3, Width::Mhz80), reliable: id(3, Width::Mhz40) };
        let sampler = Sampler::new(table.groups.len());
        (table, sampler, in_use)
    }

    #[test]
    fn pools_hold_what_their_name_says() {
        let (table, mut sampler, in_use) = sampler();
        sampler.refill(&table, &SampleTable::new(1), in_use, |_| 0);
        let best = table.duration(in_use.best);
        let slowest = table.duration(in_use.reliable);
        let held =
            |pool: &Pool| pool.rates.iter().filter(|id| **id != RateId::NONE).copied().collect::<Vec<_>>();
        let increments = held(&sampler.increments);
        assert_eq!(increments.len(), POOL);
        for id in increments {
            assert!(table.duration(id) < best);
            let slower = id.slot().checked_sub(1).map(|slot| RateId::new(id.group(), slot));
            assert!(slower.is_none_or(|slower| table.duration(slower) >= best), "not the first of its group");
        }
        let jumps = held(&sampler.jumps);
        assert_eq!(jumps.len(), POOL);
        assert!(jumps.iter().all(|id| table.duration(*id) < best));
        assert!(held(&sampler.slow).iter().all(|id| (best..slowest).contains(&table.duration(*id))));
    }

    #[test]
    fn slow_rates_are_sampled_unless_they_are_known_to_work() {
        let slow = |success| {
            let (table, mut sampler, in_use) = sampler();
            for _ in 0..10 {
                sampler.jumps = Pool::EMPTY;
                sampler.refill(&table, &SampleTable::new(1), in_use, |_| success);
            }
            let held = sampler.slow.rates.iter().filter(|id| **id != RateId::NONE).copied();
            let bounds = table.duration(in_use.best)..table.duration(in_use.reliable);
            held.inspect(|id| assert!(bounds.contains(&table.duration(*id)))).count()
        };
        assert_eq!(slow(0), POOL);
        assert_eq!(slow(3_891), POOL, "95 % is not above 95 %");
        assert_eq!(slow(3_892), 0);
    }

    #[test]
    fn samples_alternate_between_the_pools() {
        let (table, mut sampler, in_use) = sampler();
        sampler.refill(&table, &SampleTable::new(1), in_use, |_| 0);
        let expected = [
            sampler.increments.rates[0],
            sampler.jumps.rates[0],
            sampler.increments.rates[1],
            sampler.jumps.rates[1],
            sampler.increments.rates[2],
        ];
        assert_eq!(expected.map(Some), std::array::from_fn(|_| sampler.take(true)));
        let slow = sampler.slow.rates[0];
        assert_eq!(sampler.take(true), Some(slow).filter(|id| *id != RateId::NONE));
    }

    #[test]
    fn at_the_fastest_rate_nothing_is_left_to_sample() {
        let (table, mut sampler, _) = sampler();
        let fastest = Capabilities::default().rate_set().expect("valid").highest();
        let id = table.id_of(fastest).expect("in the table");
        sampler.refill(&table, &SampleTable::new(1), InUse { best: id, second: id, reliable: id }, |_| 4_096);
        assert!((0..6).all(|_| sampler.take(true).is_none()));
    }
}
