//! Payloads of H.264 (RFC 6184 section 5): whether a picture begins that needs none before it.

/// Type of a sequence parameter set, which stands before each picture that can be decoded alone.
const PARAMETERS: u8 = 7;
/// Types of packets with several units (STAP-A), and with a part of one (FU-A).
const SEVERAL: u8 = 24;
const PART: u8 = 28;
/// First part of a unit.
const FIRST: u8 = 0x80;

const fn kind(octet: u8) -> u8 {
    octet & 0x1f
}

/// Whether a packet has a sequence parameter set. A stream that never has one (it stands in the sender's SDP alone) cannot be forwarded.
pub(crate) fn starts_key_frame(payload: &[u8]) -> bool {
    let Some((first, mut rest)) = payload.split_first() else { return false };
    match kind(*first) {
        PARAMETERS => true,
        PART => rest.first().is_some_and(|part| part & FIRST != 0 && kind(*part) == PARAMETERS),
        SEVERAL => {
            while let [high, low, unit @ ..] = rest {
                if unit.first().is_some_and(|octet| kind(*octet) == PARAMETERS) {
                    return true;
                }
                rest = unit.get(usize::from(u16::from_be_bytes([*high, *low]))..).unwrap_or_default();
            }
            false
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_frame_starts_with_its_parameters_in_any_packet() {
        for payload in [
            &[0x67, 0x42, 0xe0, 0x1f][..],
            // AUD, then parameters; parameters alone; the first part of long ones.
            &[0x78, 0, 2, 0x09, 0x10, 0, 4, 0x67, 0x42, 0xe0, 0x1f],
            &[0x78, 0, 4, 0x67, 0x42, 0xe0, 0x1f, 0, 2, 0x68, 0xce],
            &[0x7c, 0x87, 0x42],
        ] {
            assert!(starts_key_frame(payload), "{payload:x?}");
        }
        // Nothing, picture parameters, pictures with and without reference, a later part, units that end too early.
        for payload in [
            &[][..],
            &[0x68, 0xce],
            &[0x65, 0x88],
            &[0x41, 0x9a],
            &[0x7c, 0x07, 0x42],
            &[0x7c],
            &[0x78, 0, 9, 0x09],
            &[0x78, 0],
        ] {
            assert!(!starts_key_frame(payload), "{payload:x?}");
        }
    }

    #[test]
    fn any_payload_is_read_to_its_end() {
        bolero::check!().with_type::<Vec<u8>>().for_each(|payload| {
            let found = starts_key_frame(payload);
            assert!(!found || payload.iter().any(|octet| kind(*octet) == PARAMETERS));
        });
    }
}
