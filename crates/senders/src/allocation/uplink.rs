//! The client's side of its uplink (assumption 1 of Sec. 7): it shapes its packets, and so knows its own queue.
//!
//! The paper leaves the method open. A client contends by itself, as often as the access point for all its stations together:
//! packets released one by one would leave in small frames, whose overhead reduces the downlink. Bunches of a fixed size b do not
//! work either: clients then use n x (w + T / b) of the time in any case, the access point gets the rest, and its level n x T / (1 -
//! 2 n x w - n x T / b) has a cliff just above the target, beyond which its queue grows unnoticed by the clients.
//!
//! Therefore the downlink is the clock: each of its frames releases the packets that the client has held since the last. Both
//! directions then have the same number of frames, regardless of luck in contention, and lemma 2 holds for the links of both, with c
//! = 2 n (T_acc + T_oh).

use std::collections::VecDeque;

use airbound_units::{BitRate, ByteCount, Span};

use super::config::AllocationConfig;
use super::report::Report;

/// Number of packets in targets that are released without a frame of the downlink: about the largest frame,
const LARGEST_BUNCH: f64 = 2.0;
/// or the packets of this time at the granted rate: several rounds of a full network, so that frames of the downlink
/// come first where there are any.
const LONGEST_HOLD: Span = Span::from_millis(100);

/// Shapes the uplink of a client, and adds its measurements to the client's report. `P` is a packet.
#[derive(Debug, Clone)]
pub struct UplinkShaper<P> {
    packet: ByteCount,
    /// Packets of the largest bunch.
    most: usize,
    bunch: usize,
    held: VecDeque<P>,
    /// Frames with packets of this uplink since the last report, and these packets.
    frames: u32,
    packets: u32,
    /// The shortest queue of the client.
    least: Option<ByteCount>,
}

impl<P> UplinkShaper<P> {
    /// Creates a shaper with the start rate of `config`.
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

    /// Sets the rate granted by the proxy.
    pub fn set_rate(&mut self, rate: BitRate) {
        let packets = rate.bytes_in(LONGEST_HOLD).as_u64() / self.packet.as_u64().max(1);
        self.bunch = usize::try_from(packets).unwrap_or(usize::MAX).clamp(1, self.most);
    }

    /// Number of packets that are released without waiting for the downlink.
    #[must_use]
    pub const fn bunch(&self) -> usize {
        self.bunch
    }

    /// Number of held packets.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Takes a packet of the application.
    pub fn push(&mut self, packet: P) {
        self.held.push_back(packet);
    }

    /// Notes the first packet of a downlink frame. Returns all held packets, oldest first.
    pub fn on_downlink_frame(&mut self) -> VecDeque<P> {
        self.flush()
    }

    /// Releases packets without a downlink frame, oldest first: all once they are a bunch, else none.
    pub fn release(&mut self) -> VecDeque<P> {
        if self.held.len() >= self.bunch { self.flush() } else { VecDeque::new() }
    }

    /// Releases all packets, since no more will arrive to complete the bunch.
    pub fn flush(&mut self) -> VecDeque<P> {
        std::mem::take(&mut self.held)
    }

    /// Notes a transmitted frame with `packets` packets of this uplink; `queue` remains behind it.
    pub fn on_frame(&mut self, packets: u32, queue: ByteCount) {
        self.least = Some(self.least.map_or(queue, |least| least.min(queue)));
        if packets > 0 {
            self.frames = self.frames.saturating_add(1);
            self.packets = self.packets.saturating_add(packets);
        }
    }

    /// Completes the report of a slot that ends now with `queue` in the client's queue. The reported value is the shortest queue of
    /// the slot, the standing queue as defined by CoDel (RFC 8289), since the momentary queue depends on the position of the last
    /// bunch. Incomplete bunches wait by design and are not included.
    pub fn complete(&mut self, report: &mut Report, queue: ByteCount) {
        let (frames, packets) = (std::mem::take(&mut self.frames), std::mem::take(&mut self.packets));
        report.uplink_queue = self.least.take().map_or(queue, |least| least.min(queue));
        report.uplink_level = if frames > 0 { f64::from(packets) / f64::from(frames) } else { 0.0 };
    }
}

impl Report {
    /// Returns the level of the uplink's frames as if they had no size limit: the mean level, or the standing queue if that is
    /// larger. A level is limited by the largest frame; a queue is not. `None` if nothing was sent and nothing is queued.
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
