//! WQM's size for each station: the buffer that it would have if the other stations were other transmitters.
//!
//! WQM bounds one queue for all. Under airtime fairness each station's queue drains in its own share of the air, so each has a size of its
//! own: F is the share of the channel that is free or used for the station, and the floor is one aggregate for it.

use airbound_units::{BitRate, ByteCount, Instant, Span};
use airbound_wifi::edca::Category;

use super::super::wqm::{BufferSize, Clock, Observation, WqmConfig};
use crate::error::ConfigError;
use crate::frame::StationId;

/// A station, and the sizes of its categories.
#[derive(Debug, Clone)]
struct Station {
    sizes: [BufferSize; 4],
    rate: Option<(BitRate, u16)>,
    /// Airtime used since the last measurement.
    used: Span,
}

/// The sizes of all stations.
#[derive(Debug, Clone)]
pub(super) struct Sizes {
    first: BufferSize,
    stations: Vec<Station>,
    clock: Clock,
    measured: Instant,
}

impl Sizes {
    /// # Errors
    /// [`ConfigError::OutOfRange`] if a value of `config` is out of range.
    pub(super) fn new(config: WqmConfig) -> Result<Self, ConfigError> {
        Ok(Self {
            first: BufferSize::new(config)?,
            stations: Vec::new(),
            clock: Clock::new(config.interval, config.look_around),
            measured: Instant::ZERO,
        })
    }

    fn station(&mut self, station: StationId) -> &mut Station {
        let index = station.index();
        if index >= self.stations.len() {
            let new =
                Station { sizes: std::array::from_fn(|_| self.first.clone()), rate: None, used: Span::ZERO };
            self.stations.resize(index + 1, new);
        }
        &mut self.stations[index]
    }

    /// Upper limit on the packets of a station that wait in a category, one that arrives at `now` included.
    pub(super) fn of(&mut self, now: Instant, station: StationId, category: Category) -> usize {
        self.clock.begin(now);
        let station = self.station(station);
        let size = &mut station.sizes[category.index()];
        if let Some((rate, mpdus)) = station.rate {
            size.begin(rate, Some(mpdus));
        }
        size.packets()
    }

    pub(super) fn on_rate(&mut self, station: StationId, rate: BitRate, mpdus: u16) {
        self.station(station).rate = Some((rate, mpdus));
    }

    pub(super) fn on_airtime(&mut self, station: StationId, airtime: Span) {
        self.station(station).used += airtime;
    }

    /// The end of the present interval.
    pub(super) const fn due(&self) -> Option<Instant> {
        self.clock.due()
    }

    /// Ends the intervals up to `now`; `busy` and `own` are shares of the channel, `waiting` the bytes of a station in a category.
    pub(super) fn on_channel(
        &mut self,
        now: Instant,
        busy: Option<f64>,
        own: Option<f64>,
        waiting: impl Fn(StationId, Category) -> ByteCount,
    ) {
        let elapsed = now.since(self.measured);
        self.measured = now;
        let others = busy.map(|busy| (busy - own.unwrap_or(0.0)).clamp(0.0, 1.0));
        let share = |used: Span| (used.as_nanos() as f64 / elapsed.as_nanos().max(1) as f64).min(1.0);
        let all: f64 = self.stations.iter().map(|station| share(station.used)).sum();
        let is_due = self.clock.due().is_some_and(|due| now >= due);
        let mut bloated = false;
        for (number, station) in (0..).zip(&mut self.stations) {
            let own = share(std::mem::replace(&mut station.used, Span::ZERO));
            if !is_due {
                continue;
            }
            let free = others.map(|others| (1.0 - others - (all - own)).clamp(0.0, 1.0));
            let (rate, subframes) = station.rate.unzip();
            for (category, size) in Category::ALL.into_iter().zip(&mut station.sizes) {
                let backlog = waiting(StationId(number), category);
                bloated |= size.on_interval(&Observation { backlog, rate, free, subframes }).bloated;
            }
        }
        if is_due {
            self.clock.pass(now, bloated);
        }
    }
}
