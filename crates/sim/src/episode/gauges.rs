//! Measurements of a step, one row for each flow.

use std::cell::RefCell;
use std::rc::Rc;

use airbound_record::{FrameFate, FrameRow, SeriesRow};

use crate::measure::{Event, Events, Observer};

/// The columns of a row: each has its unit at the end of its name. A latency, and a PHY rate, is 0 in a step without any.
pub const GAUGES: [&str; 10] = [
    "offered_mbps",
    "goodput_mbps",
    "latency_p50_ms",
    "latency_max_ms",
    "dropped_packets",
    "queue_packets",
    "frames_in_time",
    "frames_missed",
    "phy_rate_mbps",
    "airtime_share",
];

/// The place of frames in time in a row; those missed follow.
const FRAMES: usize = 6;

/// Greatest value of a measurement, in its unit.
pub const GREATEST: f64 = 1e6;

/// The rows of a step, shared by the episode and the observer of its run.
#[derive(Debug, Clone)]
pub(super) struct Gauges(Rc<RefCell<Vec<[f64; GAUGES.len()]>>>);

impl Gauges {
    pub(super) fn new(flows: usize) -> Self {
        Self(Rc::new(RefCell::new(vec![[0.0; GAUGES.len()]; flows])))
    }

    pub(super) fn clear(&self) {
        self.0.borrow_mut().fill([0.0; GAUGES.len()]);
    }

    /// Appends all rows.
    pub(super) fn read(&self, into: &mut Vec<f32>) {
        into.extend(self.0.borrow().iter().flatten().map(|value| value.clamp(0.0, GREATEST) as f32));
    }

    fn on_series(&self, row: &SeriesRow) {
        let mut rows = self.0.borrow_mut();
        let Some(own) = rows.get_mut(row.flow as usize) else { return };
        let [.., in_time, missed, _, _] = *own;
        *own = [
            row.offered_mbps,
            row.goodput_mbps,
            row.latency_p50_ms.unwrap_or(0.0),
            row.latency_max_ms.unwrap_or(0.0),
            row.dropped as f64,
            row.queue_packets as f64,
            in_time,
            missed,
            row.phy_rate_mbps.unwrap_or(0.0),
            row.airtime_share,
        ];
    }

    fn on_frame(&self, row: &FrameRow) {
        let mut rows = self.0.borrow_mut();
        let Some(own) = rows.get_mut(row.flow as usize) else { return };
        match row.fate {
            FrameFate::Delivered => own[FRAMES] += 1.0,
            FrameFate::Late | FrameFate::Lost | FrameFate::Skipped => own[FRAMES + 1] += 1.0,
            FrameFate::Unfinished => {}
        }
    }
}

impl Observer for Gauges {
    fn wants(&self) -> Events {
        Events { frames: true, series: true, ..Events::NONE }
    }

    fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::Series(row) => self.on_series(row),
            Event::Frame(row) => self.on_frame(row),
            _ => {}
        }
    }
}
