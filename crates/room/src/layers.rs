//! Which packets of a scalable stream leave on a slot: those up to one size and one frame rate, of frames that need none which did not leave.

use airbound_senders::conference::room::MOST_LAYERS;

/// Frame rates of one size, and sizes.
const RATES: u8 = 3;
const SIZES: u8 = MOST_LAYERS as u8 / RATES;
/// Spatial layers that a descriptor can name.
pub(crate) const SPATIAL: usize = 8;
/// Frames that a descriptor can name as needed.
pub(crate) const NEEDS: usize = 8;

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
    pub(crate) const fn of_frame(spatial: u8, temporal: u8) -> Self {
        let spatial = if spatial < SIZES { spatial } else { SIZES - 1 };
        Self { spatial, temporal: if temporal < RATES { temporal } else { RATES - 1 } }
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

/// Rates of the points of a stream, each with all that it contains, by the rates of its frames alone; 0 for a point without frames of its own,
/// and for one that nobody is to get: a larger size at the lowest of three frame rates, as a quarter of the pictures is no video.
pub(crate) fn cumulative(rates: &[f64; MOST_LAYERS]) -> [f64; MOST_LAYERS] {
    std::array::from_fn(|layer| {
        let point = Point::of(layer as u8);
        let slow = point.spatial > 0 && point.temporal == 0 && rates[layer + 2] > 0.0;
        if rates[layer] <= 0.0 || slow {
            return 0.0;
        }
        (0..=layer).filter(|other| point.has(Point::of(*other as u8))).map(|other| rates[other]).sum()
    })
}

/// One packet of a scalable stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) sequence: u64,
    pub(crate) timestamp: u32,
    /// The frame's number, which grows from frame to frame in the order of decoding, and how many such there are before they begin again.
    pub(crate) frame: u32,
    pub(crate) frames: u32,
    pub(crate) spatial: u8,
    pub(crate) temporal: u8,
    /// It is the first, and the last, packet of its frame; the last of its picture.
    pub(crate) begins: bool,
    pub(crate) ends: bool,
    pub(crate) marker: bool,
    /// Its frame is predicted from earlier pictures; from the layer below in the same one.
    pub(crate) predicted: bool,
    pub(crate) depends: bool,
    /// Later pictures of higher frame rates need none of such before this one.
    pub(crate) switches: bool,
    /// The distances of the numbers of the frames that its frame is predicted from, 0 for none, where the stream names them.
    pub(crate) references: Option<[u16; NEEDS]>,
}

impl Packet {
    /// Whether a viewer can begin here.
    pub(crate) const fn starts(&self) -> bool {
        self.begins && !self.predicted && self.spatial == 0
    }

    const fn point(&self) -> Point {
        Point::of_frame(self.spatial, self.temporal)
    }

    /// The distance of its frame's number from an earlier one.
    const fn since(&self, frame: u32) -> u32 {
        self.frame.wrapping_sub(frame) % self.frames
    }
}

/// Whether a packet leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It leaves, perhaps as the last of its picture.
    Leaves { marker: bool },
    /// It leaves once the next packet shows whether it is the last of its picture.
    Waits,
    /// It does not. Those that are missing before it do not either if `run` says so.
    Stays { run: bool },
}

/// The fate of a packet and of the one that waited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decision {
    pub(crate) fate: Fate,
    /// Where one waited: whether it is the last of its picture.
    pub(crate) waited: Option<bool>,
}

/// The choice of packets for one slot.
#[derive(Debug, Clone)]
pub(crate) struct Selector {
    /// The point up to which frames of the present picture may leave.
    limit: Point,
    /// The point up to which frames leave.
    point: Point,
    latest: Option<Packet>,
    waits: bool,
    /// Whether the frame of each spatial layer of the present picture leaves; unknown before its first packet.
    decided: [Option<bool>; SPATIAL],
    stayed: Stayed,
}

/// One bit for each of the latest frames, by its number: it did not leave. One of which nothing came may still come.
#[derive(Debug, Clone)]
struct Stayed {
    bits: [u64; Self::WORDS],
    latest: u32,
}

impl Stayed {
    const WORDS: usize = 16;
    const FRAMES: u32 = Self::WORDS as u32 * u64::BITS;

    /// None of those before is there.
    const fn new() -> Self {
        Self { bits: [u64::MAX; Self::WORDS], latest: 0 }
    }

    fn bit(&self, distance: u32) -> (usize, u64) {
        let place = self.latest.wrapping_sub(distance) % Self::FRAMES;
        ((place / u64::BITS) as usize, 1 << (place % u64::BITS))
    }

    /// Whether the frame so many numbers before the latest stayed; one that is too old did.
    fn has(&self, distance: u32) -> bool {
        let (word, bit) = self.bit(distance);
        distance >= Self::FRAMES || self.bits[word] & bit != 0
    }

    /// Goes on to a frame so many numbers later.
    fn advance(&mut self, distance: u32) {
        for _ in 0..distance.min(Self::FRAMES) {
            self.latest = self.latest.wrapping_add(1);
            self.mark(0, false);
        }
    }

    /// Notes whether the frame so many numbers before the latest stayed.
    fn mark(&mut self, distance: u32, stayed: bool) {
        let (word, bit) = self.bit(distance);
        self.bits[word] = if stayed { self.bits[word] | bit } else { self.bits[word] & !bit };
    }
}

impl Selector {
    /// Begins with the next packet, which [starts](Packet::starts) a picture for all.
    pub(crate) const fn new() -> Self {
        let point = Point { spatial: 0, temporal: 0 };
        let (decided, stayed) = ([None; SPATIAL], Stayed::new());
        Self { limit: point, point, latest: None, waits: false, decided, stayed }
    }

    /// The point that leaves now.
    pub(crate) const fn point(&self) -> Point {
        self.point
    }

    /// Decides on a packet of a viewer that is to get `wanted`.
    pub(crate) fn decide(&mut self, wanted: Point, packet: &Packet) -> Decision {
        if self.latest.is_some_and(|latest| packet.sequence <= latest.sequence) {
            return Decision { fate: self.decide_late(packet), waited: None };
        }
        let before = self.latest.replace(*packet);
        let same = before.filter(|before| before.timestamp == packet.timestamp);
        self.stayed.advance(before.map_or(0, |before| packet.since(before.frame)));
        if same.is_none() {
            self.on_picture(wanted, packet);
        }
        let layer = usize::from(packet.spatial) % SPATIAL;
        let leaves = self.decided[layer].unwrap_or_else(|| self.on_frame(packet));
        // Above what may leave of a picture nothing of it does.
        let ended = same.is_none() || !leaves && packet.point().spatial >= self.limit.spatial;
        let waited = (self.waits && (leaves || ended)).then_some(ended);
        self.waits &= waited.is_none();
        let fate = if !leaves {
            Fate::Stays { run: same.is_some_and(|before| before.spatial == packet.spatial) }
        } else if packet.ends && !packet.marker {
            self.waits = true;
            Fate::Waits
        } else {
            Fate::Leaves { marker: packet.marker }
        };
        Decision { fate, waited }
    }

    /// Begins a picture: it is as small as wanted, and as large as its frames allow.
    fn on_picture(&mut self, wanted: Point, packet: &Packet) {
        self.decided = [None; SPATIAL];
        self.limit = wanted;
        let Point { spatial, temporal } = &mut self.point;
        (*spatial, *temporal) = ((*spatial).min(wanted.spatial), (*temporal).min(wanted.temporal));
        // RFC 9628 section 4.2, U.
        let free = packet.references.is_none() && packet.switches && packet.point().temporal <= *temporal;
        if packet.starts() {
            // It has all layers that are sent now.
            self.point = wanted;
        } else if free {
            *temporal = wanted.temporal;
        }
    }

    /// Decides on the frame that a packet is the first of to come.
    fn on_frame(&mut self, packet: &Packet) -> bool {
        let (layer, point) = (usize::from(packet.spatial) % SPATIAL, packet.point());
        let below = packet.depends && layer > 0 && self.stayed.has(1);
        let needs = match packet.references {
            Some(_) => self.lacks(packet, 0),
            // The same section, P: a layer begins with a frame that is predicted from the layer below alone.
            None => {
                point.temporal > self.point.temporal || point.spatial > self.point.spatial && packet.predicted
            }
        };
        let leaves = self.limit.has(point) && !below && !needs;
        if leaves {
            let Point { spatial, temporal } = &mut self.point;
            (*spatial, *temporal) = ((*spatial).max(point.spatial), (*temporal).max(point.temporal));
        }
        self.stayed.mark(0, !leaves);
        self.decided[layer] = Some(leaves);
        leaves
    }

    /// Whether a frame, so many numbers before the latest, is predicted from one that stayed.
    fn lacks(&self, packet: &Packet, distance: u32) -> bool {
        let stayed = |need: &u16| *need > 0 && self.stayed.has(distance + u32::from(*need));
        packet.predicted && packet.references.iter().flatten().any(stayed)
    }

    /// A late packet follows what was decided on its frame.
    fn decide_late(&mut self, packet: &Packet) -> Fate {
        let distance =
            self.latest.map_or(0, |latest| Packet { frame: latest.frame, ..*packet }.since(packet.frame));
        if !self.limit.has(packet.point()) || self.stayed.has(distance) {
            return Fate::Stays { run: false };
        }
        if self.lacks(packet, distance) {
            self.stayed.mark(distance, true);
            return Fate::Stays { run: false };
        }
        let last = packet.ends && packet.point().spatial == self.limit.spatial;
        Fate::Leaves { marker: packet.marker || last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The encoder of a stream with three sizes and three frame rates, as Chromium's of VP9: which frame each is predicted from.
    #[derive(Default)]
    struct Encoder {
        /// All frames are predicted from the layer below, not those of key pictures alone (L3T3, not L3T3_KEY).
        full: bool,
        /// The descriptors name distances.
        flexible: bool,
        /// Each frame has a number of its own, as in AV1.
        numbered: bool,
        frame: u32,
        picture: u16,
        sequence: u64,
        /// Places in the pattern of frame rates since the key picture.
        place: usize,
        /// For each size the latest pictures of the two lower frame rates.
        bases: [[Option<u32>; 2]; 3],
    }

    const FRAMES: u32 = 1 << 16;

    impl Encoder {
        /// The packets of the next picture, two for each frame; `drops` has a bit for each size that is left out.
        fn next(&mut self, key: bool, drops: u8) -> Vec<Packet> {
            if key {
                (self.place, self.bases) = (0, [[None; 2]; 3]);
            }
            let temporal = [0, 2, 1, 2][self.place % 4];
            self.place += 1;
            self.picture = (self.picture + 1) & 0x7fff;
            let mut packets: Vec<Packet> = Vec::new();
            for spatial in 0..3_u8 {
                let frame = if self.numbered {
                    self.frame + 1
                } else {
                    (u32::from(self.picture) * 8 + u32::from(spatial)) % FRAMES
                };
                let bases = &mut self.bases[usize::from(spatial)];
                // Of lower frame rates the nearest; without a key picture of its own a layer waits for the next.
                let [slow, middle] = *bases;
                let near = |base: Option<u32>| base.map(|base| frame.wrapping_sub(base) % FRAMES);
                let base =
                    if temporal == 2 { near(middle).into_iter().chain(near(slow)).min() } else { near(slow) };
                let lower = packets.last().is_some_and(|packet| packet.spatial + 1 == spatial);
                if drops >> spatial & 1 != 0 || base.is_none() && (!key || spatial > 0 && !lower) {
                    continue;
                }
                let depends = lower && (key || self.full);
                if self.full && spatial > 0 && !lower {
                    continue;
                }
                if temporal < 2 {
                    bases[usize::from(temporal)] = Some(frame);
                }
                self.frame = frame;
                let below = u16::from(depends && self.numbered);
                let references = [base.unwrap_or(0) as u16, below, 0, 0, 0, 0, 0, 0];
                for part in 0..2 {
                    self.sequence += 1;
                    packets.push(Packet {
                        sequence: self.sequence,
                        timestamp: u32::from(self.picture) * 3600,
                        frame,
                        frames: FRAMES,
                        spatial,
                        temporal,
                        begins: part == 0,
                        ends: part == 1,
                        marker: false,
                        predicted: base.is_some() || below > 0,
                        depends: depends && !self.numbered,
                        switches: true,
                        references: self.flexible.then_some(references),
                    });
                }
            }
            // Chromium 156 leaves the marker out where it has dropped the frame of the largest size.
            if let Some(last) = packets.last_mut().filter(|packet| packet.spatial == 2) {
                last.marker = true;
            }
            packets
        }
    }

    /// One viewer: what left, with its marker.
    struct Viewer {
        selector: Selector,
        left: Vec<(Packet, bool)>,
        waiting: Option<Packet>,
    }

    impl Viewer {
        fn new() -> Self {
            Self { selector: Selector::new(), left: Vec::new(), waiting: None }
        }

        fn take(&mut self, wanted: Point, packet: &Packet) -> Fate {
            let decision = self.selector.decide(wanted, packet);
            if let Some(marker) = decision.waited {
                self.left.extend(self.waiting.take().map(|waiting| (waiting, marker)));
            }
            assert!(decision.fate != Fate::Waits || self.waiting.is_none());
            match decision.fate {
                Fate::Leaves { marker } => self.left.push((*packet, marker)),
                Fate::Waits => self.waiting = Some(*packet),
                Fate::Stays { .. } => {}
            }
            decision.fate
        }

        /// All that left can be decoded, and its pictures end with a marker, and nothing else does.
        fn check(&self) {
            let has = |frame: u32| self.left.iter().any(|(packet, _)| packet.frame == frame % FRAMES);
            for (packet, _) in &self.left {
                for need in packet.references.iter().flatten().filter(|need| **need > 0) {
                    assert!(has(packet.frame.wrapping_sub(u32::from(*need))), "{packet:?}");
                }
                assert!(!packet.depends || has(packet.frame.wrapping_sub(1)), "{packet:?}");
            }
            for pair in self.left.windows(2) {
                assert_eq!(pair[0].1, pair[0].0.timestamp != pair[1].0.timestamp, "{pair:?}");
            }
        }
    }

    const SMALL: Point = Point { spatial: 0, temporal: 1 };
    const LARGE: Point = Point { spatial: 2, temporal: 2 };

    fn sends(encoder: &mut Encoder, viewer: &mut Viewer, wanted: Point, pictures: usize) {
        for _ in 0..pictures {
            encoder.next(false, 0).iter().for_each(|packet| _ = viewer.take(wanted, packet));
        }
    }

    #[test]
    fn layers_above_stay_and_come_back_where_they_can_be_decoded() {
        let kinds = [(false, true), (true, true), (false, false), (true, false)];
        let kinds = kinds.map(|(full, flexible)| Encoder { full, flexible, ..Encoder::default() });
        let numbered = |full| Encoder { full, flexible: true, numbered: true, ..Encoder::default() };
        for mut encoder in kinds.into_iter().chain([numbered(false), numbered(true)]) {
            let mut viewer = Viewer::new();
            encoder.next(true, 0).iter().for_each(|packet| _ = viewer.take(SMALL, packet));
            assert_eq!(viewer.selector.point(), SMALL);
            sends(&mut encoder, &mut viewer, SMALL, 8);
            assert!(viewer.left.iter().all(|(packet, _)| SMALL.has(packet.point())));
            // A higher frame rate needs no key picture, a larger size does.
            sends(&mut encoder, &mut viewer, LARGE, 8);
            assert_eq!(viewer.selector.point(), Point { spatial: 0, temporal: 2 });
            encoder.next(true, 0).iter().for_each(|packet| _ = viewer.take(LARGE, packet));
            sends(&mut encoder, &mut viewer, LARGE, 8);
            assert_eq!(viewer.selector.point(), LARGE);
            // A smaller one needs none, and takes the next picture.
            let before = viewer.left.len();
            sends(&mut encoder, &mut viewer, SMALL, 8);
            assert!(viewer.left[before + 1..].iter().all(|(packet, _)| SMALL.has(packet.point())));
            viewer.check();
        }
    }

    #[test]
    fn what_left_can_be_decoded_whatever_the_encoder_drops_and_viewers_want() {
        let numbers = (crate::forward::Continuity::default, std::time::Instant::now());
        bolero::check!().with_type::<([bool; 2], Vec<(u8, u8, u8)>)>().for_each(|(kind, steps)| {
            let [full, numbered] = *kind;
            let mut encoder = Encoder { full, flexible: true, numbered, ..Encoder::default() };
            let (mut viewer, mut slot) = (Viewer::new(), numbers.0());
            let arrival = |packet: &Packet| crate::forward::Arrival {
                sequence: packet.sequence,
                timestamp: packet.timestamp,
                at: numbers.1,
                picture: Some(packet.frame as u16),
                base_layer: None,
                bits: 16,
                key: packet.starts(),
            };
            let first = encoder.next(true, 0);
            slot.switch(&arrival(&first[0]));
            let mut left = Vec::new();
            let mut take = |viewer: &mut Viewer, wanted, packet: &Packet| match viewer.take(wanted, packet) {
                Fate::Stays { run } => slot.skip(packet.sequence, run),
                _ => left.extend(slot.pass(&arrival(packet)).map(|departure| departure.sequence)),
            };
            first.iter().for_each(|packet| take(&mut viewer, LARGE, packet));
            for (wanted, drops, key) in steps {
                for packet in encoder.next(key % 8 == 0, *drops) {
                    take(&mut viewer, Point::of(wanted % 9), &packet);
                }
            }
            viewer.check();
            assert!(left.windows(2).all(|pair| pair[1] == pair[0] + 1), "{left:?}");
        });
    }

    #[test]
    fn packets_of_any_content_in_any_order_are_decided_on() {
        type Fields = (u16, u8, u16, (u8, u8), [bool; 7], Option<[u16; 3]>);
        bolero::check!().with_type::<Vec<Fields>>().for_each(|fields| {
            let (mut viewer, mut slot) = (Viewer::new(), crate::forward::Continuity::default());
            for (sequence, timestamp, picture, (spatial, temporal), flags, references) in fields {
                let [begins, ends, marker, predicted, depends, switches, short] = *flags;
                let packet = Packet {
                    sequence: (*sequence).into(),
                    timestamp: (*timestamp).into(),
                    frame: (*picture).into(),
                    frames: if short { 1 << 3 } else { FRAMES },
                    spatial: spatial % 8,
                    temporal: temporal % 8,
                    begins,
                    ends,
                    marker,
                    predicted,
                    depends,
                    switches,
                    references: references
                        .map(|[first, second, third]| [first, second, third, 0, 0, 0, 0, 0]),
                };
                if let Fate::Stays { run } = viewer.take(Point::of(spatial % 9), &packet) {
                    slot.skip(packet.sequence, run);
                }
            }
        });
    }

    #[test]
    fn late_packets_follow_their_frames() {
        let mut encoder = Encoder { flexible: true, ..Encoder::default() };
        let mut viewer = Viewer::new();
        let key = encoder.next(true, 0);
        // The second packets of the first two sizes come late.
        [0, 2, 4, 5].into_iter().for_each(|at| _ = viewer.take(SMALL, &key[at]));
        sends(&mut encoder, &mut viewer, SMALL, 2);
        assert_eq!(viewer.take(SMALL, &key[1]), Fate::Leaves { marker: true });
        assert_eq!(viewer.take(SMALL, &key[3]), Fate::Stays { run: false });
    }

    #[test]
    fn rates_of_points_are_sums_of_what_they_contain() {
        let rates = [10.0, 5.0, 6.0, 30.0, 10.0, 0.0, 80.0, 20.0, 10.0];
        assert_eq!(cumulative(&rates), [10.0, 15.0, 21.0, 40.0, 55.0, 0.0, 0.0, 155.0, 171.0]);
    }
}
