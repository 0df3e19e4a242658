//! Which packets of a scalable stream leave on a slot: those up to one size and one frame rate. It rises where the stream allows a viewer to begin
//! with more, and falls with the next picture.

use std::collections::VecDeque;

use airbound_senders::conference::room::MOST_LAYERS;

/// Frame rates of one size, and sizes.
const RATES: u8 = 3;
const SIZES: u8 = MOST_LAYERS as u8 / RATES;
/// Changes that are remembered for packets that come late.
const REMEMBERED: usize = 16;

/// The size and the frame rate that a viewer gets: all frames of no higher spatial and no higher temporal layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) spatial: u8,
    pub(crate) temporal: u8,
}

impl Point {
    /// The point of one of the room's layers: sizes in order, three frame rates each.
    pub(crate) const fn of(layer: u8) -> Self {
        Self { spatial: layer / RATES, temporal: layer % RATES }
    }

    /// The point of a frame; what is above the third counts as the third.
    pub(crate) fn of_frame(spatial: u8, temporal: u8) -> Self {
        Self { spatial: spatial.min(SIZES - 1), temporal: temporal.min(RATES - 1) }
    }

    /// Its number among the room's layers.
    pub(crate) const fn layer(self) -> u8 {
        self.spatial * RATES + self.temporal
    }

    /// The layer of the highest frame rate of a size.
    pub(crate) fn largest(size: u8) -> u8 {
        Self { spatial: size.min(SIZES - 1), temporal: RATES - 1 }.layer()
    }

    /// Whether frames of another point belong to this one.
    const fn has(self, other: Self) -> bool {
        other.spatial <= self.spatial && other.temporal <= self.temporal
    }
}

/// Rates of the points of a stream, each with all that it contains, by the rates of its frames alone; 0 for a point without frames of its own.
pub(crate) fn cumulative(rates: &[f64; MOST_LAYERS]) -> [f64; MOST_LAYERS] {
    std::array::from_fn(|layer| {
        if rates[layer] <= 0.0 {
            return 0.0;
        }
        let point = Point::of(layer as u8);
        (0..=layer).filter(|other| point.has(Point::of(*other as u8))).map(|other| rates[other]).sum()
    })
}

/// One packet of a scalable stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) sequence: u64,
    pub(crate) timestamp: u32,
    pub(crate) point: Point,
    /// It is the first, and the last, packet of its frame; the last of its picture.
    pub(crate) begins: bool,
    pub(crate) ends: bool,
    pub(crate) marker: bool,
    /// Its frame is predicted from earlier pictures.
    pub(crate) predicted: bool,
    /// Later pictures of higher frame rates need none of such before this one.
    pub(crate) switches: bool,
}

impl Packet {
    /// Whether a viewer can begin here.
    pub(crate) const fn starts(&self) -> bool {
        self.begins && !self.predicted && self.point.spatial == 0
    }
}

/// Whether a packet leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It leaves, perhaps as the last of its picture.
    Leaves {
        marker: bool,
    },
    /// It leaves once the next packet shows whether it is the last of its picture.
    Waits,
    /// It does not. Those between it and the packet before do not either if `run` says so.
    Stays {
        run: bool,
    },
}

/// What becomes of a packet and of the one that waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) fate: Fate,
    /// Where one waited: whether it is the last of its picture.
    pub(crate) waited: Option<bool>,
}

/// The choice of packets for one slot.
#[derive(Debug, Clone)]
pub(crate) struct Selector {
    /// The latest points, each with its first packet.
    points: VecDeque<(u64, Point)>,
    latest: Option<Packet>,
    /// The latest packet left.
    left: bool,
    waits: bool,
    /// The highest spatial layer of the present picture whose frame leaves.
    within: Option<u8>,
}

impl Selector {
    /// Begins with a packet that [starts](Packet::starts) a picture for all.
    pub(crate) fn new(packet: &Packet) -> Self {
        let points = VecDeque::from([(packet.sequence, Point { spatial: 0, temporal: 0 })]);
        Self { points, latest: None, left: false, waits: false, within: None }
    }

    /// The point that leaves now.
    pub(crate) fn point(&self) -> Point {
        self.points.back().map_or(Point { spatial: 0, temporal: 0 }, |(_, point)| *point)
    }

    /// Decides on a packet of a viewer that is to get `wanted`.
    pub(crate) fn decide(&mut self, wanted: Point, packet: &Packet) -> Decision {
        if self.latest.is_some_and(|latest| packet.sequence <= latest.sequence) {
            return Decision { fate: self.decide_late(packet), waited: None };
        }
        let same = self.latest.filter(|latest| latest.timestamp == packet.timestamp);
        if same.is_none() {
            self.within = None;
        }
        self.step(wanted, packet, same.is_none());
        let leaves = self.point().has(packet.point);
        let waited = std::mem::take(&mut self.waits).then_some(!(leaves && same.is_some()));
        let fate = if !leaves {
            let frame = same.filter(|latest| latest.point == packet.point);
            Fate::Stays { run: frame.is_some() && !self.left }
        } else if packet.ends && !packet.marker {
            self.waits = true;
            Fate::Waits
        } else {
            Fate::Leaves { marker: packet.marker }
        };
        if leaves {
            self.within = Some(packet.point.spatial);
        }
        (self.latest, self.left) = (Some(*packet), leaves);
        Decision { fate, waited }
    }

    /// Changes the point where that is possible.
    fn step(&mut self, wanted: Point, packet: &Packet, new: bool) {
        let mut point = self.point();
        if !packet.begins {
            return;
        }
        if new {
            point = Point {
                spatial: point.spatial.min(wanted.spatial),
                temporal: point.temporal.min(wanted.temporal),
            };
            // RFC 9628 section 4.2, U; a picture that needs none before it does not need more.
            let free = packet.switches && packet.point.temporal <= point.temporal;
            if free || packet.starts() {
                point.temporal = wanted.temporal;
            }
        }
        // The same section, P: a frame that is predicted from the layer below alone.
        let above = self.within == Some(point.spatial) && packet.point.spatial == point.spatial + 1;
        if above
            && !packet.predicted
            && packet.point.temporal <= point.temporal
            && point.spatial < wanted.spatial
        {
            point.spatial += 1;
        }
        if point != self.point() {
            self.points.push_back((packet.sequence, point));
            if self.points.len() > REMEMBERED {
                self.points.pop_front();
            }
        }
    }

    /// A late packet follows what was decided when it was due.
    fn decide_late(&self, packet: &Packet) -> Fate {
        let point = self.points.iter().rev().find(|(first, _)| *first <= packet.sequence);
        match point.filter(|(_, point)| point.has(packet.point)) {
            Some((_, point)) => {
                let last = packet.ends && packet.point.spatial == point.spatial;
                Fate::Leaves { marker: packet.marker || last }
            }
            None => Fate::Stays { run: false },
        }
    }
}
