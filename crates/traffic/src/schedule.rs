//! Open-loop sources of a flow, by its seed and number.

use std::sync::Arc;

use airbound_random::{Purpose, Stream};
use airbound_units::{BitRate, ByteCount, Instant, Span};

use crate::{Bursts, FrameSizes, Recording, Replay, Rhythm, Source, Video};

/// Headers of IPv4 and UDP.
pub const UDP_HEADERS: ByteCount = ByteCount::new(20 + 8);
/// Payload of G.711 with 20 ms per packet (RFC 3551) and the RTP header (RFC 3550).
const VOIP_PAYLOAD: ByteCount = ByteCount::new(160 + 12);
const VOIP_INTERVAL: Span = Span::from_millis(20);
/// Payload of video datagrams.
const VIDEO_PAYLOAD: ByteCount = ByteCount::new(1472);

/// Video frames at equal intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameLaw {
    /// Frames per second.
    pub fps: f64,
    /// Mean rate of the stream.
    pub rate: BitRate,
    /// Standard deviation of the logarithm of frame sizes; 0 for frames of equal size.
    pub sigma: f64,
    /// Sending rate within a frame.
    pub burst_rate: BitRate,
    /// Whether a frame over TCP is skipped until the previous one has arrived, and not only until it is sent.
    pub await_delivery: bool,
}

/// The duration of a flow, and the numbers that decide its draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    /// Seed of the run.
    pub seed: u64,
    /// Number of the flow.
    pub flow: u64,
    /// Start of sending.
    pub start: Instant,
    /// End of sending.
    pub stop: Instant,
}

impl Schedule {
    /// Datagrams of `payload` at equal intervals; `None` if the rate is zero.
    ///
    /// The phase within the first interval is drawn, so that sources are not synchronised.
    #[must_use]
    pub fn constant(&self, rate: BitRate, payload: ByteCount) -> Option<Source> {
        if rate.is_zero() {
            return None;
        }
        let first = self.start + rate.time_for(payload).mul_f64(self.arrivals().unit());
        Some(self.source(payload, first, Source::constant(rate, payload)))
    }

    /// A telephone call: G.711 over RTP.
    #[must_use]
    pub fn voip(&self) -> Option<Source> {
        self.constant(BitRate::of(VOIP_PAYLOAD, VOIP_INTERVAL), VOIP_PAYLOAD)
    }

    /// Datagrams of `payload` at exponential intervals.
    #[must_use]
    pub fn poisson(&self, rate: BitRate, payload: ByteCount) -> Source {
        let mean = rate.time_for(payload);
        let mut draws = self.arrivals();
        let first = self.start + mean.mul_f64(draws.exponential());
        self.source(payload, first, Rhythm::Poisson { mean, draws })
    }

    /// Video frames as bursts of datagrams.
    #[must_use]
    pub fn bursts(&self, law: &FrameLaw) -> Source {
        let (first, interval, sizes) = self.frames(law);
        let bursts = Bursts::new(first, interval, sizes, law.burst_rate, VIDEO_PAYLOAD, UDP_HEADERS);
        self.source(VIDEO_PAYLOAD, first, Rhythm::Bursts(bursts))
    }

    /// Recorded packets, the first at the start.
    #[must_use]
    pub fn replay(&self, recording: &Arc<Recording>, repeat: bool) -> Source {
        let replay = Replay::new(Arc::clone(recording), self.start, repeat);
        Source::new(recording.largest(), self.start, self.stop, Rhythm::Replay(replay))
    }

    /// Video frames over one TCP connection.
    #[must_use]
    pub fn video(&self, law: &FrameLaw) -> Video {
        let (first, interval, sizes) = self.frames(law);
        let video = Video::new(first, self.stop, interval, sizes, law.burst_rate);
        Video { await_delivery: law.await_delivery, ..video }
    }

    /// The phase of the flow in its first interval, 0 to 1.
    #[must_use]
    pub fn phase(&self) -> f64 {
        self.arrivals().unit()
    }

    /// The stream of its departures.
    #[must_use]
    pub fn arrivals(&self) -> Stream {
        Stream::new(self.seed, Purpose::Arrivals, self.flow)
    }

    fn frames(&self, law: &FrameLaw) -> (Instant, Span, FrameSizes) {
        let interval = Span::from_secs_f64(1.0 / law.fps);
        let draws = Stream::new(self.seed, Purpose::FrameSizes, self.flow);
        let sizes = FrameSizes::new(law.rate.bytes_in(interval), law.sigma, draws);
        (self.start + interval.mul_f64(self.phase()), interval, sizes)
    }

    fn source(&self, payload: ByteCount, first: Instant, rhythm: Rhythm) -> Source {
        Source::new(payload + UDP_HEADERS, first, self.stop, rhythm)
    }
}
