//! Latency, losses and transmissions of the packets of one flow on the last hop, summed up while the run goes on.

use std::collections::BTreeMap;

use airbound_record::{Fate, LatencyHistogram, PacketRow, Resolution, Split, Stage};
use airbound_sim::{Event, Events, Observer};
use airbound_units::{Instant, Span};

/// Width of the steps of latency by which a digest breaks latency down, and their number; the last has no end.
pub(crate) const STEP: Span = Span::from_millis(10);
pub(crate) const STEPS: usize = 8;

/// Transmissions of a packet that was sent ten times again.
const OVER_TEN: u8 = 11;

/// Where the time went of packets whose latency lies in one step.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Breakdown {
    /// Packets.
    pub(crate) count: u64,
    /// Their time in each stage, in the order of [`Stage::ALL`].
    stages: [Span; Stage::ALL.len()],
}

/// The packets of one flow.
#[derive(Debug, Clone)]
pub(crate) struct Digest {
    /// From entering the queue of the access point to the end of the transmission that got through.
    pub(crate) latency: LatencyHistogram,
    /// Packets that were delivered or lost.
    pub(crate) packets: u64,
    /// Packets that were lost.
    pub(crate) lost: u64,
    /// Packets that came after the deadline.
    pub(crate) late: u64,
    /// Packets that were delivered after more than one transmission.
    pub(crate) retransmitted: u64,
    /// Transmissions of the packets that were delivered.
    pub(crate) transmissions: u64,
    /// Packets that were sent more than ten times again, delivered or lost (Law, Fig. 9).
    pub(crate) over_ten: u64,
    /// Their time from the first transmission until they were acknowledged or given up.
    pub(crate) over_ten_time: Span,
    /// Number of runs of consecutive lost packets, by their length in packets.
    pub(crate) loss_runs: BTreeMap<u64, u64>,
    /// Measured time.
    pub(crate) seconds: f64,
    /// By latency from end to end, in steps of [`STEP`].
    pub(crate) breakdown: [Breakdown; STEPS],
}

impl Breakdown {
    /// The share of a stage in the latency; `None` where no packet took any time.
    pub(crate) fn share(&self, stage: Stage) -> Option<f64> {
        let total: Span = self.stages.iter().copied().fold(Span::ZERO, |sum, span| sum + span);
        let part = self.stages.get(stage as usize)?;
        (!total.is_zero()).then(|| part.as_secs_f64() / total.as_secs_f64())
    }

    /// The mean time of a packet in a stage, in ms; `None` where there was no packet.
    pub(crate) fn mean_ms(&self, stage: Stage) -> Option<f64> {
        let part = self.stages.get(stage as usize)?;
        (self.count > 0).then(|| part.as_millis_f64() / self.count as f64)
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        for (sum, span) in self.stages.iter_mut().zip(other.stages) {
            *sum += span;
        }
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self {
            latency: LatencyHistogram::new(Resolution::Fine),
            packets: 0,
            lost: 0,
            late: 0,
            retransmitted: 0,
            transmissions: 0,
            over_ten: 0,
            over_ten_time: Span::ZERO,
            loss_runs: BTreeMap::new(),
            seconds: 0.0,
            breakdown: Default::default(),
        }
    }
}

impl Digest {
    /// All packets of several digests.
    pub(crate) fn merged<'a>(digests: impl Iterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for digest in digests {
            all.latency.merge(&digest.latency);
            all.packets += digest.packets;
            all.lost += digest.lost;
            all.late += digest.late;
            all.retransmitted += digest.retransmitted;
            all.transmissions += digest.transmissions;
            all.over_ten += digest.over_ten;
            all.over_ten_time += digest.over_ten_time;
            all.seconds += digest.seconds;
            for (length, count) in &digest.loss_runs {
                *all.loss_runs.entry(*length).or_default() += count;
            }
            for (sum, one) in all.breakdown.iter_mut().zip(&digest.breakdown) {
                sum.merge(one);
            }
        }
        all
    }

    /// The latency in ms that a share (0 to 1) of the delivered packets does not exceed.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        self.latency.quantile(share).map(Span::as_millis_f64)
    }

    /// The latency in ms that a share (0 to 1) of *all* packets does not exceed, lost ones counted as endless; `None` where
    /// fewer than that share arrived (appendix B of the Law paper).
    pub(crate) fn quantile_of_all(&self, share: f64) -> Option<f64> {
        let delivered = self.packets - self.lost;
        let rank = share * self.packets as f64;
        if rank > delivered as f64 { None } else { self.quantile(rank / delivered as f64) }
    }

    /// Lost packets over all.
    pub(crate) fn loss_rate(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.lost as f64 / self.packets as f64)
    }

    /// Packets after the deadline over all.
    pub(crate) fn late_rate(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.late as f64 / self.packets as f64)
    }

    /// Runs of at least `length` lost packets, a second.
    pub(crate) fn runs_per_second(&self, length: u64) -> Option<f64> {
        let runs: u64 = self.loss_runs.range(length..).map(|(_, count)| count).sum();
        (self.seconds > 0.0).then(|| runs as f64 / self.seconds)
    }

    /// Disjoint groups of `length` lost packets one after the other, a second.
    pub(crate) fn groups_per_second(&self, length: u64) -> Option<f64> {
        let groups: u64 = self.loss_runs.iter().map(|(run, count)| run / length.max(1) * count).sum();
        (self.seconds > 0.0).then(|| groups as f64 / self.seconds)
    }
}

/// Makes the digest of a flow.
#[derive(Debug, Clone)]
pub(crate) struct DigestWatch {
    flow: u32,
    from: Instant,
    deadline: Span,
    digest: Digest,
    /// Every packet with its number, and whether it was lost.
    fates: Vec<(u64, bool)>,
}

impl DigestWatch {
    /// Of the packets of `flow` that were sent at `from` or later; those that take longer than `deadline` are late.
    pub(crate) fn new(flow: u32, from: Instant, deadline: Span) -> Self {
        Self { flow, from, deadline, digest: Digest::default(), fates: Vec::new() }
    }

    /// The digest of the packets seen, for a measured time of `seconds`.
    pub(crate) fn digest(mut self, seconds: f64) -> Digest {
        self.digest.seconds = seconds;
        self.fates.sort_unstable();
        let mut run = 0;
        for lost in self.fates.iter().map(|(_, lost)| *lost).chain([false]) {
            if lost {
                run += 1;
            } else if run > 0 {
                *self.digest.loss_runs.entry(run).or_default() += 1;
                run = 0;
            }
        }
        self.digest
    }
}

impl DigestWatch {
    fn on_packet(&mut self, row: &PacketRow) {
        if row.flow != self.flow || row.sent < self.from || row.fate == Fate::Queued {
            return;
        }
        let lost = row.fate != Fate::Delivered;
        self.fates.push((row.packet, lost));
        let digest = &mut self.digest;
        digest.packets += 1;
        if row.tries > OVER_TEN {
            digest.over_ten += 1;
            digest.over_ten_time += row.completed.since(row.first_tx);
        }
        if lost {
            digest.lost += 1;
            return;
        }
        let latency = row.received.since(row.enqueued);
        digest.latency.record(latency);
        digest.late += u64::from(latency > self.deadline);
        digest.retransmitted += u64::from(row.tries > 1);
        digest.transmissions += u64::from(row.tries);
        if let Some(split) = Split::of(row) {
            let step = usize::try_from(split.latency().div_floor(STEP)).unwrap_or(usize::MAX);
            let breakdown = &mut digest.breakdown[step.min(STEPS - 1)];
            breakdown.count += 1;
            for (sum, stage) in breakdown.stages.iter_mut().zip(Stage::ALL) {
                *sum += split.stage(stage);
            }
        }
    }
}

impl Observer for DigestWatch {
    fn wants(&self) -> Events {
        Events { packets: true, ..Events::NONE }
    }
    fn on_event(&mut self, event: Event<'_>) {
        if let Event::Packet(row) = event {
            self.on_packet(row);
        }
    }
}

#[cfg(test)]
mod tests {
    use airbound_units::ByteCount;

    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    fn row(packet: u64, sent: u64, latency: Option<u64>) -> PacketRow {
        let end = latency.map_or(Instant::MAX, |latency| at(sent + latency));
        let start = latency.map_or(Instant::MAX, |latency| at(sent + latency - 1));
        PacketRow {
            packet,
            flow: 0,
            station: 0,
            category: 1,
            size: ByteCount::new(1500),
            sent: at(sent),
            enqueued: at(sent),
            contending: start,
            first_tx: start,
            last_tx: start,
            received: end,
            delivered: end,
            arrived: end,
            completed: end,
            fate: if latency.is_some() { Fate::Delivered } else { Fate::Dropped(0) },
            tries: 1,
            txop: 1,
        }
    }

    #[test]
    fn a_digest_counts_what_it_saw() {
        let mut watch = DigestWatch::new(0, at(1000), Span::from_millis(46));
        watch.on_packet(&row(1, 500, Some(10)));
        // Fates come in another order than packets.
        for (packet, latency) in [(12, Some(5)), (11, None), (14, None), (13, Some(75)), (10, None)] {
            watch.on_packet(&row(packet, 1000 + packet, latency));
        }
        let digest = watch.digest(2.0);
        assert_eq!((digest.packets, digest.lost, digest.late), (5, 3, 1));
        assert_eq!(digest.loss_runs, BTreeMap::from([(1, 1), (2, 1)]));
        assert_eq!(digest.runs_per_second(2), Some(0.5));
        assert_eq!(digest.groups_per_second(1), Some(1.5));
        assert_eq!(digest.quantile_of_all(0.5), None);
        assert!(digest.quantile_of_all(0.2).is_some_and(|ms| (4.9..5.1).contains(&ms)));
        assert_eq!(digest.breakdown[7].count, 1);
        assert!(digest.breakdown[7].share(Stage::Queueing).is_some_and(|share| share > 0.98));
    }
}
