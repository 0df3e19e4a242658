//! The client's side of its uplink (assumption 1 of Sec. 7): it shapes what it sends, and so sees its own queue.
//!
//! The paper leaves open how. A client contends by itself, as often as the access point for all its stations together: packets let
//! out one by one would leave in small frames, whose overhead the downlink pays for. Nor may they go in bunches of one size b: then
//! clients have n x (w + T / b) of the time whatever happens, the access point what is left, and its level n x T / (1 - 2 n x w -
//! n x T / b) has a cliff just above the target, behind which its queue grows while the clients do not notice.
//!
//! So the downlink is the clock: each of its frames lets go what the client has held since the last. Both directions then have as
//! many frames, whoever is unlucky in contending, and lemma 2 holds for the links of both, with c = 2 n (T_acc + T_oh).

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, Span};

use super::config::AllocationConfig;
use super::report::Report;

/// Without a frame of the downlink packets go when they are so many targets: about the largest frame,
const LARGEST_BUNCH: f64 = 2.0;
/// or as many as the rate brings in this time: several rounds of a full network, so that the clock ticks first where there is one.
const LONGEST_HOLD: Span = Span::from_millis(100);

/// Shapes the uplink of a client, and tells its report what it sees of it. `P` is a packet.
#[derive(Debug, Clone)]
pub struct UplinkShaper<P> {
    packet: ByteCount,
    /// Packets of the largest bunch.
    most: usize,
    bunch: usize,
    held: VecDeque<P>,
    /// Since the last report: frames with packets of this uplink, and these packets.
    frames: u32,
    packets: u32,
    /// The least that waited in the client's queue.
    least: Option<ByteCount>,
}

impl<P> UplinkShaper<P> {
    /// A shaper for the rate at which `config` starts.
    #[must_use]
    pub fn new(config: &AllocationConfig) -> Self {
        // A cast from a float saturates.
        let most = libm::floor(LARGEST_BUNCH * config.target).max(1.0) as usize;
        let mut shaper = Self {
            packet: config.packet,
            most,
            bunch: 1,
            held: VecDeque::new(),
            frames: 0,
            packets: 0,
            least: None,
        };
        shaper.set_rate(config.start_rate);
        shaper
    }

    /// The proxy has granted a rate.
    pub fn set_rate(&mut self, rate: BitRate) {
        let brought = rate.bytes_in(LONGEST_HOLD).as_u64() / self.packet.as_u64().max(1);
        self.bunch = usize::try_from(brought).unwrap_or(usize::MAX).clamp(1, self.most);
    }

    /// Packets that go without waiting for the downlink any longer.
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

    /// The first packet of a frame of the downlink has come: returns the packets that may go now, oldest first: all.
    pub fn on_downlink_frame(&mut self) -> VecDeque<P> {
        self.flush()
    }

    /// The packets that may go although no frame of the downlink has come, oldest first: all as soon as they are a bunch, else none.
    pub fn release(&mut self) -> VecDeque<P> {
        if self.held.len() >= self.bunch { self.flush() } else { VecDeque::new() }
    }

    /// All packets, since no more will come to fill the bunch.
    pub fn flush(&mut self) -> VecDeque<P> {
        std::mem::take(&mut self.held)
    }

    /// The client has transmitted a frame with so many packets of this uplink, and `queue` waits behind it.
    pub fn on_frame(&mut self, packets: u32, queue: ByteCount) {
        self.least = Some(self.least.map_or(queue, |least| least.min(queue)));
        if packets > 0 {
            self.frames = self.frames.saturating_add(1);
            self.packets = self.packets.saturating_add(packets);
        }
    }

    /// Completes the report of a slot that ends now, while `queue` waits in the client's queue. What is reported is the least that
    /// waited in the slot: the standing queue, as CoDel has it (RFC 8289), for a moment's queue is a matter of where the last bunch
    /// is. Bunches that are not full wait by intent and are not part of it.
    pub fn complete(&mut self, report: &mut Report, queue: ByteCount) {
        let (frames, packets) = (std::mem::take(&mut self.frames), std::mem::take(&mut self.packets));
        report.uplink_queue = self.least.take().map_or(queue, |least| least.min(queue));
        report.uplink_level = if frames > 0 { f64::from(packets) / f64::from(frames) } else { 0.0 };
    }
}

impl Report {
    /// Returns the level of the uplink's frames, were they of any size: the mean level, or the standing queue where that is more.
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
        assert_eq!(shaper.bunch(), 8, "1 Mbit/s brings 8 packets in 100 ms");
        shaper.set_rate(BitRate::ZERO);
        assert_eq!(shaper.bunch(), 1);
        shaper.set_rate(BitRate::from_mbps(50));
        assert_eq!(shaper.bunch(), 64);
        (0..63).for_each(|packet| shaper.push(packet));
        assert!(shaper.release().is_empty());
        shaper.push(63);
        assert_eq!(shaper.release(), (0..64).collect::<VecDeque<_>>());
        assert_eq!(shaper.held(), 0);
    }

    #[test]
    fn the_downlink_is_the_clock() {
        let mut shaper = UplinkShaper::<u32>::new(&AllocationConfig::default());
        shaper.set_rate(BitRate::from_mbps(50));
        assert!(shaper.on_downlink_frame().is_empty());
        (0..3).for_each(|packet| shaper.push(packet));
        assert!(shaper.release().is_empty());
        assert_eq!(shaper.on_downlink_frame(), VecDeque::from([0, 1, 2]));
        assert!(shaper.on_downlink_frame().is_empty());
    }

    #[test]
    fn a_report_says_the_level_and_the_queue() {
        let mut shaper = UplinkShaper::<()>::new(&AllocationConfig::default());
        let mut report = Report::default();
        let packet = ByteCount::new(1470);
        for (packets, waiting) in [(24, 24), (0, 30), (30, 0)] {
            shaper.on_frame(packets, packet * waiting);
        }
        shaper.complete(&mut report, packet * 48);
        assert_eq!((report.uplink_level, report.uplink(packet)), (27.0, Some(27.0)));
        shaper.on_frame(64, packet * 200);
        shaper.complete(&mut report, packet * 150);
        assert_eq!((report.uplink_level, report.uplink(packet)), (64.0, Some(150.0)), "a queue that stands");
        shaper.complete(&mut report, ByteCount::new(2940));
        assert_eq!((report.uplink_level, report.uplink(packet)), (0.0, Some(2.0)));
        shaper.complete(&mut report, ByteCount::ZERO);
        assert_eq!(report.uplink(packet), None);
    }
}
