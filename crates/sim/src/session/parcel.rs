//! What travels between a client and the server, and where it is kept meanwhile.

use airbound_senders::conference::plum::Notice;
use airbound_senders::tcp::{Ack, SEGMENT_HEADERS, Segment};

/// Which way something travels over an access link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

impl Way {
    /// Both of them.
    pub(super) const BOTH: [Self; 2] = [Self::Up, Self::Down];

    pub(super) const fn other(self) -> Self {
        match self {
            Self::Up => Self::Down,
            Self::Down => Self::Up,
        }
    }
}

/// What a packet is to its receiver.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cargo {
    /// Data of the stream that goes this way.
    Segment(Segment),
    /// An acknowledgement of the stream that goes the other way.
    Ack(Ack),
    /// A decision of Plum.
    Notice(Notice),
    /// That it arrived.
    Answer(u32),
}

/// A packet under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parcel {
    pub(super) client: usize,
    pub(super) way: Way,
    pub(super) cargo: Cargo,
}

impl Parcel {
    /// Bytes from the IP header on.
    pub(super) fn size(&self) -> u32 {
        let bytes = match &self.cargo {
            Cargo::Segment(segment) => return segment.len + SEGMENT_HEADERS.as_u64() as u32,
            Cargo::Ack(ack) => ack.size().as_u64(),
            Cargo::Notice(_) | Cargo::Answer(_) => Notice::SIZE,
        };
        bytes as u32
    }
}

/// A packet's place in the [`Store`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ParcelId(pub(super) u32);

/// All packets under way, so that queues hold numbers.
#[derive(Debug, Default)]
pub(super) struct Store {
    places: Vec<Option<Parcel>>,
    free: Vec<u32>,
}

impl Store {
    pub(super) fn put(&mut self, parcel: Parcel) -> ParcelId {
        match self.free.pop() {
            Some(place) => {
                self.places[place as usize] = Some(parcel);
                ParcelId(place)
            }
            None => {
                self.places.push(Some(parcel));
                ParcelId(self.places.len() as u32 - 1)
            }
        }
    }

    pub(super) fn take(&mut self, id: ParcelId) -> Option<Parcel> {
        let parcel = self.places.get_mut(id.0 as usize)?.take();
        if parcel.is_some() {
            self.free.push(id.0);
        }
        parcel
    }

    /// Which way a packet goes.
    pub(super) fn way(&self, id: ParcelId) -> Option<Way> {
        self.places.get(id.0 as usize)?.map(|parcel| parcel.way)
    }

    /// Packets under way.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}
