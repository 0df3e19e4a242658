//! Dependency descriptors of AV1 (its RTP payload format, version 1.0.0, appendix A): the layer of a packet's frame, and the frames that it needs.

use str0m::rtp::{Extension, ExtensionSerializer, ExtensionValues};

use crate::layers::NEEDS;

/// The extension's name.
pub(crate) const URI: &str =
    "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension";
/// Octets of every descriptor.
const MANDATORY: usize = 3;
/// Templates that six bits of an id can name.
const TEMPLATES: u8 = 64;
/// Largest spatial and temporal id of a frame of AV1 (its section 5.3.3).
const MOST_SPATIAL: u8 = 3;
const MOST_TEMPORAL: u8 = 7;

/// The bytes of a descriptor, as they stand in a packet.
#[derive(Debug, Clone)]
pub(crate) struct Carried(pub(crate) Vec<u8>);

impl Carried {
    /// The extension that carries it.
    pub(crate) fn extension() -> Extension {
        Extension::with_serializer(URI, Serializer)
    }

    /// The same under another frame number.
    pub(crate) fn renumbered(&self, number: u16) -> Self {
        let mut bytes = self.0.clone();
        if let Some(own) = bytes.get_mut(1..MANDATORY) {
            own.copy_from_slice(&number.to_be_bytes());
        }
        Self(bytes)
    }
}

#[derive(Debug)]
struct Serializer;

impl ExtensionSerializer for Serializer {
    fn write_to(&self, buffer: &mut [u8], values: &ExtensionValues) -> usize {
        let Some(Carried(bytes)) = values.user_values.get::<Carried>() else { return 0 };
        let Some(place) = buffer.get_mut(..bytes.len()) else { return 0 };
        place.copy_from_slice(bytes);
        bytes.len()
    }

    fn parse_value(&self, bytes: &[u8], values: &mut ExtensionValues) -> bool {
        // The length of an extension has eight bits.
        let holds = (MANDATORY..256).contains(&bytes.len());
        if holds {
            values.user_values.set(Carried(bytes.to_vec()));
        }
        holds
    }

    fn is_video(&self) -> bool {
        true
    }

    fn is_audio(&self) -> bool {
        false
    }

    fn requires_two_byte_form(&self, values: &ExtensionValues) -> bool {
        values.user_values.get::<Carried>().is_some_and(|Carried(bytes)| bytes.len() > 16)
    }
}

/// Distances of the numbers of the frames that one needs; 0 for none.
pub(crate) type Distances = [u16; NEEDS];

/// The layer and the needs of frames of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Template {
    spatial: u8,
    temporal: u8,
    distances: Distances,
}

/// The kinds of frames of a stream, from one key frame to the next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Structure {
    /// The id of the first template.
    first: u8,
    /// The number of decode targets.
    targets: u8,
    templates: Vec<Template>,
}

/// The descriptor of one packet, as far as forwarding needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// It is the first, and the last, packet of its frame.
    pub(crate) begins: bool,
    pub(crate) ends: bool,
    /// The frame's number.
    pub(crate) number: u16,
    pub(crate) spatial: u8,
    pub(crate) temporal: u8,
    pub(crate) distances: Distances,
    /// The structure that holds from this frame on.
    pub(crate) structure: Option<Structure>,
}

impl Descriptor {
    /// Reads a descriptor by the structure that holds; `None` if it is truncated, names nothing that the structure has, or more than AV1 has.
    pub(crate) fn parse(bytes: &[u8], known: Option<&Structure>) -> Option<Self> {
        let mut bits = Bits { bytes, at: 0 };
        let (begins, ends) = (bits.flag()?, bits.flag()?);
        let (template, number) = (bits.take(6)? as u8, bits.take(16)?);
        let (mut structure, mut custom_targets, mut custom_distances) = (None, false, false);
        if bytes.len() > MANDATORY {
            let (follows, active) = (bits.flag()?, bits.flag()?);
            (custom_targets, custom_distances) = (bits.flag()?, bits.flag()?);
            let _chains = bits.flag()?;
            structure = if follows { Some(Structure::read(&mut bits)?) } else { None };
            if active {
                bits.skip(structure.as_ref().or(known)?.targets.into())?;
            }
        }
        let holds = structure.as_ref().or(known)?;
        let index = template.wrapping_sub(holds.first) % TEMPLATES;
        let Template { spatial, temporal, mut distances } = *holds.templates.get(usize::from(index))?;
        if custom_targets {
            bits.skip(2 * u32::from(holds.targets))?;
        }
        if custom_distances {
            distances = bits.distances(|bits| Some(4 * bits.take(2)?))?;
        }
        Some(Self { begins, ends, number, spatial, temporal, distances, structure })
    }
}

impl Structure {
    fn read(bits: &mut Bits<'_>) -> Option<Self> {
        let (first, targets) = (bits.take(6)? as u8, bits.take(5)? as u8 + 1);
        let (mut spatial, mut temporal) = (0, 0);
        let mut templates = Vec::new();
        loop {
            if templates.len() == usize::from(TEMPLATES) || spatial > MOST_SPATIAL || temporal > MOST_TEMPORAL
            {
                return None;
            }
            templates.push(Template { spatial, temporal, distances: [0; NEEDS] });
            match bits.take(2)? {
                0 => {}
                1 => temporal += 1,
                2 => (spatial, temporal) = (spatial + 1, 0),
                _ => break,
            }
        }
        // What each frame is to each decode target.
        bits.skip(2 * u32::from(targets) * templates.len() as u32)?;
        for template in &mut templates {
            template.distances = bits.distances(|bits| Some(if bits.flag()? { 4 } else { 0 }))?;
        }
        let chains = bits.below(u32::from(targets) + 1)?;
        if chains > 0 {
            for _ in 0..targets {
                bits.below(chains)?;
            }
            bits.skip(4 * chains * templates.len() as u32)?;
        }
        if bits.flag()? {
            bits.skip(32 * (u32::from(spatial) + 1))?;
        }
        Some(Self { first, targets, templates })
    }
}

/// The bits of a descriptor, the highest first.
struct Bits<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn flag(&mut self) -> Option<bool> {
        let octet = *self.bytes.get(self.at / 8)?;
        let flag = octet >> (7 - self.at % 8) & 1 != 0;
        self.at += 1;
        Some(flag)
    }

    /// A number of up to 16 bits.
    fn take(&mut self, count: u32) -> Option<u16> {
        (0..count).try_fold(0, |number, _| Some(number << 1 | u16::from(self.flag()?)))
    }

    fn skip(&mut self, count: u32) -> Option<()> {
        self.at += count as usize;
        (self.at <= self.bytes.len() * 8).then_some(())
    }

    /// A number below `limit`, of 1 to 33: ns(n), of which small ones have one bit less.
    fn below(&mut self, limit: u32) -> Option<u32> {
        let width = u32::BITS - limit.leading_zeros();
        let short = (1 << width) - limit;
        let number = u32::from(self.take(width - 1)?);
        if number < short {
            return Some(number);
        }
        Some((number << 1) + u32::from(self.flag()?) - short)
    }

    /// Distances, each after the number of its bits; 0 ends them.
    fn distances(&mut self, width: impl Fn(&mut Self) -> Option<u16>) -> Option<Distances> {
        let mut distances = [0; NEEDS];
        for place in 0.. {
            match width(self)? {
                0 => break,
                width => *distances.get_mut(place)? = self.take(width.into())? + 1,
            }
        }
        Some(distances)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The descriptor of the first packet of a key picture of Chromium 156 in mode L3T3_KEY at 960 by 540.
    const KEY: &[u8] = &[
        0x80, 0x00, 0x07, 0x80, 0x08, 0x14, 0x85, 0x21, 0x4e, 0xaa, 0xaa, 0xa8, 0x00, 0x06, 0x00, 0x00, 0x40,
        0x00, 0x10, 0x00, 0x02, 0xaa, 0x80, 0xa8, 0x00, 0x06, 0x00, 0x00, 0x40, 0x00, 0x10, 0x00, 0x02, 0xa0,
        0x00, 0xa8, 0x00, 0x06, 0x00, 0x00, 0x40, 0x00, 0x16, 0xd5, 0x49, 0x24, 0x1b, 0x55, 0x24, 0x90, 0x6d,
        0x54, 0x92, 0x31, 0x57, 0xe0, 0x01, 0x97, 0x4c, 0xa8, 0x64, 0x33, 0x0e, 0x22, 0x23, 0x96, 0xec, 0xa8,
        0x65, 0x53, 0x04, 0x22, 0x43, 0x90, 0xec, 0xa8, 0x77, 0x53, 0x00, 0xef, 0x00, 0x86, 0x01, 0xdf, 0x01,
        0x0d, 0x03, 0xbf, 0x02, 0x1b,
    ];

    #[test]
    fn descriptors_of_chromium_are_read() {
        let key = Descriptor::parse(KEY, None).expect("a descriptor");
        assert!(key.begins && !key.ends && key.distances == [0; NEEDS]);
        assert_eq!((key.number, key.spatial, key.temporal), (7, 0, 0));
        let structure = key.structure.expect("a structure");
        assert_eq!((structure.targets, structure.templates.len()), (9, 15));
        let read = |bytes: &[u8]| {
            let read = Descriptor::parse(bytes, Some(&structure)).expect("a descriptor");
            (read.spatial, read.temporal, read.distances[0])
        };
        // The other sizes of the key picture, each predicted from the one below.
        assert_eq!([read(&[0x85, 0, 8]), read(&[0x8a, 0, 9])], [(1, 0, 1), (2, 0, 1)]);
        // Three pictures after it: the third frame rate, the second, and the third again; three frames each.
        assert_eq!([read(&[0xc3, 0, 10]), read(&[0xcd, 0, 12])], [(0, 2, 3), (2, 2, 3)]);
        assert_eq!([read(&[0xc2, 0, 13]), read(&[0xcc, 0, 15])], [(0, 1, 6), (2, 1, 6)]);
        assert_eq!([read(&[0xc4, 0, 16]), read(&[0xce, 0, 18])], [(0, 2, 3), (2, 2, 3)]);
        // While the largest size was not sent there were two, and distances of their own.
        assert_eq!(read(&[0xc3, 0, 3, 0x1a, 0x20, 0x10, 0x08, 0]), (0, 2, 2));
        assert_eq!(read(&[0xc7, 0, 6, 0x1a, 0x60, 0x28, 0x20, 0]), (1, 1, 4));
    }

    #[test]
    fn every_prefix_is_read_or_refused() {
        for length in 0..KEY.len() {
            assert_eq!(Descriptor::parse(&KEY[..length], None), None, "{length}");
        }
        let structure = Descriptor::parse(KEY, None).and_then(|read| read.structure).expect("a structure");
        // An id that the structure does not have.
        assert_eq!(Descriptor::parse(&[0x80 | 15, 0, 1], Some(&structure)), None);
        // Templates without an end, and more needs than are kept.
        assert_eq!(Descriptor::parse(&[&[0x80, 0, 1, 0x80, 0, 0][..], &[0; 200]].concat(), None), None);
        let many = [&[0x80, 0, 1, 0x12][..], &[0x08, 0x20, 0x82].repeat(8)].concat();
        assert_eq!(Descriptor::parse(&many, Some(&structure)), None);
    }

    #[test]
    fn numbers_below_a_limit_have_the_bits_of_the_specification() {
        // Its section 4.10.7 of AV1: ns(5) writes 0, 1, 2 in two bits, 3 and 4 in three.
        let read = |octet: u8| Bits { bytes: &[octet], at: 0 }.below(5);
        let numbers = [0x00, 0x40, 0x80, 0xc0, 0xe0].map(read);
        assert_eq!(numbers, [0, 1, 2, 3, 4].map(Some));
        assert_eq!(Bits { bytes: &[], at: 0 }.below(1), Some(0));
    }

    #[test]
    fn any_bytes_are_read_or_refused_and_keep_all_but_their_number() {
        bolero::check!().with_type::<(Vec<u8>, Vec<u8>, u16)>().for_each(|(first, second, number)| {
            let known = Descriptor::parse(first, None).and_then(|read| read.structure);
            assert!(known.as_ref().is_none_or(|known| known.templates.len() <= usize::from(TEMPLATES)));
            let Some(read) = Descriptor::parse(second, known.as_ref()) else { return };
            assert!(read.spatial <= MOST_SPATIAL && read.temporal <= MOST_TEMPORAL);
            let changed = Carried(second.clone()).renumbered(*number);
            let wanted = Descriptor { number: *number, ..read };
            assert_eq!(Descriptor::parse(&changed.0, known.as_ref()), Some(wanted));
        });
    }
}
