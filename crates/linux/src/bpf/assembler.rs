//! eBPF instructions (RFC 9669), with labels.

use std::os::fd::{AsRawFd, BorrowedFd};

/// A register: R0 holds results, R1 to R5 arguments, R6 to R9 are preserved by calls, R10 is the frame pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R6 = 6,
    R7,
    R8,
    R9,
    Stack,
}

/// Width of a load or store: 1, 2, 4 or 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    Byte = 0x10,
    Half = 0x08,
    Word = 0x00,
    Double = 0x18,
}

/// The condition of a jump; comparisons are unsigned but for the last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Equal = 0x10,
    GreaterOrEqual = 0x30,
    AnyBitOf = 0x40,
    NotEqual = 0x50,
    SignedLess = 0xc0,
}

/// Helper functions of the kernel (include/uapi/linux/bpf.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Helper {
    MapLookup = 1,
    MapUpdate = 2,
    MapDelete = 3,
    Time = 5,
    ReadKernel = 113,
    RingReserve = 131,
    RingSubmit = 132,
    RingDiscard = 133,
    RingQuery = 134,
}

/// The target of a jump.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Label(usize);

/// Assembles a program.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    code: Vec<u64>,
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

/// Classes and modes of instructions.
mod class {
    pub(super) const LOAD_64: u8 = 0x18;
    pub(super) const LOAD: u8 = 0x61;
    pub(super) const STORE_IMMEDIATE: u8 = 0x62;
    pub(super) const STORE: u8 = 0x63;
    pub(super) const ATOMIC_64: u8 = 0xdb;
    pub(super) const JUMP: u8 = 0x05;
    pub(super) const CALL: u8 = 0x85;
    pub(super) const EXIT: u8 = 0x95;
    pub(super) const ADD_64: u8 = 0x07;
    pub(super) const AND_64: u8 = 0x57;
    pub(super) const SUBTRACT_64: u8 = 0x17;
    pub(super) const MOVE_64: u8 = 0xb7;
    /// The operand is a register.
    pub(super) const REGISTER: u8 = 0x08;
}

fn encode(code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> u64 {
    let registers = if cfg!(target_endian = "little") { from << 4 | to } else { to << 4 | from };
    let ([a, b], [c, d, e, f]) = (offset.to_ne_bytes(), immediate.to_ne_bytes());
    u64::from_ne_bytes([code, registers, a, b, c, d, e, f])
}

impl Assembler {
    fn push(&mut self, code: u8, to: Register, from: Register, offset: i16, immediate: i32) {
        self.code.push(encode(code, to as u8, from as u8, offset, immediate));
    }

    /// `to = from`
    pub(crate) fn copy(&mut self, to: Register, from: Register) {
        self.push(class::MOVE_64 | class::REGISTER, to, from, 0, 0);
    }

    /// `to = value`, sign-extended.
    pub(crate) fn set(&mut self, to: Register, value: i32) {
        self.push(class::MOVE_64, to, Register::R0, 0, value);
    }

    /// `to += value`
    pub(crate) fn add(&mut self, to: Register, value: i32) {
        self.push(class::ADD_64, to, Register::R0, 0, value);
    }

    /// `to -= from`
    pub(crate) fn subtract(&mut self, to: Register, from: Register) {
        self.push(class::SUBTRACT_64 | class::REGISTER, to, from, 0, 0);
    }

    /// `to &= value`, sign-extended.
    pub(crate) fn and(&mut self, to: Register, value: i32) {
        self.push(class::AND_64, to, Register::R0, 0, value);
    }

    /// `to = *(from + offset)`
    pub(crate) fn load(&mut self, width: Width, to: Register, from: Register, offset: i16) {
        self.push(class::LOAD | width as u8, to, from, offset, 0);
    }

    /// `*(to + offset) = from`
    pub(crate) fn store(&mut self, width: Width, to: Register, offset: i16, from: Register) {
        self.push(class::STORE | width as u8, to, from, offset, 0);
    }

    /// `*(to + offset) = value`
    pub(crate) fn store_value(&mut self, width: Width, to: Register, offset: i16, value: i32) {
        self.push(class::STORE_IMMEDIATE | width as u8, to, Register::R0, offset, value);
    }

    /// `*(to + offset) += from`, atomic, 64 bits.
    pub(crate) fn atomic_add(&mut self, to: Register, offset: i16, from: Register) {
        self.push(class::ATOMIC_64, to, from, offset, 0);
    }

    /// `to` = the map.
    pub(crate) fn map(&mut self, to: Register, map: BorrowedFd<'_>) {
        self.wide(to, 1, map);
    }

    /// `to` = the address of the first element of an array map.
    pub(crate) fn map_value(&mut self, to: Register, map: BorrowedFd<'_>) {
        self.wide(to, 2, map);
    }

    fn wide(&mut self, to: Register, kind: u8, map: BorrowedFd<'_>) {
        self.code.push(encode(class::LOAD_64, to as u8, kind, 0, map.as_raw_fd()));
        self.code.push(0);
    }

    /// Calls a helper; R1 to R5 are clobbered.
    pub(crate) fn call(&mut self, helper: Helper) {
        self.push(class::CALL, Register::R0, Register::R0, 0, helper as i32);
    }

    /// A label to be placed later.
    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label at the next instruction.
    pub(crate) fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// Jumps unconditionally.
    pub(crate) fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(class::JUMP, Register::R0, Register::R0, 0, 0);
    }

    /// Jumps if the comparison of a register with a value holds.
    pub(crate) fn jump_if(&mut self, register: Register, when: When, value: i32, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(class::JUMP | when as u8, register, Register::R0, 0, value);
    }

    /// Returns 0.
    pub(crate) fn leave(&mut self) {
        self.set(Register::R0, 0);
        self.push(class::EXIT, Register::R0, Register::R0, 0, 0);
    }

    /// The program. A jump to a label that was not placed targets itself, which the verifier refuses.
    pub(crate) fn finish(mut self) -> Vec<u64> {
        for (at, label) in &self.jumps {
            let target = self.labels[label.0].unwrap_or(*at);
            let offset = (target as i64 - *at as i64 - 1) as i16;
            let mut bytes = self.code[*at].to_ne_bytes();
            bytes[2..4].copy_from_slice(&offset.to_ne_bytes());
            self.code[*at] = u64::from_ne_bytes(bytes);
        }
        self.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes as clang emits them for a little-endian machine.
    #[test]
    #[cfg(target_endian = "little")]
    fn instructions_as_clang_writes_them() {
        let mut program = Assembler::default();
        let out = program.label();
        program.load(Width::Double, Register::R6, Register::R1, 8);
        program.jump_if(Register::R6, When::Equal, 0, out);
        program.store(Width::Word, Register::Stack, -4, Register::R6);
        program.store_value(Width::Double, Register::Stack, -16, -1);
        program.copy(Register::R2, Register::Stack);
        program.add(Register::R2, -4);
        program.call(Helper::ReadKernel);
        program.atomic_add(Register::R0, 8, Register::R6);
        program.place(out);
        program.leave();
        let bytes: Vec<String> =
            program.finish().iter().map(|code| format!("{:016x}", code.swap_bytes())).collect();
        let wanted = [
            "7916080000000000",
            "1506060000000000",
            "636afcff00000000",
            "7a0af0ffffffffff",
            "bfa2000000000000",
            "07020000fcffffff",
            "8500000071000000",
            "db60080000000000",
            "b700000000000000",
            "9500000000000000",
        ];
        assert_eq!(bytes, wanted);
    }
}
