//! An assembler for short BPF programs (RFC 9669), so that no compiler is needed for them.
use std::collections::HashMap;
use std::os::fd::RawFd;

/// A register. R0 has the return value; R1 to R5 are the arguments of helpers, which preserve R6 to
/// R9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Register(u8);

pub(crate) const R0: Register = Register(0);
pub(crate) const R1: Register = Register(1);
pub(crate) const R2: Register = Register(2);
pub(crate) const R3: Register = Register(3);
pub(crate) const R4: Register = Register(4);
pub(crate) const R6: Register = Register(6);
pub(crate) const R7: Register = Register(7);
pub(crate) const R8: Register = Register(8);
pub(crate) const R9: Register = Register(9);

/// Helper functions, by their numbers in `enum bpf_func_id`.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Helper {
    /// Redirects the packet to an interface: ifindex, flags.
    Redirect = 23,
    /// Redirects the packet to an entry of a map: map, key, verdict if there is none.
    RedirectMap = 51,
    /// Changes the length of the packet: context, difference in bytes.
    XdpAdjustTail = 65,
    /// Nanoseconds of CLOCK_MONOTONIC_COARSE.
    CoarseTime = 160,
    /// Writes bytes of the packet: context, offset, source, length.
    XdpStoreBytes = 190,
}

/// The context of XDP programs (`struct xdp_md`), and their verdicts.
pub(crate) mod xdp {
    pub(crate) const DATA: i16 = 0;
    pub(crate) const DATA_END: i16 = 4;
    pub(crate) const INGRESS: i16 = 12;
    pub(crate) const RX_QUEUE: i16 = 16;
    pub(crate) const DROP: i32 = 1;
    pub(crate) const PASS: i32 = 2;
}

/// The verdict of traffic control programs that drops the packet.
pub(crate) const TC_SHOT: i32 = 2;

/// Classes and modes of instructions (RFC 9669, 3 to 5).
const NUMBERS: u8 = 0x07;
const JUMPS: u8 = 0x05;
const OF_REGISTER: u8 = 0x08;
const LOAD_32: u8 = 0x61;
const LOAD_64: u8 = 0x79;
const STORE_32: u8 = 0x63;
const LOAD_WIDE: u8 = 0x18;
const ADD: u8 = 0x00;
const SUBTRACT: u8 = 0x10;
const AND: u8 = 0x50;
const SHIFT_LEFT: u8 = 0x60;
const MOVE: u8 = 0xb0;
const EQUAL: u8 = 0x10;
const MORE: u8 = 0x20;
const NOT_EQUAL: u8 = 0x50;
const MORE_SIGNED: u8 = 0x60;
const CALL: u8 = 0x80;
const EXIT: u8 = 0x90;
const LESS: u8 = 0xa0;
/// The kind of a wide load: a map, or the address of its values.
const MAP: Register = Register(1);
const MAP_VALUE: Register = Register(2);

/// A program under construction.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    code: Vec<u64>,
    labels: HashMap<&'static str, usize>,
    /// Jumps and their targets.
    jumps: Vec<(usize, &'static str)>,
}

impl Assembler {
    fn push(&mut self, code: u8, to: Register, from: Register, offset: i16, number: i32) {
        let registers = to.0 | from.0 << 4;
        let fields = [u64::from(code), u64::from(registers) << 8, u64::from(offset as u16) << 16];
        self.code.push(fields.iter().sum::<u64>() | u64::from(number as u32) << 32);
    }

    /// `to = from`
    pub fn mov(&mut self, to: Register, from: Register) {
        self.push(NUMBERS | OF_REGISTER | MOVE, to, from, 0, 0);
    }

    /// `to = number`
    pub fn set(&mut self, to: Register, number: i32) {
        self.push(NUMBERS | MOVE, to, R0, 0, number);
    }

    /// `to += from`
    pub fn add(&mut self, to: Register, from: Register) {
        self.push(NUMBERS | OF_REGISTER | ADD, to, from, 0, 0);
    }

    /// `to += number`
    pub fn add_number(&mut self, to: Register, number: i32) {
        self.push(NUMBERS | ADD, to, R0, 0, number);
    }

    /// `to -= from`
    pub fn subtract(&mut self, to: Register, from: Register) {
        self.push(NUMBERS | OF_REGISTER | SUBTRACT, to, from, 0, 0);
    }

    /// `to &= number`
    pub fn and_number(&mut self, to: Register, number: i32) {
        self.push(NUMBERS | AND, to, R0, 0, number);
    }

    /// `to <<= bits`
    pub fn shift_left(&mut self, to: Register, bits: i32) {
        self.push(NUMBERS | SHIFT_LEFT, to, R0, 0, bits);
    }

    /// `to = *(u32 *)(at + offset)`
    pub fn load32(&mut self, to: Register, at: Register, offset: i16) {
        self.push(LOAD_32, to, at, offset, 0);
    }

    /// `to = *(u64 *)(at + offset)`
    pub fn load64(&mut self, to: Register, at: Register, offset: i16) {
        self.push(LOAD_64, to, at, offset, 0);
    }

    /// `*(u32 *)(at + offset) = from`
    pub fn store32(&mut self, at: Register, offset: i16, from: Register) {
        self.push(STORE_32, at, from, offset, 0);
    }

    /// `to` = a map.
    pub fn map(&mut self, to: Register, map: RawFd) {
        self.wide(to, MAP, map);
    }

    /// `to` = the address of an array's values.
    pub fn map_value(&mut self, to: Register, map: RawFd) {
        self.wide(to, MAP_VALUE, map);
    }

    fn wide(&mut self, to: Register, what: Register, map: RawFd) {
        self.push(LOAD_WIDE, to, what, 0, map);
        self.push(0, R0, R0, 0, 0);
    }

    /// `r0 = helper(r1, r2, r3, r4, r5)`
    pub fn call(&mut self, helper: Helper) {
        self.push(JUMPS | CALL, R0, R0, 0, helper as i32);
    }

    /// `return r0`
    pub fn exit(&mut self) {
        self.push(JUMPS | EXIT, R0, R0, 0, 0);
    }

    /// `return number`
    pub fn give(&mut self, number: i32) {
        self.set(R0, number);
        self.exit();
    }

    /// Sets a label on the next instruction.
    pub fn label(&mut self, name: &'static str) {
        let existing = self.labels.insert(name, self.code.len());
        debug_assert!(existing.is_none(), "the label {name} is set twice");
    }

    fn jump(&mut self, condition: u8, register: Register, number: i32, to: &'static str) {
        self.jumps.push((self.code.len(), to));
        self.push(JUMPS | condition, register, R0, 0, number);
    }

    /// `if (register == number) goto to`
    pub fn jump_if_equal(&mut self, register: Register, number: i32, to: &'static str) {
        self.jump(EQUAL, register, number, to);
    }

    /// `if (register != number) goto to`
    pub fn jump_if_not_equal(&mut self, register: Register, number: i32, to: &'static str) {
        self.jump(NOT_EQUAL, register, number, to);
    }

    /// `if (register > number) goto to`
    pub fn jump_if_more(&mut self, register: Register, number: i32, to: &'static str) {
        self.jump(MORE, register, number, to);
    }

    /// `if (register < number) goto to`
    pub fn jump_if_less(&mut self, register: Register, number: i32, to: &'static str) {
        self.jump(LESS, register, number, to);
    }

    /// `if ((i64)register > number) goto to`
    pub fn jump_if_more_signed(&mut self, register: Register, number: i32, to: &'static str) {
        self.jump(MORE_SIGNED, register, number, to);
    }

    /// The instructions in the kernel's format.
    pub fn finish(mut self) -> Vec<u64> {
        for (at, to) in &self.jumps {
            // Relative to the instruction after the jump.
            let offset = self.labels[to] as i64 - *at as i64 - 1;
            self.code[*at] |= u64::from(offset as i16 as u16) << 16;
        }
        self.code
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_those_of_the_kernel() {
        let mut code = Assembler::default();
        code.jump_if_equal(R2, 1, "end");
        code.load32(R8, R7, -4);
        code.map_value(R1, 5);
        code.call(Helper::CoarseTime);
        code.label("end");
        code.give(xdp::PASS);
        let due: [u64; 7] = [
            0x0000_0001_0004_0215, // if r2 == 1 goto +4
            0x0000_0000_fffc_7861, // r8 = *(u32 *)(r7 - 4)
            0x0000_0005_0000_2118, // r1 = the values of map 5
            0,
            0x0000_00a0_0000_0085, // call 160
            0x0000_0002_0000_00b7, // r0 = 2
            0x0000_0000_0000_0095, // exit
        ];
        assert_eq!(code.finish(), due);
    }
}
