//! The kernel's type information (BTF; kernel Documentation/bpf/btf.rst): offsets of structure fields, and numbers of functions. Read
//! from /sys/kernel/btf; all offsets and lengths are checked.

use std::io;

const MAGIC: u16 = 0xeb9f;
/// Bytes of `struct btf_type`.
const TYPE: usize = 12;
/// Limit of the nesting of unnamed members, and of the chain of type definitions.
const DEEPEST: u8 = 16;

mod kind {
    pub(super) const INT: u32 = 1;
    pub(super) const POINTER: u32 = 2;
    pub(super) const ARRAY: u32 = 3;
    pub(super) const STRUCT: u32 = 4;
    pub(super) const UNION: u32 = 5;
    pub(super) const ENUM: u32 = 6;
    pub(super) const TYPEDEF: u32 = 8;
    pub(super) const VOLATILE: u32 = 9;
    pub(super) const CONST: u32 = 10;
    pub(super) const RESTRICT: u32 = 11;
    pub(super) const FUNC: u32 = 12;
    pub(super) const FUNC_PROTO: u32 = 13;
    pub(super) const VARIABLE: u32 = 14;
    pub(super) const SECTION: u32 = 15;
    pub(super) const DECLARATION_TAG: u32 = 17;
    pub(super) const TYPE_TAG: u32 = 18;
    pub(super) const ENUM64: u32 = 19;
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes)
}

/// Type information of the kernel or of a module.
#[derive(Debug)]
pub(crate) struct Types<'b> {
    /// The kernel's type information, which a module's extends.
    base: Option<&'b Types<'b>>,
    types: Vec<u8>,
    strings: Vec<u8>,
    /// Offset of each type; the first has the number `first`.
    places: Vec<u32>,
    first: u32,
    first_string: u32,
}

/// A type.
#[derive(Debug, Clone, Copy)]
struct Type<'t> {
    name: &'t str,
    kind: u32,
    /// Whether members' offsets include the width of bit fields.
    has_bit_fields: bool,
    /// A size, or the number of another type.
    size_or_type: u32,
    members: &'t [u8],
}

impl<'b> Types<'b> {
    /// Reads /sys/kernel/btf/`name`, with the kernel's as `base` for a module.
    pub(crate) fn load(name: &str, base: Option<&'b Types<'b>>) -> io::Result<Self> {
        let bytes = std::fs::read(format!("/sys/kernel/btf/{name}"))?;
        Self::read(&bytes, base).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, format!("the type information of {name} is malformed"))
        })
    }

    /// Parses the bytes of such a file.
    pub(crate) fn read(bytes: &[u8], base: Option<&'b Types<'b>>) -> Option<Self> {
        if bytes.first_chunk().copied().map(u16::from_ne_bytes) != Some(MAGIC) {
            return None;
        }
        let body = bytes.get(u32_at(bytes, 4)? as usize..)?;
        let part = |at: usize| {
            let (offset, length) = (u32_at(bytes, at)? as usize, u32_at(bytes, at + 4)? as usize);
            body.get(offset..offset.checked_add(length)?)
        };
        let (types, strings) = (part(8)?, part(16)?);
        let (first, first_string) = base.map_or((1, 0), |base| {
            (base.first + base.places.len() as u32, base.first_string + base.strings.len() as u32)
        });
        let mut places = Vec::new();
        let mut at = 0;
        while at < types.len() {
            places.push(u32::try_from(at).ok()?);
            at = at.checked_add(TYPE + extra(u32_at(types, at + 4)?))?;
        }
        (at == types.len()).then(|| Self {
            base,
            types: types.to_vec(),
            strings: strings.to_vec(),
            places,
            first,
            first_string,
        })
    }

    fn string(&self, offset: u32) -> Option<&str> {
        match offset.checked_sub(self.first_string) {
            Some(offset) => {
                let rest = self.strings.get(offset as usize..)?;
                let end = rest.iter().position(|byte| *byte == 0)?;
                std::str::from_utf8(&rest[..end]).ok()
            }
            None => self.base?.string(offset),
        }
    }

    fn get(&self, id: u32) -> Option<Type<'_>> {
        let Some(place) = id.checked_sub(self.first) else { return self.base?.get(id) };
        let at = *self.places.get(place as usize)? as usize;
        let info = u32_at(&self.types, at + 4)?;
        Some(Type {
            name: self.string(u32_at(&self.types, at)?)?,
            kind: info >> 24 & 31,
            has_bit_fields: info >> 31 != 0,
            size_or_type: u32_at(&self.types, at + 8)?,
            members: self.types.get(at + TYPE..at + TYPE + extra(info))?,
        })
    }

    /// The number of a type by kind and name; a module's types precede the kernel's.
    fn find(&self, wanted: u32, name: &str) -> Option<u32> {
        let own = (self.first..).take(self.places.len());
        let found =
            own.into_iter().find(|id| self.get(*id).is_some_and(|it| it.kind == wanted && it.name == name));
        found.or_else(|| self.base?.find(wanted, name))
    }

    /// The number of a function of this file, without `base`.
    pub(crate) fn function(&self, name: &str) -> Option<u32> {
        self.find(kind::FUNC, name).filter(|id| *id >= self.first)
    }

    /// Follows type definitions and qualifiers.
    fn resolve(&self, mut id: u32) -> Option<(u32, Type<'_>)> {
        for _ in 0..DEEPEST {
            let it = self.get(id)?;
            match it.kind {
                kind::TYPEDEF | kind::VOLATILE | kind::CONST | kind::RESTRICT | kind::TYPE_TAG => {
                    id = it.size_or_type;
                }
                _ => return Some((id, it)),
            }
        }
        None
    }

    /// The offset of a field in bytes; `path` names the nested members, without unnamed ones.
    pub(crate) fn offset(&self, structure: &str, path: &[&str]) -> Option<i16> {
        let mut id = self.find(kind::STRUCT, structure)?;
        let mut bits = 0u32;
        for name in path {
            let (offset, inner) = self.member(id, name, DEEPEST)?;
            bits = bits.checked_add(offset)?;
            id = inner;
        }
        if bits.is_multiple_of(8) { i16::try_from(bits / 8).ok() } else { None }
    }

    /// Offset in bits and type of a member; unnamed structures and unions are searched, too.
    fn member(&self, id: u32, wanted: &str, deepest: u8) -> Option<(u32, u32)> {
        let (_, it) = self.resolve(id)?;
        if !matches!(it.kind, kind::STRUCT | kind::UNION) {
            return None;
        }
        for member in it.members.chunks_exact(12) {
            let name = self.string(u32_at(member, 0)?)?;
            let (inner, mut offset) = (u32_at(member, 4)?, u32_at(member, 8)?);
            if it.has_bit_fields {
                offset &= 0x00ff_ffff;
            }
            if name == wanted {
                return Some((offset, inner));
            }
            if name.is_empty()
                && deepest > 0
                && let Some((more, id)) = self.member(inner, wanted, deepest - 1)
            {
                return Some((offset.checked_add(more)?, id));
            }
        }
        None
    }

    /// The value of an enumerator.
    pub(crate) fn constant(&self, wanted: &str) -> Option<u32> {
        for id in (self.first..).take(self.places.len()) {
            let it = self.get(id)?;
            let size = match it.kind {
                kind::ENUM => 8,
                kind::ENUM64 => 12,
                _ => continue,
            };
            for constant in it.members.chunks_exact(size) {
                if self.string(u32_at(constant, 0)?) == Some(wanted) {
                    return u32_at(constant, 4);
                }
            }
        }
        self.base?.constant(wanted)
    }

    /// The number of a function's arguments, and the index of the first that points to `structure`.
    pub(crate) fn argument(&self, function: u32, structure: &str) -> Option<(usize, Option<usize>)> {
        let prototype = self.get(self.get(function)?.size_or_type)?;
        if prototype.kind != kind::FUNC_PROTO {
            return None;
        }
        let arguments = prototype.members.chunks_exact(8);
        let count = arguments.len();
        let mut place = None;
        for (number, argument) in arguments.enumerate() {
            let points_there = || {
                let (_, pointer) = self.resolve(u32_at(argument, 4)?)?;
                let (_, target) = self.resolve(pointer.size_or_type)?;
                let fits =
                    pointer.kind == kind::POINTER && target.kind == kind::STRUCT && target.name == structure;
                fits.then_some(())
            };
            if place.is_none() && points_there().is_some() {
                place = Some(number);
            }
        }
        Some((count, place))
    }
}

/// Bytes of a type after its first twelve.
const fn extra(info: u32) -> usize {
    let members = (info & 0xffff) as usize;
    match info >> 24 & 31 {
        kind::INT | kind::VARIABLE | kind::DECLARATION_TAG => 4,
        kind::ARRAY => 12,
        kind::STRUCT | kind::UNION | kind::SECTION | kind::ENUM64 => members * 12,
        kind::ENUM | kind::FUNC_PROTO => members * 8,
        _ => 0,
    }
}

#[cfg(test)]
#[path = "../../tests/parsers/types.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds type information like pahole.
    #[derive(Default)]
    pub(super) struct Builder {
        types: Vec<u8>,
        strings: Vec<u8>,
        string_base: u32,
    }

    impl Builder {
        fn string(&mut self, text: &str) -> u32 {
            if self.strings.is_empty() && self.string_base == 0 {
                self.strings.push(0);
            }
            if text.is_empty() {
                return 0;
            }
            let at = self.strings.len() as u32 + self.string_base;
            self.strings.extend_from_slice(text.as_bytes());
            self.strings.push(0);
            at
        }

        fn add(&mut self, name: &str, info: u32, size_or_type: u32, members: &[u32]) {
            let name = self.string(name);
            for number in [name, info, size_or_type].iter().chain(members) {
                self.types.extend_from_slice(&number.to_ne_bytes());
            }
        }

        pub(super) fn finish(&self) -> Vec<u8> {
            let mut bytes = MAGIC.to_ne_bytes().to_vec();
            bytes.extend_from_slice(&[1, 0]);
            let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
            for number in [24, 0, types, types, strings] {
                bytes.extend_from_slice(&u32::to_ne_bytes(number));
            }
            bytes.extend_from_slice(&self.types);
            bytes.extend_from_slice(&self.strings);
            bytes
        }
    }

    const fn info(kind: u32, members: u32) -> u32 {
        kind << 24 | members
    }

    /// struct outer { int a; union { struct { int x; } named; int y; }; }; enum { FIRST = 1, SECOND = 512 };
    /// int call(int, const struct outer *);
    pub(super) fn kernel() -> Builder {
        let mut builder = Builder::default();
        let (a, x, y, named) =
            (builder.string("a"), builder.string("x"), builder.string("y"), builder.string("named"));
        builder.add("int", info(kind::INT, 0), 4, &[32]);
        builder.add("", info(kind::STRUCT, 1), 4, &[x, 1, 0]);
        builder.add("", info(kind::UNION, 2), 4, &[named, 2, 0, y, 1, 0]);
        builder.add("outer", info(kind::STRUCT, 2), 8, &[a, 1, 0, 0, 3, 32]);
        builder.add("", info(kind::CONST, 0), 4, &[]);
        builder.add("", info(kind::POINTER, 0), 5, &[]);
        builder.add("", info(kind::FUNC_PROTO, 2), 1, &[0, 1, 0, 6]);
        builder.add("call", info(kind::FUNC, 1), 7, &[]);
        let (first, second) = (builder.string("FIRST"), builder.string("SECOND"));
        builder.add("", info(kind::ENUM, 2), 4, &[first, 1, second, 512]);
        builder
    }

    #[test]
    fn fields_functions_and_constants() {
        let types = Types::read(&kernel().finish(), None).expect("type information");
        assert_eq!(types.offset("outer", &["a"]), Some(0));
        assert_eq!(types.offset("outer", &["y"]), Some(4));
        assert_eq!(types.offset("outer", &["named", "x"]), Some(4));
        assert_eq!(types.offset("outer", &["z"]), None);
        assert_eq!(types.offset("other", &["a"]), None);
        assert_eq!(types.function("call"), Some(8));
        assert_eq!(types.argument(8, "outer"), Some((2, Some(1))));
        assert_eq!(types.argument(8, "other"), Some((2, None)));
        assert_eq!((types.constant("SECOND"), types.constant("THIRD")), (Some(512), None));
    }

    #[test]
    fn a_module_builds_on_the_kernel() {
        let kernel = kernel();
        let base = Types::read(&kernel.finish(), None).expect("the kernel's");
        let mut module = Builder { string_base: kernel.strings.len() as u32, ..Builder::default() };
        let inner = module.string("inner");
        // struct mine { int a; struct outer inner; }: numbers continue after the kernel's nine.
        let a = 1;
        module.add("mine", info(kind::STRUCT, 2), 12, &[a, 1, 0, inner, 4, 32]);
        module.add("own_call", info(kind::FUNC, 1), 7, &[]);
        let types = Types::read(&module.finish(), Some(&base)).expect("the module's");
        assert_eq!(types.offset("mine", &["inner", "y"]), Some(8));
        assert_eq!(types.offset("mine", &["a"]), Some(0));
        assert_eq!(types.offset("outer", &["y"]), Some(4));
        assert_eq!(types.function("own_call"), Some(11));
        // `function` does not search the kernel's.
        assert_eq!(types.function("call"), None);
    }

    #[test]
    #[allow(clippy::print_stderr, reason = "reports what is skipped")]
    fn this_kernels_own() {
        let Ok(types) = Types::load("vmlinux", None) else {
            eprintln!("SKIPPED: no /sys/kernel/btf/vmlinux here");
            return;
        };
        for field in ["len", "mark", "priority", "data"] {
            assert!(types.offset("sk_buff", &[field]).is_some(), "{field}");
        }
        let send = types.function("__dev_queue_xmit").or_else(|| types.function("dev_queue_xmit"));
        let arguments = send.and_then(|send| types.argument(send, "sk_buff"));
        assert!(arguments.is_some_and(|(_, place)| place == Some(0)), "{arguments:?}");
    }
}
