//! State of each peer.

use airbound_wifi::rate::Rate;

use super::config::LawConfig;
use super::controller::Controller;
use super::view::LawCounts;
use crate::frame::StationId;

/// One peer.
#[derive(Debug, Clone)]
pub(super) struct Station<P> {
    /// The packet that left the queue but did not fit in the last aggregate of its category.
    pub(super) kept: [Option<P>; 4],
    pub(super) controller: Controller,
    pub(super) counts: LawCounts,
}

/// All peers, by number; an unknown one is created on first access.
#[derive(Debug, Clone)]
pub(super) struct Stations<P> {
    /// Rate set of peers without reported capabilities.
    pub(super) rates: Vec<Rate>,
    list: Vec<Station<P>>,
}

impl<P> Stations<P> {
    pub(super) const fn new(rates: Vec<Rate>) -> Self {
        Self { rates, list: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn get(&self, station: StationId) -> Option<&Station<P>> {
        self.list.get(station.index())
    }

    #[inline]
    pub(super) fn of(&mut self, station: StationId, config: &LawConfig) -> &mut Station<P> {
        let index = station.index();
        if index >= self.list.len() {
            self.grow(index + 1, config);
        }
        &mut self.list[index]
    }

    #[cold]
    fn grow(&mut self, peers: usize, config: &LawConfig) {
        let rates = &self.rates;
        self.list.resize_with(peers, || Station {
            kept: [None, None, None, None],
            controller: Controller::new(rates.clone(), config),
            counts: LawCounts::default(),
        });
    }
}
