//! Records of DTLS in a datagram (RFC 6347, section 4.1).

/// Content type, version, epoch, sequence number, length.
const HEADER: usize = 13;
/// Longest content of a record: 2^14 bytes, and what encryption may add.
const LONGEST: usize = (1 << 14) + 2048;

/// Whether a datagram holds something other than DTLS (RFC 7983: a first byte from 20 to 63), or whole records of DTLS 1.0 or 1.2 and nothing else.
/// Anything else goes to nobody, as anybody can send it. The unified header of DTLS 1.3 (RFC 9147) comes only where both ends chose that version,
/// which str0m on OpenSSL does not.
pub(crate) fn are_whole(mut datagram: &[u8]) -> bool {
    if !matches!(datagram, [20..64, ..]) {
        return true;
    }
    while let [20..=25, 0xfe, 0xff | 0xfd, rest @ ..] = datagram {
        let [_, _, _, _, _, _, _, _, high, low, content @ ..] = rest else { return false };
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if length > LONGEST || content.len() < length {
            return false;
        }
        datagram = &datagram[HEADER + length..];
    }
    datagram.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with `length` in its header and as many bytes as `content`.
    fn record(length: u16, content: usize) -> Vec<u8> {
        let mut record = vec![23, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 7];
        record.extend(length.to_be_bytes());
        record.resize(HEADER + content, 0);
        record
    }

    #[test]
    fn records_are_whole_or_the_datagram_is_not_taken() {
        assert!(are_whole(&[]) && are_whole(&[0x80, 0x60, 1]) && are_whole(&[0, 1]), "not DTLS");
        assert!(are_whole(&record(40, 40)) && are_whole(&[record(40, 40), record(0, 0)].concat()));
        assert!(!are_whole(&record(40, 39)) && !are_whole(&record(40, 41)), "its length");
        assert!(!are_whole(&record(40, 40)[..9]), "its header");
        assert!(!are_whole(&[record(40, 40), record(40, 40)[..5].to_vec()].concat()), "the second");
        let mut other = record(40, 40);
        other[1] = 3;
        assert!(!are_whole(&other), "its version");
    }
}
