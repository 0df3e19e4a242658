//! Payload descriptors of VP9 (RFC 9628 section 4.2): the layer of a packet, what its frame depends on, and the numbers that change on a slot.

/// Bits of the first octet.
const PICTURE: u8 = 0x80;
const PREDICTED: u8 = 0x40;
const LAYERED: u8 = 0x20;
const FLEXIBLE: u8 = 0x10;
const BEGINS: u8 = 0x08;
const ENDS: u8 = 0x04;
/// The picture id has 15 bits.
const WIDE: u8 = 0x80;
/// Bits of the octet of layers, beside three each for the temporal and the spatial one.
const SWITCH: u8 = 0x10;
const DEPENDS: u8 = 0x01;
/// Another distance follows.
const MORE: u8 = 0x01;

/// The descriptor of one packet, as far as forwarding needs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Descriptor {
    /// The picture id.
    pub(crate) picture: Option<u16>,
    /// It has 7 bits.
    pub(crate) short: bool,
    /// TL0PICIDX, outside the flexible mode.
    pub(crate) base_layer: Option<u8>,
    /// The frame is predicted from earlier pictures.
    pub(crate) predicted: bool,
    /// It is the first, and the last, packet of the frame of one layer.
    pub(crate) begins: bool,
    pub(crate) ends: bool,
    /// Spatial and temporal layer; 0 for a stream without layers.
    pub(crate) spatial: u8,
    pub(crate) temporal: u8,
    /// Later pictures of higher temporal layers need none of such before this one.
    pub(crate) switches: bool,
    /// The frame is predicted from the spatial layer below.
    pub(crate) depends: bool,
    /// In the flexible mode, the distances of the pictures that the frame is predicted from; 0 for none.
    pub(crate) references: Option<[u8; 3]>,
    /// Place of TL0PICIDX.
    base_at: usize,
}

impl Descriptor {
    /// The number of picture ids, behind which they begin again.
    pub(crate) const fn pictures(&self) -> u16 {
        if self.short { 1 << 7 } else { 1 << 15 }
    }

    /// Reads the beginning of a payload; `None` if it is truncated.
    pub(crate) fn parse(payload: &[u8]) -> Option<Self> {
        let flags = *payload.first()?;
        let mut at = 1;
        let mut next = || {
            let octet = payload.get(at).copied();
            at += 1;
            octet
        };
        let (mut picture, mut short) = (None, false);
        if flags & PICTURE != 0 {
            let first = next()?;
            short = first & WIDE == 0;
            let id = u16::from(first & !WIDE);
            picture = Some(if short { id } else { id << 8 | u16::from(next()?) });
        }
        let layers = if flags & LAYERED != 0 { next()? } else { 0 };
        let based = flags & (LAYERED | FLEXIBLE) == LAYERED;
        let base_at = at;
        let base_layer = if based { Some(*payload.get(at)?) } else { None };
        at += usize::from(based);
        let predicted = flags & PREDICTED != 0;
        let mut references = (flags & FLEXIBLE != 0).then_some([0; 3]);
        for reference in references.iter_mut().flatten().filter(|_| predicted) {
            let octet = *payload.get(at)?;
            at += 1;
            *reference = octet >> 1;
            if octet & MORE == 0 {
                break;
            }
        }
        // A payload has data behind its descriptor.
        payload.get(at)?;
        Some(Self {
            picture,
            short,
            base_layer,
            predicted,
            begins: flags & BEGINS != 0,
            ends: flags & ENDS != 0,
            spatial: layers >> 1 & 7,
            temporal: layers >> 5,
            switches: layers & SWITCH != 0,
            depends: layers & DEPENDS != 0,
            references,
            base_at,
        })
    }

    /// The payload under other numbers, the picture id in 15 bits: one of 7 cannot go on where one of 15 bits ended.
    pub(crate) fn renumbered(&self, payload: &[u8], picture: Option<u16>, base_layer: Option<u8>) -> Vec<u8> {
        let mut changed = Vec::with_capacity(payload.len() + 1);
        changed.extend_from_slice(payload);
        if let (Some(index), Some(octet)) =
            (base_layer.filter(|_| self.base_layer.is_some()), changed.get_mut(self.base_at))
        {
            *octet = index;
        }
        if let Some(picture) = picture.filter(|_| self.picture.is_some()) {
            let [high, low] = (picture & 0x7fff).to_be_bytes();
            changed.splice(1..if self.short { 2 } else { 3 }, [WIDE | high, low]);
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First octets of packets of Chromium 156 in mode L3T3_KEY at 960 by 540.
    const KEY: &[u8] = &[0xba, 0xa6, 0x99, 0x10, 0x30, 0x00, 0xf0, 0x00, 0x87, 0x01, 0xe0, 0x01, 0x0e];
    const KEY_SECOND: &[u8] = &[0xb9, 0xd8, 0x47, 0x13, 0x87, 0x02];
    const DELTA: &[u8] = &[0xfd, 0xd8, 0x4c, 0x52, 0x02, 0x87, 0x00];

    #[test]
    fn descriptors_of_chromium_are_read() {
        let key = Descriptor::parse(KEY).expect("a descriptor");
        assert_eq!((key.picture, key.short, key.base_layer), (Some(0x2699), false, None));
        assert!(key.begins && !key.ends && !key.predicted && key.switches && !key.depends);
        assert_eq!((key.spatial, key.temporal), (0, 0));
        let second = Descriptor::parse(KEY_SECOND).expect("a descriptor");
        assert!(second.begins && !second.predicted && second.depends);
        assert_eq!((second.spatial, second.temporal), (1, 0));
        let delta = Descriptor::parse(DELTA).expect("a descriptor");
        assert!(delta.begins && delta.ends && delta.predicted && !delta.depends);
        assert_eq!((delta.spatial, delta.temporal, delta.references), (1, 2, Some([1, 0, 0])));
    }

    #[test]
    fn every_prefix_is_read_or_refused() {
        // The last: outside the flexible mode, with a picture id of 7 bits.
        for (whole, length) in [(KEY, 4), (KEY_SECOND, 4), (DELTA, 5), (&[0xa8, 0x05, 0x10, 0x07, 0xaa], 4)] {
            for read in 0..=whole.len() {
                assert_eq!(Descriptor::parse(&whole[..read]).is_some(), read > length, "{whole:x?} {read}");
            }
        }
        // Three distances at most.
        let descriptor = Descriptor::parse(&[0xf0, 0x85, 0x10, 0x50, 0x03, 0x05, 0x07, 0x09, 0xaa]);
        assert_eq!(descriptor.and_then(|descriptor| descriptor.references), Some([1, 2, 3]));
    }

    #[test]
    fn numbers_are_replaced_where_they_are() {
        let renumbered = |payload: &[u8]| {
            let descriptor = Descriptor::parse(payload).expect("a descriptor");
            descriptor.renumbered(payload, Some(0x1234), Some(0x77))
        };
        assert_eq!(renumbered(DELTA), [0xfd, 0x92, 0x34, 0x52, 0x02, 0x87, 0x00]);
        // Outside the flexible mode, a picture id of 7 bits; without layers; without anything.
        assert_eq!(renumbered(&[0xa8, 0x05, 0x10, 0x07, 0xaa]), [0xa8, 0x92, 0x34, 0x10, 0x77, 0xaa]);
        assert_eq!(renumbered(&[0x88, 0x05, 0xaa]), [0x88, 0x92, 0x34, 0xaa]);
        assert_eq!(renumbered(&[0x08, 0xaa]), [0x08, 0xaa]);
    }

    #[test]
    fn any_bytes_are_renumbered_or_refused() {
        bolero::check!().with_type::<(Vec<u8>, u16, u8)>().for_each(|(bytes, picture, base_layer)| {
            let Some(read) = Descriptor::parse(bytes) else { return };
            assert!(read.spatial < 8 && read.temporal < 8 && bytes.len() > read.base_at);
            let picture = picture & 0x7fff;
            let changed = read.renumbered(bytes, Some(picture), Some(*base_layer));
            let wanted = Descriptor {
                picture: read.picture.map(|_| picture),
                short: false,
                base_layer: read.base_layer.map(|_| *base_layer),
                base_at: read.base_at + usize::from(read.short),
                ..read
            };
            assert_eq!(Descriptor::parse(&changed), Some(wanted));
            assert_eq!(changed.len(), bytes.len() + usize::from(read.short));
        });
    }
}
