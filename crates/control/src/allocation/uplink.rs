//! The client's side of its uplink (assumption 1 of Sec. 7): it shapes what it sends, and so sees its own queue.
//!
//! The paper leaves open how. A client contends by itself, as often as the access point for all its stations together: packets let
//! out one by one would leave in small frames, whose overhead the downlink pays for. So they are let out in bunches, about one for
//! each round of the access point. Then lemma 2 holds for the links of both directions, with c = 2 n (T_acc + T_oh).

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, Span};

use super::config::AllocationConfig;
use super::report::Report;

/// A bunch over the target. Below 1, since a bunch that still waits when the next one comes shares its frame: the level lies above
/// the bunch by the share of rounds in which that happens, and the target is where it is every third.
const BUNCH: f64 = 0.75;
/// No packet is held back for the sake of its bunch for longer than this: what a low rate brings in this time is its bunch.
const LONGEST_HOLD: Span = Span::from_millis(50);

/// Shapes the uplink of a client, and tells its report what it sees of it. `P` is a packet.
#[derive(Debug, Clone)]
pub struct UplinkShaper<P> {
    packet: ByteCount,
    /// Packets of a bunch at the target.
    most: usize,
    bunch: usize,
    held: VecDeque<P>,
    /// Since the last report: frames with packets of this uplink, and these packets.
    frames: u32,
    packets: u32,
}

impl<P> UplinkShaper<P> {
    /// A shaper for the rate at which `config` starts.
    #[must_use]
    pub fn new(config: &AllocationConfig) -> Self {
        // A cast from a float saturates.
        let most = libm::floor(BUNCH * config.target).max(1.0) as usize;
        let mut shaper =
            Self { packet: config.packet, most, bunch: 1, held: VecDeque::new(), frames: 0, packets: 0 };
        shaper.set_rate(config.start_rate);
        shaper
    }

    /// The proxy has granted a rate.
    pub fn set_rate(&mut self, rate: BitRate) {
        let brought = rate.bytes_in(LONGEST_HOLD).as_u64() / self.packet.as_u64().max(1);
        self.bunch = usize::try_from(brought).unwrap_or(usize::MAX).clamp(1, self.most);
    }

    /// Packets of a bunch.
    #[must_use]
    pub const fn bunch(&self) -> usize {
        self.bunch
    }

    /// Packets that are held back.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Takes a packet of the application.
    pub fn push(&mut self, packet: P) {
        self.held.push_back(packet);
    }

    /// The packets that may go now, oldest first: all as soon as they are a bunch, else none.
    pub fn release(&mut self) -> VecDeque<P> {
        if self.held.len() >= self.bunch { self.flush() } else { VecDeque::new() }
    }

    /// All packets, since no more will come to fill the bunch.
    pub fn flush(&mut self) -> VecDeque<P> {
        std::mem::take(&mut self.held)
    }

    /// The client has transmitted a frame with so many packets of this uplink.
    pub const fn on_frame(&mut self, packets: u32) {
        if packets > 0 {
            self.frames = self.frames.saturating_add(1);
            self.packets = self.packets.saturating_add(packets);
        }
    }

    /// Completes the report of a slot that ends now, while `queue` waits in the client's queue; bunches that are not full wait by
    /// intent and are not part of it.
    pub fn complete(&mut self, report: &mut Report, queue: ByteCount) {
        let (frames, packets) = (std::mem::take(&mut self.frames), std::mem::take(&mut self.packets));
        report.uplink_queue = queue;
        report.uplink_level = if frames > 0 { f64::from(packets) / f64::from(frames) } else { 0.0 };
    }
}

impl Report {
    /// What the uplink's next frame would hold at least, were frames of any size: the mean level, or the queue where that is more.
    /// A level cannot say more than the largest frame; a queue can. `None` if nothing was sent and nothing waits.
    #[must_use]
    pub fn uplink(&self, packet: ByteCount) -> Option<f64> {
        let queue = self.uplink_queue.as_u64() as f64 / packet.as_u64().max(1) as f64;
        Some(self.uplink_level.max(queue)).filter(|level| *level > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bunches_follow_the_rate() {
        let mut shaper = UplinkShaper::<u32>::new(&AllocationConfig::default());
        assert_eq!(shaper.bunch(), 4, "1 Mbit/s brings 4 packets in 50 ms");
        shaper.set_rate(BitRate::ZERO);
        assert_eq!(shaper.bunch(), 1);
        shaper.set_rate(BitRate::from_mbps(50));
        assert_eq!(shaper.bunch(), 24);
        (0..23).for_each(|packet| shaper.push(packet));
        assert!(shaper.release().is_empty());
        shaper.push(23);
        assert_eq!(shaper.release(), (0..24).collect::<VecDeque<_>>());
        assert_eq!(shaper.held(), 0);
    }

    #[test]
    fn a_report_says_the_level_and_the_queue() {
        let mut shaper = UplinkShaper::<()>::new(&AllocationConfig::default());
        let mut report = Report::default();
        [24, 0, 30].into_iter().for_each(|packets| shaper.on_frame(packets));
        shaper.complete(&mut report, ByteCount::new(2940));
        assert_eq!((report.uplink_level, report.uplink(ByteCount::new(1470))), (27.0, Some(27.0)));
        shaper.complete(&mut report, ByteCount::new(2940));
        assert_eq!((report.uplink_level, report.uplink(ByteCount::new(1470))), (0.0, Some(2.0)));
        shaper.complete(&mut report, ByteCount::ZERO);
        assert_eq!(report.uplink(ByteCount::new(1470)), None);
    }
}
