//! WQM for a buffer of the kernel: computes its size and holds no packet.

use airbound_control::queue::WqmConfig;
use airbound_control::queue::wqm::{BufferSize, Observation};
use airbound_units::{BitRate, ByteCount, ConfigError, Instant, Span};

use super::output::Decision;

/// The kernel's backlog of one station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Its bytes.
    pub backlog: ByteCount,
    /// The PHY rate of data to it.
    pub rate: Option<BitRate>,
}

/// Computes the buffer size from readings of the kernel's backlog, once in a measurement interval.
#[derive(Debug, Clone)]
pub struct Tuner {
    size: BufferSize,
    interval: Span,
    next: Instant,
    free: Option<f64>,
}

impl Tuner {
    /// A tuner without readings: the buffer has its largest size.
    ///
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub fn new(config: WqmConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            size: BufferSize::new(config)?,
            interval: config.interval,
            next: Instant::ZERO,
            free: None,
        })
    }

    /// The buffer size in packets.
    #[must_use]
    pub const fn packets(&self) -> usize {
        self.size.packets()
    }

    /// The time of the next reading.
    #[must_use]
    pub const fn next_deadline(&self) -> Instant {
        self.next
    }

    /// Processes the reading of an interval. `free` is the share of the channel that other transmitters leave, 0 to 1, if known. Returns
    /// the change of the size.
    pub fn on_reading(&mut self, now: Instant, waiting: &[Waiting], free: Option<f64>) -> Option<Decision> {
        self.next = now + self.interval;
        self.free = free.filter(|free| !free.is_nan()).map(|free| free.clamp(0.0, 1.0)).or(self.free);
        let before = self.size.packets();
        let backlog: ByteCount = waiting.iter().fold(ByteCount::ZERO, |sum, one| sum + one.backlog);
        let known =
            waiting.iter().filter_map(|one| Some((one.backlog, one.rate.filter(|rate| !rate.is_zero())?)));
        let (bytes, time) = known.fold((ByteCount::ZERO, Span::ZERO), |(bytes, time), (backlog, rate)| {
            (bytes + backlog, time + rate.time_for(backlog))
        });
        // The harmonic mean weighted by backlog, as in the queue; without backlog the lowest rate.
        let rate = if bytes > ByteCount::ZERO {
            Some(BitRate::of(bytes, time))
        } else {
            waiting.iter().filter_map(|one| one.rate).min()
        };
        if let Some(rate) = rate {
            self.size.begin(rate, None);
        }
        self.size.on_interval(&Observation { backlog, rate, free: self.free, subframes: None });
        let packets = self.size.packets();
        (packets != before).then_some(Decision::Buffer { category: None, packets, before, rate })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Span::from_millis(millis)
    }

    #[test]
    fn a_standing_backlog_shrinks_the_buffer_to_its_floor() {
        let mut tuner = Tuner::new(WqmConfig { subframes: 32, ..WqmConfig::default() }).expect("valid");
        let reading = [Waiting { backlog: ByteCount::new(150_000), rate: Some(BitRate::from_mbps(65)) }];
        let mut decisions = 0;
        for step in 0..10 {
            assert!(tuner.next_deadline() <= at(step * 100));
            decisions += usize::from(tuner.on_reading(at(step * 100), &reading, None).is_some());
        }
        assert_eq!(tuner.packets(), 32);
        assert!(decisions > 0);
        // Without backlog the size grows by one packet each time, from the second reading on.
        tuner.on_reading(at(2000), &[], Some(f64::NAN));
        tuner.on_reading(at(2100), &[], Some(7.0));
        assert_eq!(tuner.packets(), 33);
    }
}
