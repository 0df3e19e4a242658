//! `airbound.RateScheme` as a rate decider.

use std::sync::Arc;

use airbound_control::frame::Attempt;
use airbound_control::frame::StationId;
use airbound_control::rate::custom::{Mistake, RateDecider};
use airbound_control::rate::{LinkStats, RateReport};
use airbound_units::{BitRate, Decibel, Instant};
use airbound_wifi::rate::Rate;
use pyo3::intern;
use pyo3::prelude::*;

use super::{Class, Part, Site};
use crate::rate::{self, steps};
use crate::whole::{Whole, perhaps};

#[derive(Debug)]
pub(super) struct PyRate {
    part: Part,
    on_report: bool,
    on_link_stats: bool,
    next_deadline: bool,
}

impl PyRate {
    pub(super) fn new(class: &Arc<Class>, site: Site) -> Self {
        let part = Part::new(class, site);
        let has = |method| part.overrides("RateScheme", method);
        let (on_report, on_link_stats, next_deadline) =
            (has("on_report"), has("on_link_stats"), has("next_deadline"));
        Self { part, on_report, on_link_stats, next_deadline }
    }
}

impl RateDecider for PyRate {
    fn add_station(&mut self, station: StationId, rates: &[Rate]) {
        self.part.call(None, (), |object| {
            let rates: Vec<rate::Rate> = rates.iter().copied().map(rate::Rate).collect();
            let name = intern!(object.py(), "add_station");
            object.call_method1(name, (station.0, rates)).map(|_| ())
        });
    }

    fn chain(&mut self, now: Instant, station: StationId, mpdus: u16) -> Vec<Attempt> {
        self.part.call(Some(now), Vec::new(), |object| {
            let name = intern!(object.py(), "series");
            let chain = object.call_method1(name, (now.as_nanos(), station.0, mpdus))?;
            let chain: Vec<(rate::Rate, Whole<u8>)> = chain.extract()?;
            Ok(chain.into_iter().map(|(rate, tries)| Attempt { rate: rate.0, tries: tries.0 }).collect())
        })
    }

    fn on_report(&mut self, now: Instant, station: StationId, report: &RateReport) {
        if self.on_report {
            self.part.call(Some(now), (), |object| {
                let used = steps(&report.used);
                let name = intern!(object.py(), "on_report");
                let told = (now.as_nanos(), station.0, used, report.mpdus, report.acknowledged);
                object.call_method1(name, told).map(|_| ())
            });
        }
    }

    fn on_link_stats(&mut self, now: Instant, station: StationId, stats: &LinkStats) {
        if self.on_link_stats {
            self.part.call(Some(now), (), |object| {
                let name = intern!(object.py(), "on_link_stats");
                let (snr, rate) = (stats.snr.map(Decibel::value), stats.rate.map(BitRate::as_bps));
                object.call_method1(name, (now.as_nanos(), station.0, snr, rate)).map(|_| ())
            });
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        if !self.next_deadline {
            return None;
        }
        self.part.call(None, None, |object| {
            let deadline = object.call_method0(intern!(object.py(), "next_deadline"))?;
            Ok(perhaps(deadline.extract::<Option<Whole<Instant>>>()?))
        })
    }

    fn on_mistake(&mut self, mistake: Mistake) {
        self.part.refuse(&mistake);
    }
}
