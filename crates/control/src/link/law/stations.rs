//! State of each peer.

use airbound_units::BitRate;
use airbound_wifi::edca::Category;
use airbound_wifi::rate::Rate;

use super::config::LawConfig;
use super::controller::Controller;
use super::view::LawCounts;
use crate::frame::StationId;
use crate::link::airtime::AirtimeEstimate;
use crate::link::block_ack::BlockAckOriginator;

/// One peer.
#[derive(Debug, Clone)]
pub(super) struct Station<P> {
    pub(super) originators: [BlockAckOriginator<P>; 4],
    /// The packet that left the queue and did not fit in the last aggregate of its category.
    pub(super) kept: [Option<P>; 4],
    pub(super) controller: Controller,
    pub(super) counts: LawCounts,
    /// The rate at which the environment says that data really goes out, and estimates at it.
    pub(super) dictated: Option<(BitRate, AirtimeEstimate)>,
    /// The rate that the queue was told of last.
    pub(super) told_rate: Option<BitRate>,
}

impl<P> Station<P> {
    pub(super) const fn originator(&mut self, category: Category) -> &mut BlockAckOriginator<P> {
        &mut self.originators[category.index()]
    }
}

/// All peers, by number; one that is not known yet begins when it is asked for.
#[derive(Debug, Clone)]
pub(super) struct Stations<P> {
    /// The ladder of those whose capabilities were not told.
    pub(super) ladder: Vec<Rate>,
    list: Vec<Station<P>>,
}

impl<P> Stations<P> {
    pub(super) const fn new(ladder: Vec<Rate>) -> Self {
        Self { ladder, list: Vec::new() }
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn get(&self, station: StationId) -> Option<&Station<P>> {
        self.list.get(station.index())
    }

    pub(super) fn of(&mut self, station: StationId, config: &LawConfig) -> &mut Station<P> {
        let index = station.index();
        if index >= self.list.len() {
            let ladder = &self.ladder;
            self.list.resize_with(index + 1, || Station {
                originators: Default::default(),
                kept: [None, None, None, None],
                controller: Controller::new(ladder.clone(), config),
                counts: LawCounts::default(),
                dictated: None,
                told_rate: None,
            });
        }
        &mut self.list[index]
    }
}
