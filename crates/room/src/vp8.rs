//! Payloads of VP8 (RFC 7741 sections 4.2 and 4.3): where the descriptor ends, the size of a key frame, the width of a picture id.

/// The extension octet is there.
const EXTENDED: u8 = 0x80;
/// The picture id is there, and it has 15 bits.
const PICTURE: u8 = 0x80;
const WIDE: u8 = 0x80;
/// TL0PICIDX is there.
const BASE_LAYER: u8 = 0x40;
/// TID or KEYIDX is there, in one octet.
const TEMPORAL: u8 = 0x30;

/// Bytes of the descriptor; `None` if it is truncated.
fn descriptor(payload: &[u8]) -> Option<usize> {
    if payload.first()? & EXTENDED == 0 {
        return Some(1);
    }
    let fields = *payload.get(1)?;
    let mut length = 2;
    if fields & PICTURE != 0 {
        length += if payload.get(2)? & WIDE != 0 { 2 } else { 1 };
    }
    Some(length + usize::from(fields & BASE_LAYER != 0) + usize::from(fields & TEMPORAL != 0))
}

/// The pixels of the key frame that a packet begins.
pub(crate) fn key_frame_area(payload: &[u8]) -> Option<u32> {
    let frame = payload.get(descriptor(payload)?..)?;
    let (tag, size) = (frame.get(..6)?, frame.get(6..10)?);
    let key = tag[0] & 1 == 0 && tag[3..] == [0x9d, 0x01, 0x2a];
    let side = |at: usize| u32::from(u16::from_le_bytes([size[at], size[at + 1]]) & 0x3fff);
    key.then(|| side(0) * side(2))
}

/// Whether its picture id has 7 bits.
pub(crate) fn has_short_picture(payload: &[u8]) -> bool {
    matches!(payload, [first, fields, id, ..] if first & EXTENDED != 0 && fields & PICTURE != 0 && id & WIDE == 0)
}

/// The payload with a picture id of 15 bits in place of one of 7, which cannot go on where one of 15 bits ended.
pub(crate) fn widened(payload: &[u8]) -> Vec<u8> {
    match payload {
        [first, fields, id, rest @ ..] if has_short_picture(payload) => {
            let mut wide = Vec::with_capacity(payload.len() + 1);
            wide.extend([*first, *fields, WIDE, *id]);
            wide.extend_from_slice(rest);
            wide
        }
        _ => payload.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_a_key_frame_is_found_behind_every_descriptor() {
        // 320 by 180; the tag's lowest bit is 0 in a key frame.
        let frame = [0x10, 0x02, 0x00, 0x9d, 0x01, 0x2a, 0x40, 0x01, 0xb4, 0x00, 0x55];
        for descriptor in [
            &[0x10][..],
            &[0x90, 0x80, 0x07],
            &[0x90, 0x80, 0x81, 0x02],
            &[0x90, 0xe0, 0x81, 0x02, 0x09, 0x20],
            &[0x90, 0x70, 0x09, 0x20],
        ] {
            let payload = [descriptor, &frame].concat();
            assert_eq!(key_frame_area(&payload), Some(320 * 180), "{descriptor:x?}");
            assert_eq!(key_frame_area(&payload[..descriptor.len() + 9]), None);
        }
        assert_eq!(
            key_frame_area(&[0x10, 0x11, 0x02, 0x00, 0x9d, 0x01, 0x2a, 0, 0, 0, 0]),
            None,
            "no key frame"
        );
        assert_eq!(key_frame_area(&[]), None);
    }

    #[test]
    fn an_id_of_7_bits_becomes_one_of_15() {
        assert_eq!(widened(&[0x90, 0xc0, 0x7f, 0x05, 0xaa]), [0x90, 0xc0, 0x80, 0x7f, 0x05, 0xaa]);
        assert_eq!(widened(&[0x90, 0x80, 0x81, 0x02, 0xaa]), [0x90, 0x80, 0x81, 0x02, 0xaa]);
        assert_eq!(widened(&[0x10, 0x02, 0x00]), [0x10, 0x02, 0x00]);
    }
}
