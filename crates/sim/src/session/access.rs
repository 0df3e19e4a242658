//! The access links of a session: packets go in at one end and come out at the other, later or never.

use airbound_control::frame::DropReason;
use airbound_units::Instant;

use super::parcel::{Cargo, Parcel, ParcelId, Way};
use super::run::{Event, Link, Session};

impl Session {
    /// Puts a packet in the queue of its transmitter; it is gone if that is full.
    pub(super) fn offer(&mut self, parcel: Parcel) {
        let client = &self.clients[parcel.client];
        let (access, place) = (client.access, client.place);
        let id = self.store.put(parcel);
        match &mut self.links[access] {
            Link::Pipe(pipe) => {
                if !pipe.offer(place, parcel.way, id, parcel.size()) {
                    self.lose(id, DropReason::QueueFull);
                }
            }
            Link::Air(air, _) => {
                // The air has to be where the session is before it takes a packet. While its own arrivals are handed on, it is.
                if air.now() < self.now {
                    self.catch_up(access);
                }
                if let Link::Air(air, _) = &mut self.links[access] {
                    air.offer(place, parcel.way, id, parcel.size());
                }
            }
        }
    }

    /// Lets what was offered be sent: begins a turn on a pipe that is idle, looks when something happens on the air.
    pub(super) fn begin_turn(&mut self, access: usize, way: Way) {
        match &mut self.links[access] {
            Link::Pipe(pipe) => {
                if let Some((channel, end)) = pipe.begin(way, self.now) {
                    self.schedule(end, Event::Turn(access, channel));
                }
            }
            Link::Air(..) => self.schedule_air(access),
        }
    }

    /// A transmission on a pipe ended: the next begins, and what it carried arrives.
    pub(super) fn on_turn_end(&mut self, access: usize, channel: usize) {
        let mut arrived = Vec::new();
        if let Link::Pipe(pipe) = &mut self.links[access] {
            pipe.end(channel, self.now, &mut arrived);
        }
        let way = if self.spec.access[access].is_split() && channel == 1 { Way::Down } else { Way::Up };
        self.begin_turn(access, way);
        self.hand_on(arrived);
    }

    /// Has an event at the next moment at which something happens on the air, if the access link is one.
    pub(super) fn schedule_air(&mut self, access: usize) {
        if let Link::Air(air, pending) = &mut self.links[access] {
            let next = air.next_event();
            if next < *pending {
                *pending = next;
                self.schedule(next, Event::Air(access));
            }
        }
    }

    /// Something happens on the air.
    pub(super) fn on_air(&mut self, access: usize) {
        if let Link::Air(_, pending) = &mut self.links[access] {
            if *pending > self.now {
                return;
            }
            *pending = Instant::MAX;
        }
        self.catch_up(access);
        self.schedule_air(access);
    }

    /// Advances the air of an access link to the present.
    fn catch_up(&mut self, access: usize) {
        let (mut arrived, mut lost) = (Vec::new(), Vec::new());
        if let Link::Air(air, _) = &mut self.links[access] {
            air.advance(self.now, &mut arrived, &mut lost);
        }
        for (id, reason) in lost {
            self.lose(id, reason);
        }
        self.hand_on(arrived);
    }

    /// A packet under way is gone.
    fn lose(&mut self, id: ParcelId, reason: DropReason) {
        if let Some(parcel) = self.store.take(id) {
            self.book_loss(&parcel, reason);
        }
    }

    /// Books a packet that is gone, if it counts.
    pub(super) fn book_loss(&mut self, parcel: &Parcel, reason: DropReason) {
        if let Cargo::Segment(segment) = &parcel.cargo
            && self.measured.contains(segment.sent)
        {
            self.meters[parcel.client].way(parcel.way).dropped[usize::from(reason.code())] += 1;
        }
    }

    /// Packets have crossed an access link: those for the server have the wire before them.
    fn hand_on(&mut self, mut arrived: Vec<ParcelId>) {
        let store = &self.store;
        let up: Vec<ParcelId> = arrived.extract_if(.., |id| store.way(*id) == Some(Way::Up)).collect();
        if !up.is_empty() {
            self.schedule(self.now + self.spec.delay, Event::AtServer(up));
        }
        arrived.into_iter().for_each(|id| self.on_arrival(id));
    }
}
