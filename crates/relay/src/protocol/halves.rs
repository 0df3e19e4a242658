//! Datagrams larger than the path carries go in two halves with successive sequence numbers.

/// Halves that wait for the other: what is on its way at once.
const WAITING: usize = 16;

/// A half that waits.
#[derive(Debug, Clone, Default)]
struct Half {
    /// Its sequence number; `None` if the place is free.
    sequence: Option<u64>,
    bytes: Vec<u8>,
}

/// Joins halves.
#[derive(Debug, Clone)]
pub(super) struct Halves {
    waiting: [Half; WAITING],
    next: usize,
    joined: Vec<u8>,
}

impl Default for Halves {
    fn default() -> Self {
        Self { waiting: std::array::from_fn(|_| Half::default()), next: 0, joined: Vec::new() }
    }
}

impl Halves {
    /// Takes a half. Returns the datagram if both are there.
    pub(super) fn join(&mut self, sequence: u64, is_first: bool, bytes: &[u8]) -> Option<&[u8]> {
        let other = if is_first { sequence.checked_add(1)? } else { sequence.checked_sub(1)? };
        if let Some(half) = self.waiting.iter_mut().find(|half| half.sequence == Some(other)) {
            half.sequence = None;
            let (first, second) = if is_first { (bytes, &half.bytes[..]) } else { (&half.bytes[..], bytes) };
            self.joined.clear();
            self.joined.extend_from_slice(first);
            self.joined.extend_from_slice(second);
            return Some(&self.joined);
        }
        let half = &mut self.waiting[self.next];
        self.next = (self.next + 1) % WAITING;
        half.sequence = Some(sequence);
        half.bytes.clear();
        half.bytes.extend_from_slice(bytes);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_join_in_either_order_and_only_with_their_neighbour() {
        let mut halves = Halves::default();
        assert_eq!(halves.join(4, true, b"ab"), None);
        assert_eq!(halves.join(5, false, b"cd"), Some(&b"abcd"[..]));
        assert_eq!(halves.join(9, false, b"d"), None);
        assert_eq!(halves.join(7, true, b"x"), None);
        assert_eq!(halves.join(8, true, b"abc"), Some(&b"abcd"[..]));
        assert_eq!(halves.join(u64::MAX, true, b"x"), None);
        assert_eq!(halves.join(0, false, b"x"), None);
    }

    #[test]
    fn halves_that_stay_alone_are_overwritten() {
        let mut halves = Halves::default();
        for sequence in 0..100 {
            assert_eq!(halves.join(2 * sequence, true, b"x"), None);
        }
        assert_eq!(halves.join(1, false, b"y"), None);
        assert_eq!(halves.join(199, false, b"y"), Some(&b"xy"[..]));
    }
}
