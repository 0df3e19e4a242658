//! Allocator state of one direction of one station.

use airbound_units::{BitRate, ByteCount, Instant};

use super::bottleneck::{Bottleneck, BottleneckDetector};
use super::hold::Hold;
use super::overload::Overload;

/// Level from which on frames find a queue.
const QUEUED: f64 = 2.5;
/// Share of the allocated rate from which on it counts as sent.
const SENT: f64 = 0.9;
/// Weight of a new slot in the mean of slots.
const SLOT_WEIGHT: f64 = 0.25;

/// A station that reports to an allocator, numbered by the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReceiverId(pub u16);

/// Direction of a station's packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// From the access point to the station.
    Down,
    /// From the station to the access point.
    Up,
}

/// The state of a station's downlink or uplink, with the rate decided for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allocation {
    /// The station.
    pub receiver: ReceiverId,
    /// Direction of its packets.
    pub direction: Direction,
    /// The rate of its payload.
    pub rate: BitRate,
    /// The mean level of its last report, for an uplink the queue if that is larger; `None` before the first.
    pub level: Option<f64>,
    /// The level that it is held at, unless something else limits it.
    pub target: f64,
    /// Its PHY rate; `None` before the first report that contains it.
    pub phy_rate: Option<BitRate>,
    /// The part of the path that limits it.
    pub bottleneck: Bottleneck,
}

#[derive(Debug, Clone)]
pub(super) struct Stream {
    pub(super) id: (ReceiverId, Direction),
    /// Payload rate in bit/s.
    pub(super) rate: f64,
    /// The previous rate.
    pub(super) before: f64,
    /// PHY rate in bit/s, less the share of retransmissions.
    pub(super) phy: Option<f64>,
    pub(super) seen_phy: Option<BitRate>,
    /// The last rate of the model; `None` if rates come from feedback alone.
    pub(super) planned: Option<Planned>,
    pub(super) level: Option<f64>,
    /// Since the last update; of an uplink, reports and the sum of their levels.
    pub(super) frames: f64,
    pub(super) transmissions: f64,
    /// Payload in bit, and the time in s, in which it arrived.
    pub(super) payload: f64,
    pub(super) time: f64,
    pub(super) number: Option<u32>,
    /// Whether a report has come since the last decision.
    pub(super) reported: bool,
    /// Time of the last report, or of joining.
    pub(super) heard: Instant,
    pub(super) changed: Instant,
    pub(super) detector: BottleneckDetector,
    /// The limit of a station that receives less than its share, with its bottleneck.
    pub(super) held: Option<Hold>,
    /// Mean payload rate that arrived, in bit/s.
    pub(super) arrived: SlotMean,
    /// Mean payload rate that was sent, in bit/s.
    pub(super) offered: SlotMean,
    /// The limit of a live stream whose queue grows.
    pub(super) overload: Overload,
    pub(super) sent: Option<Sent>,
    /// Share of time taken by the overhead of frames, with the assumed overhead of one; `None` before the first report.
    pub(super) overhead_share: Option<f64>,
}

/// Mean of a value over the last slots.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SlotMean(Option<f64>);

impl SlotMean {
    /// The mean after a further slot.
    pub(super) fn after(&mut self, value: f64) -> f64 {
        let before = self.0.unwrap_or(value);
        *self.0.insert(before + SLOT_WEIGHT * (value - before))
    }
}

/// A rate of the model, both in bit/s.
#[derive(Debug, Clone, Copy)]
pub(super) struct Planned {
    /// The PHY rate for which it is.
    pub(super) phy: f64,
    pub(super) rate: f64,
}

/// Payload handed to the network for a station, by its sender's count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    /// Since the last report.
    pub(super) bytes: u64,
    pub(super) since: Instant,
    /// Between the last two reports, in bit/s; `None` before the first.
    pub(super) rate: Option<f64>,
}

impl Stream {
    pub(super) fn new(id: (ReceiverId, Direction), rate: BitRate, now: Instant) -> Self {
        let rate = rate.as_bps() as f64;
        Self {
            id,
            rate,
            before: rate,
            phy: None,
            seen_phy: None,
            planned: None,
            level: None,
            frames: 0.0,
            transmissions: 0.0,
            payload: 0.0,
            time: 0.0,
            number: None,
            reported: false,
            heard: now,
            changed: now,
            detector: BottleneckDetector::new(),
            held: None,
            arrived: SlotMean::default(),
            offered: SlotMean::default(),
            overload: Overload::default(),
            sent: None,
            overhead_share: None,
        }
    }

    /// 1 - wᵀx by lemma 1, from the number of frames. Below [`QUEUED`] most frames find no queue, and the lemma does not hold.
    pub(super) fn measured_free(&self) -> f64 {
        let queued = self.level.is_some_and(|level| level >= QUEUED);
        self.overhead_share.filter(|_| queued).unwrap_or(1.0)
    }

    /// Notes payload handed to the network.
    pub(super) fn on_sent(&mut self, payload: ByteCount) {
        let since = self.heard;
        let sent = self.sent.get_or_insert(Sent { bytes: 0, since, rate: None });
        sent.bytes = sent.bytes.saturating_add(payload.as_u64());
    }

    /// Takes what was sent since the last report, at a report.
    pub(super) fn measure_sent(&mut self, now: Instant) {
        if let Some(sent) = &mut self.sent
            && now > sent.since
        {
            let rate = sent.bytes as f64 * 8.0 / (now - sent.since).as_secs_f64();
            *sent = Sent { bytes: 0, since: now, rate: Some(rate) };
        }
    }

    /// The rate in bit/s that was sent between the last two reports; `None` if it is not known.
    pub(super) fn sent_rate(&self) -> Option<f64> {
        self.sent.and_then(|sent| sent.rate)
    }

    /// Moves all times when the caller's clock was set from `from` back to `to`.
    pub(super) fn set_back(&mut self, from: Instant, to: Instant) {
        for time in [&mut self.heard, &mut self.changed]
            .into_iter()
            .chain(self.sent.as_mut().map(|sent| &mut sent.since))
        {
            *time = moved(*time, from, to);
        }
    }

    /// Returns the limit in bit/s; `None` if it is not held.
    pub(super) fn limit(&self) -> Option<f64> {
        let held = self.held.and_then(|held| held.limit());
        [held, self.overload.limit()].into_iter().flatten().reduce(f64::min)
    }

    /// Rate in bit/s that was sent at least in the last slot, which may have begun under the previous rate.
    pub(super) fn least_sent(&self) -> f64 {
        self.rate.min(self.before).min(self.sent_rate().unwrap_or(f64::INFINITY))
    }

    /// Whether the allocated rate was sent in the last slot, as far as is known.
    pub(super) fn is_sent(&self) -> bool {
        self.sent_rate().is_none_or(|sent| sent >= SENT * self.rate.min(self.before))
    }

    pub(super) fn fresh_level(&self) -> Option<f64> {
        fresh_level(std::iter::once(self))
    }
}

/// A time after a clock was set from `from` back to `to`.
pub(crate) fn moved(time: Instant, from: Instant, to: Instant) -> Instant {
    if time >= from { to + (time - from) } else { to - (from - time) }
}

/// The mean level of `streams` since the last update: of the downlinks or of the uplinks, whichever is higher.
pub(super) fn fresh_level<'a>(streams: impl Iterator<Item = &'a Stream>) -> Option<f64> {
    let mut sums = [(0.0, 0.0); 2];
    for stream in streams {
        let (frames, transmissions) = &mut sums[stream.id.1 as usize];
        *frames += stream.frames;
        *transmissions += stream.transmissions;
    }
    let levels = sums.into_iter().filter(|(frames, _)| *frames > 0.0);
    levels.map(|(frames, transmissions)| transmissions / frames).reduce(f64::max)
}

/// The mean rate in bit/s at which payload arrived at one of `streams` since the last update.
pub(super) fn fresh_arrivals<'a>(streams: impl Iterator<Item = &'a Stream>) -> Option<f64> {
    let (payload, time) =
        streams.fold((0.0, 0.0), |(payload, time), stream| (payload + stream.payload, time + stream.time));
    (time > 0.0).then(|| payload / time)
}

/// The last level of the downlink with the highest rate.
pub(super) fn level_of_largest(streams: &[Stream]) -> Option<f64> {
    let downlinks = streams.iter().filter(|stream| stream.id.1 == Direction::Down);
    downlinks.max_by(|a, b| a.rate.total_cmp(&b.rate)).and_then(|stream| stream.level)
}
