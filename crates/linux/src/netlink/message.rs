//! Messages and attributes of netlink (RFC 3549; kernel include/uapi/linux/netlink.h). Readers check all bounds; a length that does not
//! fit ends the iteration. Writers fill one buffer.

/// Bytes of `struct nlmsghdr`.
pub(crate) const HEADER: usize = 16;
/// Type of the message that ends a dump.
pub(crate) const DONE: u16 = 3;
/// Type of an error or acknowledgement.
pub(crate) const ERROR: u16 = 2;

/// `NLM_F_REQUEST`.
pub(crate) const REQUEST: u16 = 1;
/// `NLM_F_ACK`.
pub(crate) const ACK: u16 = 4;
/// `NLM_F_DUMP`.
pub(crate) const DUMP: u16 = 0x300;
/// `NLM_F_CAPPED`: the acknowledgement does not repeat the request's payload.
const CAPPED: u16 = 0x100;
/// `NLM_F_ACK_TLVS`: attributes follow.
const ACK_TLVS: u16 = 0x200;
/// `NLMSGERR_ATTR_MSG`.
const ERROR_TEXT: u16 = 1;
/// `NLA_F_NESTED`.
const NESTED: u16 = 0x8000;
/// `NLA_TYPE_MASK`.
const TYPE: u16 = 0x3fff;

const fn aligned(length: usize) -> usize {
    length.saturating_add(3) & !3
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

/// A 16-bit number in native byte order.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_ne_bytes)
}

/// A 32-bit number in native byte order.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_ne_bytes)
}

/// A message: its type, and the bytes after the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Message<'a> {
    pub(crate) kind: u16,
    pub(crate) flags: u16,
    pub(crate) sequence: u32,
    pub(crate) body: &'a [u8],
}

impl<'a> Message<'a> {
    /// The error number of an acknowledgement, 0 for success, and the kernel's explanation; `None` for other messages.
    pub(crate) fn outcome(&self) -> Option<(i32, &'a str)> {
        if self.kind != ERROR {
            return None;
        }
        let errno = array(self.body, 0).map_or(i32::MIN, i32::from_ne_bytes);
        Some((errno.saturating_neg(), self.explanation().unwrap_or("")))
    }

    fn explanation(&self) -> Option<&'a str> {
        if self.flags & ACK_TLVS == 0 {
            return None;
        }
        // The error number is followed by the header of the request, and its payload unless capped.
        let repeated = if self.flags & CAPPED == 0 { u32_at(self.body, 4)? as usize } else { HEADER };
        let attributes = self.body.get(aligned(repeated).saturating_add(4)..)?;
        Attributes(attributes).find(ERROR_TEXT)?.text()
    }

    /// The attributes after the family's fixed header.
    pub(crate) fn attributes(&self, fixed: usize) -> Attributes<'a> {
        Attributes(self.body.get(aligned(fixed)..).unwrap_or_default())
    }
}

/// The messages of one datagram.
#[derive(Debug, Clone)]
pub(crate) struct Messages<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = Message<'a>;

    fn next(&mut self) -> Option<Message<'a>> {
        let length = u32_at(self.0, 0)? as usize;
        let body = self.0.get(HEADER..length)?;
        let message = Message {
            kind: u16_at(self.0, 4)?,
            flags: u16_at(self.0, 6)?,
            sequence: u32_at(self.0, 8)?,
            body,
        };
        self.0 = self.0.get(aligned(length)..).unwrap_or_default();
        Some(message)
    }
}

/// An attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Attribute<'a> {
    pub(crate) kind: u16,
    pub(crate) value: &'a [u8],
}

impl<'a> Attribute<'a> {
    pub(crate) fn u8(&self) -> Option<u8> {
        self.value.first().copied()
    }

    pub(crate) fn u16(&self) -> Option<u16> {
        u16_at(self.value, 0)
    }

    pub(crate) fn u32(&self) -> Option<u32> {
        u32_at(self.value, 0)
    }

    pub(crate) fn u64(&self) -> Option<u64> {
        array(self.value, 0).map(u64::from_ne_bytes)
    }

    /// A 32-bit number in network byte order, as in nfnetlink.
    pub(crate) fn be32(&self) -> Option<u32> {
        array(self.value, 0).map(u32::from_be_bytes)
    }

    /// Text up to the first NUL, if it is UTF-8.
    pub(crate) fn text(&self) -> Option<&'a str> {
        let end = self.value.iter().position(|byte| *byte == 0).unwrap_or(self.value.len());
        std::str::from_utf8(&self.value[..end]).ok()
    }

    pub(crate) fn nested(&self) -> Attributes<'a> {
        Attributes(self.value)
    }
}

/// A sequence of attributes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attributes<'a>(pub(crate) &'a [u8]);

impl<'a> Attributes<'a> {
    /// The first attribute of a type.
    pub(crate) fn find(mut self, kind: u16) -> Option<Attribute<'a>> {
        Iterator::find(&mut self, |attribute| attribute.kind == kind)
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = Attribute<'a>;

    fn next(&mut self) -> Option<Attribute<'a>> {
        let length = usize::from(u16_at(self.0, 0)?);
        let value = self.0.get(4..length)?;
        let attribute = Attribute { kind: u16_at(self.0, 2)? & TYPE, value };
        self.0 = self.0.get(aligned(length)..).unwrap_or_default();
        Some(attribute)
    }
}

/// The offset of a nested attribute, to be passed to [`Builder::end`].
#[derive(Debug)]
#[must_use]
pub(crate) struct Nest(usize);

/// Writes a sequence of messages.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    bytes: Vec<u8>,
    begin: usize,
}

impl Builder {
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self { bytes: Vec::with_capacity(capacity), begin: 0 }
    }

    /// Begins a message with the family's fixed header.
    pub(crate) fn begin(&mut self, kind: u16, flags: u16, sequence: u32, fixed: &[u8]) {
        self.begin = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(&flags.to_ne_bytes());
        self.bytes.extend_from_slice(&sequence.to_ne_bytes());
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.extend_from_slice(fixed);
        self.close();
    }

    /// Appends an attribute. A value above the largest size is truncated, so that the kernel refuses it.
    pub(crate) fn put(&mut self, kind: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX) - 4)];
        let length = value.len() as u16 + 4;
        self.bytes.extend_from_slice(&length.to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.close();
    }

    pub(crate) fn put_u8(&mut self, kind: u16, value: u8) {
        self.put(kind, &[value]);
    }

    pub(crate) fn put_u16(&mut self, kind: u16, value: u16) {
        self.put(kind, &value.to_ne_bytes());
    }

    pub(crate) fn put_u32(&mut self, kind: u16, value: u32) {
        self.put(kind, &value.to_ne_bytes());
    }

    /// Appends a 32-bit number in network byte order, as in nfnetlink.
    pub(crate) fn put_be32(&mut self, kind: u16, value: u32) {
        self.put(kind, &value.to_be_bytes());
    }

    /// Appends text with a terminating NUL.
    pub(crate) fn put_text(&mut self, kind: u16, text: &str) {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        self.put(kind, &bytes);
    }

    /// Begins a nested attribute.
    pub(crate) fn nest(&mut self, kind: u16) -> Nest {
        let nest = Nest(self.bytes.len());
        self.put(kind | NESTED, &[]);
        nest
    }

    /// Ends a nested attribute.
    pub(crate) fn end(&mut self, nest: Nest) {
        let length = (self.bytes.len() - nest.0).min(usize::from(u16::MAX)) as u16;
        self.bytes[nest.0..nest.0 + 2].copy_from_slice(&length.to_ne_bytes());
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.begin = 0;
    }

    /// Pads to the alignment and writes the length of the message.
    fn close(&mut self) {
        let length = self.bytes.len() - self.begin;
        self.bytes.resize(self.begin + aligned(length), 0);
        let length = (self.bytes.len() - self.begin) as u32;
        self.bytes[self.begin..self.begin + 4].copy_from_slice(&length.to_ne_bytes());
    }
}

#[cfg(test)]
#[path = "../../tests/parsers/message.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut builder = Builder::default();
        builder.begin(0x1234, REQUEST | ACK, 7, &[1, 2, 0, 0]);
        builder.put_u8(5, 9);
        let nest = builder.nest(6);
        builder.put_text(1, "radio");
        builder.put_be32(2, 0x0102_0304);
        builder.end(nest);
        builder.begin(0x1235, 0, 8, &[]);
        let messages: Vec<Message<'_>> = Messages(builder.as_bytes()).collect();
        assert_eq!(messages.len(), 2);
        assert_eq!((messages[0].kind, messages[0].flags, messages[0].sequence), (0x1234, 5, 7));
        let attributes = messages[0].attributes(4);
        assert_eq!(attributes.find(5).and_then(|a| a.u8()), Some(9));
        let nested = attributes.find(6).map(|a| a.nested()).expect("the nest");
        assert_eq!(nested.find(1).and_then(|a| a.text()), Some("radio"));
        assert_eq!(nested.find(2).and_then(|a| a.be32()), Some(0x0102_0304));
        assert_eq!(nested.count(), 2);
        assert_eq!((messages[1].kind, messages[1].body.len()), (0x1235, 0));
    }

    #[test]
    fn an_error_says_why() {
        // -EINVAL, the request's header, and NLMSGERR_ATTR_MSG.
        let mut builder = Builder::default();
        let mut body = (-22i32).to_ne_bytes().to_vec();
        body.extend_from_slice(&[0; HEADER]);
        builder.begin(ERROR, CAPPED | ACK_TLVS, 1, &body);
        builder.put_text(ERROR_TEXT, "no such limit");
        let message = Messages(builder.as_bytes()).next().expect("a message");
        assert_eq!(message.outcome(), Some((22, "no such limit")));
    }

    #[test]
    fn lengths_that_lie_end_the_reading() {
        for length in [0u32, 3, 15, 17, 4000, u32::MAX] {
            let mut bytes = length.to_ne_bytes().to_vec();
            bytes.extend_from_slice(&[0; 12]);
            assert_eq!(Messages(&bytes).next(), None, "{length}");
        }
        for length in [0u16, 3, 6, u16::MAX] {
            let mut bytes = length.to_ne_bytes().to_vec();
            bytes.extend_from_slice(&[1, 0, 0]);
            assert_eq!(Attributes(&bytes).next(), None, "{length}");
        }
    }
}
