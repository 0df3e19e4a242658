//! Small eBPF programs, written as instructions, with the offsets of fields read from the running kernel's type information. The build
//! needs neither clang nor libelf, the repository holds no compiled programs, and one program fits every kernel with BTF.

pub(crate) mod assembler;
pub(crate) mod ring;
pub(crate) mod types;
