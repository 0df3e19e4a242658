//! Our own small eBPF programs: written as instructions, with the places of fields read from the running kernel's type information. So
//! building needs no clang and no libelf, nothing compiled lies in the repository, and one program fits every kernel that has BTF.

pub(crate) mod assembler;
pub(crate) mod ring;
pub(crate) mod types;
